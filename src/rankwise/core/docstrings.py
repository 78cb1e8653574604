"""Docstrings of classes that share parameters: each parameter is described once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)
SECTION = re.compile(
    r"^Parameters\n-{3,}\n(.*?)(?=\n\n[A-Z][A-Za-z ]+\n-{3,}\n|\Z)", re.DOTALL | re.MULTILINE
)
ENTRY = re.compile(r"^(\S.*(?:\n(?: .*)?)*)", re.M)


def described_as(other: type) -> Callable[[Kind], Kind]:
    """Return a class decorator that replaces "... : As in `Other`." by the entries of the other class.

    Parameters
    ----------
    other : type
        A class with the same parameters. Entries are in the order of the signature.

    Examples
    --------
    >>> class First:
    ...     '''A model.
    ...
    ...     Parameters
    ...     ----------
    ...     a, b : int
    ...         Two numbers.
    ...     '''
    >>> @described_as(First)
    ... class Second:
    ...     '''Another model.
    ...
    ...     Parameters
    ...     ----------
    ...     ... :
    ...         As in `First`.
    ...     '''
    ...
    ...     def __init__(self, b): ...
    >>> Second.__doc__.splitlines()[-2:]
    ['b : int', '    Two numbers.']
    """

    def decorate(kind: Kind) -> Kind:
        text, mark = inspect.cleandoc(kind.__doc__ or ""), f"As in `{other.__name__}`."
        order = {name: place for place, name in enumerate(inspect.signature(kind).parameters)}
        entries = [entry for entry in _entries(text) if entry[1].strip() != mark]
        missing = order.keys() - {name for names, _ in entries for name in names}
        shared = _entries(inspect.cleandoc(other.__doc__ or ""))
        entries += [([name for name in names if name in missing], rest) for names, rest in shared]
        entries = [entry for entry in entries if entry[0]]
        entries.sort(key=lambda entry: min(order.get(name, len(order)) for name in entry[0]))
        section = "\n".join(f"{', '.join(names)} :{rest}" for names, rest in entries)
        kind.__doc__ = SECTION.sub(lambda _: f"Parameters\n----------\n{section}", text, count=1) + "\n"
        return kind

    return decorate


def _entries(text: str) -> list[tuple[list[str], str]]:
    """Return the names of each entry of the parameters, and its type and description."""
    section = SECTION.search(text)
    parts = [] if section is None else [one.rstrip().partition(" :") for one in ENTRY.findall(section[1])]
    return [(names.split(", "), rest) for names, _, rest in parts]
