"""Win statistics of a trial: the win ratio, the win odds and the net benefit of a treatment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_codes, check_choice
from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.text import plural
from rankwise.core.threads import thread_count
from rankwise.core.types import FloatVector, IntArray
from rankwise.evaluation.intervals import Estimate
from rankwise.preferences.base import sum_by_row
from rankwise.preferences.hierarchy import Outcome, check_outcomes, count_wins, rows_by_stratum

STRATUM_WEIGHTS = ("pairs", "mantel-haenszel")
CONTROL_NAMES = ("control", "placebo")


class WinStatistic(NamedTuple):
    """A statistic with the ends of its interval, and the p-value of no difference between the arms."""

    name: str
    estimate: float
    low: float
    high: float
    p_value: float


class OutcomeWins(NamedTuple):
    """The pairs that an outcome decides, those that it leaves, and the win ratio up to this outcome."""

    outcome: str
    wins: int
    losses: int
    undecided: int
    win_ratio: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class WinStatistics(HasTable):
    """What all pairs of a treated patient and a control say about a treatment.

    Attributes
    ----------
    win_ratio, win_odds, net_benefit : WinStatistic
        Each with ``estimate``, ``low``, ``high`` and ``p_value``.
    wins, losses, ties : int
        The pairs of all strata in which the treated patient has the better result, the worse, or neither.
    by_outcome : ResultTable of OutcomeWins
        The pairs that each outcome decides, and the win ratio of the hierarchy that ends with it.
    patient_wins, patient_losses : arrays of int of shape (n_patients, n_outcomes)
        The patients of the other arm to whom each patient wins or loses, by outcome.
    n_treated, n_controls : int
    confidence : float
    """

    win_ratio: WinStatistic
    win_odds: WinStatistic
    net_benefit: WinStatistic
    wins: int
    losses: int
    ties: int
    by_outcome: ResultTable[OutcomeWins]
    patient_wins: IntArray
    patient_losses: IntArray
    n_treated: int
    n_controls: int
    confidence: float

    @property
    def table(self) -> ResultTable[WinStatistic]:
        """The three statistics with their intervals."""
        arms = [plural(self.n_treated, "treated patient"), plural(self.n_controls, "control")]
        counts = [plural(self.wins, "win"), plural(self.losses, "loss"), plural(self.ties, "tie")]
        title = f"{' and '.join(arms)}: {', '.join(counts)}"
        columns = [
            Column("name", title="", left=True),
            Column("estimate", format=".3f"),
            Column("low", format=".3f"),
            Column("high", format=".3f"),
            Column("p_value", format=".2g", title="p"),
        ]
        note = f"Intervals of {self.confidence:.0%}."
        return ResultTable([self.win_ratio, self.win_odds, self.net_benefit], columns, title=title, note=note)

    def as_dict(self) -> dict[str, Any]:
        """Return all results as a record that JSON can represent; NaN and infinity are None."""
        statistics = {
            key: {
                name: _finite(value) for name, value in getattr(self, key)._asdict().items() if name != "name"
            }
            for key in ("win_ratio", "win_odds", "net_benefit")
        }
        outcomes = [
            {name: value if isinstance(value, str) else _finite(value) for name, value in row.items()}
            for row in self.by_outcome.as_dicts()
        ]
        counts = {key: getattr(self, key) for key in ("n_treated", "n_controls", "wins", "losses", "ties")}
        return {**counts, **statistics, "confidence": self.confidence, "outcomes": outcomes}

    def __repr__(self) -> str:
        return f"{self.table}\n\n{self.by_outcome}"

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + self.by_outcome._repr_html_()


BY_OUTCOME = [
    Column("outcome", left=True),
    Column("wins", format=","),
    Column("losses", format=","),
    Column("undecided", format=","),
    Column("win_ratio", format=".3f", title="win ratio"),
    Column("low", format=".3f"),
    Column("high", format=".3f"),
]


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def win_statistics(
    treatment: ArrayLike,
    outcomes: Sequence[Outcome],
    strata: ArrayLike | None = None,
    *,
    control: Any = None,
    stratum_weights: Literal["pairs", "mantel-haenszel"] = "pairs",
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> WinStatistics:
    """Compare each treated patient with each control by a hierarchy of outcomes.

        win ratio = W / L,   win odds = (W + T / 2) / (L + T / 2),   net benefit = (W - L) / (W + L + T)

    with W, L and T the wins of the treatment, its losses and the ties, among all pairs of a stratum (Pocock
    et al. 2012, Buyse 2010, Brunner et al. 2021). The first outcome that can order a pair decides it, as in
    `Preferences.from_hierarchy`. O(n log^k n) for k outcomes, and no pair is listed.

    Standard errors are those of two-sample U-statistics: the variances, within the arms of each stratum, of
    the wins less the losses of each patient. Intervals have quantiles of Student's t with the degrees of
    freedom of Satterthwaite, on the logarithmic scale for ratios, and are Wilson's for the net benefit. A
    stratum with a single patient in an arm is a unit by itself. Censored pairs count as ties if the event of
    the smaller time is missing, so that the statistics depend on the length of the follow-up.

    Parameters
    ----------
    treatment : array of shape (n_patients,)
        The arm of each patient, of two values.
    outcomes : list of Outcome
        From the most to the least important one.
    strata : array of shape (n_patients,), optional
        Patients of different strata are not compared.
    control : value of `treatment`, optional
        The control arm; by default 0 or False, or the smaller of two numbers, or "control" or "placebo".
    stratum_weights : {"pairs", "mantel-haenszel"}
        All pairs weigh the same, or those of a stratum of n patients weigh 1 / n (Dong et al. 2018).
    confidence : float
        The confidence level of intervals.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all.

    Returns
    -------
    WinStatistics

    Examples
    --------
    >>> from rankwise import win_statistics
    >>> from rankwise.preferences import Outcome
    >>> death = Outcome([5, 9, 9, 9, 3, 6, 9, 9], event=[1, 0, 0, 0, 1, 1, 0, 0], name="death")
    >>> walk = Outcome([300, 420, 390, 350, 310, 300, 410, 330], margin=30, name="walk")
    >>> found = win_statistics([1, 1, 1, 1, 0, 0, 0, 0], [death, walk])
    >>> found.wins, found.losses, found.ties, found.win_ratio.estimate
    (9, 4, 3, 2.25)
    >>> print(found.by_outcome)
    outcome  wins  losses  undecided  win ratio    low     high
    death       7       3          6      2.333  0.009  633.925
    walk        2       1          3      2.250  0.077   66.074
    """
    check_choice(stratum_weights, "stratum_weights", STRATUM_WEIGHTS)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    hierarchy = check_outcomes(outcomes)
    n = len(hierarchy[0])
    treated = _treated(treatment, control, n)
    codes = np.zeros(n, dtype=np.int64) if strata is None else as_codes(strata, "strata", n)[1]
    compared = _Compared(hierarchy, treated, codes, thread_count(n_jobs))
    return compared.statistics(stratum_weights, confidence)


class _Compared:
    """The wins and losses of each patient against the patients of the other arm."""

    def __init__(self, hierarchy: list[Outcome], treated: Any, strata: IntArray, n_threads: int):
        treatments, controls = (
            rows_by_stratum(np.flatnonzero(chosen), strata) for chosen in (treated, ~treated)
        )
        counts = count_wins(hierarchy, treatments, controls, None, both=True, n_threads=n_threads)
        self.hierarchy, self.treated, self.strata = hierarchy, treated, strata
        self.wins, self.losses = (np.rint(part).astype(np.int64) for part in counts)
        self.sizes = [np.diff(treatments[1]), np.diff(controls[1])]
        self.n_pairs = int(self.sizes[0] @ self.sizes[1])
        if self.n_pairs == 0:
            raise ValueError("No stratum has patients of both arms, so there is no pair to compare.")

    def statistics(self, stratum_weights: str, confidence: float) -> WinStatistics:
        """Return the statistics with their intervals, and the counts."""
        wins, losses = self.wins[self.treated].sum(axis=0), self.losses[self.treated].sum(axis=0)
        undecided = self.n_pairs - np.cumsum(wins + losses)
        of_prefix = [self._pairs(k, stratum_weights) for k in range(1, len(self.hierarchy) + 1)]
        by_outcome = []
        for k, one in enumerate(self.hierarchy):
            counts = int(wins[k]), int(losses[k]), int(undecided[k])
            ratio = of_prefix[k].win_ratio(confidence)
            name = one.name or f"outcome {k + 1}"
            by_outcome.append(OutcomeWins(name, *counts, ratio.estimate, ratio.low, ratio.high))
        return WinStatistics(
            win_ratio=of_prefix[-1].win_ratio(confidence),
            win_odds=of_prefix[-1].win_odds(confidence),
            net_benefit=of_prefix[-1].net_benefit(confidence),
            wins=int(wins.sum()),
            losses=int(losses.sum()),
            ties=int(undecided[-1]),
            by_outcome=ResultTable(by_outcome, BY_OUTCOME),
            patient_wins=self.wins,
            patient_losses=self.losses,
            n_treated=int(self.treated.sum()),
            n_controls=int((~self.treated).sum()),
            confidence=confidence,
        )

    def _pairs(self, n_outcomes: int, weights: str) -> _Pairs:
        """Return the pairs as the first outcomes decide them."""
        wins, losses = (part[:, :n_outcomes].sum(axis=1) for part in (self.wins, self.losses))
        return _Pairs(wins, losses, self.treated, self.strata, self.sizes, weights)


def _treated(treatment: ArrayLike, control: Any, n: int) -> Any:
    """Return which patients are treated."""
    arms, codes = as_codes(treatment, "treatment", n)
    values = arms.tolist()
    if len(values) != 2:
        raise ValueError(f"treatment must have two values, those of the arms; got {len(values)}.")
    if control is None:
        known = [value for value in values if str(value).lower() in CONTROL_NAMES]
        if len(known) != 1 and arms.dtype.kind not in "biuf":
            raise ValueError(
                f"Name the control arm by control=: treatment has {values[0]!r} and {values[1]!r}."
            )
        control = known[0] if len(known) == 1 else values[0]
    if control not in values:
        raise ValueError(f"control={control!r} is not an arm; treatment has {values[0]!r} and {values[1]!r}.")
    return codes != values.index(control)


class _Pairs:
    """Weights of pairs by patient, from the side of the treatment, and the units of their variance.

    A unit is a patient, in the sample of an arm of a stratum. If the arm has no other, the stratum is a unit,
    in the sample of all such strata.
    """

    def __init__(
        self,
        wins: IntArray,
        losses: IntArray,
        treated: Any,
        strata: IntArray,
        sizes: list[IntArray],
        weights: str,
    ):
        n_pairs = sizes[0] * sizes[1]
        scale = (
            1 / np.maximum(sizes[0] + sizes[1], 1) if weights == "mantel-haenszel" else np.ones(len(n_pairs))
        )
        kept = (n_pairs > 0)[strata]
        treated, strata = treated[kept], strata[kept]
        of_row = scale[strata]
        won, lost = of_row * wins[kept], of_row * losses[kept]
        self.won, self.lost = np.where(treated, won, lost), np.where(treated, lost, won)
        self.pairs = of_row * np.where(treated, sizes[1][strata], sizes[0][strata])
        self.of_stratum = np.minimum(*sizes)[strata] < 2
        patient = len(n_pairs) + np.arange(len(strata))
        self.unit = np.unique(np.where(self.of_stratum, strata, patient), return_inverse=True)[1]
        sample = np.where(self.of_stratum, 0, 1 + 2 * strata + treated)
        if len(np.unique(strata[self.of_stratum])) == 1 and not self.of_stratum.all():
            sample[self.of_stratum] = np.bincount(sample).argmax()  # one unit has no variance of its own
        self.sample = np.unique(sample, return_inverse=True)[1]
        self.n_trials = int(min(sizes[0].sum(), sizes[1].sum()))

    def win_ratio(self, confidence: float) -> WinStatistic:
        """Return wins over losses."""
        return self._ratio("win ratio", self.won, self.lost, confidence)

    def win_odds(self, confidence: float) -> WinStatistic:
        """Return wins over losses, both with half of the ties."""
        half_tied = (self.pairs - self.won - self.lost) / 2
        return self._ratio("win odds", self.won + half_tied, self.lost + half_tied, confidence)

    def net_benefit(self, confidence: float) -> WinStatistic:
        """Return the fraction of wins less that of losses."""
        whole, excess = self.pairs.sum(), self.won - self.lost
        value, bounds = float(excess.sum() / whole), (-1.0, 1.0)
        net = self._estimate(value, 2 * (excess - value * self.pairs) / whole)
        return WinStatistic("net benefit", value, *net.interval(confidence, bounds), net.p_value(bounds))

    def _ratio(self, name: str, upper: FloatVector, lower: FloatVector, confidence: float) -> WinStatistic:
        """Return the ratio of two sums over pairs, with the interval of its logarithm."""
        above, below = float(upper.sum()), float(lower.sum())
        if above <= 0 or below <= 0:
            ratio = np.inf if above > 0 else 0.0 if below > 0 else np.nan
            return WinStatistic(name, ratio, np.nan, np.nan, np.nan)
        log = self._estimate(np.log(above / below), 2 * (upper / above - lower / below))
        low, high = np.exp(log.interval(confidence))
        return WinStatistic(name, above / below, float(low), float(high), log.p_value())

    def _estimate(self, value: float, influence: FloatVector) -> Estimate:
        """Return the estimate over units from the influences of patients, centered by sample."""
        patients = ~self.of_stratum
        sample = self.sample[patients]
        size = np.maximum(np.bincount(sample, minlength=1), 1)
        influence = influence.copy()
        influence[patients] -= (np.bincount(sample, influence[patients], len(size)) / size)[sample]
        influence[self.of_stratum] /= 2  # both patients of a pair have counted it
        first = np.unique(self.unit, return_index=True)[1]
        of_unit = sum_by_row(self.unit, influence, len(first))
        return Estimate(value, of_unit, None, self.sample[first], self.n_trials)
