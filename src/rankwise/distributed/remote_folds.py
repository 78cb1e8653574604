"""Folds of queries whose labels stay on the workers; the driver has the fold of each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray
from rankwise.data.design import MemoryDesign
from rankwise.data.scores import compared_scores
from rankwise.distributed.engine import Pinned
from rankwise.distributed.partitioned import PartitionedDesign
from rankwise.distributed.remote_labels import LocalLabels, RemotePreferences, Summary, labels_summary
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.splits import QueryKFold
from rankwise.preferences.base import NoPairsError, Preferences


def remote_folds(
    preferences: RemotePreferences, n_splits: int, seed: int
) -> list[tuple[Preferences, Preferences]]:
    """Return the pairs to learn from and to judge by of each fold of queries, those of memory.

    Folds without pairs in one of the two are left out.
    """
    numbers = preferences.query_numbers
    queries = np.arange(preferences.n_queries)
    fold_of = np.empty(len(queries), dtype=np.int64)
    for k, (_, test) in enumerate(
        QueryKFold(n_splits, shuffle=True, random_state=seed).split(queries[:, None], groups=queries)
    ):
        fold_of[test] = k
    parts = [fold_of[some] for some in numbers]
    halves = [
        _restricted(preferences, function, parts, k)
        for k in range(n_splits)
        for function in (training_labels, held_out_labels)
    ]
    pairs = list(zip(halves[::2], halves[1::2], strict=True))
    found: list[tuple[Preferences, Preferences]] = [
        (train, test) for train, test in pairs if train.has_pairs and test.has_pairs
    ]
    if not found:
        raise NoPairsError("No fold has pairs both in its training and in its test rows; use fewer folds.")
    return found


class FoldPreferences(RemotePreferences):
    """The preferences among the rows of some of the queries of `whole`."""

    def __init__(self, whole: RemotePreferences, labels: Pinned, summaries: Sequence[Summary]):
        super().__init__(whole.engine, labels, summaries, is_complete=whole.is_complete)
        self._whole = whole

    def sample(self, fraction: float) -> Any:
        """Draw rows of all queries; those of queries without weight do not count."""
        return self._whole.sample(fraction)

    def errors(
        self,
        design: PartitionedDesign,
        weights: Sequence[FloatArray],
        measure: Callable[..., float],
        average: str,
        others: Sequence[FoldPreferences] = (),
    ) -> list[FloatArray]:
        """Return means over queries or pairs for these preferences and for others, from one pass.

        Each has an array of weights, shape (n, n_features), and a mean for each row of it.
        `measure(preferences, scores, average=average)` is computed by the workers for their rows.
        """
        engine, n, folds = self.engine, len(self.handles), (self, *others)
        fixed: list[Any] = [[measure] * n, [average] * n]
        fractions = [list(some) for some in zip(*(fold.fractions(average) for fold in folds), strict=True)]

        def send() -> list[Any]:
            sent = [engine.broadcast([np.ascontiguousarray(some) for some in weights])] * n
            labels = (fold.handles for fold in folds)
            return [engine.total(engine.map(fold_errors, design.handles, fractions, sent, *fixed, *labels))]

        ends = np.cumsum([len(some) for some in weights])
        return np.split(engine.execute(send)[0], ends[:-1])


def _restricted(
    preferences: RemotePreferences, function: Callable[..., LocalLabels], parts: Sequence[Any], k: int
) -> FoldPreferences:
    engine = preferences.engine

    def make() -> list[Any]:
        sent = engine.scatter(parts, preferences.handles)
        return engine.map(function, preferences.handles, sent, [k] * len(parts))

    labels = Pinned(engine, make)
    summaries = engine.execute(lambda: engine.map(labels_summary, labels.handles))
    return FoldPreferences(preferences, labels, summaries)


def training_labels(labels: LocalLabels, fold_of: NDArray[np.int64], k: int) -> LocalLabels:
    """Return the labels of a partition, without weight for the queries of a fold."""
    ranking, totals, kept = labels.ranking, labels.totals, fold_of != k
    assert ranking is not None, "labels were checked"
    assert totals is not None, "these are the labels of all queries"
    masked = ranking.replaced(query_weight=kept[ranking.groups()].astype(np.float64))
    return LocalLabels(masked, totals.summary(ranking.n_rows, kept), labels.queries)


def held_out_labels(labels: LocalLabels, fold_of: NDArray[np.int64], k: int) -> LocalLabels:
    """Return the labels of the rows of a fold, those of queries with pairs."""
    ranking, totals = labels.ranking, labels.totals
    assert ranking is not None, "labels were checked"
    assert totals is not None, "these are the labels of all queries"
    kept = (fold_of == k) & (totals.mass > 0)
    rows = np.flatnonzero(kept[ranking.groups()])
    part: Any = ranking[rows]
    return LocalLabels(part.renumbered(), totals.summary(len(rows), kept), labels.queries[kept], rows=rows)


def fold_errors(
    block: MemoryDesign,
    fractions: list[float],
    weights: list[FloatArray],
    measure: Callable[..., float],
    average: str,
    *labels: LocalLabels,
) -> FloatArray:
    """Return the `local_errors` of all folds, one after the other."""
    folds = zip(labels, fractions, weights, strict=True)
    return np.concatenate([local_errors(block, *fold, measure, average) for fold in folds])


def local_errors(
    block: MemoryDesign,
    labels: LocalLabels,
    fraction: float,
    weights: FloatArray,
    measure: Callable[..., float],
    average: str,
) -> FloatArray:
    """Return the error of the rows of a fold for each row of weights, times the fraction of the partition."""
    if fraction == 0:
        return np.zeros(len(weights))
    scores = compared_scores(block.X, weights, labels.rows)
    return fraction * np.array([measure(labels.ranking, some, average=average) for some in scores])


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
