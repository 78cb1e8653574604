"""Reliability of pair probabilities: counts in windows are what the double loop over all pairs gives."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import reference
from html_page import Page
from rankwise import NoPairsError, Preferences, RankLogistic, RankSVM, save_model
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.evaluation import reliability
from rankwise.io.svmlight import dump_svmlight
from rankwise.metrics import pair_log_loss
from rankwise.plotting import ReliabilityDisplay
from rankwise.report import Report
from strategies import cases

# The mean probability of a bin is found from the mean difference in windows: see `reliability`.
STATED = 2e-4
# Bins with a smaller share are differences of sums of weights that rounding decides.
SEEN = 1e-6


def close(found, pairs, scores):
    share, stated, observed = reference.reliability(pairs, scores, len(found.share))
    np.testing.assert_allclose(found.share, share, rtol=0, atol=1e-11)
    seen = share > SEEN
    np.testing.assert_allclose(found.observed[seen], observed[seen], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.stated[seen], stated[seen], rtol=0, atol=STATED)
    error = np.nansum(share * np.abs(observed - stated))
    assert found.calibration_error == pytest.approx(error, abs=STATED + 1e-5)
    assert found.overconfidence == pytest.approx(np.nansum(share * (stated - observed)), abs=STATED + 1e-5)
    assert found.log_loss == pytest.approx(reference.logistic(pairs, scores)[0], rel=1e-9, abs=1e-12)


@given(cases(), st.integers(1, 12), st.sampled_from(["queries", "pairs"]))
def test_it_is_the_double_loop_over_all_pairs(case, bins, average):
    found = reliability(case.preferences, case.scores, bins=bins, average=average)
    assert found.n_pairs == case.preferences.n_pairs
    assert found.edges.tolist() == np.linspace(0.5, 1, bins + 1).tolist()
    close(found, case.normalised(average), case.scores)


@pytest.mark.parametrize("spread", [1e-9, 0.1, 1.0, 5.0, 1e6])
@pytest.mark.parametrize("qid", [None, np.arange(150) % 7])
def test_scores_of_every_spread(spread, qid):
    generator = np.random.default_rng(0)
    y = generator.normal(size=150).round(1)
    scores = spread * (y + generator.normal(size=150))
    found = reliability(y, scores, qid)
    close(found, reference.normalised(reference.ranking_pairs(y, qid)), scores)
    assert found.share.sum() == pytest.approx(1, abs=1e-12)


def test_ties_count_half_and_equal_labels_not_at_all():
    found = reliability([2, 1, 1, 0], [0.0, 0.0, 5.0, 0.0], bins=2)
    # Rows 0, 1 and 3 have equal scores and three pairs; row 2 is wrongly above row 0, and rightly above 3.
    np.testing.assert_allclose(found.share, [3 / 5, 2 / 5])
    np.testing.assert_allclose(found.observed, [0.5, 0.5])
    np.testing.assert_allclose(found.stated, [0.5, expit(5.0)], atol=STATED)
    empty = reliability([1, 0], [9.0, 0.0], bins=4)
    np.testing.assert_array_equal(empty.share, [0, 0, 0, 1])
    assert np.isnan(empty.observed[:3]).all()
    assert empty.calibration_error == pytest.approx(1 - expit(9.0), abs=STATED)


def test_probabilities_that_are_true_are_found_reliable():
    generator = np.random.default_rng(0)
    scores = 2 * generator.normal(size=(4000, 2))
    first_wins = generator.random(4000) < expit(scores[:, 0] - scores[:, 1])
    first, second = np.arange(4000), 4000 + np.arange(4000)
    better, worse = np.where(first_wins, first, second), np.where(first_wins, second, first)
    pairs = Preferences.from_pairs(better, worse, n_rows=8000)
    found = reliability(pairs, scores.T.ravel())
    assert found.calibration_error < 0.02
    bold, timid = (reliability(pairs, factor * scores.T.ravel()) for factor in (3.0, 0.3))
    assert bold.overconfidence > 0.05
    assert timid.overconfidence < -0.05
    assert found.log_loss < min(bold.log_loss, timid.log_loss)


def test_it_prints_a_table_and_refuses_what_it_cannot_take():
    X, y, qid = make_ranking(100, 3, n_queries=5, noise=1.0, random_state=0)
    scores = RankLogistic().fit(X, y, qid=qid).predict(X)
    lines = repr(reliability(y, scores, qid, bins=5)).splitlines()
    assert lines[0].startswith("1,426 pairs: log loss 0.")
    assert len(lines) == 7
    assert lines[2].startswith("0.50 to 0.60 ")
    with pytest.raises(ValueError, match="bins must be an integer of at least 1; got 0"):
        reliability(y, scores, qid, bins=0)
    with pytest.raises(ValueError, match="qid and sample_weight must be None when y is a Preferences"):
        reliability(Preferences.from_scores(y), scores, qid)
    with pytest.raises(ValueError, match="average must be one of 'queries', 'pairs'; got 'x'"):
        reliability(y, scores, qid, average="x")
    with pytest.raises(NoPairsError, match="nothing to rank"):
        reliability(np.ones(3), np.ones(3))


# The log loss of pairs


@given(cases(), st.sampled_from(["queries", "pairs"]))
def test_the_log_loss_is_the_double_loop_over_all_pairs(case, average):
    found = pair_log_loss(case.preferences, case.scores, average=average)
    assert found == pytest.approx(
        reference.logistic(case.normalised(average), case.scores)[0], rel=1e-9, abs=1e-12
    )


def test_the_log_loss_of_each_query():
    y, scores = [2, 1, 0, 1, 1, 0, 1], np.array([1.0, 0.0, 0.5, 3.0, 2.0, -1.0, 0.0])
    qid = list("bbbccaa")
    found = pair_log_loss(y, scores, qid, per_query=True)
    in_b = np.logaddexp(0, -np.array([1.0, 0.5, -0.5])).mean()
    np.testing.assert_allclose(found, [np.logaddexp(0, -1.0), in_b, np.nan], rtol=1e-12)
    assert pair_log_loss(y, scores, qid) == pytest.approx(np.nanmean(found))
    np.testing.assert_array_equal(pair_log_loss(np.ones(7), scores, qid, per_query=True), [np.nan] * 3)
    with pytest.raises(NoPairsError, match="within each query all labels are equal"):
        pair_log_loss([1, 0, 0], [1.0, 2.0, 3.0], [0, 1, 1])
    pairs = Preferences.from_pairs([0, 1], [1, 2])
    np.testing.assert_allclose(
        pair_log_loss(pairs, scores[:3], per_query=True), [pair_log_loss(pairs, scores[:3])], rtol=1e-15
    )


# Where it is shown


@pytest.fixture(scope="module")
def held_out():
    X, y, qid = make_ranking(300, 4, n_queries=20, n_levels=4, noise=1.0, random_state=0)
    train = qid < 10
    model = RankLogistic(1e-3).fit(X[train], y[train], qid=qid[train])
    return model, X[~train], y[~train].astype(float), qid[~train]


def test_the_display_draws_the_filled_bins(held_out):
    pytest.importorskip("matplotlib", reason="needs rankwise[report]").use("Agg")
    model, X, y, qid = held_out
    found = reliability(y, model.predict(X), qid, bins=8)
    display = ReliabilityDisplay.from_estimator(model, X, y, qid, bins=8)
    filled = found.share > 0
    bars, _, line, _ = display.drawn_.marks
    np.testing.assert_array_equal(line.x, found.stated[filled])
    np.testing.assert_array_equal(line.y, found.observed[filled])
    heights = bars.top - bars.bottom
    np.testing.assert_allclose(heights / heights.sum(), found.share, atol=1e-12)
    assert f"log loss {found.log_loss:.3f}" in line.name
    with pytest.raises(TypeError, match="'RankSVM' has no predict_pair_proba"):
        ReliabilityDisplay.from_estimator(RankSVM().fit(X, y), X, y)


def test_the_report_has_its_numbers(held_out):
    model, X, y, qid = held_out
    other = RankSVM().fit(X, y, qid=qid)
    report = Report(model, X, y, qid, models={"other": other, "same": model}, name="ours")
    found = reliability(y, model.predict(X), qid)
    log_loss = report.measures["ours"][-1]
    assert (log_loss.measure.key, log_loss.measure.higher_is_better) == ("log_loss", False)
    assert log_loss.mean == pytest.approx(found.log_loss, rel=1e-12)
    assert log_loss.low < log_loss.mean < log_loss.high
    page = Page(report.to_html())
    assert page.values["log_loss"] == log_loss.mean
    np.testing.assert_allclose(page.column("bins", "Predicted"), found.stated, rtol=1e-15)
    np.testing.assert_allclose(page.column("bins", "Observed"), found.observed, rtol=1e-15)
    assert page.names("probabilities") == ["ours", "same"]
    for without in (Report(other, X, y, qid), Report(model, X, np.zeros(len(y)), qid)):
        assert "bins" not in Page(without.to_html()).tables


def test_the_command_prints_it(held_out, tmp_path, capsys):
    model, X, y, qid = held_out
    rows, path, other = (str(tmp_path / name) for name in ("rows.txt", "model.json", "other.json"))
    order = np.argsort(qid, kind="stable")
    dump_svmlight(X[order], y[order], rows, qid=qid[order])
    save_model(model, path)
    save_model(RankSVM().fit(X, y, qid=qid), other)
    found = reliability(y, model.predict(X), qid)
    assert main(["evaluate", path, rows, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["models"]
    assert told["measures"]["log_loss"]["mean"] == pytest.approx(found.log_loss)
    assert told["reliability"]["calibration_error"] == pytest.approx(found.calibration_error)
    np.testing.assert_allclose(told["reliability"]["observed"], found.observed)
    assert main(["evaluate", path, rows, "--compare", other]) == 0
    printed = capsys.readouterr().out
    assert f"calibration error {found.calibration_error:.4f}" in printed
    assert "log_loss" not in printed
    assert main(["evaluate", other, rows]) == 0
    assert "calibration" not in capsys.readouterr().out
