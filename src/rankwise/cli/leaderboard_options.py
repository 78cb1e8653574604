"""The options of `rankwise leaderboard`."""

from __future__ import annotations

from typing import Any

from rankwise.cli import arguments
from rankwise.cli.parser import common
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
        "--a", metavar="COLUMN",
        help=common("column of the winner, or of the first item (default: columns with known names)"),
    )  # fmt: skip
    group.add_argument(
        "--b", metavar="COLUMN", help=common("column of the loser, or of the second item")
    )  # fmt: skip
    group.add_argument(
        "--outcome", metavar="COLUMN",
        help=common("column of the outcome for the first: win, loss, tie, or 1, 0, 0.5, or model_a, model_b"),
    )  # fmt: skip
    group.add_argument(
        "--weight", metavar="COLUMN", help="column of weights of votes or, with --task, of tasks or instances"
    )
    group.add_argument(
        "--ranking", metavar="COLUMN",
        help="column of rankers, for tables with one row per item of a ranking (Plackett-Luce)",
    )  # fmt: skip
    group.add_argument("--item", metavar="COLUMN", help="column of the items of --ranking (default: item)")
    group.add_argument(
        "--place", metavar="COLUMN", help="column of the ranks of --ranking, 1 for the best (default: place)"
    )
    group.add_argument(
        "--cluster", nargs="+", metavar="COLUMN",
        help=common("column of users or prompts whose votes depend on each other, or two columns"),
    )  # fmt: skip
    group.add_argument(
        "--date", metavar="COLUMN", help="column of dates (also YYYYMMDD) or numbers, for --half-life"
    )
    group.add_argument(
        "--covariates", nargs="+", metavar="COLUMN",
        help="columns of numbers, such as the first item's excess length, whose effects are estimated",
    )  # fmt: skip


def _add_table_options(parser: Any) -> None:
    group = parser.add_argument_group("scores of models by tasks, with --model naming their column")
    group.add_argument(
        "--task", metavar="COLUMN",
        help=common("column of tasks, for tables with one row per model and task, or instance of a task"),
    )  # fmt: skip
    group.add_argument("--value", metavar="COLUMN", help=common("column of values"))
    group.add_argument(
        "--instance", metavar="COLUMN", help=common("column of instances of a task, such as questions")
    )
    group.add_argument(
        "--over", choices=OVER,
        help="intervals for other tasks like these (default), for other instances of these tasks, or both",
    )  # fmt: skip
    group.add_argument(
        "--lower-is-better", nargs="*", metavar="TASK",
        help=common("lower values are better, in all tasks or in these; with --by, of these metrics"),
    )  # fmt: skip
    group.add_argument("--score", choices=tuple(STATISTICS), help="what to rank by (default: mean)")
    group.add_argument(
        "--scale", choices=SCALES, help="scale values by the range or standard deviation of each task"
    )


def _add_model_options(parser: Any) -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--alpha", type=arguments.SECONDS, metavar="NUMBER",
        help="penalty, 0 for none (default: learned from the matches)",
    )  # fmt: skip
    group.add_argument(
        "--ties", choices=("half", "davidson"),
        help=common("ties as half a win for each item (default), or with Davidson's probabilities of ties"),
    )  # fmt: skip
    group.add_argument(
        "--link", choices=tuple(LINKS),
        help="logistic (Bradley-Terry, the default), or probit for normal noise (Thurstone)",
    )  # fmt: skip
    group.add_argument("--order-effect", action="store_true", help="learn the advantage of the first item")
    group.add_argument(
        "--half-life", type=arguments.POSITIVE, metavar="NUMBER",
        help="days (or units of numbers) after which the weight of a match is halved",
    )  # fmt: skip
    group.add_argument(
        "--intervals", choices=("debiased", "posterior", "anytime"),
        help="intervals without the bias of the penalty (default), or of the posterior; with --task: "
        "anytime, for differences, valid at every look at growing data",
    )  # fmt: skip
    group.add_argument(
        "--model",
        metavar="FILE|COLUMN",
        help=common("file to save the model to; with --task, column of models"),
    )
    group.add_argument(
        "--tune", action="store_true",
        help="choose alpha, and with --date the half-life, by predicting later votes from earlier ones or, "
        "without --date, by cross-validation",
    )  # fmt: skip


def _add_judge_options(parser: Any) -> None:
    group = parser.add_argument_group("judges")
    group.add_argument(
        "--judge", metavar="COLUMN",
        help=common("column of judges (raters), who may differ in reliability"),
    )  # fmt: skip
    group.add_argument(
        "--judge-outcome", metavar="COLUMN",
        help="column of an automatic judge's votes on all matches; --outcome then has human votes on some",
    )  # fmt: skip


def _add_output_options(parser: Any) -> None:
    parser.add_argument(
        "--match", nargs=2, action="append", default=[], metavar=("A", "B"),
        help=common("print the probabilities of a match of A, named first, against B; may be repeated"),
    )  # fmt: skip
    parser.add_argument(
        "--ranks", action="store_true",
        help="compute ranges of ranks even for more than 3,000 items, which takes minutes",
    )  # fmt: skip
    parser.add_argument(
        "--top", type=arguments.COUNT, metavar="K", help=common("number of items to print (default: all)")
    )
    arguments.add_confidence_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help=common("write an HTML report to this file"))
    parser.add_argument("--title", default="Leaderboard", help="heading of the HTML report")


def _add_questions(parser: Any) -> None:
    parser.add_argument(
        "--evaluate", metavar="VOTES",
        help="table of held-out matches with the same columns: print the log loss, accuracy and Brier score",
    )  # fmt: skip
    parser.add_argument(
        "--fragility", nargs="?", const=1, type=arguments.COUNT, metavar="K",
        help="find few votes, or users with --cluster, whose removal changes first place, or the top K",
    )  # fmt: skip
    parser.add_argument(
        "--over-time", type=arguments.value(period_of, "week, month, year or a positive number"),
        metavar="PERIOD", help="scores at the end of each week, month, year, or number of days, with --date",
    )  # fmt: skip
    parser.add_argument(
        "--by", metavar="COLUMN",
        help=common(
            "one leaderboard per category of this column, such as a language, shrunk toward that of all "
            "votes; with --task, one per metric"
        ),
    )  # fmt: skip


def period_of(text: str) -> str | float:
    """Read the name of a period or its length."""
    if text in ("week", "month", "year"):
        return text
    value = arguments.number(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value
