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
import matplotlib.pyplot as plt
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
# across blocks and gives different weights: the figure shows how far each weight is from that of the fit in
# memory.

distances = {"eight blocks on Dask": blocks.coef_, "eight models, averaged": averaged}
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for place, (name, weights) in enumerate(distances.items()):
    apart = np.maximum(np.abs(weights - whole.coef_), 1e-18)
    axes.scatter(np.arange(len(apart)), apart, s=22, color=["#c8452f", "#9aa0a6"][place], label=name)
axes.set(yscale="log", ylim=(1e-19, 1), xlabel="weight", ylabel="distance from the fit in memory")
axes.legend(frameon=False, loc="center right")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
