"""What do slopes of judges bring? Leaderboards with and without judges, by simulation.

    python benchmarks/judges.py            # 100 simulations of each case: some minutes
    python benchmarks/judges.py --quick    # 5 of each; prints, and writes nothing

20 items have standard normal scores; judges vote on random pairs. For each case, the table has the mean
Kendall tau of estimated and true scores, and the mean log loss of the votes of the same judges on new pairs,
by the true probabilities. The results are kept in benchmarks/results/judges.json.
"""

import argparse
import datetime
import json
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import kendalltau

from rankwise import BradleyTerry, CrowdBradleyTerry

RESULTS = Path(__file__).parent / "results" / "judges.json"
SIMULATIONS, QUICK = 100, 5
N_ITEMS, NEW = 20, 4000
UNLIKE = np.array([0, 0, 0.3, 0.3, 0.6, 1, 1, 1.5, 2, 2.5])
CASES = {
    "10 unlike judges, 500 votes": (UNLIKE, 500),
    "10 unlike judges, 2,000 votes": (UNLIKE, 2000),
    "10 equal judges, 500 votes": (np.ones(10), 500),
    "2 of 10 judges opposed, 2,000 votes": (np.repeat([-1.0, 1.0], [2, 8]), 2000),
    "4 of 10 judges opposed, 2,000 votes": (np.repeat([-1.0, 1.0], [4, 6]), 2000),
}


def drawn(rng, n, n_judges):
    """Random pairs of items, and who votes."""
    first = rng.integers(N_ITEMS, size=n)
    return first, (first + rng.integers(1, N_ITEMS, size=n)) % N_ITEMS, rng.integers(n_judges, size=n)


def simulated(seed, slopes, n):
    """Return tau and log loss of equal judges and of judges who differ, and what was found of judges."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=N_ITEMS)
    a, b, judge = drawn(rng, n, len(slopes))
    won = (rng.random(n) < expit(slopes[judge] * (scores[a] - scores[b]))).astype(float)
    first, second, who = drawn(rng, NEW, len(slopes))
    truth = expit(slopes[who] * (scores[first] - scores[second]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opposed judges
        plain = BradleyTerry().fit(a, b, outcome=won)
        model = CrowdBradleyTerry().fit(a, b, outcome=won, judge=judge)
    apart = model.scores_[first] - model.scores_[second]
    logits = {
        "equal": plain.scores_[first] - plain.scores_[second],
        "judges": model.judge_slopes_[who] * apart + model.judge_order_effects_[who],
    }
    found = {f"log loss, {name}": log_loss(truth, logit) for name, logit in logits.items()}
    found |= {f"tau, {name}": tau(one, scores) for name, one in (("equal", plain), ("judges", model))}
    wrong = np.sign(model.judge_slopes_) != np.where(slopes < 0, -1, 1)
    return found | {"judges of wrong sign": float(wrong.mean())}


def log_loss(truth, logit):
    return float((np.logaddexp(0, logit) - truth * logit).mean())


def tau(model, scores):
    return float(kendalltau(model.scores_, scores[model.items_])[0])


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    n, recorded = QUICK if options.quick else SIMULATIONS, {}
    for title, (slopes, n_votes) in CASES.items():
        runs = [simulated(seed, slopes, n_votes) for seed in range(n)]
        found = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        print(f"{title:<38}", "  ".join(f"{name} {value:.3f}" for name, value in found.items()), flush=True)
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        recorded[title] = {"simulations": n, "date": today, **found}
    if not options.quick:
        RESULTS.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
