"""Large arrays in memory, or in files that the system reads and writes page by page."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from importlib import import_module

import numpy as np

from rankwise import _native

# Smaller arrays are kept in memory.
FEWEST_BYTES = 1 << 25


def arrays_on_disk(folder: str | os.PathLike[str]) -> AbstractContextManager[None]:
    """Return a context in which every array of 32 MB and more is kept in a file without a name.

    A fit holds a few numbers per row besides X: labels, orders, scores, coefficients. They are read and
    written sequentially, so they need not stay in memory: the system keeps as much of the files in memory as
    fits. With X in a memory map, a fit of the hinge then needs some 50 bytes of memory per row of the
    largest query.

    The context applies to arrays of numpy and of rankwise that this thread makes inside it; they may be used
    and freed outside. A full disk raises a MemoryError. On Windows the context has no effect.

    Parameters
    ----------
    folder : path
        A folder on a disk, with room for some 100 bytes a row. On many systems the folder for temporary files
        is in memory, and would not do.

    Examples
    --------
    >>> import numpy as np, rankwise, tempfile
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> with tempfile.TemporaryDirectory() as folder, rankwise.arrays_on_disk(folder):
    ...     model = rankwise.RankSVM().fit(X, X[:, 0])
    >>> bool(model.coef_[0] > 1)
    True
    """
    path = os.fspath(folder)
    if not os.path.isdir(path):
        raise NotADirectoryError(f"folder must be an existing folder; got {path!r}.")
    return _native.FileArrays(path, FEWEST_BYTES, _numpy_c_api())


def _numpy_c_api() -> object:
    """Return the capsule of numpy's C API, which has the allocator of arrays.

    It has no public name in Python: this is the path by which `import_array()` in numpy's headers finds it.
    """
    package = "numpy.core" if np.__version__.startswith("1.") else "numpy._core"
    return import_module(f"{package}._multiarray_umath")._ARRAY_API
