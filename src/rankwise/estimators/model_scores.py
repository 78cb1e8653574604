"""The scores of several models as the features of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.types import FloatArray


class ModelScores(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The scores of fitted models, a column each, for a ranker that mixes them.

    Parameters
    ----------
    models : sequence of (str, model)
        Names and fitted rankers or pipelines.
    scales : sequence of float
        The spread of the scores of each model, by which they are divided.
    """

    def __init__(self, models: Sequence[tuple[str, Any]], scales: Sequence[float]):
        self.models = models
        self.scales = scales

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def n_features_in_(self) -> int:
        """The number of columns of the models."""
        first = self.models[0][1]
        return int(getattr(first, "n_features_in_", last_step(first).n_features_in_))

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The columns of the models, if they have names."""
        return np.asarray(self.models[0][1].feature_names_in_, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: the models are fitted.

        Parameters
        ----------
        X, y : ignored
        """
        return self

    def transform(self, X: Any, qid: ArrayLike | None = None) -> FloatArray:
        """Return the score of each row by each model: shape (n_rows, n_models).

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            The query of each row, for models that scale features within queries.
        """
        columns = [
            last_step(model).predict(before_last_step(model, X, qid)) / scale
            for (_, model), scale in zip(self.models, self.scales, strict=True)
        ]
        return np.column_stack(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the models."""
        return np.array([name for name, _ in self.models], dtype=object)
