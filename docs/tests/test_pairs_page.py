"""The page on pairs: its slider counts what the library counts, and its figures are the recorded ones."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import reference
from browser import By, Keys, needs_browser, outside_requests, show, started
from rankwise import Preferences
from rankwise.losses import Hinge

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, tmp_path):
    """The part of the page that is plain HTML, with the files of the documentation beside it."""
    text = (DOCS / "pairs.md").read_text(encoding="utf-8")
    part = re.search(r"```\{raw\} html\n(.*?)```", text, re.DOTALL)
    shutil.copytree(DOCS / "_static", tmp_path / "_static")
    path = tmp_path / "pairs.html"
    path.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{part[1]}</body>', encoding="utf-8")
    browser.get_log("performance"), browser.get_log("browser")
    show(browser, path.as_uri())
    return browser


def text_of(page, name):
    return page.find_element(By.CSS_SELECTOR, f"[data-pairs={name}]").text


@needs_browser
def test_the_walk_counts_the_pairs_of_the_library(page):
    page.find_element(By.CSS_SELECTOR, "[data-pairs=row]").send_keys(Keys.END)
    found = page.execute_script("return document.querySelector('.pairs-walk').result")
    labels, scores, c, d = (
        np.array([step[key] for step in found["steps"]]) for key in ("label", "score", "c", "d")
    )
    violated = [(i, j) for i, j, *_ in reference.ranking_pairs(labels) if scores[i] - scores[j] < 1]
    np.testing.assert_array_equal(d, np.bincount([i for i, _ in violated], minlength=64))
    np.testing.assert_array_equal(c, np.bincount([j for _, j in violated], minlength=64))
    loss = Hinge(Preferences.from_scores(labels))
    value, gradient = loss.value_and_coefficients(scores)
    assert found["loss"] == pytest.approx(2016 * value, rel=1e-12)
    np.testing.assert_allclose(2016 * gradient, c - d, atol=1e-9)
    assert text_of(page, "loss") == f"{found['loss']:.6f}"
    assert (text_of(page, "compared"), text_of(page, "read")) == ("2,016", "256")
    assert 500 < len(violated) < 1500  # neither a sorted line nor a shuffled one
    assert page.get_log("browser") == []
    assert outside_requests(page) == []


@needs_browser
def test_a_step_of_the_slider_is_one_row(page):
    slider = page.find_element(By.CSS_SELECTOR, "[data-pairs=row]")
    slider.send_keys(Keys.HOME)
    assert (text_of(page, "number"), text_of(page, "compared"), text_of(page, "d")) == ("1", "0", "0")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert (text_of(page, "number"), text_of(page, "compared"), text_of(page, "read")) == ("2", "1", "8")
    marked = page.find_elements(By.CSS_SELECTOR, ".pairs-walk circle.marked")
    assert [dot.get_attribute("data-label") for dot in marked] == ["0"]


def test_the_table_is_the_recorded_one(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import counting

    assert counting.recorded_table() in (DOCS / "pairs.md").read_text(encoding="utf-8")


def test_the_picture_counts_each_violated_pair():
    svg = (DOCS / "images" / "pairs_counts.svg").read_text(encoding="utf-8")
    shown = [int(text) for text in re.findall(r'font-weight="bold">(\d+)</text>', svg)]
    grades, c, d = np.reshape(shown, (6, 3)).T
    scores = [float(text) for text in re.findall(r'font-weight="normal">(-?\d\.\d)</text>', svg)]
    differences = [
        (i, j) for i in range(6) for j in range(6) if grades[i] > grades[j] and scores[i] - scores[j] < 1
    ]
    assert c.tolist() == [sum(j == k for _, j in differences) for k in range(6)]
    assert d.tolist() == [sum(i == k for i, _ in differences) for k in range(6)]
    assert svg.count("marker-end") == len(differences)
