"""A column whose parts are on the workers, which is an array in memory for code that takes arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from rankwise.data.rows import joined
from rankwise.distributed.client import current_engine


class PartColumn(NDArrayOperatorsMixin):
    """Labels or queries in parts on the workers of a Dask client.

    The methods `fit` of rankers leave the parts where they are. Any other use, such as an index, a comparison
    or a method of arrays, brings all entries to the driver; nothing is kept there.

    Parameters
    ----------
    blocks : list of Future or Delayed
        An array each.
    lengths : list of int
        The number of entries of each part.
    names : list of str
        The names of the parts in messages, such as those of files.
    dtype : data type
        That of all entries.

    Examples
    --------
    >>> from dask import delayed
    >>> parts = [delayed(np.array([1.0, 0.0])), delayed(np.array([2.0]))]
    >>> column = PartColumn(parts, [2, 1], ["a.txt", "b.txt"], np.float64)
    >>> len(column), column.tolist(), column > 0
    (3, [1.0, 0.0, 2.0], array([ True, False,  True]))
    """

    ndim = 1

    def __init__(
        self, blocks: Sequence[Any], lengths: Sequence[int], names: Sequence[str], dtype: Any
    ) -> None:
        self.blocks, self.lengths, self.names = list(blocks), list(lengths), list(names)
        self.dtype = np.dtype(dtype)

    @property
    def shape(self) -> tuple[int]:
        """The number of entries."""
        return (sum(self.lengths),)

    def n_distinct(self) -> int:
        """Return the number of distinct entries; each part sends its own."""
        engine = current_engine()
        return len(np.unique(joined(engine.execute(lambda: engine.map(np.unique, self.blocks)))))

    def __len__(self) -> int:
        return sum(self.lengths)

    def __repr__(self) -> str:
        return f"<PartColumn of {len(self):,} entries in {len(self.blocks):,} parts, {self.dtype}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        engine = current_engine()
        parts = engine.execute(lambda: self.blocks)
        return np.concatenate(parts).astype(self.dtype if dtype is None else dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(one) if isinstance(one, PartColumn) else one for one in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self))

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of arrays from all entries."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"PartColumn has no attribute {name!r}.")
        return getattr(np.asarray(self), name)
