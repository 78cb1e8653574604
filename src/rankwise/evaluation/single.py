"""The evaluation of a single model: its measures with intervals and, for grades, their agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_codes
from rankwise.core.pipelines import last_step
from rankwise.core.text import plural, table
from rankwise.core.types import IntArray
from rankwise.data.backends import in_memory
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.comparison import RANKS
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.grades import GradeAgreement, agreement_lines, grade_agreement
from rankwise.evaluation.in_parts import (
    PartMeasures,
    Wanted,
    collected_notes,
    given_scores,
    measure_in_parts,
    measured_of,
)
from rankwise.evaluation.measures import (
    Measured,
    Metric,
    graph_measures,
    measured,
    measures_for,
    named_measure,
)
from rankwise.evaluation.predicted_grades import predicted_grades, predicts_grades
from rankwise.evaluation.ranking_in_parts import measure_ranking
from rankwise.metrics.rows import Undefined, check_undefined


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of `evaluate`. It prints as a table, and `evaluation["ndcg@10"]` is one of its measures.

    Attributes
    ----------
    measures : list of Measured
        Each has ``mean``, its interval ``low`` to ``high``, and ``values`` per query.
    grades : GradeAgreement or None
        The agreement of predicted grades, for models that predict grades.
    notes : list of str
        The measures that are left out, and why; and what was collected of rows that are not in memory.
    n_rows, n_queries : int
    confidence : float
        The confidence level of the intervals.
    """

    measures: list[Measured]
    grades: GradeAgreement | None
    notes: list[str]
    n_rows: int
    n_queries: int
    confidence: float = field(default=CONFIDENCE)

    def __getitem__(self, key: str) -> Measured:
        """Return the measure with a key such as "error" or "ndcg@10"."""
        for one in self.measures:
            if one.measure.key == key:
                return one
        known = ", ".join(one.measure.key for one in self.measures)
        raise KeyError(f"{key!r} was not measured; the measures are {known}.")

    def __repr__(self) -> str:
        title = f"{plural(self.n_rows, 'row')}, {plural(self.n_queries, 'query')}, "
        rows = [
            [one.measure.name, *(f"{value:.4f}" for value in (one.mean, one.low, one.high)), _units(one)]
            for one in self.measures
        ]
        lines = [
            f"{title}{self.confidence:.0%} intervals",
            *table(["measure", "mean", "from", "to", ""], rows),
        ]
        return "\n".join(lines + ([] if self.grades is None else ["", *agreement_lines(self.grades)]))


def _units(one: Measured) -> str:
    return f"over {plural(one.n_defined, 'query') if one.units == 'queries' else one.units}"


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    qid: ArrayLike | None = None,
    measures: str | Sequence[str] | None = None,
    relevant_above: float = 0.0,
    undefined: Undefined = "skip",
    confidence: float = CONFIDENCE,
    cluster: ArrayLike | None = None,
    random_state: int = 0,
) -> Evaluation:
    """Evaluate one model on rows that it was not fitted to: measures with confidence intervals.

    The intervals are those of `compare`: over queries or, if there is one query, over rows, or over the
    clusters of `cluster`. For models that
    predict grades, such as `OrdinalSVM`, the accuracy, the absolute error, the quadratic kappa and the
    confusion matrix of the grades are computed, too; see `grade_agreement`.

    Parameters
    ----------
    model : estimator, pipeline, or array of shape (n_rows,)
        A fitted model of this library or of scikit-learn, or the scores of the rows.
    X : array, sparse matrix or frame of shape (n_rows, n_features), or rows on Dask
        Rows on Dask stay on the workers, which return values per query, and the scores of the rows of queries
        that are in several partitions. One ranking of more than 50,000 rows is sorted by the workers. The
        attribute `notes` of the result states what was collected.
    y : array of shape (n_rows,), or Preferences
        Labels, higher is better; for models of classes their classes.
    qid : array of shape (n_rows,), optional
        The query of each row.
    measures, relevant_above, confidence, cluster, random_state :
        As in `compare`; rows with clusters are measured in memory.
    undefined : "skip" or float
        The value of NDCG, MAP and MRR for a query without relevant rows, which is left out by default; 0 is
        the convention of LETOR.

    Returns
    -------
    evaluation : Evaluation

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import evaluate
    >>> X, y, qid = make_ranking(400, 3, n_queries=20, n_levels=3, noise=0.5, random_state=0)
    >>> train, test = qid < 10, qid >= 10
    >>> model = RankSVM().fit(X[train], y[train], qid=qid[train])
    >>> evaluate(model, X[test], y[test], qid=qid[test], measures=["error", "ndcg@10"])
    216 rows, 10 queries, 95% intervals
    measure                      mean    from      to
    Ranking error              0.0852  0.0613  0.1174  over 10 queries
    NDCG@10, exponential gain  0.9302  0.8879  0.9572  over 10 queries
    """
    check_undefined(undefined)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    chosen = None
    if measures is not None:
        keys = [measures] if isinstance(measures, str) else measures
        options = {"relevant_above": relevant_above, "undefined": undefined}
        chosen = [named_measure(key, **options) for key in keys]
    models, scores = given_scores({"model": model})
    wanted = Wanted(models, chosen, RANKS, relevant_above, undefined)
    if cluster is not None:
        return _evaluation_in_memory(model, X, y, qid, wanted, confidence, random_state, cluster)
    if (found := measure_in_parts(X, y, qid, wanted, scores)) is not None:
        return _evaluation_of_parts(model, found, wanted, confidence)
    if (one := measure_ranking(X, y, qid, wanted, scores, confidence)) is not None:
        grades = agreement_of_counts(model, one.graded, confidence)
        return Evaluation(one.measured["model"], grades, one.notes, one.facts.n_rows, 1, confidence)
    return _evaluation_in_memory(model, X, y, qid, wanted, confidence, random_state)


def _evaluation_in_memory(
    model: Any,
    X: Any,
    y: Any,
    qid: Any,
    wanted: Wanted,
    confidence: float,
    seed: int,
    cluster: Any = None,
) -> Evaluation:
    data = EvaluationData(model, X, y, qid, {}, "model", None)
    codes: IntArray | None = None
    if cluster is not None:
        given = as_codes(in_memory(cluster), "cluster", data.n_given)[1]
        codes = np.unique(given[data.row_numbers], return_inverse=True)[1]
    chosen, notes = wanted.metrics, list[str]()
    if chosen is None:
        chosen, notes = metrics_of(data, RANKS, wanted.relevant_above, wanted.undefined)
    own = measured(data.target, data.scores, data.query, chosen, seed, confidence, codes)["model"]
    notes = [*notes, *collected_notes(data.X.shape[0], data.n_queries, y, qid, [model], X)]
    grades = agreement_of(data, confidence, codes)
    return Evaluation(own, grades, notes, len(data.y), data.n_queries, confidence)


def _evaluation_of_parts(model: Any, found: PartMeasures, wanted: Wanted, confidence: float) -> Evaluation:
    chosen, notes = wanted.chosen(found.facts, len(found.queries))
    own = measured_of(found, chosen, confidence)["model"]
    grades = agreement_of_parts(model, found, confidence)
    notes = [*notes, *found.notes]
    return Evaluation(own, grades, notes, found.facts.n_rows, len(found.queries), confidence)


def metrics_of(
    data: EvaluationData, at: Sequence[int], relevant_above: float, undefined: Undefined = "skip"
) -> tuple[list[Metric], list[str]]:
    """Return the measures that are defined for these data, and notes on the others."""
    if data.preferences is None and data.edges is not None:
        return graph_measures(data.y, data.class_of_row, data.edges), []
    return measures_for(data.target, data.n_queries, at, relevant_above, undefined)


def agreement_of(
    data: EvaluationData, confidence: float = CONFIDENCE, cluster: IntArray | None = None
) -> GradeAgreement | None:
    """Return the agreement of the grades that the main model predicts, None if it predicts none."""
    model = data.models[data.name]
    if data.label_names is None or not predicts_grades(model):
        return None
    predicted = predicted_grades(data.X, data.qid, model)[data.row_numbers]
    if cluster is None and data.n_queries > 1:
        cluster = data.query
    return _agreement(model, data.class_of_row, predicted, cluster, confidence)


def agreement_of_parts(model: Any, found: PartMeasures, confidence: float) -> GradeAgreement | None:
    """Return the agreement of predicted grades from the numbers of rows per query, label and grade."""
    if found.graded is None:
        return None
    query, given, predicted = np.repeat(found.graded[:, :3], found.graded[:, 3], axis=0).T
    return _agreement(model, given, predicted, query, confidence)


def agreement_of_counts(model: Any, graded: IntArray | None, confidence: float) -> GradeAgreement | None:
    """Return the agreement of predicted grades from the numbers of rows per label and grade."""
    if graded is None:
        return None
    given, predicted = np.repeat(graded[:, :2], graded[:, 2], axis=0).T
    return _agreement(model, given, predicted, None, confidence)


def _agreement(
    model: Any, given: IntArray, predicted: IntArray, cluster: IntArray | None, confidence: float
) -> GradeAgreement:
    classes = last_step(model).classes_
    return grade_agreement(
        classes[given],
        classes[predicted],
        categories=classes.tolist(),
        cluster=cluster,
        confidence=confidence,
    )
