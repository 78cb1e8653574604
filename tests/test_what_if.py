"""Features that are moved in the report: the score of the page is that of the model."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from browser import By, Keys, Select, needs_browser, show, started
from html_page import Page
from rankwise import BoostedRanker, CurveRanker, RankLogistic, RankSVM
from rankwise.cli.main import main
from rankwise.core.text import short
from rankwise.datasets import make_ranking
from rankwise.preprocessing import QueryScaler, TableEncoder
from rankwise.report import Report
from rankwise.report.feature_values import value_kinds

X, Y, QID = make_ranking(150, 4, n_queries=5, n_levels=4, noise=0.5, random_state=2)
FRAME = pd.DataFrame(np.round(X, 3), columns=["bm25", "age", "links", "title"])
FRAME["links"] = np.round(2 * FRAME["links"])
FRAME.loc[3, "age"] = np.nan
FRAME["kind"] = pd.Categorical(np.where(X[:, 1] > 0, "web", np.where(X[:, 2] > 0, "news", "shop")))
NUMBERS = FRAME[["bm25", "links", "title"]]
MIXED = FRAME.assign(
    added=pd.Timestamp("2024-02-26") + pd.to_timedelta(np.round(9 * X[:, 3]), unit="D"), is_new=X[:, 1] > 0.3
)
MIXED.loc[[7, 100], "kind"] = None


def models():
    curves = {"alpha": 0.05, "n_bins": 6}
    return {
        "linear": (RankSVM(1e-2).fit(NUMBERS, Y, qid=QID), NUMBERS),
        "scaled": (
            make_pipeline(StandardScaler(), RankLogistic(1e-2)).fit(NUMBERS, Y, ranklogistic__qid=QID),
            NUMBERS,
        ),
        "steps": (CurveRanker(**curves, interactions=2).fit(FRAME, Y, qid=QID), FRAME),
        "lines": (CurveRanker(**curves, shape="lines").fit(FRAME, Y, qid=QID), FRAME),
        "encoded": (
            make_pipeline(TableEncoder(), StandardScaler(), RankSVM(1e-2)).fit(MIXED, Y, ranksvm__qid=QID),
            MIXED,
        ),
        "dated": (CurveRanker(**curves).fit(MIXED, Y, qid=QID), MIXED),
    }


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def typed(browser, k, value):
    """Give feature k of the page a value."""
    script = (
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input'));"
    )
    browser.execute_script(script, f"what-if-{k}", value if isinstance(value, str) else f"{value:.15g}")


def shown(browser):
    answer = browser.find_element(By.ID, "what-if-answer")
    return answer.text, float(answer.get_attribute("data-score"))


@needs_browser
@pytest.mark.parametrize("name", ["linear", "scaled", "steps", "lines", "encoded", "dated"])
def test_moved_scores_are_those_of_predict(browser, name, tmp_path):
    model, rows = models()[name]
    report = Report(model, rows, Y, QID, name="model")
    report.save(tmp_path / "page.html")
    found = Page(report.to_html()).data["what-if-data"]
    assert any(len(term["features"]) == 2 for term in found["terms"]) == (name == "steps")
    show(browser, f"file://{tmp_path / 'page.html'}")
    Select(browser.find_element(By.ID, "what-if-query")).select_by_index(1)
    first = found["sizes"][0]
    Select(browser.find_element(By.ID, "what-if-row")).select_by_index(4)
    chosen, rng = found["rows"][first + 4], np.random.default_rng(0)
    moved = rows.iloc[[chosen["row"]]].copy()
    group = [row["score"] for row in found["rows"][first : first + found["sizes"][1]]]
    assert shown(browser)[1] == chosen["score"]
    for k, feature in enumerate(found["features"]):
        if feature["kind"] == "yes or no":
            value, words = feature["levels"][-1]
            moved[feature["name"]] = words == "yes"
        elif feature["kind"] == "date":
            value = "2024-03-09"
            moved[feature["name"]] = pd.Timestamp(value)
        elif feature["levels"]:
            value, moved[feature["name"]] = feature["levels"][-1]
            moved["kind"] = moved["kind"].astype(rows["kind"].dtype)
        else:
            value = round(float(rng.uniform(feature["low"] - 0.5, feature["high"] + 0.5)), 2)
            moved[feature["name"]] = value
        typed(browser, k, value)
        words, score = shown(browser)
        expected = float(model.predict(moved)[0])
        assert score == pytest.approx(expected, abs=1e-8)
        others = [one for place, one in enumerate(group) if place != 4]
        place = 1 + sum(one > expected for one in others)
        assert f": score {short(expected)}, place {place} of {len(group)}" in words
        assert words.endswith(f"instead of {short(chosen['score'])} and place 5.")
    browser.find_element(By.ID, "what-if-reset").click()
    assert shown(browser)[1] == chosen["score"]


@needs_browser
def test_sliders_move_by_keyboard(browser, tmp_path):
    model, rows = models()["linear"]
    Report(model, rows, Y, QID).save(tmp_path / "page.html")
    show(browser, f"file://{tmp_path / 'page.html'}", width=390)
    slider = browser.find_element(By.CSS_SELECTOR, "#what-if-sliders input[type=range]")
    before = shown(browser)[0]
    slider.send_keys(Keys.HOME)
    assert shown(browser)[0] != before
    field = browser.find_element(By.ID, "what-if-0")
    assert float(field.get_attribute("value")) == pytest.approx(
        float(slider.get_attribute("min")), rel=1e-5, abs=1e-5
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: BoostedRanker(n_estimators=3).fit(X, Y, qid=QID),
        lambda: RankSVM(kernel="rbf").fit(X, Y, qid=QID),
        lambda: make_pipeline(QueryScaler(), RankSVM()).fit(X, Y, queryscaler__qid=QID, ranksvm__qid=QID),
        lambda: make_pipeline(TableEncoder(), PCA(2), RankSVM()).fit(NUMBERS, Y, ranksvm__qid=QID),
        lambda: make_pipeline(TableEncoder(), QueryScaler(), RankSVM()).fit(
            NUMBERS, Y, queryscaler__qid=QID, ranksvm__qid=QID
        ),
        lambda: LogisticRegression().fit(X, Y > 1),  # its score is a probability
        lambda: X[:, 0],
    ],
)
def test_other_scores_cannot_be_moved(make):
    model = make()
    y = Y > 1 if hasattr(model, "classes_") else Y
    rows = NUMBERS if hasattr(model, "steps") and hasattr(model[0], "kinds_") else X
    page = Page(Report(model, rows, y, QID, name="model").to_html())
    assert "what-if-data" not in page.data
    is_model = hasattr(model, "fit")
    assert ("The features of a row cannot be moved here: the score of model is not" in page.words) == is_model


@needs_browser
def test_a_level_that_the_fit_did_not_have_can_be_changed(browser, tmp_path):
    model = models()["encoded"][0]
    rows = MIXED.assign(kind=np.where(np.arange(len(MIXED)) % 3 == 0, "blog", "web"))
    Report(model, rows, Y, QID).save(tmp_path / "page.html")
    found = Page((tmp_path / "page.html").read_text(encoding="utf-8")).data["what-if-data"]
    kind = [one["name"] for one in found["features"]].index("kind")
    place = next(k for k, row in enumerate(found["rows"][: found["sizes"][0]]) if row["values"][kind] == -1)
    show(browser, f"file://{tmp_path / 'page.html'}")
    Select(browser.find_element(By.ID, "what-if-row")).select_by_index(place)
    field = Select(browser.find_element(By.ID, f"what-if-{kind}"))
    assert field.first_selected_option.text == "another"
    field.select_by_visible_text("shop")
    moved = rows.iloc[[found["rows"][place]["row"]]].assign(kind="shop")
    assert shown(browser)[1] == pytest.approx(float(model.predict(moved)[0]), abs=1e-8)


def test_dates_are_dates_and_booleans_are_yes_or_no():
    for name in ("encoded", "dated"):
        model, rows = models()[name]
        report = Report(model, rows, Y, QID, pair=(7, 8), name="model")
        html = report.to_html()
        page = Page(html)
        kinds = {one["name"]: one["kind"] for one in page.data["what-if-data"]["features"]}
        assert (kinds["added"], kinds["is_new"], kinds["bm25"]) == ("date", "yes or no", "number")
        if name == "dated":
            curves = html.split('id="curves"')[1].split("</section>")[0]
            assert "<title>yes: " in curves
            assert re.search(r">2024-0\d(-\d\d)?</text>", curves)
        else:
            parts = {row[0][0]: [cell[0] for cell in row[1:3]] for row in page.tables["pair-table"][1:]}
            shown = [str(rows["added"][k].date()) for k in (7, 8)]
            assert sorted(parts["added"]) == sorted(shown)
            assert set(parts["kind is missing"]) == {"yes", "no"}
            made = [name.split("=")[0].removesuffix(" is missing") for name in page.names("weights")]
            assert len({*made}) == 1 + sum(a != b for a, b in itertools.pairwise(made))
            assert page.column("weights", "Standard deviation")[
                page.names("weights").index("added")
            ] == pytest.approx((rows["added"] - rows["added"].min()).dt.days.std(ddof=0))
    assert value_kinds(report.data, {})["bm25"] == "number"
    durations = MIXED.assign(added=MIXED["added"] - MIXED["added"].min())
    assert value_kinds(Report(X[:, 0], durations, Y, QID).data, {})["added"] == "number"


@pytest.mark.parametrize("method", ["curve", "rank-svm"])
def test_dates_of_files_are_dates(method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MIXED.assign(grade=Y, query=QID).to_csv("rows.csv", index=False)
    columns = ["--label", "grade", "--qid", "query", "-q"]
    assert main(["train", "rows.csv", "-o", "model.json", "--method", method, *columns]) == 0
    assert main(["report", "model.json", "rows.csv", "-o", "page.html", *columns]) == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    kinds = {one["name"]: one["kind"] for one in page.data["what-if-data"]["features"]}
    assert (kinds["added"], kinds["is_new"], kinds["bm25"]) == ("date", "yes or no", "number")
