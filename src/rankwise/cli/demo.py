"""`rankwise demo`: train, evaluate and report on real data that ships with scikit-learn."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise.estimators import RankSVM, RankSVMCV
from rankwise.metrics import ranking_error

EXAMPLE = """example:
  rankwise demo --output demo-report
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = commands.add_parser(
        "demo",
        help="rank diabetes patients and tumours, and write a report",
        description="Learn two rankings from data that ship with scikit-learn, compare them with what people "
        "use otherwise, and write a report with figures (matplotlib needed for these).",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", default="demo-report", help="folder of the report (default: %(default)s)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Train, evaluate, write."""
    tasks = [diabetes(), tumours()]
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# What was learned", ""]
    for number, task in enumerate(tasks, 1):
        lines += describe(task)
        if draw(task, folder / f"task-{number}.png"):
            lines += [f"![{task['title']}](task-{number}.png)", ""]
    text = "\n".join(lines)
    (folder / "report.md").write_text(text)
    print(text)
    print(f"Written to {folder / 'report.md'}")


def diabetes() -> dict[str, Any]:
    """Rank patients by how far the disease has progressed a year later."""
    X, y = load_diabetes(return_X_y=True)
    return compare(
        "Diabetes patients by disease progression",
        "Who will be worse in a year? 442 patients, ten measurements; a third of them held out.",
        X,
        y,
        {"Ridge regression (scikit-learn)": Ridge(alpha=1e-2)},
        "progression after one year",
    )


def tumours() -> dict[str, Any]:
    """Rank tumours so that malignant ones come first: 1 - error is the area under the ROC curve."""
    X, y = load_breast_cancer(return_X_y=True)
    return compare(
        "Tumours, malignant first",
        "With two classes the share of pairs in the right order is the AUC. 569 tumours, 30 measurements.",
        X,
        1 - y,
        {"Logistic regression (scikit-learn)": LogisticRegression(max_iter=1000)},
        "malignant",
    )


def compare(title: str, question: str, X: Any, y: Any, rivals: dict[str, Any], target: str) -> dict[str, Any]:
    """Fit RankSVM with alpha chosen by cross-validation, and the rivals, to two thirds of the rows."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
    models: dict[str, Any] = {
        "RankSVM": RankSVMCV(),
        "RankSVM, squared hinge": RankSVMCV(loss="squared_hinge"),
    }
    errors, fitted = {}, {}
    for name, model in (models | rivals).items():
        fitted[name] = make_pipeline(StandardScaler(), model).fit(X_train, y_train)
        method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
        scores = getattr(fitted[name], method)(X_test)
        scores = scores[:, 1] if scores.ndim == 2 else scores
        errors[name] = ranking_error(y_test, scores)
    ours: RankSVM = fitted["RankSVM"][-1]
    return {
        "title": title,
        "question": question,
        "errors": errors,
        "model": ours,
        "scores": fitted["RankSVM"].predict(X_test),
        "y": y_test,
        "target": target,
    }


def describe(task: dict[str, Any]) -> list[str]:
    """Write a task as Markdown."""
    model = task["model"]
    table = [f"| {name} | {1 - error:.4f} |" for name, error in task["errors"].items()]
    return [
        f"## {task['title']}",
        "",
        task["question"],
        "",
        "| model | held-out pairs in the right order |",
        "|---|---|",
        *table,
        "",
        f"RankSVM compared {model.n_pairs_:,} pairs in {model.n_iter_} iterations. Cross-validation chose "
        f"alpha = {model.alpha_:.1e}; the objective, {model.objective_:.4f}, is certified to be within "
        f"{model.gap_:.1e} of the optimum.",
        "",
    ]


def draw(task: dict[str, Any], path: Path) -> bool:
    """Draw cross-validation errors and held-out scores; say whether matplotlib was there to do it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    model = task["model"]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.semilogx(model.alphas_, 1 - model.cv_errors_, color="0.8", linewidth=1)
    left.semilogx(model.alphas_, 1 - model.cv_errors_.mean(axis=1), "o-", color="#c8452f")
    left.axvline(model.alpha_, color="0.3", linestyle=":", linewidth=1)
    left.set(xlabel="alpha", ylabel="pairs in the right order", title="Cross-validation, folds and mean")
    jitter = np.random.default_rng(0).uniform(-0.06, 0.06, len(task["y"])) * (len(np.unique(task["y"])) == 2)
    right.plot(task["scores"], task["y"] + jitter, "o", color="#40688c", markersize=4, alpha=0.6)
    right.set(xlabel="score", ylabel=task["target"], title="Held-out rows")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.2)
    figure.savefig(path, dpi=120)
    return True
