"""Certificates of solutions of pairwise least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.data.design import Design
from rankwise.losses import LeastSquares
from rankwise.solvers.certificate import StoppingRule
from rankwise.solvers.errors import ErrorModel, suboptimality
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.run import finalise


class Found(NamedTuple):
    """The objective, its certified gap, and the part of a gap that rounding can explain; per output."""

    objective: Any
    gap: Any
    rounding: Any


def gradient_certificate(
    model: ErrorModel,
    alpha: Any,
    coef: FloatArray,
    objective: Any,
    gradient_norm: Any,
    score_range: Any,
) -> Found:
    """Return the certificate by strong convexity: the gap is at most ||gradient||^2 / (4 alpha)."""
    errors = model.at(alpha, coef, objective, score_range)
    gap = suboptimality(alpha, objective, gradient_norm, errors)
    return Found(objective, gap, 2.0 * suboptimality(alpha, objective, 0.0, errors))


def certificate(design: Design, form: LeastSquares, alpha: Any, coef: FloatArray, model: ErrorModel) -> Found:
    """Return the certificate of weights, from a pass over the data."""
    scores = design @ coef
    value, coefficients = form.value_and_coefficients(scores)
    adjoint = design.rmatvec if coef.ndim == 1 else design.rmatmat
    gradient = adjoint(coefficients) + 2 * alpha * coef
    objective = value + alpha * np.sum(coef * coef, axis=0)
    norm, score_range = np.linalg.norm(gradient, axis=0), model.precision.score_range(coef, scores)
    return gradient_certificate(model, alpha, coef, objective, norm, score_range)


def normal_certificate(
    gram: FloatArray, pull: FloatArray, form: LeastSquares, alpha: Any, coef: FloatArray, model: ErrorModel
) -> Found:
    """Return the certificate of weights from the normal equations, without a pass over the data.

    With their residual p the gradient is -2 p, and the objective constant - w'q - w'p, where q = Phi'r.
    """
    residual = pull - gram @ coef - alpha * coef
    objective = form.constant - np.sum(coef * (pull + residual), axis=0)
    gradient_norm = 2.0 * np.linalg.norm(residual, axis=0)
    score_range = model.precision.score_range(coef)
    return gradient_certificate(model, alpha, coef, objective, gradient_norm, score_range)


def closed_form(coef: FloatArray, found: Found, rule: StoppingRule) -> SolverResult:
    """Return the result of a closed form."""
    return outputs_result(coef, found, 1, "converged", Monitor(), rule)


def outputs_result(
    coef: FloatArray, found: Found, n_iter: int, status: str, monitor: Monitor, rule: StoppingRule
) -> SolverResult:
    """Return weights with outputs first, and plain numbers if there is one output."""
    objective, gap, rounding = found
    if coef.ndim == 1:
        objective, gap = float(objective), float(gap)
    rows = np.ascontiguousarray(coef.T)
    return finalise(rows, objective, gap, n_iter, status, monitor.history, rule, rounding)
