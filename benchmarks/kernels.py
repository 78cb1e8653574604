"""Kernels, learned kernels, linear models and boosted trees on tables: error on new rows and CPU seconds.

Run it with rankwise installed and RANKWISE_DATA naming a folder with the data sets:

    python benchmarks/kernels.py                        # California housing and covtype: some minutes
    python benchmarks/kernels.py --quick                # 2,000 rows, 200 basis rows, one seed: half a minute
    python benchmarks/kernels.py --sets covtype-large   # 100,000 rows
    python benchmarks/kernels.py --sets ohsumed         # search, over the five official folds

The error is the share of pairs of new rows in the wrong order, the mean of three random splits, and the
seconds are the processor's for the whole fit, the choice of scales, width and alpha included. Packages that
are not installed are left out.
"""

import argparse
import importlib.util
import warnings
from time import process_time

import numpy as np
from reproduce.data import Data, MissingDataError
from timing import memory_status

from rankwise import RankRLS, RankSVM
from rankwise.metrics import ranking_error

# The kernel that is best on each set: sums of absolute differences where features act one by one.
KERNELS = {
    "california": "laplacian",
    "covtype": "exponential",
    "covtype-large": "exponential",
    "ohsumed": "laplacian",
}
TRAIN = {"california": 16_000, "covtype": 20_000, "covtype-large": 100_000}
TEST_ROWS, QUICK_ROWS = 20_000, 2_000


def table_rows(name, data):
    """Return features and labels: prices in five grades, or whether a forest is of the most common type."""
    if name == "california":
        X, y = data.fung("cal_housing")
        y = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
        return (X - X.mean(axis=0)) / X.std(axis=0), y.astype(float)
    X, y = data.covtype()
    return X, (y == np.bincount(y.astype(int)).argmax()).astype(float)


def splits(name, data, quick, seeds):
    """Yield training and test rows, each with labels and queries or None."""
    if name == "ohsumed":
        parts = data.ohsumed()
        for test in range(1 if quick else len(parts)):
            rest = [part for number, part in enumerate(parts) if number != test]
            yield tuple(np.concatenate(columns) for columns in zip(*rest, strict=True)), parts[test]
        return
    X, y = table_rows(name, data)
    size = QUICK_ROWS if quick else TRAIN[name]
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:size], order[size : size + TEST_ROWS]
        yield (X[train], y[train], None), (X[test], y[test], None)


def contestants(name, n_basis):
    """Return what makes a model of training rows, by its name."""
    options = {"n_components": n_basis, "random_state": 0}
    learned = options | {"kernel": KERNELS[name], "gamma": "learned"}
    found = {
        "linear RankSVM": lambda: RankSVM(1e-4),
        "linear RankRLS": lambda: RankRLS(1e-4),
        "rbf kernel, RankRLS": lambda: RankRLS(1e-5, kernel="rbf", gamma="scale", **options),
        "rbf kernel, squared hinge": lambda: RankSVM(
            1e-4, loss="squared_hinge", kernel="rbf", gamma="scale", **options
        ),
        f"learned {KERNELS[name]}, RankRLS": lambda: RankRLS("learned", **learned),
        f"learned {KERNELS[name]}, squared hinge": lambda: RankSVM(
            "learned", loss="squared_hinge", **learned
        ),
    }
    if importlib.util.find_spec("lightgbm") is not None:
        found["LightGBM, 200 trees of depth 6"] = trees
    return found


class Trees:
    """Regression trees on the labels, which rank rows of one list as well as LightGBM's ranking losses."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y, qid=None):
        self.model.fit(X, y)
        return self

    def predict(self, X):
        return self.model.predict(X)


def trees():
    from lightgbm import LGBMRegressor

    return Trees(LGBMRegressor(n_estimators=200, max_depth=6, n_jobs=1, verbose=-1))


def contest(make, train, test):
    """Return the error on new rows and the seconds of the fit."""
    X, y, qid = train
    start = process_time()
    model = make().fit(X, y, qid=qid)
    seconds = process_time() - start
    X_new, y_new, qid_new = test
    return float(ranking_error(y_new, model.predict(X_new), qid_new)), seconds


def report(name, data, quick, seeds, n_basis, only):
    makers = {title: make for title, make in contestants(name, n_basis).items() if only in title}
    results = {title: [] for title in makers}
    for train, test in splits(name, data, quick, seeds):
        for title, make in makers.items():
            results[title].append(contest(make, train, test))
    print(f"\n{name}, {len(train[1]):,} training rows, {n_basis:,} basis rows, mean of {len(results[title])}")
    print(f"{'':<40}{'error':>8}{'spread':>8}{'CPU s':>8}")
    for title, found in results.items():
        error, seconds = np.array(found).T
        print(f"{title:<40}{error.mean():>8.4f}{np.ptp(error):>8.4f}{seconds.mean():>8.1f}", flush=True)
    print(f"peak of memory: {memory_status('VmHWM') / 1e9:.1f} GB")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows, one seed")
    parser.add_argument("--sets", nargs="+", choices=sorted(KERNELS), default=["california", "covtype"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--basis", type=int, default=2000, help="basis rows")
    parser.add_argument("--only", default="", help="part of the name of those to run")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    seeds, n_basis = (1, 200) if options.quick else (options.seeds, options.basis)
    for name in options.sets:
        try:
            report(name, Data(), options.quick, seeds, n_basis, options.only)
        except MissingDataError as error:
            print(f"{name} is left out: {error}")


if __name__ == "__main__":
    main()
