"""Numbers in marked spans of the pages are those of the recorded results.

A span names a record, a path in it, and what is printed:

    <!-- whole_fit: tasks.0.fits.0.seconds.0 -->1.05<!-- / -->

A part `*` of a path stands for all entries, with `min` or `max` before the path, and `a / b` is a ratio.
"""

import contextlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SPAN = re.compile(r"<!-- (\w+): ([^>]+?) -->([^<]*)<!-- / -->")


def entries(value, path):
    """Yield what a path leads to; names may contain dots."""
    if not path:
        yield value
        return
    if not isinstance(value, dict | list):
        raise KeyError(path)
    if isinstance(value, list):
        value = {str(place): one for place, one in enumerate(value)}
    if path.startswith("*"):
        for one in value.values():
            with contextlib.suppress(KeyError):  # a run that was not made has no such entry
                yield from entries(one, path[1:].removeprefix("."))
        return
    for name in sorted(value, key=len, reverse=True):
        if path == name or path.startswith(f"{name}."):
            yield from entries(value[name], path[len(name) :].removeprefix("."))
            return
    raise KeyError(path)


def recorded(record, expression):
    """Return the number that an expression stands for."""
    if " / " in expression:
        above, below = expression.split(" / ")
        return recorded(record, above) / recorded(record, below)
    choose = {"min": min, "max": max}.get(expression.partition(" ")[0])
    if choose is not None:
        return choose(entries(record, expression.partition(" ")[2]))
    (value,) = entries(record, expression)
    return value


def spans(page):
    return SPAN.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if spans(page)], ids=lambda page: page.name)
def test_marked_numbers_are_recorded(page):
    for name, expression, shown in spans(page):
        path = ROOT / "benchmarks" / "results" / f"{name}.json"
        value = recorded(json.loads(path.read_text(encoding="utf-8")), expression)
        decimals = len(shown.partition(".")[2])
        assert f"{value:.{decimals}f}" == f"{float(shown.replace(',', '')):.{decimals}f}", (
            name,
            expression,
            shown,
        )


def test_important_numbers_are_marked():
    assert spans(ROOT / "README.md")
    assert sum(len(spans(page)) for page in PAGES) >= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_marks_are_whole_and_within_lines(page):
    """A comment at the start of a line would end the paragraph."""
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- / -->") == len(SPAN.findall(text))
    assert not re.findall(r"^<!-- \w+: [^>]+ -->.*<!-- / -->", text, re.MULTILINE)


def test_a_changed_number_is_found():
    record = {"a.b": [{"c": 1.234}, {"c": 5.0}]}
    assert recorded(record, "a.b.0.c") == 1.234
    assert recorded(record, "max a.b.*.c") == 5.0
    assert round(recorded(record, "a.b.1.c / a.b.0.c"), 2) == 4.05
