"""Explicit pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_array, as_codes, as_indices, as_they_are, as_vector, as_weights
from rankwise.data.columns import column_names
from rankwise.preferences.base import FewRowsError, Pairs, Preferences, check_pair_memory, weighing_rows


class PairList(Preferences):
    """A list of (better, worse) rows, each with a magnitude and a weight; O(l) for l pairs.

    `row_groups` has the given group of each row, or None.
    """

    lists_pairs = True

    def __init__(
        self,
        pairs: Pairs,
        n_rows: int,
        items: NDArray[Any] | None = None,
        row_groups: NDArray[np.int64] | None = None,
    ):
        self._pairs = pairs  # those of weight zero left out
        self.n_rows = n_rows
        self.items = items
        self.row_groups = row_groups

    def groups(self) -> NDArray[np.int64]:
        """Return the group of each row: those given or, without any, the connected components."""
        return super().groups() if self.row_groups is None else self.row_groups

    def pairs(self) -> Pairs:
        """Return the pairs."""
        return self._pairs

    def weighted(self, sample_weight: ArrayLike) -> PairList:
        """Multiply each pair's weight by the weights of its two rows."""
        rows = as_weights(sample_weight, "sample_weight", self.n_rows)
        rows = rows / rows.max()  # only ratios matter, and products of ratios do not overflow
        better, worse, magnitude, weight = self._pairs
        pairs = Pairs(better, worse, magnitude, weight * rows[better] * rows[worse])
        return PairList(_kept(pairs), self.n_rows, self.items, self.row_groups)

    def pair_folds(self, n_splits: int, seed: int = 0) -> list[tuple[Preferences, Preferences]]:
        """Assign the pairs to folds at random if fewer connected components than folds have any.

        Folds of rows would split most pairs then. A pair that occurs several times, in either order, is in
        one fold.
        """
        better, worse, _, _ = self._pairs
        if len(np.unique(self.groups()[better])) >= n_splits:
            return []
        ends = np.stack([np.minimum(better, worse), np.maximum(better, worse)])
        distinct, number = np.unique(ends, axis=1, return_inverse=True)
        n_distinct = distinct.shape[1]
        if n_distinct < n_splits:
            raise FewRowsError(
                f"{n_splits} folds need as many different pairs of rows, or groups of rows that no pair "
                f"joins; got {n_distinct} different pairs. Use fewer folds."
            )
        dealt = np.random.default_rng(seed).permutation(n_distinct) % n_splits
        fold = dealt[number.ravel()]
        return [(self._only(fold != k), self._only(fold == k)) for k in range(n_splits)]

    def _only(self, chosen: NDArray[np.bool_]) -> PairList:
        """Return some of the pairs, among the same rows."""
        return PairList(_chosen(self._pairs, chosen), self.n_rows, None, self.row_groups)

    def _take(self, rows: NDArray[np.int64]) -> PairList:
        """Keep the pairs between the rows taken; a row taken twice takes its pairs twice."""
        better, worse, magnitude, weight = self._pairs
        order = np.argsort(rows, kind="stable")
        copies = np.bincount(rows, minlength=self.n_rows)
        first = np.cumsum(copies) - copies
        count = copies[better] * copies[worse]
        check_pair_memory(int(count.sum()))
        pair = np.repeat(np.arange(len(better)), count)
        number = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        of_worse = copies[worse][pair]
        taken = Pairs(
            order[first[better][pair] + number // np.maximum(of_worse, 1)],
            order[first[worse][pair] + number % np.maximum(of_worse, 1)],
            magnitude[pair],
            weight[pair],
        )
        items, groups = (None if part is None else part[rows] for part in (self.items, self.row_groups))
        return PairList(taken, len(rows), items, groups)


def _kept(pairs: Pairs) -> Pairs:
    return _chosen(pairs, pairs.weight > 0)


@weighing_rows.register
def _(pairs: PairList) -> NDArray[np.bool_]:
    weighs = np.zeros(pairs.n_rows, dtype=bool)
    weighs[np.concatenate(pairs.pairs()[:2])] = True
    return weighs


def _chosen(pairs: Pairs, chosen: NDArray[np.bool_]) -> Pairs:
    better, worse, magnitude, weight = pairs
    return Pairs(better[chosen], worse[chosen], magnitude[chosen], weight[chosen])


def from_pairs(
    better: ArrayLike,
    worse: ArrayLike,
    magnitude: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    n_rows: int | None = None,
    items: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> PairList:
    """Take explicit pairs of rows, by number or by name; a pair may be given several times.

    Parameters
    ----------
    better, worse : arrays of shape (n_pairs,)
        In pair k, row `better[k]` should be above row `worse[k]`: row numbers, or names of any type.
    magnitude : array of shape (n_pairs,), optional
        By how much; used by least squares and ignored by the hinge losses. Ones by default.
    weight : array of shape (n_pairs,), optional
        How much the pair counts. Ones by default.
    n_rows : int, optional
        The number of rows of the data; by default the largest row number plus one.
    items : array of shape (n_rows,), optional
        The name of each row of the data, such as the index of a frame; those without a pair may be there too.
        Pairs are then given by these names. Where pairs have names and there is no `items`, the rows are the
        names that occur, sorted if possible, and the attribute `items` has them in this order.

    groups : array of shape (n_pairs,), optional
        What the votes of a pair have in common, such as a prompt or a user. Pairs of one group stay together
        in folds, and intervals take groups, not pairs, as independent. A row must not be in two groups.

    Examples
    --------
    >>> Preferences.from_pairs(better=[0, 2], worse=[1, 3]).groups()
    array([0, 0, 1, 1])
    >>> Preferences.from_pairs(["tea", "tea"], ["milk", "rum"]).items.tolist()
    ['milk', 'rum', 'tea']
    >>> Preferences.from_pairs(["tea"], ["rum"], items=["rum", "milk", "tea"]).pairs().better.tolist()
    [2]
    """
    names = _names(better, worse, items)
    if names is None:
        first, second = as_indices(better, "better", n_rows), as_indices(worse, "worse", n_rows)
    else:
        if n_rows is not None and n_rows != len(names):
            raise ValueError(f"n_rows is {n_rows}, but there are {len(names)} items; leave n_rows out.")
        n_rows = len(names)
        first, second = (_places(*given, names) for given in ((better, "better"), (worse, "worse")))
    if len(first) != len(second):
        raise ValueError(f"better has {len(first)} entries and worse {len(second)}; they must match.")
    if (first == second).any():
        row = first[first == second][0]
        which = f"row {row}" if names is None else repr(names.tolist()[row])
        raise ValueError(f"A row cannot be better than itself: {which} is paired with itself.")
    rows = int(max(first.max(initial=-1), second.max(initial=-1))) + 1 if n_rows is None else int(n_rows)
    ones = np.ones(len(first))
    pairs = Pairs(
        first,
        second,
        ones if magnitude is None else as_vector(magnitude, "magnitude", len(first)),
        ones if weight is None else as_weights(weight, "weight", len(first)),
    )
    row_groups = None if groups is None else _row_groups(groups, first, second, rows)
    structure = PairList(_kept(pairs), rows, names, row_groups)
    structure.require_pairs()
    return structure


def _row_groups(
    groups: ArrayLike, better: NDArray[np.int64], worse: NDArray[np.int64], n_rows: int
) -> NDArray[np.int64]:
    """Return the group of each row; rows without a pair are groups of their own."""
    distinct, codes = as_codes(groups, "groups", len(better))
    found = len(distinct) + np.arange(n_rows)
    for rows in (better, worse):
        found[rows] = codes
    for rows in (better, worse):
        bad = np.flatnonzero(found[rows] != codes)
        if len(bad):
            names = distinct.tolist()
            row, first, second = rows[bad[0]], names[codes[bad[0]]], names[found[rows[bad[0]]]]
            raise ValueError(
                f"groups puts the pairs of row {row} into {first!r} and into {second!r}; join these groups."
            )
    return np.unique(found, return_inverse=True)[1]


def _names(better: Any, worse: Any, items: Any) -> NDArray[Any] | None:
    """Return the name of each row, or None if pairs have row numbers."""
    if items is not None:
        names, codes = as_codes(items, "items")
        if len(names) < len(codes):
            twice = names.tolist()[int(np.flatnonzero(np.bincount(codes) > 1)[0])]
            raise ValueError(f"items must differ from each other; {twice!r} is there twice.")
        return names[codes]
    columns = [
        as_they_are(column) if isinstance(column, list | tuple) else as_array(column)
        for column in (better, worse)
    ]
    if all(column.dtype.kind in "iuf" or len(column) == 0 for column in columns):
        return None
    if len({column.dtype.kind for column in columns}) == 1:
        return as_codes(np.concatenate(columns), "better and worse")[0]
    return as_codes([value for column in columns for value in column.tolist()], "better and worse")[0]


def _places(values: Any, name: str, items: NDArray[Any]) -> NDArray[np.int64]:
    """Return the row of each name."""
    row_of = {item: row for row, item in enumerate(items.tolist())}
    distinct, codes = as_codes(values, name)
    unknown = [value for value in distinct.tolist() if value not in row_of]
    if unknown:
        raise ValueError(f"{name} names {unknown[0]!r}, which is not among the items.")
    return np.array([row_of[value] for value in distinct.tolist()], dtype=np.int64)[codes]


def pair_data(
    X_better: Any,
    X_worse: Any,
    weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    margin: ArrayLike | None = None,
) -> tuple[Any, PairList]:
    """Stack chosen and rejected rows into one matrix and the preferences between them.

    Row k of `X_better` should be above row k of `X_worse`.

    Parameters
    ----------
    X_better, X_worse : arrays or sparse matrices of the same shape (n_pairs, n_features)
        The better and the worse row of each pair.
    weight : array of shape (n_pairs,), optional
        The weight of each pair.
    groups : array of shape (n_pairs,), optional
        What pairs have in common, such as their prompt: see `Preferences.from_pairs`.
    margin : array of shape (n_pairs,), optional
        By how much the chosen row is better, above 0. It is the magnitude of the pair, the difference of
        scores that `RankRLS` aims at; other losses ignore it. To let strong preferences count more, pass it
        as `weight`.

    Returns
    -------
    X : array or CSR matrix of shape (2 n_pairs, n_features)
    preferences : Preferences

    Examples
    --------
    >>> X, preferences = pair_data([[1.0, 2.0]], [[0.0, 5.0]])
    >>> X.shape, preferences.n_pairs
    ((2, 2), 1)
    >>> pair_data([[1.0], [3.0]], [[0.0], [0.0]], margin=[1, 3])[1].pairs().magnitude.tolist()
    [1.0, 3.0]
    """
    shapes = [X.shape if hasattr(X, "shape") else np.shape(X) for X in (X_better, X_worse)]
    if shapes[0] != shapes[1] or len(shapes[0]) != 2:
        raise ValueError(
            f"X_better and X_worse need the same two-dimensional shape, got {shapes[0]} and {shapes[1]}."
        )
    names = [column_names(X) for X in (X_better, X_worse)]
    if None not in names and names[0] != names[1]:
        raise ValueError(f"X_better and X_worse must have the same columns in the same order; got {names}.")
    n = shapes[0][0]
    if sp.issparse(X_better) or sp.issparse(X_worse):
        X = sp.vstack([X_better, X_worse], format="csr")
    else:
        X = np.concatenate([np.asarray(X_better), np.asarray(X_worse)])
    numbers = np.arange(n)
    magnitude = None if margin is None else _positive_sizes(margin, n)
    return X, from_pairs(numbers, numbers + n, magnitude, weight, 2 * n, groups=groups)


def _positive_sizes(margin: ArrayLike, n_pairs: int) -> NDArray[np.float64]:
    margins = as_vector(margin, "margin", n_pairs)
    if (margins <= 0).any():
        pair = int((margins <= 0).argmax())
        raise ValueError(f"margin must be above 0; pair {pair} has {margins[pair]:g}.")
    return margins
