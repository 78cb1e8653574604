"""OrdinalSVM: the first experiment of Herbrich, Graepel and Obermayer (1999), and cost against rows.

    python benchmarks/ordinal.py                          # everything: some minutes
    python benchmarks/ordinal.py --quick                  # ten draws, up to 64,000 rows: some seconds
    python benchmarks/ordinal.py --only risk --output benchmarks/results

Section 4.1: 1,000 points of the unit square, utility 10 (x1 - 0.5)(x2 - 0.5) plus noise, cut at -1, -0.1,
0.25 and 1. Each learner has the kernel (x'z + 1)^2 and C = 1,000,000, and is trained on 5 to 45 points with
every rank among them; its risk is the fraction of pairs of different rank among the other points whose
predicted ranks are not in the right order, so that predicted ties are errors.

The paper writes N(0, 0.125) for the noise. The second argument of N is read as the variance, which is the
usual notation, and also as the standard deviation: both are reported.

The paper's classifier is the multi-class machine of Weston and Watkins (1998), solved as a quadratic program
if Clarabel is installed; one against one, as in scikit-learn, is beside it. At this C scikit-learn's SVR
(libsvm) may need tens of millions of iterations. It is stopped at 300,000, short of its optimum; with
Clarabel, the regression is also solved exactly, and the sums of the slacks of the two are printed.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from timing import best_times

from rankwise import OrdinalSVM
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.functions.kernel_map import KernelMap
from rankwise.metrics import ranking_error

C, EPSILON = 1e6, 0.5
LIBSVM_ITERATIONS = 300_000
KERNEL = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
SIZES = tuple(range(5, 50, 5))
PAPER_NOISE = 0.125
NAMES = {
    "weston_watkins": "Weston and Watkins, solved exactly",
    "svc": "SVC, one against one",
    "libsvm_svr": f"SVR, scikit-learn, {LIBSVM_ITERATIONS:,} iterations",
    "svr": "SVR, solved exactly",
    "min_error": "OrdinalSVM, boundaries of least error",
    "midpoint": "OrdinalSVM, equation (12)",
}


# The learners: each gives a function from points to ranks.


def ordinal(thresholds):
    def fit(X, y):
        n_rows, in_rank = len(y), np.bincount(y)
        n_pairs = (n_rows**2 - in_rank @ in_rank) / 2
        model = OrdinalSVM(1 / (2 * C * n_pairs), thresholds=thresholds, tol=1e-10, **KERNEL)
        with warnings.catch_warnings():  # that equation (12) does worse is what is measured
            warnings.filterwarnings("ignore", "The boundaries of thresholds='midpoint'")
            # With so small a penalty the rounding of the kernel certifies some five digits, not ten.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, y).predict

    return fit


def multi_class(X, y):
    return SVC(C=C, **KERNEL).fit(X, y).predict


def weston_watkins(X, y):
    """Give each point the class of the largest of as many linear functions as there are classes."""
    kernel_map = KernelMap(**KERNEL)
    coef, bias = solve_weston_watkins(kernel_map.fit_transform(X), y)
    return lambda new: np.argmax(kernel_map.transform(new) @ coef.T + bias, axis=1)


def exact_regression(X, y):
    kernel_map = KernelMap(**KERNEL)
    coef, bias = solve_svr(kernel_map.fit_transform(X), y)
    return lambda new: kernel_map.transform(new) @ coef + bias


def libsvm_regression(X, y):
    model = SVR(C=C, epsilon=EPSILON, max_iter=LIBSVM_ITERATIONS, **KERNEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y).predict


def nearest_rank(regression):
    """Cut a regression of the ranks 0, ..., 4 at 0.5, 1.5, ..."""

    def fit(X, y):
        predict = regression(X, y)
        return lambda new: np.searchsorted([0.5, 1.5, 2.5, 3.5], predict(new))

    return fit


def solve_svr(Phi, y):
    """Minimize ||w||^2 / (2 C) + sum of the slacks over (w, b, slack), |y - Phi w - b| <= epsilon + slack."""
    from scipy import sparse

    m, r = Phi.shape
    P = sparse.diags(np.concatenate([np.full(r, 1 / C), np.zeros(1 + m)]), format="csc")
    q = np.concatenate([np.zeros(r + 1), np.ones(m)])
    line, eye = np.hstack([Phi, np.ones((m, 1))]), sparse.identity(m)
    A = sparse.bmat([[line, -eye], [-line, -eye], [np.zeros_like(line), -eye]], format="csc")
    x = solve_program(P, q, A, np.concatenate([EPSILON + y, EPSILON - y, np.zeros(m)]))
    return x[:r], x[r]


def solve_weston_watkins(Phi, y):
    """Minimize the sum of ||w_k||^2 / (2 C) and of all slacks: f_c - f_k >= 2 - slack for rows of class c.

    Each row has a slack for each other class k, and f_k is w_k'x + b_k.
    """
    from scipy import sparse

    (m, r), n_classes = Phi.shape, y.max() + 1
    rows, wrong = np.nonzero(np.arange(n_classes) != y[:, None])
    n, slacks = len(rows), np.arange(len(rows))
    line = np.hstack([Phi, np.ones((m, 1))])[rows]  # a function is r weights and a constant
    functions = np.zeros((n, n_classes, r + 1))
    functions[slacks, wrong] = line
    functions[slacks, y[rows]] = -line
    free = np.tile(np.append(np.full(r, 1 / C), 0.0), n_classes)
    P = sparse.diags(np.concatenate([free, np.zeros(n)]), format="csc")
    q = np.concatenate([np.zeros(len(free)), np.ones(n)])
    functions, eye = sparse.csc_matrix(functions.reshape(n, -1)), sparse.identity(n)
    A = sparse.bmat([[functions, -eye], [None, -eye]], format="csc")
    x = solve_program(P, q, A, np.concatenate([np.full(n, -2.0), np.zeros(n)]))
    found = x[: len(free)].reshape(n_classes, r + 1)
    return found[:, :r], found[:, r]


def solve_program(P, q, A, right):
    """Minimize x'P x / 2 + q'x where A x <= right."""
    import clarabel

    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
    cone = [clarabel.NonnegativeConeT(len(right))]
    return np.array(clarabel.DefaultSolver(P, q, A, right, cone, options).solve().x)


def has_clarabel():
    try:
        import clarabel  # noqa: F401
    except ImportError:
        return False
    return True


# Section 4.1


def draw_sample(generator, y, size):
    """Draw row numbers until every rank is among them."""
    while True:
        rows = generator.choice(len(y), size, replace=False)
        if len(np.unique(y[rows])) == len(np.unique(y)):
            return rows


def risks(deviation, sizes, n_draws, seed=0):
    """Return the risk of each learner at each size and draw."""
    X, y = make_ordinal(1000, noise=deviation, random_state=seed)
    learners = {"svc": multi_class, "libsvm_svr": nearest_rank(libsvm_regression)}
    if has_clarabel():
        learners = {"weston_watkins": weston_watkins} | learners | {"svr": nearest_rank(exact_regression)}
    learners |= {name: ordinal(name) for name in ("min_error", "midpoint")}
    found = {name: {size: [] for size in sizes} for name in learners}
    generator = np.random.default_rng(seed)
    for size in sizes:
        for _ in range(n_draws):
            train = draw_sample(generator, y, size)
            test = np.setdiff1d(np.arange(len(y)), train)
            for name, learner in learners.items():
                predicted = learner(X[train], y[train])(X[test])
                found[name][size].append(ranking_error(y[test], predicted, ties="error"))
    return found


def summary(found):
    """Return mean and half the width of the 95% interval of the mean for each learner and size."""

    def interval(values):
        n = len(values)
        half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n)
        return {"mean": float(np.mean(values)), "half_width": float(half), "draws": n}

    return {
        name: {str(size): interval(values) for size, values in by_size.items()}
        for name, by_size in found.items()
    }


def disjoint_from(table, ours="midpoint", rivals=("weston_watkins", "svc")):
    """Return the sizes at which our interval lies wholly below those of all rivals."""

    def lowest(size):
        cells = [table[rival][size] for rival in rivals if rival in table]
        return min(cell["mean"] - cell["half_width"] for cell in cells)

    return [
        int(size) for size, cell in table[ours].items() if cell["mean"] + cell["half_width"] < lowest(size)
    ]


def print_risks(table, deviation):
    print(f"\nrisk over pairs of different rank, noise of standard deviation {deviation:.3f}")
    sizes = next(iter(table.values()))
    print(f"{'points':<42}" + "".join(f"{size:>14}" for size in sizes))
    for name, cells in table.items():
        columns = (f"{cell['mean']:.3f} ± {cell['half_width']:.3f}" for cell in cells.values())
        print(f"{NAMES[name]:<42}" + "".join(f"{column:>14}" for column in columns))
    print(f"interval of equation (12) below those of the classifiers at sizes {disjoint_from(table)}")


def compare_slack(n_draws, size=25):
    """Print the mean sum of the slacks of the two regressions, which is nearly all of their objective."""
    X, y = make_ordinal(1000, noise=np.sqrt(PAPER_NOISE), random_state=0)
    generator = np.random.default_rng(1)
    slack = []
    for _ in range(n_draws):
        rows = draw_sample(generator, y, size)
        fitted = (learner(X[rows], y[rows])(X[rows]) for learner in (libsvm_regression, exact_regression))
        slack.append([np.maximum(np.abs(values - y[rows]) - EPSILON, 0).sum() for values in fitted])
    means = np.mean(slack, axis=0).tolist()
    print(f"\nmean sum of slacks of SVR, {size} points: scikit-learn {means[0]:.3f}, exact {means[1]:.3f}")
    return dict(zip(("libsvm_svr", "svr"), means, strict=True))


# Cost against the number of rows


def cost(largest):
    """Time fits of five ranks and ten features, and the sort of as many numbers."""
    rows = []
    for n in (1000 * 2**k for k in range(11)):
        if min(n, 1_000_000) > largest:
            break
        n = min(n, 1_000_000)
        X, y = make_ranking(n, 10, n_levels=5, noise=0.5, random_state=0)
        values = np.random.default_rng(0).random(n)
        model = OrdinalSVM(1e-3, thresholds="midpoint")
        least = OrdinalSVM(1e-3, thresholds="min_error")
        tasks = {
            "fit": lambda model=model, X=X, y=y: model.fit(X, y),
            "fit_min_error": lambda least=least, X=X, y=y: least.fit(X, y),
            "argsort": lambda values=values: np.argsort(values),
        }
        best = best_times(tasks, 3 if n > 100_000 else 5)
        rows.append({"rows": n, "pairs": int(model.n_pairs_), "iterations": int(model.n_iter_), **best})
    return rows


def print_cost(rows):
    print(
        f"\n{'rows':<12}{'pairs':>18}{'iterations':>12}{'fit, s':>12}{'min_error, s':>14}{'argsort, s':>12}"
        f"{'ratio':>8}"
    )
    for row in rows:
        print(
            f"{row['rows']:<12,}{row['pairs']:>18,}{row['iterations']:>12}{row['fit']:>12.3g}"
            f"{row['fit_min_error']:>14.3g}{row['argsort']:>12.2g}{row['fit'] / row['argsort']:>8.0f}"
        )
    large = [row for row in rows if row["rows"] >= 8000]
    slope = float(np.polyfit(*(np.log([row[name] for row in large]) for name in ("rows", "fit")), 1)[0])
    print(f"slope of the fit from 8,000 rows on, log against log: {slope:.2f}")
    return slope


# The figure


def draw_figure(tables, path):
    """Draw figure 2 of the paper, one panel for each reading of the noise."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    styles = {
        "weston_watkins": ("#555555", "--", "P"),
        "svc": ("#a8a8a8", "--", "s"),
        "libsvm_svr": ("#9ec3e6", "-.", "v"),
        "svr": ("#4477aa", "-.", "^"),
        "min_error": ("#d9a441", ":", "D"),
        "midpoint": ("#c8452f", "-", "o"),
    }
    figure, panels = pyplot.subplots(
        1, len(tables), figsize=(5 * len(tables), 3.9), sharey=True, squeeze=False, layout="constrained"
    )
    for axes, (deviation, table) in zip(panels[0], tables.items(), strict=True):
        for place, (name, cells) in enumerate(table.items()):
            colour, line, marker = styles[name]
            sizes = np.array([int(size) for size in cells]) + 0.3 * (place - 2)  # bars side by side
            mean, half = (np.array([cell[key] for cell in cells.values()]) for key in ("mean", "half_width"))
            axes.errorbar(
                sizes, mean, half, color=colour, linestyle=line, marker=marker, markersize=4, capsize=2.5,
                linewidth=2.2 if name == "midpoint" else 1.3, label=NAMES[name],
            )  # fmt: skip
        axes.set(
            xlabel="training points",
            xticks=[int(size) for size in cells],
            title=f"noise of standard deviation {float(deviation):.3f}",
        )
        axes.grid(axis="y", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("pairs of different rank not in order")
    panels[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--noise-deviation", type=float, nargs="*", help="instead of both readings of 0.125")
    parser.add_argument("--only", choices=("risk", "cost"), help="one part of the benchmark")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    result = {}
    if options.only != "cost":
        deviations = options.noise_deviation or [float(np.sqrt(PAPER_NOISE)), PAPER_NOISE]
        sizes, n_draws = ((5, 15, 25), 10) if options.quick else (SIZES, options.draws)
        tables = {}
        for deviation in deviations:
            tables[str(deviation)] = table = summary(risks(deviation, sizes, n_draws))
            print_risks(table, deviation)
        result["risk"] = tables
        result["disjoint_from_classifiers"] = {key: disjoint_from(table) for key, table in tables.items()}
        if has_clarabel():
            result["slack_of_svr"] = compare_slack(3 if options.quick else 20)
        draw_figure(tables, options.output / "ordinal_risk.png")
    if options.only != "risk":
        result["cost"] = cost(64_000 if options.quick else 1_000_000)
        result["cost_slope"] = print_cost(result["cost"])
    (options.output / "ordinal.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
