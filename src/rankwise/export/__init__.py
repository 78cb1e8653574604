"""Models in the form of other programs: one file a format."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from rankwise.core.checks import check_choice
from rankwise.core.pipelines import last_step
from rankwise.export.c import c_source
from rankwise.export.curves import has_tables, json_tables
from rankwise.export.curves_c import c_tables
from rankwise.export.curves_onnx import onnx_tables
from rankwise.export.curves_sql import sql_tables
from rankwise.export.elasticsearch import elasticsearch_model
from rankwise.export.onnx import onnx_model
from rankwise.export.solr import solr_model
from rankwise.export.sql import sql_expression
from rankwise.export.svmrank import read_svmrank_model, svmrank_model
from rankwise.io.atomic import atomic_write

__all__ = ["FORMATS", "export_model", "read_svmrank_model"]

FORMATS: dict[str, Callable[..., str | bytes]] = {
    "svmrank": svmrank_model,
    "solr": solr_model,
    "elasticsearch": elasticsearch_model,
    "opensearch": elasticsearch_model,
    "onnx": onnx_model,
    "c": c_source,
    "sql": sql_expression,
}

# Those of a sum of curves.
TABLE_FORMATS: dict[str, Callable[..., str | bytes]] = {
    "onnx": onnx_tables,
    "c": c_tables,
    "sql": sql_tables,
    "json": json_tables,
}


def export_model(
    model: Any,
    path: str | os.PathLike[str] | None,
    format: str,
    *,
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
    **options: Any,
) -> str | bytes:
    """Write a fitted model in the form of another program.

    Parameters
    ----------
    model : ranker, or Pipeline of scalers and a ranker
        `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` and `RobustScaler` may stand in front. All formats
        take linear models; "onnx" takes named and precomputed kernels too. Of OrdinalSVM and HullRanker the
        utility is exported. `CurveRanker`, alone, goes to "onnx", "c", "sql" and "json", its tables.
    path : path or None
        Where to write, whole or not at all; None only returns the content.
    format : "svmrank", "solr", "elasticsearch", "opensearch", "onnx", "c", "sql" or "json"
    feature_names : sequence of str, optional
        By default those that the model was fitted or saved with, and "f1", "f2", ... where there are none.
        SVMrank files have numbers in place of names; C code takes an array and has them in comments.
    model_name : str
        The name that Solr and Elasticsearch store the model under, the C function's name, the name of the
        ONNX graph.
    output : int, optional
        Which of several outputs to export, counted from 0. Only "onnx" holds all of them.
    **options
        Of one format: `feature_store` (Solr), `dtype` ("float32" or "float64", ONNX), `quote` and `pair`
        (SQL), `n_documents` (SVMrank).

    Returns
    -------
    str, or bytes for ONNX
        The content of the file.

    Examples
    --------
    >>> from rankwise import RankRLS
    >>> model = RankRLS(alpha=0.5).fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])
    >>> print(export_model(model, None, "sql", feature_names=["age", "order"]))
    0.5 * "age"
    """
    content = _writer(model, format)(
        model, format=format, feature_names=feature_names, model_name=model_name, output=output, **options
    )
    if path is not None:
        with atomic_write(path) as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return content


def _writer(model: Any, format: str) -> Callable[..., str | bytes]:
    """Return what writes a model in a format; say which formats a model has where it is another."""
    check_choice(format, "format", FORMATS | TABLE_FORMATS)
    known = TABLE_FORMATS if has_tables(model) else FORMATS
    if format not in known:
        name, formats = type(last_step(model)).__name__, ", ".join(map(repr, known))
        raise ValueError(f"Format {format!r} does not hold a {name}; use one of {formats}.")
    return known[format]
