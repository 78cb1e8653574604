"""The elastic net, sum_j a_j |w_j| + q_j w_j^2: its value, its slopes, and its least sum with a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector

# A factor that no slope exceeds.
KEPT_AT_ZERO = 1e300


@dataclass(frozen=True)
class ElasticNet:
    """alpha sum_j v_j (r |w_j| + (1 - r) w_j^2) with r the `l1_ratio` and the `penalty_weights` v.

    Attributes
    ----------
    absolute, square : arrays of shape (n_features,)
        The factors a = alpha r v and q = alpha (1 - r) v.

    Examples
    --------
    >>> net = ElasticNet.of(0.5, 0.5, None, 2)
    >>> net.value(np.array([1.0, -2.0]))
    2.0
    >>> share, least = net.lowest(np.array([2.0, 0.0]), 0.75)  # of share (2 |w| + 0.75) + penalty
    >>> share, least
    (0.21875, 0.12890625)
    """

    absolute: FloatVector
    square: FloatVector

    @classmethod
    def of(cls, alpha: float, l1_ratio: float, penalty_weights: Any, n_features: int) -> ElasticNet:
        """Return the penalty for an alpha; all features weigh 1 by default."""
        given = np.ones(n_features) if penalty_weights is None else penalty_weights
        v = np.ascontiguousarray(given, dtype=np.float64)
        return cls(alpha * l1_ratio * v, alpha * (1.0 - l1_ratio) * v)

    def only(self, features: Any) -> ElasticNet:
        """Return the terms of some features."""
        return ElasticNet(self.absolute[features], self.square[features])

    @property
    def is_free(self) -> Any:
        """Which features have no penalty."""
        return self.absolute == 0.0

    def free_alone(self) -> ElasticNet:
        """Return a penalty that keeps all weights at zero but those without a penalty."""
        return ElasticNet(np.where(self.is_free, 0.0, KEPT_AT_ZERO), 0.0 * self.square)

    def value(self, coef: FloatVector) -> float:
        """Return the penalty of weights."""
        return float(self.absolute @ np.abs(coef) + self.square @ (coef * coef))

    def slopes(self, coef: FloatVector) -> FloatVector:
        """Return the derivative by each weight, for a weight of zero that of the squares."""
        return self.absolute * np.sign(coef) + 2.0 * self.square * coef

    def lowest(self, slopes: FloatVector, offset: float) -> tuple[float, float]:
        """Return the share t of a plane, and the minimum over w of t (slopes'w + offset) + penalty.

        The plane lies below a loss that is never negative, and so does every share of it in [0, 1]. The
        minimum is t offset - sum_j (t |slope_j| - a_j)_+^2 / (4 q_j), and t is the best one: where no column
        stands out, t = 1, and without squares every t |slope_j| is at most a_j.
        """
        size = np.abs(slopes)
        out = np.flatnonzero(size > self.absolute)
        size, a, q = size[out], self.absolute[out], self.square[out]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            steep, tilt = size * size / (2.0 * q), size * a / (2.0 * q)
        soft = np.isfinite(steep) & np.isfinite(tilt)
        most = float(np.min((a / size)[~soft], initial=1.0))
        size, a, q, steep, tilt = (column[soft] for column in (size, a, q, steep, tilt))
        share = min(most, self._turn(a / size, steep, tilt, offset))
        beyond = np.maximum(share * size - a, 0.0)
        return share, share * offset - float(np.sum(beyond * beyond / (4.0 * q)))

    @staticmethod
    def _turn(begins: FloatVector, steep: FloatVector, tilt: FloatVector, offset: float) -> float:
        """Return the share at which the minimum turns, if each column stands out from its `begins` on.

        The derivative by the share is offset + sum(tilt) - share sum(steep), over the columns that stand out.
        """
        if not offset > 0.0:
            return 0.0
        order = np.argsort(begins, kind="stable")
        steep, tilt = np.cumsum(steep[order]), np.cumsum(tilt[order])
        n_out = int(np.count_nonzero(offset + tilt > begins[order] * steep))
        return float((offset + tilt[n_out - 1]) / steep[n_out - 1]) if n_out else 1.0
