"""Pictures of rankings and models, in the manner of scikit-learn's displays. They need matplotlib."""

from rankwise.plotting.alpha_path import AlphaPathDisplay, plot_alpha_path
from rankwise.plotting.convergence import ConvergenceDisplay, plot_convergence
from rankwise.plotting.cost import CostDisplay, plot_cost
from rankwise.plotting.order_graph import OrderGraphDisplay
from rankwise.plotting.pair_explanation import PairExplanationDisplay, plot_pair
from rankwise.plotting.query_quality import QueryQualityDisplay, plot_query_quality
from rankwise.plotting.utility import UtilityDisplay
from rankwise.plotting.weights import WeightsDisplay, plot_weights

__all__ = [
    "AlphaPathDisplay",
    "ConvergenceDisplay",
    "CostDisplay",
    "OrderGraphDisplay",
    "PairExplanationDisplay",
    "QueryQualityDisplay",
    "UtilityDisplay",
    "WeightsDisplay",
    "plot_alpha_path",
    "plot_convergence",
    "plot_cost",
    "plot_pair",
    "plot_query_quality",
    "plot_weights",
]
