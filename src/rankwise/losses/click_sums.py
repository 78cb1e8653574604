"""Sums over the pairs of clicks, from those of a ranking of copies of rows.

The copies pair each clicked row with itself too. Its score difference is 0, so that this pair adds a constant
to a loss and nothing to its gradient; what it adds to sums and diagonals is subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.losses.logistic import logistic_hessian, logistic_slopes, logistic_sums
from rankwise.losses.pair_sums import PartnerSums, partner_sums, violated_weight
from rankwise.preferences.base import sum_by_row
from rankwise.preferences.clicks import Clicks


@partner_sums.register
def _(
    clicks: Clicks,
    scores: FloatVector | None,
    moment: FloatVector | None = None,
    *,
    margin: float = 1.0,
    counting: str = "merge",
    n_threads: int = 1,
) -> PartnerSums:
    rows, ranking, scale = clicks.copies
    of_copies = partner_sums(
        ranking,
        None if scores is None else scores[rows],
        None if moment is None else moment[rows],
        margin=margin,
        counting=counting,
        n_threads=n_threads,
    )
    own = clicks.own_weight if scores is None or margin > 0 else np.zeros(clicks.n_rows)
    up, down = (
        np.maximum(sum_by_row(rows, scale * sums, clicks.n_rows) - own, 0.0)
        for sums in (of_copies.up, of_copies.down)
    )
    if moment is None:
        return PartnerSums(up, down)
    moment_up, moment_down = (
        sum_by_row(rows, scale * sums, clicks.n_rows) - own * moment
        for sums in (of_copies.moment_up, of_copies.moment_down)
    )
    return PartnerSums(up, down, moment_up, moment_down)


@violated_weight.register
def _(clicks: Clicks, scores: ArrayLike, margin: float, *, n_threads: int = 1) -> FloatVector:
    scores = as_vector(scores, "scores", clicks.n_rows)
    return clicks.sum_by_query(partner_sums(clicks, scores, margin=margin, n_threads=n_threads).up)


@logistic_sums.register
def _(
    clicks: Clicks, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[float, FloatVector]:
    rows, ranking, _ = clicks.copies
    value, gradient = logistic_sums(ranking, scores[rows], _at_copies(clicks, factor), n_threads=n_threads)
    own = float(np.sum(factor * clicks.own_weight)) * math.log(2.0)
    return max(value - own, 0.0), sum_by_row(rows, gradient, clicks.n_rows)


@logistic_hessian.register
def _(
    clicks: Clicks, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[FloatVector, Callable[[FloatVector], FloatVector]]:
    rows, ranking, _ = clicks.copies
    diagonal, multiply = logistic_hessian(
        ranking, scores[rows], _at_copies(clicks, factor), n_threads=n_threads
    )
    own = 0.5 * factor * clicks.own_weight  # a curvature of 1/4 at each of the two copies

    def product(direction: FloatVector) -> FloatVector:
        return sum_by_row(rows, multiply(direction[rows]), clicks.n_rows)

    return np.maximum(sum_by_row(rows, diagonal, clicks.n_rows) - own, 0.0), product


@logistic_slopes.register
def _(
    clicks: Clicks, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> Callable[[FloatVector], FloatVector] | None:
    rows, ranking, _ = clicks.copies
    multiply = logistic_slopes(ranking, scores[rows], _at_copies(clicks, factor), n_threads=n_threads)
    assert multiply is not None
    return lambda direction: sum_by_row(rows, multiply(direction[rows]), clicks.n_rows)


def _at_copies(clicks: Clicks, factor: FloatVector | float) -> FloatVector:
    """Return the factor of each copy, at the scale of the weights of its impression."""
    rows, _, scale = clicks.copies
    return scale * (factor[rows] if isinstance(factor, np.ndarray) else factor)
