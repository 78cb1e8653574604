"""
Order graphs of classes
=======================

Not all pairs of classes need an order: a model can be fitted to the edges of an order graph and evaluated by
the fraction of pairs in the right order per edge.

Guests call a hotel "superb", "for families", "for business" or "dull". Superb is above both of the middle
ones and these are above dull, but "for families" and "for business" have no order: an order graph with two
branches. `HullRanker` learns a score that respects its edges. The figure shows the graph with the fraction of
pairs of new rows in the right order, and beside it a chain and a full graph of five grades.

The script shows the figure, or saves it if a path is given:

    python examples/plot_hull.py [hull_order_graph.png]
"""

import sys

import numpy as np

from rankwise import HullRanker
from rankwise.datasets import make_ranking
from rankwise.plotting import OrderGraphDisplay

GRADES = ["bad", "poor", "fair", "good", "best"]
BRANCHES = [
    ("superb", "for families"),
    ("superb", "for business"),
    ("for families", "dull"),
    ("for business", "dull"),
]


def hotels(n, seed=0):
    """Draw quality and style of hotels, and what guests call them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    quality = X @ [1.0, 1.0, 0.5, 0.0] + rng.normal(scale=0.7, size=n)
    middle = np.where(X[:, 3] > 0, "for families", "for business")
    return X, np.where(quality > 1, "superb", np.where(quality < -1, "dull", middle))


def grades(n):
    """Draw rows of five grades that overlap."""
    X, rank = make_ranking(n, 5, n_levels=5, noise=1.5, random_state=1)
    return X, np.array(GRADES)[rank.astype(int)]


def on_one_scale(axes):
    """Give all panels the same height in the units of the graphs, and a width that fits what they draw."""
    height = max(np.ptp(ax.get_ylim()) for ax in axes)
    for ax in axes:
        middle = np.mean(ax.get_ylim())
        ax.set_ylim(middle - height / 2, middle + height / 2)
    axes[0].get_gridspec().set_width_ratios([np.ptp(ax.get_xlim()) for ax in axes])


def main(path=None):
    """Fit to half of the rows and draw the graphs with the other half."""
    import matplotlib

    if path is not None:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    chain = list(zip(GRADES[1:], GRADES[:-1], strict=True))
    full = [(high, low) for k, high in enumerate(GRADES) for low in GRADES[:k]]
    panels = {
        "two branches": (hotels(2000), BRANCHES),
        "chain": (grades(2000), chain),
        "full graph": (grades(2000), full),
    }
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 5.2), layout="constrained")
    for ax, (title, ((X, y), edges)) in zip(axes, panels.items(), strict=True):
        model = HullRanker(1e-3, order=edges, slack_per="edge").fit(X[:1000], y[:1000])
        OrderGraphDisplay.from_estimator(model, X[1000:], y[1000:], ax=ax)
        ax.set_title(f"{title}: {model.score(X[1000:], y[1000:]):.3f}")
    on_one_scale(axes)
    if path is None:
        pyplot.show()
    else:
        figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
