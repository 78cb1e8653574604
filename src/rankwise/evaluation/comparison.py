"""Comparison of models on the same queries: measures, paired differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array
from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.text import p_value_text, plural
from rankwise.core.types import FloatArray
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.evaluated import evaluated_rows
from rankwise.evaluation.intervals import mean_estimate
from rankwise.evaluation.measures import Choice, Measure, Measured
from rankwise.evaluation.paired import Difference, differences
from rankwise.evaluation.ranked_rows import Undefined


@dataclass(frozen=True, repr=False)
class Comparison(HasTable):
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
        Notes on the measures, such as why some are left out.
    collected : list of str
        What was collected of rows that are not in memory.
    """

    measures: dict[str, list[Measured]]
    differences: list[Difference]
    n_queries: int
    confidence: float = field(default=CONFIDENCE)
    correction: str | None = field(default="holm")
    notes: list[str] = field(default_factory=list)
    collected: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the first model."""
        return next(iter(self.measures))

    @property
    def table(self) -> ResultTable[Any]:
        """The means of all models, with the differences of the first model from the others."""
        found = {(one.other, one.measure.key): one for one in self.differences}
        rows = [
            (one, name, found.get((name, one.measure.key)))
            for of_models in zip(*self.measures.values(), strict=True)
            for name, one in zip(self.measures, of_models, strict=True)
        ]
        return ResultTable(rows, COLUMNS, title=self._title(), note="\n".join(self.notes))

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


def _of_difference(name: str) -> Callable[[Any], float | None]:
    return lambda row: None if row[2] is None else getattr(row[2], name)


COLUMNS = (
    Column("measure", lambda row: row[0].measure.name, left=True),
    Column("model", lambda row: row[1], left=True),
    Column("mean", lambda row: row[0].mean, ".4f"),
    Column("difference", _of_difference("mean"), "+.4f"),
    Column("low", _of_difference("low"), "+.4f", "from"),
    Column("high", _of_difference("high"), "+.4f", "to"),
    Column("p", _of_difference("p"), p_value_text),
)


def compare(
    y: Any,
    scores: Mapping[str, ArrayLike],
    qid: ArrayLike | None = None,
    *,
    measures: str | Sequence[str] | None = None,
    relevant_above: float = 0.0,
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
        have the lowest relevant grade in them. By default "error", "tau", for grades (integers from 0 to 31)
        "ndcg@5" and "ndcg@10", and for grades, binary labels or a threshold other than 0 "map".
    relevant_above : float
        Labels above this are relevant for "map", "mrr" and "p@K".
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
    _check(scores, "scores", confidence, correction)
    choice = Choice(
        [measures] if isinstance(measures, str) else measures,
        relevant_above=relevant_above,
        undefined=undefined,
    )
    found = evaluated_rows(
        scores, None, y, qid, choice, confidence=confidence, cluster=cluster, seed=random_state
    )
    compared = comparison_of(found.measured, confidence, correction, found.notes)
    return replace(compared, collected=found.collected)


def compare_values(
    values: Mapping[str, ArrayLike],
    *,
    measure: str = "measure",
    higher_is_better: bool = True,
    confidence: float = CONFIDENCE,
    correction: Literal["holm"] | None = "holm",
) -> Comparison:
    """Compare models by the values of any measure per query.

    Parameters
    ----------
    values : dict of name to array of shape (n_queries,)
        The measure of two or more models on the same queries in the same order, NaN if it is undefined.
    measure : str
        Its name.
    higher_is_better : bool
        Whether larger values are better.
    confidence, correction :
        As in `compare`.

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
    _check(values, "values", confidence, correction)
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
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare the first model with each of the others by the same measures."""
    n_queries = len(next(iter(found.values()))[0].values)
    apart = differences(found, confidence, correction)
    return Comparison(found, apart, n_queries, confidence, correction, list(notes))


def _column(values: ArrayLike, name: str) -> FloatArray:
    column = np.asarray(as_array(values), dtype=np.float64)
    if column.ndim != 1 or np.isinf(column).any():
        raise ValueError(f"values of {name!r} must be one finite number or NaN per query.")
    return column


def _check(models: Mapping[str, Any], name: str, confidence: float, correction: str | None) -> None:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(f"{name} must be a dict of two or more names of models to arrays.")
    check_levels(confidence, correction)


def check_levels(confidence: float, correction: str | None) -> None:
    """Check the parameters of intervals and tests."""
    if correction not in ("holm", None):
        raise ValueError(f"correction must be 'holm' or None; got {correction!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
