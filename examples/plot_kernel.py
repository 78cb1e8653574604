"""
A kernel where no straight line will do
=======================================

On a nonlinear order, a linear RankSVM is at chance level and an RBF kernel puts 98% of pairs in the right
order. Thirty basis rows out of a thousand are as good as all of them, in a fraction of the time.

A kernel is exact with all training rows as its basis, in O(m^3) time and O(m^2) memory. ``n_components``
selects a smaller basis.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankSVM
from rankwise.datasets import make_ordinal

# %%
# Grades of points in a square: high in two opposite corners, low in the other two.

X, y = make_ordinal(3000, noise=0.125, random_state=0)
train, test = slice(1000), slice(1000, None)
models = {
    "linear": RankSVM(alpha=1e-3),
    "RBF, all 1,000 rows": RankSVM(alpha=1e-4, kernel="rbf", gamma=4.0),
    "RBF, 30 basis rows": RankSVM(alpha=1e-4, kernel="rbf", gamma=4.0, n_components=30, random_state=0),
}
titles = []
for name, model in models.items():
    start = perf_counter()
    model.fit(X[train], y[train])
    seconds, right = perf_counter() - start, model.score(X[test], y[test])
    print(f"{name:<20} {right:.1%} of pairs right, {seconds:.3f} s")
    titles.append(f"{name}\n{right:.1%} of pairs right, {seconds:.2g} s")

# %%
# Colors are scores, from low (dark) to high; lines join points of equal score. Dots are the held-out rows of
# the best and of the worst grade.

grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 80)] * 2), axis=-1)
# sphinx_gallery_thumbnail_panel = 1
figure, panels = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
for axes, title, model in zip(panels, titles, models.values(), strict=True):
    scores = model.predict(grid.reshape(-1, 2)).reshape(80, 80)
    axes.contourf(*grid.transpose(2, 0, 1), scores, levels=12, cmap="viridis", alpha=0.85)
    axes.contour(*grid.transpose(2, 0, 1), scores, levels=12, colors="white", linewidths=0.4)
    for grade, colour in ((4, "#c8452f"), (0, "white")):
        rows = X[test][y[test] == grade][:150]
        axes.scatter(*rows.T, s=12, color=colour, edgecolors="black", linewidths=0.3)
    axes.set(title=title, aspect="equal", xticks=[], yticks=[])
    axes.title.set_fontsize(11)
plt.show()
