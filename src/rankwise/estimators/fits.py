"""The fits of estimators to one problem for any alpha: what searches, paths and `fit` itself run.

See `rankwise.model_selection.tunable`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from rankwise.core.backends import RowsLostError
from rankwise.core.checks import check_features
from rankwise.core.states import State, nested, part_of
from rankwise.core.threads import thread_count
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.data.hints import hint_at_queries, hint_at_scale
from rankwise.data.scores import compared_scores
from rankwise.estimators.sparsity import sparse_options
from rankwise.functions.learned import FeatureMap
from rankwise.losses import PairwiseLoss
from rankwise.model_selection.tunable import Fit, Problem, Space
from rankwise.preferences import Preferences
from rankwise.solvers import SOLVERS, Descent, Monitor, SolverResult, chosen_solver, descent_of
from rankwise.solvers.bounded_planes import BoundedPlanes
from rankwise.solvers.elastic_net import ElasticNet
from rankwise.solvers.registry import pairwise_loss, solve_pairs

if TYPE_CHECKING:
    from rankwise.estimators.base import BaseRanker
    from rankwise.estimators.pairwise import PairwiseRanker
    from rankwise.model_selection.search import Choice

# The tolerance of fits that only choose the alpha of learned scales.
ROUGH = 1e-2
# The tolerance of certified fits whose held-out errors are compared, in multiples of `tol`. The sets of
# `benchmarks/suite.py` have the same errors as with `tol` itself, for half of the time; ten times `tol` is
# worse on some of them.
COMPARED = 3.0
# The most iterations of such a fit: small alphas, at which the hinge takes many, are seldom the best.
MOST_COMPARED = 300


def hinted(space: Space, model: BaseRanker) -> Space:
    """Check the scale of linear features, and log a hint if it differs much."""
    if space.features is None and space.design.location is None:
        names = getattr(model, "feature_names_in_", None)
        check_features(space.design.column_scale(), names)
        hint_at_scale(space.design, names)
    return space


def keep_classes(model: Any, preferences: Preferences) -> None:
    """Store two labels as scikit-learn's binary classifiers do, under `classes_`."""
    model.__dict__.pop("classes_", None)  # of a previous fit
    labels = getattr(preferences, "values", None)
    if labels is not None and labels.ndim == 1 and preferences.event is None:
        low, high = labels.min(), labels.max()
        if ((labels == low) | (labels == high)).all():
            model.classes_ = np.array([low, high])


def keep_pairs(model: BaseRanker, preferences: Preferences, has_queries: bool) -> None:
    """Store the number of pairs, of which there must be some, and whether rows were compared in queries.

    A hint is logged if most queries have no pairs.
    """
    preferences.require_pairs()
    model.fitted_with_qid_ = has_queries
    model.n_pairs_ = preferences.n_pairs
    keep_classes(model, preferences)
    if has_queries:
        share = preferences.query_factor("queries")
        if 2 * (n_without := int((share == 0).sum())) > len(share):
            hint_at_queries(n_without, len(share))


def scores_by(coef: FloatArray, features: FeatureMap | None, rows: Any, n_threads: int) -> FloatArray:
    """Score rows by several functions: shape (n_functions, n_rows)."""
    if isinstance(rows, Design):
        return rows.matvec(coef[0])[None] if len(coef) == 1 else rows.matvecs(coef)
    if features is None:
        return compared_scores(rows, coef, n_threads=n_threads)
    return features.scores(rows, coef, n_threads=n_threads).T


@dataclass(frozen=True)
class PairwiseFits:
    """The fits of a mean loss over pairs in one function space, by the solver of that name.

    `carried` has the options that one fit hands on to the next: see `handing_on`.
    """

    model: PairwiseRanker
    space: Space
    problem: Problem
    solver: str
    carried: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def loss(self) -> PairwiseLoss:
        """The loss of the preferences."""
        return self.loss_of(self.problem.preferences)

    def loss_of(self, preferences: Preferences) -> PairwiseLoss:
        """Return the loss of some preferences, with the options of the model."""
        model = self.model
        options: dict[str, Any] = {"average": model.average, "n_threads": thread_count(model.n_jobs)}
        return pairwise_loss(model.loss, preferences, self.solver, **options)

    @property
    def at_zero(self) -> float:
        """The objective of the zero function."""
        return self.loss.at_zero

    def handing_on(self) -> PairwiseFits:
        """Return fits that share the cutting planes of the hinge, which are valid for every alpha."""
        return replace(self, carried=SOLVERS[self.solver].carried(self.space.design.shape[1]))

    def solve(self, alpha: float, start: FloatVector | None = None) -> SolverResult:
        """Fit one alpha, from weights to start with if there are some."""
        model, design, carried = self.model, self.space.design, self.carried
        if np.any(model.l1_ratio):
            carried = carried | sparse_options(model, design)
        nonnegative = getattr(design, "nonnegative", None)
        if nonnegative is not None:
            carried = {"planes": BoundedPlanes(nonnegative)}
        with best_in_error(Monitor(model.verbose, model.callback)) as monitor:
            return solve_pairs(
                design,
                self.problem.preferences,
                float(alpha),
                loss=model.loss,
                solver=self.solver,
                tol=model.tol,
                max_iter=int(model.max_iter),
                average=model.average,
                n_threads=thread_count(model.n_jobs),
                start=start,
                monitor=monitor,
                **carried,
            )

    def penalty(self, coef: FloatVector) -> float:
        """Return the penalty of weights for an alpha of 1."""
        if not np.any(self.model.l1_ratio):
            return float(coef @ coef)
        options = sparse_options(self.model, self.space.design)
        return ElasticNet.of(1.0, n_features=len(coef), **options).value(coef)

    def along(self, alphas: FloatVector, coef: FloatVector | None = None) -> Iterator[SolverResult]:
        """Fit each alpha, warm-started from the previous fit; Ctrl-C ends the path."""
        fits = self.handing_on()
        for alpha in alphas:
            result = fits.solve(alpha, coef)
            coef = result.coef
            yield result
            if result.status == "interrupted":
                return

    def rough(self) -> PairwiseFits:
        """Return silent fits that are only as good as the comparison of alphas needs."""
        model = clone(self.model).set_params(tol=max(self.model.tol, ROUGH), callback=None, verbose=0)
        return replace(self, model=model)

    def compared(self, alphas: FloatVector) -> Iterator[SolverResult]:
        """Yield fits to compare alphas by, each warm-started from the one before."""
        for alpha in alphas:
            result = self.course.visit(float(alpha))
            if result.status == "interrupted":  # there is no model yet to keep
                raise KeyboardInterrupt
            yield result

    @cached_property
    def course(self) -> Course:
        """What fits that are compared hand on from one alpha to the next."""
        return Course(self)

    def state(self) -> State | None:
        """Return the state that the next fit to compare starts from, or None if it is not in memory."""
        return self.course.state()

    def restore(self, state: State) -> None:
        """Continue from the state of fits to the same problem."""
        self.course.restore(state)

    def descent(self) -> Descent | None:
        """Return a descent on the loss of all pairs, or None if another solver is named or suits better."""
        if self.model.solver != "auto" or np.any(self.model.l1_ratio):
            return None
        return descent_of(*self.space.design.placed_for(self.loss))

    def chosen(self, choice: Choice, held_out: Any) -> tuple[float, SolverResult]:
        """Fit the chosen alpha; return it and its result, or those that an interrupted path has reached.

        The fit starts from the weights of a checkpoint, or from weights that the search has found.
        """
        start = starting_weights(self.model, self.space.design.shape[1])
        start = held_out.start(choice.alpha) if start is None else start
        if start is not None or not SOLVERS[self.solver].starts_warm:
            return choice.alpha, self.solve(choice.alpha, start)
        descent = self.descent()
        near = None if descent is None else descent.minimise(choice.alpha, self.model.tol)
        if near is not None and near.status == "interrupted":
            return choice.alpha, near
        if near is not None:
            return choice.alpha, self.solve(choice.alpha, near.coef)
        results = list(self.along(choice.alphas[: choice.best + 1]))
        return float(choice.alphas[len(results) - 1]), results[-1]

    def weights(self, alphas: FloatVector) -> Iterator[FloatVector]:
        """Yield the weights of the fit for each alpha in turn."""
        return (result.coef for result in self.compared(alphas))

    def scores(self, alphas: FloatVector, rows: Any) -> Iterator[FloatArray]:
        """Score other rows by the fit for each alpha in turn: shape (1, n_rows)."""
        n_threads = thread_count(self.model.n_jobs)
        for result in self.compared(alphas):
            coef = self.space.dual_coef(result.coef[None])
            yield scores_by(coef, self.space.features, rows, n_threads)

    def models(self, alphas: FloatVector) -> Iterator[PairwiseRanker]:
        """Yield the fitted model for each alpha, for scorers that need more than scores."""
        for result in self.compared(alphas):
            model = clone(self.model)
            model.n_features_in_ = self.problem.X.shape[1]
            with warnings.catch_warnings():  # of fits that are not kept
                warnings.simplefilter("ignore", UserWarning)
                self.keep(model, result)
            yield model

    def keep(self, model: PairwiseRanker, result: SolverResult) -> None:
        """Store one of these fits in a model."""
        model.store(Fit(self.space.function(result.coef), result, self.solver))
        model.finish(self, result)


class Course:
    """Fits of one problem to compare alphas by, from the largest alpha down.

    With `solver="auto"` these are descents without a certificate, up to the first alpha at which the kinks of
    the loss stop a descent. The others are certified to `COMPARED` times `tol`, for the loss itself or, with
    `solver="auto"`, the loss that its solver is compared by.
    """

    def __init__(self, fits: PairwiseFits):
        model, solver = copy(fits.model), SOLVERS[fits.solver]
        model.tol, model.max_iter = COMPARED * model.tol, min(model.max_iter, MOST_COMPARED)
        certified = replace(fits, model=model)
        if model.solver == "auto" and solver.compared_by is not None:
            model.loss = solver.compared_by
            certified = replace(certified, solver=chosen_solver(model.loss, "auto"))
        self._plain, self._certified = fits, certified.handing_on()
        self._descent = fits.descent()
        self._coef: FloatVector | None = None

    def visit(self, alpha: float) -> SolverResult:
        """Fit one alpha, from the weights of the last one."""
        result, model = None, self._plain.model
        if self._descent is not None:
            result = self._descent.minimise(alpha, model.tol, Monitor(model.verbose, model.callback))
        if result is None:
            self._descent = None
            result = self._certified.solve(alpha, self._coef)
        self._coef = result.coef
        return result

    def state(self) -> State | None:
        """Return the weights and the state of the descent, or what certified fits hand on."""
        if self._coef is None:
            return {}
        if self._descent is not None:
            state = self._descent.state()
            return None if state is None else nested("descent", state)
        found: State = {"coef": self._coef}
        for name, carried in self._certified.carried.items():
            found |= nested(name, carried.state())
        return found

    def restore(self, state: State) -> None:
        """Continue from the state of fits to the same problem."""
        if descent := part_of(state, "descent"):
            assert self._descent is not None, "the same problem has a descent"
            self._descent.restore(descent)
            self._coef = descent["coef"]
            return
        self._descent, self._coef = None, state["coef"]
        for name, carried in self._certified.carried.items():
            carried.restore(part_of(state, name))


@contextmanager
def best_in_error(monitor: Monitor) -> Iterator[Monitor]:
    """Attach the best weights so far to the error if rows are lost for good."""
    try:
        yield monitor
    except RowsLostError as error:
        if monitor.coef is not None:
            error.coef = monitor.coef.copy()
        raise


@contextmanager
def best_kept(model: BaseRanker) -> Iterator[None]:
    """Keep the best weights so far if rows are lost for good: a warm start continues from them."""
    try:
        yield
    except RowsLostError as error:
        if error.coef is not None:
            model._weights = error.coef
            model.coef_ = error.coef
        raise


def adopt(model: BaseRanker, fitted: BaseRanker) -> None:
    """Store what another estimator has learned, in place of what the model has learned."""
    parameters = {*model.get_params(deep=False), *fitted.get_params(deep=False)}
    for name in [name for name in vars(model) if name.endswith("_") and name not in parameters]:
        del model.__dict__[name]
    learned = {name: value for name, value in vars(fitted).items() if name not in parameters}
    model.__dict__.update(learned)


def starting_weights(model: BaseRanker, n_weights: int) -> FloatVector | None:
    """Return the weights of a checkpoint or, under warm_start, of the previous fit if there are as many."""
    saved = getattr(model.callback, "starting_weights", None)
    if saved is not None and (weights := saved(n_weights)) is not None:
        return weights
    previous = getattr(model, "_weights", None) if getattr(model, "warm_start", False) else None
    return previous.copy() if previous is not None and len(previous) == n_weights else None
