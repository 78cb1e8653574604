"""
Rows on Dask: the same model
============================

Cut into eight Dask blocks, the rows give the same model as in memory: the weights agree to the last digits,
and no pair is lost where a block's border cuts a query.

Scores travel up, one number per row, and coefficients travel down; the rows stay where they are. Here the
blocks are held by threads of this process. With a ``dask.distributed`` client the same lines run on a cluster
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
# Both take the same steps to the same weights. Averaging models of single blocks, which is what one does
# without a common loss, loses the pairs across borders, and its weights are others.

rows_of_table = [
    ["in memory", f"{whole.n_pairs_:,}", len(whole.history_["gap"]), f"{whole.gap_:.0e}", ""],
    ["eight blocks on Dask", f"{blocks.n_pairs_:,}", len(blocks.history_["gap"]), f"{blocks.gap_:.0e}",
     f"{np.abs(blocks.coef_ - whole.coef_).max():.0e}"],
    ["eight models, averaged", "fewer: queries are cut", "", "",
     f"{np.abs(averaged - whole.coef_).max():.0e}"],
]  # fmt: skip
header = ["fit", "pairs", "iterations", "certified gap", "largest difference\nof a weight"]
figure, axes = plt.subplots(figsize=(9, 2.2), layout="constrained")
axes.axis("off")
table = axes.table(rows_of_table, colLabels=header, loc="center", cellLoc="left", edges="horizontal")
table.auto_set_font_size(False)
table.set_fontsize(10)
table.scale(1, 2.2)
plt.show()
