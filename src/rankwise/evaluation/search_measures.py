"""Measures by the names of ir-measures: those of this library, and all others by ir-measures itself."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.measures import Metric, Scored
from rankwise.evaluation.ranked_rows import require_labels
from rankwise.evaluation.registry import parsed_name

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
