"""A permutation test of the ranking, at the cost of about one cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_codes, as_labels
from rankwise.core.progress import Progress
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatArray
from rankwise.model_selection.leave_out import (
    HeldOutTask,
    pairs_left_out,
    queries_left_out,
)
from rankwise.model_selection.pair_blocks import rows_by_group
from rankwise.model_selection.pair_formulas import SECONDS_PER_PAIR
from rankwise.preferences import Preferences


@dataclass
class PermutationTestResult:
    """Outcome of a permutation test.

    Attributes
    ----------
    statistic : float
        The fraction of held-out pairs in the right order, 1 - error.
    pvalue : float
        (1 + number of permutations with at least this statistic) / (1 + number of permutations).
    null_distribution : array of shape (n_permutations,)
        The statistic for permuted labels.
    method : "leave-pair-out" or "leave-query-out"
    """

    statistic: float
    pvalue: float
    null_distribution: FloatArray
    method: str


@with_one_blas_thread
def permutation_test(
    model: Any,
    X: Any,
    y: ArrayLike | Preferences,
    qid: ArrayLike | None = None,
    n_permutations: int = 1000,
    random_state: Any = None,
    *,
    keep: str = "alpha",
) -> PermutationTestResult:
    """Compare the cross-validated ranking with that of labels shuffled among the rows of each query.

    The statistic is the fraction of held-out pairs in the right order, by `leave_query_out` with qid and by
    `leave_pair_out` without. Under the null hypothesis that the labels of a query are exchangeable, the
    p-value is valid for any number of permutations. Section 4.1 of Pahikkala et al. (2009).

    With `cost="magnitude"` and ties kept, the permuted labels are further outputs of one decomposition:
    O(m^2) per permutation without queries, O(m r) and the folds' O(b^2) with them. Otherwise each permutation
    needs its own Laplacian and decomposition; if leaving a pair out has no closed form, it costs as much as
    `leave_pair_out` for survival.

    Parameters
    ----------
    model : RankRLS
        It is not changed, and need not be fitted. With `verbose=1` it reports progress.
    X : array or sparse matrix of shape (m, n_features)
        The rows.
    y : array of shape (m,), or Preferences
        For a `Preferences`, rows are shuffled together with their label and weight, or time and censoring,
        within queries or, for explicit pairs, within connected components.
    qid : array of shape (m,), optional
        Labels are shuffled within queries.
    n_permutations : int
        The number of random permutations of the labels.
    random_state : int or numpy Generator, optional
        The seed.
    keep : "alpha" or "lambda"
        The quantity that is the same in all fits, as in `leave_pair_out`.

    Returns
    -------
    PermutationTestResult

    Examples
    --------
    >>> from rankwise import RankRLS
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import permutation_test
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> result = permutation_test(RankRLS(), X[:50], y[:50], n_permutations=99, random_state=0)
    >>> result.method, result.pvalue
    ('leave-pair-out', 0.01)
    """
    if not isinstance(n_permutations, Integral) or n_permutations < 1:
        raise ValueError(f"n_permutations must be a whole number of at least 1; got {n_permutations!r}.")
    generator = np.random.default_rng(random_state)
    if isinstance(y, Preferences):
        outputs = [y, *permuted_preferences(y, n_permutations, generator)]
        return _tested(HeldOutTask(model, X, outputs, qid, keep=keep), y.has_queries)
    labels = as_labels(y, "y")
    if qid is None:  # shuffling and decomposition precede the first estimate of the time
        n_pairs = len(labels) ** 2 / 2 * (n_permutations + 1)
        Progress("The permutation test", n_pairs).foresee(SECONDS_PER_PAIR)
    query = np.zeros(len(labels), np.int64) if qid is None else as_codes(qid, "qid", len(labels))[1]
    shuffled = permuted_labels(labels, query, n_permutations, generator)
    columns = np.column_stack([labels, shuffled])
    return _tested(HeldOutTask(model, X, columns, qid, keep=keep), qid is not None)


def _tested(task: HeldOutTask, by_query: bool) -> PermutationTestResult:
    result = queries_left_out(task) if by_query else pairs_left_out(task)
    return _compared(np.asarray(result.auc), "leave-query-out" if by_query else "leave-pair-out")


def permuted_preferences(
    preferences: Preferences, n_permutations: int, generator: np.random.Generator
) -> Iterator[Preferences]:
    """Shuffle the rows within each query or connected component, once per permutation."""
    order = np.arange(preferences.n_rows)
    groups = rows_by_group(preferences.groups())
    for _ in range(n_permutations):
        shuffled = order.copy()
        for rows in groups:
            shuffled[rows] = generator.permutation(rows)
        yield preferences[shuffled]


def permuted_labels(
    labels: FloatArray, query: NDArray[np.int64], n_permutations: int, generator: np.random.Generator
) -> FloatArray:
    """Shuffle the labels within each query, once per column: shape (m, n_permutations)."""
    shuffled = np.repeat(labels[None], n_permutations, axis=0).T  # columns are shuffled in place
    for rows in rows_by_group(query):
        shuffled[rows] = generator.permuted(shuffled[rows], axis=0)
    return shuffled


def _compared(statistics: FloatArray, method: str) -> PermutationTestResult:
    """Compare the first statistic with the others; those equal up to rounding count against it."""
    statistic, null = float(statistics[0]), statistics[1:]
    as_good = int(np.count_nonzero(null >= statistic - 1e-12))
    return PermutationTestResult(statistic, (1 + as_good) / (1 + len(null)), null, method)
