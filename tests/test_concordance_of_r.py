"""Concordance with counts, variance and influences: equal to those of R, and to loops over pairs."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, somersd

from rankwise import Preferences
from rankwise.metrics import concordance, concordance_index
from strategies import WEIGHTS, vector

RECORDED = json.loads((Path(__file__).parent / "recorded" / "concordance.json").read_text())
NAMES_IN_R = {"sample_weight": "weight", "strata": "stratum", "cluster": "cluster", "entry": "entry"}
NAMES = ("concordant", "discordant", "tied_x", "tied_y", "tied_xy")


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["name"])
def test_it_equals_r(case):
    columns = {ours: case[theirs] for ours, theirs in NAMES_IN_R.items() if theirs in case}
    y = (case["event"], case["time"]) if case["survival"] else case["time"]
    found = concordance(y, case["score"], time_weight=case["time_weight"], **columns)
    assert found.estimate == pytest.approx(case["concordance"], rel=1e-12)
    assert found.variance == pytest.approx(case["variance"], rel=1e-10)
    np.testing.assert_allclose(
        [getattr(found, name) for name in NAMES], case["counts"], rtol=1e-12, atol=1e-10
    )
    np.testing.assert_allclose(found.dfbeta, case["dfbeta"], rtol=1e-10, atol=1e-14)


def loop(event, time, scores, weight, strata, entry):
    """The five counts by row, pair by pair."""
    by_row = np.zeros((len(time), 5))
    for i in range(len(time)):
        for j in range(len(time)):
            if strata[i] != strata[j] or not event[i] or i == j or entry[j] >= time[i]:
                continue
            if time[i] < time[j] or (time[i] == time[j] and not event[j]):
                kind = 0 if scores[i] < scores[j] else 1 if scores[i] > scores[j] else 2
            elif time[i] == time[j] and i < j:
                kind = 3 if scores[i] != scores[j] else 4
            else:
                continue
            by_row[[i, j], kind] += weight[i] * weight[j]
    return by_row


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 14))
def test_counts_are_those_of_a_loop(data, n):
    event, strata = (
        np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))) for _ in range(2)
    )
    time, scores = (vector(data.draw, st.integers(0, 4), n) for _ in range(2))
    weight = vector(data.draw, WEIGHTS, n)
    weight[0] = 1.0
    entry = time - vector(data.draw, st.integers(1, 4), n)
    expected = loop(event, time, scores, weight, strata, entry)
    found = concordance((event, time), scores, sample_weight=weight, strata=strata, entry=entry)
    np.testing.assert_allclose(found.by_row, expected, rtol=1e-9, atol=1e-12 * weight.max() ** 2)
    found = concordance((event, time), scores, sample_weight=weight, strata=strata)
    expected = loop(event, time, scores, weight, strata, np.full(n, -np.inf))
    np.testing.assert_allclose(found.by_row, expected, rtol=1e-9, atol=1e-12 * weight.max() ** 2)


def test_coefficients_of_labels_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (2, 40))
    found = concordance(y, x)
    assert found.tau_b.estimate == pytest.approx(kendalltau(x, y).statistic)
    assert found.somers_d.estimate == pytest.approx(somersd(y, x).statistic)
    n_pairs = sum(getattr(found, name) for name in NAMES)
    assert n_pairs == 40 * 39 / 2
    assert found.tau_a.estimate == pytest.approx((found.concordant - found.discordant) / n_pairs)
    assert found.gamma.estimate == pytest.approx(
        (found.concordant - found.discordant) / (found.concordant + found.discordant)
    )
    assert found.estimate == pytest.approx((found.somers_d.estimate + 1) / 2)


@pytest.mark.parametrize("name", ["tau_a", "tau_b", "gamma", "somers_d"])
def test_errors_are_derivatives_by_weights(name):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, (2, 30))
    step, influence = 1e-5, np.empty(30)
    for row in range(30):
        values = []
        for sign in (1, -1):
            weight = np.ones(30)
            weight[row] += sign * step
            values.append(getattr(concordance(y, x, sample_weight=weight), name).estimate)
        influence[row] = (values[0] - values[1]) / (2 * step)
    found = getattr(concordance(y, x), name)
    assert found.standard_error == pytest.approx(np.sqrt(influence @ influence), rel=1e-6)
    assert found.low < found.estimate < found.high


def test_it_is_the_index_of_the_other_function_and_reverses():
    rng = np.random.default_rng(2)
    y = Preferences.from_survival(rng.random(60) < 0.6, rng.exponential(size=60), rng.random(60))
    scores = rng.normal(size=60)
    found = concordance(y, scores)
    assert found.estimate == pytest.approx(concordance_index(y, scores))
    assert concordance(y, -scores, reverse=True).estimate == found.estimate
    assert "tau-b" in str(found)
    with pytest.raises(ValueError, match="of its own"):
        concordance(y, scores, strata=np.zeros(60))


def test_without_pairs_it_is_undefined():
    found = concordance([1.0, 1.0], [0.0, 2.0])
    assert np.isnan(found.estimate)
    assert found.tied_y == 1.0
    assert np.isnan(found.tau_b.low)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"entry": [0.0, 2.0]}, "entry must be below"), ({"entry": [0, 0], "time_weight": "S"}, "must be 'n'")],
)
def test_wrong_entries_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        concordance(([1, 1], [1.0, 2.0]), [0.0, 1.0], **options)
