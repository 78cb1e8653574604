"""The tables of the pages are those that the scripts of benchmarks write from their records."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def read(script):
    return json.loads(script.RESULTS.read_text(encoding="utf-8"))


# How each script writes its tables.
WRITERS = {
    "auto": lambda script: script.write_table(),
    "budgets": lambda script: script.write_table(),
    "boosters": lambda script: script.write_page(script.Results(script.RESULTS), script.N_SPLITS),
    "clicks": lambda script: script.write_tables(),
    "cox_accuracy": lambda script: script.write_table(),
    "curves": lambda script: script.write_table(),
    "dask_scaling": lambda script: script.draw(read(script)),
    "defaults": lambda script: script.write_tables(),
    "few_features": lambda script: script.write_table(),
    "kernel_defaults": lambda script: script.write_tables(),
    "leaderboard": lambda script: script.write_table(),
    "rank_rls": lambda script: script.write_tables(),
    "suite": lambda script: script.write_table(),
    "tuning": lambda script: script.write_tables(),
    "which_next": lambda script: script.write_table(),
    "whole_fit": lambda script: script.write_tables(read(script)),
    "wins": lambda script: script.write_table(),
}
NEEDS = {
    "budgets": ("lightgbm",),
    "dask_scaling": ("dask", "distributed"),
    "defaults": ("lightgbm",),
    "whole_fit": ("lightgbm",),
}


@pytest.fixture
def load(monkeypatch):
    """Load a script by its path, as some have names of packages, and forget the modules that it loads."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    known = set(sys.modules)

    def load(name):
        source = importlib.util.spec_from_file_location(
            f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py"
        )
        script = importlib.util.module_from_spec(source)
        monkeypatch.setitem(sys.modules, source.name, script)  # dataclasses look there
        source.loader.exec_module(script)
        return script

    yield load
    for name in set(sys.modules) - known:
        if (
            getattr(sys.modules[name], "__file__", None)
            and "benchmarks" in Path(sys.modules[name].__file__).parts
        ):
            del sys.modules[name]


@pytest.mark.parametrize("name", WRITERS)
def test_the_page_shows_what_is_recorded(name, load, tmp_path, monkeypatch):
    """If this fails: python benchmarks/<name>.py --table (or --draw)."""
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    script = load(name)
    page, copy = script.PAGE, tmp_path / "page.md"
    assert page.parent == DOCS
    copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(script, "PAGE", copy)
    WRITERS[name](script)
    assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
