"""The fits of all folds to compare alphas by, which share every pass over the rows."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankwise.core.states import joined, nested, part_of
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.estimators.fits import PairwiseFits
from rankwise.model_selection.tunable import Problem, Space
from rankwise.preferences import Preferences
from rankwise.solvers import Monitor, chosen_solver
from rankwise.solvers.descent import Descent, curvature_of, in_lockstep

if TYPE_CHECKING:
    from rankwise.estimators.pairwise import PairwiseRanker

# With this tolerance held-out errors are within some .0002 of those of certified fits: `benchmarks/suite.py`.
TOL = 3e-3
# A sample has this fraction of the rows, or more for as many rows per feature.
FRACTION, ROWS_PER_FEATURE = 1 / 16, 60
# The rows that a fold learns from, and their preferences.
Part = tuple[NDArray[np.int64] | slice, Preferences]


class FoldDescents:
    """Descents of all folds over one design: a product with X serves all of them.

    No rows are copied, and the scores of rows held out come with those of the training rows. A descent on a
    sample of the rows goes ahead: its change from one alpha to the next is the first step of each fold, and
    its curvature serves the others.

    Parameters
    ----------
    fits : PairwiseFits
        The fits to all rows.
    parts : list of (rows, preferences)
        What each fold learns from.
    sample : Descent
        Of some rows.
    """

    def __init__(self, fits: PairwiseFits, parts: list[Part], sample: Descent):
        self._model, self._sample = fits.model, sample
        self._tol = max(float(fits.model.tol), TOL)
        design = fits.space.design
        placed = [design.placed_for(fits.loss_of(preferences)) for _, preferences in parts]
        self._design = placed[0][0].centred()
        self._descents = [
            Descent(self._design, loss, copy(sample.curvature), rows)
            for (_, loss), (rows, _) in zip(placed, parts, strict=True)
        ]
        self._ahead = np.zeros(self._design.shape[1])
        self._coef: dict[float, FloatArray] = {}

    def scores(self, alpha: float) -> list[FloatVector] | None:
        """Return the scores of all rows by the fit of each fold, or None if kinks stop a descent."""
        if alpha in self._coef:
            return list(self._design.matvecs(self._coef[alpha]))
        return None if self.weights(alpha) is None else [descent.scores for descent in self._descents]

    def weights(self, alpha: float) -> FloatArray | None:
        """Return the weights of each fold, shape (n_folds, n), or None if kinks stop a descent."""
        if alpha in self._coef:
            return self._coef[alpha]
        guess, model = self._guess(alpha), self._model
        runs = [
            descent.descending(alpha, self._tol, Monitor(model.verbose, model.callback), guess)
            for descent in self._descents
        ]
        results = in_lockstep(self._design, runs)
        if any(result is None for result in results):
            return None
        self._coef[alpha] = np.stack([result.coef for result in results])
        return self._coef[alpha]

    def _guess(self, alpha: float) -> FloatVector | None:
        """Return the change of the weights of the sample since the last alpha, and hand on its curvature."""
        result = self._sample.minimise(alpha, self._tol)
        if result is None:
            return None
        for descent in self._descents:
            descent.curvature = copy(self._sample.curvature)
        last, self._ahead = self._ahead, result.coef
        return self._ahead - last

    def state(self) -> dict[str, FloatArray] | None:
        """Return the arrays from which the next alpha starts, or None if scores are not in memory."""
        states = [descent.state() for descent in (self._sample, *self._descents)]
        of_sample, *of_folds = [state for state in states if state is not None]
        if len(of_folds) < len(self._descents):
            return None
        found = {"ahead": self._ahead, "alphas": np.array(list(self._coef))}
        found |= {"coef": np.array(list(self._coef.values()))}
        return found | nested("sample", of_sample) | joined(of_folds)

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Continue from the state of other descents of the same folds."""
        self._ahead = state["ahead"]
        self._coef = dict(zip(state["alphas"].tolist(), state["coef"], strict=True))
        self._sample.restore(part_of(state, "sample"))
        for k, descent in enumerate(self._descents):
            descent.curvature = copy(self._sample.curvature)
            descent.restore(part_of(state, str(k)))

    def start(self, alpha: float) -> FloatVector | None:
        """Return weights near those of all rows, the mean over folds, if the alpha was visited."""
        return self._coef[alpha].mean(axis=0) if alpha in self._coef else None


def fold_descents(
    model: PairwiseRanker, problem: Problem, parts: list[Part], design: Design | None = None
) -> FoldDescents | None:
    """Return the descents of all folds of a linear model, or None if a descent does not suit the rows."""
    design = model.space(problem).design if design is None else design
    preferences = problem.preferences
    solver = chosen_solver(model.loss, model.solver, design, preferences)
    fits = PairwiseFits(model, Space(design), problem, solver)
    curvature = curvature_of(design, preferences, model.average)
    if curvature is None:
        return None
    m, n = design.shape
    rows = preferences.sample(min(1.0, max(FRACTION, ROWS_PER_FEATURE * n / m)))
    part = None if rows is None else design.sampled(rows)
    if rows is None or part is None:
        return None
    return FoldDescents(fits, parts, Descent(part, fits.loss_of(preferences[rows]), curvature))
