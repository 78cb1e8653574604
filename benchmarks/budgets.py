"""Does `AutoRanker` keep its budget? Seconds of fits at several sizes, as a share of the budget.

    python benchmarks/budgets.py                # some minutes; writes a record
    python benchmarks/budgets.py --quick        # the smallest sizes and budgets; writes nothing
    python benchmarks/budgets.py --table        # the table of docs/benchmarks.md from the record

Tables have 51 columns, of which ten matter, some of them with bends or together.
"""

import argparse
import json
from pathlib import Path
from time import perf_counter

import numpy as np
from lightgbm import LGBMRegressor
from records import compact, markdown, with_block

from rankwise import AutoRanker
from rankwise.metrics import ranking_error

RESULTS = Path(__file__).parent / "results" / "budgets.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
SIZES, BUDGETS, N_COLUMNS, N_TEST = (500, 8_000, 100_000, 500_000), (5, 20, 60), 51, 5_000


def table(n_rows):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows + N_TEST, N_COLUMNS))
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] + X[:, 4:10].sum(axis=1) / 2
    return X, y + generator.normal(size=len(y))


def measured(n_rows, budget):
    X, y = table(n_rows)
    start = perf_counter()
    model = AutoRanker(budget).fit(X[:n_rows], y[:n_rows])
    seconds = perf_counter() - start
    trees = LGBMRegressor(verbose=-1).fit(X[:n_rows], y[:n_rows])
    return {
        "seconds": seconds,
        "share": seconds / budget,
        "model": model.best_name_,
        "fitted_rows": model.n_rows_,
        "error": 1 - model.score(X[n_rows:], y[n_rows:]),
        "error_of_lightgbm": float(ranking_error(y[n_rows:], trees.predict(X[n_rows:]))),
    }


def write_table():
    """Put the table into the page."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    header = ["rows, budget", "seconds", "share", "chosen", "fitted rows", "error", "LightGBM's regressor"]
    rows = [
        [
            title,
            f"{of['seconds']:.1f}",
            f"{of['share']:.2f}",
            of["model"],
            f"{of['fitted_rows']:,}",
            f"{of['error']:.4f}",
            f"{of['error_of_lightgbm']:.4f}",
        ]
        for title, of in record.items()
    ]
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_block(page, "budgets", markdown(header, rows)), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the smallest sizes and budgets, no record")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        return write_table()
    record = {}
    for n_rows in SIZES[: 1 if options.quick else None]:
        for budget in BUDGETS[: 1 if options.quick else None]:
            title = f"{n_rows:,} rows, {budget} s"
            record[title] = measured(n_rows, budget)
            print(title, json.dumps(record[title]), flush=True)
            if not options.quick:
                RESULTS.write_text(compact(record), encoding="utf-8")


if __name__ == "__main__":
    main()
