"""`rankwise leaderboard --task`: rank models by their values in tasks."""

from __future__ import annotations

import argparse
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.output import Console
from rankwise.core.text import listing, plural
from rankwise.io.atomic import atomic_write
from rankwise.io.tables import read_text_columns
from rankwise.leaderboard.score_table import ScoreLeaderboard, ScoreTable
from rankwise.report.score_table import Answers, score_table_page

# Columns of a table of values; options that need --task; and options of votes, which do not apply.
COLUMNS = ("model", "task", "value", "instance", "weight")
OF_TABLES = ("value", "instance", "over", "lower_is_better", "scale", "score")
OF_VOTES = (
    "a", "b", "outcome", "date", "cluster", "covariates", "alpha", "ties", "link", "order_effect",
    "half_life", "tune", "judge", "judge_outcome", "match", "ranks", "evaluate", "over_time",
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
    if options.intervals not in (None, "anytime"):
        raise arguments.UsageError(f"--intervals {options.intervals} is for votes; with --task: anytime.")
    found = {name: answers_of(options, table) for name, table in read_score_tables(options).items()}
    if options.output is not None:
        with atomic_write(options.output, "w") as file:
            file.write(score_table_page(found, options.title))
    values = {name: values_of(options, one) for name, one in found.items()}
    lines = [line for name, one in found.items() for line in lines_of(options, name, one)]
    console.result(
        {
            "command": "leaderboard", **(values[""] if options.by is None else {"by": values}),
            "output": options.output,
        },
        [*lines, *([] if options.output is None else [f"written to {options.output}"])],
    )  # fmt: skip


def answers_of(options: argparse.Namespace, table: ScoreTable) -> Answers:
    """Return the answers of a table to the questions of the options."""
    return Answers.of(
        table, options.score or "mean", options.over or "tasks", options.confidence,
        options.intervals or "fixed",
        fragility=options.fragility is not None,
    )  # fmt: skip


def values_of(options: argparse.Namespace, found: Answers) -> dict[str, Any]:
    """Return the answers of a table for machines."""
    table, board = found.table, found.board
    return {
        "models": len(table.models_), "tasks": len(table.tasks_), "missing": table.n_missing_,
        "repeated": table.n_repeated_, "score": found.score, "over": found.over,
        "confidence": board.confidence, "note": board.note,
        "leaderboard": [row._asdict() for row in board[: options.top]],
        "neighbors": [row._asdict() for row in found.neighbors],
        "separation": None if found.separation is None else found.separation._asdict(),
        "agreement": table.agreement(),
        "fragility": None if found.fragility is None else found.fragility._asdict(),
    }  # fmt: skip


def lines_of(options: argparse.Namespace, name: str, found: Answers) -> list[str]:
    """Return the answers of a table for people."""
    table, board = found.table, found.board
    shown = ScoreLeaderboard(board[: options.top], board.confidence, board.note, unit=board.unit)
    counts = f"{plural(len(table.models_), 'model')} in {plural(len(table.tasks_), 'task')}"
    end = f"{counts}; {board.unit}; intervals {board.confidence:.0%}"
    told = [str(one) for one in (found.separation, found.fragility) if one is not None]
    title = [] if options.by is None else [f"{options.by}: {name}"]
    return [*title, *str(shown).splitlines(), "", end, *told, *([""] if title else [])]


def read_score_tables(options: argparse.Namespace) -> dict[str, ScoreTable]:
    """Return the table of a file, or those of its metrics by name; an empty value is missing."""
    named = {role: getattr(options, role) for role in COLUMNS if getattr(options, role) is not None}
    wanted = [*named.values(), *([] if options.by is None else [options.by])]
    columns: Any = read_text_columns(options.matches, list(dict.fromkeys(wanted)))
    value = columns[options.value]
    columns[options.value] = [float("nan") if one in (None, "") else one for one in value]
    # The option alone is an empty list: lower is better in all tasks.
    lower: Any = False if options.lower_is_better is None else options.lower_is_better or True
    if options.by is None:
        return {"": ScoreTable(columns, **named, lower_is_better=lower, scale=options.scale)}
    metrics = sorted(set(columns[options.by]))
    unknown = [] if isinstance(lower, bool) else [name for name in lower if name not in metrics]
    if unknown:
        raise arguments.UsageError(
            f"With --by, --lower-is-better takes metrics: {listing(metrics)}; got {listing(unknown)}."
        )
    found = {}
    for metric in metrics:
        rows = [place for place, name in enumerate(columns[options.by]) if name == metric]
        part = {name: [column[row] for row in rows] for name, column in columns.items()}
        is_lower = lower if isinstance(lower, bool) else metric in lower
        found[metric] = ScoreTable(part, **named, lower_is_better=is_lower, scale=options.scale)
    return found


def flag(name: str) -> str:
    """Return the name of an option as it is typed."""
    return f"--{name.replace('_', '-')}"
