"""Time to rank items by their matches, compared with choix, evalica and arena-rank at the same optimum.

    python benchmarks/leaderboard.py [--quick]

Each package gets the matches in its preferred form, already in memory: lists of names for us and evalica, a
pandas frame for arena-rank, pairs of numbers for choix. All maximize the same likelihood without a penalty
(opt_pairwise: with a tiny one). The error is the largest difference of a centered score from the optimum,
which plain Newton steps over the single matches find, with scipy alone; the largest entry of the gradient
there is printed. Ours runs with a tolerance that makes it as exact as the others, evalica with its default
and with a tighter one. The packages alternate, and the minimum time of each is reported. The first call, in
which some compile, is excluded, unless it takes more than 20 seconds. Packages that are not installed are
reported and left out: they are in the `race` extra.

The numbers go to benchmarks/results/leaderboard.json, and as a table to docs/benchmarks.md; with --quick,
sizes are small and nothing is written. Takes about three minutes.
"""

import argparse
import importlib.util
import json
import os
import re
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg
from timing import best_times

from rankwise import BradleyTerry

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "leaderboard.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
# With more items of 100,000 matches some win all of theirs, and have no optimum without a penalty.
SIZES = [
    (100_000, 100), (100_000, 1000), (100_000, 2000),
    (1_000_000, 100), (1_000_000, 1000), (1_000_000, 10_000),
]  # fmt: skip
# How often a task runs by the seconds of its first call; packages of about the same speed alternate.
ONCE = 20.0
REPEATS = {7: (0.0, 5.0), 1: (5.0, ONCE)}
# With the default of 1e-16 scores may have an error of 1e-7, more than those of evalica and choix.
TOL = 1e-20
# Python loops over matches, or dense matrices of items by items: beyond these they take minutes or more.
MOST_MATCHES = {"choix ilsr_pairwise": 100_000, "choix opt_pairwise": 20_000, "arena-rank": 100_000}
MOST_ITEMS = {
    "choix ilsr_pairwise": 1000,
    "choix opt_pairwise": 100,
    "arena-rank": 1000,
    "evalica, tolerance 1e-10": 1000,
}


def drawn(n_matches, n_items):
    """Winners and losers by number, of items with normal strengths that meet at random."""
    generator = np.random.default_rng(0)
    strength = generator.normal(size=n_items)
    a = generator.integers(n_items, size=n_matches)
    b = (a + 1 + generator.integers(n_items - 1, size=n_matches)) % n_items
    won = generator.random(n_matches) < 1 / (1 + np.exp(strength[b] - strength[a]))
    return np.where(won, a, b), np.where(won, b, a)


def has(package):
    return importlib.util.find_spec(package) is not None


def contestants(winner, loser, n_items):
    """Return a task for each package that is there; a task returns the scores by item number."""
    names = [f"item {k:05d}" for k in range(n_items)]  # sorted as the numbers are
    winners, losers = ([names[k] for k in column] for column in (winner, loser))
    tasks = {
        "rankwise": lambda: BradleyTerry(alpha=0, tol=TOL).fit(winners, losers).scores_,
        "rankwise, numbers for names": lambda: BradleyTerry(alpha=0, tol=TOL).fit(winner, loser).scores_,
    }
    if has("choix"):
        import choix

        pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
        tasks["choix ilsr_pairwise"] = partial(choix.ilsr_pairwise, n_items, pairs)
        tasks["choix opt_pairwise"] = partial(choix.opt_pairwise, n_items, pairs, alpha=1e-6)
    if has("evalica"):
        import evalica

        first = [evalica.Winner.X] * len(winners)

        def run_evalica(tolerance):
            found = evalica.bradley_terry(winners, losers, first, tolerance=tolerance, limit=10_000)
            return np.log(found.scores.sort_index().to_numpy())

        tasks["evalica"] = partial(run_evalica, 1e-6)
        tasks["evalica, tolerance 1e-10"] = partial(run_evalica, 1e-10)
    if has("arena_rank"):
        tasks["arena-rank"] = arena_rank_task(winners, losers, n_items)
    return {name: task for name, task in tasks.items() if feasible(name, len(winner), n_items)}


def arena_rank_task(winners, losers, n_items):
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry as Arena
    from arena_rank.utils.data_utils import PairDataset

    frame = pd.DataFrame({"model_a": winners, "model_b": losers, "winner": "model_a"})

    def run():
        model = Arena(n_items)
        model.fit(PairDataset.from_pandas(frame))
        return np.asarray(model.params["ratings"])

    return run


def feasible(name, n_matches, n_items):
    return n_matches <= MOST_MATCHES.get(name, n_matches) and n_items <= MOST_ITEMS.get(name, n_items)


def optimum(winner, loser, n_items):
    """Return the centered scores by Newton's method match by match, and the largest entry of the gradient."""
    n_matches = len(winner)
    row = np.arange(n_matches)
    X = sp.csr_array(
        (np.repeat([1.0, -1.0], n_matches), (np.tile(row, 2), np.concatenate([winner, loser]))),
        shape=(n_matches, n_items),
    )
    scores = np.zeros(n_items)
    for _ in range(12):
        lost = 1 / (1 + np.exp(X @ scores))
        gradient = X.T @ lost / n_matches
        hessian = X.T @ sp.diags_array(lost * (1 - lost) / n_matches) @ X
        diagonal = sp.diags_array(1 / hessian.diagonal())
        step, _ = cg(hessian, gradient, rtol=1e-12, maxiter=500, M=diagonal)
        scores += step - step.mean()
    return scores, np.abs(gradient).max()


def compare(n_matches, n_items):
    """Return the time and the error of each package, and print them."""
    winner, loser = drawn(n_matches, n_items)
    tasks = contestants(winner, loser, n_items)
    best, gradient = optimum(winner, loser, n_items)
    print(f"\n{n_matches:,} matches of {n_items:,} items; gradient at the optimum {gradient:.0e}", flush=True)
    errors, first = {}, {}
    for name, task in tasks.items():
        start = perf_counter()
        scores = task()
        first[name] = perf_counter() - start
        errors[name] = float(np.abs(scores - scores.mean() - best).max())
    found = {name: first[name] for name in tasks if first[name] > ONCE}
    for n_times, (low, high) in REPEATS.items():
        found |= best_times({k: task for k, task in tasks.items() if low < first[k] <= high}, n_times)
    times = {name: found[name] for name in tasks}
    for name, seconds in times.items():
        ratio = seconds / times["rankwise"]
        print(f"  {name:<28} {seconds:9.3f} s   {ratio:8.2f} x   error {errors[name]:.0e}", flush=True)
    packages = {name: {"seconds": times[name], "error": errors[name]} for name in tasks}
    return {"matches": n_matches, "items": n_items, "packages": packages}


def markdown(rows):
    """Return the table of the page: our time, and how many times as long others take, with their errors."""
    others = ["evalica", "evalica, tolerance 1e-10", "choix ilsr_pairwise", "arena-rank"]
    lines = [
        f"| matches | items | rankwise | {' | '.join(others)} |",
        "|---|---|---|" + "---|" * len(others),
    ]
    for row in rows:
        packages, ours = row["packages"], row["packages"]["rankwise"]
        cells = [f"{ours['seconds']:.2g} s ({ours['error']:.0e})"]
        for name in others:
            found = packages.get(name)
            cells.append("" if found is None else f"{ratio_of(found, ours)} x ({found['error']:.0e})")
        lines.append(f"| {row['matches']:,} | {row['items']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio_of(found, ours):
    ratio = found["seconds"] / ours["seconds"]
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def write_table():
    """Put the table of the record into the page, in place of the one that is there."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    page, n_tables = re.subn(
        r"\| matches \| items \|.*?\n(?=\n|\Z)",
        lambda _: markdown(rows) + "\n",
        PAGE.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert n_tables == 1, "the page has no table, or several"
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, and nothing is written")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        return write_table()
    missing = [package for package in ("choix", "evalica", "arena_rank") if not has(package)]
    if missing:
        print(f"not installed, and left out: {', '.join(missing)}")
    rows = [compare(*size) for size in ([(10_000, 100)] if options.quick else SIZES)]
    print("\n" + markdown(rows))
    if not options.quick and not missing:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        write_table()
    return None


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main()
