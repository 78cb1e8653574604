"""`python -m benchmarks.reproduce`: run the experiments of the papers again and write their page."""

import argparse
import sys
from pathlib import Path

# The experiments and what they share with the other benchmarks are imported from this folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reproduce import runner

EPILOG = """example:
  python -m benchmarks.reproduce --quick
  RANKWISE_DATA=data python -m benchmarks.reproduce --only ohsumed
"""


def parser():
    found = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        description="Run the experiments of the papers again, on the real data of the folder named by "
        "RANKWISE_DATA, and write benchmarks/results and docs/reproduction.md. What has a result from an "
        "idle machine already is kept, so that a run that was ended goes on where it was.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = (*runner.EXPERIMENTS, runner.RACE)
    found.add_argument("--only", action="append", choices=known, help="one experiment; may be given again")
    found.add_argument("--quick", action="store_true", help="small sizes, generated data if need be")
    found.add_argument("--force", action="store_true", help="run again what has a result already")
    found.add_argument("--busy", action="store_true", help="run although others use the machine, and note it")
    found.add_argument("--output", type=Path, help="folder of the results (default: benchmarks/results)")
    found.add_argument("--page", action="store_true", help="run nothing, write the page from the results")
    found.add_argument("-q", "--quiet", action="store_true", help="print nothing but what is missing")
    return found


def main(arguments=None):
    """Return 0, or 1 where data or packages were missing, something failed, or the machine was in use."""
    missing, _ = runner.reproduce(parser().parse_args(arguments))
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
