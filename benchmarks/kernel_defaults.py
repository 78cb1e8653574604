"""Kernels without tuning over many sets: the losses and kernels of KernelRanker, and defaults of rbf kernels.

    python benchmarks/kernel_defaults.py            # all sets: about ten minutes; writes the record
    python benchmarks/kernel_defaults.py --only wine stock --record /tmp/some.json
    python benchmarks/kernel_defaults.py --table    # the tables of docs/benchmarks.md from the record

The sets are those of `suite.py` with dense rows and, if RANKWISE_DATA has them, forest cover types; features
are scaled to a standard deviation of 1. Up to 3,000 rows (1,000 for rbf kernels) are learned from, and three
tenths of each set are held out, in two splits. The tuned rbf kernel has the alpha and the gamma, among seven
and five, with the lowest error on the rows held out, so that it is better than any tuning could be. The
record lists the sets that were run; it lacks forest cover and the unscaled grades of abalone.
"""

import argparse
import datetime
import itertools
import json
import logging
import re
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from kernels import table_rows
from reproduce.data import Data, MissingDataError
from sklearn.preprocessing import StandardScaler
from suite import SPLITS, Task, tasks, test_error
from threadpoolctl import threadpool_limits

import rankwise
from rankwise import KernelRanker, RankSVM

RESULTS = Path(__file__).parent / "results" / "kernel_defaults.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
LEARNED_ROWS, RBF_ROWS, TEST_ROWS = 3000, 1000, 6000
# Sets that are left out: twenty rows, and hundreds of columns or single pairs, which are for linear models.
OTHERS = ("linnerud", "text", "regression, wide", "search, 24,000 x 136", "reward head", "answers")
LEARNED = {
    "`KernelRanker()`": KernelRanker(),
    "`kernel='laplacian'`": KernelRanker(kernel="laplacian"),
    "`kernel='exponential'`": KernelRanker(kernel="exponential"),
    "`kernel='rbf'`": KernelRanker(kernel="rbf"),
    "`loss='hinge'`": KernelRanker("hinge"),
    "`loss='logistic'`": KernelRanker("logistic"),
    "`loss='least_squares'`": KernelRanker("least_squares"),
}
RBF = {
    "default": RankSVM(kernel="rbf"),
    "`alpha='auto'`": RankSVM("auto", kernel="rbf"),
    "`gamma='median'`": RankSVM(kernel="rbf", gamma="median"),
    "`alpha='auto', gamma='median'`": RankSVM("auto", kernel="rbf", gamma="median"),
}
TUNED = "tuned on the rows held out"
WIDTHS, ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0), 10.0 ** -np.arange(1, 8)


def forest():
    X, y = table_rows("covtype", Data())
    rows = np.random.default_rng(5).permutation(len(y))[:12_000]
    return Task(X[rows], y[rows])


def sets():
    return {name: make for name, make in tasks().items() if name not in OTHERS} | {"forest cover": forest}


def drawn(task, n_rows):
    """Some rows at random, or whole queries or pairs."""
    if task.X.shape[0] <= n_rows:
        return task
    if len(np.unique(task.units)) < len(task.units):
        return task.first(n_rows)
    return task.taken(np.random.default_rng(0).permutation(task.X.shape[0])[:n_rows])


def measured(model, train, test):
    """The error on the rows held out, and the CPU seconds of the fit."""
    start = process_time()
    model.fit(train.X, train.y, **train.arguments())
    return [float(f"{figure:.4g}") for figure in (test_error(model, test), process_time() - start)]


def tuned(train, test):
    """The lowest error of a grid on the rows held out, and the CPU seconds of all of its fits."""
    n_features = train.X.shape[1]
    found = [
        measured(RankSVM(alpha, kernel="rbf", gamma=width / n_features, tol=1e-2), train, test)
        for width, alpha in itertools.product(WIDTHS, ALPHAS)
    ]
    return [min(error for error, _ in found), float(f"{sum(seconds for _, seconds in found):.4g}")]


def run(name):
    """The entry of a set: error and seconds of each model in each split."""
    task = sets()[name]()
    task.X = StandardScaler().fit_transform(task.X)
    found = {}
    for split, seed in SPLITS.items():
        train, test = task.split(seed)
        test = drawn(test, TEST_ROWS)
        many, few = drawn(train, LEARNED_ROWS), drawn(train, RBF_ROWS)
        entry = {title: measured(model, many, test) for title, model in LEARNED.items()}
        entry |= {f"rbf, {title}": measured(model, few, test) for title, model in RBF.items()}
        entry[f"rbf, {TUNED}"] = tuned(few, test)
        found[split] = entry
        print(f"{name:<26}{split:<8}" + " ".join(f"{error:.4f}" for error, _ in entry.values()), flush=True)
    return found


def write(path, found):
    """Write the record, one line per set."""
    head = json.dumps({"date": datetime.date.today().isoformat(), "version": rankwise.__version__})[1:-1]
    runs = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in found.items())
    path.write_text(f'{{{head}, "runs": {{\n{runs}\n}}}}\n', encoding="utf-8")


def errors(record, title):
    """The error of a model on each set, the mean over splits."""
    runs = record["runs"].values()
    return np.array([np.mean([entry[title][0] for entry in splits.values()]) for splits in runs])


def rows_of(record, titles, best, prefix=""):
    for title in titles:
        error, seconds = (
            errors(record, prefix + title),
            [entry[prefix + title][1] for splits in record["runs"].values() for entry in splits.values()],
        )
        lost = error - best
        figures = " | ".join(f"{figure:.4f}" for figure in (error.mean(), lost.mean(), lost.max()))
        yield f"| {title} | {figures} | {np.median(seconds):.2f} s |"


def markdown(record):
    """The two tables of the page."""
    losses = np.min([errors(record, title) for title in LEARNED], axis=0)
    tuned_rbf = errors(record, f"rbf, {TUNED}")
    line = "|:--|--:|--:|--:|--:|"
    learned = ["| learned kernel | mean error | above the best | at most | median fit |", line]
    rbf = ["| `RankSVM(kernel='rbf')` | mean error | above the tuned one | at most | median fit |", line]
    learned += rows_of(record, LEARNED, losses)
    rbf += rows_of(record, [*RBF, TUNED], tuned_rbf, "rbf, ")
    return ["\n".join(learned), "\n".join(rbf)]


def write_tables():
    """Put the tables into the page, in place of those that are there."""
    page = PAGE.read_text(encoding="utf-8")
    for written in markdown(json.loads(RESULTS.read_text(encoding="utf-8"))):
        begin = re.escape(written.partition("\n")[0])
        page, n_tables = re.subn(
            begin + r".*?\n(?=\n|\Z)", lambda _, text=written: text + "\n", page, flags=re.DOTALL
        )
        assert n_tables == 1, "the page has no such table, or several"
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="SET", help="these sets; no record unless --record")
    parser.add_argument("--table", action="store_true", help="write the tables of the page, nothing else")
    parser.add_argument("--record", type=Path, help="where to write, in place of benchmarks/results")
    options = parser.parse_args()
    if options.table:
        return write_tables()
    warnings.simplefilter("ignore")
    logging.disable()  # hints at features that should be scaled
    path, found = options.record or (None if options.only else RESULTS), {}
    with threadpool_limits(1):
        for name in options.only or sets():
            try:
                found[name] = run(name)
            except MissingDataError as error:
                print(f"{name} is left out: {error}")
            if path is not None:
                write(path, found)


if __name__ == "__main__":
    main()
