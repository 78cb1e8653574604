"""Least squares over folds of queries from one pass over the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray
from rankwise.data.design import Design, as_design
from rankwise.data.scores import compared_scores
from rankwise.losses.least_squares import LeastSquares
from rankwise.model_selection.grids import near_share
from rankwise.model_selection.pair_blocks import distance_alphas
from rankwise.solvers.spectrum import Spectrum, joined_paths


class FoldEquations:
    """The contributions of the held-out rows of each fold to X'L X and X'r.

    No pair joins two folds, so the sums over all folds are the equations of all rows. The sums over all folds
    but one, divided by their weight in the mean over pairs, are those of a fit without that fold.

    Cost: O(m n^2) for all folds, and O(n^3) for each.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, n), or Design
        A design has `equations_of_parts` and, if it is not in memory, `scores_of_parts`.
    tests : list of arrays of int
        The rows of each fold; each row is in one.
    forms : list of LeastSquares
        Those of all rows: one for all outputs, or one for each.
    """

    def __init__(self, X: Any, tests: list[NDArray[np.int64]], forms: list[LeastSquares], n_threads: int = 1):
        self._X, self.tests, self._n_threads = X, tests, n_threads
        design: Any = as_design(X, n_threads=n_threads).centred()
        self._parts = [list(design.equations_of_parts(form, tests)) for form in forms]
        self._shares = [[float(form.row_shares()[test].sum()) for test in tests] for form in forms]

    @property
    def whole(self) -> list[tuple[FloatArray, FloatArray]]:
        """X'L X and X'r of all rows, for each form."""
        return [_summed(parts) for parts in self._parts]

    def default_alphas(self) -> FloatArray:
        """Return the grid for all rows: the mean squared distance of pairs is the trace of X'L X."""
        return distance_alphas(near_share(self._X) * float(np.trace(self.whole[0][0])))

    def scores(self, alphas: FloatArray) -> Iterator[FloatArray]:
        """Yield the scores of each fold's rows by fits without it: shape (n_alphas, n_outputs, n_rows)."""
        for scores, test in zip(self._all_scores(alphas), self.tests, strict=True):
            yield scores.reshape(len(alphas), -1, len(test))

    def _all_scores(self, alphas: FloatArray) -> Iterable[FloatArray]:
        """Return the scores of each fold's rows by all functions; in one pass if rows are not in memory."""
        if isinstance(self._X, Design):
            functions = np.stack([self._functions(k, alphas) for k in range(len(self.tests))])
            elsewhere: Any = self._X
            return elsewhere.scores_of_parts(functions, self.tests)
        return (
            compared_scores(self._X, self._functions(k, alphas), test, self._n_threads)
            for k, test in enumerate(self.tests)
        )

    def _functions(self, k: int, alphas: FloatArray) -> FloatArray:
        """Return the weights of the fits without a fold, shape (n_alphas * n_outputs, n)."""
        path = joined_paths(
            [
                self._without(k, parts, shares).solutions(alphas)
                for parts, shares in zip(self._parts, self._shares, strict=True)
            ]
        )
        return path.reshape(-1, path.shape[-1])

    @staticmethod
    def _without(k: int, parts: list[Any], shares: list[float]) -> Spectrum:
        """Decompose the equations of all folds but one."""
        gram, pull = _summed(parts[:k] + parts[k + 1 :])
        share = sum(shares[:k] + shares[k + 1 :]) or 1.0  # without pairs there is nothing to divide
        return Spectrum.of(gram / share, pull / share)


def _summed(parts: list[Any]) -> tuple[FloatArray, FloatArray]:
    grams, pulls = zip(*parts, strict=True)
    return np.sum(grams, axis=0), np.sum(pulls, axis=0)
