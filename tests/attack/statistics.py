"""Standard errors, tests and resumed searches: what must not depend on the order or the names of anything."""

import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from attack.draws import choice, problem
from rankwise import (
    BradleyTerry,
    Checkpoint,
    NoPairsError,
    RankLogistic,
    RankLogisticCV,
    RankRLS,
    RankSVM,
    RankSVMCV,
)
from rankwise.evaluation import compare

CLOSE = {"rtol": 1e-6, "atol": 1e-9}


def case(rng):
    """Draw one of the four."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few units
        return choice(rng, [errors_of_weights, differences_of_models, ranges_of_ranks, resumed_search])(rng)


def with_extremes(rng, X, y, qid):
    """The rows as drawn, with a single positive, with a unit in most pairs, or with very unequal queries."""
    kind = rng.integers(4)
    if kind == 0:
        y = np.eye(len(y))[0]
    if kind == 1:
        qid = np.where(rng.random(len(y)) < 0.7, 0, 1 + rng.integers(0, 4, len(y)))
    weight = np.where(rng.random(len(y)) < 0.1, 10.0 ** rng.integers(0, 12), 1.0) if kind == 2 else None
    return y, qid, weight


def errors_of_weights(rng):
    """The same data in another order of rows and columns has the same errors, or is refused again."""
    X, y, qid = problem(rng, most_rows=40, most_features=4)
    y, qid, weight = with_extremes(rng, X, y, qid)
    model = choice(rng, [RankLogistic, RankSVM, RankRLS])(alpha=0.1, tol=1e-10)
    cluster = rng.integers(0, 8, len(y)) if rng.random() < 0.3 else None
    names, rows = [f"c{k}" for k in range(X.shape[1])], rng.permutation(len(y))
    frame = pd.DataFrame((X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), columns=names)

    def errors(order, columns):
        parts = [None if part is None else part[order] for part in (qid, weight, cluster)]
        data = frame.iloc[order][columns], y[order]
        try:
            fitted = model.fit(*data, qid=parts[0], sample_weight=parts[1])
            found = fitted.inference(*data, qid=parts[0], sample_weight=parts[1], cluster=parts[2])
        except (ValueError, NoPairsError) as error:
            return type(error)
        assert (found.standard_errors > 0).all()
        return pd.Series(found.standard_errors, found.names)[names].to_numpy()

    here, there = errors(np.arange(len(y)), names), errors(rows, list(rng.permutation(names)))
    if isinstance(here, type) or isinstance(there, type):
        assert here is there, f"{here} or {there}, by the order of the rows"
        return 1
    np.testing.assert_allclose(there, here, rtol=1e-4)
    return len(names)


def differences_of_models(rng):
    """Interval and p-value agree, and depend neither on the order of rows nor on that of the models."""
    n_queries = int(choice(rng, [2, 5, 30, 999, 1000, 1001]))
    size = int(rng.integers(2, 6))
    qid = np.repeat(np.arange(n_queries), size)
    y = choice(rng, [rng.integers(0, 3, len(qid)), (rng.random(len(qid)) < 0.1).astype(int)])
    y[:2] = 0, 1
    scores = {"a": rng.normal(size=len(qid)), "b": y + choice(rng, [0.0, 1.0]) * rng.normal(size=len(qid))}
    measure = choice(rng, ["error", "ndcg", "mrr"])
    order = rng.permutation(len(qid))
    first = compare(y, scores, qid, measures=measure).differences
    moved = {name: scores[name][order] for name in ("a", "b")}
    again = compare(y[order], moved, qid[order], measures=measure).differences
    swapped = compare(y, dict(reversed(scores.items())), qid, measures=measure).differences
    for one, other, turned in zip(first, again, swapped, strict=True):
        np.testing.assert_allclose([other.mean, other.low, other.high, other.p], list(one_of(one)), **CLOSE)
        np.testing.assert_allclose([turned.mean, turned.p], [-one.mean, one.p], **CLOSE)
        if np.isfinite(one.low):
            assert one.is_clear == (one.low > 0 or one.high < 0)
            assert one.is_clear == (one.p <= 0.05) or abs(one.p - 0.05) < 1e-9
    return 4 * len(first)


def one_of(difference):
    return difference.mean, difference.low, difference.high, difference.p


def ranges_of_ranks(rng):
    """Items of other names have the same scores, intervals and ranges of ranks."""
    n_items, n_votes = int(rng.integers(3, 8)), int(rng.integers(20, 120))
    a = rng.integers(0, n_items, n_votes)
    b = (a + 1 + rng.integers(0, n_items - 1, n_votes)) % n_items
    strength = rng.normal(size=n_items) + choice(rng, [0.0, 5.0]) * (np.arange(n_items) == 0)
    won = rng.random(n_votes) < 1 / (1 + np.exp(strength[b] - strength[a]))
    winner, loser = np.where(won, a, b), np.where(won, b, a)
    cluster = rng.integers(0, 12, n_votes) if rng.random() < 0.3 else None
    names = rng.permutation([f"item {k}" for k in range(n_items)])

    def board(named):
        rows = BradleyTerry().fit(named[winner], named[loser], cluster=cluster).leaderboard()
        return {row.item: (row.score, row.low, row.high, row.best_rank, row.worst_rank) for row in rows}

    here, there = board(np.array([f"{k:02d}" for k in range(n_items)])), board(names)
    for k in np.unique(np.concatenate([winner, loser])):
        first, second = here[f"{k:02d}"], there[names[k]]
        np.testing.assert_allclose(second[:1] + second[3:], first[:1] + first[3:], **CLOSE)
        np.testing.assert_allclose(
            second[1:3], first[1:3], rtol=0.01, atol=0.02
        )  # ends of profiles are found to .3%
    return 5 * len(here)


class StopError(Exception):
    """The end of the process."""


class Stopping(Checkpoint):
    """A checkpoint of a search that stops after a number of candidates."""

    def __init__(self, path, most):
        super().__init__(path)
        self.most = most

    def searched(self, progress):
        super().searched(progress)
        if len(progress.errors) + len(progress.above) == self.most:
            raise StopError


def resumed_search(rng):
    """A search that is continued ends as one that was not interrupted."""
    n = int(choice(rng, [60, 300, 4200]))
    X = rng.normal(size=(n, 4)) * 10.0 ** rng.uniform(-2, 2, 4)
    y = np.digitize(X @ rng.normal(size=4) + 10 * rng.normal(size=n), [-5.0, 0.0, 5.0])
    qid = rng.integers(0, 12, n)
    kind = choice(rng, [RankSVMCV, RankLogisticCV])
    options = {"cv": 3, "loss": choice(rng, ["hinge", "squared_hinge"])} if kind is RankSVMCV else {"cv": 3}
    expected = kind(**options).fit(X, y, qid=qid)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fit")
        with suppress(StopError):
            kind(**options, callback=Stopping(path, int(rng.integers(1, 8)))).fit(X, y, qid=qid)
        found = kind(**options, callback=Checkpoint(path, every=10**6)).fit(X, y, qid=qid)
    for name in ("alpha_", "alphas_", "cv_errors_", "coef_"):
        # A repeated fit may differ in the last bit, about once in several hundred.
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    return expected.cv_errors_.size
