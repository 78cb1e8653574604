"""Features as bins, lines and levels: a linear model of the result is a sum of curves."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import check_choice, check_count
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.frames import validated_numbers
from rankwise.data.product import ProductDesign
from rankwise.functions.curve_axis import (
    Axis,
    Columns,
    coding_matrix,
    cut_points,
    line_knots,
    table_coding,
    weight_names,
)

SHAPES = ("steps", "lines")
CODINGS = ("differences", "values")


class CurveFeatures(TransformerMixin, BaseEstimator):
    """Bin each feature into about equal counts, so that a linear model of the result is a sum of curves.

    A curve is a table with an entry per bin or level of a category and, if values are missing, one for
    these. With `coding="differences"` the weights of a linear model are the differences of neighboring
    entries. The penalty ||w||^2 of a ranker then favors smooth curves, and the number of bins matters
    little; the curve is zero at the bin of the median row. With `coding="values"` the weights are
    the entries, each row has a single 1 per feature, and the penalty favors small values.

    Pairs of features are tables over coarser bins. With differences, their weights are differences of
    differences: the interaction beyond two curves. Such a table is zero if either feature is in its middle
    bin.

    Cost: O(m log b) for each feature of m rows and b bins.

    Parameters
    ----------
    n_bins : int
        The largest number of bins of a numeric feature. With fewer distinct values, each has its own bin.
    shape : "steps" or "lines"
        Bins with one value each, or lines between quantiles.
    coding : "differences" or "values"
        How a feature becomes columns: steps at the edges of its bins, or piecewise linear functions.
    categorical_features : sequence of int or str, optional
        Columns that hold categories as numbers, by index or name. Categorical columns of a frame are detected
        automatically.
    pairs : sequence of pairs of int or str, or "all", optional
        Pairs of features with an interaction table. `CurveRanker(interactions=10)` selects pairs by gain.
    pair_bins : int
        The largest number of bins of a feature in these tables.

    Attributes
    ----------
    kinds_ : list of str
        "steps", "lines" or "levels" for each feature.
    knots_ : list of arrays
        The lower edges of each feature's bins, the knots of its lines, or its levels.
    counts_ : list of arrays
        The number of rows in each bin or level, with fractions for lines, and last that of missing values.
    pairs_ : array of shape (n_pairs, 2)
        Numbers of features.
    pair_knots_, pair_counts_ : list of arrays
        The coarser bins of each feature; empty without pairs.

    Examples
    --------
    >>> import numpy as np
    >>> features = CurveFeatures(n_bins=3)
    >>> features.fit_transform(np.array([[1.0], [2.0], [3.0], [np.nan]])).toarray()
    array([[-1.,  0.,  0.],
           [ 0.,  0.,  0.],
           [ 0.,  1.,  0.],
           [ 0.,  0.,  1.]])
    >>> features.get_feature_names_out().tolist()
    ['x0 >= 1.5', 'x0 >= 2.5', 'x0 missing']
    """

    def __init__(
        self,
        n_bins: int = 128,
        *,
        shape: str = "steps",
        coding: str = "differences",
        categorical_features: Any = None,
        pairs: Any = None,
        pair_bins: int = 8,
    ):
        self.n_bins = n_bins
        self.shape = shape
        self.coding = coding
        self.categorical_features = categorical_features
        self.pairs = pairs
        self.pair_bins = pair_bins

    pair_knots_: list[FloatVector]
    pair_counts_: list[FloatVector]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the bins, lines and levels of each feature.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN is a missing value.
        y : ignored
        """
        self.check_parameters()
        return self.fit_columns(Columns(validated_numbers(self, X, reset=True)))

    def transform(self, X: Any) -> sp.csr_array:
        """Return the rows as a sparse array of shape (n_rows, n_weights)."""
        check_is_fitted(self)
        rows = validated_numbers(self, X, reset=False)
        return self.design(rows, self.blocks(), self.factors()).tocsr()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the name of each column of the transformed rows."""
        check_is_fitted(self)
        names = self._names() if input_features is None else list(map(str, input_features))
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features has {len(names)} names, but X has {self.n_features_in_} columns."
            )
        single, coarse = (
            [
                weight_names(names[place], *table, self.coding, self.categories_.get(place))
                for place, table in enumerate(tables)
            ]
            for tables in (self._tables(), self._pair_tables())
        )
        double = [f"{a} and {b}" for j, k in self.pairs_ for a in coarse[j] for b in coarse[k]]
        return np.array([*chain.from_iterable(single), *double], dtype=object)

    @property
    def axes(self) -> list[Axis]:
        """The map from the values of each feature to the entries of its table."""
        return [Axis(*parts) for parts in zip(self.kinds_, self.knots_, strict=True)]

    @property
    def pair_axes(self) -> list[Axis]:
        """The map from the values of each feature to the coarser bins; empty without pairs."""
        kinds = ("levels" if kind == "levels" else "steps" for kind in self.kinds_)
        return [Axis(*parts) for parts in zip(kinds, self.pair_knots_, strict=False)]

    def with_pairs(self, columns: Columns, pairs: Any) -> Self:
        """Set the pairs of features with an interaction table, with bins from the columns of the rows."""
        self.pairs_ = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        if len(self.pairs_) and not self.pair_knots_:
            self.pair_knots_ = [axis.knots for axis in self.coarse_axes(columns, self.pair_bins)]
            self.pair_counts_ = columns.counts(self.pair_axes)
        return self

    def coarse_axes(self, columns: Columns, n_bins: int) -> list[Axis]:
        """Return an axis of at most n_bins steps for each numeric feature, and the levels of the others."""
        return [
            Axis(kind, knots) if kind == "levels" else Axis("steps", cut_points(columns.sample(j), n_bins))
            for j, (kind, knots) in enumerate(zip(self.kinds_, self.knots_, strict=True))
        ]

    def blocks(self) -> list[FloatArray]:
        """Return the matrix from weights to the entries of each curve."""
        return [coding_matrix(*table, self.coding) for table in self._tables()]

    def factors(self, smooth: bool = False) -> list[tuple[FloatArray, FloatArray]]:
        """Return the factors of the Kronecker product from weights to the entries of each pair's table.

        Those of `table_coding` are smoother than those of the columns of `transform`.
        """
        coarse = [
            table_coding(*table) if smooth else coding_matrix(*table, self.coding)
            for table in self._pair_tables()
        ]
        return [(coarse[j], coarse[k]) for j, k in self.pairs_]

    def design(
        self, X: FloatArray, blocks: list[FloatArray], factors: Any, n_threads: int = 1
    ) -> ProductDesign:
        """Return checked rows as the product of their entries and the codings of the tables."""
        coding = sp.csr_array(sp.block_diag([sp.coo_array(block) for block in blocks], format="csr"))
        tables = (np.outer(A.any(axis=1), B.any(axis=1)).ravel() for A, B in factors)
        met = np.concatenate([np.diff(coding.indptr) > 0, *tables])  # other entries are always zero
        return ProductDesign(self.entries(X, met), coding, n_threads, factors)

    def entries(self, X: FloatArray, met: NDArray[np.bool_]) -> sp.csr_array:
        """Return the entries of each row with their weights, restricted to `met`."""
        rows, columns, shares, start = [], [], [], 0
        for axis, x in zip(self.axes, X.T, strict=True):
            for codes, share in axis.entries(x):
                kept = np.flatnonzero(met[start + codes] & (np.broadcast_to(share, x.shape) > 0))
                rows.append(kept)
                columns.append(start + codes[kept])
                shares.append(np.broadcast_to(share, x.shape)[kept])
            start += axis.size
        for cells, size in self.cells(X):
            kept = np.flatnonzero(met[start + cells])
            rows.append(kept)
            columns.append(start + cells[kept])
            shares.append(np.ones(len(kept)))
            start += size
        where = (np.concatenate(rows), np.concatenate(columns))
        return sp.csr_array((np.concatenate(shares), where), shape=(len(X), start))

    def cells(self, X: FloatArray) -> Any:
        """Yield the cell of each row in the table of each pair, and the number of cells."""
        axes = self.pair_axes
        codes = [axis.codes(x) for axis, x in zip(axes, X.T, strict=False)]
        for j, k in self.pairs_:
            yield codes[j] * axes[k].size + codes[k], axes[j].size * axes[k].size

    def check_parameters(self) -> None:
        """Check all parameters."""
        check_count("n_bins", self.n_bins)
        check_count("pair_bins", self.pair_bins)
        check_choice(self.shape, "shape", SHAPES)
        check_choice(self.coding, "coding", CODINGS)

    def fit_columns(self, columns: Columns) -> Self:
        """Find the bins of the columns of checked rows."""
        levels = self._level_places()
        self.kinds_ = ["levels" if j in levels else self.shape for j in range(self.n_features_in_)]
        self.knots_ = [
            columns.levels(j) if kind == "levels" else self._knots(columns.sample(j))
            for j, kind in enumerate(self.kinds_)
        ]
        self.counts_ = columns.counts(self.axes)
        self.pair_knots_, self.pair_counts_ = [], []
        return self.with_pairs(columns, self._given_pairs())

    def _knots(self, x: FloatVector) -> FloatVector:
        return (cut_points if self.shape == "steps" else line_knots)(x, self.n_bins)

    def _tables(self) -> list[tuple[Axis, Any]]:
        return list(zip(self.axes, self.counts_, strict=True))

    def _pair_tables(self) -> list[tuple[Axis, Any]]:
        return list(zip(self.pair_axes, self.pair_counts_, strict=True))

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(map(str, names))

    def _level_places(self) -> set[int]:
        given = [] if self.categorical_features is None else list(self.categorical_features)
        return {place_of(self, entry, "categorical_features") for entry in given} | set(self.categories_)

    def _given_pairs(self) -> list[tuple[int, int]]:
        if self.pairs is None:
            return []
        if isinstance(self.pairs, str):
            check_choice(self.pairs, "pairs", ("all",))
            return list(combinations(range(self.n_features_in_), 2))
        return [checked_pair(self, pair, "pairs") for pair in self.pairs]


def checked_pair(estimator: Any, pair: Any, name: str) -> tuple[int, int]:
    """Return the indices of two features, the smaller one first."""
    places = sorted({place_of(estimator, entry, name) for entry in pair})
    if len(places) != 2 or len(pair) != 2:
        raise ValueError(f"{name} must hold pairs of two different features; got {pair!r}.")
    return places[0], places[1]


def place_of(estimator: Any, entry: Any, name: str) -> int:
    """Return the index of a feature given by index or name."""
    names = list(getattr(estimator, "feature_names_in_", ()))
    place = names.index(entry) if entry in names else entry
    is_place = isinstance(place, int | np.integer) and not isinstance(place, bool)
    if not (is_place and 0 <= place < estimator.n_features_in_):
        raise ValueError(f"{name} names {entry!r}, which is no column of X.")
    return int(place)
