"""The HTML page of a leaderboard of models by tasks."""

from __future__ import annotations

import numpy as np

from rankwise import __version__
from rankwise.core.results import ResultTable
from rankwise.core.text import MINUS, escaped, p_value_text, plural
from rankwise.leaderboard.score_order import TableDifference
from rankwise.leaderboard.score_statistics import STATISTICS
from rankwise.leaderboard.score_table import UNITS, ScoreLeaderboard, ScoreTable, TableFragility
from rankwise.report.leaderboard_display import LeaderboardDisplay
from rankwise.report.leaderboard_tables import chance_text, percent
from rankwise.report.page import Number, facts, figure, page, paragraph, section, table

SHOWN_IN_CHART, SHOWN_PAIRS, SHOWN_TASKS = 40, 30, 30


def score_table_page(
    scores: ScoreTable, board: ScoreLeaderboard, neighbors: ResultTable[TableDifference], by: str, over: str,
    title: str = "Leaderboard", fragility: TableFragility | None = None,
) -> str:  # fmt: skip
    """Return the self-contained HTML page of a leaderboard of scores."""
    lead = f'<p class="lead">{escaped(headline(scores, board))}</p>\n'
    if fragility is not None:
        lead += paragraph(str(fragility))
    caption = f"The {board.unit} with {percent(board)} confidence intervals, the best on top."
    picture = LeaderboardDisplay(board).picture(SHOWN_IN_CHART)
    sections = [
        section("ranking", "Ranking", paragraph(board.note), figure(picture, caption), ranking(board)),
        section("neighbors", "Neighbors", neighbor_table(neighbors)),
        section("answers", "By other scores", answers(scores, board, over)),
        section("tasks", "Tasks", task_table(scores)),
        section("explained", "How to read the scores", *map(paragraph, explained(board))),
        section("data", "The data in numbers", data_facts(scores)),
    ]
    return page(title, lead, sections, f"Made by rankwise {__version__}.")


def headline(scores: ScoreTable, board: ScoreLeaderboard) -> str:
    """Summarise the leaderboard in a sentence."""
    first = board[0]
    over = f"{plural(len(scores.models_), 'model')} in {plural(len(scores.tasks_), 'task')}"
    return f"{first.item} is ahead of {over}; the {percent(board)} range of its rank is {first.ranks}."


def ranking(board: ScoreLeaderboard) -> str:
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
    return table("The leaderboard", header, rows, name="leaderboard", search=search)


def neighbor_table(neighbors: ResultTable[TableDifference]) -> str:
    """Return the differences of each model and the next one."""
    rows = [
        [
            str(row.a), str(row.b), *map(_score, (row.estimate, row.low, row.high)),
            Number(row.corrected, p_value_text(row.corrected)),
        ]
        for row in neighbors[:SHOWN_PAIRS]
    ]  # fmt: skip
    header = ["Model", "Next", "Difference", "from", "to", "p, corrected"]
    note = (
        f"Each interval is for one pair; p-values are corrected for all {len(neighbors):,} (Holm). They hold "
        "for one look at the data: if a table is looked at again as it grows, use anytime intervals."
    )
    return table("Each model and the next", header, rows, name="differences", note=note)


def answers(scores: ScoreTable, board: ScoreLeaderboard, over: str) -> str:
    """Return the scores of all kinds side by side, with the range of the rank by each."""
    boards = {by: answer(scores, by, over, board.confidence) for by in STATISTICS}
    known = {by: {row.item: row for row in found} for by, found in boards.items() if found is not None}
    header = ["Model", *(text for by in known for text in (UNITS[by].capitalize(), "range of rank"))]
    rows = [
        [
            str(row.item),
            *(
                cell
                for found in known.values()
                for cell in (
                    _score(found[row.item].score),
                    Number(found[row.item].rank, found[row.item].ranks),
                )
            ),
        ]
        for row in board
    ]
    return table("The models by each score", header, rows, name="answers")


def answer(scores: ScoreTable, by: str, over: str, confidence: float) -> ScoreLeaderboard | None:
    """Return a leaderboard; None if models share no instances to be compared on."""
    try:
        return scores.leaderboard(by, over, confidence)
    except ValueError:
        return None


def task_table(scores: ScoreTable) -> str:
    """Return the tasks that disagree most with the others."""
    found = scores.task_agreement()
    rows = [
        [str(row.task), Number(row.correlation, f"{row.correlation:.3f}".replace("-", MINUS)), row.models]
        for row in found[:SHOWN_TASKS]
        if row.correlation == row.correlation
    ]
    note = "Spearman's correlation of the wins of the models in a task with their wins in the other tasks."
    return table("Tasks that agree least", ["Task", "Agreement", "Models"], rows, name="agreement", note=note)


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
    return Number(value, f"{value:.3f}".replace("-", MINUS))
