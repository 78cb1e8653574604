"""Each picture is described once, and drawn by both backends with the same marks and words."""

import re
from html import unescape
from typing import get_args

import numpy as np
import pytest

from rankwise import (
    BradleyTerry,
    CurveRanker,
    HullRanker,
    OrdinalSVM,
    Preferences,
    RankLogistic,
    RankSVM,
    RankSVMCV,
    ScoreTable,
    win_statistics,
)
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.leaderboard import ratings_over_time
from rankwise.metrics import ranking_error
from rankwise.model_selection import alpha_path, compare_orders
from rankwise.plotting import (
    AlphaPathDisplay,
    CertifiedPathDisplay,
    ConvergenceDisplay,
    CostDisplay,
    CriticalDifferenceDisplay,
    LeaderboardDisplay,
    OrderComparisonDisplay,
    PairExplanationDisplay,
    QueryQualityDisplay,
    RatingsDisplay,
    ReliabilityDisplay,
    SurvivalDisplay,
    UtilityDisplay,
    WeightPathDisplay,
    WeightsDisplay,
    WinsDisplay,
)
from rankwise.preferences import Outcome
from rankwise.report import axes, svg
from rankwise.report.curves_display import curve_picture, drawn_curves, drawn_tables, table_picture
from rankwise.report.marks import (
    Axis,
    Band,
    Bars,
    Dots,
    Intervals,
    Line,
    Mark,
    Picture,
    Rule,
    Text,
    named_bars,
    rows_axis,
)
from rankwise.report.shapes import labels_picture, roc, roc_picture
from rankwise.report.survival_display import curves_by_score
from rankwise.report.utility_display import UtilityAxis

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

X, Y, QID = make_ranking(200, 4, n_queries=15, n_levels=3, noise=0.7, random_state=1)
SVM = RankSVM(1e-2).fit(X, Y, qid=QID)
SCORES = SVM.predict(X)


def of_path():
    return CertifiedPathDisplay(alpha_path(RankSVM(), X, Y, (1e-1, 1e-3), qid=QID, tol=1e-2)).picture()


def of_utility():
    Z, rank = make_ordinal(80, random_state=0)
    model = OrdinalSVM(1e-3).fit(Z, rank)
    utility = UtilityAxis(model.utility(Z), rank, model.thresholds_)
    return UtilityDisplay(utility, model.classes_.tolist()).picture()


def of_curves():
    rows = np.column_stack([np.round(X[:, 0]), X[:, 1:]])
    rows[::7, 1] = np.nan
    model = CurveRanker(interactions=1, n_bins=8, categorical_features=[0]).fit(rows, Y)
    return [*map(curve_picture, drawn_curves(model)), *map(table_picture, drawn_tables(model))]


def of_ratings():
    ratings = ratings_over_time(BradleyTerry(), list("xxyz") * 3, list("yzzx") * 3, date=range(12), period=3)
    return RatingsDisplay(ratings).picture()


def of_labels():
    names = [f"row {k}" for k in range(len(Y))]
    return labels_picture(SCORES, Y.astype(float), names, Y == 0, "time")


PICTURES = {
    "gap": lambda: ConvergenceDisplay.of(SVM).picture(),
    "errors": lambda: AlphaPathDisplay.of(RankSVMCV(cv=2).fit(X, Y, qid=QID)).picture(),
    "path": of_path,
    "weights over alpha": lambda: WeightPathDisplay(
        alpha_path(RankLogistic(l1_ratio=0.9), X, Y, qid=QID, n_alphas=6), spread=X.std(axis=0)
    ).picture(2),
    "queries": lambda: QueryQualityDisplay(ranking_error(Y, SCORES, QID, per_query=True)).picture(),
    "calibration": lambda: ReliabilityDisplay.from_predictions(Y, SCORES, QID, name="ours").picture(),
    "weights": lambda: WeightsDisplay.from_estimator(
        RankLogistic().fit(X, Y), X, inference=RankLogistic().fit(X, Y).inference(X, Y)
    ).picture(2),
    "pair": lambda: PairExplanationDisplay.from_estimator(SVM, X[0], X[1]).picture(2),
    "cost": lambda: CostDisplay({"a": ([10, 20], [1.0, 2.0]), "b": ([10], [3.0])}).picture(),
    "utility": of_utility,
    "survival": lambda: SurvivalDisplay(curves_by_score(Y > 0, np.exp(X[:, 0]), SCORES)).picture(),
    "wins": lambda: WinsDisplay(
        win_statistics(QID % 2, [Outcome(Y, name="grade"), Outcome(SCORES, margin=0.5, name="walk")])
    ).picture(),
    "orders": lambda: OrderComparisonDisplay(compare_orders(HullRanker(), X[:60], Y[:60], cv=2)).picture(),
    "critical difference": lambda: CriticalDifferenceDisplay(
        ScoreTable.from_wide(np.random.default_rng(0).normal(size=(9, 5)) + np.arange(5)).leaderboard("rank")
    ).picture(),
    "leaderboard": lambda: LeaderboardDisplay(
        BradleyTerry().fit(["a", "a", "b"], ["b", "c", "c"]).leaderboard()
    ).picture(),
    "ratings": of_ratings,
    "curves": of_curves,
    "roc": lambda: roc_picture({"ours": roc(Y > 0, SCORES)}),
    "labels": of_labels,
    "all marks": lambda: Picture(
        "all <marks>",
        [
            Line([1, 2], [1, 2], "faint", "a & b"), Dots([1, 2], [0, 1], 7, shape="tick"),
            Band([1, 2], [0, 0], [1, 2]), named_bars([1.0, -2.0], ["up", "down"], [True, False]),
            Bars([0, 1], [1, 2], 0, 1, "faint"), Intervals([0.0, np.nan], [1.0, 2.0], "solid"),
            Rule(y=0.5, name="half"), Rule(1.5), Text(1, 1, "here <"),
        ],
        Axis("across $"), rows_axis(["one", "two"], ["first", "second"], "up"), title="two\nlines",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def n_drawn(artist):
    """Return the number of points, bars or intervals of what matplotlib drew for a mark."""
    if hasattr(artist, "patches"):
        return len(artist.patches)
    if isinstance(artist, list):
        (lines,) = [own for own in artist if isinstance(own, matplotlib.collections.LineCollection)]
        return sum(len(segment) == 2 and np.isfinite(segment).all() for segment in lines.get_segments())
    return len(artist.get_xdata()) if isinstance(artist, matplotlib.lines.Line2D) else 1


@pytest.mark.parametrize("name", PICTURES)
def test_both_backends_draw_each_picture(name):
    made = PICTURES[name]()
    for picture in made if isinstance(made, list) else [made]:
        page = svg.svg(picture)
        ax = pyplot.subplots()[1]
        artists = axes.draw(picture, ax, {})
        ax.figure.canvas.draw()
        words = [unescape(word) for word in re.findall(r"<text[^>]*>([^<]*)", page)]
        plain = [
            text.get_text().replace(r"\$", "$")
            for text in ax.figure.findobj(matplotlib.text.Text)
            if text.get_visible()
        ]
        frame = svg.Frame(picture)
        for mark, artist in zip(picture.marks, artists, strict=True):
            drawn = svg.DRAWN[type(mark)](frame, mark)
            assert not any("nan" in element or "inf" in element for element in drawn)
            many = isinstance(mark, Dots | Bars | Intervals)
            assert len(drawn) == (n_drawn(artist) if many else 1), mark
            if isinstance(mark, Line | Dots):
                np.testing.assert_array_equal(artist.get_xdata(), mark.x)
                np.testing.assert_array_equal(artist.get_ydata(), mark.y)
            assert all(title in unescape(page) for title in getattr(mark, "titles", None) or [])
        for axis in (picture.x, picture.y):
            shown = [axis.label, *(axis.names or []), *axis.beside]
            assert set(filter(None, shown)) <= set(words) & set(plain)
        assert set(picture.title.splitlines()) <= set(words)


def test_both_backends_know_all_marks():
    assert set(svg.DRAWN) == set(axes.DRAWN) == set(get_args(Mark))


def test_a_legend_has_the_names_of_lines_and_dots():
    assert svg.legend(PICTURES["roc"]()) == ""
    assert svg.legend(of_labels()).count("<li>") == 2


def test_survival_of_preferences_draws_itself_as_svg():
    lives = Preferences.from_survival(Y > 0, np.exp(X[:, 0]))
    display = SurvivalDisplay.from_predictions(lives, SCORES)
    assert display.svg().count("<polyline") == 3
    assert display.svg(bands=False).count("<polygon") == 0


def test_a_logarithmic_axis_of_less_than_a_decade_names_round_values():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    generator = np.random.default_rng(0)
    arm = np.arange(400) % 2
    result = win_statistics(arm, [Outcome(generator.normal(size=400) + 0.2 * arm)])
    display = WinsDisplay(result).plot()
    display.figure_.canvas.draw()
    names = [tick.get_text() for tick in display.ax_.get_xticklabels(which="both")]
    pyplot.close(display.figure_)
    assert "1.0" in names
    assert len(names) <= 8
    assert not any("times" in name for name in names)


def test_the_features_of_a_path_are_named_in_the_order_in_which_they_enter():
    path = alpha_path(RankLogistic(l1_ratio=0.9), X, Y, qid=QID, n_alphas=20)
    lines = [
        mark for mark in WeightPathDisplay(path, list("abcd")).picture(1).marks if isinstance(mark, Line)
    ]
    first = int(np.count_nonzero(path.coef, axis=0).argmax())
    assert [line.name for line in lines if line.style == 0] == ["abcd"[first]]
    assert np.count_nonzero(path.coef[1]) == 1  # only this feature has entered
    assert path.coef[1, first]
    curved = alpha_path(RankSVM(kernel="rbf"), X[:40], Y[:40], (1e-1, 1e-2), n_alphas=2)
    with pytest.raises(ValueError, match="linear"):
        WeightPathDisplay(curved).picture()
