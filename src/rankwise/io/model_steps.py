"""The steps before a ranker in a model file: scalers, imputers and encoders of scikit-learn.

The table below lists the learned attributes that are stored. A step with further, private state is fitted to
a sample row on loading, by scikit-learn's public interface, and then gets its stored attributes.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray
from rankwise.data.columns import CATEGORY, KINDS, ORDERED
from rankwise.data.frames import new_frame
from rankwise.data.query_scaler import QueryScaler
from rankwise.data.table_encoder import TableEncoder
from rankwise.estimators.model_scores import ModelScores
from rankwise.io.model_layout import Arrays, Contents, ModelFileError
from rankwise.io.model_values import decode, encode, from_node, to_node

# The columns of a SimpleImputer with an indicator of missing values: its `indicator_.features_`.
INDICATED = "indicated_"
# The learned attributes of each step; others are not part of the format.
STEPS: dict[type[BaseEstimator], tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_", "n_samples_seen_"),
    MinMaxScaler: ("min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_"),
    MaxAbsScaler: ("max_abs_", "scale_", "n_samples_seen_"),
    RobustScaler: ("center_", "scale_"),
    QueryScaler: ("fitted_with_qid_",),
    SimpleImputer: ("statistics_", INDICATED),
    OneHotEncoder: ("categories_",),
    OrdinalEncoder: ("categories_",),
    TableEncoder: ("kinds_", "categories_", "medians_", "has_missing_"),
}
STEP_NAMES = {kind.__name__: kind for kind in STEPS}
COMMON = ("n_features_in_", "feature_names_in_")
ENCODERS = (OneHotEncoder, OrdinalEncoder)
WORDS = ("passthrough", "drop")
# Scaled features are of order 1; rounding alone lets those of constant columns be larger.
FAR = 1e100


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator that is not fitted."""
    try:
        check_is_fitted(estimator)
    except Exception:  # the text of NotFittedError has several sentences
        raise ModelFileError(f"{type(estimator).__name__} is not fitted; call fit first") from None


def step_to_node(step: Any, contents: Contents) -> Any:
    """Return a step as a node; refuse those that are not in the table."""
    if step is None or (isinstance(step, str) and step in WORDS):
        return "passthrough" if step is None else step
    if isinstance(step, Pipeline):
        return {"steps": [[name, step_to_node(part, contents)] for name, part in step.steps]}
    if isinstance(step, ColumnTransformer):
        return _columns_to_node(step, contents)
    if type(step) not in STEPS:
        accepted = ", ".join([*STEP_NAMES, "ColumnTransformer"])
        raise ModelFileError(f"a step before the ranker must be one of {accepted}; got {step!r}")
    check_fitted(step)
    _check_parameters(step)
    names = (*STEPS[type(step)], *COMMON)
    learned = {name: getattr(step, name) for name in names if hasattr(step, name)}
    if getattr(step, "indicator_", None) is not None:
        learned[INDICATED] = step.indicator_.features_
    return to_node(step, learned, contents)


def _check_parameters(step: Any) -> None:
    """Refuse parameters of a step with which it learns more than the table lists."""
    filled = getattr(step, "statistics_", np.empty(0)).tolist()
    if isinstance(step, SimpleImputer) and not all(isinstance(value, Real) for value in filled):
        raise ModelFileError("a SimpleImputer must fill in numbers")
    if isinstance(step, ENCODERS) and (step.min_frequency is not None or step.max_categories is not None):
        raise ModelFileError(f"a {type(step).__name__} must not have min_frequency or max_categories")


def step_from_node(node: Any, arrays: Arrays) -> Any:
    """Return the step of a node."""
    if isinstance(node, str):
        if node not in WORDS:
            raise ModelFileError(f"{node!r} is not a step")
        return node
    if "steps" in node:
        return Pipeline([(str(name), step_from_node(part, arrays)) for name, part in node["steps"]])
    if "columns" in node:
        return _columns_from_node(node, arrays)
    if (name := node["class"]) not in STEP_NAMES:
        raise ModelFileError(f"this version of rankwise has no estimator named {name!r}")
    kind = STEP_NAMES[name]
    return _completed(from_node(kind, (*STEPS[kind], *COMMON), node, arrays))


def _completed(step: Any) -> Any:
    """Fit a step that has private state to one row, then restore its stored attributes."""
    if isinstance(step, StandardScaler) and step.scale_ is not None:
        with np.errstate(all="ignore"):
            if (np.sqrt(step.var_) / step.scale_ > FAR).any():
                raise ModelFileError("the scale_ of its StandardScaler is inconsistent with var_")
    if isinstance(step, TableEncoder):
        _check_table(step)
    if not isinstance(step, SimpleImputer | OneHotEncoder | OrdinalEncoder):
        return step
    learned = {name: getattr(step, name) for name in (*STEPS[type(step)], *COMMON) if hasattr(step, name)}
    if isinstance(step, SimpleImputer):
        step.fit(_rows_with_gaps(step, learned))
        learned.pop(INDICATED, None)
    else:
        given = step.categories
        step.set_params(categories=learned["categories_"])
        step.fit(np.array([[values[0] for values in learned["categories_"]]], dtype=object))
        step.set_params(categories=given)
    for name, value in learned.items():
        setattr(step, name, value)
    return step


def _rows_with_gaps(imputer: SimpleImputer, learned: dict[str, Any]) -> FloatArray:
    """Return rows with missing values in the columns that an imputer indicates."""
    n_features, indicated = len(learned["statistics_"]), learned.get(INDICATED, np.zeros(0, dtype=np.int64))
    if imputer.add_indicator:
        is_valid = indicated.dtype.kind in "iu" and indicated.ndim == 1
        if not (is_valid and np.isin(indicated, np.arange(n_features)).all()):
            raise ModelFileError("the columns that its SimpleImputer indicates are inconsistent")
    rows = np.full((2, n_features), 1.0 if imputer.missing_values == 0 else 0.0)
    rows[0, indicated.astype(np.int64)] = imputer.missing_values
    return rows


def _columns_to_node(transformer: ColumnTransformer, contents: Contents) -> dict[str, Any]:
    """Return a ColumnTransformer as a node; a function that selects columns is stored as their list."""
    check_fitted(transformer)
    given = {name: step for name, step, _ in transformer.transformers} | {"remainder": transformer.remainder}
    listed = []
    for name, step, columns in transformer.transformers_:
        kept = step_to_node(given[name] if isinstance(given[name], str) else step, contents)
        listed.append([name, kept, encode(_resolved(columns, transformer), contents.arrays)])
    settings = transformer.get_params(deep=False)
    for name in ("transformers", "remainder", "n_jobs"):
        settings.pop(name)
    learned = {name: getattr(transformer, name, None) for name in (*COMMON, "sparse_output_")}
    return {
        "columns": listed,
        "parameters": encode(settings, contents.arrays),
        "attributes": encode(learned, contents.arrays),
    }


def _resolved(columns: Any, transformer: ColumnTransformer) -> list[Any]:
    """Return columns as a list of names or of indices."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, slice) or not all(isinstance(column, str) for column in columns):
        return np.arange(transformer.n_features_in_)[columns].ravel().tolist()
    return [str(column) for column in columns]


def _columns_from_node(node: dict[str, Any], arrays: Arrays) -> ColumnTransformer:
    settings, learned = decode(node["parameters"], arrays), decode(node["attributes"], arrays)
    listed = [
        (str(name), step_from_node(step, arrays), decode(columns, arrays))
        for name, step, columns in node["columns"]
    ]
    names, n_features = learned["feature_names_in_"], learned["n_features_in_"]
    if type(n_features) is not int or not 0 < n_features <= sum(len(columns) for _, _, columns in listed):
        raise ModelFileError("its columns are inconsistent")
    own = {name: step for name, step, _ in listed}
    rest = own.get("remainder", "drop")
    chosen = [part for part in listed if part[0] != "remainder"]
    frozen = [(name, _frozen(step), columns) for name, step, columns in chosen]
    transformer = ColumnTransformer(frozen, remainder=_frozen(rest), **settings)
    transformer.fit(_row_for(listed, names, n_features))
    transformer.transformers, transformer.remainder = chosen, rest
    transformer.transformers_ = [
        (name, _thawed(step, own.get(name)), columns) for name, step, columns in transformer.transformers_
    ]
    transformer.sparse_output_ = bool(learned["sparse_output_"])
    return transformer


def _frozen(step: Any) -> Any:
    return step if isinstance(step, str) else FrozenEstimator(step)


def _thawed(step: Any, own: Any) -> Any:
    return own if isinstance(step, FrozenEstimator) else step


def _front(model: Any) -> Any:
    """Return the first step of a pipeline, or the encoder inside a model, or the model."""
    front = model.steps[0][1] if isinstance(model, Pipeline) else model
    return getattr(front, "encoder_", front)


def sample_row(model: Any) -> Any:
    """Return a row that the steps of a model accept: zeros, and the first of the categories."""
    front = _front(model)
    if isinstance(front, ModelScores):
        return sample_row(
            max((one for _, one in front.models), key=lambda one: isinstance(_front(one), TableEncoder))
        )
    if isinstance(front, ColumnTransformer):
        names = getattr(front, "feature_names_in_", None)
        return _row_for(front.transformers_, names, front.n_features_in_)
    if isinstance(front, TableEncoder):
        return _row_of_table(front)
    if isinstance(front, ENCODERS):
        return _row_for([("", front, range(front.n_features_in_))], None, front.n_features_in_)
    return np.zeros((1, getattr(model, "n_features_in_", last_step(model).n_features_in_)))


def _row_of_table(encoder: TableEncoder) -> Any:
    levels = encoder.categories_
    row = [levels[place][0] if levels.get(place) else 0.0 for place in range(encoder.n_features_in_)]
    names = getattr(encoder, "feature_names_in_", None)
    if names is None:
        return np.array([row], dtype=object if levels else None)
    return new_frame({name: np.array([value]) for name, value in zip(names, row, strict=True)})


def _check_table(encoder: TableEncoder) -> None:
    """Refuse an encoder whose attributes do not belong together."""
    n, kinds, levels = encoder.n_features_in_, encoder.kinds_, encoder.categories_
    with_levels = {place for place, kind in enumerate(kinds) if kind in (CATEGORY, ORDERED)}
    known = isinstance(n, int) and len(kinds) == n and set(kinds) <= set(KINDS)
    shapes = known and np.shape(encoder.medians_) == np.shape(encoder.has_missing_) == (n,)
    if not (shapes and set(levels) == with_levels and all(isinstance(one, list) for one in levels.values())):
        raise ModelFileError("the columns of its TableEncoder are inconsistent")


def _row_for(listed: list[Any], names: Any, n_features: int) -> Any:
    values: dict[Any, Any] = dict.fromkeys(range(n_features) if names is None else list(names), 0.0)
    for _, step, columns in listed:
        first = step.steps[0][1] if isinstance(step, Pipeline) else step
        if isinstance(first, ENCODERS):
            values |= {column: options[0] for column, options in zip(columns, first.categories_, strict=True)}
    if names is None:
        row = list(values.values())
        return np.array([row], dtype=object if any(isinstance(value, str) for value in row) else None)
    return new_frame({name: np.array([value]) for name, value in values.items()})
