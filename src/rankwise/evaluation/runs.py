"""Evaluation and comparison of run files by qrels, also by all measures of ir-measures."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankwise.core.text import plural
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.comparison import Comparison, check_levels, comparison_of
from rankwise.evaluation.measures import Measured, Metric, Scored, evaluated
from rankwise.evaluation.ranked_rows import require_labels
from rankwise.evaluation.registry import parsed_name
from rankwise.evaluation.single import Evaluation

if TYPE_CHECKING:
    from rankwise.io.trec import Qrels, Run

# The measures of ir-measures that are between 0 and 1.
UNIT = {
    *("Accuracy", "AP", "Bpref", "Compat", "ERR", "infAP", "IPrec", "Judged", "nDCG", "P", "R", "RBP"),
    *("Rprec", "RR", "SetP", "SetR", "SetF", "SetAP", "Success"),
}
# The measures of ir-measures that are numbers of documents or queries, which it sums over queries.
COUNTS = {"NumRet", "NumRel", "NumRelRet", "NumQ"}
# What ir-measures and the programs that it calls raise for measures that they cannot compute.
_FAILURES = (
    *(AssertionError, ArithmeticError, ValueError, RuntimeError, TypeError, KeyError),
    subprocess.SubprocessError,
)


def search_measures(names: str | Sequence[str]) -> list[Metric]:
    """Return the measures of runs by their names; queries without relevant documents count 0."""
    return [_search_measure(name) for name in ([names] if isinstance(names, str) else names)]


def _search_measure(name: str) -> Metric:
    found = parsed_name(name)
    if found is not None and found[0].of_lists is not None:
        kind, chosen = found
        # Names without a grade, such as "map", have the lowest relevant grade 1.
        one = kind.measure(name, chosen, undefined=0.0, relevant_above=float(np.nextafter(1, -np.inf)))
        gain = f", {chosen.get('gain', 'exponential')} gain" if "gain" in kind.options else ""
        return replace(one, name=name + gain)
    other = parsed_by_ir_measures(name)
    base = str(getattr(other, "NAME", ""))
    return Metric(
        name,
        name + _gain_in_words(name, base),
        True,
        partial(_by_ir_measures, other),
        bounds=(0.0, 1.0) if base in UNIT else None,
        is_total=base in COUNTS,
    )


def _gain_in_words(name: str, base: str) -> str:
    """State the gain of NDCG, whose names in this library and in ir-measures differ by case alone."""
    if base != "nDCG":
        return ""
    if "exp-log2" in name:
        return ", exponential gain"
    return ", given gains" if "gains" in name else ", linear gain"


def parsed_by_ir_measures(name: str) -> Any:
    """Return a measure of the package ir-measures by its name."""
    try:
        import ir_measures
    except ImportError:
        raise ImportError(
            f"The measure {name!r} needs the package ir-measures: pip install 'rankwise[search]'. Without "
            "it, the measures of runs are nDCG, nDCG@K, AP, RR and P@K; AP, RR and P take (rel=GRADE)."
        ) from None
    try:
        return ir_measures.parse_measure(name)
    except (NameError, ValueError, SyntaxError, TypeError, AssertionError) as error:
        raise ValueError(f"{name!r} is not the name of a measure of ir-measures: {error}.") from None


def _by_ir_measures(measure: Any, scored: Scored, name: str) -> FloatArray:
    """Compute a measure with ir-measures; queries and documents have numbers in the order of rows."""
    import ir_measures

    query, scores = scored.query_of_row, scored.scores[name]
    grade = require_labels(scored.labels, scored.target, str(measure))
    width = len(str(len(query)))
    names = [str(row).zfill(width) for row in range(len(query))]
    # Negative grades mean that a document was not judged, and its programs need not end with them.
    qrels = _nested(query, names, np.nan_to_num(grade).astype(np.int64), grade >= 0)
    run = _nested(query, names, scores, np.isfinite(scores))
    try:
        found = list(ir_measures.iter_calc([measure], qrels, run))
    except _FAILURES as error:
        reason = f"{error}".rstrip(".")
        raise ValueError(f"ir-measures cannot compute {measure}: {reason}.") from None
    values = np.zeros(scored.n_queries)
    for one in found:
        values[int(one.query_id)] = one.value
    return values


def _nested(query: IntArray, names: list[str], values: Any, known: Any) -> dict[str, dict[str, Any]]:
    """Return values by query and document."""
    found: dict[str, dict[str, Any]] = {}
    for row in np.flatnonzero(known).tolist():
        found.setdefault(str(query[row]), {})[names[row]] = values[row].item()
    return found


RUN_MEASURES = ("nDCG@10", "AP", "RR", "P@10")


def evaluate_run(
    qrels: Qrels, run: Run, *, measures: str | Sequence[str] = RUN_MEASURES, confidence: float = CONFIDENCE
) -> Evaluation:
    """Evaluate a run: measures with confidence intervals over the judged queries.

    The rules are those of ir-measures. Counts, such as NumRet, are summed. The mean is over all queries of
    the qrels: a query without retrieved documents counts 0, as by ``trec_eval -c``, and queries of the run
    without judgements are left out. Documents are ordered by score, descending, compared in single precision,
    and equal scores by document id, descending, as in trec_eval; ranks in the file are ignored. Documents
    without a grade, or with a negative one, are not relevant.

    Parameters
    ----------
    qrels : Qrels
        The judgements, from `rankwise.io.trec.read_qrels`.
    run : Run
        The retrieved documents, from `rankwise.io.trec.read_run`.
    measures : str or sequence of str
        By their names in ir-measures: "nDCG", "nDCG@K" (linear gain), "AP", "RR" and "P@K", of which the last
        three take the lowest relevant grade, as in "P(rel=2)@5", are computed here. All others, such as
        "R@100", "ERR@20" or "Bpref", need the package ir-measures (``pip install 'rankwise[search]'``).
    confidence : float
        The confidence level of the intervals.

    Returns
    -------
    evaluation : Evaluation

    Examples
    --------
    >>> import io
    >>> from rankwise.evaluation import evaluate_run
    >>> from rankwise.io.trec import read_qrels, read_run
    >>> qrels = read_qrels(io.BytesIO(b"1 0 a 2\\n1 0 b 0\\n2 0 c 1\\n3 0 d 1\\n"))
    >>> run = read_run(io.BytesIO(b"1 Q0 b 1 9 x\\n1 Q0 a 2 8 x\\n2 Q0 c 1 3 x\\n3 Q0 e 1 5 x\\n"))
    >>> evaluate_run(qrels, run, measures=["nDCG@10", "RR"])
    4 rows, 3 queries, 95% intervals
    measure                 mean    from      to
    nDCG@10, linear gain  0.5436  0.0414  0.9705  over 3 queries
    RR                    0.5000  0.0362  0.9638  over 3 queries
    """
    check_levels(confidence, None)
    chosen = search_measures(measures)
    rows = JudgedRuns(qrels, {"run": run})
    return evaluation_of_run(rows, "run", evaluated(rows.scored, chosen, confidence=confidence), confidence)


def evaluation_of_run(
    rows: JudgedRuns, name: str, measured: Mapping[str, list[Measured]], confidence: float = CONFIDENCE
) -> Evaluation:
    """Return the evaluation of one of the runs that were measured."""
    n_rows = int(np.count_nonzero(np.isfinite(rows.scored.scores[name])))
    return Evaluation(measured[name], None, rows.notes(), n_rows, rows.n_queries, confidence)


def compare_runs(
    qrels: Qrels,
    runs: Mapping[str, Run],
    *,
    measures: str | Sequence[str] = RUN_MEASURES,
    confidence: float = CONFIDENCE,
    correction: Literal["holm"] | None = "holm",
) -> Comparison:
    """Compare runs on the same judged queries, with intervals and paired tests.

    The measures are those of `evaluate_run`, the differences, intervals and tests those of `compare`.

    Parameters
    ----------
    qrels : Qrels
        The judged relevance of documents.
    runs : dict of name to Run
        One or more runs; the first is compared with each of the others.
    measures, confidence :
        As in `evaluate_run`.
    correction :
        As in `compare`.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> import io
    >>> from rankwise.evaluation import compare_runs
    >>> from rankwise.io.trec import read_qrels, read_run
    >>> qrels = read_qrels(io.BytesIO(b"1 0 a 1\\n2 0 c 1\\n3 0 d 1\\n"))
    >>> new = read_run(io.BytesIO(b"1 Q0 a 1 9 x\\n2 Q0 c 1 3 x\\n3 Q0 d 1 5 x\\n"))
    >>> old = read_run(io.BytesIO(b"1 Q0 b 1 9 x\\n1 Q0 a 2 8 x\\n2 Q0 c 1 3 x\\n"))
    >>> compare_runs(qrels, {"new": new, "old": old}, measures="AP")
    new minus each other model on 3 queries, 95% intervals, paired t-test
    measure  model    mean  difference     from       to       p
    AP       new    1.0000
    AP       old    0.5000     +0.5000  -0.7421  +1.0000  0.2254
    old: 1 judged query not retrieved, counted as 0.
    """
    if not isinstance(runs, Mapping) or not runs:
        raise ValueError("runs must be a dict of one or more names to runs.")
    check_levels(confidence, correction)
    return compare_judged(JudgedRuns(qrels, runs), search_measures(measures), confidence, correction)


def compare_judged(
    rows: JudgedRuns,
    measures: Sequence[Metric],
    confidence: float = CONFIDENCE,
    correction: str | None = "holm",
) -> Comparison:
    """Compare the first of one or more runs with each of the others."""
    found = evaluated(rows.scored, measures, confidence=confidence)
    return comparison_of(found, confidence, correction, rows.notes())


@dataclass(frozen=True)
class _Numbers:
    """Words by number."""

    of: dict[str, int]

    def __call__(self, words: Any) -> IntArray:
        return np.array([self.of.get(word, -1) for word in words], dtype=np.int64)


class JudgedRuns:
    """The documents of judged queries: their grades, and their scores in each run.

    Attributes
    ----------
    query_names : list of str
        The queries of the qrels, in the order of their first lines.
    scored : Scored
        Rows are sorted by query and then by document id. The label is NaN if a document was not judged, the
        score is minus the rank, minus infinity if it was not retrieved.
    missing, surplus : dict of name to int
        The numbers of judged queries that a run does not have, and of its queries without judgements.
    """

    def __init__(self, qrels: Qrels, runs: Mapping[str, Run]) -> None:
        self.query_names = list(dict.fromkeys(qrels.qid.tolist()))
        queries = _Numbers({name: number for number, name in enumerate(self.query_names)})
        words = set(qrels.docid.tolist()).union(*(run.docid.tolist() for run in runs.values()))
        # The order of trec_eval is that of the bytes.
        ordered = sorted(words, key=lambda word: word.encode("utf-8", "surrogateescape"))
        documents = _Numbers({word: number for number, word in enumerate(ordered)})

        def keys(found: Qrels | Run) -> IntArray:
            number = queries(found.qid)
            return np.where(number < 0, -1, number * len(ordered) + documents(found.docid))

        judged, retrieved = keys(qrels), {name: keys(run) for name, run in runs.items()}
        rows = np.unique(np.concatenate([judged, *(found[found >= 0] for found in retrieved.values())]))
        query = rows // len(ordered)
        grade = _placed(rows, judged, qrels.grade)
        grade[grade < 0] = np.nan  # not judged
        scores = {
            name: _in_order(_placed(rows, retrieved[name], run.score), query) for name, run in runs.items()
        }
        self.scored = Scored(grade, scores, query, units="queries")
        self.missing, self.surplus = {}, {}
        for name, run in runs.items():
            present = set(run.qid.tolist())
            common = present & queries.of.keys()
            if not common:
                raise ValueError(
                    f"The run {name!r} has none of the queries of the qrels: it has {run.qid[0]!r}, and the "
                    f"qrels have {self.query_names[0]!r}."
                )
            self.missing[name], self.surplus[name] = self.n_queries - len(common), len(present - common)

    @property
    def n_queries(self) -> int:
        """The number of judged queries."""
        return len(self.query_names)

    def notes(self) -> list[str]:
        """Return a sentence per run with missing queries, or queries without judgements."""
        return [
            f"{name}: {words}."
            for name in self.scored.scores
            for count, words in (
                (
                    self.missing[name],
                    f"{plural(self.missing[name], 'judged query')} not retrieved, counted as 0",
                ),
                (self.surplus[name], f"{plural(self.surplus[name], 'query')} without judgements left out"),
            )
            if count
        ]


def _in_order(scores: FloatArray, query: IntArray) -> FloatArray:
    """Return minus the ranks of trec_eval: single precision, equal scores by descending document id."""
    rows = np.flatnonzero(~np.isnan(scores))
    with np.errstate(over="ignore"):
        single = scores[rows].astype(np.float32)
    found = np.full(len(scores), -np.inf)
    found[rows[np.lexsort((-rows, -single, query[rows]))]] = -np.arange(len(rows), dtype=np.float64)
    return found


def _placed(rows: IntArray, keys: IntArray, values: Any) -> FloatArray:
    """Return values at their rows, NaN elsewhere; a negative key has no row."""
    placed = np.full(len(rows), np.nan)
    known = keys >= 0
    placed[np.searchsorted(rows, keys[known])] = values[known]
    return placed
