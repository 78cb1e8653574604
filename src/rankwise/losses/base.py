"""The interface of a loss to solvers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_vector, check_choice
from rankwise.core.types import FloatVector
from rankwise.losses.pair_sums import COUNTING_METHODS, PartnerSums, partner_sums
from rankwise.preferences.base import Pairs, Preferences, sum_by_row
from rankwise.preferences.ranking import Ranking

# The keywords of every loss, which say how it is summed.
OPTIONS = ("average", "counting", "n_threads")
# What a loss is over.
DATA = ("self", "preferences", "labels")


@dataclass
class ScoreHessian:
    """The second derivative of a loss by the scores: its diagonal, and its product with a direction."""

    diagonal: FloatVector
    product: Callable[[ArrayLike], FloatVector]


@dataclass(frozen=True)
class LossBounds:
    """How fast a mean loss over pairs can change, from the loss l(d) of a pair with score difference d.

    Attributes
    ----------
    lipschitz : float
        A bound on |l'(d)|; infinite for squares.
    curvature : float
        A bound on l''(d); infinite for a loss with kinks.
    mass : float
        The sum of the weights of all pairs.
    at_zero : float, or array of shape (n_outputs,)
        A bound on the loss of zero scores.
    """

    lipschitz: float = np.inf
    curvature: float = np.inf
    mass: float = 1.0
    at_zero: Any = 1.0

    def __post_init__(self) -> None:
        if self.lipschitz == self.curvature == np.inf:
            raise TypeError(
                "A loss must declare a finite lipschitz or curvature: no certificate holds without."
            )

    def coefficient_sum(self, value: Any) -> Any:
        """Return a bound on the sum of the absolute coefficients at scores with this loss.

        A nonnegative convex l has l'^2 <= 2 curvature l, and the Cauchy-Schwarz inequality sums it over the
        pairs. Each pair adds to the coefficients of two rows.
        """
        smooth: Any = np.inf
        if self.curvature < np.inf:
            smooth = 2.0 * np.sqrt(2.0 * self.curvature) * np.sqrt(self.mass * np.maximum(value, 0.0))
        return np.minimum(2.0 * self.lipschitz * self.mass, smooth)

    def change(self, value: Any, score: Any) -> tuple[Any, Any]:
        """Return bounds on the change of the loss and of its coefficients if each score moves by `score`."""
        turn = 4.0 * self.curvature * self.mass * score if self.curvature < np.inf else np.inf
        if self.lipschitz < np.inf:
            return 2.0 * self.lipschitz * self.mass * score, turn
        return self.coefficient_sum(value) * score + turn * score, turn

    def terms(self, score_range: Any) -> tuple[Any, Any]:
        """Return bounds on the absolute terms that the loss, and half its coefficients, are summed from.

        `score_range` bounds the difference of two scores.
        """
        if self.lipschitz < np.inf:
            size = self.lipschitz * self.mass * score_range + self.at_zero
            return size, 4.0 * size
        root = np.sqrt(0.5 * self.curvature * self.mass)
        size = root * score_range + np.sqrt(self.at_zero)
        return size**2, 2.0 * np.sqrt(2.0 * self.curvature) * np.sqrt(self.mass) * size


class PairwiseLoss(ABC):
    """The mean of a loss of s_better - s_worse over all pairs of a preference structure.

    A loss is `PiecewiseLinear` or `Smooth`, which determines the solvers that can minimize it.

    Parameters
    ----------
    preferences : Preferences, optional
        The pairs; scores have one entry for each of its rows. Without them the object has its parameters
        alone, from which `like` makes the loss of any preferences.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    counting : "merge", "tree" or "pairs"
        How violated pairs are counted. "merge" is the fast one; "tree", the order-statistic tree of Airola et
        al. (2011), and "pairs", all pairs, are references that give the same numbers.
    n_threads : int
        Does not change the result.

    Attributes
    ----------
    formula : str
        The objective in words, with f(row) for the score of a row.
    lipschitz, curvature : float
        Bounds on the first and the second derivative of a pair's loss; infinite if there is none. At least
        one must be finite.
    """

    formula: str
    # Whether the loss is a sum over pairs of rows, which leaving rows out and standard errors ask for.
    is_of_pairs = True
    lipschitz = np.inf
    curvature = np.inf

    def __init__(
        self,
        preferences: Preferences | None = None,
        *,
        average: str = "queries",
        counting: str = "merge",
        n_threads: int = 1,
    ):
        check_choice(counting, "counting", COUNTING_METHODS)
        self.average = average
        self.counting = counting
        self.n_threads = n_threads
        if preferences is not None:
            self.preferences = preferences
            self.factor = self._row_factor()

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the loss itself: keywords of its class that are none of every loss."""
        known = signature(type(self).__init__).parameters.values()
        names = [one.name for one in known if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
        own = [name for name in names if name not in (*DATA, *OPTIONS)]
        missing = [name for name in own if not hasattr(self, name)]
        if missing:
            raise TypeError(f"{type(self).__name__} must store its parameter {missing[0]!r} under this name.")
        return {name: getattr(self, name) for name in own}

    def maker(self) -> Callable[..., PairwiseLoss]:
        """Return a function of preferences and options that makes this loss, for example on a worker."""
        return partial(type(self), **self.parameters)

    def like(self, preferences: Preferences, **options: Any) -> PairwiseLoss:
        """Return the loss with the same parameters over other preferences."""
        return self.maker()(preferences, **options)

    @property
    def title(self) -> str:
        """The name of the loss in words, with its parameters."""
        words = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).capitalize()
        return f"{words} loss" + (f" ({self._given})" if self._given else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._given})"

    @property
    def _given(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())

    @abstractmethod
    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and its derivative by each score; X' times these is the gradient."""

    def value(self, scores: ArrayLike) -> float:
        """Return the loss alone."""
        return self.value_and_coefficients(scores)[0]

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the derivative by each score, and its curvature: Newton's method by rows divides by it.

        Here the curvature is half the weight of each row's pairs, as if that of each pair was 1/2. With the
        hinge, a Newton step then moves a row by twice the fraction of its pairs that push it up less the
        fraction that push it down: never by more than two margins.
        """
        return self.value_and_coefficients(scores)[1], self.half_weight

    def pair_derivatives(
        self, difference: FloatVector, magnitude: FloatVector
    ) -> tuple[FloatVector, FloatVector]:
        """Return the first and the second derivative of the loss of each pair by its score difference."""
        raise TypeError(f"{type(self).__name__} does not define pair_derivatives, which inference needs.")

    def slopes(self, scores: ArrayLike) -> Callable[[FloatVector], FloatVector]:
        """Return the product with the matrix C of the slopes of pairs, for several vectors.

        C_ij is the derivative by score i of the loss of the pair of rows i and j. C is antisymmetric, and its
        rows sum to the coefficients. The sum over j of C_ij (x_i - x_j) is the gradient of the pairs of row
        i. Here pairs are listed.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows)
        better, worse, magnitude, weight = self.listed_pairs()
        slope = weight * self.pair_derivatives(s[better] - s[worse], magnitude)[0]
        n = self.preferences.n_rows
        return lambda u: sum_by_row(better, slope * u[worse], n) - sum_by_row(worse, slope * u[better], n)

    def listed_pairs(self) -> Pairs:
        """Return all pairs, each with the factor of its loss in the mean."""
        return self.preferences.mean_pairs(self.average)

    def pairs_within(self, group: NDArray[np.int64], **columns: Any) -> Pairs:
        """Return the pairs of rows of equal `group`, each with its weight in the mean.

        A ranking lists no other pairs; equal groups must then be of one query.
        """
        preferences = self.preferences
        if isinstance(preferences, Ranking):
            pairs = preferences.replaced(query=group, **columns).pairs()
            factor = self.factor / preferences.scaled.pair_scale[preferences.order.query_of_row]
            return pairs._replace(weight=pairs.weight * factor[pairs.better])
        pairs = preferences.mean_pairs(self.average)
        inside = group[pairs.better] == group[pairs.worse]
        return Pairs(*(column[inside] for column in pairs))

    def mass_with(self, u: FloatVector) -> FloatVector:
        """Return the weight of each row's pairs in the mean, the weight of a partner j times u_j."""
        return self.factor * self._sums(None, u).moments

    @property
    def row_mass(self) -> FloatVector:
        """The weight of each row's pairs in the mean; the sum is 2, as each pair has two rows."""
        return 2.0 * self.half_weight

    @cached_property
    def half_weight(self) -> FloatVector:
        """Half the weight of each row's pairs."""
        sums = self._sums(None)
        return 0.5 * self.factor * (sums.up + sums.down)

    @property
    def at_zero(self) -> Any:
        """The loss of zero scores, which is the objective of a model that has learned nothing."""
        return self.value(np.zeros(self.preferences.n_rows))

    @property
    def bounds(self) -> LossBounds:
        """How fast the loss can change: rounding errors of its value and its coefficients follow from it."""
        return LossBounds(self.lipschitz, self.curvature, at_zero=max(1.0, self.at_zero))

    def _row_factor(self) -> FloatVector | float:
        return self.preferences.row_factor(self.average)

    def _sums(
        self, scores: FloatVector | None, moment: FloatVector | None = None, margin: float = 1.0
    ) -> PartnerSums:
        return partner_sums(
            self.preferences, scores, moment, margin=margin, counting=self.counting, n_threads=self.n_threads
        )


class PiecewiseLinear(PairwiseLoss):
    """A loss that is the largest of its planes: cutting planes minimize it."""

    @abstractmethod
    def plane(self, scores: ArrayLike) -> tuple[float, FloatVector, float]:
        """Return the loss, a subgradient c and the offset b with loss(t) >= c't + b for all scores t.

        Equality holds at `scores`.
        """

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and one of its subgradients by the scores."""
        value, coefficients, _ = self.plane(scores)
        return value, coefficients


class Smooth(PairwiseLoss):
    """A loss with a gradient and a (generalized) second derivative: Newton's method minimizes it."""

    @abstractmethod
    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the second derivative at `scores`, for several products."""

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the second derivative."""
        return self.value_and_coefficients(scores)[1], self.hessian(scores).diagonal
