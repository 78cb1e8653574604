"""The table of options that need or exclude each other: every entry holds in some command."""

import argparse

import pytest

from rankwise.cli.arguments import COMBINATIONS, UsageError, check_combinations, flag
from rankwise.cli.main import build_parser

PAIRS = [
    (rule, name, other, kind)
    for rule in COMBINATIONS
    for name in rule.names.split()
    for kind in ("needs", "excludes")
    for other in getattr(rule, kind).split()
]


def commands():
    """Return the values of the options of each command if none is given."""
    (parsers,) = [action for action in build_parser()._actions if isinstance(action.choices, dict)]
    return {
        name: {action.dest: action.default for action in parser._actions}
        for name, parser in parsers.choices.items()
    }


def test_a_command_without_options_is_not_refused():
    for command, values in commands().items():
        check_combinations(argparse.Namespace(command=command, **values))


@pytest.mark.parametrize(("rule", "name", "other", "kind"), PAIRS)
def test_each_entry_refuses_its_pair_in_some_command(rule, name, other, kind):
    others = {one for of in COMBINATIONS if name in of.names.split() for one in of.needs.split()} - {other}
    n_refused = 0
    for command, values in commands().items():
        if not {name, other} <= set(values) or (rule.commands and command not in rule.commands.split()):
            continue
        given = values | dict.fromkeys([name, *(others & set(values))], "given")
        if kind == "excludes":
            given[other] = "given"
        with pytest.raises(UsageError, match=f"{flag(name)} .* with|{flag(name)} needs|{flag(other)}"):
            check_combinations(argparse.Namespace(command=command, **given))
        n_refused += 1
    assert n_refused > 0
