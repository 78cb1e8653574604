"""Two or more models on the same queries: differences, intervals, wins and paired tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.cli.measures import p_value
from rankwise.report.measures import (
    Measure,
    Measured,
    interval,
    resampled_means,
)
from rankwise.report.subject import Subject

FloatArray = NDArray[np.float64]

# Values of two models that differ by less are a tie.
TIE = 1e-12
SIGNIFICANT = 0.05
# The exact test flips all signs at once in memory; beyond these queries the signed-rank test is as good.
MAX_PERMUTED = 1000


@dataclass(frozen=True)
class Difference:
    """A measure of the first model minus that of another."""

    measure: Measure
    other: str
    mean: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float

    @property
    def gain(self) -> float:
        """The difference, positive where the first model is better."""
        return self.mean if self.measure.higher_is_better else -self.mean

    @property
    def is_clear(self) -> bool:
        """Whether the test over queries, or the interval where there is one query, tells the two apart."""
        if self.p == self.p:
            return self.p <= SIGNIFICANT
        return self.low > 0 or self.high < 0


def differences(subject: Subject, measured: dict[str, list[Measured]], seed: int) -> list[Difference]:
    """Compare the first model with each of the others, measure by measure."""
    ours = measured[subject.name]
    return [
        _difference(other, first, second, seed)
        for other, theirs in measured.items()
        if other != subject.name
        for first, second in zip(ours, theirs, strict=True)
    ]


def _difference(other: str, first: Measured, second: Measured, seed: int) -> Difference:
    apart = first.values - second.values
    apart = apart[~np.isnan(apart)]
    better = apart if first.measure.higher_is_better else -apart
    if len(first.values) > 1:
        low, high = interval(resampled_means(apart, np.random.default_rng(seed)))
        p = p_value(first.values, second.values, paired_test(len(apart)), seed)
    else:
        low, high = interval(first.draws - second.draws)
        p = float("nan")
    mean = float(apart.mean()) if len(apart) else float("nan")
    wins, losses = int(np.count_nonzero(better > TIE)), int(np.count_nonzero(better < -TIE))
    return Difference(first.measure, other, mean, low, high, wins, len(apart) - wins - losses, losses, p)


def paired_test(n_queries: int) -> str:
    """Name the paired test for that many queries."""
    return "permutation" if n_queries <= MAX_PERMUTED else "wilcoxon"
