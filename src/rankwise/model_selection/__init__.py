"""Choosing models without splitting queries, and exact cross-validation of RankRLS."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names

if TYPE_CHECKING:
    from rankwise.hull.orders import OrderComparison, compare_orders
    from rankwise.leave_out.leave_out import LeaveOutResult, leave_pair_out, leave_query_out, leave_row_out
    from rankwise.leave_out.permutation import PermutationTestResult, permutation_test
    from rankwise.model_selection.certified_path import CertifiedPath, alpha_path
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
    "leave_row_out",
    "permutation_test",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.hull.orders": ["OrderComparison", "compare_orders"],
        "rankwise.leave_out.leave_out": [
            "LeaveOutResult",
            "leave_pair_out",
            "leave_query_out",
            "leave_row_out",
        ],
        "rankwise.leave_out.permutation": ["PermutationTestResult", "permutation_test"],
        "rankwise.model_selection.certified_path": ["CertifiedPath", "alpha_path"],
        "rankwise.model_selection.search": ["EdgeOfGridWarning", "EqualErrorsWarning"],
        "rankwise.model_selection.splits": ["QueryKFold"],
    },
)
