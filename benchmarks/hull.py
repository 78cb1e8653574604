"""HullRanker: the experiment of Fung, Rosales and Krishnapuram (2005), and cost against rows.

    RANKWISE_DATA=... python benchmarks/hull.py           # everything: about fifteen minutes
    python benchmarks/hull.py --quick                     # one small set, up to 64,000 rows: some seconds
    python benchmarks/hull.py --only figure --output benchmarks/results

Section 3: nine regression sets (fung2006 in the folder that RANKWISE_DATA names; without it, diabetes and a
generated set), targets in five bins of equal size, as far as ties allow, ten-fold cross-validation.
Features are standardized on the training part. The measure is the fraction of pairs of test rows of different
bins in the right order, ties counting one half; the mean and the range over the folds are shown.

Every method but the Gaussian process chooses alpha from the same seven by a validation fifth of the training
rows and is then fitted to all of them; the time is that of the final fit. The Gaussian process replaces the
paper's IVM: a regression of the bins, with a kernel chosen by marginal likelihood, on at most 500 training
rows drawn at random. The linear ordinal baseline is LogisticAT of `mord` (pip install mord).
"""

import argparse
import json
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import VarianceThreshold
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from timing import best_times

from rankwise import HullRanker, RankRLS, RankSVM
from rankwise.datasets import load_diabetes_ranking, make_ranking
from rankwise.metrics import ranking_error

ALPHAS = tuple(10.0**power for power in range(-5, 2))
TOL = 1e-6
GP_ROWS = 500
BASIS_ROWS = 100
NAMES = {
    "chain": "HullRanker, chain",
    "full": "HullRanker, full graph",
    "chain_edge": "HullRanker, chain, slack per edge",
    "full_edge": "HullRanker, full, slack per edge",
    "rank_svm": "RankSVM",
    "rank_rls": "RankRLS",
    "mord": "LogisticAT (mord)",
    "full_rbf": f"HullRanker, full, edge, RBF, {BASIS_ROWS} rows",
    "gp": f"Gaussian process, {GP_ROWS} rows",
}


# The data


def datasets(quick):
    """Return the name, features and bin of each row of the data sets, the smallest first."""
    folder = Path(os.environ.get("RANKWISE_DATA", "")) / "fung2006"
    if "RANKWISE_DATA" in os.environ and folder.is_dir():
        files = [np.load(path) for path in sorted(folder.glob("*.npz"))]
        names = [path.stem for path in sorted(folder.glob("*.npz"))]
        found = [
            (name, file["X"].astype(np.float64), file["y"]) for name, file in zip(names, files, strict=True)
        ]
    else:
        print("RANKWISE_DATA names no folder with fung2006: diabetes and generated data instead.")
        found = [("diabetes", *load_diabetes_ranking(return_X_y=True))]
        found.append(("generated", *make_ranking(2000, 10, noise=0.5, random_state=0)))
    found = sorted(found, key=lambda entry: entry[1].size)
    return [(name, X, bins(target)) for name, X, target in found[: 1 if quick else None]]


def bins(target):
    """Cut into five bins at the quantiles; rows of the same target share a bin."""
    return np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)


def share_in_order(y, scores):
    return 1.0 - ranking_error(y, scores)


# The methods: each gives, for an alpha, a function that fits and gives a function from rows to scores.


def ranker(kind, **options):
    def with_alpha(alpha):
        def fit(X, y):
            return kind(alpha, **options).fit(X, y).predict

        return fit

    return with_alpha


def hull(order, slack_per="row", **options):
    return ranker(HullRanker, order=order, slack_per=slack_per, tol=TOL, **options)


def logistic(alpha):
    """mord minimizes the sum of the losses + alpha / 2 ||w||^2."""
    from mord import LogisticAT

    def fit(X, y):
        coef = LogisticAT(alpha=2 * alpha * len(y)).fit(X, y).coef_
        return lambda new: new @ coef

    return fit


def gaussian_process(X, y):
    rows = np.random.default_rng(0).permutation(len(y))[:GP_ROWS]
    kernel = ConstantKernel() * RBF(np.sqrt(X.shape[1])) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    return model.fit(X[rows], y[rows].astype(np.float64)).predict


def methods():
    found = {
        "chain": hull("chain"),
        "full": hull("full"),
        "chain_edge": hull("chain", "edge"),
        "full_edge": hull("full", "edge"),
        "rank_svm": ranker(RankSVM, tol=TOL),
        "rank_rls": ranker(RankRLS),
        "mord": logistic,
        "full_rbf": hull("full", "edge", kernel="rbf", n_components=BASIS_ROWS, random_state=0),
        "gp": None,
    }
    try:
        import mord  # noqa: F401
    except ImportError:
        print("mord is not installed (pip install mord): the linear ordinal baseline is left out.")
        del found["mord"]
    return found


def chosen_alpha(with_alpha, X, y, alphas=ALPHAS):
    """Return the alpha whose fit to four fifths orders most pairs of the last fifth, the larger of equals."""
    strata = y if np.bincount(y)[np.unique(y)].min() > 1 else None
    A, B, a, b = train_test_split(X, y, test_size=0.2, random_state=0, stratify=strata)
    shares = [share_in_order(b, with_alpha(alpha)(A, a)(B)) for alpha in alphas]
    return alphas[len(alphas) - 1 - int(np.argmax(shares[::-1]))]


# Figure 3 of the paper


def folds(X, y, n_folds, scaled=True):
    for train, test in KFold(n_folds, shuffle=True, random_state=0).split(X):
        scaler = make_pipeline(VarianceThreshold(1e-12), StandardScaler() if scaled else "passthrough")
        scaler.fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def compare(X, y, n_folds):
    """Return for each method, for each fold, the share of pairs in order, seconds and alpha."""
    found = {}
    for name, with_alpha in methods().items():
        found[name] = []
        for A, a, B, b in folds(X, y, n_folds):
            alpha = None if with_alpha is None else chosen_alpha(with_alpha, A, a)
            fit = gaussian_process if with_alpha is None else with_alpha(alpha)
            start = perf_counter()
            predict = fit(A, a)
            seconds = perf_counter() - start
            found[name].append({"share": share_in_order(b, predict(B)), "seconds": seconds, "alpha": alpha})
    return {name: summary(results) for name, results in found.items()}


def summary(results):
    shares = [result["share"] for result in results]
    return {
        "mean": float(np.mean(shares)),
        "least": float(np.min(shares)),
        "most": float(np.max(shares)),
        "seconds": float(np.mean([result["seconds"] for result in results])),
        "alphas": [result["alpha"] for result in results],
    }


def print_comparison(tables):
    for title, text in {
        "share of pairs in order, mean (least to most of the folds)": shown_share,
        "seconds per fit": lambda cell: f"{cell['seconds']:.3g}",
    }.items():
        print(f"\n{title}\n{'':<38}" + "".join(f"{name:>22}" for name in tables))
        for method in next(iter(tables.values())):
            row = "".join(f"{text(table[method]):>22}" for table in tables.values())
            print(f"{NAMES[method]:<38}" + row)
    for first, second in (("chain", "full"), ("chain_edge", "chain"), ("full_edge", "full")):
        wins = [t[first]["mean"] - t[second]["mean"] for t in tables.values()]
        print(
            f"{NAMES[first]} against {NAMES[second]}: better on {sum(win > 5e-4 for win in wins)}, "
            f"within 0.0005 on {sum(abs(win) <= 5e-4 for win in wins)}, "
            f"worse on {sum(win < -5e-4 for win in wins)} of {len(wins)} sets"
        )


def shown_share(cell):
    return f"{cell['mean']:.4f} ({cell['least']:.3f}-{cell['most']:.3f})"


# Chain or full, at every alpha


def graphs(X, y, n_folds):
    """Return for each slack and alpha the mean share of chain and full, and how often the solutions coincide.

    The full graph has the constraints of the chain and more: where its minimum is no higher, the solution is
    the same. "flat" is how often the scores of all rows are equal.
    """
    rows = []
    for slack in ("squared", "absolute"):
        for alpha in ALPHAS:
            shares, same, flat = [], [], []
            for A, a, B, b in folds(X, y, n_folds):
                chain, full = (
                    HullRanker(alpha, order=order, slack=slack, slack_per="row", tol=TOL).fit(A, a)
                    for order in ("chain", "full")
                )
                shares.append([share_in_order(b, model.predict(B)) for model in (chain, full)])
                flat.append([np.ptp(model.predict(A)) == 0 for model in (chain, full)])
                same.append(full.objective_ <= (1 + 10 * TOL) * chain.objective_)
            means = dict(zip(("chain", "full"), np.mean(shares, axis=0).tolist(), strict=True))
            rows.append(
                {
                    "slack": slack,
                    "alpha": alpha,
                    **means,
                    "same": float(np.mean(same)),
                    "flat": np.mean(flat, axis=0).tolist(),
                }
            )
    return rows


def print_graphs(tables):
    print("\nchain - full, mean share of pairs in order (= same solution, ~ flat in a fold)")
    for slack in ("squared", "absolute"):
        print(f"{slack + ' slack':<18}" + "".join(f"{f'alpha {alpha:.0e}':>16}" for alpha in ALPHAS))
        for name, rows in tables.items():
            cells = [row for row in rows if row["slack"] == slack]
            texts = (f"{row['chain'] - row['full']:+.4f}{mark(row)}" for row in cells)
            print(f"{name:<18}" + "".join(f"{text:>16}" for text in texts))


def mark(row):
    """Return = where chain and full have the same solution in all folds, ~ where scores are flat in some."""
    return " " + "=" * (row["same"] == 1) + "~" * (max(row["flat"]) > 0)


# Cost


def california():
    """Time the fits of California housing, or of generated data of its size."""
    entries = {name: (X, y) for name, X, y in datasets(False)}
    generated = make_ranking(20_640, 8, noise=0.5, random_state=0)
    X, y = entries["cal_housing"] if "cal_housing" in entries else (generated[0], bins(generated[1]))
    X = StandardScaler().fit_transform(X)
    rows = []
    for order in ("chain", "full"):
        for slack_per in ("row", "edge"):
            models = {"interior_point": HullRanker(1e-4, order=order, slack_per=slack_per, tol=TOL)}
            times = best_times({name: lambda m=model: m.fit(X, y) for name, model in models.items()}, 3)
            gaps = {f"{name}_gap": float(m.gap_ / m.objective_) for name, m in models.items()}
            rows.append({"order": order, "slack_per": slack_per, **times, **gaps})
    return rows


def print_california(rows):
    print(f"\nCalifornia housing, 20,640 rows, to a relative gap of {TOL:g}: seconds (gap reached)")
    for row in rows:
        text = f"{row['interior_point']:.2f} s ({row['interior_point_gap']:.0e})"
        print(f"{row['order']:<6} slack per {row['slack_per']:<5}  {text}")


def cost(largest):
    """Time fits of five classes and ten features, a sort of as many numbers and one product X'DX."""
    rows = []
    for n in (1000 * 2**k for k in range(11)):
        n = min(n, 1_000_000)
        if n > largest:
            break
        X, y = make_ranking(n, 10, n_levels=5, noise=0.5, random_state=0)
        values = np.random.default_rng(0).random(n)
        models = {
            order: HullRanker(1e-3, order=order, slack_per="row", tol=TOL) for order in ("chain", "full")
        }
        tasks = {order: lambda m=model, X=X, y=y: m.fit(X, y) for order, model in models.items()}
        tasks["argsort"] = lambda values=values: np.argsort(values)
        tasks["gram"] = lambda X=X, values=values: (X * values[:, None]).T @ X
        best = best_times(tasks, 2 if n > 100_000 else 4)
        iterations = {f"{order}_iterations": int(model.n_iter_) for order, model in models.items()}
        rows.append({"rows": n, **iterations, **best})
    return rows


def print_cost(rows):
    heads = ("rows", "steps", "chain, s", "full, s", "argsort, s", "X'DX, s", "/ argsort", "/ X'DX")
    print("\n" + "".join(f"{head:>12}" for head in heads))
    for row in rows:
        steps = f"{row['chain_iterations']}, {row['full_iterations']}"
        seconds = "".join(f"{row[name]:>12.3g}" for name in ("chain", "full", "argsort", "gram"))
        ratios = "".join(f"{row['chain'] / row[name]:>12.0f}" for name in ("argsort", "gram"))
        print(f"{row['rows']:>12,}{steps:>12}{seconds}{ratios}")
    slopes = {name: slope(rows, name) for name in ("chain", "full")}
    print(
        "slope from 8,000 rows on, log against log: " + ", ".join(f"{k} {v:.2f}" for k, v in slopes.items())
    )
    return slopes


def slope(rows, name):
    large = [row for row in rows if row["rows"] >= 8000]
    return float(np.polyfit(*(np.log([row[key] for row in large]) for key in ("rows", name)), 1)[0])


# The figures


def pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


COLOURS = {
    "chain": "#c8452f",
    "full": "#c8452f",
    "chain_edge": "#8a5a00",
    "full_edge": "#8a5a00",
    "rank_svm": "#4477aa",
    "rank_rls": "#4477aa",
    "mord": "#6f6f6f",
    "full_rbf": "#117733",
    "gp": "#117733",
}


def draw_comparison(tables, path):
    """Draw figure 3 of the paper: a panel for each set, a row for each method, all on one scale."""
    used = [name for name in NAMES if name in next(iter(tables.values()))]
    size = {"figsize": (11, 2.2 + 0.55 * len(used)), "layout": "constrained"}
    figure, panels = pyplot().subplots(3, 3, sharex=True, sharey=True, **size)
    for axes, (name, table) in zip(panels.flat, tables.items(), strict=False):
        axes.set_title(name, fontsize=10, loc="left")
        draw_methods(axes, [(method, table[method]) for method in used])
    for axes in panels.flat[len(tables) :]:
        axes.set_visible(False)
    panels[0, 0].set_yticks(range(len(used)), [NAMES[method] for method in used])
    panels[0, 0].set(ylim=(len(used) - 0.4, -0.6), xlim=(None, 1.0))
    figure.supxlabel("pairs of different bins in the right order: mean and range of ten folds", fontsize=10)
    figure.savefig(path, dpi=130)


def draw_methods(axes, cells):
    """Draw the mean and the range over the folds of each method, and write the time of a fit beside it."""
    for place, (method, cell) in enumerate(cells):
        axes.plot(
            [cell["least"], cell["most"]], [place, place], color=COLOURS[method], linewidth=1.5, alpha=0.5
        )
        axes.plot(cell["mean"], place, "o", color=COLOURS[method], markersize=5)
        axes.annotate(
            shown_time(cell["seconds"]), (1, place), (6, 0),
            xycoords=axes.get_yaxis_transform(), textcoords="offset points",
            va="center", fontsize=8, color="0.35",
        )  # fmt: skip
    axes.grid(axis="x", alpha=0.25)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def shown_time(seconds):
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def draw_graphs(tables, path):
    """Draw chain less full against alpha, each kind of slack on a scale of its own."""
    figure, panels = pyplot().subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for axes, slack in zip(panels, ("squared", "absolute"), strict=True):
        for place, (name, rows) in enumerate(tables.items()):
            draw_differences(axes, [row for row in rows if row["slack"] == slack], f"C{place}", name)
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set(xscale="log", xlabel="alpha", title=f"{slack} slacks, one for each row")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("pairs in the right order, chain less full")
    marks = (("equal solutions", "o", "white"), ("different ones", "o", "0.3"),
             ("constant scores in a fold", "x", "0.3"))  # fmt: skip
    for name, mark, face in marks:
        panels[0].plot([], [], mark, color="0.3", markerfacecolor=face, markersize=5, label=name)
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside right center", frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)


def draw_differences(axes, cells, colour, name):
    """Draw a set: hollow where the solutions are the same, a cross where a model gives up."""
    gain = np.array([row["chain"] - row["full"] for row in cells])
    alphas = np.array([row["alpha"] for row in cells])
    flat = np.array([max(row["flat"]) > 0 for row in cells])
    same = np.array([row["same"] == 1 for row in cells]) & ~flat
    axes.plot(alphas, gain, color=colour, linewidth=1, label=name)
    for chosen, mark, face in ((flat, "x", colour), (same, "o", "white"), (~flat & ~same, "o", colour)):
        axes.plot(alphas[chosen], gain[chosen], mark, color=colour, markerfacecolor=face, markersize=5)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("figure", "graphs", "cost"), help="one part")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)  # of the Gaussian process: a length at its bound
    warnings.filterwarnings("ignore", "All scores are equal")  # at the largest alphas
    entries, n_folds, result = datasets(options.quick), 3 if options.quick else 10, {}
    if options.only in (None, "figure"):
        result["figure"] = {name: compare(X, y, n_folds) for name, X, y in entries}
        print_comparison(result["figure"])
        draw_comparison(result["figure"], options.output / "hull_figure.png")
    if options.only in (None, "graphs"):
        result["graphs"] = {name: graphs(X, y, n_folds) for name, X, y in entries}
        print_graphs(result["graphs"])
        draw_graphs(result["graphs"], options.output / "hull_graphs.png")
    if options.only in (None, "cost"):
        result["california"] = california()
        print_california(result["california"])
        result["cost"] = cost(64_000 if options.quick else 1_000_000)
        result["cost_slope"] = print_cost(result["cost"])
    name = "hull.json" if options.only is None else f"hull_{options.only}.json"
    (options.output / name).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
