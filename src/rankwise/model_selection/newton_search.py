"""The search over alpha with every query, or every row of one ranking, left out by a Newton step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.core.checks import check_choice
from rankwise.core.states import State
from rankwise.core.types import FloatArray, FloatVector
from rankwise.model_selection.folds import Folds, Judged
from rankwise.model_selection.newton_steps import NewtonSteps, folds_of
from rankwise.model_selection.search import HeldOut

LEAVE_OUT = ("leave-query-out", "leave-row-out")
# Queries are judged in this many groups, whose errors show the noise of their mean.
N_GROUPS = 20


class NewtonLeftOut(HeldOut):
    """The errors without each query or row: one fit to all rows per alpha, no folds.

    The errors are those of groups of queries; of rows there is only the mean. `folds` has the criterion.
    """

    def __init__(self, folds: Folds, fits: Any, cv: str):
        check_choice(cv, "cv", LEAVE_OUT)
        self.folds = folds
        if folds.criterion.error is None:
            raise ValueError(f"cv={cv!r} has no models to score: give the name of a measure as scoring.")
        self._by_query = cv == "leave-query-out"
        groups = fits.problem.preferences.groups()
        several = len(np.unique(groups[fits.loss.row_mass > 0])) > 1
        if self._by_query != several:
            other = LEAVE_OUT[several == 0]
            raise ValueError(f"cv={cv!r} is for {'one ranking' if several else 'queries'}; use cv={other!r}.")
        if not self._by_query and folds.scoring not in ("error", "concordance"):
            raise ValueError(
                f"cv='leave-row-out' judges by the ranking error, not by {folds.scoring}: "
                "set scoring='error'."
            )
        self._steps, self._folds = NewtonSteps(fits), folds_of(groups)
        self._weights: dict[float, FloatVector] = {}
        n_groups = min(N_GROUPS, len(self._folds))
        number = np.random.default_rng(0).permutation(len(self._folds)) % n_groups
        judged = [
            np.concatenate([self._folds[k] for k in np.flatnonzero(number == g)]) for g in range(n_groups)
        ]
        parts = [(rows, folds.held_out[0][rows]) for rows in judged]
        self._judges = [(rows, part) for rows, part in parts if part.has_pairs]

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors for one alpha after the other, shape (1, n_groups)."""
        for alpha in map(float, values):
            coef = self._solved(alpha)
            if not self._by_query:
                yield np.array([[self._steps.error_without_rows(alpha, coef)]])
                continue
            scores = self._steps.scores_without(alpha, coef, self._folds)
            yield np.array(
                [[self.folds.judged([part], scores[rows][None])[0] for rows, part in self._judges]]
            )

    def scores(self, values: FloatArray) -> Iterator[Judged]:
        """Yield the preferences of all rows, and their scores by the models without their queries."""
        if not self._by_query:
            raise ValueError("calibrated=True needs held-out scores: use folds, such as cv=5.")
        for alpha in map(float, values):
            found = self._steps.scores_without(alpha, self._solved(alpha), self._folds)
            yield [(self.folds.held_out, found[None])]

    def identity(self, digested: bool = True) -> dict[str, Any]:
        """Return the model and the data in numbers and words."""
        return self.folds.identity(digested)

    def state(self) -> State:
        """Return the weights of the alphas so far."""
        return {"alphas": np.array(list(self._weights)), "weights": np.array(list(self._weights.values()))}

    def restore(self, state: State) -> None:
        """Take the weights of an earlier run."""
        self._weights = dict(zip(state["alphas"].tolist(), state["weights"], strict=True))

    def start(self, alpha: float) -> FloatVector | None:
        """Return the weights of all rows for an alpha that was visited."""
        return self._weights.get(alpha)

    def _solved(self, alpha: float) -> FloatVector:
        if alpha not in self._weights:
            near = min(self._weights, key=lambda known: abs(np.log(known / alpha)), default=None)
            start = None if near is None else self._weights[near]
            self._weights[alpha] = self._steps.solve(alpha, start)
        return self._weights[alpha]
