"""`rankwise demo`: train, evaluate and report on data of scikit-learn."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.output import Console
from rankwise.core.text import plural

EXAMPLE = """  rankwise demo --output demo-report
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "demo",
        "[options]",
        run,
        "rank diabetes patients and tumours, and write a report",
        "Learn two rankings from data of scikit-learn, compare them with regression and classification, and "
        "write a report with figures (which need matplotlib).",
        EXAMPLE,
    )
    parser.add_argument("--output", default="demo-report", help="folder of the report (default: %(default)s)")
    parser.add_argument(
        "--splits",
        type=arguments.COUNT,
        default=10,
        help="splits into training and held-out rows (default: %(default)s)",
    )


def run(options: argparse.Namespace, console: Console) -> None:
    """Train, evaluate, write."""
    tasks = [diabetes(options.splits), tumours(options.splits)]
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Two rankings", ""]
    for number, task in enumerate(tasks, 1):
        lines += [*describe(task), task["report"].headline(), ""]
        task["report"].save(folder / f"task-{number}.html")
        lines += [f"[The held-out rows of the first split](task-{number}.html)", ""]
        if draw(task, folder / f"task-{number}.png"):
            lines += [f"![{task['title']}](task-{number}.png)", ""]
    text = "\n".join(lines)
    (folder / "report.md").write_text(text)
    errors = {task["title"]: task["errors"] for task in tasks}
    pages = [str(folder / f"task-{number}.html") for number in range(1, len(tasks) + 1)]
    values = {"command": "demo", "report": str(folder / "report.md"), "pages": pages, "errors": errors}
    console.result(values, [*lines, f"Written to {folder / 'report.md'}; open {' and '.join(pages)}"])


def diabetes(n_splits: int) -> dict[str, Any]:
    """Rank patients by the progression of the disease after a year."""
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import Ridge

    data = load_diabetes()
    return compare(
        "Diabetes patients by disease progression",
        "Who will be worse in a year? 442 patients, ten measurements.",
        data,
        data.target,
        {"Ridge regression (scikit-learn)": Ridge(alpha=1e-2)},
        "progression after one year",
        n_splits,
    )


def tumours(n_splits: int) -> dict[str, Any]:
    """Rank tumours so that malignant ones come first: 1 - error is the area under the ROC curve."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    data = load_breast_cancer()
    return compare(
        "Tumours, malignant first",
        "With two classes, the fraction of correctly ordered pairs is the AUC. 569 tumours, 30 measurements.",
        data,
        1 - data.target,
        {"Logistic regression (scikit-learn)": LogisticRegression(max_iter=1000)},
        "malignant",
        n_splits,
    )


def compare(
    title: str, question: str, data: Any, y: Any, rivals: dict[str, Any], target: str, n_splits: int
) -> dict[str, Any]:
    """Fit RankSVMCV and the rivals to two thirds of the rows."""
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from rankwise.estimators import RankSVMCV
    from rankwise.evaluation.models import scores_of
    from rankwise.metrics import ranking_error
    from rankwise.report import Report

    models: dict[str, Any] = {
        "RankSVM": RankSVMCV(),
        "RankSVM with the squared hinge": RankSVMCV(loss="squared_hinge"),
    }
    errors: dict[str, list[float]] = {name: [] for name in models | rivals}
    for split in reversed(range(n_splits)):  # the first split comes last, and is drawn
        X_train, X_test, y_train, y_test = train_test_split(data.data, y, test_size=1 / 3, random_state=split)
        fitted = {}
        for name, model in (models | rivals).items():
            fitted[name] = make_pipeline(StandardScaler(), clone(model)).fit(X_train, y_train)
            errors[name].append(float(ranking_error(y_test, scores_of(fitted[name], X_test, name))))
    ours = fitted.pop("RankSVM")
    return {
        "title": title,
        "question": question,
        "errors": errors,
        "model": ours[-1],
        "report": Report(
            ours,
            X_test,
            y_test,
            models=fitted,
            name="RankSVM",
            feature_names=list(data.feature_names),
            title=title,
        ),
        "scores": ours.predict(X_test),
        "y": y_test,
        "target": target,
    }


def describe(task: dict[str, Any]) -> list[str]:
    """Write a task as Markdown."""
    import numpy as np

    model = task["model"]
    right = {name: 1 - np.array(errors) for name, errors in task["errors"].items()}
    table = [f"| {name} | {values.mean():.4f} | {values.std():.4f} |" for name, values in right.items()]
    n_splits = len(next(iter(right.values())))
    return [
        f"## {task['title']}",
        "",
        task["question"],
        "",
        f"| model | held-out pairs in the correct order, mean of {n_splits} splits | standard deviation |",
        "|---|---|---|",
        *table,
        "",
        f"On the first split RankSVM compared {plural(model.n_pairs_, 'pair')} in "
        f"{plural(model.n_iter_, 'iteration')}. "
        "Cross-validation chose "
        f"alpha = {model.alpha_:.1e}; the objective, {model.objective_:.4f}, is certified to be within "
        f"{model.gap_:.1e} of the optimum.",
        "",
    ]


def draw(task: dict[str, Any], path: Path) -> bool:
    """Draw cross-validation errors and held-out scores; return False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    import numpy as np

    from rankwise.plotting import AlphaPathDisplay

    model = task["model"]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    AlphaPathDisplay.from_estimator(model, ax=left)
    left.set_title("Cross-validation, folds and mean")
    jitter = np.random.default_rng(0).uniform(-0.06, 0.06, len(task["y"])) * (len(np.unique(task["y"])) == 2)
    right.plot(task["scores"], task["y"] + jitter, "o", color="#40688c", markersize=4, alpha=0.6)
    right.set(xlabel="score", ylabel=task["target"], title="Held-out rows")
    right.spines[["top", "right"]].set_visible(False)
    right.grid(alpha=0.2)
    figure.savefig(path, dpi=120)
    return True
