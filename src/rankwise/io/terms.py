"""A model as a sum of terms, the form from which every format is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rankwise.core.pipelines import fitted_columns, last_step
from rankwise.core.types import FloatArray
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.boosted_base import BaseBoostedRanker
from rankwise.estimators.curve_ranker import BaseCurveRanker
from rankwise.estimators.scaling import Scaling, scaling_of
from rankwise.functions.curve_axis import Axis
from rankwise.io.model_file import names_of
from rankwise.io.trees import Tree, boosted_trees


@dataclass(frozen=True)
class Table:
    """A function of one feature or two, as a table with an entry per bin, knot or level.

    Attributes
    ----------
    columns : tuple of int
        The indices of the features.
    axes : tuple of Axis
        The mapping from values of each feature to entries.
    values : array
        The entries; the last of each dimension is for missing and unknown values.
    """

    columns: tuple[int, ...]
    axes: tuple[Axis, ...]
    values: FloatArray


@dataclass(frozen=True)
class Terms:
    """score(x) = sum_k coef_k f_k(s(x)) + sum_t table_t(x), or a sum of trees.

    Here s scales, and f_k is a feature.

    Attributes
    ----------
    ranker : fitted ranker
    names : list of str
        The names of all features.
    coef : array of shape (n_terms,) or (n_outputs, n_terms)
        The weights of features; empty for a sum of tables or trees.
    scalings : list of Scaling
    tables : list of Table
        Tables that are zero everywhere are omitted.
    categories : dict of lists
        The categories of categorical columns, by index; their levels are indices into these lists.
    trees : list of Tree
        Their thresholds are those of the features before scaling.
    """

    ranker: Any
    names: list[str]
    coef: FloatArray
    scalings: list[Scaling] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    categories: dict[int, list[Any]] = field(default_factory=dict)
    trees: list[Tree] = field(default_factory=list)


def has_tables(model: Any) -> bool:
    """Tell whether the score of a model is a sum of tables."""
    return isinstance(last_step(model), BaseCurveRanker)


def has_trees(model: Any) -> bool:
    """Tell whether the score of a model is a sum of trees."""
    return isinstance(last_step(model), BaseBoostedRanker)


def terms_of(model: Any, format: str, feature_names: Sequence[str] | None, output: int | None) -> Terms:
    """Return the terms of a model; refuse a model that the format cannot represent."""
    if has_tables(model):
        return _tables(model, feature_names, output)
    ranker, scalings = _steps(model)
    if has_trees(model):
        _check_one_output(output)
        names = _names(model, ranker, feature_names)
        trees = boosted_trees(ranker, scalings, names)
        return Terms(ranker, names, np.zeros(0), categories=dict(ranker.categories_), trees=trees)
    if not hasattr(ranker, "coef_"):
        raise ValueError(
            f"Format {format!r} supports linear models, and this {type(ranker).__name__} has "
            f"kernel={ranker.kernel!r}, which no format supports; save_model writes all models."
        )
    coef = np.asarray(ranker.coef_, dtype=np.float64)
    if output is not None or format != "onnx":
        coef = _chosen_output(coef, output, format)
    if not np.isfinite(coef).all():
        raise ValueError("The weights of the model contain NaN or infinity.")
    return Terms(ranker, _names(model, ranker, feature_names), coef, scalings)


def _tables(model: Any, feature_names: Sequence[str] | None, output: int | None) -> Terms:
    ranker = last_step(model)
    if ranker is not model:
        raise ValueError(
            f"Only a {type(ranker).__name__} without other steps can be exported, and this one is the last "
            "step of a Pipeline; its bins need no scaler."
        )
    check_is_fitted(ranker)
    _check_one_output(output)
    axes, pair_axes = ranker.curve_features.axes, ranker.curve_features.pair_axes
    tables = [
        Table((column,), (axis,), values)
        for column, (axis, values) in enumerate(zip(axes, ranker.values_, strict=True))
    ]
    tables += [
        Table((int(j), int(k)), (pair_axes[j], pair_axes[k]), values)
        for (j, k), values in zip(ranker.pairs_, ranker.pair_values_, strict=True)
    ]
    return Terms(
        ranker,
        _names(model, ranker, feature_names),
        coef=np.zeros(0),
        tables=[table for table in tables if table.values.any()],
        categories=dict(ranker.categories_),
    )


def _check_one_output(output: int | None) -> None:
    if output not in (None, 0):
        raise ValueError(f"output must be 0, as the model has one score per row; got {output!r}.")


def _steps(model: Any) -> tuple[Any, list[Scaling]]:
    """Return the fitted ranker of a model and the scalings before it; refuse other steps."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *front, ranker = steps
    if not isinstance(ranker, BaseRanker):
        raise TypeError(
            f"model must be one of {', '.join(names_of(BaseRanker))}, or a Pipeline of scalers that ends "
            f"with one; got {type(ranker).__name__}."
        )
    scalers = [step for step in front if step is not None and step != "passthrough"]
    for step in (*scalers, ranker):
        _check_fitted(step)
    return ranker, [scaling_of(scaler) for scaler in scalers]


def _check_fitted(step: Any) -> None:
    try:
        check_is_fitted(step)
    except NotFittedError:
        raise NotFittedError(f"{type(step).__name__} is not fitted; call fit before the export.") from None


def _chosen_output(coef: FloatArray, output: int | None, format: str) -> FloatArray:
    n_outputs = 1 if coef.ndim == 1 else len(coef)
    if output is None:
        if n_outputs > 1:
            raise ValueError(
                f"Format {format!r} has one score per row, but the model has {n_outputs} outputs; choose one "
                "by output=."
            )
        return np.atleast_2d(coef)[0]
    if isinstance(output, bool) or not isinstance(output, int) or not 0 <= output < n_outputs:
        raise ValueError(f"output must be an integer from 0 to {n_outputs - 1}; got {output!r}.")
    return np.atleast_2d(coef)[output]


def _names(model: Any, ranker: Any, feature_names: Sequence[str] | None) -> list[str]:
    """Return the names of the features: as given, as fitted, as saved with the model, or f1, f2, ...

    Scalers change no names, so those of the first step are those of the ranker.
    """
    n = int(ranker.n_features_in_)
    if feature_names is None:
        feature_names = fitted_columns(model) or fitted_columns(ranker)
    if feature_names is None:
        return [f"f{number}" for number in range(1, n + 1)]
    names = [str(name) for name in feature_names]
    if len(names) != n:
        raise ValueError(f"feature_names has length {len(names)}, but the model has n_features_in_={n}.")
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        raise ValueError("feature_names must be valid Unicode; a name has half of a surrogate pair.")
    if len(set(names)) != n:
        repeated = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"feature_names must be distinct; {repeated!r} occurs more than once.")
    return names
