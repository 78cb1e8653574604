"""`rankwise train`: fit a model to data files and write it to a file."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

from rankwise.cli import arguments, model_options, training_report
from rankwise.cli.arguments import UsageError
from rankwise.cli.auto import add_auto_options, check_auto_options, train_auto
from rankwise.cli.checkpoint import RunCheckpoint
from rankwise.cli.clicks import add_click_options, click_lines
from rankwise.cli.dask import add_dask_option, check_dask_options, dask_client, read_partitions
from rankwise.cli.data import check_data_options, read_data
from rankwise.cli.mixed import rows_like
from rankwise.cli.models import check_validation, ranker_class, recipe_of, save_any_model
from rankwise.cli.output import Console
from rankwise.cli.scores import dense_if_shifted
from rankwise.cli.training import check_output, learn, require_rows
from rankwise.core.pipelines import before_last_step
from rankwise.io.table_formats import NotNumbersError

EXAMPLE = """  rankwise train train.txt -o model.json --alpha 0.001
  rankwise train train.txt.gz -o model.json --tune --scale standard
  rankwise train train.csv -o model.json --label grade --qid query --method rank-rls
  rankwise train wines.csv -o model.json --label rating --method boosted    (strings, dates, missing values)
  rankwise train wines.csv -o model.json --label rating --method kernel     (no parameter to tune)
  rankwise train wines.csv -o model.json --label rating --method auto --time 60   (tries several models)
  rankwise train patients.csv -o model.json --survival months,died --qid hospital
  rankwise train answers.parquet -o model.json --pairs chosen_,rejected_ --qid prompt
  rankwise train log.csv -o model.json --clicked click --position rank --qid query --document doc
  rankwise train train.txt -o model.json --resume        (continue after Ctrl-C or a crash)
  rankwise train 'part-*.txt.gz' -o model.json --dask    (data larger than memory)
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "train",
        "data [data ...] -o model [options]",
        run,
        "fit a model to data files",
        "Learn to rank from svmlight/LETOR files (plain or .gz, .bz2, .xz, .zst; - is standard input), CSV "
        "or Parquet, and write the model. Long runs write checkpoints beside the model.",
        EXAMPLE,
        help_levels="METHOD|all",
    )
    parser.set_defaults(reads=("data", "valid", "calibration_data"), writes=("output",), checkpoints=True)
    parser.add_argument("data", nargs="+", help="files with the training rows")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="file of the model")
    model_options.add_model_options(parser, more=("auto",), fits=True)
    add_auto_options(parser)
    model_options.add_selection_options(parser)
    model_options.add_checkpoint_options(parser)
    add_dask_option(parser)
    data = arguments.add_data_options(parser, width=True)
    arguments.add_survival_option(data)
    model_options.add_pairs_options(data)
    add_click_options(parser)


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, fit, write, report."""
    check_auto_options(options)
    if options.method == "auto":
        return search(options, console)
    if options.metric is not None and not (options.tune or ends_early(options)):
        raise UsageError("--metric is for the choice of alpha; use it with --tune.")
    check_data_options(options)
    check_dask_options(options)
    check_validation(options)
    recipe = recipe_of(options)
    if options.calibration_data is not None and not hasattr(recipe.ranker(), "calibrate"):
        raise UsageError(
            f"--calibration-data cannot be used with --method {options.method}, which has no probabilities."
        )
    check_output(options.output)
    with dask_client(options, console):
        start = perf_counter()
        data = read_rows(options)
        reading = perf_counter() - start
        require_rows(data)
        outcome = learn(options, console, recipe, data, options.tune)
        if options.calibration_data is not None:
            calibrate(outcome, data, options)
        values = training_report.report_values(options, data, outcome, reading)
    save(options, data, outcome)
    console.result(
        {"command": "train"} | values, [*training_report.report_lines(values), *click_lines(data.y)]
    )


def ends_early(options: argparse.Namespace) -> bool:
    """Return whether a measure of held-out rows ends the fit of the method."""
    return "early_stopping" in ranker_class(options.method)().get_params(deep=False)


def search(options: argparse.Namespace, console: Console) -> None:
    """Read, try several models, write the chosen one, report."""
    check_data_options(options)
    check_output(options.output)
    start = perf_counter()
    data = read_data(options, options.n_features)
    require_rows(data)
    train_auto(options, console, data, perf_counter() - start)


def read_rows(options: argparse.Namespace) -> Any:
    """Read the rows into memory or, with --dask, onto the workers, which take numbers alone."""
    if options.dask is None:
        return read_data(options, options.n_features)
    try:
        return read_partitions(options)
    except NotNumbersError as error:
        raise ValueError(f"{error} --dask takes numbers without missing values; train without it.") from None


def calibrate(outcome: Any, data: Any, options: argparse.Namespace) -> None:
    """Fit the temperature to held-out rows, which are read like the training rows."""
    given = {"data": options.calibration_data, "features": data.feature_names or options.features}
    given["as_text"] = data.kinds is not None
    rows = read_data(argparse.Namespace(**(vars(options) | given)), known=int(outcome.ranker.n_features_in_))
    X = before_last_step(outcome.model, dense_if_shifted(outcome.model, rows_like(data, rows)), rows.qid)
    outcome.ranker.calibrate(X, rows.y, qid=rows.qid)


def save(options: argparse.Namespace, data: Any, outcome: Any) -> None:
    """Write the model and delete its checkpoint."""
    metadata = {"method": options.method, "alpha": outcome.alpha, "rows": len(data.y)}
    names = None if hasattr(outcome.model, "feature_names_in_") else data.feature_names
    save_any_model(outcome.model, options.output, feature_names=names, metadata=metadata)
    RunCheckpoint(options.output, "", 0.0).delete()
