"""Kernels, learned kernels, linear models, curves and boosted trees on tables: error and CPU seconds.

Run it with rankwise installed and RANKWISE_DATA naming a folder with the data sets:

    python benchmarks/kernels.py                        # all sets: about ten minutes
    python benchmarks/kernels.py --sets california      # a part of the table
    python benchmarks/kernels.py --quick                # 2,000 rows, 200 basis rows, one seed: half a minute
    python benchmarks/kernels.py --only xRFM            # xrfm, whose fits take minutes, on the first split

The error is the fraction of pairs of new rows in the wrong order, the mean of three random splits of
California housing in five grades (16,000 rows) and of forest cover types, the most common one against the
others (20,000 rows), of one split with 100,000 rows, and of the five folds of OHSUMED. The seconds are the
processor's for the whole fit, the choice of scales, width and alpha included. Packages that are not installed
are left out.
"""

import argparse
import importlib.util
import warnings
from time import process_time

import numpy as np
from reproduce.data import Data, MissingDataError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from timing import memory_status

from rankwise import BoostedRanker, CurveRanker, RankRLS, RankSVM, RankSVMCV
from rankwise.metrics import ranking_error

# The kernel of each set: sums of absolute differences where features act one by one.
KERNELS = {
    "california": "laplacian",
    "covtype": "exponential",
    "covtype-large": "exponential",
    "ohsumed": "laplacian",
}
TRAIN = {"california": 16_000, "covtype": 20_000, "covtype-large": 100_000}
BASIS_ROWS = {"covtype-large": 3000}
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
    for seed in range(1 if name == "covtype-large" else seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:size], order[size : size + TEST_ROWS]
        yield (X[train], y[train], None), (X[test], y[test], None)


def contestants(name, n_basis):
    """Return the function that fits a model to training rows, by its name."""
    options = {"n_components": n_basis, "random_state": 0}
    learned = options | {"kernel": KERNELS[name], "gamma": "learned"}
    hinge = {"loss": "squared_hinge"}
    found = {
        "linear, RankSVMCV": lambda: standardised(RankSVMCV()),
        "CurveRanker": CurveRanker,
        "CurveRanker, 50 pairs": lambda: CurveRanker(interactions=50),
        "rbf, squared hinge": lambda: standardised(RankSVM(1e-5, kernel="rbf", **hinge, **options)),
        "learned, RankRLS": lambda: RankRLS("learned", **learned),
        "learned, squared hinge": lambda: RankSVM("learned", **hinge, **learned),
        "learned, kmeans, squared hinge": lambda: RankSVM("learned", basis="kmeans", **hinge, **learned),
    }
    if importlib.util.find_spec("lightgbm") is not None:
        whole = {"learning_rate": 0.1, "subsample": 1.0, "colsample_bynode": 1.0}
        found["BoostedRanker, 200 trees of depth 6"] = lambda: BoostedRanker(
            n_estimators=200, max_depth=6, num_leaves=31, **whole
        )
        found["BoostedRanker, 1,000 trees of 63 leaves"] = lambda: BoostedRanker(
            n_estimators=1000, num_leaves=63, **whole
        )
    return found


def standardised(model):
    return make_pipeline(StandardScaler(), model)


class FeatureMachine:
    """xRFM on the labels of one list as it comes, with a fifth of the rows for what it chooses by itself."""

    def fit(self, X, y):
        import torch
        from xrfm import xRFM

        torch.set_num_threads(1)
        self.scaler = StandardScaler().fit(X)
        rows, cut = self.scaler.transform(X), len(y) * 4 // 5
        rows, labels = (torch.tensor(np.asarray(part, np.float32)) for part in (rows, y[:, None]))
        self.model = xRFM(device="cpu", tuning_metric="mse")
        self.model.fit(rows[:cut], labels[:cut], rows[cut:], labels[cut:])
        return self

    def predict(self, X):
        import torch

        rows = torch.tensor(np.asarray(self.scaler.transform(X), np.float32))
        return np.asarray(self.model.predict(rows)).ravel()


def contest(make, train, test):
    """Return the error on new rows and the seconds of the fit."""
    X, y, qid = train
    model = make()
    queries = {} if qid is None else {fit_argument(model): qid}
    start = process_time()
    model.fit(X, y, **queries)
    seconds = process_time() - start
    X_new, y_new, qid_new = test
    return float(ranking_error(y_new, model.predict(X_new), qid_new)), seconds


def fit_argument(model):
    """Return the name of the queries in `fit`: a pipeline passes them to its last step."""
    return f"{model.steps[-1][0]}__qid" if hasattr(model, "steps") else "qid"


def report(name, data, quick, seeds, n_basis, only):
    parts = list(splits(name, data, quick, seeds))
    print(f"\n{name}, {len(parts[0][0][1]):,} training rows, {n_basis:,} basis rows, {len(parts)} splits")
    print(f"{'':<44}{'error':>8}{'CPU s':>8}   each split", flush=True)
    makers = contestants(name, n_basis)
    if name == "covtype-large":
        del makers["rbf, squared hinge"]  # which is for the other sets to tell
    if only == "xRFM" and name in ("california", "covtype"):
        makers["xRFM"] = FeatureMachine
    for title, make in makers.items():
        if only in title:
            chosen = parts[:1] if make is FeatureMachine else parts
            error, seconds = np.array([contest(make, *part) for part in chosen]).T
            each = " ".join(f"{one:.4f}" for one in error)
            print(f"{title:<44}{error.mean():>8.4f}{seconds.mean():>8.1f}   {each}", flush=True)
    print(f"peak of memory: {memory_status('VmHWM') / 1e9:.1f} GB", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows, one seed")
    parser.add_argument("--sets", nargs="+", choices=sorted(KERNELS), default=list(KERNELS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--basis", type=int, help="basis rows: 2,000, and 3,000 for 100,000 rows, by default")
    parser.add_argument("--only", default="", help="part of the name of those to run")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    seeds = 1 if options.quick else options.seeds
    for name in options.sets:
        n_basis = options.basis or (200 if options.quick else BASIS_ROWS.get(name, 2000))
        try:
            report(name, Data(), options.quick, seeds, n_basis, options.only)
        except MissingDataError as error:
            print(f"{name} is left out: {error}")


if __name__ == "__main__":
    main()
