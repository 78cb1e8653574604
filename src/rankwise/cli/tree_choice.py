"""The choice of the size and the number of boosted trees in `tune` and `train --tune`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rankwise.model_selection.search import Choice


@dataclass
class TreeChoice(Choice):
    """Candidates for the size of trees; `alphas` has the best number of trees of each."""

    candidates: list[dict[str, Any]] = field(default_factory=list)


def candidate_text(candidate: dict[str, Any]) -> str:
    """Return a candidate in words.

    Examples
    --------
    >>> candidate_text({"num_leaves": 15, "min_child_samples": 5})
    'num leaves 15, min child samples 5'
    """
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in candidate.items())
