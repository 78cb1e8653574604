"""`train --method auto`: try several models and keep the simplest good one."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rankwise.cli.arguments import POSITIVE, UsageError
from rankwise.cli.interruption import Interruption
from rankwise.cli.mixed import check_categorical, check_words, is_mixed
from rankwise.cli.model_options import declared_options
from rankwise.cli.models import save_any_model
from rankwise.cli.parser import special
from rankwise.core.text import plural
from rankwise.data.frames import framed
from rankwise.data.hints import identifiers
from rankwise.estimators.auto_ranker import AutoRanker

if TYPE_CHECKING:
    from rankwise.cli.data import Data
    from rankwise.cli.output import Console

PREFERENCES = ("simple", "best", "blend")
# Options of `train` that choose or run one model, besides its parameters.
OF_ONE_MODEL = ("alpha", "alphas", "valid", "calibration_data", "dask", "undefined", "clicked")


def add_auto_options(parser: Any) -> None:
    """Add the options of `--method auto`."""
    group = parser.add_argument_group("search (auto)")
    group.add_argument(
        "--time",
        type=POSITIVE,
        metavar="SECONDS",
        help=special("time for the search (auto; default: 60)", ["auto"]),
    )
    group.add_argument(
        "--prefer",
        choices=PREFERENCES,
        help=special(
            "the simplest model that is not clearly worse than the best, the best, or a mix of the best of "
            "each kind (auto; default: simple)",
            ["auto"],
        ),
    )


def check_auto_options(options: argparse.Namespace) -> None:
    """Refuse options of one model with `--method auto`, and its own options with another method."""
    if options.method != "auto":
        for name in ("time", "prefer"):
            if getattr(options, name, None) is not None:
                raise UsageError(f"--{name} is for --method auto.")
        return
    for name in (*declared_options(), *OF_ONE_MODEL):
        if getattr(options, name, None) is not None:
            shown = name.replace("_", "-")
            raise UsageError(f"--{shown} cannot be used with --method auto, which chooses the model.")
    if options.tune or options.resume or options.scale != "auto":
        raise UsageError("--tune, --resume and --scale cannot be used with --method auto.")


def train_auto(options: argparse.Namespace, console: Console, data: Data, reading: float) -> None:
    """Search, write the chosen model, and print what was tried."""
    start = perf_counter()
    X = rows_of(data, options)
    with Interruption(), console.progress() as progress:

        def draw(step: Any) -> None:
            share = min(1.0, step.seconds / step.budget)
            text = f"fold {step.fold} of {step.n_folds}, " if step.fold else "sample, "
            best = f"; best: {step.best}, {step.best_error:.4f}" if step.best else ""
            progress.show(share, f"{text}{step.candidate}{best}")

        model = AutoRanker(
            60.0 if options.time is None else options.time,
            prefer=options.prefer or "simple",
            scoring=options.metric or "error",
            cv=options.folds,
            random_state=options.seed,
            n_jobs=options.jobs,
            callback=draw,
        )
        model.fit(X, data.y, qid=data.qid)
    seconds = perf_counter() - start
    metadata = {"method": "auto", "model": model.best_name_, "rows": len(data.y)}
    names = None if hasattr(model.best_estimator_, "feature_names_in_") else data.feature_names
    save_any_model(model, options.output, feature_names=names, metadata=metadata)
    values = {
        "command": "train",
        "method": "auto",
        "model": model.best_name_,
        "measure": model.tried_.measure,
        "estimate": model.estimate_,
        "estimate_low": model.estimate_interval_[0],
        "estimate_high": model.estimate_interval_[1],
        "tried": model.tried_.as_dicts(),
        "left_out": model.left_out_,
        "rows": len(data.y),
        "trained_rows": model.n_rows_,
        "reading_seconds": reading,
        "seconds": seconds,
        "output": options.output,
    }
    console.result(values, lines_of(model, values))


def lines_of(model: Any, values: dict[str, Any]) -> list[str]:
    """Return the lines to print."""
    low, high = model.estimate_interval_
    expected = f"{values['measure']} of new rows: {model.estimate_:.4f} ({low:.4f} to {high:.4f})"
    return [
        *str(model.tried_).splitlines(),
        f"Chosen: {model.best_name_}. {expected}.",
        f"Trained on {plural(values['trained_rows'], 'row')} in {values['seconds']:.1f} s. "
        f"Written to {values['output']}",
    ]


def rows_of(data: Data, options: argparse.Namespace) -> Any:
    """Return the rows as a frame with the kinds of its columns, or as numbers."""
    if is_mixed(data.X):
        check_categorical(data, options)
        data.X, data.kinds = data.X.inferred(options.categorical or ())
        check_words(data.X, identifiers(data.X))
        return data.X
    return data.X if data.feature_names is None else framed(data.X, data.feature_names)
