"""The concordance of scores with survival times, and how sure it is."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_vector, check_choice, check_count
from rankwise.core.types import FloatArray, FloatVector
from rankwise.losses.pair_sums import partner_sums
from rankwise.preferences import Preferences
from rankwise.preferences.ranking import Ranking
from rankwise.preferences.survival import lives

WEIGHTS = ("harrell", "uno")
INTERVALS = ("analytic", "bootstrap")


class Concordance(NamedTuple):
    """A concordance index with its standard error and the ends of its interval."""

    estimate: float
    standard_error: float
    low: float
    high: float


def concordance_index(
    y: Any,
    scores: ArrayLike,
    *,
    weights: Literal["harrell", "uno"] = "harrell",
    tau: float | None = None,
    censoring: Any = None,
) -> float:
    """Share of the comparable pairs of life times that the scores put in the right order.

        1/W * sum over pairs (i was seen to end, before j) of w_i ([s_i < s_j] + [s_i = s_j] / 2),

    W the sum of w_i over these pairs.
    With w = 1 it is Harrell's C. It depends on how many lives are cut short; with w_i = 1 / G(t_i)^2, G the
    Kaplan-Meier estimate of the probability that a life is not cut short before t_i, it does not (Uno et al.
    2011). A higher score means a longer life: give minus a risk. Pairs of different strata are not compared,
    and all pairs count alike. O(m log m).

    Parameters
    ----------
    y : Preferences.from_survival, pair (event, time), or structured array with these two fields
        Whether the end was observed, and when. Weights of rows multiply those of pairs.
    scores : array of shape (m,)
    weights : {"harrell", "uno"}
    tau : float, optional
        Pairs whose earlier time is not below it are left out: beyond it hardly anyone is seen any more, and
        the weights of Uno grow without bound.
    censoring : as `y`, optional
        The rows that G is estimated from; those of y by default.

    Returns
    -------
    float

    Examples
    --------
    >>> concordance_index(([True, False, True, True], [1.0, 2.0, 3.0, 4.0]), [0.1, 0.9, 0.4, 0.3])
    0.75
    """
    return _Concordance(y, scores, weights, tau, censoring).index()


def concordance_interval(
    y: Any,
    scores: ArrayLike,
    *,
    weights: Literal["harrell", "uno"] = "harrell",
    tau: float | None = None,
    censoring: Any = None,
    method: Literal["analytic", "bootstrap"] = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = 0,
) -> Concordance:
    """Return the concordance index with a standard error and an interval.

    "analytic" is the infinitesimal jackknife, the sum over rows of the squared derivatives of the index by a
    row's weight, in O(m log m); it takes G as known. "bootstrap" draws rows with replacement, G anew each
    time unless `censoring` is given, and takes quantiles.

    Parameters
    ----------
    y, scores, weights, tau, censoring :
        As in `concordance_index`.
    method : {"analytic", "bootstrap"}
    confidence : float
    n_resamples : int
        Of the bootstrap.
    random_state : int or numpy Generator

    Returns
    -------
    concordance : Concordance
        ``estimate``, ``standard_error``, ``low`` and ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> time = np.arange(1.0, 101.0)
    >>> found = concordance_interval((time % 3 > 0, time), time + 40 * np.sin(time))
    >>> f"{found.estimate:.3f} from {found.low:.3f} to {found.high:.3f}"
    '0.746 from 0.700 to 0.793'
    """
    check_choice(method, "method", INTERVALS)
    check_count("n_resamples", n_resamples)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    found = _Concordance(y, scores, weights, tau, censoring)
    index = found.index()
    if method == "analytic":
        error = found.standard_error()
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
        return Concordance(index, error, max(0.0, index - reach), min(1.0, index + reach))
    draws = found.resampled(n_resamples, np.random.default_rng(random_state))
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Concordance(index, float(draws.std(ddof=1)), float(low), float(high))


class _Concordance:
    """Checked input: a ranking of life times, the ranks of the scores, and the weight of each earlier end."""

    def __init__(self, y: Any, scores: ArrayLike, weights: str, tau: float | None, censoring: Any):
        check_choice(weights, "weights", WEIGHTS)
        self.ranking = as_survival(y, "y")
        self.ranking.require_pairs()
        self.scores = as_vector(scores, "scores", len(self.ranking))
        self.weights, self.tau = weights, tau
        self.censoring = None if censoring is None else as_survival(censoring, "censoring")

    def index(self) -> float:
        """Return the index."""
        right, total = (part.sum() for part in self._by_worse_row())
        return _share(float(right), float(total))

    def standard_error(self) -> float:
        """Return the root of the sum of squares of each row's influence, (right_i - C total_i) / total."""
        right, total = self._by_row()
        whole = float(total.sum()) / 2
        return float(np.sqrt(np.sum((right - _share(float(right.sum()), 2 * whole) * total) ** 2)) / whole)

    def resampled(self, n_resamples: int, generator: np.random.Generator) -> FloatArray:
        """Return the indices of rows drawn with replacement, of those draws that have pairs."""
        n = len(self.ranking)
        draws = []
        for _ in range(n_resamples):
            rows = generator.integers(n, size=n)
            part = self.ranking[rows]
            if part.n_pairs:
                given = self.weights, self.tau, self.censoring
                draws.append(_Concordance(part, self.scores[rows], *given).index())
        return np.array(draws)

    def _row_weight(self) -> FloatVector:
        """Return what each row weighs as the earlier one of a pair, in units that all strata share."""
        ranking = self.ranking
        weight = ranking.pair_scale()[ranking.groups()]
        counts = ranking.values < (np.inf if self.tau is None else self.tau)
        if self.weights == "uno":
            known = ranking if self.censoring is None else self.censoring
            counts = counts & (ranking.partner_weights()[0] > 0)  # ends that someone outlives
            weight = weight / _checked(_still_seen(known, ranking.values), ranking.values, counts) ** 2
        return weight * counts

    def _by_worse_row(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of right and of all pairs, each at its earlier row."""
        weight = self._row_weight()
        wrong, tied, total = (sums.up for sums in self._sums(None))
        return weight * (total - (wrong + tied) / 2), weight * total

    def _by_row(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of right and of all pairs, each at both of its rows."""
        weight = self._row_weight()
        wrong, tied, total = (weight * sums.up + sums.moment_down for sums in self._sums(weight))
        return total - (wrong + tied) / 2, total

    def _sums(self, moment: FloatVector | None) -> list[Any]:
        # Ranks are whole numbers: half a rank is a margin that no rounding can lose.
        ranks = np.unique(self.scores, return_inverse=True)[1].astype(np.float64)
        given: tuple[tuple[Any, float], ...] = ((ranks, 0.0), (ranks, 0.5), (None, 1.0))
        return [partner_sums(self.ranking, values, moment, margin=margin) for values, margin in given]


def as_survival(y: Any, name: str) -> Ranking:
    """Return right-censored life times, which may have no pairs: as they are, or from events and times."""
    if isinstance(y, Preferences) and y.event is not None:
        return cast(Ranking, y)
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields is not None and len(fields) == 2:
        return lives(y[fields[0]], y[fields[1]])
    if isinstance(y, tuple) and len(y) == 2:
        return lives(*y)
    kind = repr(y) if isinstance(y, Preferences) else type(y).__name__
    raise TypeError(
        f"{name} must be a Preferences.from_survival, a pair (event, time) or a structured array with these "
        f"two fields; got {kind}."
    )


def _still_seen(rows: Ranking, times: FloatVector) -> FloatVector:
    """Return the Kaplan-Meier estimate of P(no censoring before t), where an event at t comes before it."""
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    censored = weight * (rows.event == 0)  # type: ignore[operator]
    moments, codes = np.unique(rows.values, return_inverse=True)
    ended, cut_short = (np.bincount(codes, part, len(moments)) for part in (weight - censored, censored))
    at_risk = np.cumsum((ended + cut_short)[::-1])[::-1] - ended
    stays = np.divide(at_risk - cut_short, at_risk, where=at_risk > 0, out=np.ones(len(moments)))
    return np.concatenate([[1.0], np.cumprod(stays)])[np.searchsorted(moments, times, side="left")]


def _checked(seen: FloatVector, times: FloatVector, counts: NDArray[np.bool_]) -> FloatVector:
    """Return probabilities that can be divided by; those of rows that do not count are never used."""
    bad = counts & (seen <= 0)
    if bad.any():
        raise ValueError(
            f"All lives are cut short before time {times[bad].min():g}, where an end was seen, and Uno's "
            "weights end there; give a tau."
        )
    return np.where(counts, seen, 1.0)


def _share(part: float, whole: float) -> float:
    if whole <= 0:
        raise ValueError("concordance_index is undefined: no pair has an observed end at its earlier time.")
    return part / whole
