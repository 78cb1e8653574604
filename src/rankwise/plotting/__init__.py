"""Displays of rankings and models in the style of scikit-learn; they need matplotlib."""

from rankwise.plotting.alpha_path import AlphaPathDisplay, CertifiedPathDisplay
from rankwise.plotting.convergence import ConvergenceDisplay
from rankwise.plotting.cost import CostDisplay
from rankwise.plotting.curves import CurveDisplay
from rankwise.plotting.leaderboard import LeaderboardDisplay, RatingsDisplay
from rankwise.plotting.intervals import OrderComparisonDisplay
from rankwise.plotting.order_graph import OrderGraphDisplay
from rankwise.plotting.pair_explanation import PairExplanationDisplay
from rankwise.plotting.query_quality import QueryQualityDisplay
from rankwise.plotting.reliability import ReliabilityDisplay
from rankwise.plotting.survival import SurvivalDisplay
from rankwise.plotting.utility import UtilityDisplay
from rankwise.plotting.weights import WeightsDisplay

__all__ = [
    "AlphaPathDisplay",
    "CertifiedPathDisplay",
    "ConvergenceDisplay",
    "CostDisplay",
    "CurveDisplay",
    "LeaderboardDisplay",
    "OrderComparisonDisplay",
    "OrderGraphDisplay",
    "PairExplanationDisplay",
    "QueryQualityDisplay",
    "RatingsDisplay",
    "ReliabilityDisplay",
    "SurvivalDisplay",
    "UtilityDisplay",
    "WeightsDisplay",
]
