"""`rankwise train`: learn a model from files and write it to a file."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.arguments import UsageError
from rankwise.cli.dask import add_dask_option, check_dask_options, dask_client, read_partitions
from rankwise.cli.output import Console
from rankwise.cli.stream_options import add_stream_option, arrays_of_stream, check_stream_options

EXAMPLE = """  rankwise train train.txt -o model.json --alpha 0.001
  rankwise train train.txt.gz -o model.json --tune --scale standard
  rankwise train train.csv -o model.json --label grade --qid query --method rank-rls
  rankwise train patients.csv -o model.json --survival months,died --qid hospital
  rankwise train train.txt -o model.json --resume        (go on after Ctrl-C or a crash)
  rankwise train big.parquet -o model.json --label grade --stream      (more rows than memory)
  rankwise train 'part-*.txt.gz' -o model.json --dask    (more rows than memory, on several machines)
"""

# How the candidates of each parameter are called that cross-validation chooses.
CANDIDATES = {"alpha": "alphas", "n_estimators": "trees"}


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "train",
        "data [data ...] -o model [options]",
        run,
        "learn a model from files",
        "Learn to rank from svmlight/LETOR files (plain or .gz, .bz2, .xz, .zst; - is standard input), CSV "
        "or Parquet, and write the model. A long training keeps a checkpoint beside the model.",
        EXAMPLE,
    )
    parser.add_argument("data", nargs="+", help="files with the training rows")
    parser.add_argument("-o", "--output", required=True, help="file of the model")
    strength = parser.add_mutually_exclusive_group()
    strength.add_argument("--alpha", type=arguments.POSITIVE, help="strength of the penalty (default: 0.001)")
    strength.add_argument(
        "--tune",
        action="store_true",
        help="choose alpha (boosted: the trees) by cross-validation over queries",
    )
    add_selection_options(parser)
    parser.add_argument(
        "--calibrate",
        nargs="+",
        metavar="DATA",
        help="files with held-out rows to which the temperature of the probabilities is fitted "
        "(rank-logistic)",
    )
    add_checkpoint_options(parser)
    arguments.add_model_options(parser)
    arguments.add_survival_option(parser)
    arguments.add_data_options(parser, width=True)
    add_stream_option(parser)
    add_dask_option(parser)


def add_selection_options(parser: Any) -> None:
    """Add the options of the cross-validation."""
    parser.add_argument(
        "--alphas",
        type=arguments.NUMBERS,
        metavar="A,B,...",
        help="candidates; by default powers of ten (rank-rls: of two) that fit the data",
    )
    parser.add_argument("--folds", type=arguments.FOLDS, default=5, help="folds of queries (default: 5)")
    parser.add_argument(
        "--metric",
        "--scoring",
        dest="scoring",
        metavar="NAME",
        help="compare alphas by error, concordance, ndcg@10, ndcg, map, mrr, p@5, tau or, with "
        "rank-logistic, log-loss (default: log-loss for rank-logistic, error for the others)",
    )
    parser.add_argument(
        "--undefined",
        type=arguments.NUMBER,
        metavar="VALUE",
        help="what a query without relevant rows counts in ndcg, map and mrr; 0 is LETOR's convention "
        "(default: it is left out)",
    )
    parser.add_argument(
        "--valid",
        nargs="+",
        metavar="DATA",
        help="files with rows to compare alphas by, in place of folds",
    )


def add_checkpoint_options(parser: Any) -> None:
    """Add the options of the checkpoint."""
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint, if there is one")
    parser.add_argument(
        "--checkpoint-every",
        type=arguments.SECONDS,
        default=60.0,
        metavar="SECONDS",
        help="time between checkpoints, which are files named as the model with .checkpoint (default: 60)",
    )


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, learn, write, report."""
    from rankwise.cli.data import check_data_options
    from rankwise.cli.models import recipe_of
    from rankwise.cli.training import check_output, learn, require_rows

    if options.alphas is not None and not options.tune:
        raise UsageError("--alphas are candidates for --tune; give --tune, or one --alpha.")
    for name, value in (("valid", options.valid), ("metric", options.scoring)):
        if value is not None and not options.tune:
            raise UsageError(f"--{name} is for the choice of alpha; give --tune too.")
    check_data_options(options)
    check_dask_options(options)
    check_stream_options(options)
    others = (options.calibrate, options.stream, options.dask)
    if options.survival is not None and any(other is not None for other in others):
        raise UsageError("--survival does not go with --calibrate, --stream or --dask.")
    elsewhere = (options.stream, options.dask)
    if options.categories is not None and any(other is not None for other in elsewhere):
        raise UsageError("--categories does not go with --stream or --dask, which read numbers as labels.")
    recipe = recipe_of(options)
    if options.calibrate is not None and not hasattr(recipe.ranker(), "calibrate"):
        raise UsageError(
            f"--calibrate does not go with --method {options.method}, which has no probabilities."
        )
    check_output(options.output)
    with dask_client(options):
        start = perf_counter()
        data = read_rows(options, console, recipe.light)
        reading = perf_counter() - start
        require_rows(data)
        with arrays_of_stream(options):
            outcome = learn(options, console, recipe, data, options.tune)
    if options.calibrate is not None:
        calibrate(outcome, data, options)
    values = report_values(options, data, outcome, reading)
    save(options, data, outcome)
    console.result({"command": "train"} | values, report_lines(values))


def read_rows(options: argparse.Namespace, console: Console, light: bool) -> Any:
    """Read the data to where the options want the rows: into memory, a file or the workers of Dask."""
    if options.dask is not None:
        return read_partitions(options)
    if options.stream is not None:
        from rankwise.cli.stream import read_stream

        return read_stream(options, console)
    from rankwise.cli.data import read_data

    return read_data(options, options.n_features, light=light)


def calibrate(outcome: Any, data: Any, options: argparse.Namespace) -> None:
    """Fit the temperature to held-out rows, which are read as the training rows were."""
    from rankwise.cli.data import read_data
    from rankwise.cli.models import _acceptable
    from rankwise.core.pipelines import before_last_step

    given = {"data": options.calibrate, "features": data.feature_names or options.features}
    rows = read_data(argparse.Namespace(**(vars(options) | given)), known=int(outcome.ranker.n_features_in_))
    X = before_last_step(outcome.model, _acceptable(outcome.model, rows.X), rows.qid)
    outcome.ranker.calibrate(X, rows.y, qid=rows.qid)


def save(options: argparse.Namespace, data: Any, outcome: Any) -> None:
    """Write the model, and delete the checkpoint that it replaces."""
    from rankwise.cli.checkpoint import Checkpoint
    from rankwise.cli.models import save_any_model

    metadata = {"method": options.method, "alpha": outcome.alpha, "rows": len(data.y)}
    save_any_model(outcome.model, options.output, feature_names=data.feature_names, metadata=metadata)
    Checkpoint(options.output, "", 0.0).delete()


def report_values(options: argparse.Namespace, data: Any, outcome: Any, reading: float) -> dict[str, Any]:
    """Gather what the command tells."""
    ranker = outcome.ranker
    values = {
        "rows": len(data.y),
        "features": int(ranker.n_features_in_),
        "queries": data.n_queries,
        "pairs": int(ranker.n_pairs_),
        "method": options.method,
        "alpha": outcome.alpha,
        "objective": getattr(ranker, "objective_", None),
        "gap": getattr(ranker, "gap_", None),
        "temperature": getattr(ranker, "temperature_", None),
        "converged": outcome.converged,
        "iterations": outcome.iterations,
        "seconds": outcome.seconds,
        "seconds_reading": reading,
        "resumed": outcome.resumed,
        "model": options.output,
    }
    if outcome.choice is not None:
        values["cross_validation"] = choice_values(outcome.choice, ranker.tuned)
    return values


def choice_values(choice: Any, tuned: str) -> dict[str, Any]:
    """Return the table of a cross-validation."""
    return {
        CANDIDATES[tuned]: choice.alphas,
        "mean_error": choice.mean,
        "std_error": choice.errors.std(axis=1),
        "errors": choice.errors,
        "scoring": choice.scoring,
        f"best_{tuned}": choice.alpha,
    }


def scoring_name(scoring: str) -> str:
    """Return what alphas were compared by, in words."""
    from rankwise.evaluation.names import measure_name

    return measure_name(scoring).lower()


def report_lines(values: dict[str, Any]) -> list[str]:
    """Write the values for people."""
    chosen = ""
    if "cross_validation" in values:
        tried = values["cross_validation"]
        n_alphas, n_folds = tried["errors"].shape
        error = tried["mean_error"].min()
        chosen = f" (best of {n_alphas} in {n_folds} folds, {scoring_name(tried['scoring'])} {error:.4f})"
    certificate = ""
    if values["objective"] is not None:
        certificate = f"objective {values['objective']:.6g}, gap {values['gap']:.2g}, "
    strength = "" if values["alpha"] is None else f", alpha {values['alpha']:.4g}"
    steps = "trees" if values["method"] == "boosted" else "iterations"
    resumed = " (resumed)" if values["resumed"] else ""
    warmth = "" if values["temperature"] in (None, 1.0) else f", temperature {values['temperature']:.4g}"
    lines = [
        f"{values['rows']:,} rows, {values['features']:,} features, {values['queries']:,} queries, "
        f"{values['pairs']:,} pairs",
        f"{values['method']}{strength}{chosen}{warmth}",
        f"{certificate}{values['iterations']} {steps}{resumed}",
        f"{values['seconds']:.2f} s, and {values['seconds_reading']:.2f} s to read",
    ]
    return lines + ([] if values["model"] is None else [f"written to {values['model']}"])
