"""The command `rankwise`: one file a command; this one only parses and dispatches."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rankwise import __version__
from rankwise.cli import demo


def build_parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    parser = argparse.ArgumentParser(prog="rankwise", description="Learn to put things in order.")
    parser.add_argument("--version", action="version", version=f"rankwise {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    demo.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; give 0 when it is done and 1 when it failed (wrong usage exits with 2)."""
    options = build_parser().parse_args(arguments)
    try:
        options.run(options)
    except (OSError, ValueError, ImportError) as error:
        print(f"rankwise: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
