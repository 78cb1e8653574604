"""Saving and loading of fitted models: one versioned file with a checksum, which never runs code.

A file names its estimators, and only names in the tables below are known: loading imports nothing, calls
nothing that the file chooses, and unpickles nothing.
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
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from rankwise import estimators
from rankwise.core.pipelines import before_last_step, last_step
from rankwise.io.model_layout import VERSION, ModelFileError
from rankwise.io.model_leaderboard import check_leaderboard
from rankwise.io.model_learned import check_ranker
from rankwise.io.model_nodes import Writer, apart, read_model, refusals, together, write_model
from rankwise.io.model_steps import check_fitted, made_up_row, step_apart, step_together
from rankwise.io.model_values import Arrays, decode

__all__ = ["ModelFileError", "ModelInfo", "load_model", "model_info", "save_model"]

RANKERS: dict[str, type[BaseEstimator]] = {
    name: getattr(estimators, name)
    for name in (
        "RankSVM",
        "RankSVMCV",
        "RankLogistic",
        "RankLogisticCV",
        "RankRLS",
        "RankRLSCV",
        "OrdinalSVM",
        "OrdinalSVMCV",
        "HullRanker",
        "HullRankerCV",
        "BoostedRanker",
        "CurveRanker",
        "CurveRankerCV",
    )
}
# What has items and no rows to score.
LEADERBOARDS: dict[str, type[BaseEstimator]] = {"BradleyTerry": estimators.BradleyTerry}
STORED = RANKERS | LEADERBOARDS
# What is no part of a model: how the rounds of a fit on Dask went, LightGBM's object for the trees, and fits
# for other alphas.
PASSING = ("rounds_", "_booster", "alpha_path_")


@dataclass(frozen=True)
class ModelInfo:
    """What a model file says of itself.

    Attributes
    ----------
    estimator : str
        The class of the ranker, and of the scalers in front of it.
    feature_names : list of str or None
    metadata : dict
        As given to `save_model`.
    left_out : list of str
        Parameters that a file cannot hold, such as callbacks; they have their defaults after loading.
    created, rankwise, sklearn : str
        Time (UTC) and versions at writing. The version of scikit-learn is None where a command wrote a linear
        model without it.
    version : int
        Of the file format.
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
    """Write a fitted model to a file, whole or not at all.

    The file is JSON with a checksum and the arrays in base64. A model that was there before is replaced in
    one step, so that a crash leaves the old one or the new one.

    Parameters
    ----------
    model : ranker, Pipeline that ends in one, fitted search over these, or BradleyTerry
        `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`, `QueryScaler`, `SimpleImputer`,
        `OneHotEncoder`, `OrdinalEncoder` and a `ColumnTransformer` of these, alone or in pipelines, may stand
        in front. Of a search such as GridSearchCV the best estimator is stored. Kernels have to be named or
        precomputed, since a function cannot be stored. Parameters that hold functions or other objects
        (callback, a random state, a splitter) are left out.
    path : path
    feature_names : sequence of str, optional
        For a model that was not fitted to named columns; `export_model` will use them.
    metadata : dict, optional
        Anything JSON can hold; `model_info` gives it back.

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
    model = getattr(model, "best_estimator_", model)
    writer = Writer()
    try:
        write_model(
            path,
            model,
            _taken_apart(model, writer),
            writer,
            estimator=_described(model),
            sklearn=sklearn.__version__,
            feature_names=feature_names,
            metadata=metadata,
        )
    except ModelFileError as error:
        raise ModelFileError(f"This model cannot be saved: {error}.") from None


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file: it predicts what it did before it was saved, to the last bit.

    Raises
    ------
    ModelFileError
        The file is not a model, is cut short, was altered, or is of a newer version.
    """
    header, arrays = read_model(path, with_arrays=True)
    with refusals(path):
        model = _put_together(header["model"], arrays)
        names = decode(header["feature_names"], arrays)
        if names is not None and not hasattr(model, "feature_names_in_"):
            last_step(model).feature_names_ = names
        if type(model).__name__ in LEADERBOARDS:
            check_leaderboard(model)
        else:
            check_ranker(last_step(model))
            _check_scores(model)
    return model


def model_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return what a model file says of itself, without its arrays.

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
    with refusals(path):
        names = decode(header["feature_names"], [])
        said = {key: header[key] for key in ("metadata", "left_out", "created", "rankwise", "sklearn")}
        return ModelInfo(header["estimator"], names, version=VERSION, **said)


def _described(model: Any) -> str:
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    return " > ".join(type(step).__name__ for step in steps if not isinstance(step, str))


def _taken_apart(model: Any, writer: Writer) -> dict[str, Any]:
    if isinstance(model, Pipeline):
        *front, (name, ranker) = model.steps
        steps = [[title, step_apart(step, writer)] for title, step in front]
        return {"pipeline": [*steps, [name, _ranker_apart(ranker, RANKERS, writer)]]}
    return _ranker_apart(model, STORED, writer)


def _ranker_apart(ranker: Any, known: dict[str, type[BaseEstimator]], writer: Writer) -> dict[str, Any]:
    if known.get(type(ranker).__name__) is not type(ranker):
        raise ModelFileError(
            f"the model, or the last step of a Pipeline, must be one of {', '.join(known)}; got {ranker!r}"
        )
    check_fitted(ranker)
    if callable(getattr(ranker, "kernel", None)):
        raise ModelFileError("its kernel is a function, and only named and precomputed kernels can be stored")
    parameters = ranker.get_params(deep=False)
    learned = {name: value for name, value in vars(ranker).items() if name not in {*parameters, *PASSING}}
    return apart(ranker, learned, writer)


def _put_together(node: dict[str, Any], arrays: Arrays) -> Any:
    if "pipeline" in node:
        *front, (name, ranker) = node["pipeline"]
        steps = [(title, step_together(step, arrays)) for title, step in front]
        return Pipeline([*steps, (name, together(RANKERS, ranker, arrays))])
    return together(STORED, node, arrays)


def _check_scores(model: Any) -> None:
    """Refuse numbers with which a row cannot be scored, by scoring one that is made up."""
    ranker = last_step(model)
    takes_sparse = model is ranker and hasattr(ranker, "coef_")
    is_sparse = takes_sparse or sp.issparse(getattr(ranker, "basis_", None))
    row = sp.csr_matrix((1, ranker.n_features_in_)) if is_sparse else made_up_row(model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the row has no names, and no meaning
            scores = ranker.predict(before_last_step(model, row, qid=[0]))
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ModelFileError(f"it cannot score a row ({type(error).__name__}: {reason})") from None
    if np.shape(scores)[:1] != (1,):
        raise ModelFileError("it gives one row another number of scores than one")
