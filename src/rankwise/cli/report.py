"""`rankwise report`: an HTML report on a model and its rankings."""

from __future__ import annotations

import argparse
import os
import shlex
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.cli import arguments
from rankwise.cli.arguments import names
from rankwise.cli.data import Data, check_data_options
from rankwise.cli.mixed import column_kinds, is_mixed
from rankwise.cli.output import Console
from rankwise.cli.row_names import add_id_option
from rankwise.cli.scores import ScoreSource, dense_if_shifted, labels_for, read_for
from rankwise.cli.summary import Training, add_cluster_option
from rankwise.cli.training import check_output
from rankwise.core.pipelines import fitted_columns
from rankwise.io.model_file import model_info
from rankwise.io.model_layout import is_model_file
from rankwise.io.table_columns import ANY_NUMBER
from rankwise.io.table_formats import is_table
from rankwise.io.tables import read_text_columns
from rankwise.report import Report


def add_slice_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the columns."""
    parser.add_argument(
        "--slice",
        type=names,
        metavar="A,B,...",
        help="columns that divide queries or rows, such as a topic: the first metric is shown for each "
        "value, or for quartiles of numbers (tables: any column; svmlight files: features, such as f3)",
    )


def given_slices(options: argparse.Namespace, X: Any) -> Any:
    """Return the columns of tables by name, the names of features of other files, or None."""
    if options.slice is None or not is_table(options.data[0]):
        return options.slice
    columns = _columns(options)
    for name, values in columns.items():
        if len(values) != X.shape[0]:
            raise ValueError(
                f"The column {name!r} of --slice has {len(values)} entries, but the data has {X.shape[0]} "
                "rows."
            )
    return {name: _numbers_or_words(values) for name, values in columns.items()}


def _columns(options: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the columns of all tables as they are written."""
    chosen = list(dict.fromkeys(options.slice))
    tables = [read_text_columns(path, chosen, getattr(options, "sep", None)) for path in options.data]
    return {name: [value for one in tables for value in one[name]] for name in chosen}


def _numbers_or_words(values: list[Any]) -> Any:
    """Return numbers if all entries are numbers or empty, else words.

    Examples
    --------
    >>> _numbers_or_words(["1", None, "2.5"]), _numbers_or_words(["web", None])
    (array([1. , nan, 2.5]), array(['web', 'missing'], dtype='<U7'))
    """
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except ValueError:
        return np.array(["missing" if value is None else str(value) for value in values])


EXAMPLE = """  rankwise report model.json test.txt -o report.html
  rankwise report new.json test.txt -o report.html --compare old.json scores.txt --at 1,5,10
  rankwise report model.json test.csv -o report.html --label grade --qid query --training train.csv
  rankwise report model.json test.csv -o report.html --label grade --qid query --id doc --slice topic
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "report",
        "model data [data ...] -o report.html [--compare model ...] [options]",
        run,
        "write an HTML report on a model",
        "Write an HTML report that opens offline, with metrics and their intervals, the best and worst "
        "queries, the weights, explanations of pairs of rows, and comparisons with other models. With "
        "--training, it contains intervals for the weights of a linear model, or the frequency of their "
        "selection.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("model", "data", "compare", "training"), writes=("output",))
    arguments.add_ranking(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="file of the report")
    parser.add_argument(
        "--compare", nargs="+", default=[], metavar="MODEL", help="other models, or files of scores"
    )
    add_training_options(parser)
    parser.add_argument("--title", help="heading of the report")
    parser.add_argument(
        "--explain",
        type=arguments.value(row_pair, "two row numbers, separated by a comma"),
        metavar="A,B",
        help="two rows of a query to explain first; rows count from 0",
    )
    add_measure_options(parser)
    parser.add_argument(
        "--seed",
        type=arguments.WHOLE,
        default=0,
        metavar="INTEGER",
        help="random seed of resampling (default: 0)",
    )
    arguments.add_survival_option(arguments.add_data_options(parser))
    add_id_option(parser)
    add_slice_option(parser)


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of intervals of weights."""
    parser.add_argument(
        "--training",
        nargs="+",
        metavar="FILE",
        help="the training data, for intervals of the weights, or how often they are selected",
    )
    add_cluster_option(parser)


def add_measure_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of NDCG and MAP."""
    parser.add_argument(
        "--at",
        type=arguments.COUNTS,
        default=[5, 10],
        metavar="K,...",
        help="cutoffs of NDCG (default: 5,10)",
    )
    parser.add_argument(
        "--relevant-at",
        type=arguments.NUMBER,
        metavar="LABEL",
        help="lowest relevant label for MAP (default: labels above 0 are relevant, if they are binary "
        "or grades)",
    )


def row_pair(text: str) -> tuple[int, int]:
    """Read two row numbers."""
    first, second = map(arguments.whole_number, text.split(","))
    return first, second


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, score, measure, write."""
    check_data_options(options)
    check_output(options.output)
    start = perf_counter()
    rankings = [ScoreSource(path) for path in (options.model, *options.compare)]
    certainty = training_certainty(rankings[0], options)
    report = make_report(rankings, read_for(rankings, options), options, certainty)
    report.save(options.output)
    ours = report.measures[report.data.name]
    values = {
        "command": "report",
        "report": options.output,
        "rows": report.data.n_given,
        "queries": report.data.n_queries,
        "headline": report.headline(),
        "baseline": report.baseline(),
        "measures": {one.measure.key: one.as_dict() for one in ours},
        "bytes": os.path.getsize(options.output) if os.path.isfile(options.output) else None,
        "seconds": perf_counter() - start,
    }
    console.result(values, [report.headline(), report.baseline(), f"Written to {options.output}"])


def training_certainty(ranking: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the inference of the model from the files of --training, or how often features are selected."""
    if options.training is None:
        return {}
    if ranking.model is None:
        raise arguments.UsageError(f"--training needs a model, but {ranking.path!r} has scores.")
    training = Training(argparse.Namespace(**(vars(options) | {"id": None})), options.training)
    return {"selection": training.frequencies()} if training.selects else {"inference": training.inference()}


def make_report(
    rankings: list[Any], data: Data, options: argparse.Namespace, certainty: dict[str, Any]
) -> Report:
    """Evaluate the models, which are named by their files."""
    model = rankings[0].model
    first, *others = model_names([ranking.path for ranking in rankings])
    X = data.X if model is None else dense_if_shifted(model, data.rows_for(model))
    return Report(
        rankings[0].scores(data) if model is None else model,
        X,
        labels_for(model, data.y, options),
        data.qid,
        models={name: ranking.scores(data) for name, ranking in zip(others, rankings[1:], strict=True)},
        name=first,
        feature_names=data.feature_names if model is None else fitted_columns(model),
        title=options.title,
        pair=options.explain,
        at=options.at,
        relevant_above=arguments.threshold(options.relevant_at),
        random_state=options.seed,
        about={
            "Model file": options.model,
            "Data file": ", ".join(options.data),
            "Command": shlex.join(["rankwise", *options.arguments]),
        },
        **certainty,
        tried=None if model is None else tried_by(rankings[0].path),
        row_names=data.names,
        slices=given_slices(options, X),
        column_kinds=number_kinds(data.X, model),
    )


def number_kinds(X: Any, model: Any) -> dict[str, str]:
    """Return the kinds of the columns of a table that a model takes as numbers, such as dates."""
    kinds = column_kinds(model) if is_mixed(X) and model is not None else None
    if kinds is None:
        return {}
    names = fitted_columns(model) or list(X.columns)
    numbers = [name for name, kind in zip(names, kinds, strict=True) if kind == ANY_NUMBER]
    found = zip(numbers, X.chosen(numbers).kinds(), strict=True)
    return {name: str(kind) for name, kind in found if kind is not None}


def tried_by(path: str) -> Any:
    """Return the models that a search has tried, from the metadata of a model file, or None."""
    return model_info(path).metadata.get("tried") if is_model_file(path) else None


def model_names(paths: list[str]) -> list[str]:
    """Return the names of files without the suffix of models, unless it distinguishes them.

    Examples
    --------
    >>> model_names(["new.json", "old.json", "scores.txt"]), model_names(["a.json", "a"])
    (['new', 'old', 'scores.txt'], ['a.json', 'a'])
    """
    names = distinct_names(paths)
    plain = [name.removesuffix(".json") for name in names]
    return plain if len(set(plain)) == len(plain) else names


def distinct_names(paths: list[str]) -> list[str]:
    """Return the names of files, with folders only if needed to distinguish them.

    Examples
    --------
    >>> distinct_names(["a/new.json", "b/old.json"]), distinct_names(["a/m.json", "b/m.json", "b/m.json"])
    (['new.json', 'old.json'], ['a/m.json', 'b/m.json', 'b/m.json (2)'])
    """
    names = [os.path.basename(path) for path in paths]
    names = names if len(set(names)) == len(names) else list(paths)
    return [
        name if name not in names[:k] else f"{name} ({names[:k].count(name) + 1})"
        for k, name in enumerate(names)
    ]
