"""`rankwise export`: write a model for search engines, runtimes and databases."""

from __future__ import annotations

import argparse
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.models import load_any_model
from rankwise.cli.output import Console
from rankwise.cli.training import check_output
from rankwise.io.export import export_model

FORMATS = ("svmrank", "solr", "elasticsearch", "opensearch", "onnx", "c", "sql", "json")
EXAMPLE = """  rankwise export model.json -o model.dat --format svmrank
  rankwise export model.json -o model-solr.json --format solr --features bm25,pagerank,age --name books
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "export",
        "model -o output --format format [options]",
        run,
        "write a model for other programs",
        "Write a linear model or boosted trees, alone or after a scaler, or curves in the format of another "
        "program (svmrank: linear models only; json: trees and curves only; onnx, c and sql: no trees). "
        "Models of tables with strings cannot be exported.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("model",), writes=("output",))
    parser.add_argument("model", help="file of the model")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="file to write")
    parser.add_argument("--format", required=True, choices=FORMATS, help="format of the output")
    parser.add_argument(
        "--features",
        type=arguments.names,
        metavar="A,B,...",
        help="names of the features in order (default: those of the model file)",
    )
    parser.add_argument(
        "--tables",
        type=arguments.names,
        metavar="A,B",
        help="write the probability that the row of table A is above that of table B, two names of the FROM "
        "clause (sql, rank-logistic)",
    )
    parser.add_argument(
        "--name",
        help="name of the model in a search engine, of the C function or of the ONNX graph (default: "
        "rankwise_model)",
    )


def run(options: argparse.Namespace, console: Console) -> None:
    """Load and export."""
    if options.tables is not None and options.format != "sql":
        raise arguments.UsageError("--tables is for --format sql.")
    check_output(options.output)
    model = load_any_model(options.model)
    given = {"pair": options.tables, "model_name": options.name}
    more = {name: value for name, value in given.items() if value is not None}
    try:
        export_model(model, options.output, options.format, feature_names=options.features, **more)
    except TypeError as error:  # a step or a model that the format cannot hold
        raise ValueError(str(error)) from None
    values = {"command": "export", "format": options.format, "output": options.output}
    console.result(values, [f"written to {options.output} ({options.format})"])
