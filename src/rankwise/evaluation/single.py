"""The evaluation of a single model: its measures with intervals and, for grades, their agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.text import plural
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.evaluated import Outcome, evaluated_rows
from rankwise.evaluation.grades import GradeAgreement, agreement_lines
from rankwise.evaluation.measures import Choice, Measured
from rankwise.evaluation.ranked_rows import Undefined


@dataclass(frozen=True, repr=False)
class Evaluation(HasTable):
    """The result of `evaluate`. It prints as a table, and `evaluation["ndcg@10"]` is one of its measures.

    Attributes
    ----------
    measures : list of Measured
        Each has ``mean``, its interval ``low`` to ``high``, and ``values`` per query.
    grades : GradeAgreement or None
        The agreement of predicted grades, for models that predict grades.
    notes : list of str
        Notes on the measures, such as why some are left out.
    n_rows, n_queries : int
    confidence : float
        The confidence level of the intervals.
    collected : list of str
        What was collected of rows that are not in memory.
    """

    measures: list[Measured]
    grades: GradeAgreement | None
    notes: list[str]
    n_rows: int
    n_queries: int
    confidence: float = field(default=CONFIDENCE)
    collected: list[str] = field(default_factory=list)

    def __getitem__(self, key: str) -> Measured:
        """Return the measure with a key such as "error" or "ndcg@10"."""
        for one in self.measures:
            if one.measure.key == key:
                return one
        known = ", ".join(one.measure.key for one in self.measures)
        raise KeyError(f"{key!r} was not measured; the measures are {known}.")

    @property
    def table(self) -> ResultTable[Measured]:
        """The measures as a table."""
        title = f"{plural(self.n_rows, 'row')}, {plural(self.n_queries, 'query')}, "
        title += f"{self.confidence:.0%} intervals"
        return ResultTable(self.measures, COLUMNS, title=title, note="\n".join(self.notes))

    def __repr__(self) -> str:
        grades = [] if self.grades is None else ["", *agreement_lines(self.grades)]
        return "\n".join([str(self.table), *grades])


def _units(one: Measured) -> str:
    return f"over {plural(one.n_defined, 'query') if one.units == 'queries' else one.units}"


COLUMNS = (
    Column("measure", lambda one: one.measure.name, left=True),
    Column("mean", format=".4f"),
    Column("low", format=".4f", title="from"),
    Column("high", format=".4f", title="to"),
    Column("units", _units, title=""),
)


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
        Rows on Dask stay on the workers, which return values per query. If a query is in several partitions,
        or all rows are one ranking, their scores are collected, as the attribute `collected` of the result
        states.
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
    Ranking error              0.0852  0.0598  0.1200  over 10 queries
    NDCG@10, exponential gain  0.9302  0.8842  0.9587  over 10 queries
    """
    choice = Choice(
        [measures] if isinstance(measures, str) else measures,
        relevant_above=relevant_above,
        undefined=undefined,
    )
    found = evaluated_rows(
        {"model": model}, X, y, qid, choice, confidence=confidence, cluster=cluster, seed=random_state
    )
    return evaluation_of(found, "model", model)


def evaluation_of(found: Outcome, name: str, model: Any = None) -> Evaluation:
    """Return the evaluation of one of the models that were measured, with the agreement of its grades."""
    return Evaluation(
        found.measured[name],
        None if model is None else found.agreement(model),
        found.notes,
        found.n_rows,
        len(found.queries),
        found.confidence,
        found.collected,
    )
