"""
Rows on Dask: the same model
============================

A fit on eight Dask blocks gives the same model as a fit in memory: the weights agree up to rounding, and
pairs of queries that extend over two blocks are included.

Only scores and coefficients are sent, one number per row; the rows do not move. Here the blocks belong to
threads of this process. With a ``dask.distributed`` client the same code runs on a cluster
(``pip install '.[dask]'``).
"""

try:
    import dask.array as da
except ImportError:
    raise SystemExit("This example needs Dask: pip install 'rankwise[dask]'.") from None
import numpy as np

from rankwise import RankSVM
from rankwise.datasets import make_ranking

X, y, qid = make_ranking(20_000, 30, n_queries=200, n_levels=5, noise=0.7, random_state=0)
rows = da.from_array(X, chunks=(2500, 30))
border = np.arange(2500, 20_000, 2500)
print(f"{len(rows.chunks[0])} blocks; {np.sum(qid[border] == qid[border - 1])} of 7 borders cut a query")

# %%
# Fit both. For comparison, fit a model to each block separately and average the weights.

whole = RankSVM(loss="squared_hinge", tol=1e-9).fit(X, y, qid=qid)
blocks = RankSVM(loss="squared_hinge", tol=1e-9).fit(rows, y, qid=qid)
print(f"pairs: {whole.n_pairs_:,} and {blocks.n_pairs_:,}")
print(f"largest difference of a weight: {np.abs(whole.coef_ - blocks.coef_).max():.1e}")
averaged = np.mean(
    [
        RankSVM(loss="squared_hinge", tol=1e-9).fit(X[part], y[part], qid=qid[part]).coef_
        for part in np.array_split(np.arange(len(y)), 8)
    ],
    axis=0,
)

# %%
# Both have the same iterates and the same weights. Averaging the models of single blocks loses the pairs
# across blocks and gives different weights.

fits = {
    "in memory": [f"{whole.n_pairs_:,}", len(whole.history_["gap"]), f"{whole.gap_:.0e}", ""],
    "eight blocks on Dask": [f"{blocks.n_pairs_:,}", len(blocks.history_["gap"]), f"{blocks.gap_:.0e}",
                             f"{np.abs(blocks.coef_ - whole.coef_).max():.0e}"],
    "eight models, averaged": ["fewer", "", "", f"{np.abs(averaged - whole.coef_).max():.0e}"],
}  # fmt: skip
print(f"{'fit':<24}{'pairs':>12}{'iterations':>12}{'gap':>8}{'difference':>12}")
for name, (pairs, iterations, gap, difference) in fits.items():
    print(f"{name:<24}{pairs:>12}{iterations:>12}{gap:>8}{difference:>12}")
