"""Files of linear models for commands that start without scikit-learn; the format is that of `save_model`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from rankwise.io.model_nodes import Writer, apart, read_model, refusals, write_model
from rankwise.io.model_values import decode
from rankwise.linear_ranker import LinearRanker

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
    writer, parameters = Writer(), model.get_params()
    learned = {name: value for name, value in vars(model).items() if name not in parameters}
    write_model(
        path,
        model,
        apart(model, learned, writer) | {"class": "RankSVM"},
        writer,
        estimator="RankSVM",
        sklearn=None,
        feature_names=feature_names,
        metadata=metadata,
    )


def load_linear_scorer(path: str | os.PathLike[str]) -> LinearRanker | None:
    """Return what scores rows by the model of a file, or None where only `load_model` knows what to do.

    That is so for kernels, trees and curves, for steps in front of a ranker, for columns that have names,
    and for numbers that do not fit together, of which it says what is wrong.
    """
    header, _ = read_model(path, with_arrays=False)
    if not _is_linear(header):
        return None
    header, arrays = read_model(path, with_arrays=True)
    with refusals(path):
        node = header["model"]
        names = ("coef_", "n_features_in_")
        coef, n_features = (decode(node["attributes"][name], arrays) for name in names)
        n_jobs = node["parameters"].get("n_jobs")
    if not _fit_together(coef, n_features, n_jobs):
        return None
    scorer = LinearRanker(n_jobs=n_jobs)
    scorer.coef_, scorer.n_features_in_ = coef, n_features
    return scorer


def _is_linear(header: dict[str, Any]) -> bool:
    node = header.get("model")
    learned = node.get("attributes") if isinstance(node, dict) and node.get("class") in SCORERS else None
    return isinstance(learned, dict) and "coef_" in learned and "feature_names_in_" not in learned


def _fit_together(coef: Any, n_features: Any, n_jobs: Any) -> bool:
    is_matrix = hasattr(coef, "dtype") and coef.dtype.kind == "f" and coef.ndim in (1, 2)
    is_count = type(n_features) is int and n_features >= 0
    is_known = n_jobs is None or (type(n_jobs) is int and n_jobs != 0)
    return is_matrix and is_count and is_known and coef.shape[-1] == n_features
