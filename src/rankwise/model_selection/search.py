"""One search over alpha: candidates, folds, errors on the rows held out, and the choice.

The estimators that choose alpha and the commands `tune` and `train --tune` all search here, so that they
choose the same alpha on the same folds. Estimators take part by `Tunable`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.sparsefuncs import mean_variance_axis

from rankwise.core.checks import as_alphas, as_array, check_count, is_constant
from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.data.backends import in_memory
from rankwise.data.design import Design, zero_scores
from rankwise.data.shared_passes import SharedPasses
from rankwise.model_selection.scoring import as_scoring
from rankwise.model_selection.tunable import Problem, Tunable
from rankwise.preferences import NoPairsError, Preferences, as_preferences

RowFold = tuple[NDArray[np.int64], NDArray[np.int64]]

# A search over a default grid ends if this many candidates in a row are worse than the best, each by more
# than this many standard errors of the difference over folds, and the best is better than chance by
# `LEARNED` of them: if features that are noise dominate, errors wander about chance until alpha is small.
# `benchmarks/suite.py` counts the searches that end too early.
RISES, STANDARD_ERRORS, LEARNED = 2, 0.5, 3.0
# The error of equal scores. Of other measures the error of the largest candidate takes its place.
CHANCE = {"error": 0.5, "concordance": 0.5, "log_loss": float(np.log(2.0))}
# While the largest candidate is the best, larger ones are added, at most this many.
MOST_LARGER = 3
# Columns whose standard deviation is further above the median of columns than this do not raise the grid; it
# is measured from at most this many rows.
FAR_ABOVE, MEASURED_ROWS = 30.0, 20_000
# Bytes of training rows that the fits of all folds may hold at the same time.
MOST_BYTES = 2**31


class PairFold(NamedTuple):
    """Pairs to learn from and pairs to judge by, among the same rows."""

    train: Preferences
    test: Preferences


class Validation(NamedTuple):
    """Rows to judge by, with their preferences for each output; all other rows are learned from."""

    X: Any
    outputs: list[Preferences]
    y: Any = None


Fold = RowFold | PairFold | Validation


class Parts(NamedTuple):
    """What a fold learns from, and the rows, outputs and labels (for scorers) that it is judged by.

    `judged` numbers the outputs that are learned, all by default.
    """

    train: Problem
    X_test: Any
    held_out: list[Preferences]
    y: Any
    judged: Any = slice(None)


class Part(NamedTuple):
    """Some rows, and the preferences among them."""

    rows: NDArray[np.int64] | slice
    preferences: Preferences


class EdgeOfGridWarning(UserWarning):
    """The best alpha is the first or the last candidate, so that one beyond may be better."""


class EqualErrorsWarning(EdgeOfGridWarning):
    """All candidates have the same held-out error, so that the choice among them is arbitrary."""


class AlphaSearch:
    """Compare alphas by an error on held-out rows.

    Parameters
    ----------
    model : Tunable
        It is fitted many times; its alpha does not matter.
    problem : Problem
        All rows, in memory or elsewhere; folds of rows elsewhere are masks, and share passes over them.
    scaler : transformer, optional
        It is fitted to the training rows of each fold.
    scoring : str, callable or Scoring
        What `as_scoring` takes: the name of a measure or a scorer.
    y : array of shape (n_rows,), optional
        The labels, if there are no queries: a scorer sees them in place of preferences.
    pooled : bool
        Judge the held-out scores of all folds together, rather than fold by fold.
    """

    def __init__(
        self,
        model: Tunable,
        problem: Problem,
        scaler: Any = None,
        scoring: Any = "error",
        y: Any = None,
        pooled: bool = False,
    ):
        self.criterion = as_scoring(scoring)
        self.scoring = self.criterion.key
        self.pooled = pooled
        if pooled and self.criterion.scorer is not None:
            raise ValueError(
                "A scorer judges a model, not pooled scores; give the name of a measure as scoring."
            )
        self.model = model
        self.problem = problem
        self.scaler = scaler
        self.y = None if y is None else as_array(y)
        self.held_out = [as_preferences(output) for output in problem.outputs]
        self._warned: set[str] = set()
        self._shared: tuple[Any, Any] = (None, None)  # folds, and what they share
        self._descents: tuple[Any, Any] = (None, None)  # folds, and their descents
        self._known: dict[int, tuple[Part, Part]] = {}
        self._design: Design | None = None
        X, is_table = problem.X, hasattr(type(problem.X), "passes")  # a column may have that name
        self._passes = SharedPasses(X) if isinstance(X, Design) else X.passes if is_table else None
        self._needs_models = self.criterion.scorer is not None and self.criterion.from_scores is None
        if self._passes is not None and self._needs_models:
            raise ValueError(
                f"A scorer takes rows in memory, but X is {problem.X.location}; give the name of a measure "
                "as scoring."
            )

    def candidates(self, alphas: ArrayLike | None = None, design: Design | None = None) -> FloatArray:
        """Return the alphas to try from the largest down: those given, or the default grid of the model.

        `design` has the rows in the function space, if it is known.
        """
        self._design = design
        if alphas is not None:
            return np.unique(as_alphas(alphas))[::-1].copy()
        X = self.problem.X
        if design is None and self.scaler is not None:
            X = clone(self.scaler).fit_transform(X)
        return self.model.grid(replace(self.problem, X=X, outputs=self.held_out), design)

    def folds(self, cv: Any, y: Any = None, qid: ArrayLike | None = None, seed: int = 0) -> list[Fold]:
        """Return the training and test rows of each fold that some output is judged by.

        These have pairs in both; if scores are pooled, pairs in the training rows suffice. An int assigns
        queries (rows, if there are no queries) at random, or explicit pairs that share rows; anything else is
        passed to scikit-learn's `check_cv` and splits `y` by `qid`.
        """
        from sklearn.model_selection import check_cv  # which takes long to import

        from rankwise.model_selection.splits import QueryKFold

        if isinstance(cv, Integral):  # shuffled, as the order of rows may be periodic or drift
            check_count("cv", cv)
            pairs = self.held_out[0].pair_folds(int(cv), seed)
            if pairs:
                return [PairFold(*fold) for fold in pairs]
            splitter = QueryKFold(int(cv), shuffle=True, random_state=seed)
            return self._with_pairs(splitter.split(self.problem.X, self.held_out[0]))
        y, qid = in_memory(y), in_memory(qid)
        if isinstance(cv, QueryKFold) and qid is None:
            y = self.held_out[0]  # with its queries, or as one ranking
        X = self.problem.X if self._passes is None else np.broadcast_to(0.0, (self.problem.X.shape[0], 1))
        return self._with_pairs(check_cv(cv).split(X, y, groups=qid))

    def _with_pairs(self, splits: Iterable[RowFold]) -> list[Fold]:
        kept: list[Fold] = []
        missing = set(range(len(self.held_out)))
        for fold in splits:
            judged = self._judged_by(fold)
            kept += [fold] * bool(judged)
            missing.difference_update(judged)
        if missing:
            pairs = "pairs" if len(self.held_out) == 1 else f"pairs of output {min(missing)}"
            where = "in its training rows" if self.pooled else "both in its training and in its test rows"
            raise NoPairsError(f"No fold has {pairs} {where}; use fewer folds.")
        return kept

    def _judged_by(self, fold: Any) -> list[int]:
        """Return the outputs that are judged by a fold of rows: those with pairs as `folds` asks."""
        judged = []
        for k in range(len(self.held_out)):
            train, test = self._halves(fold, k)
            if train.preferences.has_pairs and (self.pooled or test.preferences.has_pairs):
                judged.append(k)
        return judged

    def errors(self, alphas: FloatArray, folds: Iterable[Fold]) -> Iterator[FloatArray]:
        """Yield the held-out errors of each fold, shape (n_alphas, n_outputs): once for all, if pooled.

        They are NaN for an output that is not judged by the fold.
        """
        if self.criterion.scorer is not None:
            return (np.array(list(self._path(alphas, fold))) for fold in folds)
        folds = list(folds) if self.pooled else folds
        if isinstance(folds, list) and self.pooled and not isinstance(folds[0], Validation):
            return iter([self._pooled(alphas, folds)])
        return (self.judged(*fold) for fold in self.scores(alphas, folds))

    def judged(self, held_out: list[Preferences], scores: FloatArray) -> FloatArray:
        """Return the errors of the scores of one fold, (n_alphas, n_outputs); NaN for unknown scores."""
        average, measure = getattr(self.model, "average", "queries"), self.criterion.error
        assert measure is not None

        def error(output: Preferences, scores: FloatArray) -> float:
            return np.nan if np.isnan(scores[0]) else measure(output, scores, average=average)

        with self._warning_once():
            return np.array([list(map(error, held_out, row)) for row in scores])

    def _pooled(self, alphas: FloatArray, folds: list[Fold]) -> FloatArray:
        """Return the errors of the held-out scores of all folds together, shape (n_alphas, n_outputs)."""
        n_rows = self.problem.X.shape[0]
        scores = np.full((len(alphas), len(self.held_out), n_rows), np.nan)
        tests = _rows_held_out_once(folds, n_rows)
        for test, (_, found) in zip(tests, self.scores(alphas, folds), strict=True):
            scores[:, :, test] = found
        errors = []
        for k, output in enumerate(self.held_out):
            known = np.flatnonzero(~np.isnan(scores[0, k]))
            output[known].require_pairs()
            errors.append(self.judged([output[known]], scores[:, [k]][:, :, known]))
        return np.concatenate(errors, axis=1)

    def _path(self, alphas: FloatArray, fold: Fold) -> Iterator[FloatArray]:
        """Fit one alpha after the other to a fold, and yield its held-out errors: shape (n_outputs,)."""
        if self._passes is not None:
            path, judge = self._scored(alphas, fold)
            yield from map(judge, path)
            return
        parts, scorer = self._parts(fold), self.criterion.scorer
        if scorer is None:
            for scores in self._fold_scores(alphas, parts):
                yield self.judged(parts.held_out, scores[None])[0]
            return
        if len(parts.train.outputs) > 1:
            raise ValueError("A scorer judges models of one output; give the name of a measure as scoring.")
        for model in self.model.fits(parts.train).models(alphas):
            with self._warning_once():
                error = -float(scorer(model, parts.X_test, parts.y))
            yield np.array([error])

    def _scored(self, alphas: FloatArray, fold: Fold) -> tuple[Iterator[FloatArray], Any]:
        """Return the scores by each fit to rows that are elsewhere, and the function that judges them.

        Fits may run in threads; judging may not, as it catches warnings.
        """
        parts = self._parts(fold)
        if self.criterion.scorer is None:
            return self._fold_scores(alphas, parts), lambda found: self.judged(parts.held_out, found[None])[0]
        assert self._passes is not None, "rows are elsewhere"
        halves = self._halves(fold)
        parts = parts._replace(X_test=self._passes.part(np.arange(self.problem.X.shape[0])))
        return self._fold_scores(alphas, parts), lambda found: np.array([self._error(*halves, found[0])])

    def _all_scores(self, alphas: FloatArray, parts: Parts) -> FloatArray:
        """Return the scores of held-out rows by all fits, shape (n_alphas, n_outputs, n_rows)."""
        return np.array(list(self._fold_scores(alphas, parts)))

    def _fold_scores(self, alphas: FloatArray, parts: Parts) -> Iterator[FloatArray]:
        """Yield the scores of held-out rows by the fit for each alpha, shape (n_outputs, n_rows)."""
        for scores in self.model.fits(parts.train).scores(alphas, parts.X_test):
            judged = np.full((len(self.held_out), parts.X_test.shape[0]), np.nan)
            judged[parts.judged] = scores
            yield judged

    @contextmanager
    def _warning_once(self) -> Iterator[None]:
        """Pass on the first warning of each kind, and none of other folds and alphas."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            undefined = issubclass(warning.category, UndefinedMetricWarning)
            kind = "undefined" if undefined else str(warning.message)
            if kind not in self._warned:
                self._warned.add(kind)
                warn_caller(warning.message, warning.category)

    def scores(
        self, alphas: FloatArray, folds: Iterable[Fold]
    ) -> Iterator[tuple[list[Preferences], FloatArray]]:
        """Yield the preferences that each fold holds out, and scores: (n_alphas, n_outputs, n_rows).

        The scores of an output that is not judged by the fold are NaN.
        """
        folds = folds if isinstance(folds, list) else list(folds)
        halves, descents = self._lockstep(folds)
        found = [] if descents is None else [descents.scores(float(alpha)) for alpha in alphas]
        if descents is not None and not any(scores is None for scores in found):
            for (_, test), scores in zip(halves, zip(*found, strict=True), strict=True):
                yield [test.preferences], np.stack([one[test.rows][None] for one in scores])
            return
        shared = self.shared(folds)
        if shared is not None:
            for fold, test, scores in zip(folds, shared.tests, shared.scores(alphas), strict=True):
                judged = np.full((len(alphas), len(self.held_out), len(test)), np.nan)
                outputs = self._judged_by(fold)
                judged[:, outputs] = scores[:, outputs]
                yield [output[test] for output in self.held_out], judged
            return
        if self._passes is not None:
            parts = list(map(self._parts, folds))
            found = self._passes.run([partial(self._all_scores, alphas, part) for part in parts])
            yield from zip((part.held_out for part in parts), found, strict=True)
            return
        for fold in folds:
            part = self._parts(fold)
            yield part.held_out, self._all_scores(alphas, part)

    def visits(self, alphas: FloatArray, folds: list[Fold]) -> Iterator[FloatArray]:
        """Yield the errors of all folds, (n_folds,), for one alpha after the other; outputs are averaged.

        The folds advance together, unless their rows take too much memory.
        """
        n_done = 0
        for errors in self._descended(alphas, folds):
            yield errors
            n_done += 1
        if n_done == len(alphas):
            return
        if self._passes is not None:
            scored = [self._scored(alphas[n_done:], fold) for fold in folds]
            for _ in alphas[n_done:]:
                found = self._passes.run([partial(next, path) for path, _ in scored])
                judged = [judge(scores) for (_, judge), scores in zip(scored, found, strict=True)]
                yield np.mean(judged, axis=1)
            return
        paths: list[Any] = [self._path(alphas[n_done:], fold) for fold in folds]
        if _copied_bytes(self.problem.X, folds) > MOST_BYTES:
            paths = [list(path) for path in paths]
        for visited in zip(*paths, strict=True):
            yield np.mean(visited, axis=1)

    def _descended(self, alphas: FloatArray, folds: list[Fold]) -> Iterator[FloatArray]:
        """Yield the errors of all folds for each alpha, up to the first at which a descent is stopped."""
        if self._needs_models:
            return
        halves, descents = self._lockstep(folds)
        last, errors = [None] * len(folds), np.empty(len(folds))
        for alpha in alphas if descents is not None else ():
            scores = descents.scores(float(alpha))
            if scores is None:
                return
            for k, (half, found) in enumerate(zip(halves, scores, strict=True)):
                if found is not last[k]:  # a descent that has not moved has the same scores
                    errors[k] = self._error(*half, found)
            last = scores
            yield errors.copy()

    def _error(self, train: Part, test: Part, scores: FloatVector) -> float:
        """Return the error of a fold by the scores of all rows."""
        held_out, from_scores = scores[test.rows], self.criterion.from_scores
        if from_scores is not None:
            return from_scores(train.preferences, scores[train.rows], test.preferences, held_out)
        return float(self.judged([test.preferences], held_out[None, None])[0, 0])

    def _lockstep(self, folds: list[Fold]) -> tuple[list[tuple[Part, Part]], Any]:
        """Return the training and test part of each fold, and the descents of all folds, or None."""
        if self._descents[0] is not folds:
            is_plain = (
                self.scaler is None and len(self.held_out) == 1 and not isinstance(folds[0], Validation)
            )
            halves = list(map(self._halves, folds)) if is_plain else []
            descents = self.model.fold_descents if is_plain else None
            parts = [train for train, _ in halves]
            found = None if descents is None else descents(self.problem, parts, self._design)
            self._descents = folds, (halves, found)
        return self._descents[1]

    def _halves(self, fold: Any, k: int = 0) -> tuple[Part, Part]:
        """Return the training and the test part of an output; those of the first output are kept."""
        if isinstance(fold, PairFold):
            return Part(slice(None), fold.train), Part(slice(None), fold.test)
        if k == 0 and id(fold) in self._known:
            return self._known[id(fold)]
        rows = np.arange(self.problem.X.shape[0])  # splits may be masks
        train, test = fold
        halves = Part(rows[train], self.held_out[k][train]), Part(rows[test], self.held_out[k][test])
        if k == 0:
            self._known[id(fold)] = halves
        return halves

    def start(self, alpha: float) -> FloatVector | None:
        """Return weights near the solution for all rows, if the fits of the folds have some."""
        _, found = self._descents
        return None if found is None or found[1] is None else found[1].start(alpha)

    def choice(self, alphas: FloatArray, visits: Iterable[FloatArray], folds: list[Fold]) -> Choice:
        """Choose among a default grid: take visits until the errors have clearly risen.

        While the largest alpha is the best, larger ones are tried.
        """
        errors: list[FloatArray] = []
        for visited in visits:
            errors.append(visited)
            if has_risen(np.array(errors), CHANCE.get(self.scoring)):
                break
        found = Choice(alphas[: len(errors)], np.array(errors), self.scoring)
        while found.is_open_above and len(found.alphas) < len(errors) + MOST_LARGER:
            larger = found.alphas[:1] ** 2 / found.alphas[1]
            above = np.array(list(self.visits(larger, folds)))
            found = Choice(np.append(larger, found.alphas), np.vstack([above, found.errors]), self.scoring)
        return found

    def shared(self, folds: list[Fold]) -> Any:
        """Return the fits of all folds from one pass over the rows, or None; they are made once."""
        if self._shared[0] is not folds:
            tests = self._partition(folds)
            found = None if tests is None else self.model.fold_equations(self.problem, tests)
            self._shared = folds, found
        return self._shared[1]

    def _partition(self, folds: list[Fold]) -> list[NDArray[np.int64]] | None:
        """Return the test rows if each row is in those of one fold and no query is split; None otherwise.

        The training rows of a fold are then the test rows of the others.
        """
        rows = [fold for fold in folds if not isinstance(fold, PairFold | Validation)]
        if self.scaler is not None or len(rows) < len(folds):
            return None
        fold_of = np.full(self.problem.X.shape[0], -1, dtype=np.int64)
        for k, (_, test) in enumerate(rows):
            fold_of[test] = k
        for k, (train, test) in enumerate(rows):
            held_out, learned = fold_of == k, np.zeros(len(fold_of), dtype=bool)
            learned[train] = True
            once = len(test) == held_out.sum() and len(train) == learned.sum()
            if not once or (learned == held_out).any():
                return None
        uncut = all(is_constant(fold_of, output.groups()) for output in self.held_out)
        return [test for _, test in rows] if uncut and (fold_of >= 0).all() else None

    def _parts(self, fold: Fold) -> Parts:
        """Return the training and the held-out part of a fold."""
        whole = self.problem
        if isinstance(fold, PairFold):
            X = whole.X if self._passes is None else self._passes.part(np.arange(whole.X.shape[0]))
            return self._scaled(Parts(replace(whole, X=X, outputs=[fold.train]), X, [fold.test], fold.test))
        if isinstance(fold, Validation):
            y = fold.outputs[0] if fold.y is None else fold.y
            return self._scaled(Parts(whole, fold.X, fold.outputs, y))
        train, test = fold
        if self._passes is None:
            X_train, X_test = whole.X[train], whole.X[test]
        else:
            rows = np.arange(whole.X.shape[0])  # splits may be masks
            X_train, X_test = self._passes.part(rows[train]), self._passes.part(rows[test])
        if self._precomputed:  # of a kernel matrix, the columns of the training rows
            X_train, X_test = X_train[:, train], X_test[:, train]
        judged = self._judged_by(fold)
        learned = replace(whole, X=X_train, outputs=[whole.outputs[k][train] for k in judged])
        held_out = [output[test] for output in self.held_out]
        y = held_out[0] if self.y is None else self.y[test]
        return self._scaled(Parts(learned, X_test, held_out, y, judged))

    @property
    def _precomputed(self) -> bool:
        return getattr(self.model, "kernel", None) == "precomputed"

    def _scaled(self, parts: Parts) -> Parts:
        """Return the rows as the model takes them."""
        if self.scaler is None or self._precomputed:
            return parts
        scaler = clone(self.scaler).fit(parts.train.X)
        X_train, X_test = map(scaler.transform, (parts.train.X, parts.X_test))
        return parts._replace(train=replace(parts.train, X=X_train), X_test=X_test)


def has_risen(errors: FloatArray, chance: float | None = None) -> bool:
    """Return whether something was learned, and the last candidates are worse than the best one.

    If the error of chance is unknown, the first candidate takes its place. It may already be near the best:
    then something was learned if the last candidates are clearly worse than the first.

    `errors` has shape (n_alphas, n_folds). One fold has no standard error, so that nothing is clear.
    """
    n_alphas, n_folds = errors.shape
    best = int(np.argmin(errors.mean(axis=1)))
    if n_folds == 1 or n_alphas - 1 - best < RISES:
        return False
    start = errors[0] if chance is None else np.full(n_folds, chance)
    rises = [*(errors[-RISES:] - errors[best]), *(errors[-RISES:] - start)]
    differences = np.stack([start - errors[best], *rises])
    noise = differences.std(axis=1, ddof=1) / np.sqrt(n_folds)
    least = np.array([LEARNED, *[STANDARD_ERRORS] * RISES, *[LEARNED] * RISES])
    learned, *rest = (differences.mean(axis=1) > least * noise).tolist()
    from_best, from_start = rest[:RISES], rest[RISES:]
    return all(from_best) and (learned or (chance is None and all(from_start)))


def _copied_bytes(X: Any, folds: list[Fold]) -> float:
    """Return the bytes of the training rows of all folds of rows; others share the rows of X."""
    size = getattr(X, "nbytes", None) or 1.5 * X.data.nbytes
    rows = np.arange(X.shape[0])  # splits may be masks
    copies = [len(rows[fold[0]]) for fold in folds if not isinstance(fold, PairFold | Validation)]
    return size * sum(copies) / max(1, X.shape[0])


def _rows_held_out_once(folds: list[Fold], n_rows: int) -> list[NDArray[np.int64]]:
    """Return the test rows of each fold, among which no row may be twice."""
    rows = np.arange(n_rows)  # splits may be masks
    tests = [rows[fold[1]] for fold in folds if not isinstance(fold, PairFold | Validation)]
    if len(tests) < len(folds):
        raise ValueError(
            "pooled=True needs folds of rows or queries, but here they are of pairs that share rows."
        )
    count = np.bincount(np.concatenate(tests), minlength=n_rows)
    if count.max() > 1:
        row = int(np.argmax(count))
        raise ValueError(f"pooled=True needs each row in one test set at most; row {row} is in {count[row]}.")
    return tests


def margin_alphas(design: Design, loss: Any, X: Any = None, count: int = 8) -> FloatArray:
    """Return powers of ten down from the alpha at which the scores of a first gradient step spread over one.

    If all pairs violate the margin, the solution is -a / (2 alpha) with the gradient a at zero. X holds the
    rows of a linear design: its columns far above the others in scale are damped first.
    """
    _, coefficients, _ = loss.plane(zero_scores(design))
    step = design.rmatvec(coefficients)
    if X is not None and np.abs(step).max(initial=0.0) > FAR_ABOVE * np.median(np.abs(step)):
        step = step * far_columns(X) ** 2
    spread = float(design.matvec(step).std())
    return np.asarray((spread or 1.0) / 2 * 10.0 ** -np.arange(count), dtype=np.float64)


def far_columns(X: Any) -> FloatVector:
    """Return factors that bring columns far above the median standard deviation down to `FAR_ABOVE` times it.

    They are 1 for all other columns.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 900.0]])
    >>> far_columns(X)
    array([1.        , 1.        , 0.06666667])
    """
    return _damping(_column_spread(X))


def near_share(X: Any) -> float:
    """Return the fraction of the squared distances of rows that is left if far columns are damped.

    Examples
    --------
    >>> near_share(np.array([[0.0, 0.0], [1.0, 2.0]]))
    1.0
    """
    spread = _column_spread(X)
    total = float(np.sum(spread**2))
    return float(np.sum((_damping(spread) * spread) ** 2)) / total if 0 < total < np.inf else 1.0


def _column_spread(X: Any) -> FloatVector:
    """Return the standard deviation of each column, from some of the rows; 1 if it is not known."""
    step = -(-X.shape[0] // MEASURED_ROWS)
    if isinstance(X, Design):
        return X.column_spread(np.arange(0, X.shape[0], step))
    if not (isinstance(X, np.ndarray) or sp.issparse(X)):
        return np.ones(X.shape[1])
    rows = X[::step]
    if sp.issparse(rows):
        return np.sqrt(mean_variance_axis(sp.csr_matrix(rows, dtype=np.float64), axis=0)[1])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(rows, dtype=np.float64).std(axis=0)


def _damping(spread: FloatVector) -> FloatVector:
    varied = spread[(spread > 0) & np.isfinite(spread)]
    limit = FAR_ABOVE * float(np.median(varied)) if len(varied) else np.inf
    return np.minimum(1.0, np.divide(limit, spread, where=spread > 0, out=np.ones_like(spread)))


@dataclass
class Choice:
    """Candidates for alpha from the largest down, and their errors.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
    errors : array of shape (n_alphas, n_folds), or (n_alphas, n_outputs) if outputs share one alpha
        One column if only the mean is known.
    scoring : str
        The key of the `Scoring`.
    """

    alphas: FloatArray
    errors: FloatArray
    scoring: str = "error"

    @property
    def mean(self) -> FloatArray:
        """The mean over folds, or outputs, for each alpha."""
        return self.errors.mean(axis=1)

    @property
    def best(self) -> int:
        """The index of the largest alpha with the lowest mean error."""
        return int(np.argmin(self.mean))

    @property
    def alpha(self) -> float:
        """The best alpha."""
        return float(self.alphas[self.best])

    @property
    def is_open_above(self) -> bool:
        """Whether the largest alpha is the best, and still changes an error."""
        return len(self.alphas) > 1 and self.best == 0 and not np.array_equal(self.errors[0], self.errors[1])

    def warn_at_edge(self) -> None:
        """Warn if the best alpha is the first or the last of several, and suggest the next ones to try.

        If all candidates have the same error, warn of that instead.
        """
        if len(self.alphas) == 1:
            return
        if (self.errors == self.errors[0]).all():
            warn_caller(self._undecided(), EqualErrorsWarning)
        elif (advice := self._advice()) is not None:
            warn_caller(f"{advice} to alphas.", EdgeOfGridWarning)

    def _undecided(self) -> str:
        return (
            f"All {len(self.alphas)} candidates for alpha have the same held-out error, {self.mean[0]:.4g}; "
            f"the largest is taken, {self.alpha:.3g}. Smaller ones may differ (add {self._beyond(-1, -2)} to "
            "alphas), or more rows are needed."
        )

    def _advice(self) -> str | None:
        """Return candidates to add, or None if the errors no longer fall at the end of the grid.

        From some alpha on the weights only shrink, no order changes, and the largest alpha is chosen. Equal
        errors of the two largest alphas in every fold indicate that; larger ones would not help.
        """
        n_alphas = len(self.alphas)
        if self.best == n_alphas - 1:
            return (
                f"The best alpha, {self.alpha:.3g}, is the smallest of {n_alphas} candidates, and a smaller "
                f"one may be better: add {self._beyond(-1, -2)}"
            )
        if self.is_open_above:
            return (
                f"The best alpha, {self.alpha:.3g}, is the largest of {n_alphas} candidates, and a larger "
                f"one may be better: add {self._beyond(0, 1)}"
            )
        return None

    def _beyond(self, end: int, neighbour: int) -> str:
        """Return the next two alphas beyond an end of the grid, in its steps."""
        step = self.alphas[end] / self.alphas[neighbour]
        return " and ".join(f"{self.alphas[end] * step**k:.3g}" for k in (1, 2))
