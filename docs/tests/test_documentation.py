"""The built documentation, where `make docs` has built it: what its search finds, and where names lead."""

import re
from pathlib import Path

import pytest

import rankwise
from browser import CONTRAST, needs_browser, show, started

BUILT = Path(__file__).parents[1] / "_build" / "html"
# What people type, and the pages that answer it.
OUR_WORDS = {
    "convert C": {"rank_svm", "coming_from"},
    "feature importance": {"reading_scores", "glossary"},
    "install": {"installation"},
    "cross_val_score": {"tuning"},
    "Bradley-Terry": {"leaderboard", "generated/rankwise.BradleyTerry"},
    "memory": {"larger"},
    "how much data": {"larger"},
    "ties": {"data", "leaderboard", "glossary", "questions"},
    "NDCG": {"generated/rankwise.metrics.ndcg"},
    "probabilities": {"reading_scores", "rank_logistic"},
    "AUC": {"data", "gallery/plot_auc"},
    "chosen rejected": {"gallery/plot_reward", "networks", "data", "glossary"},
    "Dask": {"larger"},
    "Elasticsearch": {"serving"},
    "GPU": {"networks"},
    "LETOR": {"files"},
    "save model": {"serving", "questions"},
    "standard errors": {"how_sure"},
    "conformal": {"how_sure", "generated/rankwise.ConformalRanks"},
    "missing values": {"questions", "data", "choosing"},
    "categorical features": {"questions", "data", "choosing"},
    "random_state reproducible": {"questions"},
    "train test split by query": {"questions"},
    "early stopping": {"questions", "boosters"},
    "sample weights": {"questions", "data"},
    "normalize features": {"questions", "tuning"},
    "Windows": {"questions", "installation"},
    "convergence warning": {"questions"},
    "how do I rank new data": {"questions"},
    "multi label": {"questions"},
    "text features tf-idf": {"questions"},
    "plot feature importance": {"questions", "reading_scores"},
}
# In the words of threads of other projects, and of users of trec_eval, RankLib, lifelines and statsmodels.
THEIR_WORDS = {
    "lambdamart": {"boosters", "glossary", "questions"},
    "GridSearchCV group": {"questions", "tuning"},
    "explain ranking shap": {"questions", "glossary"},
    "explainable boosting machine ranking": {"questions", "curves", "benchmarks", "glossary"},
    "confidence intervals coefficients": {"how_sure", "questions"},
    "c-index": {"glossary", "survival"},
    "concordance index": {"survival", "questions", "generated/rankwise.metrics.concordance"},
    "hazard ratio": {"how_sure"},
    "significance test": {"reading_scores", "glossary", "how_sure", "generated/rankwise.evaluation.compare"},
    "ordinal regression": {"ordinal_svm"},
    "ordered logit": {"glossary", "ordinal_svm"},
    "regularization": {"tuning", "glossary", "rank_svm"},
    "qrels": {"runs"},
    "trec_eval": {"runs", "glossary"},
    "MRR": {"glossary", "tuning", "command_line", "generated/rankwise.metrics.reciprocal_rank"},
    "RLHF": {"glossary"},
    "Plackett-Luce": {"glossary"},
    "unbalanced classes": {"glossary"},
    "position bias": {"clicks", "gallery/plot_clicks", "glossary"},
    "monotonic constraint": {"curves", "glossary"},
    "incremental learning partial_fit": {"questions"},
    "online update new votes": {"questions"},
    "conda": {"questions", "installation"},
    "pip install github": {"questions", "installation"},
    "cite": {"questions"},
    "mlflow": {"questions", "serving"},
    "fastapi serving": {"questions", "serving"},
    "recommend users items": {"questions"},
    "LLM judge": {"questions", "judges"},
    "hyperparameter tuning optuna": {"questions", "tuning"},
    "compare two models p-value": {"questions", "generated/rankwise.evaluation.compare"},
    "group parameter LightGBM": {"coming_from", "boosters"},
}
WANTED = OUR_WORDS | THEIR_WORDS
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


@needs_browser
def test_the_search_leaves_out_the_changelog(browser):
    assert "changelog" not in browser.execute_script(FIND, "certified gap")


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["index", "serving", "gallery/index", "generated/rankwise.RankSVM"])
def test_text_stands_out(browser, page, scheme):
    show(browser, f"file://{BUILT / page}.html", scheme)
    # Colours that fade in are judged by where they end.
    browser.execute_script("document.body.append(document.createElement('style'))")
    browser.execute_script("document.body.lastChild.textContent = '* { transition: none !important; }'")
    found = browser.execute_script(CONTRAST)
    assert len(found) > 60
    assert [entry for entry in found if entry[0] < 4.5] == []


# Formulas that are wider than what is there for them, where they cannot be scrolled.
CLIPPED = """
return Array.from(document.querySelectorAll("article mjx-container > mjx-math"))
  .filter((e) => e.getBoundingClientRect().right > e.closest("p, div").getBoundingClientRect().right + 1)
  .filter((e) => getComputedStyle(e.closest(".math")).overflowX !== "auto")
  .map((e) => e.closest("p, div").textContent.slice(0, 80));
"""


@needs_browser
@pytest.mark.parametrize("page", ["api", "hull_ranker", "rank_svm"])
def test_a_phone_shows_formulas_whole(browser, page):
    show(browser, f"file://{BUILT / page}.html", width=390)
    browser.execute_async_script("MathJax.startup.promise.then(arguments[0])")
    assert browser.execute_script("return document.querySelectorAll('article mjx-math').length") > 5
    assert browser.execute_script(CLIPPED) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_names_of_the_library_are_links():
    names = {name for name in rankwise.__all__ if name != name.lower()}
    found = {name: 0 for name in names}
    for page in (Path(__file__).parents[1]).glob("*.md"):
        text = (BUILT / f"{page.stem}.html").read_text(encoding="utf-8")
        article = re.sub(r"<h\d>.*?</h\d>", "", text[text.index("<article") : text.index("</article>")])
        for link, name in CODE.findall(article):
            if name in names:
                assert f"generated/rankwise.{name}.html" in link, (page.name, name)
                found[name] += 1
    assert sum(found.values()) > 50
