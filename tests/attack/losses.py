"""Values, coefficients, diagonals and Hessian products of losses, against sums over pairs in long double."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import reference
from attack.draws import for_examples
from rankwise.losses import Hinge, LeastSquares, Logistic, SquaredHinge
from rankwise.losses.squared_hinge import ACCURACY
from strategies import cases

DIGITS = 1e-10
# The part of a sum that rounding of its terms explains, in units of DIGITS.
ROUNDING = 16 * np.finfo(float).eps / DIGITS
# Numbers below have fewer digits.
SMALLEST = 1e-290
METHODS = ("merge", "tree", "pairs")
SEEDS = st.integers(0, 2**32 - 1)
LOSSES = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
    "least_squares": LeastSquares,
}


def case(rng):
    """Draw structures and scores."""
    return for_examples(rng, check, cases(max_rows=40), st.sampled_from(list(LOSSES)), SEEDS, examples=8)


def check(drawn, name, seed):
    """Compare everything that a loss computes at one vector of scores."""
    rng = np.random.default_rng(seed)
    average = rng.choice(["queries", "pairs"])
    options = {} if name in ("logistic", "least_squares") else {"counting": str(rng.choice(METHODS))}
    loss = LOSSES[name](drawn.preferences, average=average, n_threads=int(rng.integers(1, 4)), **options)
    scores = scattered(rng, drawn.scores)
    pairs = precise(drawn, average)
    margins = np.array([scores[i] - scores[j] for i, j, *_ in pairs])
    assume(name == "logistic" or (np.abs(margins - 1) > 1e-9 * (1 + np.abs(scores).max())).all())
    sizes = Sizes(name, pairs, scores)
    value, coefficients = loss.value_and_coefficients(scores)
    expected, gradient = formula(name, pairs, scores.astype(np.longdouble))
    sizes.assert_value(value, expected)
    sizes.assert_rows(coefficients, gradient)
    if name == "hinge":
        return
    hessian, H = loss.hessian(scores), second(name, pairs, scores.astype(np.longdouble))
    direction = rng.normal(size=len(scores))
    sizes.assert_curvature(hessian.diagonal, np.diag(H), H, np.ones(len(scores)))
    sizes.assert_curvature(hessian.product(direction), H @ direction, H, direction)


def scattered(rng, scores):
    """The scores as drawn, or small, large, in far clusters, or with an outlier."""
    far = 10.0 ** rng.integers(3, 9)
    kind = rng.integers(6)
    if kind == 0:
        return scores
    scores = np.clip(scores, -10, 10) + 0.1 * rng.normal(size=len(scores))
    return {
        1: lambda: scores,
        2: lambda: 1e-9 * scores,
        3: lambda: far * scores,
        4: lambda: scores + far * rng.integers(0, 3, len(scores)),
        5: lambda: np.concatenate([[far], scores[1:]]),
    }[kind]()


def precise(drawn, average):
    """The pairs with a weight, in long double; the draw is void where their weights cannot be added up."""
    pairs = [(i, j, np.longdouble(w), t, q) for i, j, w, t, q in drawn.pairs if w > 0]
    assume(pairs)
    return reference.normalised(pairs, average, drawn.query_weight)


def formula(name, pairs, scores):
    if name == "least_squares":
        return reference.least_squares(pairs, scores, "magnitude")
    return getattr(reference, name)(pairs, scores)


def second(name, pairs, scores):
    if name == "least_squares":
        return 2 * reference.laplacian(pairs, len(scores))
    return getattr(reference, f"{name}_hessian")(pairs, scores)


class Sizes:
    """The size of the terms that are added up, to which errors are compared.

    Sums over rows of scores or of their squares cannot be more exact than the scores: with far scores this is
    the larger part for the hinge (once) and for squares (twice). The squared hinge promises a relative
    accuracy, and the logistic loss all digits.
    """

    def __init__(self, name, pairs, scores):
        self.name = name
        weight, target = (np.array([float(pair[k]) for pair in pairs]) for k in (2, 3))
        margin = np.array([scores[i] - scores[j] for i, j, *_ in pairs])
        counted = weight * ((margin < 1) if "hinge" in name else 1.0)
        terms = 1 + np.abs(margin) + (np.abs(target) if name == "least_squares" else 0)
        rounding = {"hinge": 1, "logistic": 0, "squared_hinge": 2, "least_squares": 2}[name]
        power, spread = 1 + (name in ("squared_hinge", "least_squares")), 1.0 + np.ptp(scores)
        value = counted @ terms**power
        rounded = ROUNDING * spread**rounding
        self.value = value + (
            min(rounded, ROUNDING + len(scores) * ACCURACY * value / DIGITS)
            if name == "squared_hinge"
            else rounded
        )
        self.row = largest_sum(pairs, counted * terms ** (power - 1)) + ROUNDING * spread ** (power - 1)

    def assert_value(self, found, expected):
        error = abs(float(found - expected)) / self.value
        assert error <= DIGITS, f"{self.name} value {found!r}, expected {float(expected)!r}: {error:.1e}"

    def assert_rows(self, found, expected):
        error = float(np.abs(found - expected).max()) / self.row
        assert error <= DIGITS, f"{self.name} coefficients: {error:.1e} of the largest"

    def assert_curvature(self, found, expected, H, direction):
        size = float((np.abs(H) @ np.abs(direction)).max()) + SMALLEST
        error = float(np.abs(found - expected).max()) / size
        assert error <= DIGITS, f"{self.name} curvature: {error:.1e} of the largest"


def largest_sum(pairs, terms):
    """The largest sum of terms over the pairs of a row."""
    rows = np.array([pair[:2] for pair in pairs])
    return max(np.bincount(rows.ravel(), np.repeat(terms, 2)))
