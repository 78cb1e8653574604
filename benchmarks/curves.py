"""Sums of curves compared with a linear ranker, boosted trees and explainable boosting machines.

    python benchmarks/curves.py [--quick] [--rows 20000,100000] [--repeats 3] [--bags 14]

The error is the fraction of test pairs in the wrong order; the time is the minimum CPU time of several fits,
and its ratio to that of the linear ranker in the same process. California housing in five grades of equal
counts has 16,000 training and 4,000 test rows; of covtype, the most common class against the others, there
are --rows training rows and 20,000 test rows. `interpret`'s ExplainableBoostingRegressor is fitted once, to
the ranks of the labels; it and LightGBM are left out if they are not installed. Data come from the folder
named by RANKWISE_DATA; without it, and with --quick, rows are generated.
"""

import argparse
import importlib.util
from functools import partial
from time import process_time

import numpy as np
from reproduce.data import Data, MissingDataError
from scipy.stats import rankdata
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import BoostedRanker, CurveRanker, RankSVM
from rankwise.metrics import ranking_error

QUICK_ROWS = 1500


class RanksRegressor:
    """`interpret`'s machine, fitted to the ranks of the labels."""

    def __init__(self, interactions, bags):
        from interpret.glassbox import ExplainableBoostingRegressor

        options = {"outer_bags": bags, "n_jobs": 1, "random_state": 0}
        self.machine = ExplainableBoostingRegressor(interactions=interactions, **options)

    def fit(self, X, y):
        self.machine.fit(X, rankdata(y) / len(y))
        return self

    def predict(self, X):
        return self.machine.predict(X)


def contenders(bags):
    """Yield the name of each model, what makes it, and whether it is fitted several times."""
    yield "linear", lambda: make_pipeline(StandardScaler(), RankSVM(1e-4)), True
    yield "curves", CurveRanker, True
    yield "curves that are lines", lambda: CurveRanker(shape="lines"), True
    yield "curves, 10 pairs of features", lambda: CurveRanker(interactions=10), True
    yield "curves, 50 pairs of features", lambda: CurveRanker(interactions=50), True
    fine = {"interactions": 10, "interaction_bins": 16}
    yield "curves, 10 pairs, 16 bins each", lambda: CurveRanker(**fine), True
    if importlib.util.find_spec("lightgbm"):
        yield "200 boosted trees of depth 6", lambda: BoostedRanker(n_estimators=200, max_depth=6), True
    if importlib.util.find_spec("interpret"):
        for count in (0, 10):
            make = partial(RanksRegressor, count, bags)
            yield f"explainable boosting, {count} pairs", make, False


def california(data):
    X, y = data.cadata()
    return X, np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])).astype(float), 16_000, 4_000


def covtype(data, n_rows):
    X, y = data.covtype()
    return X, (y == 2).astype(float), n_rows, 20_000


def generated():
    random = np.random.default_rng(0)
    X = random.normal(size=(2 * QUICK_ROWS, 6))
    y = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3]
    return X, np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])).astype(float), QUICK_ROWS, QUICK_ROWS


def compare(title, X, y, n_train, n_test, repeats, bags):
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    print(f"\n{title}: {n_train:,} rows\n{'':<34} error   CPU s   times the linear ranker")
    yardstick = None
    for name, make, again in contenders(bags):
        seconds = np.inf
        for _ in range(repeats if again else 1):
            start = process_time()
            model = make().fit(X[train], y[train])
            seconds = min(seconds, process_time() - start)
        yardstick = yardstick or seconds
        error = float(ranking_error(y[test], model.predict(X[test])))
        print(f"{name:<34} {error:.4f} {seconds:>7.2f} {seconds / yardstick:>8.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", default="20000", help="training rows of covtype, with commas between")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bags", type=int, default=14, help="bags of the explainable boosting machine")
    options = parser.parse_args()
    data, given = Data(), (options.repeats, options.bags)
    try:
        if options.quick:
            raise MissingDataError("Generated rows stand in for real data.")
        compare("California housing, five grades", *california(data), *given)
        for count in map(int, options.rows.split(",")):
            compare("covtype, one class against six", *covtype(data, count), *given)
    except MissingDataError as error:
        print(error)
        compare("Generated rows", *generated(), *given)


if __name__ == "__main__":
    main()
