"""Two versions of rankwise, one fit of each in turn: ratios of the shortest CPU times.

    python benchmarks/side_by_side.py OLD/.venv/bin/python NEW/.venv/bin/python --output ratios.json
    python benchmarks/side_by_side.py OLD NEW --only "hinge" --repeats 40
    python benchmarks/side_by_side.py OLD NEW --only "pairs x" --output benchmarks/results/wide_pairs.json

Each interpreter runs in its own process, which makes the data once and waits its turn, so both versions
see the same machine. For an idle machine; the fits use one thread.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from records import compact

REPEATS, MIN_SECONDS, MAX_SECONDS = 15, 0.5, 12.0


def fits():
    """Return the fits to compare by name, each a function without arguments. Runs in both versions."""
    import numpy as np
    from sklearn.base import clone

    from rankwise import (
        BradleyTerry,
        CurveRanker,
        CurveRankerCV,
        HullRanker,
        OrdinalSVM,
        OrdinalSVMCV,
        RankLogistic,
        RankLogisticCV,
        RankRLS,
        RankRLSCV,
        RankSVM,
        RankSVMCV,
        pair_data,
    )
    from rankwise.datasets import make_ranking, make_text_ranking

    found = {}

    def add(name, model, *data, **arguments):
        found[name] = lambda: clone(model).fit(*data, **arguments)

    losses = {
        "hinge": RankSVM(n_jobs=1),
        "squared hinge": RankSVM(loss="squared_hinge", n_jobs=1),
        "logistic": RankLogistic(n_jobs=1),
        "least squares": RankRLS(n_jobs=1),
    }
    for rows, features, queries in ((60, 4, 6), (1_000, 10, 50), (20_000, 30, 400), (100_000, 20, 2_000)):
        X, y, qid = make_ranking(rows, features, n_queries=queries, n_levels=5, noise=0.5, random_state=0)
        for name, model in losses.items():
            add(f"{name}, {rows:,} x {features} in {queries:,} queries", model, X, y, qid=qid)
    X, y, qid = make_ranking(24_000, 136, n_queries=200, n_levels=5, noise=0.5, random_state=0)
    searches = {
        "hinge": RankSVMCV(n_jobs=1),
        "squared hinge": RankSVMCV(loss="squared_hinge", n_jobs=1),
        "logistic": RankLogisticCV(n_jobs=1),
        "least squares": RankRLSCV(n_jobs=1),
    }
    for name, model in searches.items():
        add(f"{name}, search, 24,000 x 136", model, X, y, qid=qid)
    X, y, qid = make_ranking(240_000, 136, n_queries=2_000, n_levels=5, noise=0.5, random_state=0)
    for name, model in searches.items():
        add(f"{name}, search, 240,000 x 136", model, X, y, qid=qid)
    X, y = make_ranking(20_000, 30, n_levels=5, noise=0.5, random_state=0)
    add("ordinal, search, 20,000 x 30", OrdinalSVMCV(n_jobs=1), X, y)
    add("curves, search, 20,000 x 30", CurveRankerCV(n_jobs=1), X, y)
    X, y = make_ranking(1_500, 8, noise=0.5, random_state=0)
    for name, model in losses.items():
        add(f"{name}, rbf, 1,500 rows", clone(model).set_params(kernel="rbf"), X, y)
        reduced = clone(model).set_params(kernel="rbf", n_components=200, random_state=0)
        add(f"{name}, rbf, 200 of 1,500 rows", reduced, X, y)
    learned = {"kernel": "laplacian", "gamma": "learned", "n_components": 200, "random_state": 0}
    add("least squares, learned kernel, 1,500 rows", RankRLS("learned", **learned), X, y)
    add("curves, 1,500 rows", CurveRanker(), X, y)
    grades = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    add("ordinal, 1,500 rows", OrdinalSVM(), X, grades)
    add("hull, 1,500 rows", HullRanker(), X, grades)
    X, y = make_text_ranking(64_000, random_state=0)
    for name in ("hinge", "squared hinge", "logistic"):
        add(f"{name}, text, 64,000 rows", clone(losses[name]).set_params(alpha=1e-5), X, y)
    rng = np.random.default_rng(0)
    for n_pairs, n_features in ((2_000, 256), (5_000, 768)):
        first, second = rng.normal(size=(2, n_pairs, n_features))
        chosen = (first - second) @ rng.normal(size=n_features) / np.sqrt(n_features) > rng.logistic(
            size=n_pairs
        )
        votes = pair_data(np.where(chosen[:, None], first, second), np.where(chosen[:, None], second, first))
        for alpha in (1e-1, 1e-2) if n_pairs == 2_000 else (1e-1,):
            add(f"hinge, alpha {alpha:g}, {n_pairs:,} pairs x {n_features}", RankSVM(alpha, n_jobs=1), *votes)
        add(f"logistic, search, {n_pairs:,} pairs x {n_features}", RankLogisticCV(n_jobs=1), *votes)
        add(f"hinge, search, {n_pairs:,} pairs x {n_features}", RankSVMCV(n_jobs=1), *votes)
    winner, loser = rng.integers(100, size=(2, 100_000))
    loser = np.where(loser == winner, (loser + 1) % 100, loser)
    add("Bradley-Terry, 100,000 matches", BradleyTerry(), winner, loser)
    return found


def serve():
    """Run fits by name, as standard input asks for them, and print the CPU seconds of each."""
    import warnings
    from time import process_time

    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        known = fits()
        print(json.dumps(list(known)), flush=True)
        for line in sys.stdin:
            start = process_time()
            known[line.strip()]()
            print(process_time() - start, flush=True)


class Version:
    """One interpreter that fits when it is asked to."""

    def __init__(self, python):
        command = [python, __file__, "--serve"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names = json.loads(self._read())

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("A version ended early; its error is above.")
        return line

    def seconds(self, name):
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return float(self._read())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def compare(old, new, name, repeats):
    """Return the shortest times of the old and the new version; quick fits are repeated more often."""
    versions, times = (old, new), ([], [])
    for version in versions:
        version.seconds(name)
    while len(times[0]) < repeats or (sum(times[0]) < MIN_SECONDS and len(times[0]) < 40 * repeats):
        order = (0, 1) if len(times[0]) % 2 else (1, 0)
        for which in order:
            times[which].append(versions[which].seconds(name))
        if sum(times[0]) > MAX_SECONDS and len(times[0]) >= 3:
            break
    return min(times[0]), min(times[1])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", nargs="?", default=sys.executable, help="the interpreter of the old version")
    parser.add_argument("new", nargs="?", default=sys.executable, help="the interpreter of the new version")
    parser.add_argument("--only", default="", help="fits whose names contain this")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--quick", action="store_true", help="the smallest fits, three times each")
    parser.add_argument("--output", type=Path, help="write the ratios as JSON")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    old, new = Version(options.old), Version(options.new)
    only, repeats = (", 60 x", 3) if options.quick else (options.only, options.repeats)
    found = {}
    print(f"{'':<52}{'old, ms':>10}{'new, ms':>10}{'new / old':>11}", flush=True)
    for name in (name for name in new.names if only in name):
        before, after = compare(old, new, name, repeats)
        found[name] = {"old_ms": 1e3 * before, "new_ms": 1e3 * after, "ratio": after / before}
        print(f"{name:<52}{1e3 * before:>10.2f}{1e3 * after:>10.2f}{after / before:>11.3f}", flush=True)
    old.close(), new.close()
    if options.output is not None:
        options.output.write_text(compact(found))


if __name__ == "__main__":
    main()
