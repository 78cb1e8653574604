"""`rankwise wins`: the win ratio, win odds and net benefit of a trial."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.cli import arguments
from rankwise.cli.output import Console
from rankwise.core.types import FloatVector
from rankwise.evaluation.wins import STRATUM_WEIGHTS, win_statistics
from rankwise.io.table_columns import ANY_NUMBER
from rankwise.io.tables import Entries, Table, read_columns, refuse_bad
from rankwise.preferences import Outcome

EXAMPLE = """  rankwise wins trial.csv --treatment arm --outcome death:time/event --outcome visits:lower
  rankwise wins trial.csv --treatment arm --control placebo --strata site \\
      --outcome death:years/died:margin=0.5 --outcome walk:higher:margin=30
"""
DIRECTIONS = {"higher": True, "lower": False}


@dataclass(frozen=True)
class Wanted:
    """An outcome as an option names it."""

    name: str
    values: str
    event: str | None = None
    margin: float = 0.0
    higher_is_better: bool = True

    @property
    def columns(self) -> list[str]:
        """The columns of the table that it needs."""
        return [self.values] if self.event is None else [self.values, self.event]


def outcome(text: str) -> Wanted:
    """Read an outcome: a name, and after colons columns, a direction and a margin, each at most once.

    Examples
    --------
    >>> outcome("walk:higher:margin=30")
    Wanted(name='walk', values='walk', event=None, margin=30.0, higher_is_better=True)
    >>> outcome("death:time/event").columns
    ['time', 'event']
    """
    name, *parts = text.split(":")
    found: dict[str, Any] = {}
    for part in parts:
        key, value = part_of(part)
        if key in found:
            raise ValueError
        found[key] = value
    time, _, event = found.pop("columns", name).partition("/")
    if not time or (not event and "/" in text):
        raise ValueError
    return Wanted(name.partition("/")[0], time, event or None, **found)


def part_of(text: str) -> tuple[str, Any]:
    """Return the key and the value of a part of an outcome."""
    if text in DIRECTIONS:
        return "higher_is_better", DIRECTIONS[text]
    if text.startswith("margin="):
        margin = arguments.number(text.removeprefix("margin="))
        if not 0 <= margin < np.inf:
            raise ValueError
        return "margin", margin
    if "/" in text:
        return "columns", text
    raise ValueError


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "wins",
        "table --treatment column --outcome outcome [--outcome outcome ...] [options]",
        run,
        "compare the arms of a trial by win statistics",
        "Compare each treated patient with each control by the first outcome that can order the two. Print "
        "the win ratio, the win odds and the net benefit with intervals and p-values, the number of pairs "
        "that each outcome decides, and the win ratio up to that outcome.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("data",))
    parser.add_argument("data", help="table of patients: CSV, TSV, Parquet or Arrow")
    group = parser.add_argument_group("trial")
    group.add_argument(
        "--treatment", metavar="COLUMN", required=True, help="column of the arm, with two values"
    )
    group.add_argument(
        "--control",
        metavar="ARM",
        help="value of the control arm (default: the smaller number, control or placebo)",
    )
    group.add_argument(
        "--outcome", type=arguments.value(outcome, "NAME[:TIME/EVENT][:higher|lower][:margin=NUMBER]"),
        action="append", required=True, metavar="OUTCOME", dest="outcomes",
        help="an outcome, the most important one first; may be repeated. A column (walk), or a name and the "
        "columns of a time and of whether the event was observed (death:time/event), then lower if lower is "
        "better, and margin=30 for differences that do not count",
    )  # fmt: skip
    group.add_argument(
        "--strata", metavar="COLUMN", help="column of strata; patients are compared within strata only"
    )
    group.add_argument(
        "--stratum-weights", choices=STRATUM_WEIGHTS, default=STRATUM_WEIGHTS[0],
        help="equal weights of all pairs (default), or 1 / n for pairs in a stratum of n patients",
    )  # fmt: skip
    arguments.add_confidence_option(group)


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, compare, print."""
    start = perf_counter()
    named = [options.treatment, options.strata, *(name for one in options.outcomes for name in one.columns)]
    columns = list(dict.fromkeys(name for name in named if name is not None))
    table = read_columns(options.data, columns)
    arms = arms_in(table, options.treatment)
    strata: Any = None if options.strata is None else table.columns[options.strata].words()
    found = win_statistics(
        arms,
        outcomes_in(table, options.outcomes),
        strata,
        control=control_of(arms, options.control),
        stratum_weights=options.stratum_weights,
        confidence=options.confidence,
    )
    values = {"command": "wins", **found.as_dict(), "seconds": perf_counter() - start}
    console.result(values, str(found).split("\n"))


def arms_in(table: Table, name: str) -> Any:
    """Return the arm of each patient: integers, or text."""
    column = table.columns[name]
    integers = column.integers()
    return column.words() if integers is None else integers


def control_of(arms: Any, given: str | None) -> Any:
    """Return the arm that an option names."""
    return next((arm for arm in list(arms) if str(arm) == given), given)


def outcomes_in(table: Table, wanted: list[Wanted]) -> list[Outcome]:
    """Return the outcomes of a table; gaps are missing values."""
    columns = {name: entries_of(table, name) for one in wanted for name in one.columns}
    refuse_bad(table, columns, ANY_NUMBER)
    numbers: dict[str, FloatVector] = {name: one.values.astype(np.float64) for name, one in columns.items()}
    return [
        Outcome(
            numbers[one.values],
            None if one.event is None else numbers[one.event],
            margin=one.margin,
            higher_is_better=one.higher_is_better,
            name=one.name,
        )
        for one in wanted
    ]


def entries_of(table: Table, name: str) -> Entries:
    """Return a column as numbers, NaN for gaps, and which entries are valid."""
    column = table.columns[name]
    values = column.numbers(ANY_NUMBER)
    good = np.array([value is not None and not np.isinf(value) for value in values.tolist()], dtype=bool)
    return Entries(column, values, good)
