"""Skips the examples in docstrings and pages that need a package too large for every environment."""

from importlib.util import find_spec

import pytest

# The package that a module imports, or that an example in a docstring or a page does.
NEEDS = {
    "pytorch.py": "torch",
    "on_device.py": "torch",
    "rankwise.objectives.networks.torch": "torch",
    "networks.md": "torch",
}
MISSING = {name: package for name, package in NEEDS.items() if find_spec(package) is None}


def pytest_ignore_collect(collection_path):
    """Leave out a module that cannot be imported."""
    return True if collection_path.suffix == ".py" and collection_path.name in MISSING else None


def pytest_collection_modifyitems(items):
    """Say how to get what an example needs."""
    for item in items:
        if item.name in MISSING:
            item.add_marker(pytest.mark.skip(reason=f"pip install {MISSING[item.name]}"))
