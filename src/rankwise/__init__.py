"""Learn to put things in order: exact pairwise ranking with a scikit-learn interface."""

from rankwise import datasets, metrics, model_selection
from rankwise.estimators import RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.preferences import NoPairsError, Preferences, pair_data
from rankwise.preprocessing import scale_within_queries

__version__ = "0.1.0"
__all__ = [
    "NoPairsError",
    "Preferences",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "RankSVMCV",
    "datasets",
    "metrics",
    "model_selection",
    "pair_data",
    "scale_within_queries",
]
