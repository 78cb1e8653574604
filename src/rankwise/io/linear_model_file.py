"""Files of linear models for commands that start without scikit-learn; the format is that of `save_model`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.estimators.linear_rank_svm import LinearRankSVM
from rankwise.io.model_layout import Contents, load_errors, read_model, write_model
from rankwise.io.model_values import decode, to_node

# The estimators whose `predict` gives the scores X w.
SCORERS = ("RankSVM", "RankSVMCV", "RankLogistic", "RankLogisticCV", "RankRLS", "RankRLSCV")


def save_linear_model(
    model: LinearRankSVM,
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


def load_linear_scorer(path: str | os.PathLike[str]) -> LinearRankSVM | None:
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
    return linear_scorer(coef, n_jobs) if _fit_together(coef, n_features, n_jobs) else None


def linear_scorer(coef: FloatArray, n_jobs: int | None = None) -> LinearRankSVM:
    """Return a model that scores rows by their products with weights."""
    scorer = LinearRankSVM(n_jobs=n_jobs)
    scorer.coef_, scorer.n_features_in_ = coef, coef.shape[-1]
    return scorer


def _is_linear(header: dict[str, Any]) -> bool:
    node = header.get("model")
    learned = node.get("attributes") if isinstance(node, dict) and node.get("class") in SCORERS else None
    return isinstance(learned, dict) and "coef_" in learned and "feature_names_in_" not in learned


def _fit_together(coef: Any, n_features: Any, n_jobs: Any) -> bool:
    """Return whether the values, which may be anything, are those of a model."""
    is_matrix = isinstance(coef, np.ndarray) and coef.dtype == np.float64 and coef.ndim in (1, 2)
    fits = is_matrix and type(n_features) is int and coef.shape[-1] == n_features > 0 and len(coef) > 0
    has_threads = n_jobs is None or (type(n_jobs) is int and 0 < abs(n_jobs) < 1 << 31)
    with np.errstate(over="ignore"):
        return fits and has_threads and bool(np.isfinite(np.square(coef).sum()))
