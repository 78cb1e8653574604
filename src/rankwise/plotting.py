"""Displays of rankings and models in the style of scikit-learn; they need matplotlib."""

from rankwise.report.alpha_path_display import AlphaPathDisplay, CertifiedPathDisplay
from rankwise.report.convergence_display import ConvergenceDisplay
from rankwise.report.cost_display import CostDisplay
from rankwise.report.critical_difference_display import CriticalDifferenceDisplay
from rankwise.report.curves_display import CurveDisplay
from rankwise.report.interval_display import OrderComparisonDisplay
from rankwise.report.leaderboard_display import LeaderboardDisplay, RatingsDisplay
from rankwise.report.order_graph_display import OrderGraphDisplay
from rankwise.report.pair_explanation_display import PairExplanationDisplay
from rankwise.report.query_quality_display import QueryQualityDisplay
from rankwise.report.reliability_display import ReliabilityDisplay
from rankwise.report.survival_display import SurvivalDisplay
from rankwise.report.utility_display import UtilityDisplay
from rankwise.report.weight_path_display import WeightPathDisplay
from rankwise.report.weights_display import WeightsDisplay
from rankwise.report.wins_display import WinsDisplay

__all__ = [
    "AlphaPathDisplay",
    "CertifiedPathDisplay",
    "ConvergenceDisplay",
    "CostDisplay",
    "CriticalDifferenceDisplay",
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
    "WeightPathDisplay",
    "WeightsDisplay",
    "WinsDisplay",
]
