"""Time to learn scores with the effects of covariates, compared with logistic regressions and arena-rank.

    python benchmarks/covariates.py [--quick]

Votes between items at random, with covariates of normal distribution. scikit-learn and statsmodels get a
dense matrix, built in advance, with +1 for the first item, -1 for the second, and the covariates; arena-rank
gets a dataset, also built in advance. rankwise gets columns of numbers, and reading and sorting the votes is
part of its time. All maximize the same likelihood without a penalty, scikit-learn with a tiny one. The error
is the largest difference of an effect from the optimum, which dense Newton steps find. The tasks alternate,
and the minimum time of each is reported, after a first call. Packages that are not installed are left out.

The numbers go to benchmarks/results/covariates.json; with --quick, sizes are small and nothing is written.
"""

import argparse
import importlib.util
import json
import os
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from timing import best_times

from rankwise import BradleyTerry

RESULTS = Path(__file__).parent / "results" / "covariates.json"
SIZES = [(100_000, 100, 4), (100_000, 20, 4), (100_000, 100, 1)]
REPEATS = 5
# A penalty that changes no effect by more than about 1e-9.
WEAK = 1e9


def drawn(n_votes, n_items, n_covariates):
    """Items by number, results and covariates of votes between random pairs."""
    rng = np.random.default_rng(0)
    scores, effects = rng.normal(size=n_items), np.linspace(0.6, -0.4, n_covariates)
    a = rng.integers(n_items, size=n_votes)
    b = (a + 1 + rng.integers(n_items - 1, size=n_votes)) % n_items
    Z = rng.normal(size=(n_votes, n_covariates))
    return a, b, (rng.random(n_votes) < expit(scores[a] - scores[b] + Z @ effects)).astype(float), Z


def design_of(a, b, Z, n_items):
    """Return the dense matrix; the score of the first item is 0."""
    rows, X = np.arange(len(a)), np.zeros((len(a), n_items + Z.shape[1]))
    X[rows, a], X[rows, b], X[:, n_items:] = 1.0, -1.0, Z
    return X[:, 1:]


def optimum(X, y):
    """Return the parameters by Newton's method."""
    p = np.zeros(X.shape[1])
    for _ in range(12):
        chance = expit(X @ p)
        p -= np.linalg.solve((X.T * (chance * (1 - chance))) @ X, X.T @ (chance - y))
    return p


def contestants(a, b, y, Z, n_items):
    """Return a task for each package; a task returns the effects."""
    X, n = design_of(a, b, Z, n_items), Z.shape[1]

    def regression(solver):
        model = LogisticRegression(C=WEAK, fit_intercept=False, solver=solver, tol=1e-8, max_iter=1000)
        return model.fit(X, y).coef_[0, -n:]

    ours = BradleyTerry(alpha=0, tol=1e-20)
    tasks = {
        "rankwise": lambda: ours.fit(a, b, outcome=y, covariates=Z).covariate_effects_,
        "rankwise, learned prior": lambda: (
            BradleyTerry().fit(a, b, outcome=y, covariates=Z).covariate_effects_
        ),
        "scikit-learn, newton-cholesky": partial(regression, "newton-cholesky"),
        "scikit-learn, lbfgs": partial(regression, "lbfgs"),
    }
    if importlib.util.find_spec("statsmodels"):
        import statsmodels.api as sm

        tasks["statsmodels Logit"] = lambda: sm.Logit(y, X).fit(disp=0, tol=1e-10).params[-n:]
    if importlib.util.find_spec("arena_rank"):
        tasks["arena-rank"] = arena_rank_task(a, b, y, Z, n_items)
    return tasks, optimum(X, y)[-n:]


def arena_rank_task(a, b, y, Z, n_items):
    import jax.numpy as jnp
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset

    data = ContextualPairDataset(
        [str(k) for k in range(n_items)], jnp.array(np.stack([a, b], axis=1), dtype=jnp.int32), jnp.array(y),
        jnp.array(Z), jnp.ones(len(a)),
    )  # fmt: skip

    def run():
        model = ContextualBradleyTerry(n_items, Z.shape[1], reg=0.0)
        model.fit(data)
        return np.asarray(model.params["coeffs"])

    return run


def compare(n_votes, n_items, n_covariates):
    """Return the time and the error of each package, and print them."""
    tasks, best = contestants(*drawn(n_votes, n_items, n_covariates), n_items)
    errors = {name: float(np.abs(task() - best).max()) for name, task in tasks.items()}
    times = best_times(tasks, REPEATS)
    print(f"\n{n_votes:,} votes of {n_items} items with {n_covariates} covariates")
    for name, seconds in times.items():
        ratio = seconds / times["rankwise"]
        print(f"  {name:<32}{seconds:8.3f} s{ratio:8.1f} x   error {errors[name]:.0e}", flush=True)
    packages = {name: {"seconds": times[name], "error": errors[name]} for name in tasks}
    return {"votes": n_votes, "items": n_items, "covariates": n_covariates, "packages": packages}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small size, and nothing is written")
    options = parser.parse_args()
    rows = [compare(*size) for size in ([(5000, 20, 2)] if options.quick else SIZES)]
    if not options.quick:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main()
