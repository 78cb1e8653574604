"""Draw docs/images/search.png, the first picture of the README: python docs/search_figure.py.

It is the figure of examples/plot_search.py.
"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]


def main():
    """Run the example, and save its figure."""
    runpy.run_path(str(ROOT / "examples" / "plot_search.py"))
    plt.savefig(ROOT / "docs" / "images" / "search.png", dpi=100)


if __name__ == "__main__":
    main()
