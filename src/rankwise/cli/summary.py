"""`rankwise summary`: the weights of a linear model with standard errors, intervals and p-values."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.cli import arguments
from rankwise.cli.data import check_data_options, read_data, separator_of, take_columns_of
from rankwise.cli.models import load_any_model
from rankwise.cli.output import Console
from rankwise.estimators.through_pipeline import inference
from rankwise.io.tables import read_text_columns

EXAMPLE = """  rankwise train train.csv --label grade --qid query --method rank-logistic -o model.json
  rankwise summary model.json train.csv --label grade --qid query
  rankwise summary model.json visits.csv --label pain --cluster patient --debias
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "summary",
        "model data [data ...] [--cluster COLUMN] [options]",
        run,
        "print the weights of a linear model with standard errors",
        "Print the weights of a linear model with standard errors, confidence intervals and p-values. The "
        "data must be those that the model was trained on. Queries are taken as independent or, without "
        "queries, rows; --cluster names a column with what rows have in common.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("model", "data"))
    parser.add_argument("model", help="file of the model")
    parser.add_argument("data", nargs="+", help="files with the rows and labels of the training")
    add_inference_options(parser)
    parser.add_argument("--debias", action="store_true", help="remove most of the bias by the penalty")
    arguments.add_survival_option(parser)
    arguments.add_data_options(parser)


def add_cluster_option(parser: argparse.ArgumentParser) -> None:
    """Add the option of what is independent."""
    parser.add_argument(
        "--cluster", metavar="COLUMN", help="column of what rows have in common, such as a patient (tables)"
    )


def add_inference_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of what is independent, and of the level."""
    add_cluster_option(parser)
    parser.add_argument(
        "--level",
        type=arguments.LEVEL,
        default=0.95,
        help="confidence level of the intervals (default: 0.95)",
    )


def run(options: argparse.Namespace, console: Console) -> None:
    """Load, read, infer, print."""
    start = perf_counter()
    found = inference_of(options, debias=options.debias)
    summary = found.summary(options.level)
    values = {
        "command": "summary",
        "alpha": found.alpha,
        "pairs": found.n_pairs,
        "unit": found.unit,
        "units": found.n_units,
        "level": options.level,
        "debiased": found.is_debiased,
        "weights": summary.as_dicts(),
        "seconds": perf_counter() - start,
    }
    console.result(values, str(summary).split("\n"))


def inference_from(training: list[str], options: argparse.Namespace) -> Any:
    """Return the inference of the model of a command, given files of its training data."""
    return inference_of(argparse.Namespace(**(vars(options) | {"data": training})))


def inference_of(options: argparse.Namespace, **more: Any) -> Any:
    """Return the inference of the model of a command whose data are the training data."""
    check_data_options(options)
    model = load_any_model(options.model)
    take_columns_of([model], options)
    data = read_data(options)
    return inference(model, data.rows_for(model), data.y, qid=data.qid, cluster=clusters_of(options), **more)


def clusters_of(options: argparse.Namespace) -> Any:
    """Return the cluster of each row, or None."""
    if options.cluster is None:
        return None
    name, separator = options.cluster, separator_of(options)
    parts = [read_text_columns(path, [name], separator)[name] for path in options.data]
    return np.array([str(value) for part in parts for value in part])
