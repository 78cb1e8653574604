"""scikit-learn estimators: one choice of preferences, loss, function space and solver each."""

from rankwise.estimators.rank_rls import RankRLS
from rankwise.estimators.rank_rls_cv import RankRLSCV
from rankwise.estimators.rank_svm import RankSVM
from rankwise.estimators.rank_svm_cv import RankSVMCV

__all__ = ["RankRLS", "RankRLSCV", "RankSVM", "RankSVMCV"]
