"""Learning curves of ordinal regression: `benchmarks/ordinal.py` does the work."""

import numpy as np
import ordinal

from reproduce.shared import p_values
from reproduce.text import interval, joined, p_value, table

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
    tables, p = {}, {}
    for done, deviation in enumerate(settings["deviations"]):
        progress(done / len(settings["deviations"]), f"noise {deviation:.3f}")
        risks = ordinal.risks(deviation, settings["sizes"], settings["draws"])
        tables[f"{deviation:.3f}"] = ordinal.summary(risks)
        p[f"{deviation:.3f}"] = {
            str(size): p_values({name: by_size[size] for name, by_size in risks.items()}, "midpoint")
            for size in settings["sizes"]
        }
    return {
        "risk": tables,
        "p": p,
        "disjoint_from_classes": {key: ordinal.disjoint_from(found) for key, found in tables.items()},
    }


def section(record):
    result, paper, settings = record["result"], record["paper"], record["settings"]
    lines = [
        f"Points of the unit square with five ranks, kernel (x'z + 1)^2, C = {settings['C']:,.0f}; the",
        "share of pairs of different rank not in order, mean of",
        f"{settings['draws']} draws with its 95% interval. The paper's N(0, {paper['noise']}) is read as a",
        "variance and as a standard deviation. The paper shows a figure, without numbers: its curve is far",
        "below that of the multi-class machine of Weston and Watkins, and very close to that of regression.",
        "Equation (12) takes the closest pair on either side of a boundary; of pairs that are nearly as",
        "close, within the accuracy of the solver, the mean is taken here. P-values are those of Wilcoxon's",
        "signed-rank test over draws, against equation (12).",
    ]
    for deviation, found in result["risk"].items():
        lines += ["", f"Noise of standard deviation {deviation}:", "", *learners_table(result, deviation), ""]
        below = result["disjoint_from_classes"][deviation]
        lines += [
            "The interval of the ordinal machine lies wholly below those of the classifiers at "
            f"{joined(below)} points."
            if below
            else "The intervals of the ordinal machine and the classifiers overlap at every size.",
            *about_regression(found),
        ]
    return lines


def learners_table(result, deviation):
    """Lay out the risks of all learners, and p-values of the paper's two comparisons."""
    found, p = result["risk"][deviation], result["p"][deviation]
    rows = [(ordinal.NAMES[name], *map(interval, cells.values())) for name, cells in found.items()]
    rows += [
        (f"p, {ordinal.NAMES[name]}", *(p_value(of_size[name]) for of_size in p.values()))
        for name in ("weston_watkins", "svr")
        if name in found
    ]
    return table(["training points", *p], rows)


def about_regression(found):
    """Say at which sizes regression and ordinal regression are as close as the paper finds them."""
    if "svr" not in found:
        return []
    above, below = disjoint(found, "svr", "midpoint"), disjoint(found, "midpoint", "svr")
    if not above and not below:
        return ["Regression is very close to it, as in the paper: the intervals overlap at every size."]
    where = [
        f"{'above' if sizes is above else 'below'} at {joined(sizes)} points"
        for sizes in (above, below)
        if sizes
    ]
    close = len(above) + len(below) <= 1
    return [
        f"Regression is {'close' if close else 'not very close'} to it"
        + (", as in the paper, but for one size: its" if close else ", as it is in the paper: its"),
        f"interval lies wholly {' and '.join(where)}.",
    ]


def disjoint(found, upper, lower):
    """Return the sizes at which the interval of one learner lies wholly above that of another."""

    def end(name, size, sign):
        return found[name][size]["mean"] + sign * found[name][size]["half_width"]

    return [int(size) for size in found[upper] if end(upper, size, -1) > end(lower, size, 1)]


def draw(record, path):
    tables = {key: found for key, found in record["result"]["risk"].items()}
    ordinal.draw_figure(tables, path)
