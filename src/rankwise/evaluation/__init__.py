"""How well models rank, by how much they differ, and how sure that is: what the report and the plots show."""

from rankwise.evaluation.comparison import Comparison, compare, compare_values
from rankwise.evaluation.measures import Measure, Measured
from rankwise.evaluation.paired import Difference
from rankwise.evaluation.reliability import Reliability, reliability

__all__ = [
    "Comparison",
    "Difference",
    "Measure",
    "Measured",
    "Reliability",
    "compare",
    "compare_values",
    "reliability",
]
