"""RankSVM and RankLogistic in passes: one pass is X @ w plus X.T @ c by scipy, timed in the same run.

    python benchmarks/rank_svm.py                 # 512,000 x 47,236 text-like rows: some minutes, 3 GB
    python benchmarks/rank_svm.py --quick         # 32,000 rows
    python benchmarks/rank_svm.py --figure docs/images/cost.png

Real data are used if RANKWISE_DATA names a folder that has them (cadata, covtype), generated data of the
same shape otherwise.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file
from threadpoolctl import threadpool_limits
from timing import best_times, two_thread_calibration

from rankwise import Preferences, RankLogistic, RankSVM, scale_within_queries
from rankwise.datasets import make_ranking, make_text_ranking
from rankwise.losses import Hinge
from rankwise.metrics import ndcg

PARTS = ("fit", "dense", "iterations", "cost")


def one_pass(X):
    generator = np.random.default_rng(0)
    w, c = generator.standard_normal(X.shape[1]), generator.standard_normal(X.shape[0])
    best = best_times({"X w": lambda: X @ w, "X' c": lambda: X.T @ c}, 5)
    return sum(best.values())


def report_fit(name, model, X, y, unit, qid=None):
    start = perf_counter()
    model.fit(X, y, qid=qid)
    passes = (perf_counter() - start) / unit
    print(
        f"{name:<36}{model.n_iter_:>6} iterations   gap {model.gap_:.1e}   objective {model.objective_:.6f}"
        f"   {passes:>6.1f} passes"
    )
    return model


def text_table(X, y):
    unit = one_pass(X)
    print(
        f"\n{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} nonzeros, alpha 1e-5; one pass = {1e3 * unit:.0f} ms"
    )
    models = {
        "hinge": RankSVM(1e-5),
        "squared hinge": RankSVM(1e-5, loss="squared_hinge"),
        "logistic (<= 25 and 40)": RankLogistic(1e-5),
    }
    for name, model in models.items():
        for threads in (2, 1):
            label = f"{name}, {threads} thread" + "s" * (threads > 1)
            report_fit(label, model.set_params(n_jobs=threads), X, y, unit)
            if (name, threads) == ("hinge", 2):
                curve(model.history_, unit)
    squared = RankSVM(1e-5, loss="squared_hinge", n_jobs=2, tol=1e-6).fit(X, y)
    reached = squared.history_["objective"] <= squared.objective_ * (1 + 1e-3)
    print(
        f"squared hinge, 2 threads: within 1e-3 (relative) of the optimum after "
        f"{squared.history_['seconds'][np.argmax(reached)] / unit:.1f} passes"
    )


def graded_rows(rows):
    """Rows of 136 features between 0 and 1, as those of web search, in queries of 115 with five grades."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, 20)) @ generator.normal(size=(20, 136)) / 2
    X += generator.normal(size=X.shape)
    X = np.where(generator.random(136) < 0.3, np.exp(np.clip(X, -4, 4)), X)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    weights = generator.normal(size=136) * (generator.random(136) < 0.3)
    utility = X @ weights / np.std(X @ weights) + 2 * generator.normal(size=rows)
    y = np.digitize(utility, np.quantile(utility, [0.52, 0.75, 0.93, 0.99]))
    return X, y, np.sort(generator.integers(0, max(1, rows // 115), rows))


def dense_table(rows):
    """Fits of dense rows in queries, in passes of numpy with one thread of BLAS."""
    X, y, qid = graded_rows(rows)
    with threadpool_limits(1, "blas"):
        unit = one_pass(X)
    print(
        f"\n{rows:,} x 136 dense rows, {len(set(qid)):,} queries, alpha 1e-3; one pass = {1e3 * unit:.0f} ms"
    )
    for loss, dtype, threads in product(("hinge", "squared_hinge"), (np.float64, np.float32), (1, 2)):
        model = RankSVM(1e-3, loss=loss, average="pairs", n_jobs=threads)
        label = f"{loss}, {np.dtype(dtype).name}, {threads} thread" + "s" * (threads > 1)
        report_fit(label, model, X.astype(dtype), y, unit, qid=qid)


def memory_line(X, y):
    """Fit in a process of its own, so that nothing but the data and the fit is in its peak."""
    with tempfile.TemporaryDirectory() as folder:
        scipy.sparse.save_npz(f"{folder}/X.npz", X, compressed=False)
        np.save(f"{folder}/y.npy", y)
        code = (
            "import sys, numpy, scipy.sparse\n"
            "from rankwise import RankSVM; from timing import memory_status\n"
            "before = memory_status('VmRSS'); folder = sys.argv[1]\n"
            "X, y = scipy.sparse.load_npz(folder + '/X.npz'), numpy.load(folder + '/y.npy')\n"
            "RankSVM(1e-5, n_jobs=2).fit(X, y); print(memory_status('VmHWM') - before)"
        )
        run = subprocess.run(
            [sys.executable, "-c", code, folder],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parent,
        )
    if run.returncode:
        print("peak memory: not to be read on this system")
        return
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(f"peak memory of loading and fitting: {int(run.stdout) / size:.2f} times the CSR arrays")


def curve(history, unit):
    bound = history["bound"].max()
    marks = [(s / unit, o / bound - 1) for s, o in zip(history["seconds"], history["objective"], strict=True)]
    print(
        "  passes -> objective above the final bound: "
        + ", ".join(f"{p:.1f} -> {a:.1%}" for p, a in marks[3::3])
    )


def iterations_table(text, cadata):
    print(f"\n{'iterations to a gap of 1e-3':<36}{'bmrm':>8}{'bundle':>8}{'ratio':>8}")
    X, y = text
    cases = {"text-like, alpha 1e-5": (X[:16_000], y[:16_000], 1e-5)}
    raw, target = cadata
    standard = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    cases |= {
        f"cadata standardized, alpha {a:g}": (standard[:16_000], target[:16_000], a) for a in (1e-3, 1e-5)
    }
    for name, (data, labels, alpha) in cases.items():
        bmrm, bundle = (
            RankSVM(alpha, solver=solver, max_iter=3000).fit(data, labels).n_iter_
            for solver in ("bmrm", "bundle")
        )
        print(f"{name:<36}{bmrm:>8}{bundle:>8}{bundle / bmrm:>8.2f}")
    model = RankSVM(1e-3).fit(raw, target)
    print(f"cadata unscaled, alpha 1e-3: {model.n_iter_} iterations, certified gap {model.gap_:.1e}")


def load_cadata():
    path = Path(os.environ.get("RANKWISE_DATA", "")) / "cadata" / "cadata.svm.gz"
    if not path.is_file():
        print("RANKWISE_DATA names no folder with cadata: generated rows of the same shape stand in.")
        X, y = make_ranking(20_640, 8, noise=1.0, random_state=0)
        return X * 10.0 ** np.arange(-3, 5), y
    with gzip.open(path) as file:
        X, y = load_svmlight_file(file)
    return X.toarray(), y


def graded(n_queries=200, per_query=60, seed=0):
    """Rows of grades 0, 1 and, rarely, 4, where one feature tells 0 from 1 and another 4 from the rest."""
    generator = np.random.default_rng(seed)
    y = generator.choice([0, 1, 4], size=n_queries * per_query, p=[0.55, 0.4, 0.05])
    means = {0: (0.0, 0.0), 1: (1.5, 0.0), 4: (0.5, 1.5)}
    X = np.array([means[grade] for grade in y]) + generator.normal(size=(len(y), 2))
    return X, y.astype(float), np.repeat(np.arange(n_queries), per_query)


def letor_folds():
    """Train and test parts of the five official folds of OHSUMED, features scaled within queries."""
    folder = Path(os.environ.get("RANKWISE_DATA", "")) / "letor2_ohsumed"
    if not folder.is_dir():
        return
    parts = []
    for k in range(1, 6):
        with gzip.open(folder / f"S{k}.txt.gz") as file:
            X, y, qid = load_svmlight_file(file, n_features=25, query_id=True)
        parts.append((scale_within_queries(X.toarray(), qid), y, qid))
    for fold in range(5):
        train = [parts[(fold + j) % 5] for j in range(3)]
        yield tuple(np.concatenate(columns) for columns in zip(*train, strict=True)), parts[(fold + 4) % 5]


def held_out_ndcg(pair_weight, train, test):
    X, y, qid = train
    X_test, y_test, qid_test = test
    model = RankSVM(1e-3, pair_weight=pair_weight).fit(X, y, qid=qid)
    return np.nanmean(ndcg(y_test, model.predict(X_test), qid_test, k=10, per_query=True))


def pair_weight_table():
    """NDCG@10 with pairs of equal weight and with pairs weighted by the difference of their grades."""
    print(f"\n{'NDCG@10, pair_weight':<36}{'None':>8}{'difference':>12}")
    made = [(graded(seed=seed), graded(seed=100 + seed)) for seed in range(5)]
    for name, folds in (("generated, rare top grade", made), ("OHSUMED, five folds", list(letor_folds()))):
        if not folds:
            print(f"{name:<36}RANKWISE_DATA names no folder with letor2_ohsumed")
            continue
        values = [
            np.mean([held_out_ndcg(weight, *fold) for fold in folds]) for weight in (None, "difference")
        ]
        print(f"{name:<36}{values[0]:>8.4f}{values[1]:>12.4f}")


def covtype_line():
    path = Path(os.environ.get("RANKWISE_DATA", "")) / "covtype" / "covtype.npz"
    if not path.is_file():
        print("\nRANKWISE_DATA names no folder with covtype: its line is left out.")
        return
    with np.load(path) as archive:
        X, y = archive["X"].astype(np.float64), archive["y"].astype(np.float64)
    loss = Hinge(Preferences.from_scores(y))
    w = np.random.default_rng(0).standard_normal(X.shape[1]) / X.std(axis=0).clip(1e-9)

    def subgradient():
        X.T @ loss.value_and_coefficients(X @ w)[1]

    seconds = best_times({0: subgradient}, 5)[0]
    print(f"\ncovtype, {len(y):,} rows: one loss and subgradient in {seconds:.3f} s")
    print(f"which is 1/{6 / seconds:.0f} of the 6 s of Airola et al. (2010)")


def cost_table(largest, figure):
    """Cost of a loss and subgradient against the number of rows, after figure 1 of Airola et al. (2011)."""
    limits = {"merge": largest, "tree": min(largest, 1_024_000), "pairs": 32_000}
    sizes = [n for n in (1000 * 2**k for k in range(13)) if n <= largest]
    generator = np.random.default_rng(0)
    times = {method: {} for method in limits}
    for n in sizes:
        labels = generator.normal(size=n)
        preferences, scores = Preferences.from_scores(labels), labels + generator.normal(size=n)
        for method in (m for m, limit in limits.items() if n <= limit):
            evaluate = partial(Hinge(preferences, counting=method).value_and_coefficients, scores)
            times[method][n] = best_times({0: evaluate}, 1 if method == "pairs" else 5)[0]
    print(f"\n{'rows':<12}" + "".join(f"{method:>12}" for method in limits) + "   (seconds)")
    for n in sizes:
        print(
            f"{n:<12,}" + "".join(f"{times[m][n]:>12.2g}" if n in times[m] else f"{'-':>12}" for m in limits)
        )
    for method, measured in times.items():
        large = {n: t for n, t in measured.items() if n >= 8000}
        slope = np.polyfit(np.log(list(large)), np.log(list(large.values())), 1)[0]
        print(f"slope of {method} from 8,000 rows on: {slope:.2f}")
    if figure:
        draw(times, figure)


def draw(times, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = {"pairs": "every pair", "tree": "search tree (Airola et al.)", "merge": "rankwise"}
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for (method, name), colour in zip(names.items(), ("#b0b0b0", "#6f8fb0", "#c8452f"), strict=True):
        rows, seconds = np.array(sorted(times[method].items())).T
        axes.loglog(
            rows, seconds, "o-", color=colour, linewidth=2.5 if method == "merge" else 1.5, markersize=4
        )
        axes.annotate(
            name, (rows[-1], seconds[-1]), (6, 0), textcoords="offset points", va="center", color=colour
        )
    axes.set(
        xlabel="rows to rank", ylabel="seconds", title="Loss and gradient over all pairs of rows, one thread"
    )
    axes.set_xlim(700, 6e7)
    axes.grid(alpha=0.25, which="major")
    axes.spines[["top", "right"]].set_visible(False)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=512_000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figure", help="draw the cost against the number of rows")
    parser.add_argument("--only", choices=PARTS, help="one part of the benchmark")
    options = parser.parse_args(arguments)
    rows = 32_000 if options.quick else options.rows
    parts = [options.only] if options.only else PARTS
    print(f"two threads, calibration by two sorts: {two_thread_calibration():.2f} of the one-thread time")
    text = make_text_ranking(rows if "fit" in parts else 16_000, random_state=0)
    if "fit" in parts:
        text_table(*text)
        memory_line(*text)
    if "dense" in parts:
        dense_table(23_000 if options.quick else 230_241)
    if "iterations" in parts:
        iterations_table(text, load_cadata())
        pair_weight_table()
        covtype_line()
    if "cost" in parts:
        cost_table(64_000 if options.quick else 4_096_000, options.figure)


if __name__ == "__main__":
    main()
