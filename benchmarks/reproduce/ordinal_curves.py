"""Learning curves of ordinal regression: `benchmarks/ordinal.py` does the work."""

import numpy as np
import ordinal

from reproduce.text import interval, joined, table

TITLE = "Learning curves of ordinal regression"
SOURCE = "Herbrich et al. (1999), section 4.1 and figure 2"
PAPER = {
    "ordinal_against_classes": "much better at small samples",
    "ordinal_against_regression": "very close",
    "noise": ordinal.PAPER_NOISE,
    "draws": 100,
}


def settings(quick):
    return {
        "sizes": [5, 25] if quick else list(ordinal.SIZES),
        "draws": 4 if quick else PAPER["draws"],
        "deviations": [float(np.sqrt(ordinal.PAPER_NOISE))] + ([] if quick else [ordinal.PAPER_NOISE]),
        "C": ordinal.C,
        "kernel": ordinal.KERNEL,
        "epsilon": ordinal.EPSILON,
        "libsvm_iterations": ordinal.LIBSVM_ITERATIONS,
        "seed": 0,
        "ties": "error",
    }


def run(settings, data, progress):
    tables = {}
    for done, deviation in enumerate(settings["deviations"]):
        progress(done / len(settings["deviations"]), f"noise {deviation:.3f}")
        tables[f"{deviation:.3f}"] = ordinal.summary(
            ordinal.risks(deviation, settings["sizes"], settings["draws"])
        )
    return {
        "risk": tables,
        "disjoint_from_classes": {key: ordinal.disjoint_from(found) for key, found in tables.items()},
    }


def section(record):
    result, paper, settings = record["result"], record["paper"], record["settings"]
    lines = [
        f"Points of the unit square with five ranks, kernel (x'z + 1)^2, C = {settings['C']:,.0f}; the",
        "share of pairs of different",
        f"rank not in order, mean of {settings['draws']} draws with its 95% interval. The paper's N(0,",
        f"{paper['noise']}) is read as a variance and as",
        "a standard deviation. The paper shows a figure, without numbers: its curve is far below that",
        "of the multi-class",
        "machine, and close to that of regression. The paper's multi-class machine is that of Weston and",
        "Watkins, which scikit-learn does not have: here it is one against one.",
        "Equation (12)",
        "takes the closest pair on either side of a boundary; of pairs that are nearly as close, within the",
        "accuracy of the solver, the mean is taken here.",
    ]
    for deviation, found in result["risk"].items():
        sizes = [str(size) for size in settings["sizes"]]
        rows = [
            (ordinal.NAMES[name], *(interval(cells[size]) for size in sizes)) for name, cells in found.items()
        ]
        below = result["disjoint_from_classes"][deviation]
        lines += [
            "",
            f"Noise of standard deviation {deviation}:",
            "",
            *table(["training points", *sizes], rows),
            "",
        ]
        lines += [
            "The interval of the ordinal machine lies wholly below that of the classifiers at "
            f"{joined(below)} points."
            if below
            else "The intervals of the ordinal machine and the classifiers overlap at every size."
        ]
    return lines


def draw(record, path):
    tables = {key: found for key, found in record["result"]["risk"].items()}
    ordinal.draw_figure(tables, path)
