"""Comparison of models on the same queries: measures, paired differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array, as_codes, as_labels, as_vector, check_choice
from rankwise.core.text import p_value_text, plural, table
from rankwise.core.types import FloatArray, IntArray
from rankwise.core.warn import warn_caller
from rankwise.data.backends import in_memory
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.data import labels_and_queries
from rankwise.evaluation.in_parts import Wanted, collected_notes, measure_in_parts, measured_of
from rankwise.evaluation.measures import (
    Measure,
    Measured,
    measured,
    measures_for,
    named_measure,
)
from rankwise.evaluation.paired import Difference, differences
from rankwise.evaluation.ranking_in_parts import measure_ranking
from rankwise.metrics.intervals import mean_estimate
from rankwise.metrics.rows import Undefined, check_undefined
from rankwise.preferences import Preferences

RANKS = (5, 10)
# Values of the deprecated parameter `test`.
FORMER_TESTS = ("permutation", "wilcoxon")


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`: the first model compared with each of the others. It prints as a table.

    Attributes
    ----------
    measures : dict of name to list of Measured
        Each measure of each model: ``values`` per query, ``mean``, its interval ``low`` to ``high``.
    differences : list of Difference
        The first model minus each of the others, by measure: ``mean``, ``low``, ``high``, ``p``, ``wins``,
        ``ties``, ``losses``, and ``is_clear``, whether the interval excludes 0.
    n_queries : int
    confidence : float
        The confidence level of the intervals.
    correction : "holm" or None
        The correction of the p-values, and of the intervals of differences, for the number of models.
    notes : list of str
        What was collected of rows that are not in memory.
    """

    measures: dict[str, list[Measured]]
    differences: list[Difference]
    n_queries: int
    confidence: float = field(default=CONFIDENCE)
    correction: str | None = field(default="holm")
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the first model."""
        return next(iter(self.measures))

    def __repr__(self) -> str:
        header = ["measure", "model", "mean", "difference", "from", "to", "p"]
        found = {(one.other, one.measure.key): one for one in self.differences}
        rows = [
            [one.measure.name, name, f"{one.mean:.4f}", *_cells(found.get((name, one.measure.key)))]
            for measured_by_all in zip(*self.measures.values(), strict=True)
            for name, one in zip(self.measures, measured_by_all, strict=True)
        ]
        return "\n".join([self._title(), *table(header, rows, n_left=2)])

    def _title(self) -> str:
        title, intervals = f"{self.name} minus each other model", f"{self.confidence:.0%} intervals"
        if self.n_queries == 1:
            return f"{title} on one query, {intervals} over its rows, {self._test()}"
        return f"{title} on {self.n_queries:,} queries, {intervals}, {self._test()}"

    def _test(self) -> str:
        n_models = len(self.measures) - 1
        if n_models < 2:
            return "paired t-test"
        return f"paired t-tests, {correction_in_words(self.correction, n_models)}"


def correction_in_words(correction: str | None, n_models: int) -> str:
    """Return the words for a correction of p-values and intervals.

    Examples
    --------
    >>> correction_in_words("holm", 3)
    'corrected for 3 models (Holm)'
    """
    return "not corrected" if correction is None else f"corrected for {plural(n_models, 'model')} (Holm)"


def _cells(found: Difference | None) -> list[str]:
    """Format a difference; the first model has none."""
    if found is None:
        return [""] * 4
    ends = (found.mean, found.low, found.high)
    return [*(f"{value:+.4f}" for value in ends), p_value_text(found.p)]


def compare(
    y: Any,
    scores: Mapping[str, ArrayLike],
    qid: ArrayLike | None = None,
    *,
    measures: str | Sequence[str] | None = None,
    relevant_above: float = 0.0,
    test: str = "auto",
    confidence: float = CONFIDENCE,
    correction: Literal["holm"] | None = "holm",
    cluster: ArrayLike | None = None,
    random_state: int = 0,
    undefined: Undefined = "skip",
) -> Comparison:
    """Compare rankings of the same rows: mean differences of measures, with intervals and p-values.

    The p-value of a difference is that of a t-test of the mean of the paired differences over queries, and
    its interval contains 0 if and only if p > 1 - `confidence`. The degrees of freedom account for unequal
    weights and for heavy tails. The intervals of measures with bounds are Wilson's. If all queries have the
    same value, the intervals follow from the bounds, and are NaN for measures without bounds.

    With several other models, the p-values by each measure are corrected by the method of Holm: the
    probability that any of the models that are as good as the first is clearly different by that measure is
    at most 1 - `confidence`. The intervals of differences are longer accordingly. They are not corrected for
    the number of measures.

    With one query, and for survival times with strata, the independent units are rows (or groups of pairs):
    the ranking error has the interval and the test of its infinitesimal jackknife, other measures a
    percentile interval of a bootstrap over rows and no test. Pass rows that no model was fitted to.

    A rare value that no query has is in no interval: with ten queries, a loss that one query in twenty has is
    often not seen.

    Cost: O(m log m) per measure and model.

    Parameters
    ----------
    y : array of shape (n_rows,), or Preferences
        Labels, higher is better. A `Preferences` has its own queries and weights, as in
        `ranking_error`; "log_loss" and "error" take preferences of any kind, the others need labels.
    scores : dict of name to array of shape (n_rows,)
        The scores of two or more models; the first is compared with each of the others. Scores on Dask stay
        on the workers, as in `evaluate`.
    qid : array of shape (n_rows,), optional
        The query of each row.
    measures : str or sequence of str, optional
        Among "error", "tau", "map", "mrr", "ndcg", "ndcg@K", "p@K" and "log_loss", which takes the scores as
        log odds; or by their names in ir-measures, "nDCG@K" (linear gain), "AP", "RR" and "P(rel=2)@K", which
        have the lowest relevant grade in them. By default those of the report: "error", "ndcg@5", "ndcg@10",
        "map" and "tau", if they are defined for these labels.
    relevant_above : float
        Labels above this are relevant for "map", "mrr" and "p@K".
    test : "auto"
        Deprecated: other values are ignored, as the tests of ranks and signs are not tests of the mean.
    confidence : float
        The confidence level of the intervals.
    correction : "holm" or None
        None leaves p-values and intervals as they are for one other model.
    cluster : array of shape (n_rows,), optional
        What rows have in common, such as a patient; clusters are then the independent units. A query must be
        in one cluster.
    random_state : int
        The seed of the resamples.
    undefined : "skip" or float
        The value of NDCG, MAP and MRR for a query without relevant rows, which is left out by default; 0 is
        the convention of LETOR.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import compare
    >>> X, y, qid = make_ranking(240, 3, n_queries=12, n_levels=3, random_state=0)
    >>> compare(y, {"sum": X.sum(axis=1), "one feature": X[:, 0]}, qid, measures=["error", "ndcg@10"])
    sum minus each other model on 12 queries, 95% intervals, paired t-test
    measure                    model          mean  difference     from       to        p
    Ranking error              sum          0.4939
    Ranking error              one feature  0.7477     -0.2539  -0.3339  -0.1738  <0.0001
    NDCG@10, exponential gain  sum          0.6255
    NDCG@10, exponential gain  one feature  0.3555     +0.2700  +0.1522  +0.3878   0.0004
    """
    _check(scores, "scores", test, confidence, correction)
    check_undefined(undefined)
    keys = [measures] if isinstance(measures, str) else measures
    options: dict[str, Any] = {"relevant_above": relevant_above, "undefined": undefined}
    chosen = None if keys is None else [named_measure(key, **options) for key in keys]
    wanted = Wanted(dict.fromkeys(scores), chosen, RANKS, **options)
    if cluster is None and (there := _compared_in_parts(y, scores, qid, wanted, confidence)) is not None:
        return replace(comparison_of(there[0], confidence, correction), notes=there[1])
    labels, query = _rows(y, qid)
    named = {
        name: as_vector(in_memory(found), f"the scores of {name!r}", len(labels))
        for name, found in scores.items()
    }
    if chosen is None:
        chosen, _ = measures_for(labels, int(query.max()) + 1, RANKS, relevant_above, undefined)
    codes = None if cluster is None else as_codes(in_memory(cluster), "cluster", len(labels))[1]
    found = measured(labels, named, query, chosen, random_state, confidence, codes)
    compared = comparison_of(found, confidence, correction)
    return replace(compared, notes=collected_notes(len(labels), compared.n_queries, y, qid, scores.values()))


def _compared_in_parts(
    y: Any, scores: Mapping[str, Any], qid: Any, wanted: Wanted, confidence: float
) -> tuple[dict[str, list[Measured]], list[str]] | None:
    """Measure rankings of rows in parts, with notes; None if rows are in memory, or scores are needed."""
    given = list(scores.values())
    if (found := measure_in_parts(None, y, qid, wanted, given)) is not None:
        metrics, _ = wanted.chosen(found.facts, len(found.queries))
        return measured_of(found, metrics, confidence), found.notes
    one = measure_ranking(None, y, qid, wanted, given, confidence)
    return None if one is None else (one.measured, [])


def compare_values(
    values: Mapping[str, ArrayLike],
    *,
    measure: str = "measure",
    higher_is_better: bool = True,
    test: str = "auto",
    confidence: float = CONFIDENCE,
    correction: Literal["holm"] | None = "holm",
    random_state: int = 0,
) -> Comparison:
    """Compare models by the values of any measure per query.

    Parameters
    ----------
    values : dict of name to array of shape (n_queries,)
        The measure of two or more models on the same queries in the same order, NaN if it is undefined.
    measure : str
        Its name.
    higher_is_better : bool
    confidence, correction :
        As in `compare`.
    test : "auto"
        Deprecated, as in `compare`.
    random_state : int
        Not used.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> from rankwise.evaluation import compare_values
    >>> clicks = {"new": [3.0, 5, 4, 6, 5, 7, 4, 5], "old": [2.0, 4, 4, 5, 3, 6, 3, 5]}
    >>> difference = compare_values(clicks, measure="clicks").differences[0]
    >>> difference.mean, round(difference.p, 4), (difference.wins, difference.ties, difference.losses)
    (0.875, 0.0114, (6, 2, 0))
    """
    _check(values, "values", test, confidence, correction)
    columns = {name: _column(found, name) for name, found in values.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1 or max(lengths) < 2:
        raise ValueError(
            f"values must be arrays of one length, of two or more queries; got lengths {sorted(lengths)}."
        )
    what = Measure(measure, measure, higher_is_better)
    found = {}
    for name, column in columns.items():
        estimate = mean_estimate(column)
        ends = estimate.interval(confidence)
        found[name] = [Measured(what, column, estimate.value, *ends, estimate=estimate)]
    return comparison_of(found, confidence, correction)


def comparison_of(
    found: dict[str, list[Measured]],
    confidence: float = CONFIDENCE,
    correction: str | None = "holm",
) -> Comparison:
    """Compare the first model with each of the others by the same measures."""
    n_queries = len(next(iter(found.values()))[0].values)
    apart = differences(found, confidence, correction)
    return Comparison(found, apart, n_queries, confidence, correction)


def _rows(y: Any, qid: Any) -> tuple[FloatArray | Preferences, IntArray]:
    """Return labels or preferences, and the number of each row's query."""
    y, qid = labels_and_queries(y, qid)
    labels = y if isinstance(y, Preferences) else as_labels(y, "y")
    if len(labels) == 0:
        raise ValueError("y has no rows.")
    if qid is None:
        return labels, np.zeros(len(labels), dtype=np.int64)
    return labels, as_codes(qid, "qid", len(labels))[1]


def _column(values: ArrayLike, name: str) -> FloatArray:
    column = np.asarray(as_array(values), dtype=np.float64)
    if column.ndim != 1 or np.isinf(column).any():
        raise ValueError(f"values of {name!r} must be one finite number or NaN per query.")
    return column


def _check(
    models: Mapping[str, Any], name: str, test: str, confidence: float, correction: str | None
) -> None:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(f"{name} must be a dict of two or more names of models to arrays.")
    check_levels(test, confidence, correction)


def check_levels(test: str, confidence: float, correction: str | None) -> None:
    """Check the parameters of intervals and tests; warn of a deprecated test."""
    check_choice(test, "test", ("auto", *FORMER_TESTS))
    if correction not in ("holm", None):
        raise ValueError(f"correction must be 'holm' or None; got {correction!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    if test != "auto":
        warn_caller(
            f"test={test!r} is ignored, and will be an error: p is that of a t-test of the mean difference, "
            "which agrees with the interval. Leave `test` out.",
            FutureWarning,
        )
