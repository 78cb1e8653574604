"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

from rankwise.cli.parser import common
from rankwise.io.table_formats import TABLES


class UsageError(Exception):
    """Options that cannot be combined; the exit code is 2."""


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


def threshold(label: float | None) -> float:
    """Return the largest number below a label, which all relevant labels are above; 0 without a label.

    Examples
    --------
    >>> threshold(None), threshold(2.0) < 2.0
    (0.0, True)
    """
    return 0.0 if label is None else math.nextafter(label, -math.inf)


def seconds(text: str) -> float:
    """Read a finite number of at least 0."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError
    return value


def count(text: str) -> int:
    """Read an integer of at least 1."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def whole_number(text: str) -> int:
    """Read an integer of at least 0."""
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def fold_count(text: str) -> int:
    """Read an integer of at least 2."""
    value = int(text)
    if value < 2:
        raise ValueError
    return value


def thread_count(text: str) -> int:
    """Read a number of threads, -1 for all."""
    return -1 if text.strip() == "-1" else count(text)


def gamma(text: str) -> float | str:
    """Read the width of a kernel: a number, or the word scale, learned or learned-matrix."""
    return text if text in ("scale", "median", "learned", "learned-matrix") else positive_number(text)


def level(text: str) -> float:
    """Read a number between 0 and 1."""
    value = float(text)
    if not 0 < value < 1:
        raise ValueError
    return value


def names(text: str) -> list[str]:
    """Read names separated by commas."""
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
    """Read positive numbers separated by commas."""
    values = [positive_number(part) for part in names(text)]
    if not values:
        raise ValueError
    return values


def ratios(text: str) -> float | list[float]:
    """Read a number from 0 to 1, or several separated by commas."""
    values = [number(part) for part in names(text)]
    if not values or not all(0.0 <= value <= 1.0 for value in values):
        raise ValueError
    return values if len(values) > 1 else values[0]


def counts(text: str) -> list[int]:
    """Read positive integers separated by commas."""
    values = [count(part) for part in names(text)]
    if not values:
        raise ValueError
    return values


def separator(text: str) -> str:
    """Read the separator of a CSV file: a character, or the word tab."""
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1 or text in '"\r\n' or text.isalnum():
        raise ValueError
    return text


def part(text: str) -> float:
    """Read a fraction of at most one half."""
    found = positive_number(text)
    if found > 0.5:
        raise ValueError
    return found


def value(read: Callable[[str], Any], accepted: str) -> Callable[[str], Any]:
    """Return a type for argparse whose errors name the accepted values."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {accepted}; got {text!r}.") from None

    return checked


POSITIVE = value(positive_number, "a positive number")
NUMBER = value(number, "a number")
SECONDS = value(seconds, "a number of at least 0")
COUNT = value(count, "an integer of at least 1")
WHOLE = value(whole_number, "an integer of at least 0")
FOLDS = value(fold_count, "an integer of at least 2")
THREADS = value(thread_count, "an integer of at least 1, or -1 for all cores")
LEVEL = value(level, "a number between 0 and 1")
GAMMA = value(gamma, "a positive number, scale, median, learned or learned-matrix")
NUMBERS = value(numbers, "positive numbers separated by commas")
RATIOS = value(ratios, "a number from 0 to 1, or several separated by commas")
PART = value(part, "a number above 0 and at most 0.5")
COUNTS = value(counts, "integers of at least 1, separated by commas")


def add_command(
    commands: Any, name: str, usage: str, run: Any, summary: str, description: str, example: str,
    help_levels: str = "",
) -> Any:  # fmt: skip
    """Add a command with examples in its help and the options of every command.

    A command that has files sets the defaults `reads` and `writes`, the names of their options; see
    `files_of`.
    """
    parser = commands.add_parser(
        name,
        usage=f"rankwise {name} {usage}",
        help=summary,
        description=f"{textwrap.fill(description, 79)}\n\nexamples:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_help_option(help_levels)
    parser.set_defaults(run=run, reads=(), writes=(), checkpoints=False, to_standard_output=False)
    parser.add_argument("-q", "--quiet", action="store_true", help=common("print nothing but errors"))
    parser.add_argument("--json", action="store_true", help=common("print the result as one JSON object"))
    return parser


def files_of(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the paths that a command reads and those that it writes, with the checkpoint of a model."""
    reads, writes = (
        [path for name in names for path in paths(getattr(options, name, None))]
        for names in (options.reads, options.writes)
    )
    return reads, writes + [f"{path}.checkpoint" for path in writes if options.checkpoints]


def paths(given: str | list[str] | None) -> list[str]:
    """Return the value of an option of files as a list."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else given


def add_ranking(parser: argparse.ArgumentParser) -> tuple[argparse.Action, argparse.Action]:
    """Add the arguments of evaluations: a model or its scores, and rows with labels."""
    model = parser.add_argument("model", help="file of a model, or of scores, one per line")
    return model, parser.add_argument("data", nargs="+", help="files with rows and labels")


def add_confidence_option(parser: Any) -> None:
    """Add the option for the level of intervals."""
    parser.add_argument(
        "--confidence",
        type=LEVEL,
        default=0.95,
        metavar="LEVEL",
        help=common("confidence level of the intervals (default: 0.95)"),
    )


def add_survival_option(group: Any) -> None:
    """Add the option for right-censored times in place of labels."""
    group.add_argument(
        "--survival",
        type=value(column_pair, "two names of columns, separated by a comma"),
        metavar="TIME,EVENT",
        help=common(
            "columns of the survival time and of the event (1) or censoring (0), instead of --label; a "
            "higher score means longer survival, and --qid names strata"
        ),
    )


def column_pair(text: str) -> tuple[str, str]:
    """Read two names."""
    first, second = names(text)
    return first, second


def add_data_options(parser: Any, *, width: bool = False) -> Any:
    """Add the group of options of data files and return it; `width` adds the options of trainings."""
    group = parser.add_argument_group("data", f"Tables are files in {TABLES}, recognized by their suffixes.")
    group.add_argument("--label", metavar="COLUMN", help=common("column of the labels (tables)"))
    group.add_argument("--qid", metavar="COLUMN", help=common("column of the query of each row (tables)"))
    lists = {
        "grades": "the labels from the lowest to the highest, if they are strings (tables)",
        "features": common(
            "columns of the features (tables; default: those of the model, or all other columns)"
        ),
        "exclude": common("columns that are not features, such as identifiers (tables)"),
    }
    if width:
        lists["categorical"] = (
            "features that are categories although they look like numbers, such as codes (tables); columns "
            "of strings are recognized without it"
        )
    for name, text in lists.items():
        group.add_argument(f"--{name}", type=names, metavar="A,B,...", help=text)
    group.add_argument(
        "--sep",
        type=value(separator, "one character that is not a letter or digit, or tab"),
        metavar="CHARACTER",
        help="field separator of CSV files, or tab (default: comma, or semicolon if the header contains it)",
    )
    group.add_argument("--zero-based", action="store_true", help="feature numbers begin at 0 (svmlight)")
    if width:
        group.add_argument(
            "--n-features",
            type=COUNT,
            metavar="INTEGER",
            help="number of features (svmlight; default: the largest index)",
        )
    return group


class Combination(NamedTuple):
    """Each of some options needs, or excludes, each of some others; in all commands that have both."""

    names: str
    needs: str = ""
    excludes: str = ""
    reason: str = ""
    commands: str = ""


OF_MODELS = (
    "model compare at relevant_at gain undefined survival label qid grades features sep zero_based dask"
)
COMBINATIONS = (
    Combination("survival pairs clicked", excludes="label", reason="which it replaces"),
    Combination("pairs clicked", excludes="survival"),
    Combination("clicked", excludes="pairs dask calibration_data grades valid"),
    Combination("survival pairs", excludes="calibration_data dask", commands="train tune"),
    Combination("grades", excludes="dask", reason="which reads labels as numbers", commands="train tune"),
    Combination("exclude", excludes="features", reason="which names all features"),
    Combination("margin", needs="pairs"),
    Combination("position impression document propensity clip", needs="clicked"),
    Combination("clicked", needs="position qid"),
    Combination("alphas one_standard_error", needs="tune"),
    Combination("resume", needs="output", reason="as the checkpoint is beside the model"),
    Combination("cluster", needs="training"),
    Combination("qrels", needs="run_files"),
    Combination("run_files", needs="qrels", reason="the file of the judgments"),
    Combination("run_files", excludes=OF_MODELS, reason="as the scores are in the files"),
)
# Values that an option has if it is not given, besides None and False.
UNSET: dict[str, Any] = {"at": [5, 10], "gain": "exponential", "undefined": "skip", "data": []}
FLAGS = {"run_files": "--run", "model": "a model"}


def check_combinations(options: argparse.Namespace) -> None:
    """Refuse options without others that they need, and options that exclude each other."""
    for rule in COMBINATIONS:
        if rule.commands and options.command not in rule.commands.split():
            continue
        for name in (name for name in rule.names.split() if is_given(options, name)):
            for other in rule.needs.split():
                if hasattr(options, other) and not is_given(options, other):
                    raise UsageError(f"{flag(name)} needs {flag(other)}{because(rule)}.")
            for other in rule.excludes.split():
                if is_given(options, other):
                    raise UsageError(f"{flag(name)} cannot be used with {flag(other)}{because(rule)}.")


def is_given(options: argparse.Namespace, name: str) -> bool:
    """Return whether a command has an option that is given."""
    value = getattr(options, name, None)
    return not (value is None or value is False or value == UNSET.get(name))


def flag(name: str) -> str:
    """Return the name of an option as users write it."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def because(rule: Combination) -> str:
    """Return the reason of a rule as the end of a sentence."""
    return f", {rule.reason}" if rule.reason else ""
