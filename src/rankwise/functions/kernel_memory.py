"""The memory that a kernel needs, counted before it is taken."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from rankwise.core.memory import available_memory, human_bytes
from rankwise.functions.kernel_values import BLOCK_BYTES

__all__ = ["check_memory", "fits_memory"]


def fits_memory(X: Any, n_basis: int, precomputed: bool) -> bool:
    """Return whether all kernel values with the basis rows fit into memory; true if its size is unknown."""
    free = available_memory()
    return free is None or _bytes_needed(X, n_basis, precomputed) <= free


def _bytes_needed(X: Any, n_basis: int, precomputed: bool, keeps_values: bool = True) -> int:
    """Count the bytes that ``fit_transform`` allocates at its peak.

    Counted are K_ZZ with a second array of its size (its eigenvectors, or its workspace), a
    third when X is sparse (the sparse product); for a reduced basis also the features and as many arrays of
    one block of rows; and the copy of the basis, with its workspace while the sums are computed.
    """
    arrays = 3 if sp.issparse(X) else 2
    total = arrays * 8 * n_basis**2
    if n_basis < X.shape[0]:
        features = 8 * n_basis * X.shape[0]
        total += features * keeps_values + arrays * min(features, max(BLOCK_BYTES, 8 * n_basis))
    if not precomputed:
        stored = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
        total += 2 * 8 * int(stored * n_basis)
    return total


def check_memory(X: Any, n_basis: int, precomputed: bool, keeps_values: bool) -> None:
    """Refuse a kernel that does not fit into free memory, and name a number of basis rows that would."""
    free = available_memory()
    needed = _bytes_needed(X, n_basis, precomputed, keeps_values)
    if free is None or needed <= free:
        return
    halves = (n_basis >> k for k in range(1, n_basis.bit_length()))
    fitting = next((b for b in halves if _bytes_needed(X, b, precomputed, keeps_values) <= free), None)
    way_out = "even n_components=1 would not fit" if fitting is None else f"n_components={fitting} would fit"
    raise MemoryError(
        f"A kernel on {X.shape[0]} rows with {n_basis} basis rows needs {human_bytes(needed)} of memory, but "
        f"{human_bytes(free)} is free; {way_out}."
    )
