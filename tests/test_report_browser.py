"""The report in a browser: no errors, no requests, sorting and pairs by click and by keyboard, contrast."""

import numpy as np
import pytest

from browser import CONTRAST, By, Keys, Select, needs_browser, outside_requests, show, started
from rankwise import HullRanker, OrdinalSVM, RankSVM
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.report import Report

pytestmark = needs_browser
# What a screen reader would call each control and picture.
UNNAMED = """
const named = (e) => (e.labels && e.labels.length) || e.getAttribute("aria-label") || e.textContent.trim();
return Array.from(document.querySelectorAll("button, input, select, a, summary, svg:not([aria-hidden])"))
  .filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 80));
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report of each kind: with queries and another model, with ranks, with an order graph."""
    folder = tmp_path_factory.mktemp("reports")
    X, y, qid = make_ranking(400, 6, n_queries=25, n_levels=4, noise=0.9, random_state=3)
    model = RankSVM(1e-2).fit(X, y, qid=qid)
    names = ["<script>document.title='broken'</script>", "a feature with a long name, number 2", *"cdef"]
    reports = {"queries": Report(model, X, y, qid, feature_names=names, models={"one": X[:, 0]})}
    points, ranks = make_ordinal(200, random_state=0)
    reports["ranks"] = Report(OrdinalSVM(1e-2).fit(points, ranks), points, ranks)
    classes = np.array(["low", "middle", "high"])[np.minimum(y, 2)]
    order = [("high", "middle"), ("middle", "low"), ("high", "low")]
    reports["graph"] = Report(HullRanker(1e-2, order=order).fit(X, classes), X, classes)
    reports["intervals"] = Report(model, X, y, qid, inference=model.inference(X, y, qid=qid))
    reports["two"] = Report(RankSVM().fit(X, y > 1), X, y > 1, models={"one": X[:, 0]})
    for name, report in reports.items():
        report.save(folder / f"{name}.html")
    return {name: (f"file://{folder / name}.html", report) for name, report in reports.items()}


def opened(browser, pages, name, scheme="light", width=1200):
    show(browser, pages[name][0], scheme, width)
    return pages[name][1]


def column(browser, table, place):
    rows = browser.find_elements(By.CSS_SELECTOR, f"#{table} tbody tr")
    return [row.find_elements(By.CSS_SELECTOR, "th, td")[place].get_attribute("data-value") for row in rows]


KINDS = ["queries", "ranks", "graph", "two", "intervals"]


@pytest.mark.parametrize("name", KINDS)
def test_no_errors_and_no_requests(browser, pages, name):
    browser.get("about:blank")
    browser.get_log("browser"), browser.get_log("performance")
    opened(browser, pages, name)
    assert browser.get_log("browser") == []
    assert browser.title != "broken"
    assert outside_requests(browser) == []


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_and_everything_has_a_name(browser, pages, name, scheme):
    opened(browser, pages, name, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    found = browser.execute_script(CONTRAST)
    assert len(found) > 60
    assert [entry for entry in found if entry[0] < 4.5] == []
    assert browser.execute_script(UNNAMED) == []
    dark = (
        browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        != "rgb(255, 255, 255)"
    )
    assert dark == (scheme == "dark")


# Words that a picture cuts off at its edge.
CUT = """
return Array.from(document.querySelectorAll("figure svg text")).filter((e) => {
  const word = e.getBoundingClientRect(), picture = e.closest("svg").getBoundingClientRect();
  return word.left < picture.left - 1 || word.right > picture.right + 1;
}).map((e) => e.textContent);
"""


@pytest.mark.parametrize("width", [1200, 360])
@pytest.mark.parametrize("name", KINDS)
def test_no_picture_cuts_words_off(browser, pages, name, width):
    opened(browser, pages, name, width=width)
    assert browser.execute_script("return document.querySelectorAll('figure svg text').length") > 5
    assert browser.execute_script(CUT) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_phone_need_not_scroll_sideways(browser, pages, name):
    opened(browser, pages, name, width=360)
    browser.execute_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360


def test_tables_sort_by_click_and_by_keyboard(browser, pages):
    opened(browser, pages, "queries")
    heading = browser.find_element(By.CSS_SELECTOR, "#worst thead th:nth-child(3)")
    button = heading.find_element(By.TAG_NAME, "button")
    button.click()
    numbers = list(map(float, column(browser, "worst", 2)))
    assert heading.get_attribute("aria-sort") == "ascending"
    assert numbers == sorted(numbers)
    button.send_keys(Keys.ENTER)
    assert heading.get_attribute("aria-sort") == "descending"
    assert list(map(float, column(browser, "worst", 2))) == sorted(numbers, reverse=True)
    other = browser.find_element(By.CSS_SELECTOR, "#worst thead th:nth-child(2) button")
    other.send_keys(Keys.SPACE)
    rows = list(map(float, column(browser, "worst", 1)))
    assert rows == sorted(rows)
    assert heading.get_attribute("aria-sort") is None


def test_tables_are_searched(browser, pages):
    opened(browser, pages, "queries")
    browser.find_element(By.CSS_SELECTOR, "#quality ~ details summary").send_keys(Keys.ENTER)
    field = browser.find_element(By.ID, "queries-search")
    field.send_keys("17")
    rows = browser.find_elements(By.CSS_SELECTOR, "#queries tbody tr")
    shown = [row.text for row in rows if row.is_displayed()]
    assert shown
    assert len(shown) < len(rows)
    assert all("17" in text for text in shown)
    assert field.find_element(By.XPATH, "..").text.endswith(f"{len(shown)} found")


def parts(browser):
    return [float(value) for value in column(browser, "pair-table", 3)]


def expected_parts(report, first, second):
    model, X = report.data.models["RankSVM"], report.data.X
    return sorted(model.explain_pair(X[first], X[second]).tolist(), key=abs, reverse=True)


def row_number(field):
    return int(Select(field).first_selected_option.text.split("row ")[1].split(",")[0])


@pytest.mark.parametrize("name", ["queries", "intervals"])
def test_the_script_agrees_with_the_page_as_written(browser, pages, name):
    opened(browser, pages, name)
    before = browser.find_element(By.ID, "pair").text
    browser.find_element(By.ID, "pair-swap").click()
    assert browser.find_element(By.ID, "pair").text != before
    browser.find_element(By.ID, "pair-swap").click()
    assert browser.find_element(By.ID, "pair").text == before


def test_pairs_are_explained_by_click_and_by_keyboard(browser, pages):
    report = opened(browser, pages, "queries")
    scores = report.data.main_scores
    query, first, second = (browser.find_element(By.ID, f"pair-{name}") for name in ("query", "a", "b"))
    Select(query).select_by_index(4)
    Select(first).select_by_index(2)
    a, b = row_number(first), row_number(second)
    np.testing.assert_allclose(parts(browser), expected_parts(report, a, b), rtol=1e-7, atol=1e-9)
    first.send_keys(Keys.ARROW_DOWN)
    moved = row_number(first)
    assert moved != a
    np.testing.assert_allclose(parts(browser), expected_parts(report, moved, b), rtol=1e-7, atol=1e-9)
    assert sum(parts(browser)) == pytest.approx(scores[moved] - scores[b])
    assert f"Row {moved} is above row {b}" in browser.find_element(By.ID, "pair-answer").text
    browser.find_element(By.ID, "pair-swap").send_keys(Keys.ENTER)
    assert (row_number(first), row_number(second)) == (b, moved)
    assert f"Row {b} is below row {moved}" in browser.find_element(By.ID, "pair-answer").text


def test_a_pair_is_named_and_drawn_as_sure_or_not(browser, pages):
    report = opened(browser, pages, "intervals")
    first, second = (browser.find_element(By.ID, f"pair-{name}") for name in "ab")
    X, found, verdicts = report.data.X, report.inference, set()
    for place in range(1, len(Select(first).options)):
        Select(first).select_by_index(0)
        Select(second).select_by_index(place)
        expected = found.difference(X[row_number(first)], X[row_number(second)])
        is_sure = not expected.low[0] <= 0 <= expected.high[0]
        words = browser.find_element(By.ID, "pair-answer").text
        verdict = "but against the labels." if "against the labels (" in words else "the order is sure."
        assert words.endswith(verdict if is_sure else "the order is not sure.")
        table = browser.find_element(By.ID, "pair-table")
        assert ("unsure" in (table.get_attribute("class") or "")) == (not is_sure)
        verdicts.add(is_sure)
    assert verdicts == {True, False}


def test_a_query_opens_on_its_rows_and_its_wrong_pair(browser, pages):
    report = opened(browser, pages, "queries")
    link = browser.find_elements(By.CSS_SELECTOR, "#worst tbody a")[2]
    name = link.text
    link.click()
    data = report.data
    inside = np.flatnonzero(np.asarray(data.query_names)[data.query] == name)
    order = inside[np.argsort(-data.main_scores[inside], kind="stable")]
    rows = browser.find_elements(By.CSS_SELECTOR, "#documents-table tbody tr td:nth-child(2)")
    assert [int(row.text) for row in rows] == order.tolist()
    words = browser.find_element(By.ID, "documents-wrong").text
    first, second = (row_number(browser.find_element(By.ID, f"pair-{side}")) for side in ("a", "b"))
    assert words.startswith(f"Worst pair of query {name}: row {first} (label")
    assert f"is above row {second} (label" in words
    assert data.y[first] < data.y[second]
    assert data.main_scores[first] > data.main_scores[second]
    browser.find_element(By.ID, "documents-why").click()
    np.testing.assert_allclose(parts(browser), expected_parts(report, first, second), rtol=1e-7, atol=1e-9)


def test_only_long_lists_are_folded_and_not_printed(browser, pages):
    opened(browser, pages, "queries")
    left = browser.find_elements(By.CSS_SELECTOR, "details:not([open])")
    assert {fold.get_attribute("class") for fold in left} == {"long-list"}
    assert browser.find_element(By.ID, "queries") in [
        fold.find_element(By.TAG_NAME, "table") for fold in left
    ]


def test_heads_of_tables_hold_no_button_on_paper(browser, pages):
    """Chromium repeats the head of a table on the next page only where no control stands in it."""
    opened(browser, pages, "queries")
    shown = "return [...document.querySelectorAll('thead button')].map((b) => getComputedStyle(b).display)"
    assert set(browser.execute_script(shown)) == {"inline-block"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert set(browser.execute_script(shown)) == {"contents"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_everything_is_reached_by_the_tab_key_and_shows_it(browser, pages):
    opened(browser, pages, "queries")
    reached = set()
    for _ in range(80):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        outline = browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", active)
        if active.tag_name == "body":
            break
        assert outline != "none", active.get_attribute("outerHTML")[:80]
        reached.add(active.get_attribute("id") or active.tag_name)
    assert {"pair-query", "pair-a", "pair-b", "pair-swap", "button", "summary"} <= reached
