"""Degrees of freedom of the jackknife, for each combination of weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.core.types import FloatArray, FloatVector
from rankwise.evaluation.influence import Influence

# Entries of Hessians of units that are kept for the degrees of any combination. Of more units, only the
# weights count.
MOST_KEPT = 2e6
# With more contrasts times entries of Hessians than this, all have the fewest degrees of any weight.
MOST_PRODUCTS = 2e8
# Entries that are computed at the same time.
AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Degrees:
    """Satterthwaite's degrees of freedom of the variance of c'w, as in Bell and McCaffrey (2002).

    The variance is a sum of squares of c'd_a over units a. Its mean and variance follow from the covariance
    O of the c'd_a, if the gradient of unit a has the covariance H_a, as for independent pairs: the degrees
    are tr(O)^2 / tr(O^2). With G equal units they are G - 1. A unit that weighs more than others, or alone
    knows a weight, lowers them.

    With L_a the Hessian without unit a, A that of all units with the penalty, m_a the weight of the unit,
    q_a = L_a^-1 c, v_a = H_a q_a and r_a = A^-1 v_a + m_a (q_a - A^-1 H q_a),

        O_ab = [a = b] q_a'H_a q_a - v_a'r_b - r_a'v_b + r_a'H r_b.

    Attributes
    ----------
    inverses, parts : arrays of shape (n_units, n_features, n_features)
        L_a^-1 and H_a.
    mass : array of shape (n_units,)
        The weights of units, which sum to 1.
    inverse : array of shape (n_features, n_features)
        A^-1.
    combinations : array of shape (n_combinations, n_features)
        Each weight of the result as a combination of the weights that the Hessians belong to.
    """

    inverses: FloatArray
    parts: FloatArray
    mass: FloatVector
    inverse: FloatArray
    combinations: FloatArray

    @classmethod
    def of(cls, found: Influence, combinations: FloatArray) -> Degrees | None:
        """Return the degrees of queries or clusters, or None if their Hessians are too many to keep."""
        if found.parts is None or found.parts.size > MOST_KEPT:
            return None
        total = found.mass.sum()  # above 1 if pairs join two units
        A = total * (found.hessian + np.diag(found.penalty))
        mass = found.mass / total
        inverses, inverse = (np.asarray(np.linalg.inv(H), np.float64) for H in (found.without_units(), A))
        return cls(inverses, found.parts, mass, inverse, combinations)

    def scaled(self, factors: FloatVector) -> Degrees:
        """Return the degrees for weights times these factors."""
        return replace(self, combinations=self.combinations * factors[:, None])

    def __call__(self, contrasts: FloatArray) -> FloatVector:
        """Return the degrees of each row of contrasts of the weights, O(n_units n^2) each for n features."""
        n_units, n = self.inverses.shape[:2]
        n_weights = len(self.combinations)
        if len(contrasts) > n_weights and len(contrasts) * self.parts.size > MOST_PRODUCTS:
            return np.full(len(contrasts), self(np.eye(n_weights)).min())
        step = max(1, AT_ONCE // (n_units * n))
        parts = [contrasts[k : k + step] @ self.combinations for k in range(0, len(contrasts), step)]
        return np.concatenate([self._of_block(block) for block in parts])

    def _of_block(self, C: FloatArray) -> FloatVector:
        n_units, n = self.inverses.shape[:2]
        H, shape = self.parts.sum(axis=0), (len(C), n_units, -1)
        inner = self.inverses @ C.T
        # One row per contrast and unit: products with a matrix are then single ones.
        q, v = (array.transpose(2, 0, 1).reshape(-1, n) for array in (inner, self.parts @ inner))
        r = v @ self.inverse + np.tile(self.mass, len(C))[:, None] * (q - q @ (H @ self.inverse))
        rH = r @ H
        own = np.einsum("ij,ij->i", q, v).reshape(len(C), n_units)
        common = np.einsum("ij,ij->i", rH - 2.0 * v, r).reshape(len(C), n_units)
        both, turned = np.hstack([v, r]).reshape(shape), np.hstack([-r, rH - v]).reshape(shape)
        product = both.transpose(0, 2, 1) @ turned  # with O = diag(own) + turned both'
        squares = np.sum(own * (own + 2.0 * common), axis=1)
        squares += np.sum(product * product.transpose(0, 2, 1), axis=(1, 2))
        trace = np.sum(own + common, axis=1)
        return np.divide(trace**2, squares, out=np.full(len(C), np.inf), where=squares > 0)


def degrees_of_masses(mass: FloatVector, variance: FloatVector) -> float:
    """Return the degrees of freedom of units with one weight, from shares and variances of their gradients.

    Examples
    --------
    >>> equal, unequal = np.full(20, 0.05), np.array([0.5, 0.25, 0.125, 0.125])
    >>> round(degrees_of_masses(equal, equal), 9)
    19.0
    >>> round(degrees_of_masses(unequal, unequal), 1), round(degrees_of_masses(unequal, unequal**2), 1)
    (1.8, 1.4)
    """
    m = mass / mass.sum()
    q = 1.0 / (1.0 - m)
    own, both = q**2 * variance, np.column_stack([q * variance, q * m])
    turned = both @ np.array([[0.0, -1.0], [-1.0, variance.sum()]])
    common, product = np.sum(turned * both, axis=1), both.T @ turned
    squares = own @ (own + 2.0 * common) + np.sum(product * product.T)
    return float((own + common).sum() ** 2 / squares)
