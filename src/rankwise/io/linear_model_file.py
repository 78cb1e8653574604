"""Files of linear models for commands that start without scikit-learn; the format is that of `save_model`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.data.sparse_rows import SparseRows
from rankwise.estimators.linear_ranker import LinearRanker
from rankwise.io.model_layout import Contents, load_errors, read_model, write_model
from rankwise.io.model_values import decode, to_node

# The estimators whose `predict` gives the scores X w.
SCORERS = ("RankSVM", "RankSVMCV", "RankLogistic", "RankLogisticCV", "RankRLS", "RankRLSCV")


def save_linear_model(
    model: LinearRanker,
    path: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model as `save_model` does; `load_model` makes a `RankSVM` of it."""
    contents, parameters = Contents(), model.get_params()
    learned = {name: value for name, value in vars(model).items() if name not in parameters}
    write_model(
        path,
        model,
        to_node(model, learned, contents) | {"class": "RankSVM"},
        contents,
        estimator="RankSVM",
        sklearn=None,
        feature_names=feature_names,
        metadata=metadata,
    )


def load_linear_scorer(path: str | os.PathLike[str]) -> LinearRanker | None:
    """Return a scorer of rows by the model of a file, or None if it takes `load_model`.

    That is the case for kernels, trees and curves, for steps before a ranker, for named columns, and for
    arrays that do not fit together, for which `load_model` raises the error.
    """
    header, _ = read_model(path, with_arrays=False)
    if not _is_linear(header):
        return None
    header, arrays = read_model(path, with_arrays=True)
    with load_errors(path):
        node = header["model"]
        names = ("coef_", "n_features_in_")
        coef, n_features = (decode(node["attributes"][name], arrays) for name in names)
        n_jobs = node["parameters"].get("n_jobs")
    scorer = LinearRanker(n_jobs=n_jobs)
    scorer.coef_, scorer.n_features_in_ = coef, n_features
    return scorer if _fit_together(coef, n_features) and _scores_a_row(scorer) else None


def _is_linear(header: dict[str, Any]) -> bool:
    node = header.get("model")
    learned = node.get("attributes") if isinstance(node, dict) and node.get("class") in SCORERS else None
    return isinstance(learned, dict) and "coef_" in learned and "feature_names_in_" not in learned


def _fit_together(coef: Any, n_features: Any) -> bool:
    is_matrix = isinstance(coef, np.ndarray) and coef.dtype.kind == "f" and coef.ndim in (1, 2)
    fits = is_matrix and type(n_features) is int and coef.shape[-1] == n_features
    return fits and len(coef) > 0 and bool(np.isfinite(coef).all())


def _scores_a_row(scorer: LinearRanker) -> bool:
    """Return whether a row that is made up gets a score, as `load_model` asks too."""
    empty = np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int32)
    try:
        scorer.predict(SparseRows(empty, (1, scorer.n_features_in_)))
    except Exception:  # the file may say anything, such as a number of threads that is no number
        return False
    return True
