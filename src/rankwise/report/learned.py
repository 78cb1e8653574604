"""The sections on the fit: objective, convergence, the choice of alpha, and what a search tried."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.core.text import MINUS, decimal, share
from rankwise.estimators.weights import output_names
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names
from rankwise.report.alpha_path_display import RANKING_ERROR, AlphaPathDisplay, CertifiedPathDisplay
from rankwise.report.convergence_display import ConvergenceDisplay
from rankwise.report.page import Cell, Number, facts, figure, figures, paragraph, section, table
from rankwise.report.weight_path_display import WeightPathDisplay

ENDS = ("mean", "low", "high", "difference")
HEADER = ("Model", "Kind", "Mean", "From", "To", "Difference", "p", "Folds", "Seconds", "Note")


def tried_section(tried: Sequence[Mapping[str, Any]]) -> str:
    """List the candidates of a search, compared on parts of the training rows; nothing without a search."""
    if not tried:
        return ""
    measure = str(tried[0]["measure"])
    text = (
        "Before the last fit, these models were compared by cross-validation on the training rows: "
        f"{measure} of rows that they were not fitted to, with its 95% interval. The difference is from the "
        "best one, positive if a model is worse, with the p-value of a paired test."
    )
    is_error = measure.lower() == RANKING_ERROR
    if is_error:
        text, measure = text.replace(measure, "pairs in the right order"), "Pairs in the right order"
    rows = [_cells(one, is_error) for one in tried]
    return section(
        "tried",
        "What was tried",
        paragraph(text),
        table(f"{measure} by model", HEADER, rows, name="tried-models"),
    )


def _cells(one: Mapping[str, Any], is_error: bool) -> list[Cell]:
    """Return a line of the table; errors are shown as pairs in the right order."""
    means: list[Cell] = [one.get(name) for name in ENDS]
    mean, low, high, apart = (math.nan if one.get(name) is None else float(one[name]) for name in ENDS)
    if is_error:
        means = [
            Number(1 - value, share(1 - value) if value == value else None) for value in (mean, high, low)
        ]
        means.append(Number(apart, f"{decimal(100 * apart, 1)} points" if apart == apart else None))
    numbers = [*means, *(one.get(name) for name in ("p", "folds", "seconds"))]
    note = [word for word in ("chosen" if one.get("chosen") else "", str(one.get("note") or "")) if word]
    return [str(one["model"]), str(one["family"]), *numbers, ", ".join(note)]


def learned_section(data: EvaluationData) -> str:
    """Describe how the model was fitted."""
    ranker = data.ranker
    if ranker is None:
        return section(
            "learned",
            "What was learned",
            paragraph("Only scores were given, so there is no model to describe."),
        )
    return section("learned", "What was learned", facts(model_facts(data)), figures(*charts(ranker)))


def objective_of(ranker: Any) -> str | None:
    """Return the objective of an estimator of this library, None for other models."""
    formula = getattr(ranker, "formula", None)
    return formula.replace(" - ", f" {MINUS} ") if isinstance(formula, str) else None


def model_facts(data: EvaluationData) -> list[tuple[str, Cell]]:
    """List the parameters and the results of the fit."""
    ranker = data.ranker
    found: list[tuple[str, Cell]] = [("Estimator", _described(data.models[data.name]))]
    objective = objective_of(ranker)
    if objective:
        found.append(("Minimises", objective))
    alpha = getattr(ranker, "alpha_", getattr(ranker, "alpha", None))
    if isinstance(alpha, int | float | np.number):
        way = "with the scales" if getattr(ranker, "alpha", None) == "learned" else "by cross-validation"
        chosen = f" (chosen {way})" if hasattr(ranker, "alpha_") else ""
        found.append(("Alpha", Number(float(alpha), f"{alpha:.4g}{chosen}")))
    if np.any(getattr(ranker, "l1_ratio", 0.0)):
        n_selected, n_features = int(np.count_nonzero(ranker.coef_)), ranker.coef_.size
        found.append(("Selected features", f"{n_selected:,} of {n_features:,}"))
    temperature = getattr(ranker, "temperature_", 1.0)
    if temperature != 1.0:
        found.append(("Temperature of its probabilities", temperature))
    kernel = getattr(ranker, "kernel_", getattr(ranker, "kernel", None))
    if kernel is not None:
        found.append(("Kernel", kernel if isinstance(kernel, str) else "a function"))
    if hasattr(ranker, "feature_scales_"):
        found.append(("Most important features of the kernel", _most_important(data)))
    numbers = {"Pairs in training": "n_pairs_", "Iterations": "n_iter_", "Objective reached": "objective_"}
    for title, name in numbers.items():
        value = getattr(ranker, name, None)
        if value is not None and np.ndim(value) == 0:
            found.append((title, value))
    gap = getattr(ranker, "gap_", None)
    if gap is not None and np.ndim(gap) == 0:
        found.append(("Certified gap to the optimum", Number(float(gap), f"{float(gap):.2g}")))
    return found


def _described(model: Any) -> str:
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return " → ".join(type(step).__name__ for step in steps if step not in (None, "passthrough"))


def _most_important(data: EvaluationData, count: int = 8) -> str:
    """List the features by their contribution to the distances of rows, relative to the largest."""
    ranker = data.ranker
    scales = ranker.feature_scales_
    scales = scales if scales.ndim == 1 else np.linalg.norm(scales, axis=1)
    part = scales * ranker.basis_.std(axis=0)
    first = np.argsort(-part, kind="stable")[:count]
    largest = part.max(initial=0.0) or 1.0
    names = _kernel_features(data, len(part))
    return ", ".join(f"{names[k]} {part[k] / largest:.2f}" for k in first)


def _kernel_features(data: EvaluationData, n_features: int) -> list[str]:
    """Return the names of the features of a kernel: those of the data, or those that earlier steps make."""
    model, n_columns = data.models[data.name], data.X.shape[1]
    if n_columns != n_features:
        return output_names(model, n_features)
    return feature_names(data.X, model, data.feature_names, n_features)


def charts(ranker: Any) -> Iterator[str]:
    """Draw the certified gap of the fit, the cross-validated error and the bounds of a path over alpha."""
    gap, search, path = ConvergenceDisplay.of(ranker), AlphaPathDisplay.of(ranker), _alpha_path(ranker)
    if gap is not None and np.count_nonzero(np.isfinite(gap.gap)) > 1:
        yield figure(gap.picture(), "Training: the certified gap, an upper bound on J(f) - J*.")
    if search is not None and len(search.alphas) > 1:
        search = search.in_order()
        folds = "; thin lines are folds" if search.errors.ndim == 2 else ""
        yield figure(search.picture(), f"Choice of alpha: {search.measure} on held-out data{folds}.")
    if path is not None:
        fits = f"{len(path.alphas)} fits cover every alpha of the path"
        caption = f"{fits}; the line is a bound on their suboptimality."
        yield figure(CertifiedPathDisplay(path).picture(), caption)
        if path.feature_names is not None:
            caption = "Weights over alpha; thin lines are features that enter later."
            yield figure(WeightPathDisplay(path).picture(), caption, key=True)


def _alpha_path(ranker: Any) -> Any:
    path = getattr(ranker, "alpha_path_", None)
    return None if path is None or len(path.alphas) < 2 else path
