"""Time to rank named items by their matches, beside choix, evalica and arena-rank at the same optimum.

    python benchmarks/leaderboard.py [--quick]

Each package gets the matches in the form that it likes best, already in memory: lists of names for us and
evalica, a pandas frame for arena-rank, pairs of numbers for choix. All maximise the same likelihood without a
penalty (opt_pairwise: with a tiny one). The error is the largest difference of a centred score from the
optimum, our own fit to rounding, where the largest entry of the plain gradient is printed. evalica runs with
its default tolerance and with a tighter one. The packages take turns and the shortest time of each counts, so
that what is compiled at the first call is left out. Those that are not installed are named and left out: they
are in the `race` extra.
"""

import argparse
import importlib.util
import os
from functools import partial

import numpy as np
from timing import best_times

from rankwise import BradleyTerry

# Python loops over matches, or dense matrices of items by items: beyond these they take minutes or more.
MOST_MATCHES = {"choix ilsr_pairwise": 100_000, "choix opt_pairwise": 20_000}
MOST_ITEMS = {"choix ilsr_pairwise": 1000, "choix opt_pairwise": 100, "arena-rank": 1000}


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
        "rankwise": lambda: BradleyTerry(alpha=0).fit(winners, losers).scores_,
        "rankwise, numbers for names": lambda: BradleyTerry(alpha=0).fit(winner, loser).scores_,
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
    package = name.partition(",")[0]
    return n_matches <= MOST_MATCHES.get(package, n_matches) and n_items <= MOST_ITEMS.get(package, n_items)


def gradient_at(scores, winner, loser):
    """Return the largest entry of the gradient of the mean loss, match by match."""
    miss = 1 / (1 + np.exp(scores[winner] - scores[loser])) / len(winner)
    n_items = len(scores)
    return np.abs(np.bincount(loser, miss, n_items) - np.bincount(winner, miss, n_items)).max()


def compare(n_matches, n_items, repeats):
    winner, loser = drawn(n_matches, n_items)
    tasks = contestants(winner, loser, n_items)
    best = BradleyTerry(alpha=0, tol=1e-22).fit(winner, loser).scores_
    gradient = gradient_at(best, winner, loser)
    print(f"\n{n_matches:,} matches of {n_items:,} items; gradient at the optimum {gradient:.0e}")
    errors = {name: np.abs((found := task()) - found.mean() - best).max() for name, task in tasks.items()}
    times = best_times(tasks, repeats)
    for name, seconds in times.items():
        ratio = seconds / times["rankwise"]
        print(f"  {name:<28} {seconds:9.3f} s   {ratio:8.2f} x   error {errors[name]:.0e}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    options = parser.parse_args()
    missing = [package for package in ("choix", "evalica", "arena_rank") if not has(package)]
    if missing:
        print(f"not installed, and left out: {', '.join(missing)}")
    sizes = (
        [(10_000, 100)]
        if options.quick
        else [(100_000, 100), (100_000, 1000), (1_000_000, 100), (1_000_000, 10_000)]
    )
    for n_matches, n_items in sizes:
        compare(n_matches, n_items, 3 if n_items < 10_000 else 1)  # there evalica takes most of a minute


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main()
