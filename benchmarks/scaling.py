"""Scalers before a linear ranker: errors on rows held out of features that are scaled, or not.

    python benchmarks/scaling.py                # seconds to a few minutes; writes a record
    python benchmarks/scaling.py --quick        # some 1,000 rows of each set, one split; writes nothing
    python benchmarks/scaling.py --table        # the table of docs/benchmarks.md from the record

The sets are those of `suite.py` with features in their own units. For each way to scale, the record has the
error of `RankSVM()` with its default alpha and that of `RankSVMCV()`, the mean over five splits.
"""

import argparse
import json
import logging
import warnings
from pathlib import Path

import numpy as np
import suite
from defaults import number
from records import compact, markdown, with_block
from sklearn import datasets
from sklearn.preprocessing import StandardScaler
from suite import Task, bundled, table
from threadpoolctl import threadpool_limits

from rankwise import RankSVM, RankSVMCV, scale_within_queries
from rankwise.datasets import make_ranking

RESULTS = Path(__file__).parent / "results" / "scaling.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
SEEDS, QUICK_ROWS = (1, 2, 3, 4, 5), 1000
PLAIN, COLUMNS, QUERIES = "as they are", "standardized", "within queries"
MODELS = {"RankSVM": RankSVM, "RankSVMCV": RankSVMCV}


def documents():
    """Search results whose features are on scales of their own in each query."""
    X, y, qid = make_ranking(3000, 20, n_queries=100, n_levels=5, noise=1.0, random_state=0)
    generator = np.random.default_rng(0)
    spread, place = (generator.lognormal(sigma=s, size=(100, 20)) for s in (0.5, 1.0))
    return Task(X * spread[qid] + place[qid], y, qid)


def letor():
    parts = [suite.svmlight(path) for path in sorted(suite.folder().glob("letor2_ohsumed/S*.txt.gz"))]
    return Task(*map(np.concatenate, zip(*parts, strict=True)))


def houses():
    return Task(*suite.svmlight(suite.folder() / "cadata" / "cadata.svm.gz")[:2])


SETS = {
    "diabetes": lambda: bundled(datasets.load_diabetes, scaled=False),
    "wine": lambda: bundled(datasets.load_wine, scaled=False),
    "breast cancer": lambda: bundled(datasets.load_breast_cancer, scaled=False),
    "digits": lambda: bundled(datasets.load_digits, scaled=False),
    "friedman1, noise on large scales": suite.unscaled,
    "survival": suite.survival,
    "queries": suite.search_queries,
    "queries, on scales of their own": documents,
}
IN_FOLDER = {
    **{
        name: lambda name=name: table(name, scaled=False)
        for name in ("abalone", "autompg", "boston", "machine_cpu", "pyrimidines", "stock", "triazines")
    },
    "california": houses,
    "ohsumed": letor,
}


def scaled(way, train, test):
    """Return the rows of both parts, scaled in one way."""
    if way == PLAIN:
        return train.X, test.X
    if way == QUERIES:
        return tuple(scale_within_queries(part.X, part.qid) for part in (train, test))
    scaler = StandardScaler().fit(train.X)
    return scaler.transform(train.X), scaler.transform(test.X)


def errors(task, seeds):
    """Return the mean error of each model for each way to scale."""
    ways = [PLAIN, COLUMNS] + [QUERIES] * (task.qid is not None)
    found = {f"{model}, {way}": [] for model in MODELS for way in ways}
    for seed in seeds:
        train, test = task.split(seed)
        for way in ways:
            X, X_test = scaled(way, train, test)
            for name, model in MODELS.items():
                fitted = model(n_jobs=1).fit(X, train.y, **train.arguments())
                found[f"{name}, {way}"].append(1 - fitted.score(X_test, test.y, **test.arguments()))
    return {label: float(np.mean(values)) for label, values in found.items()}


def page_table():
    """Return the table of the page."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    labels = [f"{model}, {way}" for model in MODELS for way in (PLAIN, COLUMNS, QUERIES)]
    rows = [
        [name, *(number(of_set[label]) if label in of_set else "" for label in labels)]
        for name, of_set in record.items()
    ]
    return markdown(["", *(f"`{label.replace(', ', '`, ')}" for label in labels)], rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows, no record")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_block(page, "scaling", page_table()), encoding="utf-8")
        return
    warnings.simplefilter("ignore")
    logging.disable()
    record = {}
    with threadpool_limits(1):
        for name, make in (SETS | (IN_FOLDER if suite.folder().is_dir() else {})).items():
            task = make().first(QUICK_ROWS) if options.quick else make()
            record[name] = errors(task, SEEDS[: 1 if options.quick else None])
            print(name, {label: number(value) for label, value in record[name].items()}, flush=True)
            if not options.quick:
                RESULTS.write_text(compact(record), encoding="utf-8")


if __name__ == "__main__":
    main()
