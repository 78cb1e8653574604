"""Sums of curves compared with a linear ranker, boosted trees and explainable boosting machines.

    python benchmarks/curves.py [--quick] [--only stock] [--splits 2] [--bags 14]
    python benchmarks/curves.py --table           # the table of docs/benchmarks.md from the record

The error is the fraction of test pairs in the wrong order, the mean over several splits; the time is the
minimum CPU time of a fit, and its ratio to that of the linear ranker in the same process. California housing
in five grades of equal counts has 16,000 training and 4,000 test rows; of covtype, the most common class
against the others, there are 20,000 of each; the other sets are tables of benchmarks/suite.py.
`interpret`'s ExplainableBoostingRegressor, with its default pairs of features, is fitted to the ranks of the
labels; it and LightGBM are left out if they are not installed. Data come from the folder named by
RANKWISE_DATA; with --quick, rows are generated. The record is
benchmarks/results/curves.json; sets that are measured again replace those in it.
"""

import argparse
import datetime
import importlib.util
import json
import re
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import suite
from reproduce.data import Data
from scipy.stats import rankdata
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import BoostedRanker, CurveRanker, CurveRankerCV, RankSVM
from rankwise.metrics import ranking_error

QUICK_ROWS = 1500
RESULTS = Path(__file__).parent / "results" / "curves.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"


class RanksRegressor:
    """`interpret`'s machine, fitted to the ranks of the labels."""

    def __init__(self, bags):
        from interpret.glassbox import ExplainableBoostingRegressor

        self.machine = ExplainableBoostingRegressor(outer_bags=bags, n_jobs=1, random_state=0)

    def fit(self, X, y):
        self.machine.fit(X, rankdata(y) / len(y))
        return self

    def predict(self, X):
        return self.machine.predict(X)


def contenders(bags):
    """Return the constructor of each model, by its name in the table."""
    models = {
        "linear, `RankSVM`": lambda: make_pipeline(StandardScaler(), RankSVM(1e-4)),
        "curves": CurveRanker,
        "curves that are lines": lambda: CurveRanker(shape="lines"),
        "curves, `interactions=10`": lambda: CurveRanker(interactions=10),
        "curves, `interactions=50`": lambda: CurveRanker(interactions=50),
        "`CurveRankerCV`, `interactions=10`": lambda: CurveRankerCV(interactions=10, n_jobs=1),
    }
    if importlib.util.find_spec("lightgbm"):
        models["200 boosted trees of depth 6"] = lambda: BoostedRanker(
            n_estimators=200,
            max_depth=6,
            learning_rate=0.1,
            num_leaves=31,
            subsample=1.0,
            colsample_bynode=1.0,
        )
    if importlib.util.find_spec("interpret"):
        bag = "bag" if bags == 1 else "bags"
        models[f"explainable boosting, {bags} {bag}"] = partial(RanksRegressor, bags)
    return models


def california():
    X, y = Data().cadata()
    return X, np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])).astype(float), 16_000, 4_000


def covtype():
    X, y = Data().covtype()
    return X, (y == 2).astype(float), 20_000, 20_000


def of_suite(name):
    task = suite.tasks()[name]()
    n_test = round(suite.HELD_OUT * len(task.y))
    return task.X, task.y, len(task.y) - n_test, n_test


def generated():
    random = np.random.default_rng(0)
    X = random.normal(size=(2 * QUICK_ROWS, 6))
    y = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3]
    return X, np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])).astype(float), QUICK_ROWS, QUICK_ROWS


SETS = {"California housing, 5 grades": california, "covtype, one class against six": covtype} | {
    name: partial(of_suite, name)
    for name in ("diabetes", "friedman, unscaled", "boston, grades", "stock", "abalone")
}


def compared(X, y, n_train, n_test, splits, bags):
    """Return the error and the CPU seconds of each model."""
    found = {}
    for name, make in contenders(bags).items():
        errors, seconds = [], np.inf
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[:n_train], order[n_train : n_train + n_test]
            start = process_time()
            model = make().fit(X[train], y[train])
            seconds = min(seconds, process_time() - start)
            errors.append(float(ranking_error(y[test], model.predict(X[test]))))
        found[name] = [round(float(np.mean(errors)), 4), float(f"{seconds:.3g}")]
        print(f"{name:<36} {found[name][0]:.4f} {found[name][1]:>8.2f}", flush=True)
    return found


def record(name, n_rows, splits, found):
    """Put the figures of a set into the record."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"sets": {}}
    about = {"date": datetime.date.today().isoformat(), "version": rankwise.__version__}
    models = known["sets"].get(name, {}).get("models", {}) | found
    known["sets"][name] = about | {"rows": n_rows, "splits": splits, "models": models}
    sets = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in known["sets"].items())
    RESULTS.write_text(f'{{"columns": ["error", "seconds"], "sets": {{\n{sets}\n}}}}\n', encoding="utf-8")


def markdown():
    """Return the table of the page: errors, and times as multiples of that of the linear ranker."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["sets"]
    sets = {name: known[name] for name in SETS if name in known}
    models = list(dict.fromkeys(model for entry in sets.values() for model in entry["models"]))
    lines = [
        "| | " + " | ".join(f"{name}, {entry['rows']:,} rows" for name, entry in sets.items()) + " |",
        "|---" * (1 + len(sets)) + "|",
    ]
    for model in models:
        cells = (cell(entry["models"], model) for entry in sets.values())
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(models, name):
    if name not in models:
        return ""
    error, seconds = models[name]
    ratio = seconds / models["linear, `RankSVM`"][1]
    return f"{error:.4f}".removeprefix("0") + (f", {ratio:.0f}" if ratio >= 10 else f", {ratio:.1f}")


def write_table():
    """Put the table into the page, in place of the one that is there."""
    page = PAGE.read_text(encoding="utf-8")
    table = r"\| \| [^\n]* rows \|\n.*?\n(?=\n)"
    page, n_tables = re.subn(table, lambda _: markdown() + "\n", page, flags=re.DOTALL)
    assert n_tables == 1, "the page has no such table, or several"
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="generated rows, one split, no record")
    parser.add_argument("--only", nargs="+", choices=SETS, help="these sets")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--bags", type=int, default=14, help="bags of the explainable boosting machine")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        return write_table()
    if options.quick:
        return compared(*generated(), 1, 1)
    for name in options.only or SETS:
        rows = SETS[name]()
        print(f"\n{name}: {rows[2]:,} rows\n{'':<36} error   CPU s")
        record(name, rows[2], options.splits, compared(*rows, options.splits, options.bags))


if __name__ == "__main__":
    main()
