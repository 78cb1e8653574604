"""Searches over alpha on many sets: the choice, its error on rows held out, and its price in fits.

    python benchmarks/suite.py                    # all sets: some minutes; writes a record
    python benchmarks/suite.py --quick            # some 1,000 rows of each, one split; writes nothing
    python benchmarks/suite.py --only wine ohsumed --record /tmp/some.json
    python benchmarks/suite.py --table            # the table of docs/benchmarks.md from the records

The sets come from scikit-learn, from generators and, if RANKWISE_DATA names a folder that has them, from
there. A split holds out three tenths of the rows, queries or pairs. For each set, split and estimator the
record has the alpha that was chosen, the number of candidates and the smallest of them, the error on the rows
held out, and the CPU seconds of the search and of one fit with that alpha. One thread. The records are
benchmarks/results/suite.json and, of the search over the whole grid that preceded it, suite_before.json
beside it; the table compares them.
"""

import argparse
import datetime
import gzip
import json
import logging
import os
import re
import warnings
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from rank_svm import graded_rows
from sklearn import datasets
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import rankwise
from rankwise import (
    CurveRankerCV,
    HullRankerCV,
    OrdinalSVMCV,
    Preferences,
    RankLogisticCV,
    RankRLSCV,
    RankSVMCV,
    scale_within_queries,
)
from rankwise.datasets import make_ordinal, make_ranking, make_text_ranking

RESULTS = Path(__file__).parent / "results" / "suite.json"
BEFORE = RESULTS.with_name("suite_before.json")
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
SPLITS = {"first": 1, "second": 2}  # the seeds
HELD_OUT = 0.3
QUICK_ROWS = 1000
SEARCHES = {
    "RankSVMCV": RankSVMCV(n_jobs=1),
    "RankSVMCV, squared hinge": RankSVMCV(loss="squared_hinge", n_jobs=1),
    "RankLogisticCV": RankLogisticCV(n_jobs=1),
    "RankRLSCV, folds": RankRLSCV(cv=5, n_jobs=1),
    "OrdinalSVMCV": OrdinalSVMCV(n_jobs=1),
    "CurveRankerCV": CurveRankerCV(n_jobs=1),
    "HullRankerCV": HullRankerCV(),
}
# The figures of a run in a record.
COLUMNS = (
    "alpha",
    "candidates",
    "smallest",
    "test_error",
    "search_seconds",
    "fit_seconds",
    "in_fits",
)
# Interior points of hulls take time with the cube of the rows, curves with their number.
MOST_HULL_ROWS, MOST_CURVES, MOST_CURVE_ROWS = 400, 40, 25_000


@dataclass
class Task:
    """Rows with labels or preferences; `unit` numbers what a split keeps together."""

    X: Any
    y: Any
    qid: Any = None
    unit: Any = None
    is_graded: bool = False

    def taken(self, rows):
        qid = None if self.qid is None else self.qid[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], qid=qid, unit=self.units[rows])

    @property
    def units(self):
        if self.unit is not None:
            return self.unit
        return np.arange(self.X.shape[0]) if self.qid is None else self.qid

    def split(self, seed):
        """The part to learn from and the part to judge by."""
        known = np.unique(self.units)
        held_out = np.random.default_rng(seed).permutation(known)[: round(HELD_OUT * len(known))]
        is_test = np.isin(self.units, held_out)
        return self.taken(np.flatnonzero(~is_test)), self.taken(np.flatnonzero(is_test))

    def first(self, n_rows):
        """About this many rows, of whole units."""
        known, sizes = np.unique(self.units, return_counts=True)
        kept = known[: np.searchsorted(np.cumsum(sizes), n_rows) + 1]
        return self.taken(np.flatnonzero(np.isin(self.units, kept)))

    def arguments(self):
        return {} if self.qid is None else {"qid": self.qid}

    def suits(self, name):
        m, n = self.X.shape
        is_dense_ranking = isinstance(self.X, np.ndarray) and not isinstance(self.y, Preferences)
        if name == "OrdinalSVMCV":
            return self.is_graded
        if name == "HullRankerCV":
            return self.is_graded and m <= MOST_HULL_ROWS
        if name == "CurveRankerCV":
            return is_dense_ranking and n <= MOST_CURVES and m <= MOST_CURVE_ROWS
        return True


# Sets that come with packages


def bundled(load, is_graded=False, scaled=True):
    X, y = load(return_X_y=True)
    return Task(StandardScaler().fit_transform(X) if scaled else X, y, is_graded=is_graded)


def linnerud():
    """Twenty rows."""
    X, y = datasets.load_linnerud(return_X_y=True)
    return Task(StandardScaler().fit_transform(X), y[:, 1])


def unscaled():
    """Features whose standard deviations are from .01 to 1,000; the large ones are noise."""
    X, y = datasets.make_friedman1(1000, 12, noise=1.0, random_state=0)
    return Task(X * np.logspace(-2, 3, 12), y)


def wide():
    X, y = datasets.make_regression(300, 2000, n_informative=40, noise=30.0, random_state=0)
    return Task(X, y)


def few_grades():
    X, y = make_ordinal(600, random_state=0)
    return Task(X, y, is_graded=True)


def search_queries():
    return Task(*make_ranking(2000, 20, n_queries=80, n_levels=5, noise=2.0, random_state=0))


def text():
    return Task(*make_text_ranking(2000, 5000, random_state=0))


def reward_head():
    """Pairs of hidden states of which one is chosen, by a linear reward and noise."""
    generator = np.random.default_rng(0)
    n_pairs, n_features = 2000, 256
    X = generator.normal(size=(2 * n_pairs, n_features)) * np.logspace(0, -1.5, n_features)
    reward = X @ generator.normal(size=n_features)
    first, second = np.arange(0, 2 * n_pairs, 2), np.arange(1, 2 * n_pairs, 2)
    margin = (reward[first] - reward[second]) / reward.std() + generator.logistic(size=n_pairs)
    better, worse = np.where(margin > 0, (first, second), (second, first))
    y = Preferences.from_pairs(better, worse, n_rows=2 * n_pairs)
    return Task(X, y, unit=np.repeat(np.arange(n_pairs), 2))


def survival():
    """Exponential times with a linear log hazard, half of them censored."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(800, 15))
    time = generator.exponential(np.exp(-X[:, :5] @ generator.normal(size=5)))
    censored = generator.exponential(np.median(time), size=len(time))
    y = Preferences.from_survival(time <= censored, np.minimum(time, censored))
    return Task(X, y)


# Sets of the folder


@cache
def folder():
    return Path(os.environ.get("RANKWISE_DATA", "no folder"))


def table(name, is_graded=False, scaled=True):
    stored = np.load(folder() / "fung2006" / f"{name}.npz")
    X, y = stored["X"].astype(float), stored["y"]
    if is_graded:  # five equal bins, as in the paper
        y = np.digitize(y, np.linspace(y.min(), y.max(), 6)[1:-1])
    return Task(StandardScaler().fit_transform(X) if scaled else X, y, is_graded=is_graded)


def svmlight(path):
    with gzip.open(path) as file:
        X, y, qid = datasets.load_svmlight_file(file, query_id=True)
    return X.toarray(), y, qid


def ohsumed():
    parts = [svmlight(path) for path in sorted(folder().glob("letor2_ohsumed/S*.txt.gz"))]
    X, y, qid = map(np.concatenate, zip(*parts, strict=True))
    return Task(scale_within_queries(X, qid), y, qid)


def california():
    X, y, _ = svmlight(folder() / "cadata" / "cadata.svm.gz")
    return Task(StandardScaler().fit_transform(X), y)


def answers():
    """Human preferences between two answers: hashed words, 100 components."""
    with gzip.open(folder() / "preference_hh_harmless_test" / "harmless_base_test.jsonl.gz", "rt") as file:
        pairs = [json.loads(line) for line in file]
    texts = [pair[key].rpartition("Assistant:")[2] for pair in pairs for key in ("chosen", "rejected")]
    words = HashingVectorizer(n_features=2**14, alternate_sign=False).fit_transform(texts)
    X = StandardScaler().fit_transform(TruncatedSVD(100, random_state=0).fit_transform(words))
    rows = np.arange(0, len(texts), 2)
    return Task(X, Preferences.from_pairs(rows, rows + 1), unit=np.arange(len(texts)) // 2)


TASKS = {
    "linnerud": linnerud,
    "diabetes": lambda: bundled(datasets.load_diabetes),
    "wine": lambda: bundled(datasets.load_wine, is_graded=True),
    "breast cancer, unscaled": lambda: bundled(datasets.load_breast_cancer, is_graded=True, scaled=False),
    "digits": lambda: bundled(datasets.load_digits, is_graded=True),
    "friedman, unscaled": unscaled,
    "regression, wide": wide,
    "ordinal": few_grades,
    "queries": search_queries,
    "search, 24,000 x 136": lambda: Task(*graded_rows(24_000)),
    "text": text,
    "reward head": reward_head,
    "survival": survival,
}
IN_FOLDER = {
    "abalone": lambda: table("abalone"),
    "abalone, unscaled grades": lambda: table("abalone", is_graded=True, scaled=False),
    "boston, grades": lambda: table("boston", is_graded=True),
    "pyrimidines": lambda: table("pyrimidines"),
    "triazines": lambda: table("triazines"),
    "stock": lambda: table("stock"),
    "ohsumed": ohsumed,
    "california": california,
    "answers": answers,
}


def tasks():
    """The sets that can be read here."""
    return TASKS | (IN_FOLDER if folder().is_dir() else {})


# The runner


def cpu_seconds(task):
    start = process_time()
    task()
    return process_time() - start


def test_error(model, task):
    """The ranking error, or the mean distance of ranks."""
    if isinstance(model, OrdinalSVMCV):
        return float(np.mean(np.abs(model.predict(task.X) - task.y)))
    return 1 - float(model.score(task.X, task.y, **task.arguments()))


def measured(search, train, test):
    """The entry of one search in the record."""
    search_seconds = cpu_seconds(lambda: search.fit(train.X, train.y, **train.arguments()))
    fit = search.with_alpha(search.alpha_)
    fit_seconds = cpu_seconds(lambda: fit.fit(train.X, train.y, **train.arguments()))
    return {
        "alpha": search.alpha_,
        "candidates": len(search.alphas_),
        "smallest": search.alphas_[-1],
        "test_error": test_error(search, test),
        "search_seconds": search_seconds,
        "fit_seconds": fit_seconds,
        "in_fits": search_seconds / fit_seconds,
    }


def runs(chosen, splits, most_rows=None):
    """Yield the entries of the record."""
    for name in chosen:
        task = tasks()[name]()
        task = task if most_rows is None else task.first(most_rows)
        for split in splits:
            train, test = task.split(SPLITS[split])
            for label, search in SEARCHES.items():
                if train.suits(label):
                    place = {"set": name, "split": split, "search": label}
                    yield place | measured(search, train, test)


def line(run):
    figures = f"{run['alpha']:>10.1e}{run['candidates']:>4}{run['test_error']:>9.4f}"
    times = f"{run['search_seconds']:>9.2f}{run['fit_seconds']:>9.3f}{run['in_fits']:>8.1f}"
    return f"{run['set']:<26}{run['split']:<8}{run['search']:<26}{figures}{times}"


def write(path, about, found):
    """Write a record: the figures of each run by set, split and search, in the order of `COLUMNS`."""
    record = {}
    for run in found:
        splits = record.setdefault(run["set"], {})
        figures = [float(f"{run[name]:.4g}") for name in COLUMNS]
        splits.setdefault(run["split"], {})[run["search"]] = figures
    body = ",\n".join(f"{json.dumps(name)}: {json.dumps(splits)}" for name, splits in record.items())
    head = json.dumps(about | {"columns": COLUMNS})[1:-1]
    path.write_text(f'{{{head}, "runs": {{\n{body}\n}}}}\n', encoding="utf-8")


# The table


def read(path):
    """The runs of a record by set, split and search."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return {
        (name, split, search): dict(zip(record["columns"], figures, strict=True))
        for name, splits in record["runs"].items()
        for split, searches in splits.items()
        for search, figures in searches.items()
    }


def best_visited(before, after):
    """Whether the best alpha of the whole grid is among those visited."""
    return after["smallest"] <= before["alpha"] * 1.01


def row(label, pairs):
    """The line of an estimator: what its searches took before and after."""
    both = list(zip(*pairs, strict=True))

    def figure(word, how, form):
        return " | ".join(form.format(how([run[word] for run in runs])) for runs in both)

    visited = figure("candidates", np.mean, "{:.1f}")
    early = sum(not best_visited(*pair) for pair in pairs)
    fits, seconds = figure("in_fits", np.median, "{:.1f}"), figure("search_seconds", sum, "{:.1f}")
    errors = figure("test_error", np.mean, "{:.4f}")
    return f"| {label} | {len(pairs)} | {visited} | {fits} | {seconds} | {errors} | {early} |"


def markdown():
    """The table of the page, from the two records."""
    before, after = read(BEFORE), read(RESULTS)
    lines = [
        "| search | searches | candidates | now | in fits | now | seconds | now | test error | now | early |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for label in SEARCHES:
        pairs = [(run, after[key]) for key, run in before.items() if key[2] == label and key in after]
        lines.append(row(label, pairs))
    return "\n".join(lines)


def write_table():
    """Put the table into the page, in place of the one that is there."""
    written, page = markdown(), PAGE.read_text(encoding="utf-8")
    begin = re.escape(written.partition("\n")[0])
    page, n_tables = re.subn(begin + r".*?\n(?=\n|\Z)", lambda _: written + "\n", page, flags=re.DOTALL)
    assert n_tables == 1, "the page has no such table, or several"
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows, one split, no record")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these sets; no record unless --record")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    parser.add_argument("--record", type=Path, help="where to write, in place of benchmarks/results")
    options = parser.parse_args()
    if options.table:
        return write_table()
    warnings.simplefilter("ignore")
    logging.disable()  # hints at features that should be scaled
    print(
        f"{'set':<26}{'split':<8}{'search':<26}{'alpha':>10}{'of':>4}{'error':>9}"
        f"{'search':>9}{'fit':>9}{'in fits':>8}"
    )
    found, splits = [], ["first"] if options.quick else options.splits
    with threadpool_limits(1):
        for run in runs(options.only or tasks(), splits, QUICK_ROWS if options.quick else None):
            found.append(run)
            print(line(run), flush=True)
    path = options.record or (None if options.quick or options.only else RESULTS)
    if path is not None:
        about = {"date": datetime.date.today().isoformat(), "version": rankwise.__version__}
        about["load"] = os.getloadavg()[0]
        write(path, about, found)


if __name__ == "__main__":
    main()
