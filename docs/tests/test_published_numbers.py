"""Numbers in the text of pages are those of the recorded results: claims.toml names the record of each."""

import contextlib
import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLAIMS = tomllib.loads((Path(__file__).parent / "claims.toml").read_text(encoding="utf-8"))["claim"]
NUMBER = r"([\d,]*\.?\d+)"


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


def pattern(text):
    """Return the pattern of a text with {} for its number; spaces may be ends of lines."""
    parts = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in text.split("{}")]
    return NUMBER.join(parts)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim['page']}: {claim['text']}")
def test_published_numbers_are_recorded(claim):
    (shown,) = re.findall(pattern(claim["text"]), (ROOT / claim["page"]).read_text(encoding="utf-8"))
    path = ROOT / "benchmarks" / "results" / f"{claim['record']}.json"
    value = recorded(json.loads(path.read_text(encoding="utf-8")), claim["path"])
    decimals = len(shown.partition(".")[2])
    assert f"{value:.{decimals}f}" == f"{float(shown.replace(',', '')):.{decimals}f}"


def test_a_changed_number_is_found():
    record = {"a.b": [{"c": 1.234}, {"c": 5.0}]}
    assert recorded(record, "a.b.0.c") == 1.234
    assert recorded(record, "max a.b.*.c") == 5.0
    assert round(recorded(record, "a.b.1.c / a.b.0.c"), 2) == 4.05
