"""Folds of rows, queries or pairs: what each learns from, and what it is judged by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, check_cv

from rankwise.core.checks import as_array, check_count, is_constant
from rankwise.model_selection.splits import QueryKFold
from rankwise.model_selection.tunable import Problem
from rankwise.preferences import NoPairsError, Preferences, as_preferences

RowFold = tuple[NDArray[np.int64], NDArray[np.int64]]


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


class FoldRows:
    """The rows of folds of a problem.

    Parameters
    ----------
    problem : Problem
        All rows.
    y : array of shape (n_rows,), optional
        The labels, for scorers that see them in place of preferences.
    pooled : bool
        Whether a fold may hold out rows without pairs, as scores of all folds are judged together.
    is_kernel_matrix : bool
        Whether columns are rows too, as in a kernel matrix.
    """

    def __init__(self, problem: Problem, y: Any, pooled: bool, is_kernel_matrix: bool):
        self.problem, self.pooled, self.is_kernel_matrix = problem, pooled, is_kernel_matrix
        self.y = None if y is None else as_array(y)
        self.held_out = [as_preferences(output) for output in problem.outputs]
        self._known: dict[int, tuple[Part, Part]] = {}
        # The test rows of folds without pairs to learn from; their fit is the zero function.
        self.untrained: list[NDArray[np.int64]] = []

    def split(self, cv: Any, y: Any = None, qid: ArrayLike | None = None, seed: int = 0) -> list[Fold]:
        """Make the training and test rows of each fold that some output is judged by.

        These have pairs in both; if scores are pooled, pairs in the training rows suffice. An int assigns
        queries (rows, if there are no queries) at random, or explicit pairs that share rows; anything else is
        passed to scikit-learn's `check_cv` and splits `y` by `qid`.
        """
        if isinstance(cv, Integral):  # shuffled, as the order of rows may be periodic or drift
            check_count("cv", cv)
            pairs = self.held_out[0].pair_folds(int(cv), seed)
            if pairs:
                return [PairFold(*fold) for fold in pairs]
            several = len(self.held_out) > 1 and not self.held_out[0].has_queries
            kind = KFold if several else QueryKFold  # outputs have labels in different orders
            splitter = kind(int(cv), shuffle=True, random_state=seed)
            X = np.empty((self.problem.X.shape[0], 0))
            return self._with_pairs(splitter.split(X, None if several else self.held_out[0]))
        y = None if y is None else as_array(y)
        qid = None if qid is None else as_array(qid)
        if isinstance(cv, QueryKFold) and qid is None:
            y = self.held_out[0]  # with its queries, or as one ranking
        return self._with_pairs(check_cv(cv).split(self.problem.X, y, groups=qid))

    def _with_pairs(self, splits: Iterable[RowFold]) -> list[Fold]:
        kept: list[Fold] = []
        self.untrained = []
        missing = set(range(len(self.held_out)))
        for fold in splits:
            judged = self.judged_by(fold)
            if judged:
                kept.append(fold)
            else:
                self.untrained.append(fold[1])
            missing.difference_update(judged)
        if missing:
            pairs = "pairs" if len(self.held_out) == 1 else f"pairs of output {min(missing)}"
            where = "in its training rows" if self.pooled else "both in its training and in its test rows"
            raise NoPairsError(f"No fold has {pairs} {where}; use fewer folds.")
        return kept

    def judged_by(self, fold: Any) -> list[int]:
        """Return the outputs that are judged by a fold of rows: those with pairs as `folds` asks."""
        judged = []
        for k in range(len(self.held_out)):
            train, test = self.halves(fold, k)
            if train.preferences.has_pairs and (self.pooled or test.preferences.has_pairs):
                judged.append(k)
        return judged

    def halves(self, fold: Any, k: int = 0) -> tuple[Part, Part]:
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

    def partition(self, folds: list[Fold]) -> list[NDArray[np.int64]] | None:
        """Return the test rows if each row is in those of one fold and no query is split; None otherwise.

        The training rows of a fold are then the test rows of the others.
        """
        rows = [fold for fold in folds if not isinstance(fold, PairFold | Validation)]
        if len(rows) < len(folds):
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

    def parts(self, fold: Fold) -> Parts:
        """Return the training and the held-out part of a fold."""
        whole = self.problem
        if isinstance(fold, PairFold):
            return Parts(replace(whole, outputs=[fold.train]), whole.X, [fold.test], fold.test)
        if isinstance(fold, Validation):
            y = fold.outputs[0] if fold.y is None else fold.y
            return Parts(whole, fold.X, fold.outputs, y)
        train, test = fold
        X_train, X_test = whole.X[train], whole.X[test]
        if self.is_kernel_matrix:  # of a kernel matrix, the columns of the training rows
            X_train, X_test = X_train[:, train], X_test[:, train]
        judged = self.judged_by(fold)
        learned = replace(whole, X=X_train, outputs=[whole.outputs[k][train] for k in judged])
        held_out = [output[test] for output in self.held_out]
        y = held_out[0] if self.y is None else self.y[test]
        return Parts(learned, X_test, held_out, y, judged)


def rows_held_out_once(folds: list[Fold], n_rows: int) -> list[NDArray[np.int64]]:
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
