"""`rankwise reproduce`: the experiments of the papers, which live in a checkout of the repository."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.output import Console

EXAMPLE = """  rankwise reproduce --quick
  RANKWISE_DATA=data rankwise reproduce --only ohsumed
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "reproduce",
        "[options]",
        run,
        "run the experiments of the papers again",
        "Run the experiments of the papers again, on the real data of the folder named by RANKWISE_DATA, and "
        "write benchmarks/results and docs/reproduction.md. What has a result already is kept. It needs a "
        "checkout of the repository.",
        EXAMPLE,
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="one experiment; may be given again")
    parser.add_argument("--quick", action="store_true", help="small sizes, generated data if need be")
    parser.add_argument("--force", action="store_true", help="run again what has a result already")
    parser.add_argument("--output", type=Path, help="folder of the results (default: benchmarks/results)")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from the results")


def run(options: argparse.Namespace, console: Console) -> None:
    """Hand over to the experiments."""
    sys.path.insert(0, str(benchmarks_folder()))
    from reproduce import runner  # type: ignore[import-not-found]

    known = (*runner.EXPERIMENTS, runner.RACE)
    for name in options.only or ():
        if name not in known:
            raise arguments.UsageError(f"--only must be one of {', '.join(known)}; got {name!r}.")
    missing, page = runner.reproduce(options)
    values = {"command": "reproduce", "page": str(page), "left_out": missing}
    console.result(values, [f"Written to {page}"])
    if missing:
        raise OSError(f"Data or packages are missing, so these were left out: {', '.join(missing)}.")


def benchmarks_folder() -> Path:
    """Find the experiments beside the source files, or below the working directory."""
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (root / "benchmarks" / "reproduce" / "runner.py").is_file():
            return root / "benchmarks"
    raise FileNotFoundError(
        "rankwise reproduce needs a checkout of the repository: its experiments are not part of the package."
    )
