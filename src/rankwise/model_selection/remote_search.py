"""A search over alpha for labels that stay where the rows are: folds are judged there, by their weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.model_selection.search import AlphaSearch, Fold

# The measures that are means over queries with pairs, or over pairs.
PAIR_MEASURES = ("error", "concordance", "log_loss")


class RemoteSearch(AlphaSearch):
    """Compare alphas by an error on held-out rows; neither scores nor labels leave the place of the rows."""

    def visits(self, alphas: FloatArray, folds: list[Fold]) -> Iterator[FloatArray]:
        """Yield the errors of all folds, (n_folds,), for one alpha after the other."""
        n_done, (_, descents) = 0, self._lockstep(folds)
        for alpha in alphas if descents is not None else ():
            weights = descents.weights(float(alpha))
            if weights is None:
                break
            yield self._judged_folds(folds, weights)
            n_done += 1
        paths = [self._weights(alphas[n_done:], fold) for fold in folds]
        for found in zip(*paths, strict=True):
            yield self._judged_folds(folds, found)

    def errors(self, alphas: FloatArray, folds: Iterable[Fold]) -> Iterator[FloatArray]:
        """Yield the held-out errors of each fold, shape (n_alphas, 1)."""
        for fold in folds:
            yield self._judged_weights([fold], [np.stack(list(self._weights(alphas, fold)))])[0][:, None]

    def _weights(self, alphas: FloatArray, fold: Any) -> Iterator[FloatArray]:
        fits: Any = self.model.fits(replace(self.problem, outputs=[fold.train]))
        return fits.weights(alphas)

    def _judged_folds(self, folds: list[Fold], weights: Iterable[FloatArray]) -> FloatArray:
        """Return the error of each fold by its weights."""
        return np.concatenate(self._judged_weights(folds, [coef[None] for coef in weights]))

    def _judged_weights(self, folds: list[Any], weights: list[FloatArray]) -> list[FloatArray]:
        """Return the held-out errors of each fold, for each row of its weights."""
        average, (first, *others) = getattr(self.model, "average", "queries"), [fold.test for fold in folds]
        return first.errors(self.problem.X, weights, self.criterion.error, average, others)


def suits_remote_search(cv: Any, scoring: Any, pooled: bool) -> bool:
    """Return whether folds are of queries, each judged by a mean over its pairs.

    Examples
    --------
    >>> suits_remote_search(5, "error", False), suits_remote_search(5, "ndcg@10", False)
    (True, False)
    """
    return isinstance(cv, Integral) and isinstance(scoring, str) and scoring in PAIR_MEASURES and not pooled
