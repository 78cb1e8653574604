"""Draw docs/images/clinical.svg, the picture of clinical.md: python docs/clinical_figure.py."""

import runpy
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

DOCS = Path(__file__).parent


def main():
    """Run the example of the gallery, and save its figure."""
    matplotlib.use("svg")
    # The same file on each run.
    plt.rcParams.update({"svg.hashsalt": "rankwise", "svg.fonttype": "none", "font.size": 9})
    plt.show = lambda: None
    runpy.run_path(str(DOCS.parent / "examples" / "plot_trial.py"))
    path = DOCS / "images" / "clinical.svg"
    plt.gcf().savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


if __name__ == "__main__":
    main()
