"""Measures by the names of ir-measures: those of this library, and all others by ir-measures itself."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.measures import Measure
from rankwise.metrics.retrieval import RetrievedRows
from rankwise.metrics.search_names import SearchName, search_name

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


class SearchMeasure:
    """A measure of runs by its name in ir-measures.

    Attributes
    ----------
    measure : Measure
    own : SearchName or None
        What this library computes; None for measures that ir-measures computes.
    """

    def __init__(self, name: str) -> None:
        self.own: SearchName | None = search_name(name)
        self._other = parsed_by_ir_measures(name) if self.own is None else None
        base = str(getattr(self._other, "NAME", "nDCG" if self.own and self.own.base == "ndcg" else "P"))
        bounds = (0.0, 1.0) if base in UNIT else None
        title = name + _gain_in_words(name, base)
        self.measure = Measure(name, title, True, bounds=bounds, is_total=base in COUNTS)

    def values(self, grade: FloatArray, scores: FloatArray, query: IntArray) -> FloatArray:
        """Return the value of each query.

        Rows are sorted by query and then by document id; the grade is NaN if it was not judged, the score if
        it was not retrieved.
        """
        n_queries = int(query.max()) + 1
        if self.own is None:
            return _by_ir_measures(self._other, grade, scores, query, n_queries)
        rows, (base, k, rel, gain) = RetrievedRows.by(grade, scores, query, n_queries), self.own
        if base == "ndcg":
            return rows.ndcg(k, gain)
        if base == "p":
            return rows.precision(k or 1, rel)
        return rows.average_precision(rel) if base == "map" else rows.reciprocal_rank(rel)


def search_measures(names: str | Sequence[str]) -> list[SearchMeasure]:
    """Return the measures of one or more names."""
    return [SearchMeasure(name) for name in ([names] if isinstance(names, str) else names)]


def _gain_in_words(name: str, base: str) -> str:
    """State the gain of NDCG, whose names in this library and in ir-measures differ by case alone."""
    if base != "nDCG":
        return ""
    if "exp-log2" in name or name.startswith("ndcg"):
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


def _by_ir_measures(
    measure: Any, grade: FloatArray, scores: FloatArray, query: IntArray, n_queries: int
) -> FloatArray:
    """Compute a measure with ir-measures; queries and documents have numbers in the order of rows."""
    import ir_measures

    width = len(str(len(query)))
    names = [str(row).zfill(width) for row in range(len(query))]
    # Negative grades mean that a document was not judged, and its programs need not end with them.
    qrels = _nested(query, names, np.nan_to_num(grade).astype(np.int64), grade >= 0)
    run = _nested(query, names, scores, ~np.isnan(scores))
    try:
        found = list(ir_measures.iter_calc([measure], qrels, run))
    except _FAILURES as error:
        reason = f"{error}".rstrip(".")
        raise ValueError(f"ir-measures cannot compute {measure}: {reason}.") from None
    values = np.zeros(n_queries)
    for one in found:
        values[int(one.query_id)] = one.value
    return values


def _nested(query: IntArray, names: list[str], values: Any, known: Any) -> dict[str, dict[str, Any]]:
    """Return values by query and document."""
    found: dict[str, dict[str, Any]] = {}
    for row in np.flatnonzero(known).tolist():
        found.setdefault(str(query[row]), {})[names[row]] = values[row].item()
    return found
