"""What does the learned prior of a leaderboard bring? Predictions with it and with a standard normal prior.

    python benchmarks/learned_prior.py            # 100 simulations of each case: some minutes
    python benchmarks/learned_prior.py --quick    # 5 of each; prints, and writes nothing

Items have normal scores and meet at random, all as often, or with weights that fall as 1 / place ("uneven").
The table has the mean excess of the log loss of predictions over that of the true probabilities, times 10^4,
over pairs drawn evenly: with the prior of version 0.1, a standard normal one, and with a learned one, whose
predictions average over the posterior. The results are kept in benchmarks/results/learned_prior.json.
"""

import argparse
import datetime
import json
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit

from rankwise import BradleyTerry

RESULTS = Path(__file__).parent / "results" / "learned_prior.json"
SIMULATIONS, QUICK = 100, 5
# Items, votes, whether items meet unevenly, and the standard deviation of scores.
CASES = {
    f"{items} items, {votes:,} votes{', uneven' if uneven else ''}, sd {sd}": (items, votes, uneven, sd)
    for items, votes, uneven, sds in (
        (10, 30, False, (0.5, 1, 2, 4)),
        (20, 400, False, (0.5, 1, 2, 4)),
        (50, 5000, True, (1, 4)),
        (200, 2000, True, (1, 4)),
    )
    for sd in sds
}


def simulated(seed, items, votes, uneven, sd):
    """Return the excess log loss of both priors."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, sd, size=items)
    share = 1 / np.arange(1, items + 1) if uneven else np.ones(items)
    share = rng.permutation(share / share.sum())
    a, b = rng.choice(items, size=(2, 3 * votes), p=share)
    a, b = (side[a != b][:votes] for side in (a, b))
    won = (rng.random(len(a)) < expit(scores[a] - scores[b])).astype(float)
    first, second = np.triu_indices(items, 1)
    truth = expit(scores[first] - scores[second])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matchmaking by chance, items without votes
        models = BradleyTerry(1 / (2 * len(a))), BradleyTerry()
        chances = [chance_of(model.fit(a, b, outcome=won), first, second) for model in models]
    return [excess(truth, chance) for chance in chances]


def chance_of(model, first, second):
    """Return P(first above second); items without votes have equal chances."""
    known = np.isin(np.arange(max(second.max(), first.max()) + 1), model.items_)
    both = known[first] & known[second]
    chance = np.full(len(first), 0.5)
    chance[both] = model.predict_pair_proba(first[both], second[both])
    return chance


def excess(truth, chance):
    """Return the mean Kullback-Leibler divergence of predictions from true probabilities."""
    terms = truth * np.log(truth / chance) + (1 - truth) * np.log((1 - truth) / (1 - chance))
    return float(terms.mean())


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args(arguments).quick
    simulations = QUICK if quick else SIMULATIONS
    found = {}
    print(f"{'1e4 x excess log loss':<40}{'sd 1':>10}{'learned':>10}")
    for title, case in CASES.items():
        fixed, learned = np.mean([simulated(seed, *case) for seed in range(simulations)], axis=0)
        found[title] = {"standard normal": float(fixed), "learned": float(learned)}
        print(f"{title:<40}{1e4 * fixed:>10.0f}{1e4 * learned:>10.0f}", flush=True)
    if not quick:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        record = {"simulations": simulations, "date": today, "cases": found}
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
