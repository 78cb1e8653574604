"""Positions and explanations of any model: an estimator, a pipeline that ends in one, or a fitted search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import StandardScaler

from rankwise.core.checks import as_codes
from rankwise.core.pipelines import before_last_step, last_step, scales_queries, takes_queries
from rankwise.core.types import FloatArray
from rankwise.data.table_encoder import LevelContrasts, TableEncoder
from rankwise.estimators.base import positions_within
from rankwise.estimators.scaling import composed, scaling_of
from rankwise.estimators.weights import encoder_of, output_names, pair_errors, pair_parts
from rankwise.evaluation.models import scores_of
from rankwise.evaluation.names import feature_names, model_name

if TYPE_CHECKING:
    from rankwise.evaluation.inference import Differences, Inference


class PairParts(NamedTuple):
    """The names of the features, and their contributions to a difference of two scores."""

    names: list[str]
    parts: FloatArray


class PairPartsWithErrors(PairParts):
    """`PairParts` with the standard error of each part, and the difference with its interval."""

    standard_errors: FloatArray
    difference: Differences


def rank(model: Any, X: Any, qid: ArrayLike | None = None) -> NDArray[np.int64]:
    """Return the position of each row within its query, 0 for the best; equal scores keep their order.

    Parameters
    ----------
    model : estimator, Pipeline, or fitted search with a best estimator
        A ranker of this library, or a scikit-learn estimator with one score per row.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        The rows to rank.
    qid : array of shape (n_rows,), optional
        Without it, all rows are one query. It is passed on to steps that scale within queries.

    Returns
    -------
    positions : array of shape (n_rows,)
        They count from 0, as indices do; the command `rankwise rank` counts from 1.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import rankwise
    >>> X, y = [[1.0], [3.0], [2.0]], [0, 2, 1]
    >>> model = make_pipeline(StandardScaler(), rankwise.RankSVM()).fit(X, y)
    >>> rankwise.rank(model, X)
    array([2, 0, 1])
    """
    model = fitted_model(model)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    scores = scores_of(model, rows, model_name(model), qid)
    query = np.zeros(len(scores), dtype=np.int64) if qid is None else as_codes(qid, "qid", len(scores))[1]
    return positions_within(scores, query)


def explain_pair(model: Any, a: Any, b: Any, *, inference: Inference | None = None) -> PairParts:
    """Return the contribution of each feature to f(a) - f(b); they sum to the difference of the scores.

    Scalers are folded into the weights, so that the contributions are those of the input features of a
    pipeline. After other steps (PCA, polynomials, columns) they are those of the output of the steps.

    Parameters
    ----------
    model : estimator, Pipeline, or fitted search with a best estimator
        Linear, a model of trees or curves, or a `KernelRanker`.
    a, b : arrays of shape (n_features,), or frames of one row
        Two rows.
    inference : Inference, optional
        From `model.inference` or `rankwise.inference`, for standard errors.

    Returns
    -------
    PairParts
        ``names`` and ``parts``. With `inference`, it also has the attributes ``standard_errors``, one per
        part, and ``difference``, that of the scores with its interval and p-value.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import rankwise
    >>> X, y = [[1.0, 4.0], [3.0, 1.0], [2.0, 3.0]], [0, 2, 1]
    >>> model = make_pipeline(StandardScaler(), rankwise.RankSVM(alpha=0.1, tol=1e-9)).fit(X, y)
    >>> for name, part in zip(*rankwise.explain_pair(model, X[1], X[0])):
    ...     print(f"{name} {part:+.2f}")
    f1 +1.40
    f2 +0.90
    >>> first, second = model.predict(X[1::-1])
    >>> print(f"in all {first - second:+.2f}")
    in all +2.30

    With standard errors:

    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = rankwise.RankLogistic(alpha=1e-4).fit(X, y)
    >>> found = rankwise.explain_pair(model, X[0], X[1], inference=model.inference(X, y))
    >>> print(f"body-mass index {found.parts[2]:+.1f}, standard error {found.standard_errors[2]:.1f}")
    body-mass index +0.9, standard error 0.1
    """
    model = fitted_model(model)
    if scales_queries(model):
        raise ValueError(
            "explain_pair has two rows, but QueryScaler needs all rows of a query: scale the rows first, and "
            "pass the last step of the pipeline."
        )
    found = pair_parts(model, a, b)
    if found is None:
        raise ValueError(
            f"explain_pair needs a linear model with one output, trees, curves or KernelRanker; the score of "
            f"{type(last_step(model)).__name__} is not a sum over features."
        )
    if inference is None:
        return PairParts(*found)
    result, errors = PairPartsWithErrors(*found), pair_errors(model, a, b, inference)
    result.standard_errors, result.difference = errors
    return result


def inference(model: Any, X: Any, y: Any, *, qid: ArrayLike | None = None, **options: Any) -> Inference:
    """Return the weights of a linear model or pipeline with standard errors, intervals and tests.

    Scalers are folded into the weights, so that these are per unit of the input features. The jackknife
    counts the errors of the scales of a `StandardScaler` before the model; those of other scalers are taken
    as given. After other steps, the weights are those of the output of the steps. After a `TableEncoder`, the
    weight of a level is its difference from the first level of its column.

    Parameters
    ----------
    model : linear estimator, Pipeline that ends in one, or fitted search with a best estimator
        A fitted ranker, or a pipeline or search that ends with one.
    X, y, qid :
        The training data, as given to `fit`.
    sample_weight, cluster, debias :
        See `RankLogistic.inference`.

    Returns
    -------
    found : Inference

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import rankwise
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), rankwise.RankLogistic()).fit(X, y)
    >>> bool(rankwise.inference(model, X, y).p_values[2] < 1e-6)  # the body-mass index
    True
    """
    model = fitted_model(model)
    ranker = last_step(model)
    if not hasattr(ranker, "inference"):
        raise TypeError(
            "inference needs RankLogistic, RankSVM or RankRLS with a linear kernel, or the CV class of one; "
            f"got {type(ranker).__name__}."
        )
    front = (
        [] if ranker is model else [one for _, one in model.steps[:-1] if one not in (None, "passthrough")]
    )
    options = {"scaled": bool(front) and isinstance(front[-1], StandardScaler)} | options
    given = tuple(type(one).__name__ for one in front[: len(front) - options["scaled"]] if _has_learned(one))
    if encoder_of(model) is not None:
        return replace(_inference_of_table(ranker, front, X, y, qid, **options), given=given)
    found = replace(ranker.inference(before_last_step(model, X, qid), y, qid=qid, **options), given=given)
    if ranker is model:
        return found
    try:
        factors, _ = composed([scaling_of(step) for step in front], len(found.coef))
    except (TypeError, ValueError):
        names = output_names(model, len(found.coef))
        return found.in_units(np.ones(len(names)), names, lambda rows: before_last_step(model, rows))
    return found.in_units(factors, feature_names(X, model, None, len(factors)))


def _has_learned(step: Any) -> bool:
    """Return whether a step has numbers that it found in the rows of the fit."""
    learned = {name for name in vars(step) if name.endswith("_")} - {"n_features_in_", "feature_names_in_"}
    return bool(learned) and not isinstance(step, TableEncoder) and not takes_queries(step)


def _inference_of_table(ranker: Any, front: list[Any], X: Any, y: Any, qid: Any, **options: Any) -> Inference:
    """Return the inference behind an encoder: weights of columns, and differences from reference levels."""
    encoder, *scalers = front
    encoded = encoder.transform(X)
    rows = encoded
    for scaler in scalers:
        rows = scaler.transform(rows)
    factors, _ = composed([scaling_of(scaler) for scaler in scalers], encoded.shape[1])
    levels = LevelContrasts(encoder)
    found = ranker.inference(rows, y, qid=qid, contrasts=levels.matrix() * factors, **options)
    return found.in_units(np.ones(len(found.coef)), levels.names(), levels.columns)


def fitted_model(model: Any) -> Any:
    """Return the best estimator of a search, or the model itself."""
    return getattr(model, "best_estimator_", model)
