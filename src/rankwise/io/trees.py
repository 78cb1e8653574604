"""Trees as arrays, the form from which all exports of trees are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.estimators import tree_text
from rankwise.estimators.boosted_base import BaseBoostedRanker
from rankwise.estimators.scaling import Scaling

Node = TypeVar("Node")
Indices = NDArray[np.int64]
# LightGBM reads numbers of at most this size as zero.
ZERO = float(np.float32(1e-35))
# LightGBM splits by missing values alone with an infinite threshold; this one separates the same numbers.
LARGEST = float(np.finfo(np.float64).max)
# The bits of `decision_type`: a split by category, missing values on the left, and what counts as missing.
BY_CATEGORY, LEFT, MISSING_SHIFT = 1, 2, 2
ZERO_IS_MISSING, NAN_IS_MISSING = 1, 2
WORD = 32


@dataclass(frozen=True)
class Tree:
    """A binary tree: a row goes left if its value is at most a threshold, or if its category is listed.

    Attributes
    ----------
    feature : array of shape (n_splits,)
        The index of the feature of each split. The first split is the root; children come after parents.
    threshold : array of shape (n_splits,)
        NaN for a split by category.
    missing_left : array of shape (n_splits,)
        Whether missing values go left.
    left, right : arrays of shape (n_splits,)
        The children: the index of a split, or -1 - k for leaf k.
    value : array of shape (n_leaves,)
        The values of the leaves.
    categories : dict of lists
        The numbers of the categories that go left, by the index of the split.
    """

    feature: Indices
    threshold: FloatVector
    missing_left: NDArray[np.bool_]
    left: Indices
    right: Indices
    value: FloatVector
    categories: dict[int, list[int]] = field(default_factory=dict)

    @property
    def root(self) -> int:
        """The first split, or the only leaf."""
        return 0 if len(self.feature) else -1

    def built(self, leaf: Callable[[int], Node], split: Callable[[int, Node, Node], Node]) -> Node:
        """Return the result of `leaf(number)` and `split(number, left, right)`, from the leaves up.

        Examples
        --------
        >>> tree = Tree(*map(np.array, ([0], [1.5], [False], [-1], [-2], [10.0, 20.0])))
        >>> tree.built(lambda k: str(tree.value[k]), lambda k, *below: f"({' or '.join(below)})")
        '(10.0 or 20.0)'
        """
        made: dict[int, Node] = {-1 - k: leaf(k) for k in range(len(self.value))}
        for k in reversed(range(len(self.feature))):
            made[k] = split(k, made.pop(int(self.left[k])), made.pop(int(self.right[k])))
        return made[self.root]

    @property
    def depths(self) -> Indices:
        """The number of splits above each split."""
        depths = np.zeros(len(self.feature), np.int64)
        for k in range(len(self.feature)):
            for child in (self.left[k], self.right[k]):
                if child >= 0:
                    depths[child] = depths[k] + 1
        return depths

    @property
    def separates_missing(self) -> bool:
        """Whether a missing value and zero differ at some split by number."""
        by_number = ~np.isnan(self.threshold)
        return bool((self.missing_left != (self.threshold >= 0))[by_number].any())


def boosted_trees(ranker: BaseBoostedRanker, scalings: list[Scaling], names: list[str]) -> list[Tree]:
    """Return the trees of a model, with thresholds for the features before scaling."""
    ranker.function.conflicts(ranker.n_features_in_)
    return [_tree(numbers, scalings, names) for numbers in tree_text.numbers(ranker.trees_)]


def _tree(numbers: dict[str, Any], scalings: list[Scaling], names: list[str]) -> Tree:
    feature, kind = numbers["split_feature"], numbers["decision_type"]
    by_category = (kind & BY_CATEGORY) > 0
    _check_not_scaled(feature[by_category], scalings, names)
    if np.isnan(numbers["threshold"]).any():
        raise ValueError("A threshold of the trees is not a number, so they cannot be exported.")
    threshold = _beside_zero(np.clip(numbers["threshold"], -LARGEST, LARGEST))
    left, missing = (kind & LEFT) > 0, kind >> MISSING_SHIFT
    zero_left = threshold >= 0
    _check_zeros(feature[(missing == ZERO_IS_MISSING) & (left != zero_left) & ~by_category], names)
    missing_left = np.where(missing == NAN_IS_MISSING, left, zero_left)
    sets = {int(k): _listed(numbers, int(numbers["threshold"][k])) for k in np.flatnonzero(by_category)}
    return Tree(
        feature,
        np.where(by_category, np.nan, unscaled(threshold, feature, scalings)),
        missing_left & ~by_category,
        numbers["left_child"],
        numbers["right_child"],
        numbers["leaf_value"],
        sets,
    )


def _beside_zero(threshold: FloatVector) -> FloatVector:
    """Move thresholds out of the numbers that LightGBM reads as zero."""
    below = np.nextafter(-ZERO, -np.inf)
    inside = np.abs(threshold) <= ZERO
    return np.where(inside, np.where(threshold >= 0, ZERO, below), threshold)


def _listed(numbers: dict[str, Any], number: int) -> list[int]:
    """Return the categories of a set, which is stored as the bits of some words."""
    first, last = numbers["cat_boundaries"][number : number + 2]
    words = numbers["cat_threshold"][first:last].tolist()
    return [WORD * k + bit for k, word in enumerate(words) for bit in range(WORD) if word >> bit & 1]


def categories_error(name: str) -> ValueError:
    """Return the error of programs whose trees compare numbers only."""
    return ValueError(
        f"Feature {name!r} holds categories, and trees of search engines compare numbers only; replace it by "
        "one column of 0 and 1 per category before the fit."
    )


def _check_not_scaled(columns: Indices, scalings: list[Scaling], names: list[str]) -> None:
    if scalings and len(columns):
        raise ValueError(
            f"Feature {names[columns[0]]!r} holds categories and is scaled before the trees, so that its "
            "categories are unknown; fit without a scaler, which trees do not need."
        )


def _check_zeros(columns: Indices, names: list[str]) -> None:
    if len(columns):
        raise ValueError(
            f"The trees treat zeros of feature {names[columns[0]]!r} as missing values "
            "(zero_as_missing=True), which exports do not support; use NaN for missing values."
        )


def unscaled(threshold: FloatVector, feature: Indices, scalings: list[Scaling]) -> FloatVector:
    """Return the largest number whose scaled value is at most each threshold.

    Scaling is monotone, also in floating-point arithmetic, so bisection over all float64 numbers is exact: a
    number and its scaled value lie on the same side of a split.

    Examples
    --------
    >>> scaling = Scaling(False, np.array([1.0]), np.array([0.1]))
    >>> (limit,) = unscaled(np.array([2.0]), np.array([0]), [scaling])
    >>> bool((limit - 1.0) / 0.1 <= 2.0 < (np.nextafter(limit, 9.0) - 1.0) / 0.1)
    True
    """
    if not scalings:
        return threshold
    low, high = np.full(len(threshold), _position(-np.inf)), np.full(len(threshold), _position(np.inf))
    with np.errstate(all="ignore"):
        for _ in range(64):  # the bits of a number
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            below = _scaled(_number(middle), feature, scalings) <= threshold
            low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.maximum(_number(low), -LARGEST)


def _scaled(values: FloatVector, feature: Indices, scalings: list[Scaling]) -> FloatVector:
    for scaling in scalings:
        shift, scale = scaling.shift[feature], scaling.scale[feature]
        values = values * scale + shift if scaling.min_max else (values - shift) / scale
    return values


# The finite numbers of float64 in ascending order have consecutive positions.


def _position(number: float) -> np.int64:
    bits = np.float64(abs(number)).view(np.int64)
    return bits if number >= 0 else -bits


def _number(positions: Indices) -> FloatVector:
    return np.copysign(np.abs(positions).view(np.float64), positions)


# Parsers of JSON accept 1,000 levels by default, and a split takes two.
DEEPEST = 250


def check_depth(trees: list[Tree], format: str) -> None:
    """Refuse trees that parsers of nested texts would refuse."""
    depth = max((int(tree.depths.max(initial=-1)) + 1 for tree in trees), default=0)
    if depth > DEEPEST:
        raise ValueError(
            f"A tree is {depth} splits deep, and format {format!r} supports {DEEPEST}; fit with max_depth="
            f"{DEEPEST} or less."
        )
