"""A search over alpha for labels that stay where the rows are: folds are judged there, by their weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.distributed.remote_labels import RemotePreferences
from rankwise.model_selection.folds import Folds


class RemoteFolds(Folds):
    """The errors of folds whose scores and labels do not leave the place of the rows."""

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors of all folds, (1, n_folds), for one alpha after the other."""
        n_done = 0
        for alpha in values if self._lockstep is not None else ():
            weights = self._lockstep.weights(float(alpha))
            if weights is None:
                break
            yield self._judged_folds(weights)
            n_done += 1
        for found in zip(*[self._weights_along(values[n_done:], fold) for fold in self.splits], strict=True):
            yield self._judged_folds(found)

    def state(self) -> None:
        """The scores of a descent are not in memory, so a search is not continued."""

    def _weights_along(self, alphas: FloatArray, fold: Any) -> Iterator[FloatArray]:
        fits: Any = self.model.fits(replace(self.problem, outputs=[fold.train]))
        return fits.weights(alphas)

    def _judged_folds(self, weights: Iterable[FloatArray]) -> FloatArray:
        """Return the error of each fold by its weights."""
        average = getattr(self.model, "average", "queries")
        splits: list[Any] = self.splits
        first, *others = [fold.test for fold in splits]
        found = first.errors(
            self.problem.X, [coef[None] for coef in weights], self.criterion.error, average, others
        )
        return np.concatenate(found)[None]


def remote_folds_for(preferences: RemotePreferences, *arguments: Any) -> RemoteFolds:
    """Return the folds of a problem whose labels are on the workers."""
    return RemoteFolds(*arguments)
