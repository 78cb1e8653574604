"""Several outputs: a list of preferences among the same rows."""

from __future__ import annotations

from typing import Any

from rankwise.preferences.base import Preferences


def is_preferences_list(y: Any) -> bool:
    """Return whether y is a list of preferences, one for each output."""
    return isinstance(y, list | tuple) and len(y) > 0 and all(isinstance(one, Preferences) for one in y)


def same_rows(outputs: Any) -> list[Preferences]:
    """Return the preferences of each output; all must be among the same rows."""
    lengths = [output.n_rows for output in outputs]
    if len(set(lengths)) > 1:
        raise ValueError(f"All outputs of y must be among the same rows; they have {lengths} rows.")
    return list(outputs)
