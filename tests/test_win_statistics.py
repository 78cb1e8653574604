"""Win statistics: equal to loops over pairs, with the variance of two-sample U-statistics."""

import json

import numpy as np
import pandas as pd
import pytest

import reference
from rankwise import win_statistics
from rankwise.preferences import Outcome
from strategies import as_outcomes


def design(rng):
    """A random trial: arms, outcomes as `reference` takes them, strata or None."""
    n = int(rng.integers(6, 26))
    outcomes = []
    for _ in range(rng.integers(1, 4)):
        values = rng.integers(0, 6, n).astype(float) if rng.random() < 0.6 else rng.normal(size=n) * 3
        values[rng.random(n) < rng.choice([0.0, 0.2])] = np.nan
        event = rng.random(n) < 0.6 if rng.random() < 0.5 else None
        outcomes.append((values, event, float(rng.choice([0.0, 1.0, 1.5])), bool(rng.integers(2))))
    arms = rng.permutation(np.arange(n) % 2)
    return arms, outcomes, rng.integers(0, 3, n) if rng.random() < 0.5 else None


def loop(arms, outcomes, strata):
    """The table of results h_ij = 1, -1 or 0 of pairs, NaN outside strata, and the pairs by outcome."""
    treated, controls = np.flatnonzero(arms == 1), np.flatnonzero(arms == 0)
    result, by_outcome = (
        np.full((len(treated), len(controls)), np.nan),
        np.zeros((len(outcomes), 2), dtype=int),
    )
    for a, i in enumerate(treated):
        for b, j in enumerate(controls):
            if strata is None or strata[i] == strata[j]:
                k, result[a, b] = reference.decided_by(outcomes, i, j)
                if k is not None:
                    by_outcome[k, int(result[a, b] < 0)] += 1
    return result, by_outcome


def test_counts_and_estimates_are_those_of_loops_in_1000_designs():
    rng = np.random.default_rng(0)
    checked = 0
    while checked < 1000:
        arms, given, strata = design(rng)
        result, by_outcome = loop(arms, given, strata)
        if np.isnan(result).all():
            continue
        checked += 1
        found = win_statistics(arms, as_outcomes(given), strata)
        wins, losses, ties = (int((result == value).sum()) for value in (1, -1, 0))
        assert (found.wins, found.losses, found.ties) == (wins, losses, ties)
        np.testing.assert_array_equal([row[1:3] for row in found.by_outcome], by_outcome)
        np.testing.assert_array_equal(found.patient_wins[arms == 1].sum(axis=1), (result == 1).sum(axis=1))
        np.testing.assert_array_equal(found.patient_wins[arms == 0].sum(axis=1), (result == -1).sum(axis=0))
        np.testing.assert_array_equal(found.patient_losses[arms == 0].sum(axis=1), (result == 1).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio, odds = np.divide(wins, losses), np.divide(wins + ties / 2, losses + ties / 2)
        assert found.win_ratio.estimate == pytest.approx(ratio, nan_ok=True)
        assert found.win_odds.estimate == pytest.approx(odds, nan_ok=True)
        assert found.net_benefit.estimate == pytest.approx((wins - losses) / (wins + losses + ties))


def test_counts_are_those_of_buysetest():
    """Six patients of the tests of BuyseTest (R), with Gehan's rule, and the percentages recorded there."""
    death = Outcome([10, 20, 30, 15, 20, 35], event=[1, 1, 0, 0, 1, 1], name="death")
    grade = Outcome([1, 2, 3, 2, 4, 2], higher_is_better=False, name="grade")
    found = win_statistics([0, 0, 0, 1, 1, 1], [death, grade])
    percent = [[100 * one / 9 for one in row[1:4]] for row in found.by_outcome]
    np.testing.assert_allclose(
        percent, [[44.44444, 11.11111, 44.44444], [22.22222, 11.11111, 11.11111]], 1e-6
    )
    assert found.net_benefit.estimate == pytest.approx(0.4444444, abs=1e-7)


def test_the_variance_is_that_of_the_projection():
    rng = np.random.default_rng(1)
    n = 80
    arms = np.arange(n) % 2
    time = rng.exponential(size=n) * (1 + arms)
    given = [(time, time < 2, 0.1, True), (rng.integers(0, 4, n).astype(float), None, 0.0, False)]
    result, _ = loop(arms, given, None)
    found = win_statistics(arms, as_outcomes(given), confidence=0.9)
    wins, losses = result == 1, result == -1

    def error(kernel):
        return np.sqrt(sum(np.var(kernel.mean(axis=k), ddof=1) / kernel.shape[1 - k] for k in (0, 1)))

    log = wins / wins.mean() - losses / losses.mean()
    width = np.log(found.win_ratio.high / found.win_ratio.low) / 2
    assert 1.64 < width / error(log) < 1.68  # quantiles of Student's t
    net = (1 + result) / (1 + result.mean()) - (1 - result) / (1 - result.mean())
    width = np.log(found.win_odds.high / found.win_odds.low) / 2
    assert 1.64 < width / error(net) < 1.68
    width = (found.net_benefit.high - found.net_benefit.low) / 2
    assert width / error(result.astype(float)) == pytest.approx(1.66, abs=0.05)


def many_strata(rng, n_strata, size):
    n = n_strata * size
    strata = np.repeat(np.arange(n_strata), size)
    arms = np.arange(n) % 2
    values = rng.normal(size=n) + 0.3 * arms + rng.normal(size=n_strata)[strata]
    return arms, [Outcome(values)], strata


@pytest.mark.parametrize("weights", ["pairs", "mantel-haenszel"])
def test_pairs_of_patients_as_strata_have_the_test_of_signs(weights):
    arms, given, strata = many_strata(np.random.default_rng(2), 50, 2)
    found = win_statistics(arms, given, strata, stratum_weights=weights)
    fraction = found.wins / 50
    assert found.net_benefit.estimate == pytest.approx(2 * fraction - 1)
    width = np.log(found.win_ratio.high / found.win_ratio.low) / 2
    assert width == pytest.approx(2.01 / np.sqrt(50 * fraction * (1 - fraction)), rel=0.05)


def test_mantel_haenszel_weighs_strata_by_their_patients():
    arms, given, strata = many_strata(np.random.default_rng(3), 4, 10)
    arms[:3] = 1
    found = win_statistics(arms, given, strata, stratum_weights="mantel-haenszel")
    wins = losses = 0.0
    for s in range(4):
        rows = np.flatnonzero(strata == s)
        part = win_statistics(arms[rows], [one.taken(rows) for one in given])
        wins, losses = wins + part.wins / 10, losses + part.losses / 10
    assert found.win_ratio.estimate == pytest.approx(wins / losses)


def test_swapping_arms_inverts():
    rng = np.random.default_rng(4)
    arms, given, strata = many_strata(rng, 3, 20)
    found = win_statistics(arms, given, strata)
    other = win_statistics(arms, given, strata, control=1)
    assert other.win_ratio.estimate == pytest.approx(1 / found.win_ratio.estimate)
    assert other.win_ratio.low == pytest.approx(1 / found.win_ratio.high)
    assert other.win_odds.p_value == pytest.approx(found.win_odds.p_value)
    assert other.net_benefit.low == pytest.approx(-found.net_benefit.high)


def test_one_small_stratum_does_not_remove_the_interval():
    arms, given, strata = many_strata(np.random.default_rng(5), 2, 20)
    strata[:2] = 9
    found = win_statistics(arms, given, strata).win_ratio
    assert 0 < found.low < found.estimate < found.high


def test_it_prints_as_text_html_and_json():
    frame = pd.DataFrame({"arm": ["placebo", "drug"] * 10, "walk": np.arange(20.0)})
    found = win_statistics(frame.arm, [Outcome(frame.walk, margin=1)])
    assert "walk" in str(found)
    assert "win ratio" in str(found)
    assert "<table" in found._repr_html_()
    values = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    (only,) = values["outcomes"]
    assert (only["outcome"], only["wins"], only["losses"], only["undecided"]) == ("walk", 45, 36, 19)
    assert only["low"] == values["win_ratio"]["low"]
    assert values["win_ratio"]["estimate"] == 1.25


def test_win_ratios_by_outcome_are_those_of_shorter_hierarchies():
    rng = np.random.default_rng(6)
    arms, strata = np.arange(60) % 2, rng.integers(0, 2, 60)
    given = [Outcome(rng.integers(0, 4, 60)) for _ in range(3)]
    found = win_statistics(arms, given, strata)
    for k, row in enumerate(found.by_outcome, 1):
        ratio = win_statistics(arms, given[:k], strata).win_ratio
        assert (row.win_ratio, row.low, row.high) == (ratio.estimate, ratio.low, ratio.high)


def test_without_losses_the_ratio_is_infinite():
    found = win_statistics([0, 0, 0, 1, 1, 1], [Outcome([1, 2, 3, 4, 5, 6])])
    assert found.win_ratio.estimate == np.inf
    assert np.isnan(found.win_ratio.low)
    assert found.as_dict()["win_ratio"]["estimate"] is None
    assert -1 < found.net_benefit.low < found.net_benefit.high == 1


def test_wrong_input_is_refused():
    values = [Outcome([1.0, 2.0, 3.0])]
    with pytest.raises(ValueError, match="two values"):
        win_statistics([0, 1, 2], values)
    with pytest.raises(ValueError, match="Name the control arm"):
        win_statistics(["a", "b", "b"], values)
    with pytest.raises(ValueError, match="is not an arm"):
        win_statistics(["a", "b", "b"], values, control="c")
    with pytest.raises(ValueError, match="patients of both arms"):
        win_statistics([0, 1, 1], values, [0, 1, 1])
