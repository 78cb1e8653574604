"""Attack for a time, or repeat one case.

PYTHONPATH=tests:tests/fuzz python -m attack                  all kinds in turn, for ATTACK_SECONDS
PYTHONPATH=tests:tests/fuzz python -m attack fits kernels    these kinds
PYTHONPATH=tests:tests/fuzz python -m attack fits --case 7    one case, with the traceback of its find
"""

import argparse
import logging
import os
import sys
from contextlib import suppress

from attack.kinds import KINDS
from attack.runner import Attack, repeat


def main(arguments=None, kinds=KINDS):
    """Return the exit code: 1 if there is a find."""
    parser = argparse.ArgumentParser(prog="python -m attack")
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(kinds)}; default: all")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("ATTACK_SECONDS", 600)))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ATTACK_SEED", 0)))
    parser.add_argument("--case", type=int, help="the seed of one case")
    options = parser.parse_args(arguments)
    unknown = set(options.kinds) - set(kinds)
    if unknown:
        parser.error(f"there is no kind {', '.join(sorted(unknown))}; the kinds are {', '.join(kinds)}")
    logging.getLogger("rankwise").setLevel(logging.ERROR)
    chosen = {name: kinds[name] for name in options.kinds or kinds}
    if options.case is not None:
        for case in chosen.values():
            print(f"no find in {repeat(case, options.case)} comparisons")
        return 0
    attack = Attack(chosen, options.seed)
    with suppress(KeyboardInterrupt):
        attack.run_for(options.seconds)
    print(attack.summary())
    return 1 if attack.finds else 0


if __name__ == "__main__":
    sys.exit(main())
