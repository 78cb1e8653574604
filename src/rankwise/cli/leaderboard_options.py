"""The options of `rankwise leaderboard`."""

from __future__ import annotations

from typing import Any

from rankwise.cli import arguments
from rankwise.leaderboard.links import LINKS
from rankwise.leaderboard.score_statistics import STATISTICS
from rankwise.leaderboard.score_table import OVER, SCALES


def add_leaderboard_options(parser: Any) -> None:
    """Add the options of data, model, judges, questions and output."""
    _add_data_options(parser)
    _add_table_options(parser)
    _add_model_options(parser)
    _add_judge_options(parser)
    _add_output_options(parser)
    _add_questions(parser)


def _add_data_options(parser: Any) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--a", help="column of the winner, or of the first item (default: columns with known names)"
    )
    group.add_argument("--b", help="column of the loser, or of the second item")
    group.add_argument(
        "--outcome",
        help="column of the outcome for the first: win, loss, tie, or 1, 0, 0.5, or model_a, model_b",
    )
    group.add_argument("--weight", help="column of weights, of votes, or of tasks or instances")
    group.add_argument(
        "--ranking", help="column of who ranked, of a table with a row per item of a ranking (Plackett-Luce)"
    )
    group.add_argument("--item", help="column of the items of --ranking (default: item)")
    group.add_argument("--place", help="column of their places, lower is better (default: place)")
    group.add_argument(
        "--cluster", nargs="+", metavar="COLUMN",
        help="column of users or prompts whose votes depend on each other, or two columns",
    )  # fmt: skip
    group.add_argument("--date", help="column of dates (also YYYYMMDD) or numbers, for --half-life")
    group.add_argument(
        "--covariates", nargs="+", metavar="COLUMN",
        help="columns of numbers for the first item, such as a difference of lengths, whose effects to learn",
    )  # fmt: skip


def _add_table_options(parser: Any) -> None:
    group = parser.add_argument_group("scores of models by tasks, with --model naming their column")
    group.add_argument(
        "--task", metavar="COLUMN", help="column of tasks; a row is a value of a model in a task"
    )
    group.add_argument("--value", metavar="COLUMN", help="column of values")
    group.add_argument(
        "--instance", metavar="COLUMN", help="column of instances of a task, such as questions"
    )
    group.add_argument(
        "--over", choices=OVER,
        help="intervals for other tasks like these (default), for other instances of these tasks, or both",
    )  # fmt: skip
    group.add_argument(
        "--lower-is-better",
        nargs="*",
        metavar="TASK",
        help="lower values are better, in all tasks or in these; with --by, of these metrics",
    )
    group.add_argument("--score", choices=tuple(STATISTICS), help="what to rank by (default: mean)")
    group.add_argument("--scale", choices=SCALES, help="scale values by the range or deviation of each task")


def _add_model_options(parser: Any) -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--alpha", type=arguments.SECONDS, help="penalty, 0 for none (default: learned from the matches)"
    )
    group.add_argument(
        "--ties",
        choices=("half", "davidson"),
        help="half a win for each (default), or Davidson's probabilities of ties",
    )
    group.add_argument(
        "--link", choices=tuple(LINKS),
        help="chances by odds (logistic, the default: Bradley-Terry) or by normal noise (probit: Thurstone)",
    )  # fmt: skip
    group.add_argument("--order-effect", action="store_true", help="learn the advantage of the first item")
    group.add_argument(
        "--half-life",
        type=arguments.POSITIVE,
        help="days (or units of numbers) after which the weight of a match is halved",
    )
    group.add_argument(
        "--intervals",
        choices=("debiased", "posterior", "anytime"),
        help="intervals without the bias of the penalty (default), or of the posterior; with --task, anytime "
        "intervals of differences hold at all looks",
    )
    group.add_argument("--model", help="file to save the model to; with --task, column of models")
    group.add_argument(
        "--tune", action="store_true",
        help="choose alpha, and with --date the half-life, by predicting later votes from earlier ones, or "
        "folds of votes without --date",
    )  # fmt: skip


def _add_judge_options(parser: Any) -> None:
    group = parser.add_argument_group("judges")
    group.add_argument("--judge", help="column of who voted: judges differ in how sharply they discern")
    group.add_argument(
        "--judge-outcome",
        help="column of a judge's votes on all duels; --outcome then has human votes on some of them",
    )


def _add_output_options(parser: Any) -> None:
    parser.add_argument(
        "--match", nargs=2, action="append", default=[], metavar=("A", "B"),
        help="print the probabilities of a match of A, named first, against B; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--ranks",
        action="store_true",
        help="compute ranges of ranks even for more than 3,000 items, which takes minutes",
    )
    parser.add_argument("--top", type=arguments.COUNT, help="number of items to print (default: all)")
    parser.add_argument(
        "--confidence", type=arguments.value(between, "a number between 0 and 1"), default=0.95,
        help="level of the intervals (default: 0.95)",
    )  # fmt: skip
    parser.add_argument("-o", "--output", help="HTML file to write")
    parser.add_argument("--title", default="Leaderboard", help="heading of the HTML file")


def _add_questions(parser: Any) -> None:
    parser.add_argument(
        "--evaluate", metavar="VOTES",
        help="table of held-out matches, of the same columns: print the log loss, accuracy and Brier score",
    )  # fmt: skip
    parser.add_argument(
        "--fragility", nargs="?", const=1, type=arguments.COUNT, metavar="K",
        help="find few votes, or users with --cluster, that decide first place, or the top K",
    )  # fmt: skip
    parser.add_argument(
        "--over-time", type=arguments.value(period_of, "week, month, year or a positive number"),
        metavar="PERIOD", help="scores at the end of each week, month, year, or number of days, with --date",
    )  # fmt: skip
    parser.add_argument(
        "--by", metavar="COLUMN",
        help="a leaderboard per category of this column, such as a language, that leans on that of all "
        "votes; with --task, a leaderboard per metric",
    )  # fmt: skip


def period_of(text: str) -> str | float:
    """Read the name of a period or its length."""
    if text in ("week", "month", "year"):
        return text
    value = arguments.number(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def between(text: str) -> float:
    """Read a number between 0 and 1."""
    value = arguments.number(text)
    if not 0 < value < 1:
        raise ValueError
    return value
