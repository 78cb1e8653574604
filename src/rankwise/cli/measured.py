"""Measures of models, in all and per query, as `rankwise evaluate` prints them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rankwise.core.text import table
from rankwise.evaluation.measures import Measured


def model_values(name: str, measured: Iterable[Measured]) -> dict[str, Any]:
    """Return the measures of a model for machines."""
    return {"model": name, "measures": {one.measure.key: one.as_dict() for one in measured}}


def query_values(queries: list[Any], measured: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the measures of each query, one entry per model."""
    columns = {
        of[0].measure.key: [one.values.tolist() for one in of] for of in zip(*measured.values(), strict=True)
    }
    return [
        {"qid": qid, **{key: [values[k] for values in of] for key, of in columns.items()}}
        for k, qid in enumerate(queries)
    ]


def per_query_lines(queries: list[dict[str, Any]], n_models: int) -> list[str]:
    """Return a table with a row per query and, for several models, per model."""
    names = [name for name in queries[0] if name != "qid"]
    rows = [
        [
            str(query["qid"]),
            *([chr(ord("A") + k)] if n_models > 1 else []),
            *("-" if query[name][k] != query[name][k] else f"{query[name][k]:.4f}" for name in names),
        ]
        for query in queries
        for k in range(n_models)
    ]
    return table(["query", *(["model"] if n_models > 1 else []), *names], rows)
