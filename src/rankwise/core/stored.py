"""What a fit leaves in an estimator, declared on its class: model files hold these values and no others.

A class has a dictionary `stored` from names to declarations, in addition to those of its bases. A declaration
states the type, the range and the shape of a value; sizes are numbers or names, such as "features", and a
name stands for the same number in all values of a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Sizes = dict[str, int]


class Declaration(Protocol):
    """What a value must be."""

    @property
    def required(self) -> bool:
        """Whether every fit leaves the value."""

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        """Return whether a value is as declared; the sizes that it determines are added to `sizes`."""


@dataclass(frozen=True)
class Array:
    """An array.

    Attributes
    ----------
    sizes : tuple of str or int
        The shape: "classes-1" is one less than "classes". A first size with a question mark may be absent,
        and is not zero.
    kinds : str
        The kinds of dtypes, as numpy abbreviates them; empty for any.
    low, high : float
        The smallest and the largest entry.
    finite, ascending, has_norm : bool
        Whether entries are finite (otherwise they are at least not NaN), in ascending order, and have a
        finite sum of squares.
    text : bool
        Whether entries are strings.
    """

    sizes: tuple[str | int, ...]
    kinds: str = "f"
    low: float = -math.inf
    high: float = math.inf
    finite: bool = True
    ascending: bool = False
    has_norm: bool = False
    text: bool = False
    required: bool = False

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        """Return whether a value is such an array."""
        is_array = isinstance(value, np.ndarray) and (not self.kinds or value.dtype.kind in self.kinds)
        return is_array and self._has_shape(value.shape, sizes) and self._has_entries(value)

    def _has_shape(self, shape: tuple[int, ...], sizes: Sizes) -> bool:
        declared = self.sizes
        if str(declared[0]).endswith("?") and len(shape) < len(declared):
            declared = declared[1:]
        return len(shape) == len(declared) and all(map(sized, declared, shape, [sizes] * len(shape)))

    def _has_entries(self, values: Any) -> bool:
        if self.text:
            return all(isinstance(entry, str) for entry in values.ravel().tolist())
        if values.dtype.kind != "f" or not values.size:
            return True
        if np.isnan(values).any() or (self.finite and not np.isfinite(values).all()):
            return False
        with np.errstate(over="ignore"):
            if self.has_norm and not np.isfinite(np.square(values, dtype=np.float64).sum()):
                return False
        ascends = not self.ascending or (values[1:] >= values[:-1]).all()
        return bool(ascends and values.min() >= self.low and values.max() <= self.high)


def sized(declared: str | int, size: int, sizes: Sizes) -> bool:
    """Return whether a size is the declared one; a name without a size gets it.

    Examples
    --------
    >>> sizes = {}
    >>> sized("classes", 3, sizes), sized("classes-1", 2, sizes), sized("classes", 4, sizes), sizes
    (True, True, False, {'classes': 3})
    """
    if isinstance(declared, int):
        return size == declared
    if declared.endswith("?"):
        return size > 0 and sized(declared[:-1], size, sizes)
    name, _, less = declared.partition("-")
    return sizes.setdefault(name, size) - int(less or 0) == size


@dataclass(frozen=True)
class Value:
    """A single value of one of some types: a number of a range, text, or what `check` returns true for.

    The number is the size of that name, if there is a `size`.
    """

    kinds: tuple[type, ...]
    low: float = -math.inf
    high: float = math.inf
    size: str = ""
    check: Callable[[Any, Sizes], bool] | None = None
    required: bool = False

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        """Return whether a value is one of these."""
        if type(value) not in self.kinds or (self.size and not sized(self.size, value, sizes)):
            return False
        in_range = not isinstance(value, int | float) or self.low <= value <= self.high
        return in_range and (self.check is None or self.check(value, sizes))


@dataclass(frozen=True)
class Numbers:
    """A number or an array of numbers, which may be NaN."""

    required: bool = False

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        """Return whether a value is a number or an array of numbers."""
        return type(value) in (int, float) or (isinstance(value, np.ndarray) and value.dtype.kind in "iuf")


@dataclass(frozen=True)
class Part:
    """A fitted estimator of one of some classes, by name."""

    names: tuple[str, ...]
    required: bool = True

    def accepts(self, value: Any, sizes: Sizes) -> bool:
        """Return whether a value is an estimator of these."""
        return type(value).__name__ in self.names


def are_categories(categories: dict[Any, Any], sizes: Sizes) -> bool:
    """Return whether this maps indices of features to lists of distinct categories."""
    return all(
        type(column) is int
        and 0 <= column < sizes["features"]
        and isinstance(values, list)
        and len(set(values)) == len(values)
        for column, values in categories.items()
    )


def undeclared(model: Any) -> Iterator[str]:
    """Yield the attributes of a model that are not as declared, or are missing although they are required."""
    sizes: Sizes = {}
    for name, declaration in declared(type(model)).items():
        is_right = name in vars(model) and declaration.accepts(vars(model)[name], sizes)
        if not is_right and (declaration.required or name in vars(model)):
            yield name


_DECLARED: dict[type, dict[str, Declaration]] = {}


def declared(kind: type) -> dict[str, Declaration]:
    """Return the declarations of a class and its bases; those of the class itself take precedence."""
    if kind not in _DECLARED:
        found = _DECLARED[kind] = {}
        for base in reversed(kind.__mro__):
            for function in vars(base).get("functions", ()):
                found |= function.stored
            found |= vars(base).get("stored", {})
    return _DECLARED[kind]
