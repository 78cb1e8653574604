"""Learn to put things in order: exact pairwise ranking with a scikit-learn interface."""

from rankwise import metrics
from rankwise.preferences import NoPairsError, Preferences, pair_data

__version__ = "0.1.0"
__all__ = ["NoPairsError", "Preferences", "metrics", "pair_data"]
