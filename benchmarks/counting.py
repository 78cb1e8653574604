"""The cost of the pairwise hinge loss and its gradient, as a ratio to a stable np.argsort of the scores.

    python benchmarks/counting.py            # up to 8 million rows: some minutes, 2 GB
    python benchmarks/counting.py --quick    # up to 64,000 rows
    python benchmarks/counting.py --record   # a million rows: results/counting.json and docs/pairs.md

Each figure is the minimum of nine runs, interleaved with those of the others. No pair is sampled: 512,000
distinct labels are 131,071,744,000 pairs.
"""

import argparse
import datetime
import json
import os
from functools import partial
from pathlib import Path
from time import sleep

import numpy as np
from records import compact, markdown, with_block
from timing import best_times, peak_memory, two_thread_calibration

from rankwise import Preferences
from rankwise.losses import Hinge, Logistic, SquaredHinge

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results" / "counting.json", HERE.parent / "docs" / "pairs.md"
RECORDED_ROWS = 1_000_000


def problem(n, n_levels=None, n_queries=None, seed=0):
    """Labels with a noisy score each."""
    generator = np.random.default_rng(seed)
    labels = generator.normal(size=n) if n_levels is None else generator.integers(n_levels, size=n)
    qid = None if n_queries is None else np.repeat(np.arange(n_queries), n // n_queries)
    return Preferences.from_scores(labels, qid), 0.5 * labels + generator.normal(size=n)


def ratio_table(rows, repeats):
    cases = {
        f"{rows:,} distinct labels": (rows, None, None),
        f"{rows:,} rows, 5 labels": (rows, 5, None),
        f"{2 * rows:,} rows in {rows // 50:,} queries": (2 * rows, 5, rows // 50),
    }
    print(f"{'':<40}{'argsort ms':>11}{'1 thread':>10}{'2 threads':>10}{'2 to 1':>8}{'tree':>8}")
    for name, case in cases.items():
        preferences, scores = problem(*case)
        losses = {f"{t}": Hinge(preferences, n_threads=t) for t in (1, 2)}
        losses["tree"] = Hinge(preferences, counting="tree")
        tasks = {key: partial(loss.value_and_coefficients, scores) for key, loss in losses.items()}
        tree = best_times({"tree": tasks.pop("tree")}, repeats=1)["tree"]
        best = best_times({"argsort": partial(np.argsort, scores, kind="stable"), **tasks}, repeats)
        base = best["argsort"]
        print(
            f"{name:<40}{1e3 * base:>11.1f}{best['1'] / base:>10.2f}{best['2'] / base:>10.2f}"
            f"{best['2'] / best['1']:>8.2f}{tree / base:>8.1f}"
        )


def slope_table(sizes, repeats):
    print(
        f"\n{'rows, distinct labels':<24}{'argsort ms':>11}{'hinge':>8}{'squared':>9}{'tree':>8}{'pairs':>10}"
    )
    times = []
    for n in sizes:
        preferences, scores = problem(n)
        tasks = {
            "argsort": partial(np.argsort, scores, kind="stable"),
            "hinge": partial(Hinge(preferences).value_and_coefficients, scores),
            "squared": partial(SquaredHinge(preferences).value_and_coefficients, scores),
        }
        best = best_times(tasks, repeats if n <= 10**6 else 3)
        times.append(best["hinge"])
        for method, limit in (("tree", 600_000), ("pairs", 20_000)):
            loss = Hinge(preferences, counting=method)
            once = best_times({0: partial(loss.value_and_coefficients, scores)}, 1) if n <= limit else None
            best[method] = once[0] if once else np.nan
        base = best["argsort"]
        ratios = (best[key] / base for key in ("hinge", "squared", "tree", "pairs"))
        text = [f"{r:.2f}" if np.isfinite(r) else "-" for r in ratios]
        print(f"{n:<24,}{1e3 * base:>11.2f}{text[0]:>8}{text[1]:>9}{text[2]:>8}{text[3]:>10}")
    large = [i for i, n in enumerate(sizes) if n >= 64_000]
    if len(large) > 1:
        slope = np.polyfit(np.log([sizes[i] for i in large]), np.log([times[i] for i in large]), 1)[0]
        print(f"log-log slope of the hinge from {sizes[large[0]]:,} rows on: {slope:.3f}")


def memory(rows):
    preferences, scores = problem(rows)
    loss = Hinge(preferences)
    used = peak_memory(lambda: loss.value_and_coefficients(scores))
    if used is not None:
        print(f"\npeak memory at {rows:,} rows: {used / rows:.0f} bytes per row, 8 of them the result;")
        print("the rest is scratch, which is kept for the next call")


def record(rounds, pause):
    """Measure a million rows on one thread, and write the result and the table of the page.

    On a busy machine, a pause between the rounds finds its quiet moments.
    """
    preferences, scores = problem(RECORDED_ROWS)
    losses = {"hinge": Hinge, "squared hinge": SquaredHinge, "logistic": Logistic}
    tasks = {
        name: partial(loss(preferences, n_threads=1).value_and_coefficients, scores)
        for name, loss in losses.items()
    }
    tasks = {"sort": partial(np.argsort, scores, kind="stable"), **tasks}
    seconds = dict.fromkeys(tasks, np.inf)
    for _ in range(rounds):
        seconds = {name: min(seconds[name], once) for name, once in best_times(tasks, 3).items()}
        sleep(pause)
    found = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load": os.getloadavg()[0],
        "pause": pause,
        "rows": RECORDED_ROWS,
        "pairs": preferences.n_pairs,
        "seconds": seconds,
    }
    RESULTS.write_text(compact(found), encoding="utf-8")
    write_page()


def write_page():
    """Write the table of the page from the recorded result."""
    text = with_block(PAGE.read_text(encoding="utf-8"), "counting", recorded_table())
    PAGE.write_text(text, encoding="utf-8")


def recorded_table():
    """Return the recorded times as Markdown."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    sort = found["seconds"]["sort"]
    names = {"sort": "one sort: `np.argsort` of the scores"}
    rows = [
        [names.get(name, f"{name} loss and its gradient"), f"{1e3 * seconds:.0f} ms", f"{seconds / sort:.2f}"]
        for name, seconds in found["seconds"].items()
    ]
    size = f"{found['rows']:,} rows, {found['pairs']:,} pairs, one thread"
    return markdown([size, "time", "of a sort"], rows)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=512_000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between the rounds of --record")
    options = parser.parse_args(arguments)
    if options.record:
        record(15, options.pause)
        print(recorded_table())
        return
    rows = 64_000 if options.quick else options.rows
    print(f"two threads, calibration by two sorts: {two_thread_calibration():.2f} of the one-thread time\n")
    ratio_table(rows, 9)
    largest = 64_000 if options.quick else 8_192_000
    slope_table([n for n in (1000, 4000, 16_000, 64_000, 256_000, 1_024_000, 8_192_000) if n <= largest], 9)
    memory(1_024_000 if options.quick else 8_192_000)


if __name__ == "__main__":
    main()
