"""What a report compares a model with: other models, chance, a single feature; and a single ranking."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from html_page import Page
from rankwise import CurveRanker, HullRanker, Preferences, RankSVM
from rankwise.datasets import make_ranking
from rankwise.evaluation import single_feature
from rankwise.evaluation.single_feature import best_single_feature
from rankwise.metrics import concordance_index, ranking_error
from rankwise.report import Report

X, Y, QID = make_ranking(240, 4, n_queries=12, n_levels=4, noise=0.5, random_state=1)
X[:, 2] *= -1.0
MODEL = RankSVM(1e-2).fit(X, Y, qid=QID)
SCORES = MODEL.predict(X)


def survival(n=80):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 3))
    time = np.round(np.exp(Z @ [1.0, 0.5, 0.0] + 0.5 * rng.normal(size=n)), 1)
    return Z, Preferences.from_survival(rng.random(n) < 0.7, time)


def test_the_single_feature_is_the_best_of_all_in_either_direction():
    errors = np.array([ranking_error(Y, X[:, k], QID) for k in range(4)])
    expected = np.minimum(errors, 1 - errors)
    found = best_single_feature(Report(MODEL, X, Y, QID).data)
    assert found.name == f"f{np.argmin(expected) + 1}"
    assert found.found.mean == pytest.approx(expected.min(), abs=1e-12)
    assert found.is_reversed == (errors[np.argmin(expected)] > 0.5)
    said = Report(MODEL, X, Y, QID).baseline()
    assert said.startswith(f"50% is chance. The best single feature, {found.name}")
    assert f"orders {100 * (1 - expected.min()):.1f}%" in said


@pytest.mark.parametrize("form", ["sparse", "frame", "missing"])
def test_the_single_feature_of_every_kind_of_rows(form):
    rows = X.copy()
    rows[5, 0] = np.nan if form == "missing" else rows[5, 0]
    given = {
        "sparse": lambda: sp.csr_array(rows),
        "frame": lambda: pd.DataFrame(rows, columns=list("abcd")).assign(words="x"),
        "missing": lambda: rows,
    }[form]()
    found = best_single_feature(Report(SCORES, given, Y, QID).data)
    expected = best_single_feature(Report(SCORES, X, Y, QID).data)
    place = int(expected.name[1:]) - 1
    assert found.name == ("abcd"[place] if form == "frame" else expected.name)
    assert found.found.mean == pytest.approx(expected.found.mean, abs=0.01 if form == "missing" else 1e-12)


def test_of_many_rows_a_sample_of_queries_chooses(monkeypatch):
    expected = best_single_feature(Report(MODEL, X, Y, QID).data)
    monkeypatch.setattr(single_feature, "MOST_ENTRIES", 4 * 120)
    found = best_single_feature(Report(MODEL, X, Y, QID).data)
    assert (found.name, found.found.mean) == (expected.name, expected.found.mean)
    assert best_single_feature(Report(MODEL, X, Y).data).name == expected.name
    monkeypatch.setattr(single_feature, "MOST_FEATURES", 2)
    assert len(single_feature.numeric_columns(X, list("abcd"))) == 2


def test_no_feature_is_a_number():
    words = pd.DataFrame({"word": ["x", "y"] * 120})
    assert Report(SCORES, words, Y, QID).baseline() == "50% is chance."


def test_the_headline_names_better_models():
    others = {"svm": SCORES, "copy": 2.0 * SCORES, "noise": np.sin(1e6 * X[:, 1])}
    said = Report(X[:, 0], X, Y, QID, models=others, name="first").headline()
    assert "It is behind svm (" in said
    assert said.endswith("There is no clear difference from noise.")
    near = np.where(np.isin(QID, QID[:1]), -SCORES, SCORES)  # worse on one query
    unclear = Report(near, X, Y, QID, models={"svm": SCORES}, name="near").headline()
    assert unclear.endswith("There is no clear difference from svm.")


def wrong_pairs(y, scores):
    """Rows that should be below but are above each row, and rows that should be above but are below."""
    n = range(len(y))
    high = [sum(y[j] > y[i] and scores[i] > scores[j] for j in n) for i in n]
    low = [sum(y[j] < y[i] and scores[i] < scores[j] for j in n) for i in n]
    return high, low


def test_one_ranking_is_listed_with_its_worst_misses():
    names = [f"patient {k}" for k in range(len(Y))]
    page = Page(Report(MODEL, X, Y, row_names=names).to_html())
    order = np.argsort(-SCORES, kind="stable")
    assert [row[1][0] for row in page.tables["top"][1:]] == [names[k] for k in order[:10]]
    np.testing.assert_allclose(page.column("top", "Score"), SCORES[order[:10]])
    for name, expected in zip(("too-high", "too-low"), wrong_pairs(Y, SCORES), strict=True):
        found = page.column(name, "Wrong pairs")
        assert found == sorted(expected, reverse=True)[:5]
        for row, count in zip(page.tables[name][1:], found, strict=True):
            place = names.index(row[1][0])
            assert expected[place] == count
            assert order[int(row[0][0]) - 1] == place
    assert "top" not in Page(Report(MODEL, X, Y, QID).to_html()).tables


def test_numbers_of_rows_are_no_quantities():
    page = Page(Report(np.arange(1200.0), np.zeros((1200, 1)), np.arange(1200) // 600).to_html())
    assert [row[1][0] for row in page.tables["top"][1:3]] == ["1199", "1198"]


def test_survival_is_told_in_its_own_words():
    Z, pairs = survival()
    model = RankSVM(1e-2).fit(Z, pairs)
    report = Report(model, Z, pairs)
    value = concordance_index(pairs, model.predict(Z))
    n_events = int(np.count_nonzero(pairs.event))
    assert (
        f"puts {100 * value:.1f}% of comparable pairs in the right order, its concordance"
        in report.headline()
    )
    assert report.headline().endswith(f"among 80 rows with {n_events} events.")
    html = report.to_html()
    assert "A higher score predicts a longer survival time." in html
    assert html.count('class="ring s1"') == 81 - n_events  # and the key
    best = max(max(c, 1 - c) for c in (concordance_index(pairs, Z[:, k]) for k in range(3)))
    assert f"orders {100 * best:.1f}%" in report.baseline()
    assert [row[0][0] for row in Page(html).tables["top"][1:]] == [str(k) for k in range(1, 11)]


def test_graphs_and_pairs_have_a_baseline_and_a_ranking():
    classes = np.array(["low", "middle", "high"])[np.minimum(Y, 2)]
    model = HullRanker(1e-2, order=[("high", "low"), ("middle", "low")]).fit(X, classes)
    assert "The best single feature" in Report(model, X, classes).baseline()
    pairs = Preferences.from_pairs([0, 2, 4], [1, 3, 5], n_rows=len(X))
    page = Page(Report(SCORES, X, pairs).to_html())
    assert [cell[0] for cell in page.tables["top"][0]] == ["Position", "Row", "Score"]


def test_curves_share_one_scale_and_one_caption():
    html = Report(CurveRanker(alpha=0.1).fit(X, Y, qid=QID), X, Y, QID).to_html()
    curves = html.split('id="curves"')[1].split("</section>")[0]
    ticks = [part.split("</svg>")[0] for part in curves.split("<svg")[1:]]
    grids = [[line for line in part.split("<line") if 'class="grid"' in line] for part in ticks]
    places = [[line.split('y1="')[1].split('"')[0] for line in grid] for grid in grids]
    assert len(places) == 4
    assert all(place == places[0] for place in places)
    assert curves.count("density of the training rows") == 1
