"""Measures of models with confidence intervals, paired tests of their differences, and calibration."""

from rankwise.evaluation.comparison import Comparison, compare, compare_values
from rankwise.evaluation.grades import GradeAgreement, grade_agreement
from rankwise.evaluation.margins import MarginBound, margin_bound, rank_margin
from rankwise.evaluation.measures import Measure, Measured
from rankwise.evaluation.paired import Difference
from rankwise.evaluation.reliability import Reliability, reliability
from rankwise.evaluation.runs import compare_runs, evaluate_run
from rankwise.evaluation.single import Evaluation, evaluate

__all__ = [
    "Comparison",
    "Difference",
    "Evaluation",
    "GradeAgreement",
    "MarginBound",
    "Measure",
    "Measured",
    "Reliability",
    "compare",
    "compare_runs",
    "compare_values",
    "evaluate",
    "evaluate_run",
    "grade_agreement",
    "margin_bound",
    "rank_margin",
    "reliability",
]
