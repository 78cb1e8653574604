"""The function of a curve ranker: a table for each feature, and for pairs of features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.core.stored import Array, Declaration, Value
from rankwise.core.types import FloatArray, FloatVector
from rankwise.functions.curve_axis import KINDS, Axis
from rankwise.functions.curve_features import CurveFeatures

# The attributes of `CurveFeatures` that the tables have.
AXES = ("kinds_", "knots_", "counts_", "pairs_", "pair_knots_", "pair_counts_")


@dataclass(frozen=True)
class Tables:
    """A sum of tables: see the attributes of `CurveRanker`."""

    kinds_: list[str]
    knots_: list[FloatArray]
    counts_: list[FloatArray]
    pairs_: NDArray[np.int64]
    pair_knots_: list[FloatArray]
    pair_counts_: list[FloatArray]
    values_: list[FloatArray]
    pair_values_: list[FloatArray]

    stored: ClassVar[Mapping[str, Declaration]] = dict.fromkeys(
        (*AXES, "values_", "pair_values_"), Value((list,), required=True)
    ) | {"pairs_": Array(("pairs", 2), "i", required=True)}

    def features(self, **parameters: Any) -> CurveFeatures:
        """Return the transformer of the fit, with the parameters of the model."""
        features = CurveFeatures(**parameters)
        for name in AXES:
            setattr(features, name, getattr(self, name))
        return features

    def terms(self, rows: FloatArray) -> Iterator[FloatVector]:
        """Yield the contribution of each table to the score of each row: features first, then pairs."""
        features = self.features()
        for axis, values, x in zip(features.axes, self.values_, rows.T, strict=True):
            yield axis.look_up(x, values)
        for (cells, _), values in zip(features.cells(rows), self.pair_values_, strict=True):
            yield values.ravel()[cells]

    def scores(self, rows: FloatArray, n_threads: int = 1) -> FloatVector:
        """Return the score of each row: the sum in one fixed order, whatever the number of rows."""
        return reduce(np.add, self.terms(rows))

    def conflicts(self, n_features: int) -> Iterator[str]:
        """Yield the first attribute that contradicts others."""
        if not self._has_curves(n_features):
            yield "values_"
        elif not self._has_pairs(n_features):
            yield "pair_values_"

    def _has_curves(self, n_features: int) -> bool:
        per_feature = (self.kinds_, self.knots_, self.counts_, self.values_)
        if not (all(len(found) == n_features for found in per_feature) and set(self.kinds_) <= set(KINDS)):
            return False
        return all(map(_is_axis, self.features().axes, self.values_, self.counts_))

    def _has_pairs(self, n_features: int) -> bool:
        is_known = np.isin(self.pairs_, np.arange(n_features)).all() and len(self.pair_knots_) in (
            0,
            n_features,
        )
        axes, counts = self.features().pair_axes, self.pair_counts_
        if not (is_known and len(self.pairs_) == len(self.pair_values_) and len(counts) == len(axes)):
            return False
        shapes = [(axes[j].size, axes[k].size) for j, k in self.pairs_]
        return all(map(_is_axis, axes, counts, counts)) and all(map(_is_table, self.pair_values_, shapes))


def _is_axis(axis: Axis, values: Any, counts: Any) -> bool:
    """Return whether knots ascend, and the numbers of entries and counts match them."""
    knots = axis.knots
    fits = _is_table(knots, (len(knots),)) and bool((np.diff(knots) > 0).all())
    fits &= axis.kind == "steps" or len(knots) > 0
    fits &= all(_is_table(found, (axis.size,)) for found in (values, counts))
    return bool(fits and (counts >= 0).all() and counts.any())


def _is_table(values: Any, shape: tuple[int, ...]) -> bool:
    return Array(shape).accepts(values, {})
