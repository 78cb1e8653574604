"""`rankwise demo`: rank search results, chat models and patients, and write a page of each."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from rankwise.cli import arguments
from rankwise.cli.output import Console
from rankwise.core.text import table
from rankwise.datasets import load_diabetes_ranking, make_search
from rankwise.estimators import BradleyTerry, RankLogisticCV, RankSVMCV
from rankwise.evaluation.conformal import ConformalRanks
from rankwise.report import Report
from rankwise.report.leaderboard import headline, leaderboard_page
from rankwise.report.leaderboard_display import LeaderboardDisplay
from rankwise.report.query_quality_display import QueryQualityDisplay
from rankwise.report.reliability_display import ReliabilityDisplay

EXAMPLE = """  rankwise demo --output demo-report
"""
MODELS = np.array(
    ["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Ivy", "Juniper", "Larch", "Maple", "Oak"]
)
SEARCH = """60 generated queries of 30 documents with grades 0 to 4. The models learn from 30 queries and
rank the documents of the others. Grades can be compared within a query only, which the argument `qid`
states. Ridge regression on features and grades less their means per query knows the queries, too."""
VOTES = """2,000 generated votes, each on the answers of two of 12 chat models. There are no features, only
names. Each model gets a score, and a 95% confidence range of its rank."""
PATIENTS = """Which of 442 diabetes patients will be worse off in a year? The model learns from 250. Each new
patient gets a range of places among 142 others, which contains the true place with a probability of 90%. For
two patients, the model states the probability that the first will be worse off. Five of 50 new patients:"""


class Task(NamedTuple):
    """One ranking: its name in files, its text, its page, its numbers, and a function that draws them."""

    name: str
    title: str
    words: str
    table: Iterable[str]
    result: str
    page: str
    values: dict[str, Any]
    draw: Callable[[], Any]


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    title = "rank search results, chat models and patients, and write an HTML report on each"
    words = f"{title[0].upper()}{title[1:]}, with a summary. Figures need matplotlib."
    parser = arguments.add_command(commands, "demo", "[options]", run, title, words, EXAMPLE)
    parser.add_argument(
        "--output",
        default="demo-report",
        metavar="FOLDER",
        help="folder of the reports (default: %(default)s)",
    )


def run(options: argparse.Namespace, console: Console) -> None:
    """Learn, print, write."""
    folder, text = Path(options.output), "# Three rankings\n"
    folder.mkdir(parents=True, exist_ok=True)
    tasks = [search(), leaderboard(), patients()]
    for number, task in enumerate(tasks, 1):
        lines = "\n".join(f"    {line}" for line in task.table)
        text += f"\n## {number}. {task.title}\n\n{task.words}\n\n{lines}\n\n{task.result}\n"
        text += f"\n[The report]({task.name}.html)\n"
        (folder / f"{task.name}.html").write_text(task.page)
        with suppress(ImportError):  # without matplotlib
            task.draw().figure_.savefig(folder / f"{task.name}.png", dpi=120)
            text += f"\n![{task.title}]({task.name}.png)\n"
    (folder / "report.md").write_text(text)
    values: dict[str, Any] = {"command": "demo", "report": str(folder / "report.md")}
    pages = [str(folder / f"{task.name}.html") for task in tasks]
    values |= {"pages": pages} | {task.name: task.values for task in tasks}
    said = f"Written to {folder / 'report.md'}. Open in a browser:"
    console.result(values, [*text.splitlines(), said, *pages])


def search() -> Task:
    """Rank the documents of new queries, with and without the argument `qid`."""
    X, grade, query = make_search(random_state=0)
    train, test = query < 30, query >= 30
    ours = RankSVMCV().fit(X[train], grade[train], qid=query[train])
    centered = less_query_means(np.column_stack([X, grade])[train], query[train])
    others = {
        "Ridge, centered by query": RidgeCV().fit(centered[:, :-1], centered[:, -1]),
        "RankSVM without qid": RankSVMCV().fit(X[train], grade[train]),
        "Ridge without queries": RidgeCV().fit(X[train], grade[train]),
    }
    report = Report(
        ours, X[test], grade[test], query[test], models=others, name="RankSVM with qid",
        feature_names=["title matches", "text matches", "address parts"], title="Search results",
    )  # fmt: skip
    errors = {name: measured[0].mean for name, measured in report.measures.items()}
    rows = table(("model", "pairs in order"), [(name, f"{1 - one:.1%}") for name, one in errors.items()])
    values = report.measures["RankSVM with qid"][0].values
    return Task(
        "search", "Search results", SEARCH, rows, report.headline(), report.to_html(), {"errors": errors},
        lambda: QueryQualityDisplay(values=values).plot(),
    )  # fmt: skip


def less_query_means(columns: NDArray[np.float64], query: NDArray[np.int64]) -> NDArray[np.float64]:
    """Subtract from each column its mean in the row's query."""
    of_row = np.unique(query, return_inverse=True)[1]
    sums = np.zeros((of_row.max() + 1, columns.shape[1]))
    np.add.at(sums, of_row, columns)
    return columns - (sums / np.bincount(of_row)[:, None])[of_row]


def leaderboard() -> Task:
    """Rank chat models by votes on pairs of their answers."""
    generator = np.random.default_rng(0)
    strength = generator.normal(scale=0.7, size=len(MODELS))
    a, b = np.array([generator.choice(len(MODELS), 2, replace=False) for _ in range(2000)]).T
    is_won = generator.random(2000) < 1 / (1 + np.exp(strength[b] - strength[a]))
    model = BradleyTerry().fit(MODELS[np.where(is_won, a, b)], MODELS[np.where(is_won, b, a)])
    board = model.leaderboard()
    page = leaderboard_page(model, board, "Leaderboard of twelve models")
    values = {"leaderboard": [row._asdict() for row in board]}
    return Task(
        "leaderboard", "A leaderboard", VOTES, str(board).splitlines(), headline(model, board), page, values,
        lambda: LeaderboardDisplay.from_estimator(model),
    )  # fmt: skip


def patients() -> Task:
    """Rank patients by the progression of their disease, with probabilities and ranges of places."""
    X, y = load_diabetes_ranking(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    (learned, known, new), held_out = np.split(order, [250, 392]), order[250:]
    model = RankLogisticCV().fit(X[learned], y[learned])
    low, high = ConformalRanks(model, level=0.9).calibrate(X[known], y[known]).rank_sets(X[new])
    true = (y[known] > y[new, None]).sum(axis=1)
    is_inside = (low <= true) & (true <= high)
    shown = np.argsort(-model.predict(X[new]))[np.linspace(0, len(new) - 1, 5).astype(int)]
    chance = [f"{p:.0%}" for p in model.predict_pair_proba(X[new[shown[:-1]]], X[new[shown[1:]]])]
    rows = [
        (f"{k + 1}", f"{low[k] + 1:.0f} to {high[k] + 1:.0f}", f"{true[k] + 1:.0f}", p)
        for k, p in zip(shown, [*chance, ""], strict=True)
    ]
    names = load_diabetes_ranking().feature_names
    report = Report(model, X[held_out], y[held_out], name="RankLogistic", feature_names=names)
    return Task(
        "patients", "Patients with probabilities", PATIENTS,
        table(("patient", "90% range", "true place", "worse off than the next"), rows),
        f"{report.headline()} {is_inside.sum()} of {len(new)} true places are in their ranges.",
        report.to_html(), {"coverage": float(is_inside.mean())},
        lambda: ReliabilityDisplay.from_estimator(model, X[held_out], y[held_out]),
    )  # fmt: skip
