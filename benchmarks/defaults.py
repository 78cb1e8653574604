"""The defaults of BoostedRanker, compared with tuned trees and with LightGBM's lambdarank.

    python benchmarks/defaults.py [--quick] [--only SET ...] [--table]

The sets are those of `suite.py` and further ones; those of files are read if the variable RANKWISE_DATA
names a folder with them, and the others always. The defaults were chosen by some of the sets (`CHOSEN_BY`);
the others were kept apart. A split holds out three tenths of the rows, queries or pairs; sets of fewer than
1,000 rows have four splits, others two. Large sets are cut to their first rows. For each set, split and model
the record has the ranking error on the rows held out, NDCG@10 if there are queries, the number of trees and
the CPU seconds of the fit. One thread.

The models: `BoostedRanker()`; its number of trees chosen on one fifth of the rows, without a fit to all rows
after it; the same on five folds; the defaults of LightGBM with 100 trees; `BoostedRankerCV()`; and for
queries the first and the last of them with `scoring="ndcg@10"`, and LightGBM's `LGBMRanker()`, which is
lambdarank with its defaults. `LGBMRanker` and, without queries, `LGBMRegressor` of the ranks of the labels
also stop early by one fifth of the rows, with at most 1,000 trees: what the default costs beside that is a
table of its own. It has larger sets, too, with one split each, on both sides of the size at which the default
changes its rule: 20,000 rows to learn from.

The figures go to benchmarks/results/defaults.json after each split; runs that are in the file are not
repeated. The tables of docs/benchmarks.md are printed from it by --table.
"""

import argparse
import json
import logging
import re
import warnings
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np
import suite
from lightgbm import LGBMRanker, LGBMRegressor, early_stopping
from rank_svm import graded_rows
from records import compact
from scipy.stats import rankdata
from sklearn import datasets
from threadpoolctl import threadpool_limits

from rankwise import BoostedRanker, BoostedRankerCV, Preferences
from rankwise.estimators import tree_stopping
from rankwise.metrics import ndcg, ranking_error
from rankwise.model_selection import QueryKFold

RESULTS = Path(__file__).parent / "results" / "defaults.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
# Splits of small sets, which differ more, and of others.
FEW_ROWS, SPLITS_OF_FEW, SPLITS = 1000, 4, 2
QUICK_ROWS = 1000
MOST_LOST = 0.005
DEFAULT, ONE_PART, PLAIN, TUNED = "default", "one part, no refit", "LightGBM's, 100 trees", "tuned"
BY_LISTS, TUNED_BY_LISTS, LAMBDARANK = "default, by NDCG@10", "tuned by NDCG@10", "lambdarank"
FIVE, STOPPED = "five folds", "LightGBM, early stopping"
PATIENCE = 50


def regression(make, n_rows, **options):
    """A set of scikit-learn's generators."""
    X, y = make(n_rows, random_state=1, **options)
    return suite.Task(X, y)


def plain(name, most_rows=None):
    """A set of the suite, or its first rows."""
    task = suite.tasks()[name]()
    return task if most_rows is None else task.first(most_rows)


CHOSEN_BY = {
    "diabetes": lambda: plain("diabetes"),
    "breast cancer": lambda: plain("breast cancer, unscaled"),
    "digits": lambda: plain("digits", 1000),
    "friedman1": lambda: plain("friedman, unscaled"),
    "ordinal": lambda: plain("ordinal"),
    "survival": lambda: plain("survival"),
    "abalone": lambda: plain("abalone", 2500),
    "stock": lambda: plain("stock"),
    "autompg": lambda: suite.table("autompg"),
    "boston": lambda: suite.table("boston"),
    "triazines": lambda: plain("triazines"),
    "machine_cpu": lambda: suite.table("machine_cpu"),
    "california": lambda: plain("california", 3000),
    "queries": lambda: plain("queries"),
    "ohsumed": lambda: plain("ohsumed", 6000),
    "search": lambda: plain("search, 24,000 x 136", 3000),
}
KEPT_APART = {
    "wisconsin_wpbc": lambda: suite.table("wisconsin_wpbc"),
    "abalone, grades": lambda: plain("abalone, unscaled grades", 2500),
    "friedman2": lambda: regression(datasets.make_friedman2, 800, noise=50.0),
    "friedman3": lambda: regression(datasets.make_friedman3, 800, noise=0.1),
    "reward head": lambda: plain("reward head", 1500),
    "california, last": lambda: last_rows("california", 3000),
    "ohsumed, last": lambda: last_rows("ohsumed", 6000),
    "search, last": lambda: last_rows("search, 24,000 x 136", 3000),
}
LARGE = {
    "friedman1, 20,000": lambda: regression(datasets.make_friedman1, 20_000, noise=1.0),
    "friedman1, 28,000": lambda: regression(datasets.make_friedman1, 28_000, noise=1.0),
    "friedman1, 30,000": lambda: regression(datasets.make_friedman1, 30_000, noise=1.0),
    "california, all": lambda: plain("california"),
    "search, 24,000": lambda: plain("search, 24,000 x 136"),
    "search, 48,000": lambda: suite.Task(*graded_rows(48_000)),
}


def last_rows(name, n_rows):
    """About this many rows from the end of a set, of whole queries."""
    task = suite.tasks()[name]()
    known, sizes = np.unique(task.units, return_counts=True)
    kept = known[::-1][: np.searchsorted(np.cumsum(sizes[::-1]), n_rows) + 1]
    return task.taken(np.flatnonzero(np.isin(task.units, kept)))


def of_task(train):
    return train.y if isinstance(train.y, Preferences) else Preferences.from_scores(train.y, train.qid)


def one_fifth(train):
    """The places of four fifths of the rows, of whole queries, and of the others."""
    return next(QueryKFold(5, shuffle=True, random_state=0).split(train.X, of_task(train)))


def of_one_part(train):
    """The default with one fifth of the rows held out to stop by, and not learned from."""
    preferences, (learned, held_out) = of_task(train), one_fifth(train)
    validation = (train.X[held_out], preferences[held_out])
    return BoostedRanker(n_jobs=1).fit(train.X[learned], preferences[learned], validation=validation)


def of_five_folds(train):
    """The default with five folds to stop by, at any number of rows."""
    with patch.object(tree_stopping, "MANY_ROWS", np.inf):
        return BoostedRanker(validation_fraction=0.2, n_jobs=1).fit(train.X, train.y, **train.arguments())


def fitted(model):
    return lambda train: model.fit(train.X, train.y, **train.arguments())


def grouped(task):
    """Rows, grades and sizes of queries, in the order of queries."""
    order = np.argsort(task.qid, kind="stable")
    return task.X[order], task.y[order].astype(int), np.unique(task.qid[order], return_counts=True)[1]


def lambdarank(train):
    X, y, sizes = grouped(train)
    return LGBMRanker(n_jobs=1, verbose=-1, random_state=0).fit(X, y, group=sizes)


def stopped(train):
    """LightGBM with its defaults and at most 1,000 trees, one fifth of the rows to stop by."""
    shared = {"n_estimators": tree_stopping.MOST_TREES, "n_jobs": 1, "verbose": -1, "random_state": 0}
    callbacks = [early_stopping(PATIENCE, verbose=False)]
    learned, held_out = map(train.taken, one_fifth(train))
    if train.qid is None:
        ranks = [rankdata(part.y) / len(part.y) for part in (learned, held_out)]
        model = LGBMRegressor(**shared)
        return model.fit(learned.X, ranks[0], eval_set=[(held_out.X, ranks[1])], callbacks=callbacks)
    X, y, sizes = grouped(learned)
    of_held_out, grades, group = grouped(held_out)
    judged = {"eval_set": [(of_held_out, grades)], "eval_group": [group], "eval_at": [10]}
    return LGBMRanker(**shared).fit(X, y, group=sizes, **judged, callbacks=callbacks)


def models(task):
    """What is fitted to a large set: functions of the rows to learn from."""
    found = {DEFAULT: fitted(BoostedRanker(n_jobs=1)), ONE_PART: of_one_part, FIVE: of_five_folds}
    return found if isinstance(task.y, Preferences) else found | {STOPPED: stopped}


def further_models(task):
    """What is fitted to other sets, too."""
    old = BoostedRanker(
        n_estimators=100,
        learning_rate=0.1,
        num_leaves=31,
        min_child_samples=20,
        subsample=1.0,
        colsample_bynode=1.0,
        n_jobs=1,
    )
    found = {PLAIN: fitted(old), TUNED: fitted(BoostedRankerCV(n_jobs=1))}
    if task.qid is not None:
        found |= {
            BY_LISTS: fitted(BoostedRanker(scoring="ndcg@10", n_jobs=1)),
            TUNED_BY_LISTS: fitted(BoostedRankerCV(scoring="ndcg@10", n_jobs=1)),
            LAMBDARANK: lambdarank,
        }
    return found


def measured(fit, train, test):
    """The entry of one model in the record."""
    start = process_time()
    model = fit(train)
    seconds = process_time() - start
    scores = model.predict(test.X)
    found = {"error": float(ranking_error(test.y, scores, test.qid))}
    if test.qid is not None:
        found["ndcg@10"] = float(ndcg(test.y, scores, test.qid, k=10, undefined="skip"))
    found["trees"] = n_trees(model)
    found["seconds"] = round(seconds, 2)
    return {name: round(value, 5) for name, value in found.items()}


def n_trees(model):
    grown = getattr(model, "booster_", None)
    return int(model.n_iter_ if grown is None else model.best_iteration_ or grown.num_trees())


def run(names, record, most_rows=None):
    """Fill the record, and yield after each split."""
    for name in names:
        task = (CHOSEN_BY | KEPT_APART | LARGE)[name]()
        task = task if most_rows is None else task.first(most_rows)
        of_set = record.setdefault(name, {"rows": task.X.shape[0], "splits": {}})
        n_splits = 1 if name in LARGE else SPLITS_OF_FEW if task.X.shape[0] < FEW_ROWS else SPLITS
        for seed in range(1, 1 + n_splits):
            of_split = of_set["splits"].setdefault(str(seed), {})
            train, test = task.split(seed)
            for label, fit in (models(task) | ({} if name in LARGE else further_models(task))).items():
                if label not in of_split:
                    of_split[label] = measured(fit, train, test)
                    print(f"{name:<20}{seed:<3}{label:<24}{of_split[label]}", flush=True)
            yield


# The tables


def mean(of_set, label, measure):
    return float(np.mean([split[label][measure] for split in of_set["splits"].values()]))


def number(value, signed=False):
    """A figure without the zero before the point."""
    return re.sub(r"^([+-]?)0\.", r"\1.", f"{value:+.4f}" if signed else f"{value:.4f}")


def error_rows(record, names):
    """Lines of the table of errors, and the mean over the sets."""
    labels = (PLAIN, ONE_PART, DEFAULT, TUNED)
    rows, found = [], []
    for name in names:
        if name not in record:
            continue
        errors = [mean(record[name], label, "error") for label in labels]
        found.append(errors)
        trees = round(mean(record[name], DEFAULT, "trees"))
        loss = number(errors[2] - errors[3], signed=True)
        sizes = [f"{record[name]['rows']:,}", str(len(record[name]["splits"]))]
        rows.append([name, *sizes, *map(number, errors), loss, f"{trees}"])
    if found:
        averages = np.mean(found, axis=0)
        loss = number(averages[2] - averages[3], signed=True)
        rows.append(["**mean**", "", "", *map(number, averages), loss, ""])
    return rows


def tables():
    """The tables of the page by name."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    header = ["", "rows", "splits", PLAIN, ONE_PART, DEFAULT, TUNED, "default - tuned", "trees"]
    empty = [""] * (len(header) - 1)
    rows = [
        ["*chosen by*", *empty],
        *error_rows(record, CHOSEN_BY),
        ["*kept apart*", *empty],
        *error_rows(record, KEPT_APART),
    ]
    labels = (PLAIN, DEFAULT, BY_LISTS, TUNED_BY_LISTS, LAMBDARANK)
    lists = [
        [name, *(number(mean(of_set, label, "ndcg@10")) for label in labels)]
        for name, of_set in record.items()
        if LAMBDARANK in of_set["splits"]["1"]
    ]
    return {
        "defaults: errors": f"{markdown(header, rows)}\n\n{verdict(record)}",
        "defaults: times": times(record),
        "defaults: lists": markdown(["", *labels], lists),
    }


def times(record):
    """What the default costs, and its errors, beside LightGBM with early stopping and five folds."""
    header = ["", "rows", "LightGBM", "default", "five folds", "default - five folds", "LightGBM, seconds",
              "default", "five folds", "default / LightGBM"]  # fmt: skip
    rows, labels = [], (STOPPED, DEFAULT, FIVE)
    for name in (name for name in [*CHOSEN_BY, *KEPT_APART, *LARGE] if name in record):
        of_set = record[name]
        known = [label for label in labels if label in of_set["splits"]["1"]]
        error = {label: mean(of_set, label, "error") for label in known}
        seconds = {label: mean(of_set, label, "seconds") for label in known}
        apart = number(error[DEFAULT] - error[FIVE], signed=True)
        ratio = f"{seconds[DEFAULT] / seconds[STOPPED]:.1f}" if STOPPED in known else ""
        errors = [number(error[label]) if label in known else "" for label in labels]
        figures = [f"{seconds[label]:.2f}" if label in known else "" for label in labels]
        rows.append([name, f"{of_set['rows']:,}", *errors, apart, *figures, ratio])
    return markdown(header, rows)


def verdict(record):
    """A sentence about the sets on which the default loses to the tuned trees by more than `MOST_LOST`."""
    losses = {
        name: mean(record[name], DEFAULT, "error") - mean(record[name], TUNED, "error")
        for name in [*CHOSEN_BY, *KEPT_APART]
        if name in record
    }
    worse = sorted((name for name in losses if losses[name] > MOST_LOST), key=losses.get, reverse=True)
    n_close = len(losses) - len(worse)
    named = f"; the others are: {'; '.join(worse)}" if worse else ""
    return f"On {n_close} of {len(losses)} sets, the default loses at most {number(MOST_LOST)}{named}."


def markdown(header, rows):
    lines = [f"| {' | '.join(row)} |" for row in [header, *rows]]
    return "\n".join([lines[0], "|---" + "|--:" * (len(header) - 1) + "|", *lines[1:]])


def write_tables():
    """Put the tables into the page, between comments with their names."""
    page = PAGE.read_text(encoding="utf-8")
    for name, table in tables().items():
        block = f"<!-- {name} -->\n\n{table}\n\n<!-- end -->"
        page, n_tables = re.subn(
            rf"<!-- {name} -->.*?<!-- end -->", lambda _, new=block: new, page, flags=re.DOTALL
        )
        assert n_tables == 1, f"the page has no place for {name}, or several"
    PAGE.write_text(page, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows, no record")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these sets")
    parser.add_argument("--table", action="store_true", help="write the tables of the page, nothing else")
    options = parser.parse_args(arguments)
    if options.table:
        return write_tables()
    warnings.simplefilter("ignore")
    logging.disable()  # leaves without enough rows
    in_folder = suite.folder().is_dir()
    bundled = {"diabetes", "breast cancer", "digits", "friedman1", "ordinal", "survival", "queries", "search",
               "friedman2", "friedman3", "reward head", "search, last"}  # fmt: skip
    bundled |= LARGE.keys() - {"california, all"}
    sets = CHOSEN_BY | KEPT_APART | LARGE
    names = options.only or [name for name in sets if in_folder or name in bundled]
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() and not options.quick else {}
    with threadpool_limits(1):
        for _ in run(names, record, QUICK_ROWS if options.quick else None):
            if not options.quick:
                RESULTS.write_text(compact(record), encoding="utf-8")


if __name__ == "__main__":
    main()
