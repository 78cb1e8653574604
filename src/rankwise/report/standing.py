"""Which model is the best, which may be as good, and what a model is to be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankwise.core.text import listed
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.paired import differences
from rankwise.evaluation.single_feature import SingleFeature
from rankwise.report.page import share

# The number of models that a sentence names; it counts the others.
LISTED = 3


@dataclass(frozen=True)
class Standing:
    """The best of several models by a measure, and the others that are not clearly different from it."""

    best: str
    as_good: list[str]


def standing(found: Mapping[str, Measured]) -> Standing:
    """Compare the best model with each of the others, corrected for their number."""
    first = next(iter(found.values()))
    sign = 1.0 if first.measure.higher_is_better else -1.0
    means = np.array([sign * one.mean for one in found.values()])
    best = list(found)[int(np.argmax(np.nan_to_num(means, nan=-np.inf)))]
    ordered = {best: [found[best]]} | {name: [one] for name, one in found.items() if name != best}
    apart = differences(ordered)
    return Standing(best, [one.other for one in apart if not one.is_clear])


def best_in_words(name: str, found: Mapping[str, Measured]) -> str:
    """State that another model than the named one is the best, and which may be as good; else empty."""
    ours = found[name]
    if len(found) < 2 or ours.mean != ours.mean:
        return ""
    place = standing(found)
    if place.best == name or found[place.best].mean == ours.mean:
        return ""
    fraction = share(found[place.best].in_order[0])
    if name in place.as_good:
        others = listed(place.as_good, LISTED)
        return (
            f"{place.best} has the highest fraction, {fraction}; {others} cannot be told from it (p > 0.05)."
        )
    which = "the better of the two" if len(found) == 2 else f"the best of {len(found)} models"
    words = f"{place.best} is {which}, with {fraction} of pairs in order"
    if not place.as_good:
        return f"{words}."
    return f"{words}; {listed(place.as_good, LISTED)} cannot be told from it (p > 0.05)."


def baseline_in_words(single: SingleFeature | None) -> str:
    """State what chance and the best single feature give."""
    if single is None or single.found.mean != single.found.mean:
        return "50% is chance."
    way = " (the lowest first)" if single.is_reversed else ""
    return (
        f"50% is chance. The best single feature, {single.name}{way}, orders "
        f"{share(single.found.in_order[0])}; it was chosen on these rows, which is optimistic."
    )
