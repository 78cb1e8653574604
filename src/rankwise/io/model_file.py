"""Save and load fitted models: one versioned file with a checksum, which never runs code.

A file names its estimators, which must be public names of `rankwise.estimators`, and holds what their classes
declare (`rankwise.core.stored`): loading calls nothing that the file chooses, and unpickles nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.pipeline import Pipeline

from rankwise import estimators
from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.stored import Part, declared
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.model_scores import ModelScores
from rankwise.io.model_layout import (
    VERSION,
    Arrays,
    Contents,
    ModelFileError,
    check_attributes,
    load_errors,
    read_model,
    write_model,
)
from rankwise.io.model_steps import STEP_NAMES, check_fitted, sample_row, step_from_node, step_to_node
from rankwise.io.model_values import decode, from_node, to_node
from rankwise.leaderboard.base import BaseLeaderboard

__all__ = ["ModelFileError", "ModelInfo", "load_model", "model_info", "save_model"]

# The number of basis rows that are scored when a kernel model is loaded, besides the largest.
BASIS_ROWS = 16


@dataclass(frozen=True)
class ModelInfo:
    """The header of a model file.

    Attributes
    ----------
    estimator : str
        The classes of the ranker and of the steps before it.
    feature_names : list of str or None
    metadata : dict
        As given to `save_model`.
    left_out : list of str
        Parameters that a file cannot hold, such as callbacks; they have their defaults after loading.
    created, rankwise, sklearn : str
        Time (UTC) and versions at writing. The version of scikit-learn is None if a command wrote a linear
        model without it.
    version : int
        The version of the file format.
    """

    estimator: str
    feature_names: list[str] | None
    metadata: dict[str, Any]
    left_out: list[str]
    created: str
    rankwise: str
    sklearn: str | None
    version: int


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file, atomically.

    The file is JSON with a checksum and the arrays in base64. A previous file is replaced in one step: a
    crash leaves the old model or the new one.

    Parameters
    ----------
    model : ranker, Pipeline that ends in one, fitted search over these, or BradleyTerry
        The steps before a ranker may be `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`,
        `QueryScaler`, `SimpleImputer`, `OneHotEncoder`, `OrdinalEncoder` and a `ColumnTransformer` of these,
        alone or in pipelines. For a search such as GridSearchCV, the best estimator is stored; for an
        `AutoRanker`, what was tried is stored as metadata. Kernels must be named or precomputed, since a
        function cannot be stored. Parameters that hold functions or other objects (callback, a random state,
        a splitter) are omitted.
    path : path
        The file.
    feature_names : sequence of str, optional
        For a model that was not fitted to named columns; `export_model` uses them.
    metadata : dict, optional
        Any values that JSON can represent; `model_info` returns them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVM().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.json"
    ...     save_model(model, path, metadata={"data": "diabetes"})
    ...     loaded = load_model(path)
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    if hasattr(model, "tried_"):
        metadata = {"tried": model.tried_.as_dicts()} | (metadata or {})
    model = getattr(model, "best_estimator_", model)
    contents = Contents()
    try:
        write_model(
            path,
            model,
            _model_to_node(model, contents),
            contents,
            estimator=_description(model),
            sklearn=sklearn.__version__,
            feature_names=feature_names,
            metadata=metadata,
        )
    except ModelFileError as error:
        raise ModelFileError(f"This model cannot be saved: {error}.") from None


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file; its predictions equal those of the saved model bit for bit.

    Parameters
    ----------
    path : path
        A file that `save_model` wrote.

    Returns
    -------
    model : estimator or pipeline
        Its predictions equal those of the saved model.

    Raises
    ------
    ModelFileError
        The file is not a model, is truncated, was altered, or has a newer format.
    """
    header, arrays = read_model(path, with_arrays=True)
    with load_errors(path):
        model = _model_from_node(header["model"], arrays)
        names = decode(header["feature_names"], arrays)
        if names is not None and not hasattr(model, "feature_names_in_"):
            last_step(model).feature_names_ = names
        check_attributes(last_step(model))
        if not isinstance(model, BaseLeaderboard):  # which has no rows to score
            _check_scores(model)
    return model


def model_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return the header of a model file, without reading its arrays.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rankwise import RankRLS
    >>> model = RankRLS().fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.json"
    ...     save_model(model, path, feature_names=["age"])
    ...     info = model_info(path)
    >>> info.estimator, info.feature_names
    ('RankRLS', ['age'])
    """
    header, _ = read_model(path, with_arrays=False)
    with load_errors(path):
        names = decode(header["feature_names"], [])
        fields = {key: header[key] for key in ("metadata", "left_out", "created", "rankwise", "sklearn")}
        return ModelInfo(header["estimator"], names, version=VERSION, **fields)


def _description(model: Any) -> str:
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    return " > ".join(type(step).__name__ for step in steps if not isinstance(step, str))


def _model_to_node(model: Any, contents: Contents) -> dict[str, Any]:
    if isinstance(model, Pipeline) and isinstance(model.steps[0][1], ModelScores):
        (_, scores), (_, mix) = model.steps
        return {
            "models": [[name, _model_to_node(one, contents)] for name, one in scores.models],
            "scales": [float(scale) for scale in scores.scales],
            "mix": _ranker_to_node(mix, contents),
        }
    if isinstance(model, Pipeline):
        *front, (name, ranker) = model.steps
        steps = [[title, step_to_node(step, contents)] for title, step in front]
        return {"pipeline": [*steps, [name, _ranker_to_node(ranker, contents)]]}
    return _ranker_to_node(model, contents, last=False)


def _class_of(name: Any) -> type[Any] | None:
    """Return the estimator of a name if a file can hold its fits; nothing else is imported or called."""
    kind = getattr(estimators, name) if name in estimators.__all__ else None
    return kind if kind is not None and issubclass(kind, (BaseRanker, BaseLeaderboard)) else None


def names_of(kind: type[Any] | tuple[type[Any], ...]) -> list[str]:
    """Return the names of the estimators of a kind, such as `BaseRanker`, which scores rows."""
    return [name for name in estimators.__all__ if issubclass(getattr(estimators, name), kind)]


def _ranker_to_node(ranker: Any, contents: Contents, last: bool = True) -> dict[str, Any]:
    kind = type(ranker)
    if _class_of(kind.__name__) is not kind or (last and issubclass(kind, BaseLeaderboard)):
        accepted = names_of(BaseRanker if last else (BaseRanker, BaseLeaderboard))
        raise ModelFileError(
            f"the model, or the last step of a Pipeline, must be one of {', '.join(accepted)}; got {ranker!r}"
        )
    check_fitted(ranker)
    if callable(getattr(ranker, "kernel", None)):
        raise ModelFileError("its kernel is a function, and only named and precomputed kernels can be stored")
    entries, learned = declared(kind), dict(vars(ranker))
    omitted = set(learned) - set(entries)
    learned = {name: value for name, value in learned.items() if name not in omitted}
    parts = {name: value for name, value in learned.items() if isinstance(entries.get(name), Part)}
    node = to_node(ranker, {name: learned[name] for name in learned if name not in parts}, contents)
    for name, part in parts.items():
        to_part = _ranker_to_node if isinstance(part, BaseRanker) else step_to_node
        node.setdefault("held", {})[name] = to_part(part, contents)
    return node


def _model_from_node(node: dict[str, Any], arrays: Arrays) -> Any:
    if "models" in node:
        models = [(str(name), _model_from_node(one, arrays)) for name, one in node["models"]]
        for _, one in models:
            check_attributes(last_step(one))
        scores = ModelScores(models, [float(scale) for scale in node["scales"]])
        if len(scores.models) != len(scores.scales) or not all(scale > 0 for scale in scores.scales):
            raise ModelFileError("the scales of its models are inconsistent")
        return Pipeline([("models", scores), ("mix", _ranker_from_node(node["mix"], arrays))])
    if "pipeline" in node:
        *front, (name, ranker) = node["pipeline"]
        steps = [(title, step_from_node(step, arrays)) for title, step in front]
        return Pipeline([*steps, (name, _ranker_from_node(ranker, arrays))])
    return _ranker_from_node(node, arrays)


def _ranker_from_node(node: dict[str, Any], arrays: Arrays) -> Any:
    if (kind := _class_of(node["class"])) is None:
        raise ModelFileError(f"this version of rankwise has no estimator named {node['class']!r}")
    entries = declared(kind)
    ranker = from_node(kind, entries, node, arrays)
    for name, part in node.get("held", {}).items():
        declaration = entries.get(name)
        if not isinstance(declaration, Part) or part["class"] not in declaration.names:
            raise ModelFileError(f"{name!r} is not the name of a learned attribute")
        from_part = step_from_node if part["class"] in STEP_NAMES else _ranker_from_node
        setattr(ranker, name, from_part(part, arrays))
    return ranker


def _check_scores(model: Any) -> None:
    """Refuse a model that fails to score a sample row."""
    ranker = last_step(model)
    takes_sparse = model is ranker and hasattr(ranker, "coef_")
    is_sparse = takes_sparse or sp.issparse(getattr(ranker, "basis_", None))
    row = sp.csr_matrix((1, ranker.n_features_in_)) if is_sparse else sample_row(model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the row has neither names nor meaning
            scores = ranker.predict(before_last_step(model, row, qid=[0]))
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ModelFileError(f"it cannot score a row ({type(error).__name__}: {reason})") from None
    if np.shape(scores)[:1] != (1,):
        raise ModelFileError(f"its scores of one row have shape {np.shape(scores)}")
    if np.asarray(scores).dtype.kind == "f" and not np.isfinite(scores).all():
        raise ModelFileError("its score of a row is not finite")
    function = getattr(ranker, "ranker_", ranker)
    if getattr(function, "basis_", None) is not None:
        _check_basis_scores(function)


def _check_basis_scores(ranker: Any) -> None:
    """Refuse a kernel by which the scores of some of its basis rows are not finite."""
    spread = np.linspace(0, ranker.basis_.shape[0] - 1, BASIS_ROWS).astype(int)
    rows = ranker.basis_[np.unique([*spread, *_extreme_rows(ranker.basis_)])]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scores = getattr(ranker, "utility", ranker.predict)(rows)
    if not np.isfinite(scores).all():
        raise ModelFileError("its kernel or its basis_ gives scores that are not finite")


def _extreme_rows(basis: Any) -> Any:
    """Return the numbers of the rows with the largest and the smallest entry."""
    values = basis.data if sp.issparse(basis) else basis
    places = np.array([values.argmax(), values.argmin()] if values.size else [], dtype=np.int64)
    if sp.issparse(basis):
        return np.searchsorted(basis.indptr, places, side="right") - 1
    return places // max(basis.shape[1], 1)
