"""scikit-learn estimators: one choice of preferences, loss, function space and solver each."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.estimators.curve_ranker import CurveRanker as CurveRanker, CurveRankerCV as CurveRankerCV
    from rankwise.estimators.boosted_ranker import (
        BoostedRanker as BoostedRanker,
        BoostedRankerCV as BoostedRankerCV,
    )
    from rankwise.estimators.kernel_ranker import KernelRanker as KernelRanker
    from rankwise.estimators.ordinal_svm import OrdinalSVM as OrdinalSVM, OrdinalSVMCV as OrdinalSVMCV
    from rankwise.estimators.rank_logistic import (
        RankLogistic as RankLogistic,
        RankLogisticCV as RankLogisticCV,
    )
    from rankwise.estimators.rank_plackett_luce import (
        RankPlackettLuce as RankPlackettLuce,
        RankPlackettLuceCV as RankPlackettLuceCV,
    )
    from rankwise.estimators.rank_rls import RankRLS as RankRLS, RankRLSCV as RankRLSCV
    from rankwise.estimators.rank_svm import RankSVM as RankSVM, RankSVMCV as RankSVMCV
    from rankwise.estimators.hull_ranker import HullRanker as HullRanker, HullRankerCV as HullRankerCV
    from rankwise.leaderboard.bradley_terry import BradleyTerry as BradleyTerry
    from rankwise.leaderboard.bradley_terry_cv import BradleyTerryCV as BradleyTerryCV
    from rankwise.leaderboard.crowd import CrowdBradleyTerry as CrowdBradleyTerry
    from rankwise.leaderboard.plackett_luce import PlackettLuce as PlackettLuce
    from rankwise.leaderboard.prediction_powered import (
        PredictionPoweredBradleyTerry as PredictionPoweredBradleyTerry,
    )


__getattr__, __dir__, __all__ = lazy_imports(__name__)
