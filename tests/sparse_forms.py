"""The same sparse rows, stored in other ways."""

import numpy as np
import scipy.sparse as sp


def in_halves(X):
    """Return rows as CSR that stores each entry as two exact halves, those of a row backwards."""
    rows = sp.csr_array(X)
    order = np.concatenate(
        [np.arange(begin, end)[::-1] for begin, end in zip(rows.indptr, rows.indptr[1:], strict=False)]
    )
    entries = (np.repeat(rows.data[order] / 2, 2), np.repeat(rows.indices[order], 2), 2 * rows.indptr)
    return sp.csr_array(entries, shape=rows.shape)
