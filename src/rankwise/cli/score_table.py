"""`rankwise leaderboard --task`: rank models by their values in tasks."""

from __future__ import annotations

import argparse
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.output import Console
from rankwise.core.text import plural
from rankwise.io.atomic import atomic_write
from rankwise.io.tables import read_text_columns
from rankwise.leaderboard.score_table import ScoreLeaderboard, ScoreTable
from rankwise.report.score_table import score_table_page

# Columns of a table of values; options that need --task; and options of votes, which do not apply.
COLUMNS = ("model", "task", "value", "instance")
OF_TABLES = ("value", "instance", "over", "lower_is_better", "scale")
OF_VOTES = (
    "a", "b", "outcome", "weight", "date", "cluster", "covariates", "alpha", "ties", "link", "order_effect",
    "half_life", "intervals", "tune", "judge", "judge_outcome", "match", "ranks", "evaluate", "over_time",
)  # fmt: skip


def refuse_table_options(options: argparse.Namespace) -> None:
    """Refuse the options of tables of values without --task."""
    given = [name for name in OF_TABLES if getattr(options, name) is not None]
    if given:
        raise arguments.UsageError(f"{flag(given[0])} needs --task, the column of tasks.")


def run_score_table(options: argparse.Namespace, console: Console) -> None:
    """Read, rank, print, write."""
    for name in ("model", "value"):
        if getattr(options, name) is None:
            raise arguments.UsageError(f"--task needs {flag(name)}, the column of {name}s.")
    given = [name for name in OF_VOTES if getattr(options, name) not in (None, False, [])]
    if given:
        raise arguments.UsageError(f"--task cannot be combined with {flag(given[0])}, which is for votes.")
    table, by, over = read_score_table(options), options.by or "mean", options.over or "tasks"
    board = table.leaderboard(by, over, options.confidence)
    neighbors = table.differences("neighbors", by, over, confidence=options.confidence)
    fragility = None if options.fragility is None else table.fragility(by)
    if options.output is not None:
        html = score_table_page(table, board, neighbors, by, over, options.title, fragility)
        with atomic_write(options.output, "w") as file:
            file.write(html)
    shown = ScoreLeaderboard(board[: options.top], board.confidence, board.note, unit=board.unit)
    counts = f"{plural(len(table.models_), 'model')} in {plural(len(table.tasks_), 'task')}"
    end = f"{counts}; {board.unit}; intervals {board.confidence:.0%}"
    console.result(
        {
            "command": "leaderboard", "models": len(table.models_), "tasks": len(table.tasks_),
            "missing": table.n_missing_, "repeated": table.n_repeated_, "by": by, "over": over,
            "confidence": board.confidence, "note": board.note,
            "leaderboard": [row._asdict() for row in shown],
            "neighbors": [row._asdict() for row in neighbors],
            "agreement": table.agreement(),
            "fragility": None if fragility is None else fragility._asdict(),
            "output": options.output,
        },
        [
            *str(shown).splitlines(), "", end, *([] if fragility is None else [str(fragility)]),
            *([] if options.output is None else [f"written to {options.output}"]),
        ],
    )  # fmt: skip


def read_score_table(options: argparse.Namespace) -> ScoreTable:
    """Return the table of a file; an empty value is missing."""
    named = {role: getattr(options, role) for role in COLUMNS if getattr(options, role) is not None}
    columns: Any = read_text_columns(options.matches, list(dict.fromkeys(named.values())))
    value = columns[options.value]
    columns[options.value] = [float("nan") if one in (None, "") else one for one in value]
    # The option alone is an empty list: lower is better in all tasks.
    lower = False if options.lower_is_better is None else options.lower_is_better or True
    return ScoreTable(columns, **named, lower_is_better=lower, scale=options.scale)


def flag(name: str) -> str:
    """Return the name of an option as it is typed."""
    return f"--{name.replace('_', '-')}"
