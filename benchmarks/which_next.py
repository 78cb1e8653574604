"""Which votes, or which values, next: how many decide the best three, by rule?

    python benchmarks/which_next.py            # some minutes; writes benchmarks/results/which_next.json
    python benchmarks/which_next.py --quick    # few simulations; writes nothing

Votes arrive in batches of a tenth of those that are there, until no pair of one of the best three and a model
below it is undecided by anytime intervals. "uniform" draws pairs of all models, "undecided" those of
`undecided_pairs`. Values of models in tasks arrive task by task, "uniform" of all models, "undecided" of the
models of undecided pairs. Medians of the numbers of votes, or of values, how often the limit was reached
before, and how often the best three were then in their true order.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np
from records import compact, markdown, with_block
from scipy.special import expit

from rankwise import BradleyTerry, ScoreTable
from rankwise.leaderboard import undecided_pairs

RESULTS = Path(__file__).parent / "results" / "which_next.json"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
SIMULATIONS, QUICK = 30, 3
TOP, MOST_VOTES, MOST_TASKS = 3, 40_000, 2000
RULES = ("uniform", "undecided")


def votes(rule, n_models, seed):
    """Votes until the top is decided, and whether it is right then."""
    rng = np.random.default_rng(seed)
    scores = 0.7 * rng.normal(size=n_models)
    every = list(combinations(range(n_models), 2))
    drawn, won = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    pairs, batch = every, 20 * n_models
    while len(won) < MOST_VOTES:
        new = np.array(pairs)[rng.integers(len(pairs), size=batch)]
        drawn = np.vstack([drawn, new])
        won = np.append(won, rng.random(batch) < expit(scores[new[:, 0]] - scores[new[:, 1]]))
        model = BradleyTerry(1e-6).fit(*drawn.T, outcome=won)
        left = undecided_pairs(model, TOP, planned=MOST_VOTES / 5)
        if not left:
            return len(won), right(model.items_[np.argsort(-model.scores_)], scores)
        pairs, batch = (left if rule == "undecided" else every), len(won) // 10
    return MOST_VOTES, None


def values(rule, n_models, seed):
    """Values until the top is decided, and whether it is right then."""
    rng = np.random.default_rng(seed)
    means = 0.3 * rng.normal(size=n_models)
    table = means + rng.normal(size=(20, n_models))
    active = np.arange(n_models)
    while len(table) < MOST_TASKS:
        scores = ScoreTable.from_wide(table)
        apart = scores.differences("all", intervals="anytime", planned=MOST_TASKS / 5)
        best = [row.item for row in scores.leaderboard()]
        left = {
            name for row in apart if row.a in best[:TOP] and not row.is_decided for name in (row.a, row.b)
        }
        if not left:
            return int((~np.isnan(table)).sum()), right(best, means)
        active = np.array(sorted(left)) if rule == "undecided" else active
        new = np.full((len(table) // 10, n_models), np.nan)
        new[:, active] = means[active] + rng.normal(size=(len(new), len(active)))
        table = np.vstack([table, new])
    return int((~np.isnan(table)).sum()), None


def right(found, scores):
    return list(found[:TOP]) == np.argsort(-scores)[:TOP].tolist()


def summary(runs):
    """The median, and the shares of runs that ended at the limit and of those that ended before and right."""
    counts, ends = zip(*runs, strict=True)
    decided = [end for end in ends if end is not None]
    return {
        "median": float(np.median(counts)),
        "undecided": 1 - len(decided) / len(ends),
        "right": float(np.mean(decided)) if decided else None,
    }


def write_table():
    """Put the table into the page of benchmarks."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = [
        [
            title, f"{one['median']:,.0f}", f"{one['undecided']:.0%}",
            "" if one["right"] is None else f"{one['right']:.0%}",
        ]
        for title, one in known.items()
    ]  # fmt: skip
    header = ["", "median number", "ended at the limit", "of the others, right"]
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_block(page, "which next", markdown(header, rows)), encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    simulations, recorded = QUICK if options.quick else SIMULATIONS, {}
    for what in (votes, values):
        for n_models in (8, 20):
            for rule in RULES:
                found = summary([what(rule, n_models, seed) for seed in range(simulations)])
                title = f"{what.__name__} of {n_models} models, {rule}"
                recorded[title] = {"simulations": simulations, **found}
                print(f"{title:<32}{recorded[title]}", flush=True)
    if not options.quick:
        RESULTS.write_text(compact(recorded))
        write_table()


if __name__ == "__main__":
    main()
