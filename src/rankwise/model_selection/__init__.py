"""Choosing models without splitting queries, and exact cross-validation of RankRLS."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.estimators.hull_orders import (
        OrderComparison as OrderComparison,
        compare_orders as compare_orders,
    )
    from rankwise.model_selection.leave_out import (
        LeaveOutResult as LeaveOutResult,
        leave_pair_out as leave_pair_out,
        leave_query_out as leave_query_out,
        leave_row_out as leave_row_out,
    )
    from rankwise.model_selection.permutation import (
        PermutationTestResult as PermutationTestResult,
        permutation_test as permutation_test,
    )
    from rankwise.model_selection.certified_path import (
        CertifiedPath as CertifiedPath,
        alpha_path as alpha_path,
    )
    from rankwise.model_selection.search import (
        EdgeOfGridWarning as EdgeOfGridWarning,
        EqualErrorsWarning as EqualErrorsWarning,
    )
    from rankwise.model_selection.stability import selection_frequencies as selection_frequencies
    from rankwise.model_selection.splits import QueryKFold as QueryKFold


__getattr__, __dir__, __all__ = lazy_imports(__name__)
