"""Do 95% intervals cover the truth? Coverage by simulation, for every interval of the library.

    python benchmarks/coverage.py                 # 1,000 simulations of each case: some minutes
    python benchmarks/coverage.py --quick         # 40 of each; prints, and writes nothing
    python benchmarks/coverage.py --only strata   # cases whose names contain this

A case draws data from a known law, computes intervals as a user would, and counts how often they contain the
true value, which is found from a very large sample. With 1,000 simulations the standard error of a coverage
of 95% is .007. The results are kept in benchmarks/results/coverage.json.
"""

import argparse
import datetime
import json
from pathlib import Path

import numpy as np
from sklearn.base import clone

from rankwise import Preferences, RankLogistic, RankRLS, RankSVM, pair_data
from rankwise.evaluation import compare
from rankwise.metrics import concordance_index, concordance_interval

RESULTS = Path(__file__).parent / "results" / "coverage.json"
SIMULATIONS, QUICK = 1000, 40
# The size of the sample from which the truth is found.
MANY = 200_000


def queries(rng, n_queries, n_rows=20):
    """Queries of graded rows, and two models: one feature, and a weaker one."""
    n = n_queries * n_rows
    qid = np.repeat(np.arange(n_queries), n_rows)
    strength = rng.normal(1.0, 0.5, size=n_queries)[qid]  # some queries are easier than others
    x, z = rng.normal(size=(2, n))
    y = np.digitize(strength * x + 0.5 * z + rng.normal(size=n), [0.0, 1.0, 2.0])
    return y, {"x": x, "z": z}, qid


def measure_of_queries(measure, n_queries):
    """Intervals of the mean of a measure and of the difference of two models."""

    def found(rng, large=False):
        y, scores, qid = queries(rng, MANY // 20 if large else n_queries)
        result = compare(y, scores, qid, measures=measure)
        mean, difference = result.measures["x"][0], result.differences[0]
        return {"mean": (mean.mean, mean.low, mean.high), "difference": interval_of(difference)}

    return found


def interval_of(one):
    return one.mean, one.low, one.high


def survival(rng, n, n_strata, strength=1.0):
    """Right-censored times in strata of different hazards, about 30% censored, and scores of two models."""
    x, z = rng.normal(size=(2, n))
    stratum = rng.integers(n_strata, size=n)
    time = rng.exponential(size=n) * np.exp(strength * x + 0.3 * z + stratum / n_strata)
    censored = rng.exponential(size=n) * 5.0
    return Preferences.from_survival(time <= censored, np.minimum(time, censored), qid=stratum), x, z


def concordance_of_strata(n, n_strata, strength=1.0):
    """Intervals of Harrell's index, by the metric and by `compare`, and of the difference of two models."""

    def found(rng, large=False):
        lives, x, z = survival(rng, MANY if large else n, n_strata, strength)
        index = concordance_interval(lives, x)
        if large:
            return {"index": (index.estimate,), "difference": (index.estimate - concordance_index(lives, z),)}
        result = compare(lives, {"x": x, "z": z})
        mean = result.measures["x"][0]
        assert np.allclose([mean.low, mean.high], [index.low, index.high]), "two places disagree"
        return {
            "index": (index.estimate, index.low, index.high),
            "difference": interval_of(result.differences[0]),
        }

    return found


def error_of_one_ranking(n, n_levels):
    """Intervals of the ranking error of one ranking, and of the difference of two models."""

    def found(rng, large=False):
        n_rows = MANY if large else n
        x, z, noise = rng.normal(size=(3, n_rows))
        y = x + 0.5 * z + noise
        if n_levels:
            y = np.digitize(y, np.linspace(-1.5, 1.5, n_levels - 1))
        result = compare(y, {"x": x, "z": z}, measures="error")
        mean = result.measures["x"][0]
        return {"error": (mean.mean, mean.low, mean.high), "difference": interval_of(result.differences[0])}

    return found


def error_of_prompts(n_prompts, n_votes):
    """Intervals of the error of votes whose prompts differ in difficulty."""

    def found(rng, large=False):
        prompts = np.repeat(np.arange(MANY // n_votes if large else n_prompts), n_votes)
        right = rng.beta(1.0, 0.6, size=prompts.max() + 1)[prompts]
        margin = np.where(rng.random(len(prompts)) < right, 1.0, -1.0)[:, None]
        X, pairs = pair_data(margin, np.zeros_like(margin), groups=prompts)
        result = compare(pairs, {"margin": X[:, 0], "none": rng.normal(size=len(X))}, measures="error")
        mean = result.measures["margin"][0]
        return {"error": (mean.mean, mean.low, mean.high)}

    return found


WEIGHTS = np.array([1.0, 0.5, 0.0, -0.7])


def rows(rng, n, levels=0, clusters=None):
    """Rows whose order follows a linear score with extreme-value noise; clusters share features and noise."""
    X, noise = rng.normal(size=(n, 4)), rng.gumbel(size=n)
    if clusters is not None:
        n_clusters = clusters.max() + 1
        X = 0.6 * X + 0.8 * rng.normal(size=(n_clusters, 4))[clusters]
        noise = noise + rng.normal(size=n_clusters)[clusters]
    y = X @ WEIGHTS + noise
    return X, np.digitize(y, np.quantile(y, np.arange(1, levels) / levels)) if levels else y


def one_ranking(n, levels=0):
    """One ranking, with `levels` grades or distinct labels."""
    return lambda rng, scale: (*rows(rng, n * scale, levels), {})


def graded_queries(n_queries, n_rows=10):
    """Queries whose labels have a common offset, with three grades."""

    def drawn(rng, scale):
        qid = np.repeat(np.arange(n_queries * scale), n_rows)
        X, y = rows(rng, len(qid), clusters=qid)
        return X, np.digitize(y, [-0.5, 1.5]), {"qid": qid}

    return drawn


def clusters_of_rows(n_clusters, n_rows):
    """One ranking of rows in clusters, such as visits of patients."""

    def drawn(rng, scale):
        cluster = np.repeat(np.arange(n_clusters * scale), n_rows)
        return *rows(rng, len(cluster), clusters=cluster), {"cluster": cluster}

    return drawn


def chosen_and_rejected(n, n_groups=None):
    """Votes between two rows each, independent or in groups."""

    def drawn(rng, scale):
        A, B = rng.normal(size=(2, n * scale, 4))
        groups = None
        noise = rng.logistic(size=n * scale)
        if n_groups:
            groups = rng.integers(n_groups * scale, size=n * scale)
            A = 0.6 * A + 0.8 * rng.normal(size=(n_groups * scale, 4))[groups]
            noise = noise + rng.normal(size=n_groups * scale)[groups]
        better = (A - B) @ WEIGHTS + noise > 0
        A, B = np.where(better[:, None], A, B), np.where(better[:, None], B, A)
        X, pairs = pair_data(A, B, groups=groups)
        return X, pairs, {}

    return drawn


def lives(n, n_strata=1):
    """Right-censored times on a scale without heavy tails, about 30% censored."""

    def drawn(rng, scale):
        X = rng.normal(size=(n * scale, 4))
        stratum = rng.integers(n_strata, size=n * scale)
        time = 20.0 + X @ WEIGHTS + rng.gumbel(size=n * scale) + stratum
        censored = 21.8 + 1.8 * rng.normal(size=n * scale)
        return X, Preferences.from_survival(time <= censored, np.minimum(time, censored), qid=stratum), {}

    return drawn


def ordered_classes(n):
    """Classes in an order graph that is not a chain."""

    def drawn(rng, scale):
        X, y = rows(rng, n * scale, levels=4)
        return X, Preferences.from_order(y, [(3, 1), (3, 0), (2, 0), (1, 0)]), {}

    return drawn


def intervals_of_weights(model, drawn, debias=False):
    """Intervals of the weights of a model; the third weight is zero."""

    def found(rng, large=False):
        X, y, options = drawn(rng, LARGER if large else 1)
        qid = options.get("qid")
        fitted = clone(model).set_params(tol=1e-4).fit(X, y, qid=qid)
        if large:
            truth = clone(model).set_params(alpha=1e-9).fit(X, y, qid=qid).coef_ if debias else fitted.coef_
            return {f"weight {k + 1}": (value,) for k, value in enumerate(truth)}
        inference = fitted.inference(X, y, debias=debias, **options)
        ends = inference.confidence_intervals()
        return {f"weight {k + 1}": (value, *ends[k]) for k, value in enumerate(inference.coef)}

    return found


# How many times larger the sample is from which the true weights are found.
LARGER = 400
MODELS = {
    "logistic": RankLogistic(alpha=1e-3),
    "squared hinge": RankSVM(alpha=1e-3, loss="squared_hinge"),
    "least squares": RankRLS(alpha=1e-3),
    "hinge": RankSVM(alpha=1e-3),
}
STRUCTURES = {
    "one ranking of 100 rows": one_ranking(100),
    "one ranking of 500 rows": one_ranking(500),
    "three grades, 200 rows": one_ranking(200, 3),
    "two classes, 200 rows": one_ranking(200, 2),
    "30 queries": graded_queries(30),
    "100 queries": graded_queries(100),
    "20 clusters of 10 rows": clusters_of_rows(20, 10),
    "300 pairs": chosen_and_rejected(300),
    "400 pairs in 20 groups": chosen_and_rejected(400, 20),
    "survival, 200 rows": lives(200),
    "survival, 200 rows in 4 strata": lives(200, 4),
    "order graph, 200 rows": ordered_classes(200),
}


CASES = {
    **{
        f"{name}: {structure}": intervals_of_weights(model, drawn)
        for name, model in MODELS.items()
        for structure, drawn in STRUCTURES.items()
    },
    "logistic, debiased: one ranking of 200 rows": intervals_of_weights(
        RankLogistic(alpha=1e-2), one_ranking(200), debias=True
    ),
    **{f"ranking error, {n} queries": measure_of_queries("error", n) for n in (10, 20, 50)},
    **{f"NDCG@10, {n} queries": measure_of_queries("ndcg@10", n) for n in (10, 20, 50)},
    **{f"MRR, {n} queries": measure_of_queries("mrr", n) for n in (10, 50)},
    **{
        f"concordance, {n} rows, strata: {strata}": concordance_of_strata(n, strata)
        for n, strata in ((40, 1), (100, 1), (90, 3), (180, 6), (300, 15))
    },
    "concordance of a strong marker, 100 rows": concordance_of_strata(100, 1, 2.5),
    "ranking error, one ranking of 40 rows": error_of_one_ranking(40, 0),
    "ranking error, one ranking of 200 rows": error_of_one_ranking(200, 0),
    "AUC, two classes, 100 rows": error_of_one_ranking(100, 2),
    "ranking error, 20 prompts x 20 votes": error_of_prompts(20, 20),
    "ranking error, 10 prompts x 20 votes": error_of_prompts(10, 20),
}


def coverage(case, simulations):
    """Return the coverage, the mean length and the number of undefined intervals of each quantity."""
    truth = {name: values[0] for name, values in case(np.random.default_rng(10**6), large=True).items()}
    draws = {name: [] for name in truth}
    for seed in range(simulations):
        for name, values in case(np.random.default_rng(seed)).items():
            draws[name].append(values[1:])
    found = {}
    for name, ends in draws.items():
        low, high = np.array(ends).T
        known = np.isfinite(low)
        inside = (low <= truth[name]) & (truth[name] <= high)
        found[name] = {
            "truth": float(truth[name]),
            "coverage": float(inside[known].mean()),
            "length": float((high - low)[known].mean()),
            "undefined": int((~known).sum()),
        }
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    options = parser.parse_args(arguments)
    simulations = QUICK if options.quick else SIMULATIONS
    recorded = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    print(f"{'':<56}{'':<12}{'truth':>8}{'coverage':>10}{'length':>9}")
    for title, case in CASES.items():
        if options.only not in title:
            continue
        found = coverage(case, simulations)
        for name, one in found.items():
            print(
                f"{title:<56}{name:<12}{one['truth']:>8.3f}{one['coverage']:>10.3f}{one['length']:>9.3f}",
                flush=True,
            )
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        recorded[title] = {"simulations": simulations, "date": today, "quantities": found}
        if not options.quick:
            RESULTS.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
