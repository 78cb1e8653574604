"""CPU seconds of win statistics with three outcomes, in one thread, and of concordance with its variance.

    python benchmarks/wins.py            # up to a million patients: some minutes; writes results/wins.json
    python benchmarks/wins.py --quick    # up to 10,000 patients; prints, and writes nothing
    python benchmarks/wins.py --table    # the table of docs/clinical.md from the record

Deaths are censored, visits are counts, and the walk has a margin; "margins" are three measurements that leave
half of the pairs or more undecided. The pairs are compared by numpy, in blocks of the treated patients.
Concordance is that of censored times with a score, beside R's package survival, scikit-survival and lifelines
if these are installed; the last two have no variance. What would take more than two minutes is left out.
"""

import argparse
import datetime
import importlib
import json
import subprocess
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from records import compact, markdown, with_block

from rankwise import win_statistics
from rankwise.metrics import concordance
from rankwise.preferences import Outcome

RESULTS = Path(__file__).parent / "results" / "wins.json"
PAGE = RESULTS.parents[2] / "docs" / "clinical.md"
SIZES, QUICK, MOST_LISTED = (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000), 10_000
BLOCK = 500
# The most seconds of one measurement, by those of the size before and the ratio of the sizes, squared.
MOST_SECONDS = 120.0
IN_R = """
library(survival)
columns <- matrix(readBin("{file}", "double", 3 * {n}), ncol = 3)
taken <- system.time(found <- concordance(Surv(columns[, 1], columns[, 2]) ~ columns[, 3]))
cat(sum(taken[1:2]), sprintf("%.17g", found$concordance))
"""


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


def lives(n):
    """Censored times, of whom some are seen, and a score."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=n)
    time, end = rng.exponential(np.exp(score)), rng.exponential(1.0, n)
    return np.minimum(time, end), time <= end, score


def ours(time, event, score):
    """`metrics.concordance`."""
    start = process_time()
    found = concordance((event, time), score).estimate
    return process_time() - start, found


def in_r(time, event, score):
    """`survival::concordance`."""
    with tempfile.NamedTemporaryFile() as file:
        np.concatenate([time, event.astype(float), score]).tofile(file)
        file.flush()
        code = IN_R.format(file=file.name, n=len(time))
        printed = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout
    seconds, found = map(float, printed.split())
    return seconds, found


def in_scikit_survival(time, event, score):
    """`concordance_index_censored`, which takes risks."""
    metrics = importlib.import_module("sksurv.metrics")
    start = process_time()
    found = metrics.concordance_index_censored(event, time, -score)[0]
    return process_time() - start, found


def in_lifelines(time, event, score):
    """`concordance_index`."""
    utils = importlib.import_module("lifelines.utils")
    start = process_time()
    found = utils.concordance_index(time, score, event)
    return process_time() - start, found


PACKAGES = {
    "rankwise": ours,
    "survival (R)": in_r,
    "scikit-survival": in_scikit_survival,
    "lifelines": in_lifelines,
}


def concordances(sizes):
    """Yield sizes with the CPU seconds of the packages that are installed."""
    last = {}
    for n in sizes:
        rows, expected, seconds = lives(n), None, {}
        for name, measure in PACKAGES.items():
            if last.get(name, (0.0, n))[0] * (n / last.get(name, (0.0, n))[1]) ** 2 > MOST_SECONDS:
                continue
            try:
                taken, found = measure(*rows)
            except (ImportError, OSError, subprocess.CalledProcessError):
                continue
            expected = found if expected is None else expected
            assert abs(found - expected) < 1e-6, name  # some take times that differ by 1e-8 as tied
            last[name] = taken, n
            seconds[name] = round(taken, 4)
        yield n, seconds


def write_table():
    """Write the seconds of the record as a table of the page."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))["cpu_seconds"]
    shown = (1_000, 100_000, 1_000_000)

    def row(title, task, name):
        found = (record[f"{task}, {n:,} patients"].get(name) for n in shown)
        return [title, *("" if one is None else f"{one:.2g}" for one in found)]

    rows = [row("`win_statistics`, three outcomes", "trial", "win_statistics")]
    rows += [row(f"concordance, {name}", "concordance", name) for name in PACKAGES]
    text = markdown(["CPU seconds", *(f"{n:,} patients" for n in shown)], rows)
    PAGE.write_text(with_block(PAGE.read_text(encoding="utf-8"), "wins", text), encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args(arguments)
    if options.table:
        return write_table()
    record = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "cpu_seconds": {}}
    for drawn in (trial, margins):
        for n in QUICK if options.quick else SIZES:
            seconds = record["cpu_seconds"][f"{drawn.__name__}, {n:,} patients"] = measured(drawn, n)
            print(f"{drawn.__name__:<10}{n:>12,}", seconds, flush=True)
    for n, seconds in concordances(QUICK if options.quick else SIZES):
        record["cpu_seconds"][f"concordance, {n:,} patients"] = seconds
        print(f"concordance{n:>11,}", seconds, flush=True)
    if not options.quick:
        RESULTS.write_text(compact(record))
    return None


if __name__ == "__main__":
    main()
