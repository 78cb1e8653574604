"""The cost of the pairwise logistic loss over all pairs, as a ratio to a stable np.argsort of the scores.

    python benchmarks/logistic.py            # up to 8 million rows: a minute or two, 1 GB
    python benchmarks/logistic.py --quick    # up to 128,000 rows

Each figure is the minimum of several runs, interleaved with those of the others. No pair is sampled: a
million distinct labels are 499,999,500,000 pairs. The last columns are bounds to stay below.
"""

import argparse
from functools import partial

import numpy as np
from timing import best_times, peak_memory, two_thread_calibration

from rankwise import Preferences
from rankwise.losses import Hinge, Logistic


def problem(n, n_levels=None, query_rows=None, observed=None, seed=0, **options):
    """Labels with a noisy score each, or times of which a share is observed."""
    generator = np.random.default_rng(seed)
    labels = generator.normal(size=n) if n_levels is None else generator.integers(n_levels, size=n)
    qid = None if query_rows is None else np.arange(n) // query_rows
    scores = 0.5 * labels / labels.std() + generator.normal(size=n)
    if observed is not None:
        return Preferences.from_survival(generator.random(n) < observed, labels), scores
    return Preferences.from_scores(labels, qid, **options), scores


def tasks_of(preferences, scores):
    loss = Logistic(preferences)
    direction = np.random.default_rng(1).normal(size=len(scores))
    return {
        "argsort": partial(np.argsort, scores, kind="stable"),
        "gradient": partial(loss.value_and_coefficients, scores),
        "product": partial(loss.hessian(scores).product, direction),
        "hinge": partial(Hinge(preferences).value_and_coefficients, scores),
    }


def ratio_table(rows, repeats):
    weight = np.random.default_rng(2).random(rows)
    cases = {
        "2 labels": ({"n_levels": 2}, 0.10, 0.12),
        "5 labels": ({"n_levels": 5}, 0.10, 0.12),
        "1000 labels": ({"n_levels": 1000}, 0.10, 0.12),
        "distinct labels": ({}, 0.10, 0.12),
        "5 labels, weights": ({"n_levels": 5, "sample_weight": weight}, np.nan, np.nan),
        "queries of 120": ({"n_levels": 5, "query_rows": 120}, 0.25, np.nan),
        "queries of 1,000": ({"n_levels": 5, "query_rows": 1000}, np.nan, np.nan),
        "distinct, by difference": ({"pair_weight": "difference"}, np.nan, np.nan),
        "survival, 40% observed": ({"observed": 0.4}, np.nan, np.nan),
    }
    print(f"{rows:,} rows{'':<16}{'argsort ms':>12}{'gradient':>10}{'product':>9}{'hinge':>8}{'bounds':>14}")
    for name, (options, gradient_bound, product_bound) in cases.items():
        best = best_times(tasks_of(*problem(rows, **options)), repeats)
        base = best["argsort"]
        bounds = "".join(
            f"{bound:>7.2f}" if bound == bound else f"{'-':>7}" for bound in (gradient_bound, product_bound)
        )
        print(
            f"{name:<26}{1e3 * base:>12.1f}{best['gradient'] / base:>10.3f}{best['product'] / base:>9.3f}"
            f"{best['hinge'] / base:>8.2f}{bounds}"
        )


def thread_table(rows, repeats):
    print(f"\n{rows:,} rows: time of two threads as a share of one (bound 0.65)")
    for name, n_levels in {"5 labels": 5, "distinct labels": None}.items():
        preferences, scores = problem(rows, n_levels)
        tasks = {
            n_threads: partial(Logistic(preferences, n_threads=n_threads).value_and_coefficients, scores)
            for n_threads in (1, 2)
        }
        best = best_times(tasks, repeats)
        print(f"{name:<26}{best[2] / best[1]:>6.2f}")


def memory(rows):
    print()
    for name, n_levels in {"1000 labels": 1000, "distinct labels": None}.items():
        preferences, scores = problem(rows, n_levels)
        loss = Logistic(preferences)
        loss.value_and_coefficients(scores)
        used = peak_memory(lambda loss=loss, scores=scores: loss.value_and_coefficients(scores))
        if used is not None:
            print(
                f"peak memory at {rows:,} rows, {name}: {used / rows:.0f} bytes per row, 8 of them the result"
            )


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    rows = 128_000 if options.quick else options.rows
    print(f"two threads, calibration by two sorts: {two_thread_calibration():.2f} of the one-thread time\n")
    ratio_table(rows, options.repeats)
    thread_table(8 * rows, options.repeats)
    if not options.quick:  # what is small comes from memory that was used before
        memory(8 * rows)


if __name__ == "__main__":
    main()
