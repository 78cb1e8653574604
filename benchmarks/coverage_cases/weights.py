"""Weights of linear models."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import (
    Preferences,
    RankLogistic,
    RankRLS,
    RankSVM,
    pair_data,
)
from rankwise.preprocessing import TableEncoder

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
