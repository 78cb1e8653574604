"""The columns of an encoded table without those that follow from others: a level of each category."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatArray, IntVector
from rankwise.data.columns import CATEGORY
from rankwise.data.table_encoder import TableEncoder


class LevelContrasts:
    """Levels of a `TableEncoder` compared with the first level of their column, the reference.

    The columns of all levels of a category sum to 1, so that data determine differences of their weights.

    Examples
    --------
    >>> import pandas as pd
    >>> wines = pd.DataFrame({"grape": ["merlot", "syrah", "merlot"], "price": [8.0, 9.0, 7.0]})
    >>> levels = LevelContrasts(TableEncoder().fit(wines))
    >>> levels.names(), levels.columns(wines).tolist()
    (['grape=syrah', 'price'], [[0.0, 8.0], [1.0, 9.0], [0.0, 7.0]])
    """

    def __init__(self, encoder: TableEncoder):
        self.encoder = encoder
        self.source = encoder.source_columns_
        self._is_category = np.array([kind == CATEGORY for kind in encoder.kinds_])[self.source]
        first = np.append(True, self.source[1:] != self.source[:-1])
        self._reference = self._is_category & first

    @property
    def kept(self) -> IntVector:
        """The places of the columns that are no reference levels."""
        return np.flatnonzero(~self._reference)

    def names(self) -> list[str]:
        """Return the names of the columns that are kept."""
        return [str(name) for name in self.encoder.get_feature_names_out()[self.kept]]

    def matrix(self) -> FloatArray:
        """Return the combinations of weights: those of numbers, and differences from reference levels."""
        R = np.eye(len(self.source))[self.kept]
        reference_of = np.searchsorted(self.source, self.source)  # the first column of each source
        for row, place in zip(R, self.kept, strict=True):
            if self._is_category[place]:
                row[reference_of[place]] = -1.0
        return R

    def columns(self, X: Any) -> FloatArray:
        """Return the columns that are kept; refuse rows with a level that the fit did not have."""
        encoded = self.encoder.transform(X)
        for place in np.unique(self.source[self._is_category]):
            known = encoded[:, self.source == place].sum(axis=1) > 0
            if not known.all():
                names = getattr(self.encoder, "feature_names_in_", np.arange(len(self.encoder.kinds_)))
                raise ValueError(
                    f"Column {names[place]!r} has a level in row {np.flatnonzero(~known)[0]} that the "
                    "training data did not have, so that its error is unknown."
                )
        return encoded[:, self.kept]
