"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

METHODS = ("rank-svm", "rank-logistic", "rank-rls", "ordinal-svm", "hull", "boosted", "curve")
SCALES = ("none", "standard", "minmax", "maxabs", "query-minmax", "query-standard", "query-rank")


class UsageError(Exception):
    """Options that do not go together; the command ends with exit code 2."""


def positive_number(text: str) -> float:
    """Read a finite number above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def number(text: str) -> float:
    """Read a finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def seconds(text: str) -> float:
    """Read a finite number from 0 up."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError
    return value


def count(text: str) -> int:
    """Read a whole number from 1 up."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def whole_number(text: str) -> int:
    """Read a whole number from 0 up."""
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def fold_count(text: str) -> int:
    """Read a whole number from 2 up."""
    value = int(text)
    if value < 2:
        raise ValueError
    return value


def thread_count(text: str) -> int:
    """Read a number of threads, -1 for all."""
    return -1 if text.strip() == "-1" else count(text)


def gamma(text: str) -> float | str:
    """Read the width of a kernel: a number, or the word scale, learned or learned-matrix."""
    return text if text in ("scale", "learned", "learned-matrix") else positive_number(text)


def names(text: str) -> list[str]:
    """Read names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def order(text: str) -> str | list[tuple[str, str]]:
    """Read the order of classes: a word, or edges from the higher to the lower class.

    Examples
    --------
    >>> order("good>fair, fair>bad")
    [('good', 'fair'), ('fair', 'bad')]
    """
    if text in ("chain", "full"):
        return text
    edges = [tuple(name.strip() for name in edge.split(">")) for edge in names(text)]
    if not edges or any(len(edge) != 2 or not all(edge) for edge in edges):
        raise ValueError
    return [(edge[0], edge[1]) for edge in edges]


def numbers(text: str) -> list[float]:
    """Read positive numbers between commas."""
    values = [positive_number(part) for part in names(text)]
    if not values:
        raise ValueError
    return values


def counts(text: str) -> list[int]:
    """Read whole numbers between commas."""
    values = [count(part) for part in names(text)]
    if not values:
        raise ValueError
    return values


def value(read: Callable[[str], Any], accepted: str) -> Callable[[str], Any]:
    """Have argparse say what is accepted where a value is refused."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {accepted}; got {text!r}.") from None

    return checked


POSITIVE = value(positive_number, "a positive number")
NUMBER = value(number, "a number")
SECONDS = value(seconds, "a number of at least 0")
COUNT = value(count, "a whole number of at least 1")
WHOLE = value(whole_number, "a whole number of at least 0")
FOLDS = value(fold_count, "a whole number of at least 2")
THREADS = value(thread_count, "a whole number of at least 1, or -1 for all cores")
GAMMA = value(gamma, "a positive number or the word scale, learned or learned-matrix")
NUMBERS = value(numbers, "positive numbers with commas between them")
COUNTS = value(counts, "whole numbers of at least 1 with commas between them")


def add_command(
    commands: Any, name: str, usage: str, run: Any, summary: str, description: str, example: str
) -> Any:
    """Add a command whose help ends with an example, and the options that every command has."""
    parser = commands.add_parser(
        name,
        usage=f"rankwise {name} {usage}",
        help=summary,
        description=textwrap.fill(description, 79),
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    group = parser.add_argument_group("output")
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    group.add_argument("--json", action="store_true", help="print the result as one JSON object")
    return parser


def add_ranking(parser: argparse.ArgumentParser) -> None:
    """Add what is measured: a model or its scores, and rows with labels."""
    parser.add_argument("model", help="file of a model, or of scores, one per line")
    parser.add_argument("data", nargs="+", help="files with rows and labels")


def add_survival_option(parser: Any) -> None:
    """Add the option for right-censored times in place of labels."""
    parser.add_argument(
        "--survival",
        type=value(column_pair, "two names of columns with a comma between them"),
        metavar="TIME,EVENT",
        help="columns of the time, and of whether the end was seen (1) or cut short (0), in place of "
        "--label; a higher score is a longer life, and --qid names strata",
    )


def column_pair(text: str) -> tuple[str, str]:
    """Read two names."""
    first, second = names(text)
    return first, second


def add_data_options(parser: Any, *, width: bool = False) -> None:
    """Add the options that say how to read data, with `width` also for how many features."""
    group = parser.add_argument_group("data")
    group.add_argument("--label", help="column of the labels (CSV and Parquet)")
    group.add_argument("--qid", help="column of the query of each row (CSV and Parquet)")
    group.add_argument(
        "--categories",
        type=names,
        metavar="A,B,...",
        help="the labels, lowest first, where they are words (CSV and Parquet)",
    )
    group.add_argument(
        "--features",
        type=names,
        metavar="A,B,...",
        help="columns of the features (CSV and Parquet); by default those of the model, or all other columns",
    )
    group.add_argument("--zero-based", action="store_true", help="feature numbers begin at 0 (svmlight)")
    if width:
        group.add_argument(
            "--n-features", type=COUNT, help="number of features (svmlight); by default the largest"
        )


class LossNames:
    """The registered losses as the shell writes them; they are loaded when someone asks for them."""

    def __iter__(self) -> Iterator[str]:
        from rankwise.losses import LOSSES

        return (name.replace("_", "-") for name in (*LOSSES, "least_squares"))

    def __contains__(self, name: object) -> bool:
        return name in list(self)


def add_model_options(parser: Any) -> None:
    """Add the options that say what to learn; those not given are the defaults of the estimator."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--method", choices=METHODS, default="rank-svm", help="what to learn (default: %(default)s)"
    )
    group.add_argument(
        "--loss",
        choices=LossNames(),
        help="loss of a pair (rank-svm, ordinal-svm, boosted, curve; least-squares: boosted alone)",
    )
    group.add_argument(
        "--cost", choices=("magnitude", "unit", "relative"), help="target difference of a pair (rank-rls)"
    )
    group.add_argument(
        "--kernel", help="linear, exponential, or a kernel of scikit-learn such as rbf or poly"
    )
    group.add_argument(
        "--gamma", type=GAMMA, help="of the kernel: a number, scale, learned or learned-matrix"
    )
    group.add_argument("--degree", type=POSITIVE, help="of the polynomial kernel")
    group.add_argument("--coef0", type=NUMBER, help="of the polynomial and the sigmoid kernel")
    group.add_argument("--n-components", type=COUNT, help="basis rows of a kernel; all rows by default")
    group.add_argument("--average", choices=("queries", "pairs"), help="mean over queries or over all pairs")
    group.add_argument(
        "--pair-weight",
        choices=("difference",),
        help="weigh a pair by its difference (rank-svm, rank-logistic, boosted, curve)",
    )
    group.add_argument("--n-estimators", type=COUNT, help="trees (boosted; default: 100)")
    group.add_argument("--learning-rate", type=POSITIVE, help="what each tree counts (boosted; default: 0.1)")
    group.add_argument("--num-leaves", type=COUNT, help="leaves of a tree (boosted; default: 31)")
    group.add_argument("--n-bins", type=COUNT, help="bins of a feature (curve; default: 128)")
    group.add_argument("--shape", choices=("steps", "lines"), help="shape of the curves (curve)")
    group.add_argument(
        "--interactions", type=WHOLE, help="pairs of features with a table in common (curve; default: 0)"
    )
    group.add_argument(
        "--thresholds", choices=("midpoint", "min-error"), help="how labels are parted (ordinal-svm)"
    )
    group.add_argument(
        "--order",
        type=value(order, "chain, full, or edges such as 'good>fair,fair>bad'"),
        metavar="{chain,full,'A>B,...'}",
        help="classes above the next lower one, above all, or by edges, in quotes (hull)",
    )
    group.add_argument("--slack", choices=("squared", "absolute"), help="how violations count (hull)")
    group.add_argument(
        "--slack-per", choices=("row", "edge"), help="a slack for each row, or row and edge (hull)"
    )
    group.add_argument(
        "--scale", choices=SCALES, default="none", help="scale the features first (default: %(default)s)"
    )
    group.add_argument(
        "--tol", type=POSITIVE, help="end when all but this share of what can be won is certified to be won"
    )
    group.add_argument("--max-iter", type=COUNT, help="most iterations")
    group.add_argument("--seed", type=WHOLE, default=0, help="of all random draws (default: 0)")
    group.add_argument("--jobs", type=THREADS, default=1, help="threads, -1 for all (default: 1)")
