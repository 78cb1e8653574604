"""`rankwise summary`: the weights of a linear model with standard errors, or how often they are selected."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from rankwise.cli import arguments
from rankwise.cli.data import check_data_options, read_data, separator_of, take_columns_of
from rankwise.cli.models import load_any_model
from rankwise.cli.output import Console
from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.results import Column, ResultTable
from rankwise.core.text import share
from rankwise.core.types import FloatVector
from rankwise.estimators.through_pipeline import inference
from rankwise.estimators.weights import weights_of
from rankwise.io.tables import read_text_columns
from rankwise.model_selection.stability import selection_frequencies

EXAMPLE = """  rankwise train train.csv --label grade --qid query --method rank-logistic -o model.json
  rankwise summary model.json train.csv --label grade --qid query
  rankwise summary model.json visits.csv --label pain --cluster patient --debias
"""


class Selected(NamedTuple):
    """A feature with its weight, and how often halves of the rows select it."""

    name: str
    weight: float
    selected: float


SELECTED = [
    Column("name", title="", left=True),
    Column("weight", format=".4g"),
    Column("selected", format=share),
]


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "summary",
        "model data [data ...] [--cluster COLUMN] [options]",
        run,
        "print the weights of a linear model with standard errors",
        "Print the weights of a linear model with standard errors, confidence intervals and p-values. The "
        "data must be the training data. Queries or, without queries, rows are assumed to be independent; "
        "--cluster names a column of groups instead. For a model with --l1-ratio, print how often fits to "
        "random halves of the rows select each feature.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("model", "data"))
    parser.add_argument("model", help="file of the model")
    parser.add_argument("data", nargs="+", help="files with the training rows")
    add_inference_options(parser)
    parser.add_argument("--debias", action="store_true", help="remove most of the bias of the penalty")
    arguments.add_survival_option(arguments.add_data_options(parser))


def add_cluster_option(parser: argparse.ArgumentParser) -> None:
    """Add the option of what is independent."""
    parser.add_argument(
        "--cluster", metavar="COLUMN", help="column of groups of dependent rows, such as patients (tables)"
    )


def add_inference_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of what is independent, and of the confidence."""
    add_cluster_option(parser)
    arguments.add_confidence_option(parser)


def run(options: argparse.Namespace, console: Console) -> None:
    """Load, read, infer, print."""
    start = perf_counter()
    training = Training(options)
    if training.selects:
        selected = training.selected()
        values = {"command": "summary", "selected": selected.as_dicts(), "seconds": perf_counter() - start}
        console.result(values, str(selected).split("\n"))
        return
    found = training.inference(debias=options.debias)
    summary = found.summary(options.confidence)
    values = {
        "command": "summary",
        "alpha": found.alpha,
        "pairs": found.n_pairs,
        "unit": found.unit,
        "units": found.n_units,
        "confidence": options.confidence,
        "debiased": found.is_debiased,
        "weights": summary.as_dicts(),
        "seconds": perf_counter() - start,
    }
    console.result(values, str(summary).split("\n"))


class Training:
    """The model of a command and its training data, by default those of the command."""

    def __init__(self, options: argparse.Namespace, files: list[str] | None = None):
        if files is not None:
            options = argparse.Namespace(**(vars(options) | {"data": files}))
        check_data_options(options)
        self.options, self.model = options, load_any_model(options.model)
        take_columns_of([self.model], options)
        self.data = read_data(options)

    @property
    def selects(self) -> bool:
        """Whether the model selects features."""
        return bool(np.any(getattr(last_step(self.model), "l1_ratio", 0.0)))

    def inference(self, **more: Any) -> Any:
        """Return the inference of the model."""
        rows, data = self.data.rows_for(self.model), self.data
        return inference(self.model, rows, data.y, qid=data.qid, cluster=clusters_of(self.options), **more)

    def frequencies(self) -> FloatVector:
        """Return how often halves of the rows select each feature, with the alpha of the model."""
        if self.options.cluster is not None:
            raise arguments.UsageError("--cluster is for standard errors, but the model has an l1_ratio.")
        ranker, data = last_step(self.model), self.data
        if hasattr(ranker, "with_alpha"):
            ratio = getattr(ranker, "l1_ratio_", ranker.l1_ratio)
            ranker = ranker.with_alpha(ranker.alpha_).set_params(l1_ratio=ratio)
        rows = before_last_step(self.model, data.rows_for(self.model), data.qid)
        return selection_frequencies(ranker, rows, data.y, qid=data.qid)

    def selected(self) -> ResultTable[Selected]:
        """Return the features that any half of the rows selects, the most frequent first."""
        weights = weights_of(self.model, self.data.rows_for(self.model), qid=self.data.qid)
        assert weights is not None, "models that select features are linear"
        frequencies = self.frequencies()
        order = np.lexsort((-np.abs(weights.effect), -frequencies))
        rows = zip(weights.names, weights.weights.tolist(), frequencies.tolist(), strict=True)
        listed = [Selected(*row) for row in rows]
        note = "Selected: by that part of the fits to 50 pairs of halves of the rows."
        return ResultTable([listed[k] for k in order if frequencies[k]], SELECTED, note=note)


def clusters_of(options: argparse.Namespace) -> Any:
    """Return the cluster of each row, or None."""
    if options.cluster is None:
        return None
    name, separator = options.cluster, separator_of(options)
    parts = [read_text_columns(path, [name], separator)[name] for path in options.data]
    return np.array([str(value) for part in parts for value in part])
