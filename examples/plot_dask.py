"""
Rows on Dask: the same model
============================

Cut into eight Dask blocks, the rows give the same model as in memory: the weights agree to the last digits,
and no pair is lost where a block's border cuts a query.

Scores travel up, one number per row, and coefficients travel down; the rows stay where they are. Here the
blocks are held by threads of this process. With a ``dask.distributed`` client the same lines run on a cluster
(`pip install 'rankwise[dask]'`).
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
# Fit both; and, to compare, a model to each block by itself, whose weights are then averaged.

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
# Each dot is a feature: how far its weight is from that of the fit in memory.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for model, name, style in ((whole, "in memory", "o-"), (blocks, "eight blocks on Dask", "x--")):
    gap = model.history_["gap"]
    left.semilogy(np.arange(1, len(gap) + 1), gap, style, label=name, markersize=9 if style == "o-" else 7)
left.set(xlabel="iteration", ylabel="certified distance to the optimum", title="The same steps")
left.legend(frameon=False)
for coef, name, colour in (
    (averaged, "models of the blocks, averaged", "#9aa0a6"),
    (blocks.coef_, "one model on Dask", "#c8452f"),
):
    right.semilogy(np.maximum(np.abs(coef - whole.coef_), 1e-17), "o", color=colour, label=name)
right.set(xlabel="feature", ylabel="difference of the weight", title="The same weights", ylim=(1e-17, 10))
right.legend(frameon=False)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
