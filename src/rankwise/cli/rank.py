"""`rankwise rank`: positions of rows within their queries, with the range that the training data allow."""

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
        "Write the position of each row within its query, 1 for the best, as CSV, with the names of rows if "
        "the data has them. With --ranges, also the "
        "best and the worst position that a linear model may give the row if it were fitted to other data of "
        "the same kind: the ranges of a query hold together with the confidence of --level.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("model", "data", "ranges"), writes=("output",), to_standard_output=True)
    parser.add_argument("model", help="file of the model")
    parser.add_argument("data", nargs="+", help="files with the rows")
    parser.add_argument(
        "-o", "--output", default="-", help="file of the positions (default: standard output)"
    )
    parser.add_argument(
        "--ranges", metavar="TRAINING", help="the training data, for ranges of a linear model"
    )
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
        columns["best"], columns["worst"] = ranges_within(found, X, data.qid, options.level)
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


def ranges_within(found: Any, X: Any, qid: Any, level: float) -> tuple[Any, Any]:
    """Return the best and the worst position of each row within its query, 1 for the first."""
    n_rows = X.shape[0]
    query = np.zeros(n_rows) if qid is None else np.asarray(qid)
    best, worst = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    for one in np.unique(query):
        rows = np.flatnonzero(query == one)
        ranges = found.rank_ranges(some_rows(X, rows), level)
        best[rows], worst[rows] = (ends + 1 for ends in ranges)
    return best, worst
