"""Leaderboards of models by tasks, beside a bootstrap of the tasks: time, length and coverage of intervals.

    python benchmarks/score_tables.py            # a minute; writes benchmarks/results/score_tables.json
    python benchmarks/score_tables.py --quick    # small tables, few simulations; writes nothing

Times are CPU seconds of one thread, the least of several runs: reading a long frame, then one leaderboard
with intervals, ranges of ranks, letters and probabilities of first place. The bootstrap is the usual script:
1,000 resamples of the tasks, with the percentiles of each mean rank. Its lengths are relative to those of
ScoreTable, and coverages are those of the mean value of 5 models in 10 and in 30 tasks.
"""

import argparse
import json
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from records import compact
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from rankwise import ScoreTable

RESULTS = Path(__file__).parent / "results" / "score_tables.json"
RUNS, RESAMPLES, SIMULATIONS = 3, 1000, 1000
# Models, tasks and instances per task.
SIZES = {
    "84 models x 816 splits of 51 tasks": (84, 51, 16),
    "332 models x 41 tasks": (332, 41, 1),
    "1,000 models x 1,000 tasks": (1000, 1000, 1),
}
QUICK_SIZES = {"20 models x 40 splits of 10 tasks": (20, 10, 4)}
NAMES = {"model": "model", "task": "task", "value": "value"}


def values_of(rng, n_models, n_tasks, n_instances):
    """Values of models on instances: tasks differ in what they favor, and instances in noise."""
    by_task = rng.normal(size=(n_tasks, 1, n_models)) + np.linspace(0, 2, n_models)
    return rng.normal(size=(n_tasks, 1, 1)) + by_task + rng.normal(size=(n_tasks, n_instances, n_models))


def frame_of(values):
    task, instance, model = (axis.ravel() for axis in np.indices(values.shape))
    return pd.DataFrame({"task": task, "instance": instance, "model": model, "value": values.ravel()})


def seconds(run):
    """The CPU seconds of a function, and its result."""
    begin = process_time()
    result = run()
    return process_time() - begin, result


def least(run, n_runs):
    return min(seconds(run)[0] for _ in range(n_runs))


def bootstrap(rng, units, resamples=RESAMPLES):
    """Percentile intervals of the mean of each column over resampled rows."""
    n = len(units)
    means = np.array([units[rng.integers(n, size=n)].mean(axis=0) for _ in range(resamples)])
    return np.percentile(means, [2.5, 97.5], axis=0)


def times(title, size, n_runs):
    """CPU seconds of each leaderboard and of the bootstrap of mean ranks, and the ratio of lengths."""
    rng = np.random.default_rng(0)
    frame = frame_of(values_of(rng, *size))
    taken = {"read": least(lambda: ScoreTable(frame, **NAMES, instance="instance"), n_runs)}
    table = ScoreTable(frame, **NAMES, instance="instance")
    for over in ("tasks", "instances") if size[2] > 1 else ("tasks",):
        for by in ("mean", "rank", "wins", "strength"):
            taken[f"{by} over {over}"] = least(lambda by=by, over=over: table.leaderboard(by, over), n_runs)
    ranks = rankdata(-table.values_, axis=1)
    taken["bootstrap of mean ranks"], (low, high) = seconds(lambda: bootstrap(rng, ranks))
    lengths = [row.high - row.low for row in table.leaderboard("rank")]
    ratio = float((high - low).mean() / np.mean(lengths))
    print(f"{title}: " + ", ".join(f"{name} {value:.3f} s" for name, value in taken.items()), flush=True)
    return {"cpu_seconds": taken, "length of the bootstrap": ratio}


def coverages(n_tasks, simulations):
    """How often intervals of the mean contain it."""
    covered = {"ScoreTable": 0, "bootstrap": 0}
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        values = values_of(rng, 5, n_tasks, 1)[:, 0]
        found = bootstrap(rng, values, 400)
        board = ScoreTable.from_wide(values).leaderboard()
        ours = np.array([(row.low, row.high) for row in sorted(board, key=lambda row: row.item)]).T
        for name, (low, high) in (("ScoreTable", ours), ("bootstrap", found)):
            covered[name] += ((low <= np.linspace(0, 2, 5)) & (np.linspace(0, 2, 5) <= high)).mean()
    found = {name: count / simulations for name, count in covered.items()}
    print(f"{n_tasks} tasks:", found, flush=True)
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    sizes, n_runs, simulations = (QUICK_SIZES, 1, 20) if options.quick else (SIZES, RUNS, SIMULATIONS)
    with threadpool_limits(1):
        recorded = {title: times(title, size, n_runs) for title, size in sizes.items()}
        recorded |= {f"coverage, {n} tasks": coverages(n, simulations) for n in (10, 30)}
    if not options.quick:
        RESULTS.write_text(compact(json.loads(json.dumps(recorded))))


if __name__ == "__main__":
    main()
