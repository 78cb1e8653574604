"""Pictures of rankings and models, in the manner of scikit-learn's displays. They need matplotlib."""

from rankwise.plotting.order_graph import OrderGraphDisplay
from rankwise.plotting.utility import UtilityDisplay

__all__ = ["OrderGraphDisplay", "UtilityDisplay"]
