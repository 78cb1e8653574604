"""Choosing models without tearing queries apart, and exact cross-validation of RankRLS."""

from rankwise.model_selection.certified_path import CertifiedPath, alpha_path
from rankwise.model_selection.leave_out import LeaveOutResult, leave_pair_out, leave_query_out
from rankwise.model_selection.orders import OrderComparison, compare_orders
from rankwise.model_selection.permutation import PermutationTestResult, permutation_test
from rankwise.model_selection.search import EdgeOfGridWarning, EqualErrorsWarning
from rankwise.model_selection.splits import QueryKFold

__all__ = [
    "CertifiedPath",
    "EdgeOfGridWarning",
    "EqualErrorsWarning",
    "LeaveOutResult",
    "OrderComparison",
    "PermutationTestResult",
    "QueryKFold",
    "alpha_path",
    "compare_orders",
    "leave_pair_out",
    "leave_query_out",
    "permutation_test",
]
