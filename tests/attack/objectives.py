"""Gradients and diagonals for boosters and networks, as their libraries call them, against brute force."""

from importlib.util import find_spec

import numpy as np

import reference
from attack.draws import choice, labels
from rankwise import objectives
from rankwise.objectives._gradient import OBJECTIVES
from test_objectives import textbook

LIBRARIES = [name for name in ("lightgbm", "xgboost", "torch") if find_spec(name)]


def case(rng):
    """Draw labels, queries, weights and scores for one loss and one library."""
    n = int(rng.integers(3, 40))
    y = np.round(labels(rng, n), 3).astype(np.float32).astype(float)
    qid = np.sort(rng.integers(0, 4, n)) if rng.random() < 0.7 else np.zeros(n, dtype=int)
    weight = choice(rng, [None, rng.choice([0.5, 1.0, 2.0], n)])
    scores = choice(rng, [1.0, 1e-3, 50.0]) * rng.normal(size=n)
    average, loss = choice(rng, ["queries", "pairs"]), choice(rng, sorted(OBJECTIVES))
    pairs = reference.normalised(reference.ranking_pairs(y, qid, weight), average)
    if not pairs or any(abs(scores[i] - scores[j] - 1) < 1e-9 for i, j, *_ in pairs):
        return 0
    return CHECKS[choice(rng, LIBRARIES)](loss, average, pairs, y, qid, weight, scores)


def boosted(derivatives, loss, pairs, scores):
    """Both are the textbook's, on a scale where the mean curvature is 1."""
    gradient, diagonal = textbook(loss, pairs, scores)
    if diagonal.mean() < 1e-12:
        return 0
    found_gradient, found_diagonal = derivatives
    scale = np.maximum(diagonal, 1e-6 * diagonal.mean()).mean()
    size = np.abs(gradient).max() + 1e-300
    np.testing.assert_allclose(found_gradient * scale, gradient, rtol=1e-5, atol=1e-9 * size)
    floored = np.maximum(diagonal, 1e-6 * diagonal.mean())
    np.testing.assert_allclose(found_diagonal * scale, floored, rtol=1e-5, atol=1e-9 * scale)
    return 2


def lightgbm(loss, average, pairs, y, qid, weight, scores):
    """Both interfaces of LightGBM."""
    import lightgbm as library

    group = np.unique(qid, return_counts=True)[1]
    objective = objectives.lightgbm(loss=loss, average=average)
    count = boosted(objective(y, scores, weight, group), loss, pairs, scores)
    rows = library.Dataset(y[:, None], y, weight=weight, group=group, params={"verbose": -1}).construct()
    return count + boosted(objective(scores, rows), loss, pairs, scores)


def xgboost(loss, average, pairs, y, qid, weight, scores):
    """The native interface of XGBoost; its weights are those of queries, so that rows have none."""
    import xgboost as library

    rows = library.DMatrix(y[:, None], y, qid=qid)
    pairs = reference.normalised(reference.ranking_pairs(y, qid), average)
    return boosted(objectives.xgboost(loss=loss, average=average)(scores, rows), loss, pairs, scores)


def torch(loss, average, pairs, y, qid, weight, scores):
    """Value and gradient by autograd."""
    import torch as library

    from rankwise import Preferences

    preferences = Preferences.from_scores(y, qid, weight)
    given = library.tensor(scores, dtype=library.float64, requires_grad=True)
    value = objectives.torch(loss=loss, average=average)(given, preferences)
    value.backward()
    return differentiated(float(value.detach()), given.grad.numpy(), loss, pairs, scores)


def differentiated(value, gradient, loss, pairs, scores):
    extra = ("magnitude",) if loss == "least_squares" else ()
    expected, slopes = getattr(reference, loss)(pairs, scores, *extra)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6 * np.abs(slopes).max())
    return 2


CHECKS = {"lightgbm": lightgbm, "xgboost": xgboost, "torch": torch}
