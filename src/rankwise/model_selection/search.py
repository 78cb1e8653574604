"""One search over alpha: candidates, folds, errors on the rows held out, and the choice.

The estimators that choose alpha and the commands `tune` and `train --tune` all search here, so that they
choose the same alpha on the same folds. An estimator takes part by three methods of `BaseRanker`: `_targets`
(what it learns from), `_default_alphas` (its grid) and `_path_scores` (fit each alpha and score other rows).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import check_cv

from rankwise._checks import as_alphas, check_choice, check_count
from rankwise._types import FloatArray
from rankwise.design import Design
from rankwise.losses import Hinge, Logistic
from rankwise.metrics import ranking_error
from rankwise.model_selection.splits import QueryKFold
from rankwise.preferences import NoPairsError, Preferences, as_preferences

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]


class EdgeOfGridWarning(UserWarning):
    """The best alpha is the first or the last of the candidates, so that one beyond may be better."""


class AlphaSearch:
    """Compares alphas by an error on rows that the model did not see.

    Parameters
    ----------
    model : estimator of rankwise
        Is fitted on the way, again and again; its alpha does not matter.
    X : array or CSR matrix of shape (n_rows, n_features)
    targets : list
        What the model learns from, one entry for each output: preferences among the rows, or their labels.
    scaler : transformer, optional
        Is fitted to the training rows of each fold.
    scoring : {"error", "log_loss"}
        The ranking error, or the log loss of pairs of a model whose scores are log odds.
    """

    def __init__(self, model: Any, X: Any, targets: list[Any], scaler: Any = None, scoring: str = "error"):
        check_choice(scoring, "scoring", SCORINGS)
        self.model = model
        self.X = X
        self.targets = targets
        self.scaler = scaler
        self.scoring = scoring
        self.held_out = [as_preferences(target) for target in targets]

    def candidates(self, alphas: ArrayLike | None = None, design: Design | None = None) -> FloatArray:
        """Return the alphas to try from the largest down: those given, or the grid of the model for the rows.

        `design` has the rows in the function space, where the caller has it already.
        """
        if alphas is not None:
            return np.unique(as_alphas(alphas))[::-1].copy()
        if design is None:
            X = self.X if self.scaler is None else clone(self.scaler).fit_transform(self.X)
            design, _ = self.model._function_space(X)
        return self.model._default_alphas(design, self.held_out)

    def folds(self, cv: Any, y: Any = None, qid: ArrayLike | None = None, seed: int = 0) -> list[Fold]:
        """Return training and test rows of each fold that has pairs to learn from and pairs to judge by.

        An int deals queries (rows, where there are no queries) out at random; anything else is what
        scikit-learn takes for `cv`, and sees `y` and `qid`.
        """
        if isinstance(cv, Integral):  # shuffled, as rows may come in an order that repeats or drifts
            check_count("cv", cv)
            splitter = QueryKFold(int(cv), shuffle=True, random_state=seed)
            return self._with_pairs(splitter.split(self.X, self.held_out[0]))
        if isinstance(cv, QueryKFold) and qid is None:
            y = self.held_out[0]  # which knows that there is one ranking, or its queries
        return self._with_pairs(check_cv(cv).split(self.X, y, groups=qid))

    def _with_pairs(self, splits: Iterable[Fold]) -> list[Fold]:
        kept = [
            (train, test)
            for train, test in splits
            if all(output[train].n_pairs and output[test].n_pairs for output in self.held_out)
        ]
        if not kept:
            raise NoPairsError(
                "No fold has pairs both in its training and in its test rows; use fewer folds."
            )
        return kept

    def errors(self, alphas: FloatArray, folds: Iterable[Fold]) -> Iterator[FloatArray]:
        """Yield the errors on the test rows of one fold after the other, shape (n_alphas, n_outputs)."""
        return (self.judged(*fold) for fold in self.scores(alphas, folds))

    def judged(self, held_out: list[Preferences], scores: FloatArray) -> FloatArray:
        """Return the errors of the scores of one fold, shape (n_alphas, n_outputs)."""
        average = getattr(self.model, "average", "queries")
        error = partial(SCORINGS[self.scoring], average=average)
        return np.array([[error(*pair) for pair in zip(held_out, row, strict=True)] for row in scores])

    def scores(
        self, alphas: FloatArray, folds: Iterable[Fold]
    ) -> Iterator[tuple[list[Preferences], FloatArray]]:
        """Yield the preferences of each fold's test rows, and scores: (n_alphas, n_outputs, n_rows)."""
        for train, test in folds:
            X_train, X_test = self._rows(train, test)
            targets = [target[train] for target in self.targets]
            held_out = [output[test] for output in self.held_out]
            yield held_out, self.model._path_scores(X_train, targets, X_test, alphas)

    def _rows(self, train: NDArray[np.int64], test: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return training and test rows as the model takes them."""
        X_train, X_test = self.X[train], self.X[test]
        if getattr(self.model, "kernel", None) == "precomputed":
            return X_train[:, train], X_test[:, train]
        if self.scaler is None:
            return X_train, X_test
        scaler = clone(self.scaler).fit(X_train)
        return scaler.transform(X_train), scaler.transform(X_test)


def held_out_error(preferences: Preferences, scores: FloatArray, average: str = "queries") -> float:
    """Return the ranking error: the mean over queries with pairs, or the share of all pairs."""
    with warnings.catch_warnings():  # queries without pairs are common, and left out
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return float(ranking_error(preferences, scores, average=average))  # type: ignore[arg-type]


def held_out_log_loss(preferences: Preferences, scores: FloatArray, average: str = "queries") -> float:
    """Return the log loss of pairs: the mean over queries with pairs, or over all pairs."""
    return Logistic(preferences, average=average).value(scores)


# How held-out scores are judged.
SCORINGS = {"error": held_out_error, "log_loss": held_out_log_loss}


def margin_alphas(design: Design, loss: Hinge, count: int = 8) -> FloatArray:
    """Return powers of ten down from the alpha at which the scores of a first gradient step spread over one.

    Where all pairs violate the margin the solution is -a / (2 alpha) with a the gradient at zero.
    """
    _, coefficients, _ = loss.plane(np.zeros(design.shape[0]))
    spread = float(design.matvec(design.rmatvec(coefficients)).std())
    return np.asarray((spread or 1.0) / 2 * 10.0 ** -np.arange(count), dtype=np.float64)


@dataclass
class Choice:
    """Candidates for alpha from the largest down, and their errors.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
    errors : array of shape (n_alphas, n_folds)
        One column where nothing but the mean is known.
    scoring : str
        What the errors are, a key of `SCORINGS`.
    """

    alphas: FloatArray
    errors: FloatArray
    scoring: str = "error"

    @property
    def mean(self) -> FloatArray:
        """The mean over folds for each alpha."""
        return self.errors.mean(axis=1)

    @property
    def best(self) -> int:
        """The number of the alpha with the lowest mean error, the largest such."""
        return int(np.argmin(self.mean))

    @property
    def alpha(self) -> float:
        """The best alpha."""
        return float(self.alphas[self.best])

    def warn_at_edge(self, stacklevel: int = 4) -> None:
        """Say so where the best alpha is the first or the last of several, with the next ones to try."""
        advice = self._advice() if len(self.alphas) > 1 else None
        if advice is not None:
            warnings.warn(f"{advice} to alphas.", EdgeOfGridWarning, stacklevel=stacklevel)

    def _advice(self) -> str | None:
        """Return what to add, or None where the errors do not fall any more at the end of the grid.

        From some alpha up the weights only shrink, no order changes, and the largest alpha is taken; equal
        errors of the two largest in every fold are the sign of it, and still larger ones would not help.
        """
        n_alphas = len(self.alphas)
        if (self.errors == 0.5).all():
            return f"With each of {n_alphas} candidates all weights are zero: add {self._beyond(-1, -2)}"
        if self.best == n_alphas - 1:
            return (
                f"The best alpha, {self.alpha:.3g}, is the smallest of {n_alphas} candidates, and a smaller "
                f"one may be better: add {self._beyond(-1, -2)}"
            )
        if self.best == 0 and not np.array_equal(self.errors[0], self.errors[1]):
            return (
                f"The best alpha, {self.alpha:.3g}, is the largest of {n_alphas} candidates, and a larger "
                f"one may be better: add {self._beyond(0, 1)}"
            )
        return None

    def _beyond(self, end: int, neighbour: int) -> str:
        """Return the next two alphas beyond an end of the grid, in its steps."""
        step = self.alphas[end] / self.alphas[neighbour]
        return " and ".join(f"{self.alphas[end] * step**k:.3g}" for k in (1, 2))
