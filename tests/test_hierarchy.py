"""Hierarchies of outcomes: pairs, wins and losses are those of loops, and all models take them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from rankwise import NoPairsError, Preferences, RankLogistic, RankRLS, RankSVM
from rankwise.model_selection import QueryKFold
from rankwise.preferences import Outcome, hierarchy
from strategies import WEIGHTS, as_outcomes, outcomes, vector


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(2, 14))
def test_pairs_are_those_of_loops(data, n):
    drawn = data.draw(outcomes(n))
    strata = data.draw(st.one_of(st.none(), st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weight = data.draw(st.one_of(st.none(), st.just(vector(data.draw, WEIGHTS, n))))
    expected = reference.hierarchy_pairs(drawn, strata, weight)
    codes = None if strata is None else np.array(strata)
    structure = hierarchy.Hierarchy(as_outcomes(drawn), codes, weight)
    assert structure.n_pairs == len(expected)
    pairs = structure.pairs()
    found = sorted(zip(pairs.better.tolist(), pairs.worse.tolist(), pairs.weight.tolist(), strict=True))
    assert found == sorted((i, j, w) for i, j, w, *_ in expected)
    down = np.bincount(pairs.better, pairs.weight, n), np.bincount(pairs.worse, pairs.weight, n)
    for ours, theirs in zip(structure.partner_weights(), down[::-1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    taken = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n)))
    part = [
        (values[taken], None if event is None else np.array(event)[taken], *rest)
        for values, event, *rest in drawn
    ]
    codes, weights = (None if one is None else np.array(one)[taken] for one in (strata, weight))
    assert structure[taken].n_pairs == len(reference.hierarchy_pairs(part, codes, weights))


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_many_rows_are_those_of_all_pairs(seed):
    """With enough rows that ranges are cut into nodes of trees, at all levels."""
    rng = np.random.default_rng(seed)
    n = 700
    values = [
        rng.exponential(size=n),
        rng.integers(0, 4, n).astype(float),
        rng.normal(size=n),
        rng.normal(size=n),
    ]
    values[2][rng.random(n) < 0.2] = np.nan
    if seed % 2:
        values = values[::-1]
    given = [
        Outcome(
            one, rng.random(n) < 0.6 if k in (0, 2) else None,
            margin=[0.2, 0.0, 0.5, 0.1][k], higher_is_better=bool(rng.integers(2)),
        )
        for k, one in enumerate(values)
    ]  # fmt: skip
    weight = rng.random(n)
    rows = hierarchy.rows_by_stratum(np.arange(n), rng.integers(0, 1 + seed, n))
    wins, losses = hierarchy.count_wins(given, rows, rows, weight, both=False)
    expected = np.zeros((2, n, 4))
    undecided = np.zeros((n, n), dtype=bool)
    for begin, end in zip(rows[1], rows[1][1:], strict=False):
        undecided[np.ix_(rows[0][begin:end], rows[0][begin:end])] = True
    for k, one in enumerate(given):
        event = np.ones(n) if one.event is None else one.event
        above = undecided & (one.values[:, None] - one.values > one.margin) & (event == 1)
        below = above.T & undecided
        for side, decided in enumerate((above, below) if one.higher_is_better else (below, above)):
            expected[side, :, k] = decided @ weight
        undecided &= ~(above | below)
    np.testing.assert_allclose([wins, losses], expected, rtol=1e-10, atol=1e-12)


def trial(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    time = rng.exponential(size=n) * np.exp(X[:, 0])
    walk = 300 + 50 * X[:, 0] + 30 * rng.normal(size=n)
    return X, Preferences.from_hierarchy([Outcome(time, time < 2), Outcome(walk, margin=30)])


@pytest.mark.parametrize(
    "model", [RankLogistic(alpha=0), RankSVM(), RankRLS()], ids=lambda one: type(one).__name__
)
def test_models_fit_it_as_the_listed_pairs(model):
    X, structure = trial()
    listed = Preferences.from_pairs(*structure.pairs(), n_rows=len(X))
    found, expected = model.fit(X, structure).coef_.copy(), model.fit(X, listed).coef_
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    assert model.score(X, structure) > 0.7


def test_folds_keep_strata_together():
    X, structure = trial()
    stratified = hierarchy.Hierarchy(structure.outcomes, np.arange(60) % 6)
    for train, test in QueryKFold(3).split(X, stratified):
        assert stratified[train].n_pairs + stratified[test].n_pairs == stratified.n_pairs


def test_it_can_be_printed_but_not_listed_beyond_the_limit(monkeypatch):
    _, structure = trial()
    monkeypatch.setattr(hierarchy, "MOST_PAIRS", 100)
    fresh = hierarchy.Hierarchy(structure.outcomes)
    assert f"{structure.n_pairs} pairs" in repr(fresh).replace(",", "")
    with pytest.raises(MemoryError, match=rf"has {structure.n_pairs:,} pairs, and at most 100 are listed"):
        fresh.pairs()


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="margin must be a positive number"):
        Outcome([1.0], margin=-1)
    with pytest.raises(ValueError, match="event must hold booleans"):
        Outcome([1.0, 2.0], event=[2, 1])
    with pytest.raises(ValueError, match="event has shape"):
        Outcome([1.0, 2.0], event=[1])
    with pytest.raises(TypeError, match="list of Outcome"):
        Preferences.from_hierarchy([[1.0, 2.0]])
    with pytest.raises(ValueError, match="same rows"):
        Preferences.from_hierarchy([Outcome([1.0]), Outcome([1.0, 2.0])])
    with pytest.raises(NoPairsError, match="nothing to rank"):
        Preferences.from_hierarchy([Outcome([1.0, 2.0], margin=5)])
