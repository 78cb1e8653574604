"""Draw docs/images/counting_smooth.svg: the loss as an even part and a line, and what rows do through bins.

python docs/counting_smooth_figure.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

TARGET = Path(__file__).parent / "images" / "counting_smooth.svg"
INK, BLUE, ORANGE = "#444444", "#1f77b4", "#d1701c"


def draw_split(axes):
    """The loss, and its two parts."""
    d = np.linspace(-6, 6, 400)
    axes.plot(d, np.logaddexp(0, -d), color=INK, lw=2.5, label=r"$\log(1 + e^{-d})$")
    axes.plot(d, np.logaddexp(d / 2, -d / 2), color=BLUE, lw=1.5, label=r"even part: $\log(2 \cosh(d/2))$")
    axes.plot(d, -d / 2, color=ORANGE, lw=1.5, label=r"line: $-d/2$")
    axes.set(xlabel=r"$d = s_{better} - s_{worse}$", title="One loss, two parts")
    axes.legend(frameon=False, fontsize=8)


def draw_bins(axes):
    """Rows on the line of scores, and the sum of their even parts with its polynomial in each bin."""
    scores = np.sort(np.random.default_rng(3).normal(size=40) * 1.6)
    x = np.linspace(-4.5, 4.5, 600)
    total = np.logaddexp((x[:, None] - scores) / 2, (scores - x[:, None]) / 2).sum(axis=1)
    for number, left in enumerate(np.arange(-4.5, 4.5, 1.5)):
        inside = (x >= left) & (x <= left + 1.5)
        axes.plot(x[inside], total[inside], color=(BLUE, ORANGE)[number % 2], lw=2.5)
        axes.axvline(left, color="#cccccc", lw=0.8, zorder=0)
    axes.plot(scores, np.full(40, total.min() - 5), "|", color=INK, ms=10)
    axes.set(xlabel="score", yticks=[], title="The pull of all rows on one row: one polynomial per bin")


def main():
    """Write the picture."""
    plt.rcParams["svg.hashsalt"] = "counting_smooth"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    draw_split(axes[0])
    draw_bins(axes[1])
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
