"""The HTML page of a leaderboard of models by tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rankwise import __version__
from rankwise.core.results import ResultTable
from rankwise.core.text import decimal, escaped, p_value_text, plural
from rankwise.leaderboard.score_fragility import TableFragility
from rankwise.leaderboard.score_order import Separation, TableDifference
from rankwise.leaderboard.score_table import UNITS, ScoreLeaderboard, ScoreTable
from rankwise.report.critical_difference_display import CriticalDifferenceDisplay
from rankwise.report.leaderboard_display import LeaderboardDisplay
from rankwise.report.leaderboard_tables import chance_text, percent
from rankwise.report.page import Number, facts, figure, page, paragraph, section, table

SHOWN_IN_CHART, SHOWN_IN_GROUPS, SHOWN_PAIRS, SHOWN_TASKS = 40, 20, 30, 30
LOOKS = {
    "fixed": "They hold for one look at the data: if a table is looked at again as it grows, use anytime "
    "intervals.",
    "anytime": "They hold at all looks at once, however often a table is looked at as it grows.",
}
# Scores that are shown side by side.
BESIDE = ("mean", "rank", "wins", "strength")


class Answers(NamedTuple):
    """The answers of a table that a page shows."""

    table: ScoreTable
    score: str
    over: str
    intervals: str
    board: ScoreLeaderboard
    neighbors: ResultTable[TableDifference]
    separation: Separation | None
    fragility: TableFragility | None

    @classmethod
    def of(
        cls, table: ScoreTable, score: str = "mean", over: str = "tasks", confidence: float = 0.95,
        intervals: str = "fixed", *,
        fragility: bool = False,
    ) -> Answers:  # fmt: skip
        """Ask a table."""
        board = table.leaderboard(score, over, confidence)
        neighbors = table.differences("neighbors", score, over, intervals, confidence)
        is_known = np.isfinite(neighbors[0].standard_error)
        asked = (score, over, intervals, confidence)
        separation = table.separation(None, None, *asked) if is_known else None
        removed = "instances" if over == "instances" else "tasks"
        few = table.fragility(score, removed) if fragility else None
        return cls(table, score, over, intervals, board, neighbors, separation, few)


def score_table_page(found: Mapping[str, Answers], title: str = "Leaderboard") -> str:
    """Return the self-contained HTML page of a leaderboard of scores, or of several by metric."""
    lead, sections = "", [metrics(found)] if len(found) > 1 else []
    for number, (name, one) in enumerate(found.items()):
        told = " ".join(str(line) for line in (one.separation, one.fragility) if line is not None)
        words = f"{name}: " if name else ""
        lead += f'<p class="lead">{escaped(words + headline(one.table, one.board))}</p>\n{paragraph(told)}'
        sections += sections_of(one, f"-{number}" if number else "", f", {name}" if name else "")
    last = next(iter(found.values()))
    sections.append(section("explained", "How to read the scores", *map(paragraph, explained(last.board))))
    return page(title, lead, sections, f"Made by rankwise {__version__}.")


def sections_of(found: Answers, end: str, of_metric: str) -> list[str]:
    """Return the sections of one table; their names end with `end` and their titles with the metric."""
    scores, board = found.table, found.board
    caption = f"The {board.unit} with {percent(board)} confidence intervals, the best on top."
    picture = LeaderboardDisplay(board).picture(SHOWN_IN_CHART)
    chart = figure(picture, caption)
    return [
        section(f"ranking{end}", f"Ranking{of_metric}", paragraph(board.note), chart, ranking(board, end)),
        section(f"groups{end}", f"Groups{of_metric}", groups(board)),
        section(f"neighbors{end}", f"Neighbors{of_metric}", neighbor_table(found, end)),
        section(f"answers{end}", f"By other scores{of_metric}", answers(found, end)),
        section(f"tasks{end}", f"Tasks{of_metric}", task_table(scores, end)),
        section(f"data{end}", f"The data in numbers{of_metric}", data_facts(scores)),
    ]


def metrics(found: Mapping[str, Answers]) -> str:
    """Return the scores of the models by all metrics side by side, with the range of the rank by each."""
    return section(
        "metrics",
        "Metrics",
        beside({name: one.board for name, one in found.items()}, "The models by metric", "metrics"),
    )


def headline(scores: ScoreTable, board: ScoreLeaderboard) -> str:
    """Summarise the leaderboard in a sentence."""
    first = board[0]
    over = f"{plural(len(scores.models_), 'model')} in {plural(len(scores.tasks_), 'task')}"
    return f"{first.item} is ahead of {over}; the {percent(board)} range of its rank is {first.ranks}."


def groups(board: ScoreLeaderboard) -> str:
    """Return the critical-difference diagram of the best models; empty without letters."""
    if not board[0].group:
        return ""
    best = f" of the best {SHOWN_IN_GROUPS}" if len(board) > SHOWN_IN_GROUPS else ""
    caption = f"A line joins models{best} that do not differ significantly, corrected for all pairs."
    return figure(CriticalDifferenceDisplay(board).picture(SHOWN_IN_GROUPS), caption, wide=True)


def ranking(board: ScoreLeaderboard, end: str) -> str:
    """Return the leaderboard as a table."""
    header = ["Model", "Rank", "Range of rank", "Score", "from", "to", "First place", "Group", "Tasks"]
    rows = [
        [
            str(row.item), row.rank, Number(row.best_rank, row.ranks),
            *map(_score, (row.score, row.low, row.high)),
            Number(row.first, chance_text(row.first) if row.first == row.first else ""), row.group, row.tasks,
        ]
        for row in board
    ]  # fmt: skip
    search = "Find a model:" if len(rows) > 12 else None
    return table("The leaderboard", header, rows, name=f"leaderboard{end}", search=search)


def neighbor_table(found: Answers, end: str) -> str:
    """Return the differences of each model and the next one."""
    neighbors = found.neighbors
    rows = [
        [
            str(row.a), str(row.b), *map(_score, (row.estimate, row.low, row.high)),
            Number(row.corrected, p_value_text(row.corrected)),
        ]
        for row in neighbors[:SHOWN_PAIRS]
    ]  # fmt: skip
    header = ["Model", "Next", "Difference", "from", "to", "p, corrected"]
    note = f"Each interval is for one pair; p-values are corrected for all {len(neighbors):,} (Holm). "
    note += LOOKS[found.intervals]
    return table("Each model and the next", header, rows, name=f"differences{end}", note=note)


def answers(found: Answers, end: str) -> str:
    """Return the scores of all kinds side by side, with the range of the rank by each."""
    confidence = found.board.confidence
    boards = {
        UNITS[score].capitalize(): answer(found.table, score, found.over, confidence)
        for score in dict.fromkeys((*BESIDE, found.score))
    }
    known = {name: board for name, board in boards.items() if board is not None}
    return beside(known, "The models by each score", f"answers{end}")


def beside(boards: Mapping[str, ScoreLeaderboard], caption: str, name: str) -> str:
    """Return the score and the range of the rank of each model in several leaderboards."""
    known = [{row.item: row for row in board} for board in boards.values()]
    header = ["Model", *(text for title in boards for text in (title, "range of rank"))]
    rows = [
        [
            str(item),
            *(
                cell
                for row in (board.get(item) for board in known)
                for cell in (
                    (None, None) if row is None else (_score(row.score), Number(row.rank, row.ranks))
                )
            ),
        ]
        for item in dict.fromkeys(item for board in known for item in board)
    ]
    return table(caption, header, rows, name=name)


def answer(scores: ScoreTable, score: str, over: str, confidence: float) -> ScoreLeaderboard | None:
    """Return a leaderboard; None if models share no instances to be compared on."""
    try:
        return scores.leaderboard(score, over, confidence)
    except ValueError:
        return None


def task_table(scores: ScoreTable, end: str) -> str:
    """Return the tasks that disagree most with the others."""
    found = scores.task_agreement()
    rows = [
        [str(row.task), Number(row.correlation, decimal(row.correlation, 3)), row.models]
        for row in found[:SHOWN_TASKS]
        if row.correlation == row.correlation
    ]
    note = "Spearman's correlation of the wins of the models in a task with their wins in the other tasks."
    return table(
        "Tasks that agree least", ["Task", "Agreement", "Models"], rows, name=f"agreement{end}", note=note
    )


def explained(board: ScoreLeaderboard) -> list[str]:
    """Explain ranges and groups."""
    return [
        f"The ranges of ranks of all models hold at once with {percent(board)} confidence. They exclude the "
        "models that are significantly above or below, corrected for all pairs. Models that share a letter "
        "are not significantly different, which does not mean that they are equal.",
        "First place is the probability that the true score is the best, without a prior.",
    ]


def data_facts(scores: ScoreTable) -> str:
    """Return the numbers of models, tasks and missing cells."""
    agreement = scores.agreement()
    return facts(
        [
            ("Models", len(scores.models_)),
            ("Tasks", len(scores.tasks_)),
            ("Missing cells", scores.n_missing_),
            ("Kendall's W of complete tasks", agreement if np.isfinite(agreement) else None),
        ]
    )


def _score(value: float) -> Number:
    if not np.isfinite(value):
        return Number(None, "no limit")
    return Number(value, decimal(value, 3))
