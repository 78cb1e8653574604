"""`rankwise tune`: compare alphas by cross-validation over queries."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

from rankwise.cli import arguments, model_options, train
from rankwise.cli.clicks import add_click_options, click_lines
from rankwise.cli.dask import add_dask_option, check_dask_options, dask_client
from rankwise.cli.data import check_data_options
from rankwise.cli.models import recipe_of
from rankwise.cli.output import Console
from rankwise.cli.parser import common
from rankwise.cli.training import check_output, learn, require_rows
from rankwise.cli.training_report import choice_lines, choice_values, report_lines, report_values

EXAMPLE = """  rankwise tune train.txt --alphas 1,0.1,0.01,0.001 --folds 10
  rankwise tune train.txt --method rank-rls -o model.json
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "tune",
        "data [data ...] [-o model] [options]",
        run,
        "compare alphas by cross-validation",
        "Print a metric of each alpha (boosted: size of the trees or, with --n-estimators, their number) on "
        "held-out queries, with its mean and standard deviation over folds. The default is the ranking "
        "error, for rank-logistic the log loss of pairs, and for ordinal-svm the mean absolute error of "
        "predicted ranks.",
        EXAMPLE,
        help_levels="METHOD|all",
    )
    parser.set_defaults(reads=("data", "valid"), writes=("output",), checkpoints=True)
    parser.add_argument("data", nargs="+", help="files with the training rows")
    parser.add_argument(
        "-o", "--output", metavar="FILE",
        help=common("file for the model of the best alpha, fitted to all rows"),
    )  # fmt: skip
    model_options.add_model_options(parser)
    model_options.add_selection_options(parser)
    model_options.add_checkpoint_options(parser)
    add_dask_option(parser)
    data = arguments.add_data_options(parser, width=True)
    arguments.add_survival_option(data)
    model_options.add_pairs_options(data)
    add_click_options(parser)


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, cross-validate and fit the best model; with -o, write it."""
    check_data_options(options)
    check_dask_options(options)
    recipe = recipe_of(options)
    check_output(options.output)
    with dask_client(options, console):
        start = perf_counter()
        data = train.read_rows(options)
        reading = perf_counter() - start
        require_rows(data)
        compare(options, console, recipe, data, reading)


def compare(options: argparse.Namespace, console: Console, recipe: Any, data: Any, reading: float) -> None:
    """Cross-validate, fit and report; with -o, write the model. `reading` has the seconds it took to read."""
    outcome = learn(options, console, recipe, data, tune=True)
    lines = choice_lines(outcome.choice, recipe.tuned)
    if options.output is None:
        values = {"rows": len(data.y), "queries": data.n_queries, "method": options.method}
        values |= choice_values(outcome.choice, recipe.tuned)
    else:
        values = report_values(options, data, outcome, reading)
        train.save(options, data, outcome)
        lines += ["", *report_lines(values), *click_lines(data.y)]
        values |= values.pop("cross_validation")
    console.result({"command": "tune"} | values, lines)
