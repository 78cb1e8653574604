"""Function spaces: linear functions of the features, or the span of a kernel, whose scales may be learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rankwise.core.checks import check_features
from rankwise.core.threads import thread_count
from rankwise.core.types import FloatArray
from rankwise.data.design import Design, as_design
from rankwise.data.hints import hint_at_scale
from rankwise.data.scores import compared_scores
from rankwise.estimators.feature_scales import learn_scales
from rankwise.kernels.parameters import is_learned, is_linear, kernel_map_of
from rankwise.model_selection.tunable import Problem

if TYPE_CHECKING:
    from rankwise.estimators.base import BaseRanker


class FeatureMap(Protocol):
    """The functions that the weights of a design stand for: those of a kernel, or tables."""

    def dual_coef(self, coef: FloatArray) -> FloatArray:
        """Return the weights as a model keeps them."""

    def scores(self, X: FloatArray, coef: FloatArray, n_threads: int = 1) -> FloatArray:
        """Score rows by several functions, given by what `dual_coef` returns: (n_rows, n_functions)."""


class Space(NamedTuple):
    """Rows as a design, and the functions of its weights; None for weights of the features themselves."""

    design: Design
    features: FeatureMap | None = None

    def dual_coef(self, coef: FloatArray) -> FloatArray:
        """Return the weights as a model keeps them."""
        return coef if self.features is None else self.features.dual_coef(coef)


def scores_by(coef: FloatArray, features: FeatureMap | None, rows: FloatArray, n_threads: int) -> FloatArray:
    """Score rows by several functions: shape (n_functions, n_rows)."""
    if features is None:
        return compared_scores(rows, coef, n_threads=n_threads)
    return features.scores(rows, coef, n_threads=n_threads).T


def function_space(model: BaseRanker, problem: Problem) -> Space:
    """Return the rows themselves, or the features of the kernel map."""
    n_threads = thread_count(model.n_jobs)
    if is_linear(model):
        return Space(as_design(problem.X, n_threads=n_threads))
    kernel_map = kernel_map_of(model, problem.scales)
    return Space(kernel_map.fit_design(problem.X, n_threads), kernel_map)


def hinted(space: Space, model: BaseRanker) -> Space:
    """Check the scale of linear features, and log a hint if it differs much."""
    if space.features is None and space.design.location is None:
        names = getattr(model, "feature_names_in_", None)
        check_features(space.design.column_scale(), names)
        hint_at_scale(space.design, names)
    return space


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
