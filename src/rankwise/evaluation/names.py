"""Names of measures, models and features for display."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rankwise.core.pipelines import fitted_columns, last_step
from rankwise.core.text import plural
from rankwise.data.columns import column_names
from rankwise.evaluation.models import is_scores
from rankwise.evaluation.registry import measure_title

# Criteria of searches that are no measures.
_CRITERIA = {
    "concordance": "Concordance",
    "distance": "Mean distance of ranks",
    "score": "Minus the score",
}


def measure_name(key: str) -> str:
    """Return the name of a measure, or of what a search minimizes, by its key."""
    return _CRITERIA.get(key) or measure_title(key)


def metric_name(metric: Callable[..., Any], options: dict[str, Any]) -> str:
    """Return the name of a function of `rankwise.metrics` with its options.

    Examples
    --------
    >>> from rankwise.evaluation.list_measures import ndcg
    >>> metric_name(ndcg, {"k": 10})
    'ndcg@10'
    """
    rank = "" if options.get("k") is None else f"@{options['k']}"
    return metric.__name__.replace("_", " ") + rank


def model_name(model: Any) -> str:
    """Return the default name of a model."""
    return "scores" if is_scores(model) else type(last_step(model)).__name__


def feature_names(X: Any, model: Any, given: Sequence[str] | None, n_features: int) -> list[str]:
    """Return the given names, or those of the frame, of the fit or of the model file, or f1, f2, ..."""
    found = [given, column_names(X), fitted_columns(model)]
    names = next((list(map(str, listed)) for listed in found if listed is not None), None)
    if names is None:
        return numbered_names(n_features)
    if len(names) != n_features:
        raise ValueError(
            f"feature_names has {plural(len(names), 'name')}, but X has {plural(n_features, 'feature')}."
        )
    return names


def row_names_of(given: Any, data: Any) -> Any:
    """Return the given names of all rows, or those in the index of a frame; None if it has numbers."""
    index: Any = getattr(data.X, "index", None)
    has_words = getattr(getattr(index, "dtype", None), "kind", "i") in "OUT"
    if given is None and not has_words:
        return None
    names = [str(name) for name in (index if given is None else given)]
    if len(names) != data.n_given:
        raise ValueError(
            f"row_names has {plural(len(names), 'name')}, but X has {plural(data.n_given, 'row')}."
        )
    return names


def row_words(row: int | str) -> str:
    """Return the name of a row, or "row" and its number.

    Examples
    --------
    >>> row_words("GX229-87"), row_words(1070)
    ('GX229-87', 'row 1070')
    """
    return row if isinstance(row, str) else f"row {row}"


def numbered_names(n_features: int) -> list[str]:
    """Return f1, f2, ... for features without names."""
    return [f"f{number}" for number in range(1, n_features + 1)]


def shortened(name: str, length: int = 18) -> str:
    """Shorten a name in its middle: names with a common beginning often differ at the end.

    Examples
    --------
    >>> shortened("a rather long name, number 12")
    'a rather…number 12'
    """
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head].rstrip()}…{name[head + 1 - length :].lstrip()}"
