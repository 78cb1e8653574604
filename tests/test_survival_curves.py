"""Kaplan-Meier curves by score: against the product formula, in plotting and in the report."""

import numpy as np
import pytest

from html_page import Page
from rankwise import Preferences, RankSVM
from rankwise.report import Report
from rankwise.report.marks import Line
from rankwise.report.survival_display import curves_by_score, survival_curve


def product_limit(event, time, moments):
    """The Kaplan-Meier estimate and Greenwood's sum after each moment, by definition."""
    survival, greenwood = [], []
    for moment in moments:
        stays, total = 1.0, 0.0
        for t in np.unique(time[event & (time <= moment)]):
            at_risk, deaths = np.sum(time >= t), np.sum(event & (time == t))
            stays *= 1 - deaths / at_risk
            total += deaths / (at_risk * (at_risk - deaths)) if at_risk > deaths else np.inf
        survival.append(stays)
        greenwood.append(total)
    return np.array(survival), np.array(greenwood)


@pytest.fixture(scope="module")
def lives():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 2))
    time = np.round(5 * np.exp(X[:, 0] + 0.5 * generator.gumbel(size=120)), 0) + 1  # with ties
    return X, generator.random(120) < 0.7, time


def test_curves_are_the_product_limit_with_greenwoods_bands(lives):
    _, event, time = lives
    found = survival_curve(event, time)
    assert (found.time[0], found.survival[0]) == (0, 1)
    expected, greenwood = product_limit(event, time, found.time)
    np.testing.assert_allclose(found.survival, expected, atol=1e-12)
    inside = (expected > 0) & (expected < 1)
    shift = 1.959964 * np.sqrt(greenwood[inside]) / np.log(expected[inside])
    np.testing.assert_allclose(found.low[inside], expected[inside] ** np.exp(-shift), rtol=1e-5)
    np.testing.assert_allclose(found.high[inside], expected[inside] ** np.exp(shift), rtol=1e-5)
    assert (found.n_events, found.n_rows) == (event.sum(), 120)
    np.testing.assert_array_equal(found.censored, np.sort(time[~event]))
    np.testing.assert_allclose(found.at(time), product_limit(event, time, time)[0], atol=1e-12)
    assert found.median == found.time[found.survival <= 0.5][0]


def test_groups_are_thirds_and_keep_equal_scores_together(lives):
    X, event, time = lives
    curves = curves_by_score(event, time, X[:, 0])
    assert [curve.name for curve in curves] == ["lowest third", "middle third", "highest third"]
    assert [curve.n_rows for curve in curves] == [40, 40, 40]
    assert curves[0].median < curves[1].median < curves[2].median
    tied = curves_by_score(event, time, (X[:, 0] > 0).astype(float))
    assert sum(curve.n_rows for curve in tied) == 120
    assert len(curves_by_score(event, time, np.zeros(120))) == 1
    assert [curve.name for curve in curves_by_score(event, time, X[:, 0], 2)] == [
        "group 1 of 2", "group 2 of 2"
    ]  # fmt: skip


@pytest.mark.parametrize("event", [True, False])
def test_groups_of_events_or_of_censored_rows_alone(event):
    found = survival_curve(np.full(5, event), np.arange(5.0))
    assert found.survival[-1] == (0.0 if event else 1.0)
    assert np.isnan(found.median) == (not event)


def test_the_report_counts_and_draws_events_and_censored_rows(lives):
    X, event, time = lives
    y = Preferences.from_survival(event, time)
    page = Report(RankSVM().fit(X, y), X, y).to_html()
    words = Page(page).words
    censored = 120 - event.sum()
    assert f"120 rows, 2 features, {event.sum()} events, {censored} censored" in words
    assert f"The event was observed for {event.sum()} rows; {censored} rows" in words
    assert "Kaplan-Meier estimates" in words
    section = page[page.index('id="survival"') :]
    section = section[: section.index("</section>")]
    assert section.count("<polyline") == 3 + 3  # curves, and the key
    assert section.count("censored at") == censored
    quality = page[page.index('id="quality"') :]
    quality = quality[: quality.index("</section>")]
    assert quality.count('class="dot s0"') == event.sum() + 1
    assert quality.count('class="ring s1"') == censored + 1  # and the key


def test_reports_of_labels_have_no_curves(lives):
    X, _, time = lives
    assert 'id="survival"' not in Report(RankSVM().fit(X, time), X, time).to_html()


def test_the_display_draws_curves_bands_and_censored_rows(lives):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from rankwise.plotting import SurvivalDisplay

    X, event, time = lives
    y = Preferences.from_survival(event, time)
    model = RankSVM().fit(X, y)
    display = SurvivalDisplay.from_estimator(model, X, y)
    curves = curves_by_score(event, time, model.predict(X))
    lines = [mark for mark in display.drawn_.marks if isinstance(mark, Line)]
    for line, curve in zip(lines, curves, strict=True):
        np.testing.assert_array_equal(line.y[::2], curve.survival)
    assert len(display.ax_.collections) == 3
    ticks = [line for line in display.ax_.lines if line.get_marker() == "|"]
    assert sum(len(line.get_xdata()) for line in ticks) == np.sum(~event)
    plain = SurvivalDisplay.from_predictions((event, time), X[:, 0], n_groups=2, bands=False)
    assert (len(plain.ax_.lines), len(plain.ax_.collections)) == (4, 0)
    with pytest.raises(ValueError, match="n_groups"):
        SurvivalDisplay.from_predictions(y, X[:, 0], n_groups=0)
    with pytest.raises(TypeError, match="from_survival"):
        SurvivalDisplay.from_predictions(time, X[:, 0])
    pyplot.close("all")
