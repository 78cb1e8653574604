"""Docstrings of public names have the sections that numpydoc asks for."""

import importlib
import inspect

import pytest

validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed.").validate

MODULES = (
    "rankwise",
    "rankwise.datasets",
    "rankwise.distributed",
    "rankwise.evaluation",
    "rankwise.leaderboard",
    "rankwise.metrics",
    "rankwise.model_selection",
    "rankwise.objectives",
    "rankwise.plotting",
    "rankwise.preprocessing",
    "rankwise.report",
)
# Parameters without a description, unknown ones, no Returns, and sections in a wrong order.
ASKED = {"PR01", "PR02", "PR07", "RT01", "GL02", "GL07"}


def public():
    """Functions, estimators and displays; results describe their attributes."""
    for module in MODULES:
        package = importlib.import_module(module)
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isfunction(found) or (inspect.isclass(found) and hasattr(found, "fit")):
                yield f"{module}.{name}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(set(public())))
def test_sections_are_complete(path):
    errors = validate(path)["errors"]
    passed_on = [text for _, text in errors if "**" in text or "Unknown parameters {" in text]
    assert not [text for code, text in errors if code in ASKED and text not in passed_on]
