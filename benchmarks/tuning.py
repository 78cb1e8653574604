"""The cost of choosing alpha: CPU time of a search, relative to a fit with the chosen alpha.

    python benchmarks/tuning.py                   # 240,000 x 136 rows in 2,000 queries: a minute, 1 GB
    python benchmarks/tuning.py --quick           # 24,000 rows; writes nothing
    python benchmarks/tuning.py --table           # the tables of docs/benchmarks.md from the records

"certified" is the search with a solver by name, which certifies the fit of every fold; "by itself" fits the
rows of each fold apart, as for splits that share no parts; "decomposed" decomposes the equations without each
query and takes no steps. A path is `alpha_path` over the grid of a search, with a proof at every alpha. Real
data are added if RANKWISE_DATA names a folder that has them (OHSUMED, California housing). One thread;
--threads compares it with two, in seconds of the clock. The record is benchmarks/results/tuning.json.
"""

import argparse
import gzip
import json
import os
import re
import warnings
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from unittest import mock

import numpy as np
from rank_svm import graded_rows
from records import compact
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from timing import best_times

from rankwise import RankLogistic, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.model_selection import alpha_path, query_weights

SEARCHES = {
    "hinge": (RankSVMCV(), RankSVM()),
    "hinge, certified": (RankSVMCV(solver="bundle"), RankSVM()),
    "squared hinge": (RankSVMCV(loss="squared_hinge"), RankSVM(loss="squared_hinge")),
    "squared hinge, certified": (
        RankSVMCV(loss="squared_hinge", solver="newton"),
        RankSVM(loss="squared_hinge"),
    ),
    "least squares, folds": (RankRLSCV(cv=5), RankRLS()),
    "least squares, by itself": (RankRLSCV(cv=5), RankRLS()),
    "each query left out": (RankRLSCV(cv="leave-query-out"), RankRLS()),
    "each query, decomposed": (RankRLSCV(cv="leave-query-out"), RankRLS()),
}
PATHS = {
    "hinge": RankSVM(),
    "squared hinge": RankSVM(loss="squared_hinge"),
    "logistic": RankLogistic(),
    "least squares": RankRLS(),
}
TOLERANCES = (1e-2, 1e-3)
HERE = Path(__file__).parent
RECORD = HERE / "results" / "tuning.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
# The searches of the page, and the slow way of each.
SHOWN = {
    "hinge": "hinge, certified",
    "squared hinge": "squared hinge, certified",
    "least squares, folds": "least squares, by itself",
    "each query left out": "each query, decomposed",
}


def read(path):
    with gzip.open(path) as file:
        return load_svmlight_file(file, query_id=True)


def real_data(folder):
    """Yield the sets at hand: name, rows, labels and queries."""
    ohsumed = [read(path) for path in sorted(folder.glob("letor2_ohsumed/S*.txt.gz"))]
    if ohsumed:
        X, y, qid = zip(*ohsumed, strict=True)
        yield "OHSUMED", np.vstack([part.toarray() for part in X]), np.concatenate(y), np.concatenate(qid)
    for path in folder.glob("cadata/cadata.svm.gz"):
        X, y, _ = read(path)
        yield "California housing", StandardScaler().fit_transform(X.toarray()), y, None


def cpu_seconds(task):
    start = process_time()
    found = task()
    return process_time() - start, found


def least_seconds(first, second):
    """CPU seconds of two tasks in turn, the least of three rounds, or of one where that takes seconds.

    The second one is made after the first has run.
    """
    rounds = []
    while len(rounds) < 3 and sum(map(sum, rounds)) < 3.0:
        rounds.append((cpu_seconds(first)[0], cpu_seconds(second())[0]))
    return map(min, zip(*rounds, strict=True))


def table(name, X, y, qid):
    """Print and return the CPU seconds of each search, and of a fit with the alpha that it chose."""
    found = {}
    queries = 1 if qid is None else len(np.unique(qid))
    print(f"\n{name}: {X.shape[0]:,} x {X.shape[1]} rows, queries: {queries:,}")
    print(f"{'':<26}{'a fit, s':>10}{'search, s':>11}{'in fits':>9}{'alpha':>10}{'error':>10}")
    for label, (search, fit) in SEARCHES.items():
        if queries == 1 and "each query" in label:
            continue
        slow = {"by itself": (RankRLS, "fold_equations"), "decomposed": (query_weights, "_weights_by_steps")}
        with ExitStack() as patches:
            for place in (place for words, place in slow.items() if words in label):
                patches.enter_context(mock.patch.object(*place, lambda *arguments: None))
            seconds, one = least_seconds(
                partial(search.fit, X, y, qid=qid),
                lambda search=search, fit=fit: partial(
                    fit.set_params(alpha=search.alpha_).fit, X, y, qid=qid
                ),
            )
        error = search.cv_errors_.reshape(len(search.alphas_), -1).mean(axis=1).min()
        times = f"{one:>10.2f}{seconds:>11.2f}{seconds / one:>9.1f}"
        print(f"{label:<26}{times}{search.alpha_:>10.1e}{error:>10.5f}", flush=True)
        found[label] = {"search": round(seconds, 3), "fit": round(one, 4)}
    return {"rows": X.shape[0], "features": X.shape[1], "queries": queries, "searches": found}


def path_table(X, y, qid):
    """Fits that a path with a proof at every alpha takes, and its price in fits of its smallest alpha."""
    found = []
    print(f"{'a path':<16}{'tol':>7}{'alphas':>18}{'fits':>6}{'path, s':>9}{'last, s':>9}{'in those':>9}")
    for (label, model), tol in product(PATHS.items(), TOLERANCES):
        seconds, path = cpu_seconds(partial(alpha_path, model, X, y, qid=qid, tol=tol))
        alphas = path.alphas
        smallest = clone(model).set_params(alpha=alphas[-1], tol=tol)
        last, _ = cpu_seconds(partial(smallest.fit, X, y, qid=qid))
        ends = f"{alphas[0]:.1e}..{alphas[-1]:.0e}"
        times = f"{seconds:>9.2f}{last:>9.2f}{seconds / last:>9.1f}"
        print(f"{label:<16}{tol:>7.0e}{ends:>18}{len(alphas):>6}{times}", flush=True)
        found.append(
            {
                "loss": label,
                "tol": tol,
                "fits": len(alphas),
                "path": round(seconds, 3),
                "last": round(last, 4),
            }
        )
    return found


def thread_table(X, y, qid):
    """Searches with one thread and with two, by the clock, in turn."""
    print(f"{'seconds of the clock':<26}{'1 thread':>10}{'2 threads':>11}{'faster':>9}")
    for label in ("hinge", "squared hinge", "least squares, folds"):
        searches = {n: clone(SEARCHES[label][0]).set_params(n_jobs=n) for n in (1, 2)}
        best = best_times({n: partial(search.fit, X, y, qid=qid) for n, search in searches.items()}, 3)
        print(f"{label:<26}{best[1]:>10.2f}{best[2]:>11.2f}{best[1] / best[2]:>9.2f}", flush=True)


def search_rows(record):
    """Return the rows of the table of searches."""
    for name, one in record["sets"].items():
        queries = f", {one['queries']:,} queries" if one["queries"] > 1 else ""
        head = f"{name}, {one['rows']:,} x {one['features']}{queries}"
        for label, slow in SHOWN.items():
            if label in one["searches"]:
                pair = (one["searches"][label], one["searches"][slow])
                cells = (f"{way['search']:.2f} | {way['search'] / way['fit']:.1f}" for way in pair)
                yield f"| {head} | {label} | {' | '.join(cells)} |"
                head = ""


def path_rows(record):
    """Return the rows of the table of paths."""
    for one in record["paths"]:
        times = f"{one['path']:.2f} | {one['path'] / one['last']:.1f}"
        yield f"| {one['loss']} | {one['tol']:g} | {one['fits']} | {times} |"


def write_tables():
    """Put the tables into the page, in place of those that are there."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    tables = {
        "searches": (
            "| rows | search | seconds | in fits | slow way: seconds | in fits |\n|---|---|--:|--:|--:|--:|",
            search_rows(record),
        ),
        "paths": (
            "| loss | tol | fits | seconds | in fits of the smallest alpha |\n|---|--:|--:|--:|--:|",
            path_rows(record),
        ),
    }
    page = PAGE.read_text(encoding="utf-8")
    for name, (head, rows) in tables.items():
        block = f"<!-- {name} -->\n\n" + "\n".join([head, *rows]) + "\n\n<!-- end -->"
        pattern = rf"<!-- {name} -->.*?<!-- end -->"
        page, n_tables = re.subn(pattern, lambda _, new=block: new, page, flags=re.DOTALL)
        assert n_tables == 1, f"the page has no place for {name}, or several"
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="24,000 rows")
    parser.add_argument("--threads", action="store_true", help="one thread against two, nothing else")
    parser.add_argument("--table", action="store_true", help="write the tables of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        return write_tables()
    warnings.simplefilter("ignore")
    made = graded_rows(24_000 if options.quick else 240_000)
    if options.threads:
        return thread_table(*made)
    with threadpool_limits(1):
        record = {"sets": {"Made": table("Made", *made)}, "paths": path_table(*made)}
        for name, *rows in real_data(Path(os.environ.get("RANKWISE_DATA", "no folder"))):
            record["sets"][name] = table(name, *rows)
    if not options.quick:
        RECORD.write_text(compact(record), encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
