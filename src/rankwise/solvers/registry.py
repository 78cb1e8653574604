"""Solvers by name, with what each needs of a loss: a loss can be minimized by every solver that it suits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rankwise.core.checks import check_choice
from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.losses import Hinge, HuberHinge, PairwiseLoss, PiecewiseLinear, Smooth, loss_class, loss_over
from rankwise.preferences import Preferences
from rankwise.solvers.bundle import solve_bundle
from rankwise.solvers.interior_point import interior_point_pays, solve_interior_point
from rankwise.solvers.newton import solve_newton
from rankwise.solvers.planes import Planes
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.sparse_newton import solve_sparse_newton
from rankwise.solvers.working_set import WorkingSet

# In place of the hinge in fits that are only compared: see `Solver.compared_by`. Held-out errors of the sets
# "reward head" and "answers" of `benchmarks/suite.py` are those of the hinge within a standard error. A width
# of 0.1 has the same errors and takes twice as long.
SMOOTHED_HINGE = HuberHinge(width=0.25)


@dataclass(frozen=True)
class Solver:
    """A way to minimize loss(X w) + alpha ||w||^2, or with an elastic net.

    Attributes
    ----------
    solve : callable
        Takes a design, a loss, alpha and keyword options, as `solve_newton` does.
    needs : type
        The class of the losses that it minimizes.
    from_sample : bool
        Whether the fit starts from a rough solution on a sample of the rows.
    counting : str
        How the loss counts violated pairs.
    carried : callable
        Makes, for a number of features, the options that fits for several alphas share.
    is_elastic : bool
        Whether it minimizes loss(X w) + alpha (r ||w||_1 + (1 - r) ||w||^2) instead, r the option `l1_ratio`.
    pays : callable
        Returns whether the solver is the better choice for a design, preferences and an alpha (None if there
        are several), if no solver is named.
    starts_warm : bool
        Whether weights to start with, such as those for a larger alpha, shorten a fit.
    compared_by : loss or None
        A loss near the given one that fits minimize if they only compare values of alpha and no solver is
        named, because that takes much less time.
    """

    solve: Callable[..., SolverResult]
    needs: type
    from_sample: bool = True
    counting: str = "merge"
    carried: Callable[[int], dict[str, Any]] = lambda n_features: {}
    is_elastic: bool = False
    pays: Callable[[Design, Preferences, float | None], bool] = lambda design, preferences, alpha: False
    starts_warm: bool = True
    compared_by: Any = None


def _planes(n_features: int) -> dict[str, Any]:
    return {"planes": Planes(n_features)}


def _working_set(n_features: int) -> dict[str, Any]:
    return {"working_set": WorkingSet()}


def _as_published(counting: str) -> Solver:
    """Return Algorithm 1 of Airola et al. (2011): no line search, and no start from a sample."""
    solve = partial(solve_bundle, line_search=False)
    return Solver(solve, PiecewiseLinear, from_sample=False, counting=counting, carried=_planes)


# The first solver whose needs a loss meets is its default, unless a later one pays.
SOLVERS = {
    "bundle": Solver(solve_bundle, PiecewiseLinear, carried=_planes),
    "bmrm": _as_published("merge"),
    "tree-rsvm": _as_published("tree"),
    "pair-rsvm": _as_published("pairs"),
    "newton": Solver(solve_newton, Smooth),
    "sparse-newton": Solver(
        solve_sparse_newton, Smooth, from_sample=False, carried=_working_set, is_elastic=True
    ),
    "interior-point": Solver(
        solve_interior_point,
        Hinge,
        from_sample=False,
        pays=interior_point_pays,
        starts_warm=False,
        compared_by=SMOOTHED_HINGE,
    ),
}


def solvers_of(loss: Any, is_elastic: bool = False) -> list[str]:
    """Return the names of the solvers that minimize a loss, a name or an object; the default is first.

    If `is_elastic`, they are those for a penalty with absolute weights.

    Examples
    --------
    >>> solvers_of("hinge")
    ['bundle', 'bmrm', 'tree-rsvm', 'pair-rsvm', 'interior-point']
    """
    kind = loss_class(loss)
    return [
        name
        for name, solver in SOLVERS.items()
        if issubclass(kind, solver.needs) and solver.is_elastic == is_elastic
    ]


def chosen_solver(
    loss: Any,
    solver: str,
    design: Design | None = None,
    preferences: Preferences | None = None,
    alpha: float | None = None,
    is_elastic: bool = False,
) -> str:
    """Return the solver for a loss, and for its data and alpha if known; refuse one that does not suit it."""
    fitting = solvers_of(loss, is_elastic)
    check_choice(solver, "solver", ("auto", *SOLVERS))
    if is_elastic and not fitting:
        raise ValueError(
            f"l1_ratio above 0 needs a smooth loss, but loss={loss!r} has kinks; use "
            "loss='squared_hinge' or RankLogistic, or l1_ratio=0."
        )
    if not fitting:
        raise ValueError(f"loss={loss!r} has no solver: it is neither PiecewiseLinear nor Smooth.")
    if solver == "auto":
        if design is None or preferences is None or not preferences.lists_pairs:
            return fitting[0]
        return next((name for name in fitting if SOLVERS[name].pays(design, preferences, alpha)), fitting[0])
    if solver not in fitting:
        names, penalty = " or ".join(map(repr, fitting)), " with l1_ratio above 0" if is_elastic else ""
        raise ValueError(f"solver={solver!r} does not solve loss={loss!r}{penalty}; use {names}.")
    return solver


# A fit to fewer rows is cheap. A sample is this fraction of the rows, and so of the cost, up to a number of
# rows that determines the weights well enough; it is solved to this tolerance.
MIN_ROWS, MAX_SAMPLE = 1 << 17, 1 << 21
FRACTION = 1 / 16
SAMPLE_TOL = 3e-3


def solve_pairs(
    design: Design,
    preferences: Preferences,
    alpha: float,
    *,
    loss: Any,
    solver: str,
    tol: float,
    max_iter: int,
    average: str = "queries",
    n_threads: int = 1,
    start: FloatVector | None = None,
    monitor: Monitor | None = None,
    **more: Any,
) -> SolverResult:
    """Minimize the mean over pairs of a loss of f(better) - f(worse), plus alpha ||f||^2.

    Without a `start`, a fit to many rows starts from a rough solution on a sample of them. `more` is passed
    to the solver. Every fit of such a loss, by an estimator or a command, is this one.
    """

    def solve(design: Design, preferences: Preferences, **options: Any) -> SolverResult:
        measured = pairwise_loss(loss, preferences, solver, average=average, n_threads=n_threads)
        placed, measured = design.placed_for(measured, options["tol"])
        return SOLVERS[solver].solve(placed, measured, alpha, **options)

    sampled = None
    if start is None and SOLVERS[solver].from_sample:
        rough = partial(solve, tol=max(tol, SAMPLE_TOL), max_iter=max_iter)
        sampled = solve_sample(design, preferences, rough)
    interrupted = sampled is not None and sampled.status == "interrupted"
    result = solve(
        design,
        preferences,
        start=start if sampled is None else sampled.coef,
        monitor=monitor,
        tol=tol,
        max_iter=1 if interrupted else max_iter,
        **more,
    )
    return replace(result, status="interrupted") if interrupted else result


def solve_sample(
    design: Design,
    preferences: Preferences,
    solve: Callable[[Design, Preferences], SolverResult],
) -> SolverResult | None:
    """Return the solution on a sample of the rows, or None if a sample does not pay.

    On 512,000 text rows the start is within 7% of the optimal objective, at the cost of about one pass over
    the data. The certificate of the fit does not depend on it.
    """
    n_rows = design.shape[0]
    if n_rows < MIN_ROWS:
        return None
    rows = preferences.sample(min(FRACTION, MAX_SAMPLE / n_rows))
    if rows is None:
        return None
    part, sampled = design.take(rows), preferences[rows]
    return solve(part, sampled) if part is not None and sampled.n_pairs else None


def pairwise_loss(
    loss: Any, preferences: Preferences, solver: str, *, average: str, n_threads: int
) -> PairwiseLoss:
    """Return a loss, given by name or as an object, which counts pairs as the solver asks for."""
    counting = SOLVERS[solver].counting
    options: dict[str, Any] = {} if counting == "merge" else {"counting": counting}
    return loss_over(loss, preferences, average=average, n_threads=n_threads, **options)
