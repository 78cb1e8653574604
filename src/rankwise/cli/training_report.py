"""The output of `train` and `tune`, for machines and for people."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise.cli.clicks import click_values
from rankwise.cli.model_options import methods
from rankwise.core.text import plural, table
from rankwise.evaluation.names import measure_name
from rankwise.model_selection.scoring import measure_of
from rankwise.model_selection.search import Choice


@dataclass
class TreeChoice(Choice):
    """Candidates for the size of trees; `alphas` has the best number of trees of each."""

    candidates: list[dict[str, Any]] = field(default_factory=list)


def candidate_text(candidate: dict[str, Any]) -> str:
    """Return a candidate in words.

    Examples
    --------
    >>> candidate_text({"num_leaves": 15, "min_child_samples": 5})
    'num leaves 15, min child samples 5'
    """
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in candidate.items())


# The name of the candidates of each parameter that cross-validation chooses.
CANDIDATES = {"alpha": "alphas", "n_estimators": "trees"}


def report_values(options: argparse.Namespace, data: Any, outcome: Any, reading: float) -> dict[str, Any]:
    """Return the result for machines."""
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
    if np.any(getattr(ranker, "l1_ratio", 0.0)):
        values["l1_ratio"] = getattr(ranker, "l1_ratio_", ranker.l1_ratio)
        values["selected"] = names_of_selected(ranker, data.feature_names)
    return values | click_values(data.y)


def names_of_selected(ranker: Any, names: list[str] | None) -> list[str]:
    """Return the names of the features with a weight, or their numbers, from 1 as in files."""
    numbers = np.flatnonzero(ranker.coef_)
    return [str(number + 1) if names is None else names[number] for number in numbers]


def choice_values(choice: Any, tuned: str) -> dict[str, Any]:
    """Return the results of a cross-validation: the measure that was asked for, and its errors."""
    values = measure_of(choice.errors, choice.scoring)
    sizes = {"candidates": choice.candidates} if hasattr(choice, "candidates") else {}
    return sizes | {
        CANDIDATES[tuned]: choice.alphas,
        "mean": values.mean(axis=1),
        "std": values.std(axis=1),
        "values": values,
        "mean_error": choice.mean,
        "std_error": choice.errors.std(axis=1),
        "errors": choice.errors,
        "scoring": choice.scoring,
        f"best_{tuned}": choice.alpha,
        "best": values[choice.best].mean(),
    }


def scoring_name(scoring: str) -> str:
    """Return the name of the measure for the choice of alpha."""
    return scoring if scoring == "concordance" else measure_name(scoring).lower()


def report_lines(values: dict[str, Any]) -> list[str]:
    """Return the result for people."""
    chosen = ""
    if "cross_validation" in values:
        tried = values["cross_validation"]
        n_alphas, n_folds = tried["errors"].shape
        best = f"{scoring_name(tried['scoring'])} {tried['best']:.4f}"
        chosen = f" (best of {n_alphas} in {plural(n_folds, 'fold')}, {best})"
    certificate = ""
    if values["objective"] is not None:
        certificate = f"objective {values['objective']:.6g}, gap {values['gap']:.2g}, "
    strength = "" if values["alpha"] is None else f", alpha {values['alpha']:.4g}"
    if "selected" in values:
        strength += (
            f", l1_ratio {values['l1_ratio']:g}, {plural(len(values['selected']), 'feature')} selected"
        )
    unit = "tree" if methods()[values["method"]].tuned == "n_estimators" else "iteration"
    steps = plural(values["iterations"], unit)
    resumed = " (resumed)" if values["resumed"] else ""
    warmth = "" if values["temperature"] in (None, 1.0) else f", temperature {values['temperature']:.4g}"
    lines = [
        f"{plural(values['rows'], 'row')}, {plural(values['features'], 'feature')}, "
        f"{plural(values['queries'], 'query')}, {plural(values['pairs'], 'pair')}",
        f"{values['method']}{strength}{chosen}{warmth}",
        f"{certificate}{steps}{resumed}",
        f"{values['seconds']:.2f} s, and {values['seconds_reading']:.2f} s for reading",
    ]
    return lines + ([] if values["model"] is None else [f"written to {values['model']}"])


def choice_lines(choice: Any, tuned: str) -> list[str]:
    """Return a table of the candidates and the measure of each, in which the best is marked."""
    rows = [
        [f"{alpha:.4g}", f"{values.mean():.4f}", f"{values.std():.4f}", "best" if k == choice.best else ""]
        for k, (alpha, values) in enumerate(
            zip(choice.alphas, measure_of(choice.errors, choice.scoring), strict=True)
        )
    ]
    header = ["alpha" if tuned == "alpha" else "trees", scoring_name(choice.scoring), "deviation", ""]
    if not hasattr(choice, "candidates"):
        return table(header, rows)
    named = [[candidate_text(size), *row] for size, row in zip(choice.candidates, rows, strict=True)]
    return table(["candidate", *header], named)
