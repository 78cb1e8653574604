"""How likely one row is above another, where differences of scores are log odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from rankwise.core.checks import as_array
from rankwise.core.types import FloatVector
from rankwise.losses import has_log_odds


def _is_logistic(model: Any) -> bool:
    """Return whether differences of scores are log odds; say why if they are not."""
    if not has_log_odds(model.loss):
        raise AttributeError(
            f"predict_pair_proba needs loss='logistic', whose scores are log odds; it is {model.loss!r}."
        )
    return True


class PairProbability:
    """A ranker whose logistic loss makes 1 / (1 + exp(f(b) - f(a))) the probability of row a above row b."""

    predict: Any

    @available_if(_is_logistic)
    def predict_pair_proba(self, A: Any, B: Any) -> FloatVector:
        """Return P(row of A above row of B) = 1 / (1 + exp(f(b) - f(a))) for each row.

        Parameters
        ----------
        A, B : arrays, sparse matrices or frames of shape (n_rows, n_features)
            The rows of each pair. Either may be a single row, also as a vector, which is then compared with
            all rows of the other.

        Returns
        -------
        probability : array of shape (n_rows,)
            Exactly one half for equal rows; with A and B exchanged, the two add up to exactly 1.
        """
        first, second = (self._finite_scores(rows, name) for rows, name in ((A, "A"), (B, "B")))
        if len(first) != len(second) and 1 not in (len(first), len(second)):
            raise ValueError(
                f"A and B must have the same number of rows, or one of them a single row; got {len(first)} "
                f"and {len(second)}."
            )
        with np.errstate(over="ignore"):  # two scores further apart than any number: for sure
            difference = first - second
        # The smaller of the two probabilities is exact to its last digit, and the other is its complement.
        smaller = expit(-np.abs(difference))
        return np.where(difference > 0, 1.0 - smaller, smaller)

    def _finite_scores(self, rows: Any, name: str) -> FloatVector:
        alone = isinstance(rows, np.ndarray) and rows.ndim == 1
        scores = as_array(self.predict(rows[None] if alone else rows))
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise ValueError(f"The score of row {row} of {name} overflows.")
        return scores
