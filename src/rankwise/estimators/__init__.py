"""scikit-learn estimators: one choice of preferences, loss, function space and solver each."""

from rankwise.estimators.boosted_ranker import BoostedRanker
from rankwise.estimators.bradley_terry import BradleyTerry
from rankwise.estimators.curve_ranker import CurveRanker
from rankwise.estimators.curve_ranker_cv import CurveRankerCV
from rankwise.estimators.hull_ranker import HullRanker
from rankwise.estimators.hull_ranker_cv import HullRankerCV
from rankwise.estimators.ordinal_svm import OrdinalSVM
from rankwise.estimators.ordinal_svm_cv import OrdinalSVMCV
from rankwise.estimators.rank_logistic import RankLogistic, RankLogisticCV
from rankwise.estimators.rank_rls import RankRLS
from rankwise.estimators.rank_rls_cv import RankRLSCV
from rankwise.estimators.rank_svm import RankSVM
from rankwise.estimators.rank_svm_cv import RankSVMCV

__all__ = [
    "BoostedRanker",
    "BradleyTerry",
    "CurveRanker",
    "CurveRankerCV",
    "HullRanker",
    "HullRankerCV",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "RankLogistic",
    "RankLogisticCV",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "RankSVMCV",
]
