"""How often a model selects each feature, over halves of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankwise.core.checks import check_count
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatVector, IntVector
from rankwise.preferences import Preferences


@with_one_blas_thread
def selection_frequencies(
    model: Any,
    X: Any,
    y: Any,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_splits: int = 50,
    random_state: Any = 0,
) -> FloatVector:
    """Return the fraction of fits to halves of the rows that give each feature a weight.

    Each split deals the queries, or the rows of one ranking, into two halves at random, and both are fitted
    (Shah and Samworth, Journal of the Royal Statistical Society B 75, 2013). A feature that nearly all
    halves select is not an accident of these rows; of features that are much alike, halves select either.

    Cost: 2 `n_splits` fits.

    Parameters
    ----------
    model : ranker with `l1_ratio`
        It is not changed, and need not be fitted. A CV class chooses its alpha in each half.
    X, y, qid, sample_weight :
        As for `fit`.
    n_splits : int
        The number of random halves.
    random_state : int or numpy Generator, optional
        The seed.

    Returns
    -------
    frequencies : array of shape (n_features,)

    Examples
    --------
    >>> from rankwise import RankLogistic
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import selection_frequencies
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> found = selection_frequencies(RankLogistic(0.005, l1_ratio=1.0), X, y, n_splits=10)
    >>> np.flatnonzero(found > 0.9).tolist()  # body mass index and a measure of the serum
    [2, 8]
    """
    check_count("n_splits", n_splits)
    if not np.any(getattr(model, "l1_ratio", 0.0)):
        raise ValueError(f"{model} selects no features; set l1_ratio above 0, such as 0.9.")
    problem = clone(model).problem(X, y, qid, sample_weight)
    preferences: Preferences = problem.preferences
    counts = np.zeros(problem.X.shape[1])
    for rows in halves(preferences, n_splits, np.random.default_rng(random_state)):
        counts += clone(model).fit(problem.X[rows], preferences[rows]).coef_ != 0
    return counts / (2 * n_splits)


def halves(preferences: Preferences, n_splits: int, generator: np.random.Generator) -> Iterator[IntVector]:
    """Yield the rows of the two halves of each split; queries stay whole."""
    groups = preferences.groups() if preferences.has_queries else np.arange(preferences.n_rows)
    units, unit_of_row = np.unique(groups, return_inverse=True)
    for _ in range(n_splits):
        is_first = generator.permutation(len(units)) < len(units) / 2
        for half in (is_first, ~is_first):
            yield np.flatnonzero(half[unit_of_row])
