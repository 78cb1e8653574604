"""
How far from the optimum? The certificate while it falls
========================================================

With an exact line search, the cutting-plane method reaches a certified gap of 0.001 in about ten iterations;
the published method needs more than two hundred.

``gap_`` is a bound, not an estimate: the optimum is between ``objective_ - gap_`` and ``objective_``. Both
are available in every iteration, so a fit can be monitored and stopped early by a callback.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from rankwise import RankSVM
from rankwise.datasets import make_ranking

X, y = make_ranking(5000, 15, noise=1.0, random_state=0)
X = StandardScaler().fit_transform(X)
models = {
    "line search": RankSVM(alpha=1e-4, solver="bundle"),
    "as published (BMRM)": RankSVM(alpha=1e-4, solver="bmrm", max_iter=2000),
}
for name, model in models.items():
    model.fit(X, y)
    print(f"{name:<20} {model.n_iter_:>4} iterations, objective {model.objective_:.5f}, gap {model.gap_:.1e}")

# %%
# The optimum is between the two lines of each color.

# sphinx_gallery_thumbnail_panel = 1
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, model), colour in zip(models.items(), ("#c8452f", "#40688c"), strict=True):
    history = model.history_
    iteration = np.arange(1, model.n_iter_ + 1)
    left.fill_between(
        iteration, history["bound"], history["objective"], color=colour, alpha=0.25, linewidth=0
    )
    left.plot(iteration, history["objective"], color=colour)
    left.plot(iteration, history["bound"], color=colour)
    right.loglog(iteration, history["gap"], color=colour, linewidth=2)
    right.annotate(
        f"{name}\n{model.n_iter_} iterations", (iteration[-1], history["gap"][-1]), (0, -8),
        textcoords="offset points", ha="center", va="top", color=colour,
    )  # fmt: skip
left.set_xscale("log")
left.set(
    xlabel="iteration",
    ylabel="objective, and its lower bound",
    ylim=(0, 1.05),
    title="The optimum is in between",
)
right.set(xlabel="iteration", ylabel="gap", title="How far at most", ylim=(3e-5, None), xlim=(None, 1000))
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
