"""The command `rankwise`: parse and dispatch; each command has a module."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from rankwise import __version__
from rankwise.cli.arguments import UsageError, check_combinations, files_of
from rankwise.cli.files import check_files
from rankwise.cli.interruption import InterruptedRunError, Interruption, exit_code
from rankwise.cli.output import Console, complain, leave_output, sentence
from rankwise.cli.parser import Parser, did_you_mean

# In the order of the help. Each is a module of this package, imported if it is to run or to be listed.
COMMANDS = (
    "train",
    "predict",
    "rank",
    "evaluate",
    "tune",
    "summary",
    "report",
    "leaderboard",
    "wins",
    "export",
    "demo",
)
EPILOG = """exit codes: 0 done, 1 the run failed, 2 wrong usage, 130 and 143 ended by Ctrl-C and SIGTERM

example:
  rankwise train train.txt -o model.json --tune
  rankwise predict model.json test.txt -o scores.txt
  rankwise evaluate model.json test.txt
  rankwise train --help
"""


def build_parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of some commands, by default of all."""
    parser = Parser(
        prog="rankwise",
        description="Learn to put things in order.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rankwise {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name in names:
        import_module(f"rankwise.cli.{name}").add_parser(commands)
    return parser


def named(arguments: Sequence[str]) -> Sequence[str]:
    """Return the command that begins the arguments, or all commands if none does."""
    return [name for name in COMMANDS if name in arguments[:1]] or COMMANDS


def check_command(arguments: Sequence[str]) -> None:
    """Refuse a word in the place of the command; what precedes a command are options."""
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        suggestion = did_you_mean(arguments[0], COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
        build_parser(()).error(f"{arguments[0]!r} is no command{suggestion}")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Postpone the garbage collector: imports make many objects, hardly any of them garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors of argparse exit with 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    check_command(arguments)
    with no_garbage_collection():
        parser = build_parser(named(arguments))
    options = parser.parse_args(arguments)
    options.arguments = arguments
    console, interruption = Console(options.quiet, options.json), Interruption()
    try:
        with interruption, console.warnings_as_notes():
            check_combinations(options)
            check_files(*files_of(options), to_standard_output=options.to_standard_output)
            options.run(options, console)
            print(end="", flush=True)  # without effect if standard output is closed
        if interruption.number is not None:  # an interrupted fit returned its best model so far
            raise KeyboardInterrupt
    except UsageError as error:
        complain(f"rankwise {options.command}", f"{error} See rankwise {options.command} --help.")
        return 2
    except InterruptedRunError as ended:
        complain("rankwise", str(ended))
        return ended.exit_code
    except KeyboardInterrupt:
        complain("rankwise", "Interrupted.")
        return exit_code(interruption.number)
    except BrokenPipeError:  # the reader of our output has closed its end
        leave_output()
        return 1
    except (OSError, ValueError, ImportError, MemoryError) as error:
        complain("rankwise", sentence(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
