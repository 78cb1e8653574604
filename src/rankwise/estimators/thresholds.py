"""From scores to ranks: boundaries on the axis of the scores, one between each two neighboring ranks.

A row has rank k when its utility lies in (theta_(k-1), theta_k], with infinities at the two ends:
equation (7) of Herbrich, Graepel and Obermayer (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight

from rankwise.core.checks import (
    as_array,
    as_codes,
    as_vector,
    as_weights,
    check_choice,
    check_positive,
    declared_order,
)
from rankwise.core.memory import require_memory
from rankwise.core.types import FloatVector, IntVector
from rankwise.core.warn import warn_caller

__all__ = ["fit_thresholds", "ordered_classes", "ranks_of"]

METHODS = ("midpoint", "min_error")
ERRORS = ("absolute", "zero_one")


def fit_thresholds(
    utility: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "min_error",
    error: str = "absolute",
    sample_weight: ArrayLike | None = None,
    categories: Sequence[Any] | None = None,
    margin: float = 1.0,
    tol: float = 0.03,
) -> FloatVector:
    """Place the boundaries between ranks on the axis of any ranker's scores.

    `method="min_error"` minimizes the training error over all ordered boundaries, exactly::

        sum over rows of |rank predicted - rank|   or   [rank predicted != rank].

    A boundary lies in the middle of the gap between two neighboring utilities, in the widest of the gaps
    that are equally good; rows of equal utility are never parted. Two boundaries may coincide: the rank
    between them is then never predicted. A boundary below (above) all utilities lies half a mean gap
    outside them.

    `method="midpoint"` is equation (12) of Herbrich et al. (1999): the boundary between two ranks is the
    midpoint of the closest pair of the two, among the pairs at least `margin` apart in the right order. Such
    pairs are seldom unique, so the midpoints of all pairs within `tol` of the closest are averaged. Where
    there is no such pair, the boundary is the one that parts the lower from the higher ranks with the fewest
    errors.

    The thresholds never fall: each is at least as high as those before it.

    Cost: O(m log m) for m rows, and O(m K) with K ranks for the error "zero_one"; no pair is enumerated.

    Parameters
    ----------
    utility : array of shape (n_rows,)
        Scores, higher for higher ranks.
    y : array of shape (n_rows,)
        Labels of any sortable type, lowest first; or an ordered categorical column.
    method : "min_error" or "midpoint"
        "min_error" has the least error on these rows; "midpoint" is halfway between the closest neighbors.
    error : "absolute" or "zero_one"
        What "min_error" counts: by how many ranks a row is missed, or whether it is.
    sample_weight : array of shape (n_rows,), optional
        A row of weight 2 is the row given twice, one of weight 0 is not there.
    categories : sequence, optional
        The labels from the lowest to the highest rank, for text.
    margin, tol : float
        For "midpoint": the margin of the ranking SVM, and the tolerance of its solver.

    Returns
    -------
    thresholds : array of shape (n_classes - 1,)
        `numpy.searchsorted(thresholds, utility)` is the number of a row's rank among the labels in `y`.

    Examples
    --------
    >>> from rankwise import fit_thresholds
    >>> scores = [0.1, 0.3, 0.9, 1.1, 1.0, 2.5]
    >>> fit_thresholds(scores, ["low", "low", "mid", "mid", "mid", "high"], categories=["low", "mid", "high"])
    array([0.6, 1.8])
    """
    check_choice(method, "method", METHODS)
    check_choice(error, "error", ERRORS)
    scores = as_vector(utility, "utility")
    rows = as_array(y).shape[:1]
    if rows and rows != scores.shape:
        raise ValueError(f"utility has {len(scores)} entries, but y has {rows[0]}.")
    _, codes, weight = ordered_classes(y, categories, sample_weight)
    if method == "midpoint":
        return midpoint_thresholds(scores, codes, weight, margin=margin, tol=tol)[0]
    return min_error_thresholds(scores, codes, weight, error=error)


def ranks_of(utility: FloatVector, thresholds: FloatVector) -> IntVector:
    """Return the number of each row's rank; a utility that equals a threshold belongs to the lower rank."""
    return np.searchsorted(thresholds, utility, side="left").astype(np.int64)


# Labels


def ordered_classes(
    y: Any,
    categories: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[NDArray[Any], IntVector, FloatVector]:
    """Return the classes that occur, lowest first, the number of each row's class and the rows' weights.

    A class all of whose rows weigh nothing does not occur; its rows, of weight 0, get the number of another.
    """
    y = _as_column(y)
    distinct, codes = as_codes(y, "y")
    _check_labels(distinct, len(codes), categories)
    if categories is not None:
        distinct, codes = _in_order_of(categories, distinct, codes)
    elif declared_order(y) is None and holds_text(distinct):
        warn_caller(
            f"y holds text, ordered alphabetically: {_listed(distinct, ' < ')}. Give the order of the ranks, "
            "lowest first, with categories=[...]."
        )
    weight = np.ones(len(codes))
    if sample_weight is not None:
        weight = as_weights(sample_weight, "sample_weight", len(codes))
        present = np.unique(codes[weight > 0])
        distinct, codes = distinct[present], np.minimum(np.searchsorted(present, codes), len(present) - 1)
    if len(distinct) < 2:
        raise ValueError(f"y has one class only ({_listed(distinct)}); there must be at least two classes.")
    return distinct, codes, weight


def class_weights(class_weight: Any, classes: NDArray[Any], codes: IntVector) -> FloatVector:
    """Return the weight of each row's class: 1 without weights, or as scikit-learn weighs classes.

    Examples
    --------
    >>> class_weights({"low": 3.0}, np.array(["low", "high"]), np.array([0, 1, 1])).tolist()
    [3.0, 1.0, 1.0]
    """
    if isinstance(class_weight, dict):
        labels = classes.tolist()
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, which is not among the labels of y.")
        class_weight = {labels.index(label): weight for label, weight in class_weight.items()}
        for label, weight in class_weight.items():
            check_positive(f"class_weight of {labels[label]!r}", weight)
    elif class_weight is not None and class_weight != "balanced":
        raise ValueError(f"class_weight must be 'balanced', a dict or None; got {class_weight!r}.")
    return np.asarray(compute_sample_weight(class_weight, codes), dtype=np.float64)


def _as_column(y: Any) -> Any:
    """Leave one-dimensional labels as they are: a categorical column has the order of its values."""
    if isinstance(y, list | tuple) and all(isinstance(value, Real) for value in y):
        return np.asarray(y)
    shape = getattr(y, "shape", None)
    return column_or_1d(y, warn=True) if shape is not None and len(shape) > 1 else y


def _check_labels(distinct: NDArray[Any], n_rows: int, categories: Sequence[Any] | None) -> None:
    if distinct.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold labels that have an order.")
    if distinct.dtype.kind != "f":
        return
    if not np.isfinite(distinct).all():
        raise ValueError("y contains NaN or infinity.")
    if categories is None and looks_continuous(distinct, n_rows):
        raise ValueError(
            f"Unknown label type: continuous. y holds {len(distinct)} different numbers in {n_rows} rows; "
            "RankSVM learns from real-valued targets, and categories=[...] declares that these are ranks."
        )


def looks_continuous(distinct: NDArray[Any], n_rows: int) -> bool:
    """Return whether labels are fractions that seldom repeat, rather than grades."""
    fractional = distinct.dtype.kind == "f" and bool((distinct != np.floor(distinct)).any())
    return fractional and 2 * len(distinct) > n_rows


def _in_order_of(
    categories: Sequence[Any], distinct: NDArray[Any], codes: IntVector
) -> tuple[NDArray[Any], IntVector]:
    given = as_array(categories).tolist() if hasattr(categories, "dtype") else list(categories)
    rank = {value: number for number, value in enumerate(given)}
    if len(rank) < len(given):
        raise ValueError(f"categories must not hold a value twice; got {given!r}.")
    unknown = [value for value in distinct.tolist() if value not in rank]
    if unknown:
        raise ValueError(f"y holds {_listed(unknown)}, not among the categories {_listed(given)}.")
    order = np.argsort([rank[value] for value in distinct.tolist()])
    return distinct[order], np.argsort(order)[codes]


def holds_text(distinct: NDArray[Any]) -> bool:
    """Return whether labels are text."""
    return distinct.dtype.kind in "UST" or any(isinstance(value, str | bytes) for value in distinct.tolist())


def _listed(values: Any, separator: str = ", ", most: int = 8) -> str:
    names = [repr(value) for value in (values.tolist() if isinstance(values, np.ndarray) else values)]
    return separator.join(names if len(names) <= most else [*names[: most - 1], "..."])


# Boundaries of least error


class _Levels:
    """The distinct utilities in increasing order, and the weight of each rank at each of them.

    A cut c, from 0 to the number of levels, parts the levels below c from the others.
    """

    def __init__(self, utility: FloatVector, codes: IntVector, weight: FloatVector):
        kept = weight > 0
        order = np.argsort(utility[kept])
        self.codes, self.weight, ordered = codes[kept][order], weight[kept][order], utility[kept][order]
        begins = np.append(True, ordered[1:] != ordered[:-1])
        self.utility, self.level = ordered[begins], np.cumsum(begins) - 1
        self._level_begin = np.append(np.flatnonzero(begins), len(ordered))
        self.n_classes = int(self.codes.max()) + 1
        self.rounding = 4 * np.finfo(np.float64).eps * float(self.weight.sum())
        self.gap = np.zeros(len(self.utility) + 1)
        with np.errstate(over="ignore"):
            self.gap[1:-1] = np.diff(self.utility)

    def weight_of(self, rank: int) -> FloatVector:
        rows = self.codes == rank
        weight = np.bincount(self.level[rows], self.weight[rows], minlength=len(self.utility))
        return weight.astype(np.float64, copy=False)

    def cost(self, rank: int, lowest: int, highest: int) -> FloatVector:
        """Return the weight on the wrong side of boundary `rank` for each cut, up to a constant."""
        begin = self._level_begin[lowest : highest + 1]
        rows = slice(begin[0], begin[-1])
        change = np.where(self.codes[rows] > rank, self.weight[rows], -self.weight[rows])
        return _cumulated(change)[begin - begin[0]]

    def weight_below(self, rank: int) -> FloatVector:
        """Return the weight of a rank below each cut."""
        return _cumulated(self.weight_of(rank))

    def widest(self, cost: FloatVector, first: int) -> int:
        """Return the cut of least cost, in the widest gap; `cost` begins at the cut `first`."""
        cuts = first + np.flatnonzero(cost <= cost.min() + self.rounding)
        return int(cuts[np.argmax(self.gap[cuts])])

    def thresholds(self, cuts: IntVector) -> FloatVector:
        """Return the middle of the gap at each cut, so that `ranks_of` puts the levels where the cuts do."""
        u, first, last = self.utility, float(self.utility[0]), float(self.utility[-1])
        half_gap = (last / 2 - first / 2) / max(len(u) - 1, 1) or max(abs(first), 1.0) / 2
        largest = float(np.finfo(np.float64).max)
        below = max(min(first - 2 * half_gap, np.nextafter(first, -np.inf)), -largest)
        lower = np.concatenate([[below], u])[cuts]
        upper = np.append(u, min(last + 2 * half_gap, largest))[cuts]
        middle = lower / 2 + upper / 2
        # Between adjacent floating-point numbers there is no midpoint; a threshold belongs to the lower one.
        return np.where((lower <= middle) & (middle < upper), middle, lower)


def _cumulated(values: FloatVector) -> FloatVector:
    return np.concatenate([[0.0], np.cumsum(values)])


def min_error_thresholds(
    utility: FloatVector, codes: IntVector, weight: FloatVector, *, error: str
) -> FloatVector:
    """Return the ordered thresholds of least training error; see `fit_thresholds`."""
    levels = _Levels(utility, codes, weight)
    cuts = _absolute_cuts(levels) if error == "absolute" else _zero_one_cuts(levels)
    return levels.thresholds(cuts)


def _absolute_cuts(levels: _Levels) -> IntVector:
    """Minimize the absolute error, which is a sum over boundaries of the rows on their wrong side.

    Each boundary is therefore placed on its own. The cost of boundary k + 1 is that of boundary k plus what
    falls with the cut, so some best cut of it is not below that of boundary k: the boundary in the middle is
    placed first, and those on its two sides share the levels. O((m + K) log K).
    """
    cuts = np.zeros(levels.n_classes - 1, dtype=np.int64)
    waiting = [(0, len(cuts), 0, len(levels.utility))]
    while waiting:  # boundaries first, ..., last - 1 have cuts from lowest to highest
        first, last, lowest, highest = waiting.pop()
        if lowest == highest:
            cuts[first:last] = lowest
        elif first < last:
            middle = (first + last) // 2
            cut = levels.widest(levels.cost(middle, lowest, highest), lowest)
            cuts[middle] = cut
            waiting += [(first, middle, lowest, cut), (middle + 1, last, cut, highest)]
    return cuts


def _zero_one_cuts(levels: _Levels) -> IntVector:
    """Maximize the weight of the rows between their own two boundaries, by dynamic programming.

    Invariant: best[c] is the largest weight that the ranks so far can have in place below cut c.
    """
    what = f"error='zero_one' with {levels.n_classes} ranks and {len(levels.utility)} utilities"
    require_memory(levels.n_classes * len(levels.utility), what, "use error='absolute'")
    best, rises = levels.weight_below(0), []
    for rank in range(1, levels.n_classes):
        below = levels.weight_below(rank)
        begun = best - below
        running = np.maximum.accumulate(begun)
        rises.append(np.concatenate([[True], begun[1:] > running[:-1]]))
        best = below + running
    cuts, end = [], len(levels.utility)
    for rise in reversed(rises):  # the last rise up to the end of a rank is where the rank begins
        end = int(np.flatnonzero(rise[: end + 1])[-1])
        cuts.append(end)
    return _moved_to_wide_gaps(levels, np.array(cuts[::-1]))


def _moved_to_wide_gaps(levels: _Levels, cuts: IntVector) -> IntVector:
    """Move each cut between its neighbors to the widest gap with the same error."""
    fence = np.concatenate([[0], cuts, [len(levels.utility)]])
    below = levels.weight_below(0)
    for k in range(1, len(fence) - 1):
        next_below = levels.weight_below(k)
        between = slice(fence[k - 1], fence[k + 1] + 1)
        fence[k] = levels.widest((next_below - below)[between], fence[k - 1])
        below = next_below
    return fence[1:-1]


# Midpoints of the closest pairs


def midpoint_thresholds(
    utility: FloatVector, codes: IntVector, weight: FloatVector, *, margin: float = 1.0, tol: float = 0.03
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Return the thresholds of equation (12), and which of them no pair defines; see `fit_thresholds`."""
    ranks = _by_rank(utility, codes, weight)
    found = np.array([_mean_midpoint(*pair, margin, tol) for pair in pairwise(ranks)])
    missing = np.isnan(found)
    if missing.any():
        levels = _Levels(utility, codes, weight)
        found[missing] = levels.thresholds(_absolute_cuts(levels))[missing]
    return np.maximum.accumulate(found), missing


class _Rank(NamedTuple):
    """The rows of one rank: utilities, rising, and weights."""

    utility: FloatVector
    weight: FloatVector

    def weight_between(self, begin: IntVector, end: IntVector) -> FloatVector:
        """Return the sum of the weights of the rows begin, ..., end - 1; rounding never hides a row."""
        cumulated = _cumulated(self.weight)
        first = np.append(self.weight, 0.0)[begin]
        return np.where(end > begin, np.maximum(cumulated[end] - cumulated[begin], first), 0.0)


def _by_rank(utility: FloatVector, codes: IntVector, weight: FloatVector) -> list[_Rank]:
    order = np.flatnonzero(weight > 0)
    order = order[np.argsort(utility[order])]
    order = order[np.argsort(codes[order], kind="stable")]
    ends = np.searchsorted(codes[order], np.arange(codes[order[-1]] + 2))
    utility, weight = utility[order], weight[order]
    return [_Rank(utility[begin:end], weight[begin:end]) for begin, end in pairwise(ends)]


def _mean_midpoint(lower: _Rank, upper: _Rank, margin: float, tol: float) -> float:
    """Average the midpoints of the closest pairs at least a margin apart; NaN if there are none.

    The partners of a row follow one another in utility, so they are counted and not listed.
    """
    begin = _closer(upper.utility, lower.utility, np.less, margin - tol)
    reached = begin < len(upper.utility)
    if not reached.any():
        return np.nan
    closest = (upper.utility[begin[reached]] - lower.utility[reached]).min()
    end = _closer(upper.utility, lower.utility, np.less_equal, closest + tol)
    rows = np.arange(len(upper.utility))
    first, last = np.searchsorted(end, rows, side="right"), np.searchsorted(begin, rows, side="right")
    share_lower = lower.weight * upper.weight_between(begin, end)
    share_upper = upper.weight * lower.weight_between(first, last)
    means = np.average(lower.utility, weights=share_lower), np.average(upper.utility, weights=share_upper)
    return float(means[0] / 2 + means[1] / 2)


def _closer(
    upper: FloatVector, lower: FloatVector, compare: Callable[..., NDArray[np.bool_]], gap: float
) -> IntVector:
    """Count, for each lower utility, the upper ones whose difference from it compares so with a gap.

    By bisection of the differences: a sum of utility and gap, rounded, could miss the closest pair itself.
    """
    first, last = np.zeros(len(lower), dtype=np.int64), np.full(len(lower), len(upper))
    while (open_ := first < last).any():
        middle = (first + last) // 2
        closer = open_ & compare(upper[np.minimum(middle, len(upper) - 1)] - lower, gap)
        first, last = np.where(closer, middle + 1, first), np.where(open_ & ~closer, middle, last)
    return first
