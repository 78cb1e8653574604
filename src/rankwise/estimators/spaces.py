"""The scales of features that a kernel may learn before a fit, and alpha with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rankwise.core.threads import thread_count
from rankwise.core.types import FloatArray
from rankwise.estimators.feature_scales import learn_scales
from rankwise.functions.kernel_parameters import is_learned, is_linear
from rankwise.model_selection.tunable import Problem

if TYPE_CHECKING:
    from rankwise.estimators.base import BaseRanker


def with_scales(
    model: BaseRanker, problem: Problem, path: Callable[..., Iterable[FloatArray]] | None = None
) -> Problem:
    """Learn the scales of features, and alpha, if gamma and alpha ask for it; the model keeps them.

    `path` yields the weights for several alphas; without it, alpha is that of least squares.
    """
    for name in ("feature_scales_", "gamma_", "scale_errors_"):
        model.__dict__.pop(name, None)  # of a previous fit
    learns_alpha = isinstance(getattr(model, "alpha", None), str)
    if is_linear(model) or not is_learned(model.gamma):
        if learns_alpha:
            raise ValueError("alpha='learned' goes with a kernel that has gamma='learned'.")
        return problem
    found = problem.scales
    if found is None:
        found = learn_scales(
            problem.X,
            problem.preferences,
            model.kernel,  # type: ignore[arg-type]  # other kernels are refused
            full=model.gamma == "learned-matrix",
            average=model.average,
            path=path if learns_alpha else None,
            n_threads=thread_count(model.n_jobs),
            random_state=model.random_state,
        )
    model.feature_scales_, model.gamma_, model.scale_errors_ = found.scales, found.gamma, found.errors
    if learns_alpha:
        model.alpha_ = found.alpha
    return replace(problem, scales=found)


def strength(model: BaseRanker) -> float:
    """Return the alpha to fit with: the parameter, or the one learned with the scales."""
    return float(model.alpha_ if isinstance(model.alpha, str) else model.alpha)
