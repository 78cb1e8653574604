"""Do 95% intervals cover the truth? Coverage by simulation, for every interval of the library.

    python benchmarks/coverage.py                 # 1,000 simulations of each case: some minutes
    python benchmarks/coverage.py --quick         # 40 of each; prints, and writes nothing
    python benchmarks/coverage.py --only strata   # cases whose names contain this
    python benchmarks/coverage.py --table         # write the tables of the pages, nothing else

A case draws data from a known law, computes intervals as a user would, and counts how often they contain the
true value, which is found from a very large sample. With 1,000 simulations the standard error of a coverage
of 95% is .007. Conformal ranges of 90% are judged by the places of new rows, over random splits. The results
are kept in benchmarks/results/coverage.json.
"""

import argparse
import datetime
import json
import re
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from coverage_cases.score_tables import SEPARATIONS, TABLES, WORTHS
from records import compact
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import (
    AutoRanker,
    BradleyTerry,
    ConformalRanks,
    CrowdBradleyTerry,
    PlackettLuce,
    PredictionPoweredBradleyTerry,
    Preferences,
    RankLogistic,
    RankRLS,
    RankSVM,
    pair_data,
)
from rankwise.datasets import load_diabetes_ranking
from rankwise.evaluation import compare, compare_values, grade_agreement
from rankwise.evaluation.conformal import METHODS
from rankwise.evaluation.grades import NAMES
from rankwise.leaderboard import leaderboards_by
from rankwise.metrics import concordance, concordance_index, concordance_interval
from rankwise.preferences import Outcome
from rankwise.preprocessing import TableEncoder

RESULTS = Path(__file__).parent / "results" / "coverage.json"
PAGES = [Path(__file__).parents[1] / "docs" / name for name in ("benchmarks.md",)]
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


def auc_of_classes(n_positive, n_rows, shift=1.0):
    """Intervals of the AUC of a marker, and of the difference of two; the sizes of the classes are given."""

    def found(rng, large=False):
        scale = MANY // n_rows if large else 1
        y = np.arange(n_rows * scale) < n_positive * scale
        x, z = rng.normal(size=(2, len(y))) + np.outer([shift, 0.5], y)
        index = concordance_interval(y, x)
        apart = compare(y.astype(float), {"x": x, "z": z}, measures="error").differences[0]
        return {
            "index": (index.estimate, index.low, index.high),
            "difference": (-apart.mean, -apart.high, -apart.low),
        }

    return found


def concordance_of_pairs(n_pairs, n_rows=None):
    """Intervals of the fraction of listed pairs in the right order: disjoint, or of few rows."""

    def found(rng, large=False):
        scale = MANY // n_pairs if large else 1
        if n_rows is None:
            first, second = np.arange(2 * n_pairs * scale).reshape(2, -1)
        else:
            first = rng.integers(n_rows * scale, size=n_pairs * scale)
            second = (first + rng.integers(1, n_rows * scale, size=n_pairs * scale)) % (n_rows * scale)
        quality = rng.normal(size=max(first.max(), second.max()) + 1)
        above = quality[first] + rng.gumbel(size=len(first)) > quality[second] + rng.gumbel(size=len(first))
        pairs = Preferences.from_pairs(
            np.where(above, first, second), np.where(above, second, first), n_rows=len(quality)
        )
        x, z = quality + rng.normal(size=(2, len(quality))) * np.array([[0.5], [1.5]])
        index = concordance_interval(pairs, x)
        apart = compare(pairs, {"x": x, "z": z}, measures="error").differences[0]
        return {
            "index": (index.estimate, index.low, index.high),
            "difference": (-apart.mean, -apart.high, -apart.low),
        }

    return found


def agreement_of_grades(n_rows):
    """Intervals of the accuracy, the absolute error and the quadratic kappa of predicted grades."""

    def found(rng, large=False):
        x, noise = rng.normal(size=(2, MANY if large else n_rows))
        y, predicted = (np.digitize(values, [-1.0, 0.0, 1.0]) for values in (x + 0.7 * noise, x))
        agreement = grade_agreement(y, predicted, categories=range(4))
        return {
            title.lower(): (getattr(agreement, name), *agreement.intervals[name])
            for name, title in NAMES.items()
        }

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


def one_relevant_row(measure, n_queries, strength):
    """Intervals of a measure of queries with one relevant row of 20, mostly found, and of a difference."""

    def found(rng, large=False):
        n = 20_000 if large else n_queries
        qid, y = np.repeat(np.arange(n), 20), np.tile(np.arange(20) == 0, n).astype(float)
        x = rng.normal(size=20 * n) + strength * y
        z = x + 0.6 * rng.normal(size=20 * n)
        result = compare(y, {"x": x, "z": z}, qid, measures=measure)
        mean = result.measures["x"][0]
        return {
            "mean": (mean.mean, mean.low, mean.high),
            "difference": interval_of(result.differences[0]),
        }

    return found


def votes_of_groups(sizes):
    """Intervals of the error of votes in groups of given sizes, and of the difference of two equal models."""
    group = np.repeat(np.arange(len(sizes)), sizes)

    def found(rng, large=False):
        if large:
            return {"error": (1.2 / 3.2,), "difference": (0.0,)}
        right = rng.beta(2.0, 1.2, size=(2, len(sizes)))[:, group]
        margin = np.where(rng.random(right.shape) < right, 1.0, -1.0).T
        X, pairs = pair_data(margin, np.zeros_like(margin), groups=group)
        result = compare(pairs, {"a": X[:, 0], "b": X[:, 1]}, measures="error")
        mean = result.measures["a"][0]
        return {
            "error": (mean.mean, mean.low, mean.high),
            "difference": interval_of(result.differences[0]),
        }

    return found


def skewed_differences(n_queries):
    """Intervals of a mean difference of 0: a small gain on nine queries of ten, a large loss on one."""

    def found(rng, large=False):
        if large:
            return {"difference": (0.0,)}
        apart = np.where(rng.random(n_queries) < 0.9, 0.02, -0.18) + 0.01 * rng.normal(size=n_queries)
        result = compare_values({"a": 0.5 + apart, "b": np.full(n_queries, 0.5)})
        return {"difference": interval_of(result.differences[0])}

    return found


def equal_models(n_models, n_queries):
    """Intervals of the differences of the first of several equal models: the part that all have in common."""

    def found(rng, large=False):
        if large:
            return {"all differences": (0.0,)}
        y, scores, qid = queries(rng, n_queries)
        common = scores["x"]
        models = {str(k): common + rng.normal(size=len(y)) for k in range(n_models)}
        apart = compare(y, models, qid, measures="error").differences
        return {"all differences": (0.0, max(one.low for one in apart), min(one.high for one in apart))}

    return found


def concordance_of_few_events(n, limit):
    """Intervals of concordances if most times are censored, and of the difference of two equal models."""

    def found(rng, large=False):
        x, z, common = rng.normal(size=(3, MANY if large else n))
        time = rng.exponential(size=len(x)) * np.exp(common)
        censored = rng.exponential(size=len(x)) * limit
        lives = Preferences.from_survival(time <= censored, np.minimum(time, censored))
        x, z = common + x, common + z
        index = concordance_interval(lives, x)
        apart = (0.0,) if large else interval_of(compare(lives, {"x": x, "z": z}).differences[0])
        return {"index": (index.estimate, index.low, index.high), "difference": apart}

    return found


def concordance_of_eyes(n_patients):
    """Intervals of the concordance of two eyes per patient, which share a marker and a frailty."""

    def found(rng, large=False):
        patient = np.repeat(np.arange(MANY // 2 if large else n_patients), 2)
        shared, frailty = rng.normal(size=(2, patient.max() + 1))
        x = shared[patient] + 0.3 * rng.normal(size=len(patient))
        time = rng.exponential(size=len(patient)) * np.exp(x + frailty[patient])
        censored = 3.0 * rng.exponential(size=len(patient))
        index = concordance_interval((time <= censored, np.minimum(time, censored)), x, cluster=patient)
        return {"index": (index.estimate, index.low, index.high)}

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


# The rows of queries or the votes of users: some have most of them.
GEOMETRIC = [200, 140, 100, 70, 50, 35, 25, 18, 12, 9, 6, 5, 4, 4, 3, 3, 3, 3, 3, 3]
ZIPF = [200 // k for k in range(1, 21)]


def own_slopes(rng, units, n_features=2, sd=0.7):
    """Labels, up to noise, of rows in units that each have weights of their own around (1, 0, ...)."""
    X = rng.normal(size=(len(units), n_features))
    slopes = np.eye(n_features)[0] + sd * rng.normal(size=(units.max() + 1, n_features))
    return X, np.sum(X * slopes[units], axis=1)


def unequal_queries(sizes):
    """Queries of these sizes, whose weights differ."""

    def drawn(rng, scale):
        qid = np.repeat(np.arange(len(sizes) * scale), np.tile(sizes, scale))
        X, y = own_slopes(rng, qid)
        return X, y + rng.normal(size=len(y)), {"qid": qid}

    return drawn


def queries_of_random_sizes(n_queries):
    """Queries of 2 to 301 rows, log-uniform; the first weight grows with the size."""

    def drawn(rng, scale):
        sizes = np.exp(rng.uniform(0, np.log(300), n_queries * scale)).round().astype(int) + 1
        qid = np.repeat(np.arange(len(sizes)), sizes)
        X, y = own_slopes(rng, qid, sd=0.5)
        return X, y + 0.3 * np.log(sizes)[qid] * X[:, 0] + rng.normal(size=len(y)), {"qid": qid}

    return drawn


def votes_of_users(sizes):
    """Votes of users whose weights differ, as many of each as given."""

    def drawn(rng, scale):
        user = np.repeat(np.arange(len(sizes) * scale), np.tile(sizes, scale))
        apart, d = own_slopes(rng, user)
        apart *= np.where(d + rng.logistic(size=len(d)) > 0, 1, -1)[:, None]
        return *pair_data(apart, np.zeros_like(apart), groups=user), {}

    return drawn


def treated_clusters(n_clusters, n_treated, n_rows=10):
    """Queries of whose rows some are treated, but only in a few of the queries."""

    def drawn(rng, scale):
        qid = np.repeat(np.arange(n_clusters * scale), n_rows)
        X, y = own_slopes(rng, qid)
        X[:, 1] = (qid % n_clusters < n_treated) & (rng.random(len(qid)) < 0.5)
        effect = rng.normal(0.5, 0.7, size=n_clusters * scale)[qid]
        return X, X[:, 0] + effect * X[:, 1] + rng.normal(size=len(y)), {"qid": qid}

    return drawn


def few_positives(n_positive, n_rows):
    """Rows of two classes, of which one has few."""

    def drawn(rng, scale):
        y = np.arange(n_rows * scale) < n_positive * scale
        X = rng.normal(size=(len(y), 2))
        X[:, 0] += 1.0 * y
        return X, y.astype(float), {}

    return drawn


def clusters_of_unequal_sizes(n_clusters):
    """One ranking of rows in clusters, of which the largest has a tenth to a third of the rows."""

    def drawn(rng, scale):
        sizes = np.tile(3 * np.arange(1, n_clusters + 1), scale)
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        return *rows(rng, len(cluster), clusters=cluster), {"cluster": cluster}

    return drawn


def weights_behind_a_scaler(n, n_queries, alpha):
    """Intervals of the weights of a heavy-tailed and a normal feature behind a scaler."""

    def found(rng, large=False):
        scale = LARGER if large else 1
        X = np.column_stack([rng.lognormal(sigma=1.0, size=n * scale), rng.normal(size=n * scale)])
        y = 0.5 * X[:, 0] + X[:, 1] + rng.gumbel(size=len(X))
        qid = np.arange(len(X)) % (n_queries * scale) if n_queries else None
        model = make_pipeline(StandardScaler(), RankLogistic(alpha=alpha, tol=1e-4))
        inferred = rankwise.inference(model.fit(X, y, ranklogistic__qid=qid), X, y, qid=qid)
        ends = inferred.confidence_intervals()
        return {f"weight {k + 1}": (value, *ends[k]) for k, value in enumerate(inferred.coef)}

    return found


def weights_of_levels(n):
    """Intervals of the levels of a category, compared with the first, and of a number behind an encoder."""

    def found(rng, large=False):
        n_rows = n * (LARGER if large else 1)
        frame = pd.DataFrame({"level": rng.choice(list("abc"), n_rows), "x": rng.normal(size=n_rows)})
        y = (frame.level == "b") - 0.5 * (frame.level == "c") + frame.x + rng.gumbel(size=n_rows)
        model = make_pipeline(TableEncoder(), StandardScaler(), RankLogistic(alpha=1e-3, tol=1e-4))
        inferred = rankwise.inference(model.fit(frame, y), frame, y)
        ends = inferred.confidence_intervals()
        return {
            name: (value, *pair)
            for name, value, pair in zip(inferred.names, inferred.coef, ends, strict=True)
        }

    return found


# The models that are simulated with unequal or few units.
BESIDE = ("logistic", "least squares")
UNEQUAL = {
    "20 queries of 3 to 200 rows": (unequal_queries(GEOMETRIC), "pairs"),
    "20 queries of 10 rows": (unequal_queries([10] * 20), "pairs"),
    "15 queries of random sizes": (queries_of_random_sizes(15), "pairs"),
    "30 queries of random sizes": (queries_of_random_sizes(30), "pairs"),
    "100 queries of random sizes": (queries_of_random_sizes(100), "pairs"),
    "20 users with 10 to 200 votes": (votes_of_users(ZIPF), "queries"),
    "30 queries, 4 with treated rows": (treated_clusters(30, 4), "queries"),
    "12 clusters of 3 to 36 rows": (clusters_of_unequal_sizes(12), "queries"),
    "5 of 100 rows positive": (few_positives(5, 100), "queries"),
    "15 of 100 rows positive": (few_positives(15, 100), "queries"),
    "4 queries": (unequal_queries([20] * 4), "queries"),
    "6 queries": (unequal_queries([20] * 6), "queries"),
    "8 queries": (unequal_queries([20] * 8), "queries"),
}


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


N_ITEMS = 20
# Nodes and weights of the mean over a normal distribution.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def random_pairs(rng, n, n_items=N_ITEMS):
    """Two different items per vote."""
    first = rng.integers(n_items, size=n)
    return first, (first + rng.integers(1, n_items, size=n)) % n_items


def independent_votes(n, sd, n_items=N_ITEMS):
    """Votes between random pairs, with scores of standard deviation sd."""

    def drawn(rng):
        scores = rng.normal(0, sd, size=n_items)
        a, b = random_pairs(rng, n, n_items)
        return a, b, scores[a] - scores[b], scores, {}

    return drawn


def matchmaking(n, sd, strength):
    """Votes between items of similar scores: the odds of a pair fall with the distance of its scores."""

    def drawn(rng):
        scores = rng.normal(0, sd, size=N_ITEMS)
        odds = np.exp(-strength * np.abs(scores[:, None] - scores)) * (1 - np.eye(N_ITEMS))
        a, b = np.divmod(rng.choice(N_ITEMS**2, size=n, p=odds.ravel() / odds.sum()), N_ITEMS)
        return a, b, scores[a] - scores[b], scores, {}

    return drawn


def marginal_scores(scores, spread):
    """Scores of the marginal probabilities if each cluster shifts each item by N(0, spread^2)."""
    shifted = (scores[:, None] - scores)[..., None] + 2**0.5 * spread * NODES
    target, found = expit(shifted) @ (NODE_WEIGHTS / NODE_WEIGHTS.sum()), scores - scores.mean()
    for _ in range(40):
        p = expit(found[:, None] - found)
        information = np.diag((p * (1 - p)).sum(axis=1)) - p * (1 - p)
        found = found + np.linalg.solve(information + 1, (target - p).sum(axis=1))
    return found - found.mean()


def clustered_votes(n_clusters, size, one_pair=False, n_models=N_ITEMS, spread=0.7):
    """Votes of users, or on prompts, each with its own scores; on one pair, or on some of the items."""

    def drawn(rng):
        scores = rng.normal(size=N_ITEMS)
        cluster = np.repeat(np.arange(n_clusters), size)
        if one_pair:
            a, b = (items.repeat(size) for items in random_pairs(rng, n_clusters))
        else:
            models = np.array([rng.choice(N_ITEMS, n_models, replace=False) for _ in range(n_clusters)])
            first = rng.integers(n_models, size=len(cluster))
            second = (first + rng.integers(1, n_models, size=len(cluster))) % n_models
            a, b = models[cluster, first], models[cluster, second]
        shift = rng.normal(0, spread, size=(n_clusters, N_ITEMS))
        d = scores[a] - scores[b] + shift[cluster, a] - shift[cluster, b]
        return a, b, d, marginal_scores(scores, spread), {"cluster": cluster}

    return drawn


def two_way_votes(n_users, n_prompts, n=3000, spread=0.5):
    """Votes of users on prompts, both with scores of their own."""

    def drawn(rng):
        scores = rng.normal(size=N_ITEMS)
        user, prompt = rng.integers(n_users, size=n), rng.integers(n_prompts, size=n)
        a, b = random_pairs(rng, n)
        d = scores[a] - scores[b]
        for cluster, n_clusters in ((user, n_users), (prompt, n_prompts)):
            shift = rng.normal(0, spread, size=(n_clusters, N_ITEMS))
            d = d + shift[cluster, a] - shift[cluster, b]
        return a, b, d, marginal_scores(scores, 2**0.5 * spread), {"cluster": (user, prompt)}

    return drawn


def weighted_votes(n, half_life=None):
    """Votes with lognormal weights, or with dates and a half-life."""

    def drawn(rng):
        scores = rng.normal(size=N_ITEMS)
        a, b = random_pairs(rng, n)
        more = {"weight": rng.lognormal(size=n)} if half_life is None else {"date": np.arange(n)}
        return a, b, scores[a] - scores[b], scores, more

    return drawn


def leaderboard_intervals(drawn, copies=1, **options):
    """Intervals of scores, of the truly best minus the truly worst, and of ranks.

    The items of a simulation have scores of their own, so the errors of the ends are recorded, whose truth
    is 0; coverage is the mean over all items.
    """

    def found(rng, large=False):
        names = ("score", "best - worst", "rank")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, d, scores, more = drawn(rng)
        result = (rng.random(len(a)) < expit(d)).astype(float)
        if copies > 1:
            a, b, result, more = (
                *(np.repeat(one, copies) for one in (a, b, result)),
                {"cluster": np.repeat(np.arange(len(a)), copies)},
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # matchmaking
            model = BradleyTerry(**options).fit(a, b, outcome=result, **more)
        board = model.leaderboard()
        # With matchmaking, an item may be in no vote.
        shift = scores[board.reference or model.items_].mean()
        truth = {item: scores[item] - shift for item in model.items_.tolist()}
        order = sorted(truth, key=truth.get, reverse=True)
        rank = {item: place + 1 for place, item in enumerate(order)}
        ends = model.difference(order[0], order[-1])
        apart = truth[order[0]] - truth[order[-1]]
        return {
            "score": [(row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in board],
            "best - worst": [(ends.difference, ends.low - apart, ends.high - apart)],
            "rank": [
                (row.rank, row.best_rank - rank[row.item], row.worst_rank - rank[row.item]) for row in board
            ],
        }

    return found


def far_item(gap, n=400, n_users=None, weighted=False, spread=0.5):
    """Votes between random pairs; the first item is far above 19 others, and may win all its votes."""

    def drawn(rng):
        scores = rng.normal(0, 0.3, size=N_ITEMS)
        scores[0] = gap
        a, b = random_pairs(rng, n)
        d, more = scores[a] - scores[b], {}
        if n_users:
            user = rng.integers(n_users, size=n)
            shift = rng.normal(0, spread, size=(n_users, N_ITEMS))
            d, scores = d + shift[user, a] - shift[user, b], marginal_scores(scores, spread)
            more["cluster"] = user
        if weighted:
            more["weight"] = rng.lognormal(sigma=0.5, size=n)
        return a, b, d, scores, more

    return drawn


def users_of_unequal_size(n_users, n=800, n_items=8, spread=0.7):
    """Votes of users with their own scores, whose numbers of votes follow Zipf's law."""

    def drawn(rng):
        scores, share = rng.normal(size=n_items), 1 / np.arange(1, n_users + 1)
        cluster = rng.choice(n_users, size=n, p=share / share.sum())
        cluster[:n_users] = np.arange(n_users)
        a, b = random_pairs(rng, n, n_items)
        shift = rng.normal(0, spread, size=(n_users, n_items))
        d = scores[a] - scores[b] + shift[cluster, a] - shift[cluster, b]
        return a, b, d, marginal_scores(scores, spread), {"cluster": cluster}

    return drawn


def votes_with_ties(rng, d, tie=0.7):
    """Outcomes of Davidson's model: 1, 1/2 and 0 in proportion to exp(d/2), `tie` and exp(-d/2)."""
    chances = np.stack([np.exp(0.5 * d), np.full(len(d), tie), np.exp(-0.5 * d)])
    place = rng.random(len(d)) * chances.sum(axis=0)
    return np.where(place < chances[0], 1.0, np.where(place < chances[:2].sum(axis=0), 0.5, 0.0))


def outlying_item(drawn, **options):
    """Intervals of an item far from the rest, of its difference with another, and of the others."""

    def found(rng, large=False):
        names = ("score", "difference", "others", "rank")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, d, scores, more = drawn(rng)
        won = votes_with_ties(rng, d) if options else (rng.random(len(a)) < expit(d)).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a tie effect that few ties know
            model = BradleyTerry(**options).fit(a, b, outcome=won, **more)
        board = model.leaderboard()
        shift = scores[board.reference or model.items_].mean()
        errors = {
            row.item: (row.score, row.low - scores[row.item] + shift, row.high - scores[row.item] + shift)
            for row in board
        }
        (first,) = (row for row in board if row.item == 0)
        apart = model.difference(0, 1)
        gap_of_pair = scores[0] - scores[1]
        return {
            "score": [errors[0]],
            "difference": [(apart.difference, apart.low - gap_of_pair, apart.high - gap_of_pair)],
            "others": [errors[item] for item in errors if item],
            "rank": [(first.rank, first.best_rank - 1, first.worst_rank - 1)],
        }

    return found


def claimed_order(drawn):
    """How often claims of an order with 95% or more are right, as "coverage", for their mean as "truth"."""

    def found(case, simulations):
        said, right = [], []
        for seed in range(simulations):
            rng = np.random.default_rng(seed)
            a, b, d, scores, more = drawn(rng)
            i, j = np.triu_indices(len(scores), 1)
            model = BradleyTerry().fit(a, b, outcome=(rng.random(len(a)) < expit(d)).astype(float), **more)
            chance = np.array([one.probability for one in model.differences(i.tolist(), j.tolist())])
            said += np.maximum(chance, 1 - chance).tolist()
            right += ((chance > 0.5) == (scores[i] > scores[j])).tolist()
        clear = np.array(said) >= 0.95
        level, share = float(np.array(said)[clear].mean()), float(np.array(right)[clear].mean())
        return {
            "claims": {"truth": rounded(level), "coverage": rounded(share), "length": 0.0, "undefined": 0}
        }

    return found


def two_groups(n, n_items=12):
    """Votes between items of two groups, whose scores are nearly equal inside each."""

    def drawn(rng):
        scores = np.where(np.arange(n_items) < n_items // 2, 1.0, -1.0) + 0.05 * rng.normal(size=n_items)
        a, b = random_pairs(rng, n, n_items)
        return a, b, scores[a] - scores[b], scores, {}

    return drawn


CLAIMS = {
    **{
        f"leaderboard, claims of an order: 12 items of sd {sd}, 300 votes": independent_votes(300, sd, 12)
        for sd in (0.1, 0.3, 1)
    },
    "leaderboard, claims of an order: 12 items in two groups, 300 votes": two_groups(300),
    "leaderboard, claims of an order: 5 users of unequal size, 800 votes": users_of_unequal_size(5),
}


def first_place(votes, n_items, **options):
    """How often the likely best item is the best, as "coverage", for the mean probability it has as "truth".

    The standard deviation of scores is drawn, too: a probability is right on average over a prior.
    """

    def found(case, simulations):
        chances, is_best = [], []
        for seed in range(simulations):
            rng = np.random.default_rng(seed)
            sd = np.exp(0.5 * rng.normal())
            a, b, d, scores, _ = independent_votes(votes, sd, n_items)(rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # matchmaking by chance
                model = BradleyTerry(**options).fit(
                    a, b, outcome=(rng.random(votes) < expit(d)).astype(float)
                )
            chance = model.top_probabilities()
            chances.append(chance.max())
            is_best.append(model.items_[chance.argmax()] == scores.argmax())
        level, share = float(np.mean(chances)), float(np.mean(is_best))
        return {"first place": {"truth": level, "coverage": share, "length": 0.0, "undefined": 0}}

    return found


EFFECTS = np.array([0.5, -0.3, 0.2])


def covariate_intervals(n, n_clusters=None, dependence=0.4):
    """Intervals of scores and of the effects of three covariates, with independent or clustered votes.

    The first covariate goes with the items, the second is independent of them, and the third is the same for
    all votes of a cluster. Votes of a cluster depend on each other by a normal copula, which leaves the
    probability of each vote as it is.
    """

    def found(rng, large=False):
        names = ("score", *(f"effect {k + 1}" for k in range(3)))
        if large:
            return dict.fromkeys(names, (0.0,))
        scores = rng.normal(size=N_ITEMS)
        a, b = random_pairs(rng, n)
        cluster = np.arange(n) % (n_clusters or n)
        wordiness = 0.7 * scores + 0.7 * rng.normal(size=N_ITEMS)
        Z = np.stack(
            [
                wordiness[a] - wordiness[b] + rng.normal(size=n),
                rng.choice([-1.0, 1.0], size=n),
                rng.normal(size=cluster.max() + 1)[cluster],
            ],
            axis=1,
        )
        share = dependence if n_clusters else 0.0
        noise = share**0.5 * rng.normal(size=cluster.max() + 1)[cluster]
        noise = noise + (1 - share) ** 0.5 * rng.normal(size=n)
        result = (norm.cdf(noise) < expit(scores[a] - scores[b] + Z @ EFFECTS)).astype(float)
        model = BradleyTerry().fit(
            a, b, outcome=result, covariates=Z, cluster=cluster if n_clusters else None
        )
        truth = scores - scores.mean()
        rows = [
            (row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in model.leaderboard()
        ]
        effects = [
            (one.value, one.low - value, one.high - value)
            for one, value in zip(model.effects(), EFFECTS, strict=True)
        ]
        return dict(zip(names, [rows, *effects], strict=True))

    return found


def judged_votes(n, n_judges, sd=1.0, slope_sd=0.7, order_sd=0.5):
    """Votes of judges with lognormal slopes and normal order effects, as many of each judge."""

    def drawn(rng):
        scores = rng.normal(0, sd, size=N_ITEMS)
        logs, orders = rng.normal(0, slope_sd, size=n_judges), rng.normal(0, order_sd, size=n_judges)
        a, b = random_pairs(rng, n)
        judge = np.arange(n) % n_judges
        won = rng.random(n) < expit(np.exp(logs[judge]) * (scores[a] - scores[b]) + orders[judge])
        return (
            a,
            b,
            won.astype(float),
            judge,
            scores * np.exp(logs.mean()),
            np.exp(logs - logs.mean()),
            orders,
        )

    return drawn


def judge_coverage(drawn, **options):
    """Intervals of scores, slopes and order effects of judges; the errors of the ends, as above."""

    def found(rng, large=False):
        names = ("score", "best - worst", "slope", "order")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, won, judge, scores, slopes, orders = drawn(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a judge with a small slope may seem opposed
            model = CrowdBradleyTerry(**options).fit(a, b, outcome=won, judge=judge)
        truth = scores - scores.mean()
        board = model.leaderboard(ranks=False)
        ends = model.difference(truth.argmax(), truth.argmin())
        effects = model.effects()
        apart = np.ptp(truth)
        return {
            "score": [(row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in board],
            "best - worst": [(ends.difference, ends.low - apart, ends.high - apart)],
            **{
                name: [
                    (one.value, one.low - value, one.high - value)
                    for one, value in zip(effects[kind::2], values, strict=True)
                ]
                for kind, (name, values) in enumerate((("slope", slopes), ("order", orders)))
            },
        }

    return found


FIRST_PLACES = {
    f"leaderboard, posterior: first of {n_items} items, {votes} votes": first_place(
        votes, n_items, intervals="posterior"
    )
    for n_items, votes in ((10, 30), (20, 400))
}


def category_coverage(spread, sizes=(1000, 300, 100, 40), n_items=10):
    """Intervals of scores in categories of several sizes, whose scores deviate by `spread` from the whole."""

    def found(rng, large=False):
        names = [f"{size:,} votes" for size in sizes]
        if large:
            return dict.fromkeys(names, (0.0,))
        scores = rng.normal(size=n_items) + spread * rng.normal(size=(len(sizes), n_items))
        scores -= scores.mean(axis=1, keepdims=True)
        category = np.repeat(np.arange(len(sizes)), sizes)
        a, b = random_pairs(rng, len(category), n_items)
        won = (rng.random(len(a)) < expit(scores[category, a] - scores[category, b])).astype(float)
        boards = leaderboards_by(BradleyTerry(), a, b, outcome=won, by=category)
        return {
            name: [
                (row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in boards[number]
            ]
            for number, (name, truth) in enumerate(zip(names, scores, strict=True))
        }

    return found


def duel_votes(rng, n_humans=300, n_duels=6000, agreement=0.8, n_items=15):
    """Human votes on a random subset of duels, and a judge on all who favours three items.

    The noise of both votes on a duel has a normal copula. Its correlation and the bias of the judge give the
    agreement.
    """
    correlation, bias = {0.8: (0.8, 1.0), 0.95: (0.992, 0.3)}[agreement]
    scores = rng.normal(0, 0.7, size=n_items)
    biased = scores + bias * (np.arange(n_items) < 3)
    a = rng.integers(n_items, size=n_duels)
    b = (a + rng.integers(1, n_items, size=n_duels)) % n_items
    noise, other = rng.normal(size=(2, n_duels))
    noises = noise, correlation * noise + (1 - correlation**2) ** 0.5 * other
    human, judge = (
        (norm.cdf(one) < expit(values[a] - values[b])).astype(float)
        for one, values in zip(noises, (scores, biased), strict=True)
    )
    human[rng.permutation(n_duels)[n_humans:]] = np.nan
    return a, b, human, judge, scores - scores.mean()


def duel_coverage(agreement, n_humans=300):
    """Intervals of scores: of humans with the judge of both kinds, of humans alone, of all votes pooled."""

    def found(rng, large=False):
        names = ("with judge", "posterior", "humans", "pooled")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, human, judge, truth = duel_votes(rng, n_humans, agreement=agreement)
        labelled = ~np.isnan(human)
        pool = [np.concatenate([one[labelled], one]) for one in (a, b)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few human votes
            models = (
                PredictionPoweredBradleyTerry().fit(a, b, outcome=human, judge_outcome=judge),
                PredictionPoweredBradleyTerry(intervals="posterior").fit(
                    a, b, outcome=human, judge_outcome=judge
                ),
                BradleyTerry().fit(a[labelled], b[labelled], outcome=human[labelled]),
                BradleyTerry().fit(*pool, outcome=np.concatenate([human[labelled], judge])),
            )
        return {
            name: [
                (row.score, row.low - truth[row.item], row.high - truth[row.item])
                for row in model.leaderboard(ranks=False)
            ]
            for name, model in zip(names, models, strict=True)
        }

    return found


JUDGED = {
    "10 judges, 1,000 votes": judged_votes(1000, 10),
    "10 judges, 1,000 votes, sd 3": judged_votes(1000, 10, 3.0),
    "10 nearly equal judges, 1,000 votes": judged_votes(1000, 10, 1.0, 0.1, 0.1),
    "40 judges x 50 votes": judged_votes(2000, 40),
    "100 judges x 20 votes": judged_votes(2000, 100),
}
VOTES = {
    **{f"scores of sd {sd}, 400 votes": independent_votes(400, sd) for sd in (0.5, 1, 2, 3, 4)},
    "matchmaking, sd 2, 400 votes": matchmaking(400, 2.0, 1.0),
    "200 users x 20 votes on one pair": clustered_votes(200, 20, one_pair=True),
    "200 prompts x 20 votes": clustered_votes(200, 20, n_models=5),
    "15 users x 100 votes": clustered_votes(15, 100),
    "15 users x 15 prompts, two-way": two_way_votes(15, 15),
    "lognormal weights, 4,000 votes": weighted_votes(4000),
    "scores of sd 1, 100 votes": independent_votes(100, 1.0),
    **{f"{n} users x {600 // n} votes": clustered_votes(n, 600 // n) for n in (3, 5)},
    **{f"{n} users of unequal size, 800 votes": users_of_unequal_size(n) for n in (3, 5, 15)},
}


def trial_of(n, n_strata=1, weights="pairs"):
    """Intervals of win statistics: deaths of which most are censored, visits to the hospital, and a walk."""

    def found(rng, large=False):
        n_patients = MANY if large else 2 * n
        arm = np.arange(n_patients) % 2
        stratum = rng.integers(n_strata, size=n_patients)
        frailty = rng.normal(size=n_patients) + stratum / n_strata
        time = rng.exponential(size=n_patients) * np.exp(0.3 * arm - 0.5 * frailty)
        end = rng.uniform(0.2, 0.6, size=n_patients)
        walk = 300 + 60 * rng.normal(size=n_patients) + 20 * arm - 20 * frailty
        outcomes = [
            Outcome(np.minimum(time, end), time <= end),
            Outcome(rng.poisson(np.exp(0.3 * frailty - 0.2 * arm)), higher_is_better=False),
            Outcome(walk, margin=30),
        ]
        result = rankwise.win_statistics(arm, outcomes, stratum, stratum_weights=weights)
        parts = result.win_ratio, result.win_odds, result.net_benefit
        return {one.name: (one.estimate, one.low, one.high) for one in parts}

    return found


def association_of(n, n_levels):
    """Intervals of Kendall's tau, gamma and Somers' D of labels with many or few values."""

    def found(rng, large=False):
        x, noise = rng.normal(size=(2, MANY if large else n))
        y = np.digitize(x + noise, np.linspace(-1.5, 1.5, n_levels - 1)) if n_levels else x + noise
        result = concordance(y, np.round(x, 1))
        parts = result.tau_a, result.tau_b, result.gamma, result.somers_d
        return {one.name: (one.estimate, one.low, one.high) for one in parts}

    return found


def ranked_items(n_rankings, size, way):
    """Rankings of some of 20 items: as pairs, as pairs in clusters, or as rankings."""

    def found(rng, large=False):
        names = ("score", "best - worst", "rank")
        if large:
            return dict.fromkeys(names, (0.0,))
        scores = rng.normal(size=N_RANKED)
        rankings = []
        for _ in range(n_rankings):
            drawn = rng.choice(N_RANKED, size, replace=False)
            rankings.append(drawn[np.argsort(-(scores[drawn] + rng.gumbel(size=size)))].tolist())
        if way == "rankings":
            model = PlackettLuce().fit(rankings)
        else:
            winner, loser = np.transpose([pair for one in rankings for pair in combinations(one, 2)])
            cluster = np.repeat(np.arange(n_rankings), size * (size - 1) // 2) if way == "clusters" else None
            model = BradleyTerry().fit(winner, loser, cluster=cluster)
        board = model.leaderboard()
        truth = scores - scores[board.reference or model.items_].mean()
        order = np.argsort(-truth)
        rank = {int(item): place + 1 for place, item in enumerate(order)}
        ends, apart = model.difference(int(order[0]), int(order[-1])), truth[order[0]] - truth[order[-1]]
        return {
            "score": [(row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in board],
            "best - worst": [(ends.difference, ends.low - apart, ends.high - apart)],
            "rank": [
                (row.rank, row.best_rank - rank[row.item], row.worst_rank - rank[row.item]) for row in board
            ],
        }

    return found


N_RANKED = 20
WAYS = {"as pairs": "pairs", "pairs in clusters": "clusters", "Plackett-Luce": "rankings"}


CASES = {
    **{f"win statistics, {n} patients per arm": trial_of(n) for n in (50, 100, 400)},
    "win statistics, 100 patients per arm in 4 strata": trial_of(100, 4),
    "win statistics, 100 patients per arm in 4 strata, Mantel-Haenszel": trial_of(100, 4, "mantel-haenszel"),
    **{f"Kendall's tau, {n} rows": association_of(n, 0) for n in (30, 100)},
    **{f"Kendall's tau, {n} rows of 4 grades": association_of(n, 4) for n in (30, 100)},
    **{f"score table: {name}": case for name, case in (TABLES | WORTHS).items()},
    **{
        f"leaderboard: {n} rankings of {size}, {words}": ranked_items(n, size, way)
        for n, size in ((200, 5), (60, 20), (60, 5))
        for words, way in WAYS.items()
    },
    **{f"leaderboard: {name}": leaderboard_intervals(drawn) for name, drawn in VOTES.items()},
    **{
        f"leaderboard: an item {gap} above 19 others, 400 votes": outlying_item(far_item(gap))
        for gap in (4, 5, 7)
    },
    "leaderboard: an item 5 above 19 others, ties": outlying_item(far_item(5), ties="davidson"),
    "leaderboard: an item 5 above 19 others, 40 users": outlying_item(far_item(5, n_users=40)),
    "leaderboard: an item 5 above 19 others, weights": outlying_item(far_item(5, weighted=True)),
    **{
        f"leaderboard: 10 items of sd {sd}, 30 votes": leaderboard_intervals(independent_votes(30, sd, 10))
        for sd in (0.5, 1, 2, 4)
    },
    "leaderboard: 3 copies of 1,333 votes": leaderboard_intervals(independent_votes(1333, 1.0), copies=3),
    "leaderboard: half life, 4,000 votes": leaderboard_intervals(
        weighted_votes(4000, 4000 / 3), half_life=4000 / 3
    ),
    "leaderboard: 3 covariates, 2,000 votes": covariate_intervals(2000),
    "leaderboard: 3 covariates, 100 users x 20 votes": covariate_intervals(2000, 100),
    **{f"leaderboard: {name}": judge_coverage(drawn) for name, drawn in JUDGED.items()},
    **{
        f"leaderboard: 300 human votes, a judge on 6,000, agreement {agreement:.0%}": duel_coverage(agreement)
        for agreement in (0.8, 0.95)
    },
    "leaderboard: 100 human votes, a judge on 6,000, agreement 80%": duel_coverage(0.8, 100),
    **{
        f"leaderboard by category: deviations of sd {spread}": category_coverage(spread)
        for spread in (0.0, 0.2, 0.5)
    },
    **{
        f"{name}: {structure}": intervals_of_weights(model, drawn)
        for name, model in MODELS.items()
        for structure, drawn in STRUCTURES.items()
    },
    **{
        f"unequal, {name}: {title}": intervals_of_weights(
            clone(MODELS[name]).set_params(average=average), drawn
        )
        for title, (drawn, average) in UNEQUAL.items()
        for name in BESIDE
    },
    "logistic, debiased: one ranking of 200 rows": intervals_of_weights(
        RankLogistic(alpha=1e-2), one_ranking(200), debias=True
    ),
    **{
        f"behind a scaler, alpha={alpha}: {title}": weights_behind_a_scaler(300, n_queries, alpha)
        for alpha in (0.1, 0.001)
        for title, n_queries in (("one ranking of 300 rows", 0), ("30 queries of 10 rows", 30))
    },
    **{f"logistic: a category of three levels, {n} rows": weights_of_levels(n) for n in (60, 200)},
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
    **{
        f"AUC, {n_positive} of {n_rows} rows positive": auc_of_classes(n_positive, n_rows)
        for n_positive, n_rows in ((20, 40), (8, 40), (4, 40), (12, 100), (6, 60))
    },
    "AUC of a strong marker, 20 of 40 rows positive": auc_of_classes(20, 40, 2.5),
    **{f"{n} pairs of different rows": concordance_of_pairs(n) for n in (40, 100)},
    "200 pairs among 40 rows": concordance_of_pairs(200, 40),
    **{f"grades of {n} rows": agreement_of_grades(n) for n in (40, 100, 400)},
    **{
        f"one relevant row of 20, {measure}, {n} queries": one_relevant_row(measure, n, strength)
        for measure, strength in (("error", 2.3), ("mrr", 4.0))
        for n in (10, 30, 100)
    },
    **{f"skewed differences, {n:,} queries": skewed_differences(n) for n in (30, 100, 1000, 1001)},
    "eleven equal models, 30 queries": equal_models(11, 30),
    "votes of groups of 200 and 20 x 10": votes_of_groups([200, *[10] * 20]),
    "votes of 20 groups, sizes of Zipf": votes_of_groups([max(1, 200 // k) for k in range(1, 21)]),
    "votes of 20 groups of 20": votes_of_groups([20] * 20),
    "concordance, 60 rows, 14% events": concordance_of_few_events(60, 0.12),
    "concordance, 60 patients with two eyes": concordance_of_eyes(60),
    "ranking error, 20 prompts x 20 votes": error_of_prompts(20, 20),
    "ranking error, 10 prompts x 20 votes": error_of_prompts(10, 20),
}


def patients(rng):
    """The patients of scikit-learn's diabetes data in random order."""
    X, y = load_diabetes_ranking(return_X_y=True)
    order = rng.permutation(len(y))
    return X[order], y[order], None


def dense_middle(rng):
    """Rows of which most have nearly the same score; the noise is the same for all."""
    X = rng.standard_t(2, size=(400, 3))
    return X, X @ [1.0, 0.5, 0.0] + 0.5 * rng.normal(size=400), None


def random_queries(rng):
    """Queries of ten rows with labels that differ in scale."""
    qid = np.repeat(np.arange(90), 10)
    X, y = rows(rng, len(qid), clusters=qid)
    return X, y, qid


CONFORMAL = {
    "diabetes, 147 calibration rows": patients,
    "heavy tails, 133 calibration rows": dense_middle,
    "30 calibration queries of 10 rows": random_queries,
}
LEVEL = 0.9


def conformal_coverage(drawn, simulations):
    """Return the coverage and the mean length, in places out of all, of the ranges of each method."""
    inside, length = {method: [] for method in METHODS}, {method: [] for method in METHODS}
    for seed in range(simulations):
        X, y, qid = drawn(np.random.default_rng(seed))
        unit = np.arange(len(y)) if qid is None else qid
        third = 3 * unit // (unit.max() + 1)
        parts = [(X[third == k], y[third == k], None if qid is None else qid[third == k]) for k in range(3)]
        model = RankLogistic(alpha=1e-3).fit(*parts[0][:2], qid=parts[0][2])
        place, n_places = true_places(parts[1], parts[2])
        for method in METHODS:
            ranks = ConformalRanks(model, LEVEL, method=method).calibrate(*parts[1])
            low, high = ranks.rank_sets(parts[2][0], parts[2][2])
            inside[method].append(np.mean((low <= place) & (place <= high)))
            length[method].append(np.mean(high - low + 1) / n_places)
    return {
        method: {
            "truth": LEVEL,
            "coverage": float(np.mean(inside[method])),
            "length": float(np.mean(length[method])),
            "undefined": 0,
        }
        for method in METHODS
    }


def true_places(calibration, new):
    """Return the place of each new row, among calibration rows or in its query, and the number of places."""
    label = new[1][:, None]
    if new[2] is None:
        others, is_other = calibration[1], np.ones((len(label), len(calibration[1])), dtype=bool)
    else:
        others, is_other = new[1], (new[2][:, None] == new[2]) & ~np.eye(len(label), dtype=bool)
    place = (((others > label) + 0.5 * (others == label)) * is_other).sum(axis=1)
    return place, int(is_other[0].sum()) + 1


def bent_rows(n_queries, n_rows):
    """Rows in queries whose labels a linear model describes in part, and curves fully."""

    def drawn(rng, n_queries=n_queries):
        qid = np.repeat(np.arange(n_queries), n_rows)
        X = rng.normal(size=(len(qid), 4))
        return X, X[:, 0] + 0.5 * np.abs(X[:, 1]) + rng.normal(size=len(qid)), qid

    return drawn


SEARCHES = {
    "chosen model, 100 rows": bent_rows(1, 100),
    "chosen model, 200 rows": bent_rows(1, 200),
    "chosen model, 30 queries of 10 rows": bent_rows(30, 10),
}
# A search takes seconds: fewer are simulated.
FRACTION_OF_SEARCHES = 0.3


def choice_coverage(drawn, simulations):
    """How often the interval of AutoRanker contains the ranking error of the model that it chose."""
    inside, length, truths = [], [], []
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        X, y, qid = drawn(rng)
        one = None if qid[-1] == 0 else qid
        model = AutoRanker(budget=None, candidates=["linear", "curves"], cv=5).fit(X, y, qid=one)
        X, y, qid = drawn(rng, n_queries=20_000 // np.bincount(qid)[0])
        truth = 1 - model.score(X, y, qid=None if one is None else qid)
        low, high = model.estimate_interval_
        inside.append(low <= truth <= high)
        length.append(high - low)
        truths.append(truth)
    means = [float(np.mean(values)) for values in (truths, inside, length)]
    found = dict(zip(("truth", "coverage", "length"), map(rounded, means), strict=True))
    return {"error": found | {"undefined": 0}}


def coverage(case, simulations):
    """Return the coverage, the mean length and the number of undefined intervals of each quantity."""
    truth = {name: values[0] for name, values in case(np.random.default_rng(10**6), large=True).items()}
    draws = {name: [] for name in truth}
    for seed in range(simulations):
        for name, values in case(np.random.default_rng(seed)).items():
            # One interval, or several whose coverage is averaged.
            draws[name] += [one[1:] for one in (values if isinstance(values, list) else [values])]
    found = {}
    for name, ends in draws.items():
        low, high = np.array(ends).T
        known = ~np.isnan(low)
        inside = (low <= truth[name]) & (truth[name] <= high)
        closed = np.isfinite(low) & np.isfinite(high)
        found[name] = {
            "truth": rounded(truth[name]),
            "coverage": rounded(inside[known].mean()),
            "length": rounded((high - low)[closed].mean()),
            "undefined": int((~known).sum()),
        }
        if (known & ~closed).any():
            found[name]["open"] = rounded((known & ~closed).sum() / known.sum())
    return found


def rounded(value):
    """Return six significant digits, which keep the file small."""
    return float(f"{value:.6g}")


def tables():
    """Return the tables of the page by name: intervals of weights, and conformal ranges."""
    known = json.loads(RESULTS.read_text())
    weights = {
        structure: [known.get(f"{name}: {structure}", {}).get("quantities") for name in MODELS]
        for structure in STRUCTURES
    }
    return {
        "weights": markdown(
            ["", *MODELS],
            [[name, *map(percent_range, found)] for name, found in weights.items() if any(found)],
        ),
        "unequal": markdown(
            ["", *BESIDE],
            [
                [title, *(percent_range(known[f"unequal, {name}: {title}"]["quantities"]) for name in BESIDE)]
                for title in UNEQUAL
                if all(f"unequal, {name}: {title}" in known for name in BESIDE)
            ],
        ),
        "scaled": markdown(
            ["", "heavy-tailed feature: coverage, length", "other feature: coverage, length"],
            [
                [
                    title.removeprefix("behind a scaler, "),
                    *map(coverage_and_length, one["quantities"].values()),
                ]
                for title, one in known.items()
                if title.startswith("behind a scaler")
            ],
        ),
        "ranges": markdown(
            ["", *(f"`{method}`: coverage, length" for method in METHODS)],
            [
                [title, *map(coverage_and_length, known[f"conformal: {title}"]["quantities"].values())]
                for title in CONFORMAL
                if f"conformal: {title}" in known
            ],
        ),
        "concordances": markdown(
            ["", "index: coverage, length", "difference: coverage, length"],
            [
                [title, *map(coverage_and_length, known[title]["quantities"].values())]
                for title in CASES
                if is_concordance(known.get(title, {}).get("quantities", {}))
            ],
        ),
        "means": markdown(
            ["", "mean: coverage, length", "difference: coverage, length"],
            [
                [title, *means_of(known[title]["quantities"])]
                for title in CASES
                if set(known.get(title, {}).get("quantities", {"": 0})) <= {*OF_MEANS, *OF_DIFFERENCES}
            ],
        ),
        "grades": markdown(
            ["", *(f"{title.lower()}: coverage, length" for title in NAMES.values())],
            [
                [title, *map(coverage_and_length, known[title]["quantities"].values())]
                for title in CASES
                if title.startswith("grades of") and title in known
            ],
        ),
        "claims": markdown(
            ["", "mean of claims of 95% or more", "of which right"],
            [
                [
                    title.split(": ")[1],
                    *(percent(known[title]["quantities"]["claims"][key]) for key in OF_CLAIMS),
                ]
                for title in CLAIMS
                if title in known
            ],
        ),
        "score tables": markdown(
            ["", *(f"{name}: coverage, length" for name in OF_SCORE_TABLES)],
            [
                [name, *cells_of(known[f"score table: {name}"]["quantities"], OF_SCORE_TABLES)]
                for name in TABLES
                if "mean" in known.get(f"score table: {name}", {}).get("quantities", {})
            ],
        ),
        "looks": markdown(
            ["", *(f"{name}: coverage of all looks, length" for name in OF_LOOKS)],
            [
                [name, *cells_of(known[f"score table: {name}"]["quantities"], OF_LOOKS)]
                for name in TABLES
                if "anytime" in known.get(f"score table: {name}", {}).get("quantities", {})
            ],
        ),
        "worths": markdown(
            ["", *(f"{name}: coverage, length" for name in OF_WORTHS)],
            [
                [
                    name.removeprefix("worths, "),
                    *map(coverage_and_length, known[title]["quantities"].values()),
                ]
                for name, title in ((name, f"score table: {name}") for name in WORTHS)
                if title in known
            ],
        ),
        "separations": markdown(
            ["", "mean of the chances", "how often separated"],
            [
                [
                    title.removeprefix("separation, "),
                    *(percent(known[title]["quantities"]["separated"][key]) for key in OF_CLAIMS),
                ]
                for title in SEPARATIONS
                if title in known
            ],
        ),
        "leaderboards": markdown(
            ["", *(f"{name}: coverage, length" for name in OF_LEADERBOARDS)],
            [
                [re.sub("^leaderboard[:,] ", "", title), *cells_of(known[title]["quantities"])]
                for title in CASES
                if title.startswith("leaderboard") and "score" in known.get(title, {}).get("quantities", {})
            ],
        ),
    }


def is_concordance(quantities):
    """Return whether a case has an index and the difference of two."""
    return set(quantities) == {"index", "difference"}


OF_MEANS = ("mean", "error")
OF_DIFFERENCES = ("difference", "all differences")


def means_of(quantities):
    """Return the coverage and the length of a mean and of a difference, where they were recorded."""
    return [
        next((coverage_and_length(quantities[name]) for name in names if name in quantities), "")
        for names in (OF_MEANS, OF_DIFFERENCES)
    ]


OF_LEADERBOARDS = ("score", "best - worst", "rank")
OF_CLAIMS = ("truth", "coverage")


OF_SCORE_TABLES = ("mean", "difference, mean", "wins", "strength", "all ranges, mean")
OF_LOOKS = ("anytime", "fixed")
OF_WORTHS = ("worth", "difference", "all ranges")


def cells_of(quantities, names=OF_LEADERBOARDS):
    """Return the coverage and the length of each quantity of a leaderboard that was recorded."""
    return [coverage_and_length(quantities[name]) if name in quantities else "" for name in names]


def markdown(header, rows):
    """Return a table, or a note if nothing is recorded."""
    if not rows:
        return "Not recorded yet: `python benchmarks/coverage.py`."
    lines = [f"| {' | '.join(row)} |" for row in [header, *rows]]
    return "\n".join([lines[0], "|---" + "|--:" * (len(header) - 1) + "|", *lines[1:]])


def percent(fraction):
    return f"{100 * fraction:.1f}%"


def percent_range(quantities):
    """Return the lowest and the highest coverage of several quantities."""
    if quantities is None:
        return ""
    found = [100 * one["coverage"] for one in quantities.values()]
    return f"{min(found):.1f} to {max(found):.1f}"


def coverage_and_length(found):
    return f"{percent(found['coverage'])}, {found['length']:.2f}"


def write_tables():
    """Put the tables into the pages, between comments with their names."""
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES}
    for name, table in tables().items():
        (path,) = (path for path, page in pages.items() if f"<!-- {name} -->" in page)
        block = f"<!-- {name} -->\n\n{table}\n\n<!-- end -->"
        pages[path] = re.sub(
            rf"<!-- {name} -->.*?<!-- end -->", lambda _, new=block: new, pages[path], flags=re.DOTALL
        )
    for path, page in pages.items():
        path.write_text(page, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--simulations", type=int, default=SIMULATIONS, help="of each case")
    parser.add_argument("--table", action="store_true", help="write the tables of the page, nothing else")
    options = parser.parse_args(arguments)
    if options.table:
        return write_tables()
    simulations = QUICK if options.quick else options.simulations
    recorded = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    print(f"{'':<56}{'':<12}{'truth':>8}{'coverage':>10}{'length':>9}")
    cases = {title: (coverage, case) for title, case in CASES.items()}
    cases |= {f"conformal: {title}": (conformal_coverage, drawn) for title, drawn in CONFORMAL.items()}
    cases |= {title: (measure, None) for title, measure in FIRST_PLACES.items()}
    cases |= {title: (measure, None) for title, measure in SEPARATIONS.items()}
    cases |= {title: (claimed_order(drawn), None) for title, drawn in CLAIMS.items()}
    cases |= {title: (choice_coverage, drawn) for title, drawn in SEARCHES.items()}
    for title, (measure, case) in cases.items():
        if options.only not in title:
            continue
        n_draws = int(FRACTION_OF_SEARCHES * simulations) if title in SEARCHES else simulations
        found = measure(case, n_draws)
        for name, one in found.items():
            print(
                f"{title:<56}{name:<12}{one['truth']:>8.3f}{one['coverage']:>10.3f}{one['length']:>9.3f}",
                flush=True,
            )
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        recorded[title] = {"simulations": n_draws, "date": today, "quantities": found}
        if not options.quick:
            RESULTS.write_text(compact(recorded))


if __name__ == "__main__":
    main()
