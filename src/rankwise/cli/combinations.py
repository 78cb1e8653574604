"""The options that need or exclude each other."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

from rankwise.cli.arguments import UsageError


class Combination(NamedTuple):
    """Each of some options needs, or excludes, each of some others; in all commands that have both."""

    names: str
    needs: str = ""
    excludes: str = ""
    reason: str = ""
    commands: str = ""


OF_MODELS = (
    "model against at relevant_at gain undefined survival label qid categories features sep zero_based dask"
)
COMBINATIONS = (
    Combination("survival pairs clicked", excludes="label", reason="which it replaces"),
    Combination("pairs clicked", excludes="survival"),
    Combination("clicked", excludes="pairs dask calibrate categories valid"),
    Combination("survival pairs", excludes="calibrate dask", commands="train tune"),
    Combination("categories", excludes="dask", reason="which reads labels as numbers", commands="train tune"),
    Combination("exclude", excludes="features", reason="which names all features"),
    Combination("margin", needs="pairs"),
    Combination("position impression document propensity clip", needs="clicked"),
    Combination("clicked", needs="position qid"),
    Combination("alphas", needs="tune"),
    Combination("resume", needs="output", reason="as the checkpoint is beside the model"),
    Combination("cluster", needs="training"),
    Combination("qrels", needs="run_files"),
    Combination("run_files", needs="qrels", reason="the file of the judgements"),
    Combination("run_files", excludes=OF_MODELS, reason="as the scores are in the files"),
)
# Values that an option has if it is not given, besides None and False.
UNSET: dict[str, Any] = {"at": [5, 10], "gain": "exponential", "undefined": "skip", "data": []}
FLAGS = {"run_files": "--run", "model": "a model"}


def check_combinations(options: argparse.Namespace) -> None:
    """Refuse options without others that they need, and options that exclude each other."""
    for rule in COMBINATIONS:
        if rule.commands and options.command not in rule.commands.split():
            continue
        for name in (name for name in rule.names.split() if is_given(options, name)):
            for other in rule.needs.split():
                if hasattr(options, other) and not is_given(options, other):
                    raise UsageError(f"{flag(name)} needs {flag(other)}{because(rule)}.")
            for other in rule.excludes.split():
                if is_given(options, other):
                    raise UsageError(f"{flag(name)} cannot be used with {flag(other)}{because(rule)}.")


def is_given(options: argparse.Namespace, name: str) -> bool:
    """Return whether a command has an option that is given."""
    value = getattr(options, name, None)
    return not (value is None or value is False or value == UNSET.get(name))


def flag(name: str) -> str:
    """Return the name of an option as users write it."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def because(rule: Combination) -> str:
    """Return the reason of a rule as the end of a sentence."""
    return f", {rule.reason}" if rule.reason else ""
