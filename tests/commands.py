"""Run commands and compare their results."""

import json

import pytest

from rankwise.cli.main import main


def run(capsys, *arguments):
    """Run a command that must end well; return its JSON."""
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def result_of(capsys, *arguments):
    """Run a command that must end well; return its JSON without times, and its notes."""
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    output = capsys.readouterr()
    return json.loads(output.out) | {"seconds": None}, output.err


def assert_close(found, expected):
    """Compare results of JSON; numbers to 1e-10."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_close(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-10)
    else:
        assert found == expected
