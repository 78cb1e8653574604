"""The built documentation, where `make docs` has built it: what its search finds, and where names lead."""

import re
from pathlib import Path

import pytest

import rankwise
from browser import needs_browser, show, started

BUILT = Path(__file__).parents[1] / "docs" / "_build" / "html"
# What people type, and the pages that answer it.
WANTED = {
    "convert C": {"rank_svm", "coming_from"},
    "SVMrank c": {"rank_svm", "coming_from", "command_line"},
    "feature importance": {"reading_scores"},
    "install": {"installation"},
    "cross_val_score": {"tuning"},
    "concordance": {"survival"},
    "Bradley-Terry": {"leaderboard"},
    "memory": {"how_much_data"},
    "ties": {"ties"},
    "NDCG": {"generated/rankwise.metrics.ndcg"},
    "how much data": {"how_much_data"},
    "probabilities": {"reading_scores", "rank_logistic"},
    "survival": {"survival"},
    "liblinear": {"rank_svm", "coming_from"},
    "scikit-survival": {"coming_from", "survival"},
}
pytestmark = pytest.mark.skipif(
    not (BUILT / "searchindex.js").is_file(), reason="`make docs` has not been run: no pages to look at."
)
CODE = re.compile(
    r'(<a [^>]*>)?<code class="docutils literal notranslate"><span class="pre">(\w+)</span></code>'
)
# The search of the page itself, without drawing what it found; the best result is the last.
FIND = """
const [query, ...terms] = Search._parseQuery(arguments[0]);
return Search._performSearch(query, ...terms).map((result) => result[0]).reverse();
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("profile"))
    show(driver, f"file://{BUILT / 'search.html'}")
    # The index is fetched only for a question.
    driver.execute_async_script(
        "const done = arguments[0], script = document.createElement('script');"
        "script.src = 'searchindex.js'; script.onload = () => done(); document.head.append(script);"
    )
    yield driver
    driver.quit()


@needs_browser
@pytest.mark.parametrize("question", WANTED)
def test_the_search_finds_the_page_among_the_first_three(browser, question):
    found = list(dict.fromkeys(browser.execute_script(FIND, question)))
    assert WANTED[question] & set(found[:3]), found[:6]


def test_names_of_the_library_are_links():
    names = {name for name in rankwise.__all__ if name != name.lower()}
    found = {name: 0 for name in names}
    for page in (Path(__file__).parents[1] / "docs").glob("*.md"):
        text = (BUILT / f"{page.stem}.html").read_text(encoding="utf-8")
        article = re.sub(r"<h\d>.*?</h\d>", "", text[text.index("<article") : text.index("</article>")])
        for link, name in CODE.findall(article):
            if name in names:
                assert f"generated/rankwise.{name}.html" in link, (page.name, name)
                found[name] += 1
    assert sum(found.values()) > 50
