"""The numbers of a report are the library's, nothing a user wrote is markup, and the file stays small."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import permutation_test, ttest_rel
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import rankwise
from html_page import Page
from rankwise import (
    HullRanker,
    OrdinalSVM,
    Preferences,
    RankLogistic,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    __version__,
    load_model,
    metrics,
)
from rankwise.cli.main import main
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.evaluation import bootstrap, reliability
from rankwise.io.model_file import save_model
from rankwise.io.svmlight import dump_svmlight
from rankwise.model_selection import alpha_path
from rankwise.report import Report
from rankwise.report.pairs import difference_errors
from rankwise.report.reasons import answer, interval_of_pair
from rankwise.report.versus import signed

NASTY = ['<script>alert("1")</script>', "</script><b>", "a & b", '"onload="x', "<!--", "é\ud800"]
LIMIT = 3_000_000


@pytest.fixture(scope="module", autouse=True)
def few_resamples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "RESAMPLES", 200)
        yield


@pytest.fixture(scope="module")
def rows():
    X, y, qid = make_ranking(400, 6, n_queries=25, n_levels=4, noise=0.9, random_state=3)
    return X, y, np.array([f"q{number:02d}" for number in qid])


@pytest.fixture(scope="module")
def model(rows):
    X, y, qid = rows
    return RankSVM(1e-2).fit(X, y, qid=qid)


@pytest.fixture(scope="module")
def report(rows, model):
    return Report(model, *rows)


@pytest.fixture(scope="module")
def page(report):
    return Page(report.to_html())


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_the_measures_are_those_of_the_library(page, rows, model):
    X, y, qid = rows
    scores = model.predict(X)
    expected = {
        "error": metrics.ranking_error(y, scores, qid, undefined="skip"),
        "ndcg@5": metrics.ndcg(y, scores, qid, k=5),
        "ndcg@10": metrics.ndcg(y, scores, qid, k=10),
        "map": metrics.average_precision(y, scores, qid),
        "tau": metrics.kendall_tau(y, scores, qid),
    }
    assert list(page.values) == list(expected)
    close(list(page.values.values()), list(expected.values()))
    assert f"{100 * (1 - expected['error']):.1f}% of pairs in the right order" in page.words


def test_intervals_over_queries_are_those_of_the_normal_distribution_where_it_holds(report):
    found = report.measures["RankSVM"][0]
    spread = found.values.std(ddof=1) / np.sqrt(len(found.values))
    close([found.low, found.high], found.mean + 1.96 * spread * np.array([-1, 1]), 0.35 * spread)


def test_undefined_queries_are_left_out_and_counted(model, rows):
    X, y, qid = (values.copy() for values in rows)
    y[qid == "q03"] = 0
    page = Page(Report(model, X, y, qid).to_html())
    values = metrics.ranking_error(y, model.predict(X), qid, per_query=True)
    close(page.values["error"], np.nanmean(values))
    assert "lower is better, 24 queries" in page.words
    assert "1 query without pairs to order" in page.words
    assert "q03" not in page.names("queries")


def test_every_query_is_listed_worst_first(page, rows, model):
    X, y, qid = rows
    errors = metrics.ranking_error(y, model.predict(X), qid, per_query=True)
    names = np.unique(qid)
    order = np.argsort(-errors, kind="stable")
    assert page.names("queries") == names[order].tolist()
    close(page.column("queries", "Ranking error"), errors[order])
    ndcg = metrics.ndcg(y, model.predict(X), qid, k=5, per_query=True)
    close(page.column("queries", "NDCG@5, exponential gain"), ndcg[order])
    assert page.column("queries", "Rows") == [float((qid == names[k]).sum()) for k in order]
    assert page.names("worst") == names[order][:8].tolist()
    assert page.names("best") == names[order][::-1][:8].tolist()


def test_every_named_query_opens_on_its_rows_and_its_most_wrong_pair(page, rows, model):
    X, y, qid = rows
    scores, pairs = model.predict(X), page.data["pair-data"]
    groups = {group["name"]: group for group in pairs["groups"]}
    assert [entry["name"] for entry in page.data["documents-data"]] == page.names("queries")
    assert [int(link["data-query"]) for link in page.all("a") if "data-query" in link][:8] == list(range(8))
    for entry in page.data["documents-data"]:
        inside = np.flatnonzero(qid == entry["name"])
        order = inside[np.argsort(-scores[inside], kind="stable")]
        places = [place - 1 for place, *_ in entry["rows"]]
        assert places[:30] == list(range(min(30, len(order))))
        expected = [[row, str(y[row]), scores[row]] for row in order[places].tolist()]
        assert [line for _, *line in entry["rows"]] == expected
        wrong = max(
            ((scores[i] - scores[j]) * (y[j] - y[i]), i, j) for i in inside for j in inside if y[i] < y[j]
        )
        begin = [pairs["rows"][k]["row"] for k in groups[entry["name"]]["pair"]]
        if wrong[0] > 0:
            assert [row for row, _ in entry["wrong"]] == begin == list(wrong[1:])
        else:
            assert (entry["wrong"], begin) == (None, [order[0], order[-1]])


def test_the_page_lists_its_data_and_version(rows, model):
    words = Page(Report(model, *rows, about={"Data file": "test.txt"}).to_html()).words
    made = f"Data file test.txt Made by rankwise {__version__} on 20"
    assert f"Measured on 400 rows, 6 features, 25 queries {made}" in words


@pytest.mark.parametrize(
    ("alpha", "flip", "warning"),
    [
        (1e-2, 1, None),
        (1e6, 1, "the model is nearly constant"),
        (1e-2, -1, "RankSVM is no better than chance"),
    ],
)
def test_a_model_that_learned_nothing_is_warned_of(rows, alpha, flip, warning):
    X, y, qid = rows
    html = Report(RankSVM(alpha, tol=1e-12).fit(X, flip * y, qid=qid), X, y, qid).to_html()
    assert ('class="warning"' in html) == (warning is not None)
    assert (warning or "") in html
    # Weights of a constant model are drawn beside the difference that the loss asks for.
    widths = [float(width) for width in re.findall(r'<rect class="bar s\d" [^>]*width="([\d.]+)"', html)]
    assert (max(widths[-6:]) < 5) == (alpha == 1e6)


def test_weights_have_the_scale_of_the_data(page, rows, model):
    X, _, _ = rows
    effect = model.coef_ * X.std(axis=0)
    order = np.argsort(-np.abs(effect))
    assert page.names("weights") == [f"f{k + 1}" for k in order]
    close(page.column("weights", "Weight"), model.coef_[order])
    close(page.column("weights", "Standard deviation"), X.std(axis=0)[order])
    close(page.column("weights", "Weight × standard deviation"), effect[order])  # noqa: RUF001


@pytest.fixture(scope="module")
def uncertain(rows):
    """A report with intervals, of a pipeline and with a feature of noise."""
    X, y, qid = rows
    X = np.column_stack([X * [1, 100, 1, 0.01, 1, 1], np.random.default_rng(0).normal(size=len(X))])
    model = make_pipeline(StandardScaler(), RankLogistic(1e-3)).fit(X, y, ranklogistic__qid=qid)
    inference = rankwise.inference(model, X, y, qid=qid)
    return Report(model, X, y, qid, inference=inference)


def test_weights_have_standard_errors_and_intervals(uncertain, page):
    found, html = uncertain.inference, uncertain.to_html()
    shown = Page(html)
    order = [int(name[1:]) - 1 for name in shown.names("weights")]
    low, high = found.confidence_intervals().T
    close(shown.column("weights", "Standard error"), found.standard_errors[order])
    close(shown.column("weights", "95% from"), low[order])
    close(shown.column("weights", "95% to"), high[order])
    close(shown.column("weights", "p-value"), found.p_values[order])
    may_be_zero = (low <= 0) & (high >= 0)
    assert 0 < may_be_zero.sum() < 7
    assert sum(tag == "rect" and "opacity" in one for tag, one in shown.tags) == may_be_zero.sum()
    assert sum(tag == "line" and one.get("class") == "whisker solid" for tag, one in shown.tags) == 7
    assert "from the training data, 25 independent queries" in shown.words
    assert "Standard error" not in [title for title, _ in page.tables["weights"][0]]


def test_the_order_of_a_pair_is_sure_or_not(uncertain):
    data = Page(uncertain.to_html()).data["pair-data"]
    found, X = uncertain.inference, uncertain.data.X
    verdicts = set()
    for group in data["groups"][:3]:
        for first in group["rows"]:
            for second in group["rows"]:
                if first == second:
                    continue
                a, b = (data["rows"][k]["row"] for k in (first, second))
                expected = found.difference(X[a], X[b])
                close(interval_of_pair(data, first, second), [expected.low[0], expected.high[0]], 2e-2)
                is_sure = abs(expected.estimate[0]) > expected.estimate[0] - expected.low[0]
                words = answer(data, first, second)
                if abs(expected.p_value[0] - 0.05) > 1e-3:
                    assert words.endswith("the order is not sure.") != is_sure
                    is_against = "against the labels (" in words
                    assert words.endswith("the order is sure.") == (is_sure and not is_against)
                    assert words.endswith("too, but against the labels.") == (is_sure and is_against)
                verdicts.add((is_sure, "against the labels (" in words))
    assert len(verdicts) == 4


def test_errors_of_differences_are_those_of_the_inference(uncertain):
    X, found = uncertain.data.X[:5], uncertain.inference
    errors = difference_errors(X, found.covariance)
    expected = [[found.difference(a, b).standard_error[0] for b in X] for a in X]
    close(errors, expected, 1e-9)


def test_the_inference_must_be_that_of_the_model(rows, model, uncertain):
    X, y, qid = rows
    with pytest.raises(ValueError, match="inference has 7 weights, but the model has 6"):
        Report(model, X, y, qid, inference=uncertain.inference).to_html()
    kernel = RankSVM(kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="inference is for linear models, but the score of RankSVM"):
        Report(kernel, X, y, inference=uncertain.inference).to_html()


def test_intervals_of_all_pairs_make_a_small_file():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(1200, 60)), np.repeat(np.arange(6), 200)
    y = np.digitize(X[:, 0] + rng.normal(size=1200), [0, 1])
    model = RankLogistic(1e-2).fit(X, y)
    assert len(Report(model, X, y, qid, inference=model.inference(X, y)).to_html()) < LIMIT


def pair_of(page, first, second):
    """The parts of a pair from the data that the page embeds."""
    data = page.data["pair-data"]
    a, b = (data["rows"][k] for k in (first, second))
    dense = np.zeros((2, len(data["names"])))
    for line, row in zip(dense, (a, b), strict=True):
        line[row["features"]] = row["values"]
    return np.array(data["weights"]) * (dense[0] - dense[1]), a["rest"] - b["rest"], a, b


def test_the_parts_of_a_pair_are_those_of_explain_pair(page, rows, model):
    X, y, qid = rows
    data = page.data["pair-data"]
    first, second = data["pair"]
    parts, rest, a, b = pair_of(page, first, second)
    expected = dict(
        zip([f"f{k}" for k in range(1, 7)], model.explain_pair(X[a["row"]], X[b["row"]]), strict=True)
    )
    close(parts, [expected[name] for name in data["names"]], 1e-8)
    assert rest == pytest.approx(0, abs=1e-12)
    close(page.column("pair-table", "Contribution"), sorted(expected.values(), key=abs, reverse=True), 1e-8)
    close(sum(page.column("pair-table", "Contribution")), a["score"] - b["score"], 1e-8)
    # It begins with the pair that is most wrong in the worst query.
    worst = page.names("worst")[0]
    assert data["groups"][0]["name"] == worst
    inside, scores = np.flatnonzero(qid == worst), model.predict(X)
    wrong = [((scores[i] - scores[j]) * (y[j] - y[i]), i, j) for i in inside for j in inside if y[i] < y[j]]
    assert (a["row"], b["row"]) == max(wrong)[1:]
    assert f"Row {a['row']} is above row {b['row']}, against the labels" in page.words


def test_embedded_rows_have_the_scores_and_labels_of_the_data(page, rows, model):
    X, y, qid = rows
    data = page.data["pair-data"]
    assert len(data["rows"]) == len(y)
    scores = model.predict(X)
    for row in data["rows"]:
        assert (row["score"], row["y"]) == (scores[row["row"]], y[row["row"]])
    for group in data["groups"]:
        numbers = [data["rows"][k]["row"] for k in group["rows"]]
        assert set(qid[numbers]) == {group["name"]}
        assert (np.diff(scores[numbers]) <= 0).all()


def test_the_pair_to_explain_can_be_chosen(rows, model):
    X, y, qid = rows
    a, b = np.flatnonzero(qid == "q07")[[0, 2]].tolist()
    higher, lower = (a, b) if model.predict(X)[a] > model.predict(X)[b] else (b, a)
    data = Page(Report(model, X, y, qid, pair=(a, b)).to_html()).data["pair-data"]
    assert [data["rows"][k]["row"] for k in data["pair"]] == [higher, lower]
    other = int(np.flatnonzero(qid == "q08")[0])
    with pytest.raises(ValueError, match="two rows of one query"):
        Report(model, X, y, qid, pair=(a, other)).to_html()
    for wrong in [(a, a), (a, 4000), (-1, a)]:
        with pytest.raises(ValueError, match="two different rows"):
            Report(model, X, y, qid, pair=wrong).to_html()


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 2))])
def test_scalers_are_folded_into_the_weights(rows, scaler):
    X, y, _ = rows
    X = X * [1, 10, 0.1, 1, 5, 2] + 3
    frame = pd.DataFrame(X, columns=list("abcdef"))
    pipeline = make_pipeline(scaler, RankSVM(1e-2)).fit(frame, y)
    page = Page(Report(pipeline, frame, y).to_html())
    data = page.data["pair-data"]
    parts, _, a, b = pair_of(page, *data["pair"])
    scaled = pipeline[:-1].transform(frame)
    expected = pipeline[-1].explain_pair(scaled[a["row"]], scaled[b["row"]])
    close(parts, expected[["abcdef".index(name) for name in data["names"]]], 1e-8)
    assert sorted(page.names("weights")) == list("abcdef")


def test_other_steps_have_weights_of_what_they_make(rows):
    X, y, _ = rows
    pipeline = make_pipeline(PCA(3), RankRLS(1e-2)).fit(X, y)
    page = Page(Report(pipeline, X, y).to_html())
    assert sorted(page.names("weights")) == ["pca0", "pca1", "pca2"]
    a, b = (page.data["pair-data"]["rows"][k] for k in page.data["pair-data"]["pair"])
    close(sum(page.column("pair-table", "Contribution")), a["score"] - b["score"], 1e-8)


def test_a_path_with_certificates_is_drawn(rows):
    X, y, qid = rows
    path = alpha_path(RankSVM(), X, y, (1.0, 1e-3), qid=qid, tol=1e-2)
    html = Report(path.model(0.05), X, y, qid).to_html()
    assert f"{len(path.alphas)} fits cover every alpha of the path" in Page(html).words
    for alpha, objective in zip(path.alphas, path.objectives, strict=True):
        assert f"<title>alpha {alpha:.3g}: objective {objective:.4g}, at most" in html
    without = Report(RankSVM(0.05).fit(X, y, qid=qid), X, y, qid).to_html()
    assert "cover every alpha" not in Page(without).words


def test_what_was_learned(rows):
    X, y, qid = rows
    model = RankSVMCV(cv=3, tol=1e-6).fit(X, y, qid=qid)
    html = Report(model, X, y, qid).to_html()
    words = Page(html).words
    for value in (model.n_pairs_, model.n_iter_, model.objective_, model.gap_, model.alpha_):
        assert f'data-value="{float(value)!r}"' in html
    assert "max(0, 1 \N{MINUS SIGN} (f(better)" in words
    gaps = re.findall(r"<title>iteration (\d+): gap ([^ ]+) after", html)
    assert [float(gap) for _, gap in gaps] == [
        float(f"{gap:.3g}") for gap in model.history_["gap"] if gap > 0
    ]
    for alpha, error in zip(model.alphas_, model.cv_errors_.mean(axis=1), strict=True):
        assert f"alpha {alpha:.3g}: ranking error {error:.4f}" in html


@pytest.mark.parametrize(
    "model", [RankRLS(cost="unit"), RankRLSCV(cv=3), RankSVM(loss="squared_hinge"), RankSVM(kernel="rbf")]
)
def test_every_ranker_has_a_report(rows, model):
    X, y, qid = rows
    model.fit(X, y, qid=qid)
    page = Page(Report(model, X, y, qid).to_html())
    close(page.values["error"], metrics.ranking_error(y, model.predict(X), qid))
    assert ("weights" in page.tables) == (model.kernel == "linear")


def test_comparison_with_paired_tests(rows, model):
    X, y, qid = rows
    ridge, first = Ridge().fit(X, y), X[:, 0]
    report = Report(model, X, y, qid, models={"Ridge": ridge, "one feature": first})
    page = Page(report.to_html())
    table = {(row[0][0], row[1][0]): [cell[1] for cell in row[2:]] for row in page.tables["comparison"][1:]}
    assert len(table) == 10
    ours = metrics.ranking_error(y, model.predict(X), qid, per_query=True)
    for name, scores in (("Ridge", ridge.predict(X)), ("one feature", first)):
        theirs = metrics.ranking_error(y, scores, qid, per_query=True)
        mean, difference, low, high, wins, ties, losses, p = table["Ranking error", name]
        close([mean, difference], [theirs.mean(), (theirs - ours).mean()])
        assert (wins, ties, losses) == tuple(
            map(float, ((ours < theirs).sum(), (ours == theirs).sum(), (ours > theirs).sum()))
        )
        assert low <= difference <= high
        expected = permutation_test(
            (ours - theirs,),
            np.mean,
            permutation_type="samples",
            n_resamples=20_000,
            random_state=1,
            vectorized=True,
        ).pvalue
        assert p == pytest.approx(expected, abs=0.04)
        whiskers = f"{name}: improvement {signed(difference)}, from {signed(low)} to {signed(high)}"
        assert whiskers in report.to_html()
    assert "It is ahead of one feature (" in page.words
    assert [one.other for one in report.differences[:5]] == ["Ridge"] * 5


def test_many_queries_take_the_t_test_too():
    generator = np.random.default_rng(0)
    y, qid = np.tile([0, 1], 1500), np.repeat(np.arange(1500), 2)
    good, bad = y + generator.normal(0, 1, 3000), y + generator.normal(0, 1.5, 3000)
    report = Report(good, np.zeros((3000, 1)), y, qid, models={"bad": bad})
    one, other = (metrics.ranking_error(y, scores, qid, per_query=True) for scores in (good, bad))
    assert report.differences[0].p == pytest.approx(ttest_rel(one, other).pvalue, rel=1e-6)
    assert "paired t-test of the mean difference." in report.to_html()


def test_measures_of_one_list_are_resampled_by_rows(rows, model):
    X, y, _ = rows
    scores, other = model.predict(X), X[:, 1]
    report = Report(model, X, y, models={"other": other}, random_state=5)
    drawn = []
    for chosen in np.random.default_rng(5).integers(len(y), size=(200, len(y))):
        drawn.append([metrics.kendall_tau(y[chosen], s[chosen]) for s in (scores, other)])
    ours, theirs = np.array(drawn).T
    found, difference = report.measures["RankSVM"][-1], report.differences[-1]
    assert found.measure.key == difference.measure.key == "tau"
    close([found.low, found.high], np.quantile(ours, [0.025, 0.975]))
    close([difference.low, difference.high], np.quantile(ours - theirs, [0.025, 0.975]))
    assert np.isnan(difference.p)
    words = Page(report.to_html()).words
    assert "bootstrap over rows, 200 resamples" in words
    assert "t-test of the mean difference, over rows" in words


def test_two_classes_have_a_roc_curve(rows):
    X, y, _ = rows
    y = (y > 1).astype(int)
    model, other = RankSVM().fit(X, y), LogisticRegression().fit(X, y)
    page = Page(Report(model, X, y, models={"logistic": other}).to_html())
    areas = [roc_auc_score(y, model.predict(X)), roc_auc_score(y, other.decision_function(X))]
    close(page.column("areas", "Area"), areas)
    close(1 - page.values["error"], areas[0])
    close(page.column("comparison", "Value")[0], 1 - areas[1])
    assert f"in the right order, an AUC of {areas[0]:.4f} (95% interval" in page.words


def test_ordinal_models_show_their_boundaries():
    X, y = make_ordinal(300, random_state=0)
    grades = np.array(["bad", "poor", "fair", "good", "best"])
    model = OrdinalSVM(1e-3, categories=list(grades)).fit(X, grades[y])
    html = Report(model, X, grades[y]).to_html()
    page = Page(html)
    close(page.values["error"], metrics.ranking_error(y, model.utility(X)))
    predicted = model.predict(X)
    assert (
        f"The rank of {100 * accuracy_score(grades[y], predicted):.1f}% of the rows is predicted"
        in page.words
    )
    for k, name in enumerate(grades):
        counts = [float(((y == k) & (predicted == other)).sum()) for other in grades]
        assert [cell[1] for cell in page.tables["confusion"][1 + k][1:]] == counts
        assert page.tables["confusion"][1 + k][0][0] == name
    assert len(re.findall(r"<title>threshold \d: ", html)) == 4
    assert html.count('class="dot') >= 300


def test_hull_models_show_their_graph():
    X, y = make_ranking(200, 4, n_levels=3, noise=0.4, random_state=0)
    names = np.array(["c", "a", "b"])[y]  # the order is not that of the alphabet
    edges = [("b", "a"), ("b", "c"), ("a", "c")]
    model = HullRanker(1e-2, order=edges).fit(X, names)
    labels = names.astype(object)
    labels[:5] = None
    html = Report(model, X, labels).to_html()
    page = Page(html)
    scores = model.predict(X)[5:]
    close(page.values["wmw"], metrics.wmw(names[5:], scores, order=edges))
    close(page.values["error"], metrics.ranking_error(Preferences.from_order(names[5:], edges), scores))
    assert page.names("edges") == [f"{high} above {low}" for high, low in model.edges_]
    for (high, low), share in zip(model.edges_, page.column("edges", "In the right order"), strict=True):
        chosen = np.isin(names[5:], [high, low])
        close(share, roc_auc_score(names[5:][chosen] == high, scores[chosen]))
    sizes = [np.sum(labels[5:] == name) for name in "bac"]
    assert page.names("layers") == ["1", "2", "3"]
    assert [row[1][0] for row in page.tables["layers"][1:]] == [
        f"{name} ({size})" for name, size in zip("bac", sizes, strict=True)
    ]
    data = page.data["pair-data"]
    a, b = (data["rows"][k] for k in data["pair"])
    assert (b["label"], a["label"]) in edges  # the first is above, against the labels
    assert "5 rows without a label" in page.words


def test_what_users_write_is_text(rows):
    X, y, _ = rows
    qid = np.array(NASTY, dtype=object)[np.arange(len(y)) % len(NASTY)]
    model = RankSVM().fit(X, y, qid=qid)
    html = Report(
        model,
        X,
        y,
        qid,
        feature_names=NASTY,
        title=NASTY[0],
        name=NASTY[1],
        models={NASTY[0]: X[:, 0], "$x$": X[:, 1]},
    ).to_html()
    page = Page(html)
    assert len(page.all("script")) == 4  # rows of queries, pairs, what can be moved, the script of the page
    assert not page.all("b")
    assert "<!--" not in html
    readable = [name.replace("\ud800", "?") for name in NASTY]
    assert sorted(page.names("weights")) == sorted(readable)
    assert sorted(page.names("queries")) == sorted(readable)
    assert sorted(page.data["pair-data"]["names"]) == sorted(NASTY)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    html.encode("utf-8")


def test_nothing_is_fetched_from_elsewhere(page, report):
    html = report.to_html()
    policy = next(tag["content"] for tag in page.all("meta") if tag.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"https?://|@import|url\((?!#)", html)
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object")
        assert "src" not in attributes


def test_the_page_can_be_read_aloud(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    assert all(cell["scope"] in ("row", "col") for cell in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    labelled = {label["for"] for label in page.all("label")}
    assert labelled == {field["id"] for field in page.all("input") + page.all("select")}
    assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in page.all("svg"))
    assert page.all("html")[0]["lang"] == "en"


def test_ten_thousand_queries_make_a_small_file():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(40_000, 30)), generator.integers(0, 3, 40_000)
    qid = np.repeat(np.arange(10_000), 4)
    model = RankSVM().fit(X[:2000], y[:2000], qid=qid[:2000])
    report = Report(model, X, y, qid, models={"one": X[:, 0]})
    html = report.to_html()
    page = Page(html)
    assert len(html.encode()) < LIMIT
    assert len(page.names("queries")) == 400
    assert "The 200 worst and the 200 best of" in page.words
    close(page.values["error"], np.nanmean(metrics.ranking_error(y, model.predict(X), qid, per_query=True)))


def test_fifty_thousand_features_make_a_small_file():
    generator = np.random.default_rng(0)
    entries = (
        generator.random(600_000),
        (np.repeat(np.arange(600), 1000), generator.integers(50_000, size=600_000)),
    )
    X, y = sp.csr_array(entries, shape=(600, 50_000)), generator.integers(0, 3, 600)
    model = RankSVM(1e-3).fit(X, y)
    html = Report(
        model, X, y, feature_names=[f"a rather long word, number {k}" for k in range(50_000)]
    ).to_html()
    page = Page(html)
    assert len(html.encode()) < LIMIT
    assert len(page.names("weights")) == 500
    assert "The 500 with the largest effect" in page.words
    effect = np.abs(model.coef_) * np.sqrt(StandardScaler(with_mean=False).fit(X).var_)
    close(
        np.abs(page.column("weights", f"Weight {chr(215)} standard deviation")),
        np.sort(effect)[::-1][:500],
        1e-9,
    )
    data = page.data["pair-data"]
    a, b = (data["rows"][k] for k in data["pair"])
    close(sum(page.column("pair-table", "Contribution")), a["score"] - b["score"], 1e-6)
    for k in range(0, len(data["rows"]) - 1, 40):
        parts, rest, a, b = pair_of(page, k, k + 1)
        close(parts.sum() + rest, a["score"] - b["score"], 1e-6)


def test_real_labels_have_no_grades(rows):
    X, y, _ = rows
    y = y * 10.5 + 20
    report = Report(RankRLS().fit(X, y), X, y)
    assert [one.measure.key for one in report.measures["RankRLS"]] == ["error", "tau"]
    words = Page(report.to_html()).words
    assert "NDCG is left out" in words
    assert "MAP is left out" in words


def test_preferences_from_scores_are_labels_with_queries(rows, model, report):
    X, y, qid = rows
    found = Report(model, X, Preferences.from_scores(y, qid))
    for one, other in zip(found.measures["RankSVM"], report.measures["RankSVM"], strict=True):
        close(one.values, other.values)
        close([one.mean, one.low, one.high], [other.mean, other.low, other.high])
    with pytest.raises(ValueError, match="qid must be None when y is a Preferences"):
        Report(model, X, Preferences.from_scores(y, qid), qid)
    with pytest.raises(ValueError, match="X has 400 rows, but y has 2"):
        Report(model, X, Preferences.from_pairs([0], [1]))


def structures(y, qid):
    """Return preferences of every kind among the same rows."""
    random = np.random.default_rng(0)
    n = len(y)
    rows, importance = random.uniform(0.1, 3, n), random.uniform(0.1, 3, 1000)
    better, worse = random.permutation(n).reshape(2, -1)
    return {
        "survival": Preferences.from_survival(random.random(n) < 0.5, y + random.exponential(1, n), rows),
        "row weights": Preferences.from_scores(y, qid, rows),
        "pair weights": Preferences.from_scores(y, qid, pair_weight=4.0**y),
        "query weights": Preferences.from_scores(
            y, qid, query_weight=importance[np.unique(qid, return_inverse=True)[1]]
        ),
        "one query, weighted": Preferences.from_scores(y, sample_weight=rows, pair_weight="difference"),
        "separate pairs": Preferences.from_pairs(better, worse, weight=random.uniform(0, 2, n // 2)),
        "joined pairs": Preferences.from_pairs(np.tile(better, 2), np.append(worse, np.roll(worse, 1))),
        "order graph": Preferences.from_order(y, [(3, 1), (2, 0), (3, 0)], rows),
    }


@pytest.mark.parametrize("kind", structures(np.arange(8.0) % 4, np.zeros(8)))
def test_the_numbers_are_those_of_score_for_every_structure(rows, kind):
    X, y, qid = rows
    preferences = structures(y, qid)[kind]
    model = RankSVM(1e-2).fit(X, preferences)
    scores = model.predict(X)
    report = Report(model, X, preferences, models={"one feature": X[:, 0]})
    page = Page(report.to_html())
    expected = model.score(X, preferences)
    if kind == "survival":  # over the pairs of all strata
        expected = metrics.concordance_index(preferences, scores)
        close(page.values["concordance"], expected)
    else:
        close(1 - page.values["error"], expected)
    pairs = "comparable pairs" if kind == "survival" else "pairs"
    assert f"{100 * expected:.1f}% of {pairs} in the right order" in page.words
    found = report.measures["RankSVM"]
    assert found[0].low < found[0].mean < found[0].high
    of = {"tau": metrics.kendall_tau, "map": metrics.average_precision, "wmw": metrics.wmw}
    for one in found[1:]:
        rank = {"k": int(one.measure.key[5:])} if one.measure.key.startswith("ndcg") else {}
        close(one.mean, of.get(one.measure.key, metrics.ndcg)(preferences, scores, **rank))
    difference = metrics.ranking_error(preferences, scores) - metrics.ranking_error(preferences, X[:, 0])
    if kind == "survival":
        difference = expected - metrics.concordance_index(preferences, X[:, 0])
    close(report.differences[0].mean, difference)
    if not preferences.orders_labels and kind != "survival":
        assert "NDCG, MAP and Kendall's tau are left out" in page.words


def test_the_interval_of_separate_pairs_is_that_of_a_share(rows, monkeypatch):
    # Each row is in one pair: the pairs are independent, and their share is binomial.
    monkeypatch.setattr(bootstrap, "RESAMPLES", 1000)
    scores = np.random.default_rng(1).normal(size=600)
    better = np.arange(300)
    found = Report(scores, np.ones((600, 1)), Preferences.from_pairs(better, better + 300)).measures["scores"]
    spread = np.sqrt(found[0].mean * (1 - found[0].mean) / 300)
    close([found[0].low, found[0].high], found[0].mean + 1.96 * spread * np.array([-1, 1]), 0.02)


def test_weights_of_queries_enter_means_intervals_and_tests():
    # Queries of weight 0 are as if they were not there.
    X, y, qid = make_ranking(300, 3, n_queries=20, n_levels=3, noise=0.5, random_state=0)
    models = {"b": X[:, 1]}
    kept = qid < 10
    few = Report(X[kept, 0], X[kept], Preferences.from_scores(y[kept], qid[kept]), models={"b": X[kept, 1]})
    all_ = Report(X[:, 0], X, Preferences.from_scores(y, qid, query_weight=kept * 2.0), models=models)
    for one, other in zip(all_.measures["scores"], few.measures["scores"], strict=True):
        close(one.mean, other.mean)
    for one, other in zip(all_.differences, few.differences, strict=True):
        close(one.mean, other.mean)
        assert abs(one.p - other.p) < 0.02
    assert few.differences[0].wins <= all_.differences[0].wins


def test_the_pairs_of_preferences_are_those_that_the_page_explains(rows):
    X, y, _ = rows
    preferences = structures(y, rows[2])["joined pairs"]
    report = Report(RankSVM().fit(X, preferences), X, preferences)
    data = Page(report.to_html()).data["pair-data"]
    listed = set(zip(*(column.tolist() for column in preferences.pairs()[:2]), strict=True))
    for k, below in enumerate(data["below"]):
        for other in below:
            assert (data["rows"][k]["row"], data["rows"][other]["row"]) in listed
    assert sum(map(len, data["below"])) > 0
    assert all(row["label"] == "" for row in data["rows"])
    assert f", among {preferences.n_pairs} pairs." in report.headline()


def test_a_censored_row_is_explained_as_one_that_asks_for_no_order():
    X = np.array([[3.0], [2.0], [1.0]])
    preferences = Preferences.from_survival([False, True, True], [1.0, 2.0, 3.0])
    report = Report(RankRLS().fit(X, preferences), X, preferences, pair=(0, 1))
    assert "which the labels do not order (2 and 1+)" in Page(report.to_html()).words
    report = Report(RankRLS().fit(X, preferences), X, preferences, pair=(2, 1))
    assert "as the labels require" in Page(report.to_html()).words


def test_the_probabilities_are_measured_on_the_pairs_given(rows):
    X, y, qid = rows
    for preferences in structures(y, qid).values():
        model = RankLogistic(1e-2).fit(X, preferences)
        report = Report(model, X, preferences)
        found = report.measures["RankLogistic"][-1]
        close(found.mean, metrics.pair_log_loss(preferences, model.predict(X)))
        shown = Page(report.to_html()).column("bins", "Observed")
        expected = reliability(preferences, model.predict(X)).observed
        close(np.array(shown, float), expected, 1e-9)


def test_what_cannot_be_reported_is_refused_in_a_sentence(rows, model):
    X, y, qid = rows
    with pytest.raises(ValueError, match="X has 400 rows, but y has 399"):
        Report(model, X, y[1:], qid)
    with pytest.raises(ValueError, match="qid has length 3"):
        Report(model, X, y, qid[:3])
    with pytest.raises(ValueError, match="the scores of 'a' has length 2"):
        Report(model, X, y, qid, models={"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'RankSVM', the name of"):
        Report(model, X, y, qid, models={"RankSVM": model})
    with pytest.raises(ValueError, match="one score per row"):
        Report(RankRLS().fit(X, np.stack([y, -y], axis=1)), X, y)
    with pytest.raises(ValueError, match="has 4 classes instead of 2"):
        Report(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="missing values"):
        Report(model, X, np.where(np.arange(400) == 7, np.nan, y))
    with pytest.raises(ValueError, match="feature_names has 2 names, but X has 6"):
        Report(model, X, y, qid, feature_names=["a", "b"]).to_html()


def test_a_report_without_pairs_states_it(model, rows):
    X, _, qid = rows
    page = Page(Report(model, X, np.ones(len(X)), qid).to_html())
    assert "no pair of rows to order" in page.words


def test_saved_and_shown_in_a_notebook(report, tmp_path):
    report.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == report.to_html()
    frame = report._repr_html_()
    assert frame.startswith("<iframe")
    assert "<script" not in frame


@pytest.fixture
def files(rows, tmp_path):
    X, y, _ = rows
    number = np.arange(len(y)) // 20
    dump_svmlight(X, y.astype(float), tmp_path / "test.txt", qid=number)
    model = make_pipeline(StandardScaler(), RankSVM(1e-2)).fit(X, y)
    save_model(model, tmp_path / "model.json", feature_names=["<i>", *"bcdef"])
    (tmp_path / "scores.txt").write_text("\n".join(map(repr, X[:, 0].tolist())) + "\n")
    return tmp_path, model, number


def test_the_command_writes_the_report(files, rows, capsys):
    folder, model, number = files
    X, y, _ = rows
    path = folder / "report.html"
    given = [str(folder / "model.json"), str(folder / "test.txt"), "-o", str(path)]
    assert (
        main(["report", *given, "--compare", str(folder / "scores.txt"), "--at", "3", "--relevant-at", "2"])
        == 0
    )
    said = capsys.readouterr().out
    page = Page(path.read_text())
    scores = model.predict(X)
    close(page.values["error"], metrics.ranking_error(y, scores, number), 1e-9)
    close(page.values["ndcg@3"], metrics.ndcg(y, scores, number, k=3), 1e-9)
    close(page.values["map"], metrics.average_precision(y, scores, number, relevant_above=1), 1e-9)
    assert sorted(page.names("weights")) == sorted(["<i>", *"bcdef"])
    made_from = f"Model file {given[0]} Data file {given[1]} Command rankwise report {given[0]}"
    assert made_from in " ".join(page.words.split())
    assert "model.json puts" in said
    assert "It is ahead of scores.txt" in said
    assert str(path) in said


def test_the_command_takes_the_training_data(rows, tmp_path, capsys):
    X, y, qid = rows
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(grade=y, query=qid, patient=np.arange(len(y)) // 4)
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame[200:].to_csv(tmp_path / "test.csv", index=False)
    train, test, model, page = (
        str(tmp_path / name) for name in ("train.csv", "test.csv", "m.json", "r.html")
    )
    labels = ("--label", "grade", "-q")
    method = ("--method", "rank-logistic", "--scale", "standard", "--features", "a,b,c,d,e,f")
    assert main(["train", train, "-o", model, *method, *labels]) == 0
    given = ["report", model, test, "-o", page, *labels]
    assert main([*given, "--training", train, "--cluster", "patient"]) == 0
    shown = Page((tmp_path / "r.html").read_text())
    expected = rankwise.inference(load_model(model), X, y, cluster=frame["patient"])
    order = ["abcdef".index(name) for name in shown.names("weights")]
    close(shown.column("weights", "Standard error"), expected.standard_errors[order], 1e-6)
    assert "100 independent clusters" in shown.words
    assert main([*given, "--cluster", "patient"]) == 2
    assert "--cluster needs --training" in capsys.readouterr().err
    (tmp_path / "scores.txt").write_text("1\n" * 200)
    scores = ["report", str(tmp_path / "scores.txt"), test, "-o", page, *labels, "--features", "a,b"]
    assert main([*scores, "--training", train]) == 2
    assert "--training needs a model" in capsys.readouterr().err


def test_the_command_takes_scores_and_refuses_the_rest(files, capsys):
    folder, _, _ = files
    assert (
        main(
            [
                "report",
                str(folder / "scores.txt"),
                str(folder / "test.txt"),
                "-o",
                str(folder / "r.html"),
                "-q",
            ]
        )
        == 0
    )
    page = Page((folder / "r.html").read_text())
    assert "Only scores were given" in page.words
    assert "weights" not in page.tables
    report = ["report", str(folder / "model.json"), str(folder / "test.txt"), "-o", "r.html"]
    with pytest.raises(SystemExit) as exit:
        main([*report, "--explain", "1"])
    assert exit.value.code == 2
    assert "two row numbers" in capsys.readouterr().err
    assert (
        main(
            [
                "report",
                str(folder / "model.json"),
                str(folder / "test.txt"),
                "-o",
                str(folder / "no" / "r.html"),
            ]
        )
        == 1
    )
    assert "does not exist" in capsys.readouterr().err
