"""The page on which points are dragged: its numbers are the library's, whatever is dragged or pressed."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from browser import ActionChains, By, Keys, Select, needs_browser, outside_requests, show, started
from rankwise import RankRLS, RankSVM

pytestmark = needs_browser
DOCS = Path(__file__).parents[1]
MODELS = {
    "hinge": lambda alpha: RankSVM(alpha, tol=1e-10),
    "squared_hinge": lambda alpha: RankSVM(alpha, loss="squared_hinge", tol=1e-10),
    "least_squares": lambda alpha: RankRLS(alpha, cost="unit"),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, tmp_path):
    """The part of the page that is plain HTML, with the files of the documentation beside it."""
    part = re.search(r"```\{raw\} html\n(.*?)```", (DOCS / "try.md").read_text(encoding="utf-8"), re.DOTALL)
    shutil.copytree(DOCS / "_static", tmp_path / "_static")
    path = tmp_path / "try.html"
    path.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{part[1]}</body>', encoding="utf-8")
    browser.get_log("performance"), browser.get_log("browser")
    show(browser, path.as_uri())
    return browser


def result(page):
    return page.execute_script("return document.querySelector('.try').result")


def arrays(points):
    return np.array([[p["x"], p["y"]] for p in points]), np.array([p["grade"] for p in points])


def check(found):
    """The numbers of the script are those of the library."""
    X, y = arrays(found["points"])
    model = MODELS[found["loss"]](found["alpha"]).fit(X, y)
    assert found["objective"] == pytest.approx(model.objective_, rel=1e-8)
    np.testing.assert_allclose(found["w"], model.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["scores"], model.predict(X), rtol=1e-3, atol=1e-3)
    margins = np.array([pair["margin"] for pair in found["pairs"]])
    assert len(margins) == model.n_pairs_
    if np.abs(margins).min() > 1e-3:  # no pair that rounding could turn
        assert 1 - found["error"] == pytest.approx(model.score(X, y), abs=1e-12)


@pytest.mark.parametrize("loss", MODELS)
def test_random_points_have_the_weights_of_the_library(page, loss):
    generator = np.random.default_rng(0)
    for alpha in (1e-3, 0.03, 1.0):
        for n_points in (2, 5, 10):
            X, y = generator.uniform(0, 8, (n_points, 2)).round(2), generator.integers(1, 5, n_points)
            y[:2] = 1, 2  # at least one pair
            points = [
                {"x": a, "y": b, "grade": int(grade)} for (a, b), grade in zip(X.tolist(), y, strict=True)
            ]
            found = page.execute_script("return Try.solve(...arguments)", points, alpha, loss)
            check(found | {"points": points, "alpha": alpha, "loss": loss})


def test_the_page_opens_without_errors_and_without_requests(page):
    assert page.get_log("browser") == []
    assert outside_requests(page) == []
    check(result(page))


def test_a_drag_moves_a_point_and_the_numbers_follow(page):
    before = result(page)
    point = page.find_elements(By.CSS_SELECTOR, ".point")[6]
    ActionChains(page).drag_and_drop_by_offset(point, -180, 150).perform()
    after = result(page)
    assert after["points"][6]["x"] < before["points"][6]["x"] - 2
    assert after["points"][6]["y"] < before["points"][6]["y"] - 2
    assert after["points"][6]["grade"] == before["points"][6]["grade"]
    assert after["objective"] > before["objective"]
    check(after)
    wrong = sum(pair["margin"] <= 0 for pair in after["pairs"])
    assert page.find_element(By.CSS_SELECTOR, "[data-try=wrong]").text == str(wrong)
    assert len(page.find_elements(By.CSS_SELECTOR, ".pairs line.wrong")) == wrong


def test_a_click_and_keys_change_grade_place_and_loss(page):
    point = page.find_elements(By.CSS_SELECTOR, ".point")[0]
    point.click()
    assert result(page)["points"][0]["grade"] == 2
    point.send_keys("-", "-", Keys.ARROW_RIGHT, Keys.ARROW_UP)  # there is no grade below 1
    assert result(page)["points"][0] == {"x": 1.3, "y": 1.2, "grade": 1}
    for loss in MODELS:
        Select(page.find_element(By.CSS_SELECTOR, "[data-try=loss]")).select_by_value(loss)
        assert result(page)["loss"] == loss
        check(result(page))
    page.find_element(By.CSS_SELECTOR, "[data-try=alpha]").send_keys(Keys.END)
    assert result(page)["alpha"] == pytest.approx(10.0)
    check(result(page))
    page.find_element(By.CSS_SELECTOR, "[data-try=reset]").click()
    assert result(page)["points"][0]["x"] == 1.2
    assert (result(page)["loss"], result(page)["alpha"]) == ("hinge", pytest.approx(10**-1.5, rel=0.02))


def test_the_code_on_the_page_gives_the_numbers_on_the_page(page, capsys):
    code = page.find_element(By.CSS_SELECTOR, "[data-try=code]").text
    model = {}
    exec(code, model)
    shown = page.find_element(By.CSS_SELECTOR, "[data-try=objective]").text
    assert f"{model['model'].objective_:.4f}" == shown
    assert capsys.readouterr().out.startswith("[")


def test_equal_grades_leave_no_pair(page):
    points = [{"x": 1, "y": 2, "grade": 3}, {"x": 2, "y": 2, "grade": 3}]
    found = page.execute_script("return Try.solve(arguments[0], 1, 'hinge')", points)
    assert (found["pairs"], found["w"]) == ([], [0, 0])
