"""scikit-learn estimators: one choice of preferences, loss, function space and solver each."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names

if TYPE_CHECKING:
    from rankwise.curves.ranker import CurveRanker
    from rankwise.curves.ranker_cv import CurveRankerCV
    from rankwise.estimators.boosted_ranker import BoostedRanker
    from rankwise.estimators.boosted_ranker_cv import BoostedRankerCV
    from rankwise.estimators.kernel_ranker import KernelRanker
    from rankwise.estimators.ordinal_svm import OrdinalSVM
    from rankwise.estimators.ordinal_svm_cv import OrdinalSVMCV
    from rankwise.estimators.rank_logistic import RankLogistic, RankLogisticCV
    from rankwise.estimators.rank_rls import RankRLS
    from rankwise.estimators.rank_rls_cv import RankRLSCV
    from rankwise.estimators.rank_svm import RankSVM
    from rankwise.estimators.rank_svm_cv import RankSVMCV
    from rankwise.hull.ranker import HullRanker
    from rankwise.hull.ranker_cv import HullRankerCV
    from rankwise.leaderboard.bradley_terry import BradleyTerry
    from rankwise.leaderboard.bradley_terry_cv import BradleyTerryCV

__all__ = [
    "BoostedRanker",
    "BoostedRankerCV",
    "BradleyTerry",
    "BradleyTerryCV",
    "CurveRanker",
    "CurveRankerCV",
    "HullRanker",
    "HullRankerCV",
    "KernelRanker",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "RankLogistic",
    "RankLogisticCV",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "RankSVMCV",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.curves.ranker": ["CurveRanker"],
        "rankwise.curves.ranker_cv": ["CurveRankerCV"],
        "rankwise.estimators.boosted_ranker": ["BoostedRanker"],
        "rankwise.estimators.boosted_ranker_cv": ["BoostedRankerCV"],
        "rankwise.estimators.kernel_ranker": ["KernelRanker"],
        "rankwise.estimators.ordinal_svm": ["OrdinalSVM"],
        "rankwise.estimators.ordinal_svm_cv": ["OrdinalSVMCV"],
        "rankwise.estimators.rank_logistic": ["RankLogistic", "RankLogisticCV"],
        "rankwise.estimators.rank_rls": ["RankRLS"],
        "rankwise.estimators.rank_rls_cv": ["RankRLSCV"],
        "rankwise.estimators.rank_svm": ["RankSVM"],
        "rankwise.estimators.rank_svm_cv": ["RankSVMCV"],
        "rankwise.hull.ranker": ["HullRanker"],
        "rankwise.hull.ranker_cv": ["HullRankerCV"],
        "rankwise.leaderboard.bradley_terry": ["BradleyTerry"],
        "rankwise.leaderboard.bradley_terry_cv": ["BradleyTerryCV"],
    },
)
