"""CPU seconds of win statistics with three outcomes, in one thread, and of a comparison of each pair.

    python benchmarks/wins.py            # up to a million patients: a minute; writes results/wins.json
    python benchmarks/wins.py --quick    # up to 20,000 patients; prints, and writes nothing

Deaths are censored, visits are counts, and the walk has a margin; "margins" are three measurements that leave
half of the pairs or more undecided. The pairs are compared by numpy, in blocks of the treated patients.
"""

import argparse
import datetime
from pathlib import Path
from time import process_time

import numpy as np
from records import compact

from rankwise import win_statistics
from rankwise.preferences import Outcome

RESULTS = Path(__file__).parent / "results" / "wins.json"
SIZES, QUICK, MOST_LISTED = (2_000, 20_000, 200_000, 1_000_000), (2_000, 20_000), 20_000
BLOCK = 500


def trial(n):
    """A time, a count and a measurement of n patients, half of whom are treated."""
    rng = np.random.default_rng(0)
    arm = np.arange(n) % 2
    time, end = rng.exponential(1 + 0.1 * arm), rng.uniform(0.2, 0.6, n)
    walk = rng.normal(300 + 5 * arm, 60)
    return arm, [
        Outcome(np.minimum(time, end), time <= end),
        Outcome(rng.poisson(1.0, n), higher_is_better=False),
        Outcome(walk, margin=30),
    ]


def margins(n):
    """Three measurements with margins of a standard deviation."""
    rng = np.random.default_rng(0)
    return np.arange(n) % 2, [Outcome(rng.normal(size=n), margin=1.0) for _ in range(3)]


def pair_by_pair(arm, outcomes):
    """The wins and losses of all pairs, compared one by one."""
    treated, controls = np.flatnonzero(arm == 1), np.flatnonzero(arm == 0)
    wins = losses = 0
    for begin in range(0, len(treated), BLOCK):
        rows = treated[begin : begin + BLOCK]
        undecided = np.ones((len(rows), len(controls)), dtype=bool)
        for one in outcomes:
            apart = one.values[rows][:, None] - one.values[controls]
            above, below = undecided & (apart > one.margin), undecided & (apart < -one.margin)
            if one.event is not None:
                above &= one.event[controls] == 1
                below &= one.event[rows][:, None] == 1
            wins += int((above if one.higher_is_better else below).sum())
            losses += int((below if one.higher_is_better else above).sum())
            undecided &= ~(above | below)
    return wins, losses


def measured(drawn, n):
    """CPU seconds of `win_statistics` and, for few patients, of the comparison of each pair."""
    arm, outcomes = drawn(n)
    start = process_time()
    found = win_statistics(arm, outcomes, n_jobs=1)
    seconds = {"win_statistics": round(process_time() - start, 4)}
    if n <= MOST_LISTED:
        start = process_time()
        assert pair_by_pair(arm, outcomes) == (found.wins, found.losses)
        seconds["pair by pair"] = round(process_time() - start, 4)
    return seconds


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    record = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "cpu_seconds": {}}
    for drawn in (trial, margins):
        for n in QUICK if options.quick else SIZES:
            seconds = record["cpu_seconds"][f"{drawn.__name__}, {n:,} patients"] = measured(drawn, n)
            print(f"{drawn.__name__:<10}{n:>12,}", seconds, flush=True)
    if not options.quick:
        RESULTS.write_text(compact(record))


if __name__ == "__main__":
    main()
