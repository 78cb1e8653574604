"""States of work that may be interrupted: arrays by name, which checkpoints keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

State = dict[str, NDArray[Any]]


def nested(name: str, state: State) -> State:
    """Return a state as a part of a larger one.

    Examples
    --------
    >>> import numpy as np
    >>> nested("planes", {"offsets": np.zeros(1)})
    {'planes/offsets': array([0.])}
    """
    return {f"{name}/{key}": value for key, value in state.items()}


def joined(states: Iterable[State]) -> State:
    """Return several states as one, by their numbers."""
    found: State = {}
    for number, state in enumerate(states):
        found |= nested(str(number), state)
    return found


def part_of(state: State, name: str) -> State:
    """Return a part that `nested` or `joined` put into a state, empty if it is not there.

    Examples
    --------
    >>> part_of({"0/coef": "w", "1/coef": "v"}, "1")
    {'coef': 'v'}
    """
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
