"""The command lines of SVMrank: single letters, each followed by its value, then files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankwise.cli.arguments import count, number, positive_number
from rankwise.cli.output import leave_output

LEARN_HELP = """usage: svm_rank_learn [options] train.dat model.dat

Train a ranking SVM with the options, output and model files of SVMrank.

  -?           this help
  -v [0..3]    verbosity (default 1)
  -c float     trade-off between training error and margin, with SVMrank's meaning (default 0.01)
  -l [1,2]     loss: 1 number of swapped pairs over all queries (default), 2 fraction, mean over queries
  -e float     tolerance of the stopping criterion (default 0.001)
  -t [0..3]    kernel: 0 linear (default), 1 polynomial (s a*b + r)^d, 2 rbf exp(-g |a-b|^2),
               3 sigmoid tanh(s a*b + r), which is refused if it is not positive semidefinite
  -d int -g float -s float -r float
               parameters of the kernel (default 3, 1, 1, 1)
  -p 1, -o 2, -w 3, the defaults of SVMrank, are accepted; their other values and all other options of
  SVMrank are refused.

A linear model.dat can be read by SVMrank's own svm_rank_classify as well. A kernel model is a file of
rankwise, which svm_rank_classify and rankwise predict of this package read.

example:
  svm_rank_learn -c 20 train.dat model.dat
"""
CLASSIFY_HELP = """usage: svm_rank_classify [options] test.dat model.dat [predictions]

Write a score per line to predictions (default svm_predictions) and print the errors, as SVMrank does. With -
the scores go to standard output and all other output to standard error. The model may come from SVMrank
(linear), from svm_rank_learn of this package or from rankwise train.

  -h, -?       this help
  -v [0..3]    verbosity (default 1)

example:
  svm_rank_classify test.dat model.dat predictions
"""


class RefusedError(Exception):
    """A command line that is not accepted."""


def level(text: str) -> int:
    """Read a verbosity."""
    return _choice(text, (0, 1, 2, 3))


def _choice(text: str, choices: tuple[int, ...]) -> int:
    value = int(text)
    if value not in choices:
        raise ValueError
    return value


@dataclass(frozen=True)
class Option:
    """A letter: the reader of its value, its default, and a description of accepted values."""

    read: Callable[[str], Any]
    default: Any
    accepted: str


@dataclass(frozen=True)
class Program:
    """A command: its options, the number of required files and the default names of others."""

    name: str
    help: str
    help_letters: str
    options: dict[str, Option]
    refused: str
    needed: int
    default_files: tuple[str, ...]


VERBOSITY = {"v": Option(level, 1, "0, 1, 2 or 3")}
LEARN = Program(
    name="svm_rank_learn",
    help=LEARN_HELP,
    help_letters="?",
    options=VERBOSITY
    | {
        "c": Option(positive_number, 0.01, "a positive number"),
        "e": Option(positive_number, 0.001, "a positive number"),
        "l": Option(lambda text: _choice(text, (1, 2)), 1, "1 or 2"),
        "t": Option(lambda text: _choice(text, (0, 1, 2, 3)), 0, "0, 1, 2 or 3 (4 is a user-defined kernel)"),
        "d": Option(count, 3, "an integer of at least 1"),
        "g": Option(positive_number, 1.0, "a positive number"),
        "s": Option(positive_number, 1.0, "a positive number"),
        "r": Option(number, 1.0, "a number"),
        "p": Option(lambda text: _choice(text, (1,)), 1, "1: squared slacks are not available"),
        "o": Option(lambda text: _choice(text, (2,)), 2, "2: slack rescaling is not available"),
        "w": Option(lambda text: _choice(text, (3,)), 3, "3: there is a single algorithm, and it is exact"),
    },
    refused="kfbnmhuay#",
    needed=1,
    default_files=("svm_struct_model",),
)
CLASSIFY = Program(
    name="svm_rank_classify",
    help=CLASSIFY_HELP,
    help_letters="?h",
    options=VERBOSITY,
    refused="y",
    needed=2,
    default_files=("svm_predictions",),
)


@dataclass
class Options:
    """A parsed command line."""

    values: dict[str, Any]
    files: list[str]

    def __getitem__(self, letter: str) -> Any:
        return self.values[letter]

    @property
    def verbosity(self) -> int:
        """The level of output."""
        return int(self.values["v"])

    def say(self, verbosity: int, text: str, end: str = "\n") -> None:
        """Print to standard output at this level of verbosity and above."""
        if self.verbosity >= verbosity:
            tell(text, end)


def tell(text: str, end: str = "\n") -> None:
    """Print to standard output; the work continues if its reader has closed it."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        leave_output()


def parse(program: Program, arguments: list[str]) -> Options | None:
    """Parse a command line; return None for help.

    Examples
    --------
    >>> options = parse(LEARN, ["-c", "20", "-v", "0", "train.dat", "model.dat"])
    >>> options["c"], options.files
    (20.0, ['train.dat', 'model.dat'])
    """
    values = {letter: option.default for letter, option in program.options.items()}
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word in {f"-{letter}" for letter in program.help_letters} | {"--help"}:
            return None
        letter = word[1:]
        if letter not in program.options:
            raise RefusedError(_why_refused(program, word))
        if not rest:
            raise RefusedError(f"the option {word} needs a value: {program.options[letter].accepted}.")
        values[letter] = _value(program, letter, rest.pop(0))
    return Options(values, _files(program, rest))


def _why_refused(program: Program, word: str) -> str:
    known = "of SVMrank is not available" if word[1:] in set(program.refused) else "is unknown"
    return f"the option {word} {known}. See {program.name} -? for the options."


def _value(program: Program, letter: str, text: str) -> Any:
    option = program.options[letter]
    try:
        return option.read(text)
    except ValueError:
        raise RefusedError(f"the option -{letter} must be {option.accepted}; got {text!r}.") from None


def _files(program: Program, files: list[str]) -> list[str]:
    """Add the default names of missing files."""
    n_files = program.needed + len(program.default_files)
    if not program.needed <= len(files) <= n_files:
        raise RefusedError(
            f"{program.needed} to {n_files} files are needed after the options, got {len(files)}. "
            f"See {program.name} -? for the usage."
        )
    return files + list(program.default_files[len(files) - program.needed :])
