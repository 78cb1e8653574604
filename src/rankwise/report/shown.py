"""Measures as a page shows them: pairs in the right order in per cent, with the digits that data allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankwise.core.text import NONE, decimal, share
from rankwise.core.types import FloatArray
from rankwise.evaluation.measures import Measure, Measured
from rankwise.report.page import Number

OF_PAIRS = {"error": "Pairs in the right order", "concordance": "Comparable pairs in the right order"}
GAIN = ", exponential gain"
FEWEST, MOST, WITHOUT_INTERVAL = 2, 5, 3


@dataclass(frozen=True)
class Shown:
    """How a page shows a measure. The fraction of pairs in the wrong order is shown as that in the right one.

    Attributes
    ----------
    measure : Measure
    digits : int
        The number of decimals of measures that are not shown in per cent.
    """

    measure: Measure
    digits: int = WITHOUT_INTERVAL

    @classmethod
    def of(cls, found: Measured) -> Shown:
        """Return how to show a measure with the digits that its interval allows."""
        return cls(found.measure, digits_for(found.low, found.high))

    @property
    def key(self) -> str:
        """The key of the measure; the fraction of pairs in the right order has its own."""
        return "pairs" if self.measure.key == "error" else self.measure.key

    @property
    def title(self) -> str:
        """The name, without the gain of NDCG."""
        return OF_PAIRS.get(self.measure.key) or self.measure.name.removesuffix(GAIN)

    @property
    def in_sentence(self) -> str:
        """The name within a sentence."""
        return self.title[0].lower() + self.title[1:] if self.is_share else self.title

    @property
    def is_share(self) -> bool:
        """Whether values are written in per cent."""
        return self.measure.key in OF_PAIRS

    @property
    def axis(self) -> Literal["number", "share"]:
        """The kind of an axis of values."""
        return "share" if self.is_share else "number"

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values are better."""
        return self.measure.higher_is_better or self.is_share

    def values(self, values: FloatArray) -> FloatArray:
        """Return values as they are shown."""
        return 1.0 - values if self.key == "pairs" else values

    def interval(self, found: Measured) -> tuple[float, float, float]:
        """Return the mean and the ends of its interval, as they are shown."""
        return found.in_order if self.is_share else (found.mean, found.low, found.high)

    def text(self, value: float) -> str:
        """Write a shown value."""
        if value != value:
            return NONE
        if not self.is_share:
            return decimal(value, self.digits)
        return f"{value:.1%}" if value in (0.0, 1.0) else share(value)

    def number(self, value: float, is_best: bool = False) -> Number:
        """Return a cell of a table for a value of the measure."""
        shown = float(self.values(np.float64(value)))  # type: ignore[arg-type]
        return Number(shown, self.text(shown), is_best)

    def ends(self, found: Measured) -> str:
        """Write the ends of the interval of a measure."""
        if found.low != found.low:
            return "no interval"
        return " to ".join(self.text(end).rstrip("%") for end in self.interval(found)[1:])

    def gain(self, value: float, digits: int) -> str:
        """Write a difference with its sign; one of per cent in points."""
        size = decimal(100 * value, max(1, digits - 2)) if self.is_share else decimal(value, digits)
        signed = f"+{size}" if value > 0 and float(size.replace(",", "")) != 0 else size
        return f"{signed} points" if self.is_share else signed


def digits_for(low: float, high: float) -> int:
    """Return the number of decimals that the interval of a value allows.

    Examples
    --------
    >>> digits_for(0.89, 0.94), digits_for(0.7, 0.95), digits_for(0.9121, 0.9135), digits_for(0.5, 0.5)
    (3, 2, 5, 3)
    """
    half = (high - low) / 2
    if not half > 0:
        return WITHOUT_INTERVAL
    return min(MOST, max(FEWEST, math.ceil(1 - math.log10(half))))


def notes_on(found: Sequence[Measured]) -> str:
    """State the gain of NDCG, which measures are better if lower, and which are over fewer queries."""
    shown = [Shown.of(one) for one in found]
    lower = [one.title for one in shown if not one.higher_is_better]
    notes = ["Higher is better" + (f", except for {' and '.join(lower)}." if lower else ".")]
    if any(one.measure.name.endswith(GAIN) for one in found):
        notes.append("The gain of NDCG is exponential, 2^label \N{MINUS SIGN} 1.")
    fewer: dict[int, list[str]] = {}
    for one, own in zip(found, shown, strict=True):
        if len(one.values) > 1 and one.n_defined != found[0].n_defined:
            fewer.setdefault(one.n_defined, []).append(own.title)
    notes += [f"{', '.join(titles)}: over {n:,} queries." for n, titles in fewer.items()]
    return " ".join(notes)
