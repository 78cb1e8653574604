"""`rankwise rank`: positions of rows within their queries, with their ranges given the training data."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.cli import arguments
from rankwise.cli.data import check_data_options, read_data, take_columns_of
from rankwise.cli.models import load_any_model
from rankwise.cli.output import Console, for_stream
from rankwise.cli.predict import opened
from rankwise.cli.row_names import add_id_option
from rankwise.cli.scores import csv_lines
from rankwise.cli.summary import Training, add_inference_options
from rankwise.core.text import plural
from rankwise.data.rows import some_rows
from rankwise.estimators.through_pipeline import rank

EXAMPLE = """  rankwise rank model.json new.csv --qid query -o ranks.csv
  rankwise rank model.json new.csv --ranges train.csv --label grade --qid query
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "rank",
        "model data [data ...] [--ranges training] [-o ranks] [options]",
        run,
        "write the position of each row, and the range of positions",
        "Write the position of each row within its query as CSV, with the names of rows if the data contain "
        "them. Positions count from 1 for the best; the function `rank` of Python counts from 0. With "
        "--ranges, also the best and the worst position that a linear model might assign if it were fitted "
        "to other data of the same kind: all ranges of a query hold simultaneously with the probability of "
        "--confidence.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("model", "data", "ranges"), writes=("output",), to_standard_output=True)
    parser.add_argument("model", help="file of the model")
    parser.add_argument("data", nargs="+", help="files with the rows")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="file of the positions (default: standard output)"
    )
    parser.add_argument("--ranges", metavar="FILE", help="the training data, for ranges of a linear model")
    add_inference_options(parser)
    arguments.add_data_options(parser)
    add_id_option(parser)


def run(options: argparse.Namespace, console: Console) -> None:
    """Load, read, rank, write."""
    start = perf_counter()
    check_data_options(options, label_needed=options.ranges is not None)
    model = load_any_model(options.model)
    rows = argparse.Namespace(**(vars(options) | {"label": None}))
    take_columns_of([model], rows)
    data = read_data(rows)
    X = data.rows_for(model)
    columns: dict[str, Any] = {} if data.names is None else {"id": data.names}
    columns["position"] = rank(model, X, data.qid) + 1
    if options.ranges is not None:
        found = Training(argparse.Namespace(**(vars(options) | {"id": None})), [options.ranges]).inference()
        columns["best"], columns["worst"] = ranges_within(found, X, data.qid, options.confidence)
    console.taken = options.output == "-"
    text = csv_lines([list(columns), *zip(*columns.values(), strict=True)])
    with opened(options.output) as file:
        file.write(for_stream(file, text))
    n_rows = int(np.shape(X)[0])
    values = {
        "command": "rank", "rows": n_rows, "ranks": options.output, "seconds": perf_counter() - start
    }  # fmt: skip
    if console.as_json or not console.taken:
        console.result(values, [f"{plural(n_rows, 'position')} written to {options.output}"])


def ranges_within(found: Any, X: Any, qid: Any, confidence: float) -> tuple[Any, Any]:
    """Return the best and the worst position of each row within its query, 1 for the first."""
    n_rows = X.shape[0]
    query = np.zeros(n_rows) if qid is None else np.asarray(qid)
    best, worst = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    for one in np.unique(query):
        rows = np.flatnonzero(query == one)
        ranges = found.rank_ranges(some_rows(X, rows), confidence)
        best[rows], worst[rows] = (ends + 1 for ends in ranges)
    return best, worst
