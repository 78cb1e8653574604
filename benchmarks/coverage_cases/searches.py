"""Conformal ranges, and scores of searches."""

import numpy as np

from coverage_cases.simulation import rounded
from coverage_cases.weights import rows
from rankwise import (
    AutoRanker,
    ConformalRanks,
    RankLogistic,
)
from rankwise.datasets import load_diabetes_ranking
from rankwise.evaluation.conformal import METHODS


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
