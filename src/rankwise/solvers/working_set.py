"""The features that a sparse fit works with: their columns, and the curvature of the loss among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankwise import _native
from rankwise.core.states import State, nested, part_of
from rankwise.core.types import FloatArray, FloatVector, IntArray
from rankwise.data.design import Design, row_blocks
from rankwise.losses import Smooth
from rankwise.losses.base import ScoreHessian
from rankwise.solvers.elastic_net import ElasticNet

# Entries of the products with the Hessian that are held at the same time.
BLOCK_ENTRIES = 1 << 22
# Sweeps of coordinate descent between two solves for the weights that are not zero, and the most of both.
SWEEPS, ROUNDS = 20, 100


class WorkingSet:
    """Columns of a design with G = X'H X, H the Hessian of a loss at scores that may be of an earlier point.

    The loss of a fit is nearly quadratic near its solution, and from one alpha to the next the Hessian hardly
    changes: a Hessian of earlier scores still gives good steps, while a new one costs a product per feature.

    Cost: a product with the Hessian and O(m k) for each new feature of k.
    """

    def __init__(self) -> None:
        self.features: IntArray = np.empty(0, dtype=np.int64)
        self.gram: FloatArray = np.empty((0, 0))
        self.is_fresh = False
        # The last point of a fit, from which the next fit starts.
        self.point: Any = None
        self._columns: Any = None
        self._hessian: ScoreHessian | None = None
        self._at: FloatVector | None = None
        self._kept: State = {}

    def __len__(self) -> int:
        return len(self.features)

    def scores(self, coef: FloatVector) -> FloatVector:
        """Return X w for the weights of the features."""
        return np.asarray(self._columns.T @ coef, dtype=np.float64)

    def slopes(self, coefficients: FloatVector) -> FloatVector:
        """Return X'c by each feature."""
        return np.asarray(self._columns @ coefficients, dtype=np.float64)

    def renew(self, loss: Smooth, scores: FloatVector) -> None:
        """Take the Hessian of the loss at these scores."""
        self._hessian, self._at, self.is_fresh = loss.hessian(scores), scores, True
        self.gram = self._products(0)

    def add(self, columns: Any, features: IntArray) -> None:
        """Add features, with their columns as rows."""
        n_known = len(self)
        if self._columns is None:
            self._columns = columns
        else:
            stack = sp.vstack if sp.issparse(columns) else np.vstack
            self._columns = stack([self._columns, columns])
        self.features = np.append(self.features, features)
        if self._hessian is None:
            return
        new = self._products(n_known)
        gram = np.empty((len(self), len(self)))
        gram[:n_known, :n_known] = self.gram
        gram[n_known:], gram[:, n_known:] = new, new.T
        self.gram = gram

    def state(self) -> State:
        """Return all that the next fit starts from, but for the columns."""
        if self._kept:  # by no fit so far
            return self._kept
        found: State = {"features": self.features, "gram": self.gram, "is_fresh": np.array(self.is_fresh)}
        if self._at is not None:
            found["at"] = self._at
        return found | ({} if self.point is None else nested("point", self.point.state()))

    def restore(self, state: State) -> None:
        """Let the next fit start from the state of a set for the same rows."""
        self._kept = state

    def resume(self, design: Design, loss: Smooth) -> State:
        """Take the state that was restored, if there is one, and return that of the last point."""
        state, self._kept = self._kept, {}
        if state:
            self.features, self.gram = state["features"], state["gram"]
            self.is_fresh = bool(state["is_fresh"])
        if len(state.get("features", ())):
            self._columns = design.columns(self.features)
        if "at" in state:
            self._hessian, self._at = loss.hessian(state["at"]), state["at"]
        return part_of(state, "point")

    def _products(self, first: int) -> FloatArray:
        """Return the rows of G from one feature on; symmetric among these."""
        assert self._hessian is not None
        rows = np.empty((len(self) - first, len(self)))
        for block in row_blocks(len(self) - first, self._columns.shape[1], BLOCK_ENTRIES):
            columns = self._columns[first:][block]
            columns = columns.toarray() if sp.issparse(columns) else columns
            products = np.stack([self._hessian.product(column) for column in columns], axis=1)
            rows[block] = (self._columns @ products).T
        rows[:, first:] = (rows[:, first:] + rows[:, first:].T) / 2
        return rows

    def minimise(
        self, slopes: FloatVector, coef: FloatVector, net: ElasticNet, tol: float, is_exact: bool
    ) -> FloatVector:
        """Return v with the least slopes'(v - w) + (v - w)'G(v - w)/2 + penalty, to about `tol`.

        Coordinate descent finds out which weights are not zero, and with which signs; a solve gives them. If
        features are much alike, a sweep lowers the sum by less than `tol` long before the minimum: with
        `is_exact`, the weights have been solved for when it ends.
        """
        v, is_solved = coef, not is_exact
        for _ in range(ROUNDS):
            v, slopes, decrease = _native.coordinate_descent(
                self.gram, slopes, v, net.absolute, net.square, SWEEPS, tol
            )
            if is_solved and not decrease > tol:
                break
            v, slopes = self._solved(v, slopes, net)
            is_solved = True
        return v

    def _solved(
        self, v: FloatVector, slopes: FloatVector, net: ElasticNet
    ) -> tuple[FloatVector, FloatVector]:
        """Minimize over the weights that are not zero; one that would change its sign becomes zero."""
        for _ in range(np.count_nonzero(v)):
            on = np.flatnonzero(v)
            gram = self.gram[np.ix_(on, on)] + np.diag(2.0 * net.square[on])
            try:
                move = -cho_solve(cho_factor(gram), (slopes + net.slopes(v))[on])
            except (LinAlgError, ValueError):  # singular, or not finite
                break
            back = (move * v[on] < 0) & ~net.is_free[on]
            crossing = np.divide(-v[on], move, out=np.full(len(on), np.inf), where=back)
            length = min(1.0, float(crossing.min(initial=np.inf)))
            if not np.isfinite(move).all():
                break
            moved = v.copy()
            moved[on] = np.where(crossing <= length, 0.0, v[on] + length * move)
            v, slopes = moved, slopes + self.gram[:, on] @ (moved - v)[on]
            if length == 1.0:
                break
        return v, slopes
