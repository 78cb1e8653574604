"""Draw docs/images/how_sure.svg, the picture of how_sure.md: python docs/how_sure_figure.py."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from rankwise import ConformalRanks, RankLogistic, RankSVM
from rankwise.datasets import load_diabetes_ranking
from rankwise.plotting import ConvergenceDisplay, WeightsDisplay

NAMES = ["age", "sex", "body mass", "blood pressure", "s1", "s2", "s3", "s4", "s5", "s6"]
BLUE, ORANGE, GREY = "#0b62a3", "#b84a00", "0.6"
N_NEW = 14


def optimisation(ax, X, y):
    """The gap between the objective and a lower bound on its minimum."""
    model = RankSVM(alpha=1e-3, tol=1e-6).fit(X, y)
    ConvergenceDisplay.from_estimator(model, x="iterations", ax=ax)
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    ax.set(title="optimization: is this the minimum?", ylabel="certified gap")


def data(ax, X, y):
    """The effects of the features with intervals."""
    model = RankLogistic(alpha=1e-4).fit(X, y)
    found = model.inference(X, y)
    WeightsDisplay.from_estimator(model, X, inference=found, feature_names=NAMES, ax=ax, n_features=10)
    ax.set(title="data: how exact are the weights?")
    return model


def new_rows(ax, model, calibration, new):
    """The ranges of the places of new rows, and their places."""
    ranks = ConformalRanks(model, level=0.9).calibrate(*calibration)
    low, high = ranks.rank_sets(new[0])
    place = (calibration[1] > new[1][:, None]).sum(axis=1)
    order = np.argsort(low + high, kind="stable")
    ax.hlines(np.arange(len(order)), low[order], high[order], color=BLUE, linewidth=4, alpha=0.45)
    ax.plot(place[order], np.arange(len(order)), "o", color=ORANGE, markersize=5, label="true place")
    ax.set(title="new rows: where will they stand?", ylim=(len(order) - 0.4, -0.6), yticks=[])
    ax.set(xlabel=f"place among {len(calibration[1])} patients, 90% ranges", ylabel="new patients")
    ax.legend(frameon=False, loc="lower left", fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)


def main():
    """Draw the three panels."""
    matplotlib.use("svg")
    # The same file on each run.
    plt.rcParams.update({"svg.hashsalt": "rankwise", "svg.fonttype": "none", "font.size": 9})
    X, y = load_diabetes_ranking(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    optimisation(axes[0], X[:250], y[:250])
    model = data(axes[1], X[:250], y[:250])
    new_rows(axes[2], model, (X[250:428], y[250:428]), (X[428:], y[428:]))
    for ax in axes:
        ax.set_title(ax.get_title(), fontsize=10, fontweight="bold")
    path = Path(__file__).with_name("images") / "how_sure.svg"
    figure.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


if __name__ == "__main__":
    main()
