"""The search over alpha with every query, or every row of one ranking, left out by a Newton step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rankwise.core.checks import check_choice
from rankwise.core.types import FloatArray, FloatVector
from rankwise.leave_out.newton_steps import NewtonSteps, folds_of
from rankwise.model_selection.search import AlphaSearch, Fold
from rankwise.preferences import Preferences

LEAVE_OUT = ("leave-query-out", "leave-row-out")
# Queries are judged in this many groups, whose errors show the noise of their mean.
N_GROUPS = 20


class LeaveOutSearch(AlphaSearch):
    """Compare alphas by the errors without each query or row: one fit to all rows per alpha, no folds.

    The errors are those of groups of queries; of rows there is only the mean.
    """

    @classmethod
    def of(cls, search: AlphaSearch, fits: Any, cv: str) -> LeaveOutSearch:
        """Return the search that leaves out what `cv` names, by the criterion of another one."""
        check_choice(cv, "cv", LEAVE_OUT)
        found = cls(search.model, search.problem, scoring=search.criterion, y=search.y)
        found._take(fits, cv)
        return found

    def _take(self, fits: Any, cv: str) -> None:
        """Take the fits to all rows, and assign queries to groups."""
        if self.criterion.error is None:
            raise ValueError(f"cv={cv!r} has no models to score: give the name of a measure as scoring.")
        self._by_query = cv == "leave-query-out"
        groups = fits.problem.preferences.groups()
        several = len(np.unique(groups[fits.loss.row_mass > 0])) > 1
        if self._by_query != several:
            other = LEAVE_OUT[several == 0]
            raise ValueError(f"cv={cv!r} is for {'one ranking' if several else 'queries'}; use cv={other!r}.")
        if not self._by_query and self.scoring not in ("error", "concordance"):
            raise ValueError(
                f"cv='leave-row-out' judges by the ranking error, not by {self.scoring}: set scoring='error'."
            )
        self._steps, self._folds = NewtonSteps(fits), folds_of(groups)
        self._weights: dict[float, FloatVector] = {}
        n_groups = min(N_GROUPS, len(self._folds))
        number = np.random.default_rng(0).permutation(len(self._folds)) % n_groups
        judged = [
            np.concatenate([self._folds[k] for k in np.flatnonzero(number == g)]) for g in range(n_groups)
        ]
        parts = [(rows, self.held_out[0][rows]) for rows in judged]
        self._judges = [(rows, part) for rows, part in parts if part.has_pairs]

    def visits(self, alphas: FloatArray, folds: list[Fold]) -> Iterator[FloatArray]:
        """Yield the errors for one alpha after the other."""
        for alpha in map(float, alphas):
            coef = self._solved(alpha)
            if not self._by_query:
                yield np.array([self._steps.error_without_rows(alpha, coef)])
                continue
            scores = self._steps.scores_without(alpha, coef, self._folds)
            yield np.array(
                [float(self.judged([part], scores[rows][None, None])[0, 0]) for rows, part in self._judges]
            )

    def scores(
        self, alphas: FloatArray, folds: Iterable[Fold]
    ) -> Iterator[tuple[list[Preferences], FloatArray]]:
        """Yield the preferences of all rows, and their scores by the models without their queries."""
        if not self._by_query:
            raise ValueError("calibrated=True needs held-out scores: use folds, such as cv=5.")
        found = [
            self._steps.scores_without(float(alpha), self._solved(float(alpha)), self._folds)
            for alpha in alphas
        ]
        yield self.held_out, np.array(found)[:, None]

    def start(self, alpha: float) -> FloatVector | None:
        """Return the weights of all rows for an alpha that was visited."""
        return self._weights.get(alpha)

    def _solved(self, alpha: float) -> FloatVector:
        if alpha not in self._weights:
            near = min(self._weights, key=lambda known: abs(np.log(known / alpha)), default=None)
            start = None if near is None else self._weights[near]
            self._weights[alpha] = self._steps.solve(alpha, start)
        return self._weights[alpha]
