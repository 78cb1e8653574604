"""Measures of models with confidence intervals, paired tests of their differences, and calibration."""

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
