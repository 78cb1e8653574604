"""Models in the formats of other programs, each written from a sum of terms or trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rankwise.core.checks import check_choice
from rankwise.core.pipelines import last_step
from rankwise.io.atomic import atomic_write
from rankwise.io.c import c_source
from rankwise.io.json_text import json_tables, json_trees
from rankwise.io.onnx import onnx_model
from rankwise.io.search_engines import elasticsearch_model, solr_model
from rankwise.io.sql import sql_expression
from rankwise.io.svmrank import read_svmrank_model, svmrank_model
from rankwise.io.table_trees import table_trees
from rankwise.io.terms import has_tables, has_trees, terms_of
from rankwise.io.tree_engines import elasticsearch_trees, solr_trees

__all__ = ["FORMATS", "export_model", "read_svmrank_model"]

FORMATS: dict[str, Callable[..., str | bytes]] = {
    "svmrank": svmrank_model,
    "solr": solr_model,
    "elasticsearch": elasticsearch_model,
    "opensearch": elasticsearch_model,
    "onnx": onnx_model,
    "c": c_source,
    "sql": sql_expression,
    "json": json_tables,
}
TREE_FORMATS: dict[str, Callable[..., str | bytes]] = {
    "solr": solr_trees,
    "elasticsearch": elasticsearch_trees,
    "opensearch": elasticsearch_trees,
    "json": json_trees,
}
# Search engines know no tables and get trees in their place.
TABLES_AS_TREES = ("solr", "elasticsearch", "opensearch")
TABLE_FORMATS = (*TABLES_AS_TREES, "onnx", "c", "sql", "json")
LINEAR_FORMATS = tuple(name for name in FORMATS if name != "json")


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
    """Write a fitted model in the format of another program.

    Parameters
    ----------
    model : ranker, or Pipeline of scalers and a ranker
        The scalers may be `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` and `RobustScaler`. All formats
        but "json" support linear models. For OrdinalSVM and HullRanker, the utility is exported. All formats
        but "svmrank" support `CurveRanker`, without scalers (search engines: only steps of numbers, which
        become trees). Search engines and "json" support `BoostedRanker`, whose thresholds take up the
        scalers. Models with kernels are not exported.
    path : path or None
        The file, which is written atomically; with None, the content is only returned.
    format : "svmrank", "solr", "elasticsearch", "opensearch", "onnx", "c", "sql" or "json"
        The format of the file.
    feature_names : sequence of str, optional
        The default is the names with which the model was fitted or saved, or else "f1", "f2", ... SVMrank
        files have numbers in place of names, and C code has the names in comments.
    model_name : str
        The name of the model in Solr and Elasticsearch, of the C function, or of the ONNX graph.
    output : int, optional
        The index of the output to export, if the model has several. Only "onnx" can represent all of them.
    **options
        Options of one format: `feature_store` (Solr), `dtype` ("float32" or "float64", ONNX), `quote` and
        `pair` (SQL), `n_documents` (SVMrank).

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
    _check_format(model, format)
    terms = terms_of(model, format, feature_names, output)
    if has_tables(model) and format in TABLES_AS_TREES:
        terms = replace(terms, trees=table_trees(terms))
    content = (TREE_FORMATS if terms.trees else FORMATS)[format](terms, model_name, **options)
    if path is not None:
        with atomic_write(path) as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return content


def _check_format(model: Any, format: str) -> None:
    check_choice(format, "format", FORMATS)
    supported = LINEAR_FORMATS
    if has_trees(model):
        supported = tuple(TREE_FORMATS)
    elif has_tables(model):
        supported = TABLE_FORMATS
    if format not in supported:
        name, listed = type(last_step(model)).__name__, ", ".join(map(repr, supported))
        raise ValueError(f"Format {format!r} does not support {name}; use one of {listed}.")
