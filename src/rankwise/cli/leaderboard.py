"""`rankwise leaderboard`: rank the players, models or products of a table of matches."""

from __future__ import annotations

import argparse
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.output import Console

EXAMPLE = """  rankwise leaderboard matches.csv --a winner --b loser
  rankwise leaderboard games.csv --a home --b away --outcome result --order-effect -o page.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "leaderboard",
        "matches --a column --b column [options]",
        run,
        "rank items by their matches",
        "Rank named items by who won against whom (Bradley-Terry): print scores with intervals and the ranks "
        "each item may have, and write them as an HTML file that opens offline.",
        EXAMPLE,
    )
    parser.add_argument("matches", help="table of matches: CSV, TSV or Parquet")
    group = parser.add_argument_group("data")
    group.add_argument("--a", required=True, help="column of the winner, or of the first item")
    group.add_argument("--b", required=True, help="column of the loser, or of the second item")
    group.add_argument("--outcome", help="column of the outcome for the first: win, loss, tie, or 1, 0, 0.5")
    group.add_argument("--weight", help="column of weights")
    group.add_argument("--date", help="column of dates or numbers, for --half-life")
    group = parser.add_argument_group("model")
    group.add_argument(
        "--alpha", type=arguments.SECONDS, help="penalty, 0 for none (default: a standard normal prior)"
    )
    group.add_argument(
        "--ties",
        choices=("half", "davidson"),
        default="half",
        help="half a win each, or chances of their own",
    )
    group.add_argument("--order-effect", action="store_true", help="learn what it is worth to be the first")
    group.add_argument(
        "--half-life",
        type=arguments.POSITIVE,
        help="days (or units of numbers) after which a match weighs half",
    )
    parser.add_argument("--top", type=arguments.COUNT, help="print so many items (default: all)")
    parser.add_argument(
        "--confidence", type=arguments.value(between, "a number between 0 and 1"), default=0.95,
        help="of the intervals (default: 0.95)",
    )  # fmt: skip
    parser.add_argument("-o", "--output", help="HTML file to write")
    parser.add_argument("--title", default="Leaderboard", help="heading of the HTML file")


def between(text: str) -> float:
    """Read a number between 0 and 1."""
    value = arguments.number(text)
    if not 0 < value < 1:
        raise ValueError
    return value


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, fit, print, write."""
    from rankwise.cli.training import check_output
    from rankwise.estimators import BradleyTerry
    from rankwise.io.atomic import atomic_write

    check_usage(options)
    check_output(options.output)
    model = BradleyTerry(
        options.alpha, ties=options.ties, order_effect=options.order_effect, half_life=options.half_life
    )
    columns = read_columns(options)
    model.fit(columns.pop("a"), columns.pop("b"), **columns)
    board = model.leaderboard(options.top, confidence=options.confidence)
    if options.output is not None:
        from rankwise.report.leaderboard import leaderboard_page

        html = leaderboard_page(model, board, options.title)
        with atomic_write(options.output, "w") as file:
            file.write(html)
    console.result(values_of(options, model, board), lines_of(options, model, board))


def check_usage(options: argparse.Namespace) -> None:
    """Refuse options that lack another."""
    if options.order_effect and options.outcome is None:
        raise arguments.UsageError("--order-effect needs --outcome.")
    if options.half_life is not None and options.date is None:
        raise arguments.UsageError("--half-life needs --date.")


def read_columns(options: argparse.Namespace) -> dict[str, Any]:
    """Return the columns by what they mean; names are text, whatever they look like."""
    from rankwise.io.frames import read_text_columns

    named = {name: getattr(options, name) for name in ("a", "b", "outcome", "weight", "date")}
    named = {name: column for name, column in named.items() if column is not None}
    found = read_text_columns(options.matches, list(dict.fromkeys(named.values())))
    columns: dict[str, Any] = {name: found[column] for name, column in named.items()}
    for name in ("weight", "date"):
        if name in columns:
            columns[name] = numbers_where_all_are(columns[name])
    if "outcome" in columns:
        columns["outcome"] = [OUTCOMES.get(value, value) for value in columns["outcome"]]
    return columns


OUTCOMES = {text: number for number in (0.0, 0.5, 1.0) for text in (str(number), f"{number:g}")}


def numbers_where_all_are(column: list[Any]) -> list[Any]:
    """Return text as numbers where all of it is.

    Examples
    --------
    >>> numbers_where_all_are(["1", "2.5"]), numbers_where_all_are(["2024-05-01", "1"])
    ([1.0, 2.5], ['2024-05-01', '1'])
    """
    try:
        return [float(value) for value in column]
    except (TypeError, ValueError):
        return column


def values_of(options: argparse.Namespace, model: Any, board: Any) -> dict[str, Any]:
    """Return the result for machines."""
    return {
        "command": "leaderboard",
        "matches": model.n_comparisons_,
        "items": len(model.items_),
        "groups": len(model.groups_),
        "alpha": model.alpha_,
        "objective": model.objective_,
        "gap": model.gap_,
        "order_effect": model.order_effect_,
        "tie_effect": model.tie_effect_,
        "confidence": board.confidence,
        "leaderboard": [row._asdict() for row in board],
        "output": options.output,
    }


def lines_of(options: argparse.Namespace, model: Any, board: Any) -> list[str]:
    """Return the result for people."""
    effects = [f"order effect {model.order_effect_:.3f}"] if model.order_effect else []
    effects += [f"tie effect {model.tie_effect_:.3f}"] if model.ties == "davidson" else []
    end = f"{model.n_comparisons_:,} matches of {len(model.items_):,} items; intervals {board.confidence:.0%}"
    written = [f"written to {options.output}"] if options.output is not None else []
    return [*str(board).splitlines(), "", "; ".join([end, *effects]), *written]
