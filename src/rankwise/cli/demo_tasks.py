"""The three rankings of `rankwise demo`: search results, a leaderboard, and patients with probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import RidgeCV

from rankwise.datasets import load_diabetes_ranking, make_search
from rankwise.estimators import BradleyTerry, RankLogisticCV, RankSVMCV
from rankwise.evaluation.conformal import ConformalRanks
from rankwise.plotting import LeaderboardDisplay, QueryQualityDisplay, ReliabilityDisplay
from rankwise.report import Report
from rankwise.report.leaderboard import headline, leaderboard_page

ITEMS = (
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Ivy", "Juniper", "Larch", "Maple", "Oak",
)  # fmt: skip
N_VOTES = 2000
# With and without queries, in the figure.
COLOURS = ("#c8452f", "#9aa0a6")
# Patients to learn from, and to calibrate the ranges of places by; the others are new.
N_LEARNED, N_KNOWN, LEVEL, SHOWN_PATIENTS = 250, 142, 0.9, 5


class Task(NamedTuple):
    """One ranking: its name in files, its text, its page, its numbers, and its figure."""

    name: str
    title: str
    lines: list[str]
    page: str
    values: dict[str, Any]
    draw: Callable[[Any], object]


def search() -> Task:
    """Rank the documents of new queries, with and without the argument `qid`."""
    X, grade, query = make_search(random_state=0)
    train, test = query < 30, query >= 30
    ours = RankSVMCV().fit(X[train], grade[train], qid=query[train])
    others = {
        "RankSVM without qid": RankSVMCV().fit(X[train], grade[train]),
        "Ridge regression": RidgeCV().fit(X[train], grade[train]),
    }
    report = Report(
        ours, X[test], grade[test], query[test], models=others, name="RankSVM with qid",
        feature_names=["title matches", "text matches", "address length"], title="Search results",
    )  # fmt: skip
    right = {name: 1 - measured[0].mean for name, measured in report.measures.items()}
    lines = [
        "60 generated queries of 30 documents with grades 0 to 4. The models learn from 30 queries and rank "
        "the documents of the others. Grades can be compared within a query only, which the argument `qid` "
        "states.",
        "",
        *markdown(
            ("model", "pairs of new queries in the right order"),
            [(name, f"{share:.1%}") for name, share in right.items()],
        ),
        "",
        report.headline(),
    ]

    def draw(ax: Any) -> object:
        for (name, measured), colour in zip(report.measures.items(), COLOURS, strict=False):
            QueryQualityDisplay(values=measured[0].values).plot(ax, label=name, color=colour)
        ax.legend(frameon=False)
        return ax.set_xlabel("ranking error of a query")

    errors = {name: 1 - share for name, share in right.items()}
    return Task("search", "Search results", lines, report.to_html(), {"errors": errors}, draw)


def leaderboard() -> Task:
    """Rank language models by votes on pairs of their answers."""
    model = BradleyTerry().fit(*votes())
    board = model.leaderboard()
    first, second = board[0].item, board[1].item
    chance = float(model.predict_pair_proba(first, second))
    lines = [
        f"{N_VOTES:,} generated votes, each on the answers of two of {len(ITEMS)} chat models. There are no "
        "features, only names. Each model gets a score, and a 95% confidence range of its rank.",
        "",
        *markdown(
            ("rank", "model", "score", "range of rank", "votes won"),
            [(f"{r.rank}", f"{r.item}", f"{r.score:+z.2f}", r.ranks, f"{r.won:.0%}") for r in board],
        ),
        "",
        f"{headline(model, board)} {first} is preferred to {second} with a probability of {chance:.0%}.",
    ]
    values = {"leaderboard": [row._asdict() for row in board]}
    page = leaderboard_page(model, board, "Leaderboard of twelve models")

    def draw(ax: Any) -> object:
        return LeaderboardDisplay.from_estimator(model, ax=ax)

    return Task("leaderboard", "A leaderboard", lines, page, values, draw)


def votes() -> tuple[list[str], list[str]]:
    """Generate votes: the winner and the loser of each."""
    generator = np.random.default_rng(0)
    strength = generator.normal(scale=0.7, size=len(ITEMS))
    a = generator.integers(len(ITEMS), size=N_VOTES)
    b = (a + 1 + generator.integers(len(ITEMS) - 1, size=N_VOTES)) % len(ITEMS)
    is_won = generator.random(N_VOTES) < 1 / (1 + np.exp(strength[b] - strength[a]))
    winner, loser = np.where(is_won, a, b), np.where(is_won, b, a)
    return [ITEMS[k] for k in winner], [ITEMS[k] for k in loser]


def patients() -> Task:
    """Rank patients by the progression of their disease, with probabilities and ranges of places."""
    data = load_diabetes_ranking()
    order = np.random.default_rng(0).permutation(len(data.target))
    X, y = data.data[order], data.target[order]
    learned, known, new = np.split(np.arange(len(y)), [N_LEARNED, N_LEARNED + N_KNOWN])
    held_out = np.append(known, new)
    model = RankLogisticCV().fit(X[learned], y[learned])
    places = ConformalRanks(model, level=LEVEL).calibrate(X[known], y[known])
    low, high = places.rank_sets(X[new])
    true = (y[known] > y[new, None]).sum(axis=1)
    is_inside = (low <= true) & (true <= high)
    best_first = np.argsort(-model.predict(X[new]))
    shown = best_first[np.linspace(0, len(new) - 1, SHOWN_PATIENTS).astype(int)]
    chance = model.predict_pair_proba(X[new[shown[:-1]]], X[new[shown[1:]]])
    rows = [
        (f"{k + 1}", f"{low[k] + 1:.0f} to {high[k] + 1:.0f}", f"{true[k] + 1:.0f}", p)
        for k, p in zip(shown, [*(f"{p:.0%}" for p in chance), ""], strict=True)
    ]
    report = Report(
        model, X[held_out], y[held_out], name="RankLogistic", feature_names=list(data.feature_names),
        title="Patients by disease progression",
    )  # fmt: skip
    lines = [
        f"Which of {len(y)} diabetes patients will be worse off in a year? The model learns from {N_LEARNED}."
        f" Each new patient gets a range of places among {N_KNOWN} others, which contains the true place "
        f"with a probability of {LEVEL:.0%}. For two patients, the model states the probability that the "
        f"first will be worse off. Five of {len(new)} new patients:",
        "",
        *markdown(("patient", f"{LEVEL:.0%} range of places", "true place", "worse off than the next"), rows),
        "",
        f"{report.headline()} {is_inside.sum()} of {len(new)} true places are in their ranges.",
    ]  # fmt: skip

    def draw(ax: Any) -> object:
        return ReliabilityDisplay.from_estimator(model, X[held_out], y[held_out], ax=ax)

    values = {"error": report.measures["RankLogistic"][0].mean, "coverage": float(is_inside.mean())}
    return Task("patients", "Patients with probabilities", lines, report.to_html(), values, draw)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table as Markdown with aligned columns."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return [f"| {' | '.join(map(str.ljust, cells, widths))} |" for cells in lines]
