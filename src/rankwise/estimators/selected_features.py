"""The features that a linear ranker has selected."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.core.pipelines import fitted_columns
from rankwise.estimators.base import BaseRanker


class SelectsFeatures(BaseRanker):
    """A linear ranker whose weights may be zero."""

    coef_: Any

    @property
    def selected_features_(self) -> Any:
        """The features whose weights are not zero: their names if `fit` got names, or else their numbers."""
        check_is_fitted(self)
        if not hasattr(self, "coef_") or self.coef_.ndim > 1:
            raise AttributeError("selected_features_ is for linear models with one output.")
        numbers, names = np.flatnonzero(self.coef_), fitted_columns(self)
        return numbers if names is None else np.asarray(names)[numbers]
