"""Every example of the gallery runs, and the pages that users read name what there is."""

import importlib
import inspect
import re
import runpy
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = sorted((ROOT / "docs").glob("*.md"))
NEEDS = {"plot_dask": "dask.array", "plot_hull": "networkx", "plot_network": "torch"}
PUBLIC = (
    "rankwise",
    "rankwise.datasets",
    "rankwise.evaluation",
    "rankwise.metrics",
    "rankwise.model_selection",
    "rankwise.objectives",
    "rankwise.plotting",
    "rankwise.report",
)


@pytest.fixture
def pyplot(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="the examples need matplotlib.")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_draws(path, pyplot, monkeypatch):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason=f"pip install {NEEDS[path.stem].partition('.')[0]}")
    monkeypatch.setattr(sys, "argv", [str(path)])
    with warnings.catch_warnings():
        # A name of matplotlib that a later version takes away is no fault of the example.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="matplotlib")
        runpy.run_path(str(path), run_name="__main__")
    assert pyplot.get_fignums(), "the example draws nothing"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_has_a_title_and_a_finding(path):
    """sphinx-gallery takes the title from the first lines of the docstring."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"""'
    assert lines[2] == "=" * len(lines[1])
    assert lines[3] == ""
    assert lines[4]


def test_every_example_stands_under_one_task_of_the_gallery():
    index = (ROOT / "examples" / "index.rst").read_text(encoding="utf-8")
    assert sorted(re.findall(r"examples/(plot_\w+)\.py", index)) == [path.stem for path in EXAMPLES]


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module):
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").split()
    package = importlib.import_module(module)
    names = [name for name in package.__all__ if not inspect.ismodule(getattr(package, name))]
    assert not [name for name in names if name not in reference]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_and_pictures_are_in_the_repository(page):
    """A page on GitHub has nothing but the repository: Sphinx turns links to examples into the gallery's."""
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = {target for target in targets if "://" not in target and not target.startswith("mailto:")}
    made = ("_build", "gallery", "generated")
    assert not [target for target in local if target.removeprefix("docs/").startswith(made)]
    assert not [target for target in local if not (page.parent / target).exists()]


def test_links_of_the_readme_lead_to_headings():
    """Sphinx checks those between pages, but not these."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    wanted = re.findall(r"\]\((docs/[^)#]+\.md)#([^)]+)\)", readme)
    assert wanted
    for page, anchor in wanted:
        headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def badge(name):
    """Return the words of a badge of the README, label and value."""
    svg = (ROOT / "docs" / "images" / f"badge_{name}.svg").read_text(encoding="utf-8")
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_badges_agree_with_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [c.rpartition(" ")[2] for c in project["classifiers"] if "Python :: 3." in c]
    status = next(c for c in project["classifiers"] if c.startswith("Development Status"))
    assert badge("python") == ["Python", f"{versions[0]} to {versions[-1]}"]
    assert badge("licence") == ["licence", project["license"]]
    assert badge("status") == ["status", status.rpartition(" ")[2].lower()]


def test_every_extra_is_on_the_page_of_installation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    for_developers = {"dev", "docs", "fuzz", "mutate", "race"}
    listed = re.findall(
        r"`(\w+)`", " ".join(line.split("|")[1] for line in page.splitlines() if "| `" in line)
    )
    assert set(listed) == set(project["optional-dependencies"]) - for_developers


def test_the_pages_show_the_recorded_coverage(monkeypatch):
    """If this fails: python benchmarks/coverage.py --table."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    coverage = importlib.import_module("coverage_cases.pages")
    pages = "".join(page.read_text(encoding="utf-8") for page in coverage.PAGES)
    for table in coverage.tables().values():
        assert table in pages
