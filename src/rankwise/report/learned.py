"""The section on the fit: objective, convergence, and the choice of alpha."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.text import MINUS
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names
from rankwise.evaluation.weights import output_names
from rankwise.figures.alpha_path import error_path_of, share_curve
from rankwise.figures.convergence import gap_curve, history_of
from rankwise.report.page import Cell, Number, facts, figure, paragraph, section
from rankwise.report.svg import Chart, padded


def learned_section(data: EvaluationData) -> str:
    """Describe how the model was fitted."""
    ranker = data.ranker
    if ranker is None:
        return section(
            "learned",
            "What was learned",
            paragraph("Only scores were given, so there is no model to describe."),
        )
    charts = [gap_chart(ranker), alpha_chart(ranker), certified_chart(ranker)]
    figures = "".join(chart for chart in charts if chart)
    grid = f'<div class="figures">{figures}</div>' if figures else ""
    return section("learned", "What was learned", facts(model_facts(data)), grid)


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
    temperature = getattr(ranker, "temperature_", 1.0)
    if temperature != 1.0:
        found.append(("Temperature of its probabilities", Number(float(temperature))))
    kernel = getattr(ranker, "kernel_", getattr(ranker, "kernel", None))
    if kernel is not None:
        found.append(("Kernel", kernel if isinstance(kernel, str) else "a function"))
    if hasattr(ranker, "feature_scales_"):
        found.append(("Most important features of the kernel", _most_important(data)))
    numbers = {"Pairs in training": "n_pairs_", "Iterations": "n_iter_", "Objective reached": "objective_"}
    for title, name in numbers.items():
        value = getattr(ranker, name, None)
        if value is not None and np.ndim(value) == 0:
            found.append((title, Number(float(value))))
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


def gap_chart(ranker: Any) -> str:
    """Draw the certified gap over time."""
    history = history_of(ranker) or {"gap": [], "seconds": []}
    number, seconds, gap = gap_curve(history["gap"], history["seconds"])
    if len(gap) < 2:
        return ""
    unit, factor = ("milliseconds", 1000.0) if seconds[-1] < 1 else ("seconds", 1.0)
    chart = Chart(
        f"Gap to the optimum, from {gap[0]:.2g} to {gap[-1]:.2g} in {factor * seconds[-1]:.3g} {unit}",
        (0.0, float(factor * seconds[-1])),
        (10.0 ** np.floor(np.log10(gap.min())), 10.0 ** np.ceil(np.log10(gap.max()))),
        x_label=unit,
        y_label="gap",
        y_log=True,
    )
    chart.line(factor * seconds, gap)
    if len(gap) <= 300:
        titles = [
            f"iteration {n}: gap {g:.3g} after {s:.3g} s"
            for n, g, s in zip(number, gap, seconds, strict=True)
        ]
        chart.points(factor * seconds, gap, titles=titles)
    return figure(chart.render(), "Training: the certified gap, an upper bound on J(f) - J*.")


def alpha_chart(ranker: Any) -> str:
    """Draw the cross-validated error over alpha."""
    path = error_path_of(ranker)
    if path is None or len(path.alphas) < 2:
        return ""
    alphas, mean = path.alphas, path.mean
    chart = Chart(
        f"Cross-validated {path.measure} over alpha: lowest, {mean.min():.4f}, at alpha {path.alpha:.3g}",
        (float(alphas.min()), float(alphas.max())),
        padded(np.column_stack([mean, path.folds]), 0.05),
        x_label="alpha",
        y_label=path.measure,
        x_log=True,
    )
    for fold in path.folds.T:
        chart.line(alphas, fold, 9)
    chart.rule(x=float(path.alpha or 0))
    chart.line(alphas, mean)
    chart.points(
        alphas,
        mean,
        titles=[f"alpha {a:.3g}: {path.measure} {e:.4f}" for a, e in zip(alphas, mean, strict=True)],
    )
    folds = "; thin lines are folds" if path.folds.size else ""
    return figure(chart.render(), f"Choice of alpha: {path.measure} on held-out data{folds}.")


def certified_chart(ranker: Any) -> str:
    """Draw the certified suboptimality over alpha of a model with `alpha_path_`."""
    path = getattr(ranker, "alpha_path_", None)
    if path is None or len(path.alphas) < 2:
        return ""
    knots, curve = path.alphas, share_curve(path)
    ends = float(knots[-1]), float(knots[0])
    chart = Chart(
        f"{len(knots)} fits for every alpha from {ends[0]:.3g} to {ends[1]:.3g}: suboptimality at most "
        f"{curve.shares.max():.2g} of J(0) {MINUS} J*",
        ends,
        (0.0, 1.1 * max(path.tol, float(curve.shares.max()))),
        x_label="alpha",
        y_label=f"suboptimality / (J(0) {MINUS} J*)",
        x_log=True,
    )
    chart.rule(y=path.tol)
    chart.line(curve.alphas, curve.shares)
    titles = [
        f"alpha {alpha:.3g}: objective {objective:.4g}, at most {gap:.2g} above the minimum"
        for alpha, objective, gap in zip(knots, path.objectives, path.gaps, strict=True)
    ]
    chart.points(knots, path.share(knots), titles=titles)
    caption = f"{len(knots)} fits cover every alpha of the path; the line is a bound on their suboptimality."
    return figure(chart.render(), caption)
