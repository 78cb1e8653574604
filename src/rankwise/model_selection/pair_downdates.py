"""Scores of pairs of rows by the model fitted without them, for preferences of any kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rankwise.core.memory import require_memory
from rankwise.core.types import FloatArray, IntArray
from rankwise.losses.least_squares import check_magnitudes, keeps_ties
from rankwise.model_selection.pair_formulas import TIE, Advance, ignore_progress
from rankwise.preferences import NoPairsError, Preferences

# Pairs that weigh so much more than the median are not summed: subtracted, they would take digits along.
HEAVY = 1e6
# With more alphas than this, one decomposition per pair costs less than a system per alpha.
FEW_ALPHAS = 8
_ENTRIES_AT_ONCE = 1 << 20


class AnyPairs:
    """Leave-pair-out for pairs with any weights, directions and targets: survival, gains, explicit pairs.

    The cost is a sum over pairs of W_ij (t_ij - d_ij'w)^2 with d_ij = phi_i - phi_j. Removing rows i and j
    removes the terms of their pairs. With A_i = sum_k W_ik d_ik d_ik' and b_i = sum_k W_ik t_ik d_ik, the
    weights of the model without both rows solve

        (S - A_i - A_j + W_ij d_ij d_ij' + alpha mass) w = p - b_i - b_j + W_ij t_ij d_ij,

    S and p being half the sums of all A and b, and mass the weight of the other pairs in the mean. O(m^2 r^2)
    once for r dimensions, then O(r^3 + h r^2) per pair and alpha, with h heavy pairs (`HEAVY`); a refit takes
    O(m r^2 + r^3).

    Parameters
    ----------
    Phi : array of shape (m, r)
    preferences : Preferences
    cost, ties, average : str
        Those of the model.
    keep : {"alpha", "lambda"}
        The quantity that is the same in all fits: alpha, the weight of the penalty relative to the mean over
        pairs; or its weight relative to their sum, so that mass is 1.
    """

    def __init__(
        self,
        Phi: FloatArray,
        preferences: Preferences,
        *,
        cost: str,
        ties: str,
        average: str,
        keep: str = "alpha",
    ):
        self.Phi, self.preferences, self.keep = Phi, preferences, keep
        self.cost, self.ties, self.average = cost, ties, average
        m, r = Phi.shape
        require_memory(8 * (8 * m**2 + m * r**2), f"Leaving out pairs of {m} rows", "use folds of rows")

    def work(self, alphas: FloatArray) -> float:
        """Return the number of pairs per alpha, the unit of the progress of `errors`."""
        return float(self.preferences.n_pairs) * len(alphas)

    def errors(self, alphas: FloatArray, advance: Advance = ignore_progress) -> FloatArray:
        """Return the weighted fraction of the pairs in the wrong order: shape (n_alphas, 1)."""
        better, worse, _, weight = self.preferences.pairs()
        first, second, place = unordered(better, worse, self.preferences.n_rows)
        rows = self.Phi - self.Phi.mean(axis=0)  # a common offset cancels in differences
        scores = self._scores(rows, first, second, alphas, advance)
        difference = (scores[:, 0] - scores[:, 1])[:, place] * np.where(better < worse, 1.0, -1.0)
        smallest = TIE * np.abs(scores).max(axis=(1, 2))[:, None]
        wrong = 0.5 * (difference < -smallest) + 0.5 * (difference <= smallest)
        return (wrong @ weight / weight.sum())[:, None]

    def predictions(self, alpha: float) -> FloatArray:
        """Score the pairs that count; the others, which are not left out, are NaN: shape (m, m, 1)."""
        m = self.preferences.n_rows
        first, second, _ = unordered(*self.preferences.pairs()[:2], m)
        above, below = self._scores(self.Phi, first, second, np.array([alpha]), ignore_progress)[0]
        scores = np.full((m, m, 1), np.nan)
        scores[first, second, 0], scores[second, first, 0] = above, below
        return scores

    def _scores(
        self, rows: FloatArray, first: IntArray, second: IntArray, alphas: FloatArray, advance: Advance
    ) -> FloatArray:
        """Score both rows of each pair by the model without them: shape (n_alphas, 2, n_pairs)."""
        terms = pair_terms(self.preferences, self.cost, self.ties, self.average)
        self._check_what_remains(first, second)
        equations = _Equations(self.Phi - self.Phi.mean(axis=0), terms)
        scores = np.empty((len(alphas), 2, len(first)))
        for some in _parts(len(first), equations.entries):
            mass = equations.mass(first[some], second[some])
            mass = mass if self.keep == "alpha" else np.ones_like(mass)
            weights = equations.without(first[some], second[some], np.multiply.outer(alphas, mass))
            for side, numbers in enumerate((first[some], second[some])):
                scores[:, side, some] = np.sum(rows[numbers] * weights, axis=2)
            advance(float(len(first[some])) * len(alphas))
        return scores

    def _check_what_remains(self, first: IntArray, second: IntArray) -> None:
        """Raise an error if some two rows are involved in all pairs."""
        better, worse = self.preferences.pairs()[:2]
        count = np.zeros((self.preferences.n_rows,) * 2)
        np.add.at(count, (better, worse), 1.0)
        count += count.T
        touched = count.sum(axis=1)
        if (touched[first] + touched[second] - count[first, second] == len(better)).any():
            raise NoPairsError(
                "Without some pairs of rows, no pair remains to learn from: for any two rows, there must be "
                "a pair that involves neither."
            )


class PairTerms(NamedTuple):
    """The terms of each pair of rows in the cost, as matrices of shape (m, m).

    `weight` is symmetric; `pull`, the weight times the target of s_i - s_j, is antisymmetric. `share` is the
    weight of the pair in the mean, and `own` the part of a row that involves no other row.
    """

    weight: FloatArray
    pull: FloatArray
    share: FloatArray
    own: FloatArray


def pair_terms(preferences: Preferences, cost: str, ties: str, average: str) -> PairTerms:
    """List the pairs of the cost, including kept ties."""
    if keeps_ties(preferences, cost, ties):
        return _terms_with_ties(preferences)
    better, worse, magnitude, share = pairs = preferences.mean_pairs(average)
    target, weight = (np.ones_like(magnitude) if cost == "unit" else magnitude), share
    if cost == "relative":
        check_magnitudes(pairs)
        weight = share / magnitude**2
    m = preferences.n_rows
    listed = []
    for values, sign in ((weight, 1.0), (weight * target, -1.0), (share, 1.0)):
        matrix = np.zeros((m, m))
        np.add.at(matrix, (better, worse), values)
        listed.append(matrix + sign * matrix.T)
    return PairTerms(listed[0], listed[1], listed[2], np.zeros(m))


def _terms_with_ties(ranking: Preferences) -> PairTerms:
    """Weight all pairs by the product of their rows' weights; the mean divides by (sum of weights)^2 / 2."""
    rows: FloatArray = ranking.row_weight()  # type: ignore[attr-defined]
    rows = rows / rows.sum()
    weight = 2.0 * rows[:, None] * rows
    np.fill_diagonal(weight, 0.0)
    values = np.asarray(ranking.values)
    return PairTerms(weight, weight * (values[:, None] - values), weight, rows**2)


class _Equations:
    """S, p, A_i and b_i of all rows, without heavy pairs, which are kept as equations w'd_ij = t_ij.

    Under `cost="relative"` the weight of a pair is 1 / t_ij^2, so that labels which hardly differ have nearly
    all of the weight. Subtracted from S again, their terms would take the digits of the others along.
    """

    def __init__(self, rows: FloatArray, terms: PairTerms):
        self.rows, self.terms = rows, terms
        self.share = terms.share.sum(axis=1) + terms.own
        heavy = terms.weight > HEAVY * np.median(terms.weight[terms.weight > 0])
        self.heavy = np.argwhere(np.triu(heavy)).T
        self.weight, self.light_pull = np.where(heavy, 0.0, terms.weight), np.where(heavy, 0.0, terms.pull)
        self.curvature = np.empty((len(rows), rows.shape[1], rows.shape[1]))
        self.pull = np.empty(rows.shape)
        for i, row in enumerate(rows):
            apart = row - rows
            self.curvature[i] = (apart * self.weight[i][:, None]).T @ apart
            self.pull[i] = self.light_pull[i] @ apart
        self.all_curvature, self.all_pull = self.curvature.sum(axis=0) / 2, self.pull.sum(axis=0) / 2

    @property
    def entries(self) -> int:
        """The numbers that each pair needs at the same time."""
        r = self.rows.shape[1]
        return r * (r + self.heavy.shape[1])

    def mass(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the weight of the pairs without rows i and j in the mean over all."""
        return 1.0 - self.share[i] - self.share[j] + self.terms.share[i, j]

    def without(self, i: IntArray, j: IntArray, penalty: FloatArray) -> FloatArray:
        """Solve the equations without the pairs of rows i and j: shape (n_alphas, n_pairs, r)."""
        apart = self.rows[i] - self.rows[j]
        gram = self.all_curvature - self.curvature[i] - self.curvature[j]
        gram += self.weight[i, j][:, None, None] * apart[:, :, None] * apart[:, None, :]
        right = self.all_pull - self.pull[i] - self.pull[j] + self.light_pull[i, j][:, None] * apart
        if self.heavy.shape[1]:
            return _least_squares(gram, right, penalty, *self._heavy_without(i, j))
        return _solutions(gram, right, penalty)

    def _heavy_without(self, i: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the equations of heavy pairs, the heaviest first, with zeros for those of rows i and j."""
        a, b = self.heavy[:, np.argsort(-self.terms.weight[*self.heavy])]
        root = np.sqrt(self.terms.weight[a, b])
        left, right = root[:, None] * (self.rows[a] - self.rows[b]), self.terms.pull[a, b] / root
        stays = ((a != i[:, None]) & (a != j[:, None]) & (b != i[:, None]) & (b != j[:, None])).astype(float)
        return stays[:, :, None] * left, stays * right


def _solutions(gram: FloatArray, right: FloatArray, penalty: FloatArray) -> FloatArray:
    """Solve (gram + penalty) w = right for each penalty (n_alphas, n) of n systems."""
    if len(penalty) <= FEW_ALPHAS:
        unit = np.eye(gram.shape[1])
        systems = (gram + one[:, None, None] * unit for one in penalty)
        return np.stack([np.linalg.solve(system, right[:, :, None])[:, :, 0] for system in systems])
    values, vectors, rotated = _decomposed(gram, right)
    scaled = rotated / (np.maximum(values, 0.0) + penalty[:, :, None])
    return np.einsum("nab,knb->kna", vectors, scaled)


def _least_squares(
    gram: FloatArray, right: FloatArray, penalty: FloatArray, rows: FloatArray, targets: FloatArray
) -> FloatArray:
    """As `_solutions`, with the squares of rows w - targets added, by orthogonal transformations."""
    values, vectors, rotated = _decomposed(gram, right)
    found = np.empty((len(penalty), *right.shape))
    for k, one in enumerate(penalty):
        root = np.sqrt(np.maximum(values, 0.0) + one[:, None])
        stacked = np.concatenate([rows, root[:, :, None] * vectors.swapaxes(1, 2)], axis=1)
        Q, R = np.linalg.qr(stacked)
        moved = Q.swapaxes(1, 2) @ np.concatenate([targets, rotated / root], axis=1)[:, :, None]
        found[k] = np.linalg.solve(R, moved)[:, :, 0]
    return found


def _decomposed(gram: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the eigenvalues and eigenvectors of n matrices, and the right sides in their coordinates."""
    values, vectors = np.linalg.eigh(gram)
    return values, vectors, np.einsum("nab,na->nb", vectors, right)


def unordered(better: IntArray, worse: IntArray, m: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return each pair of rows once, the lower number first, and the index of each given pair.

    Examples
    --------
    >>> [part.tolist() for part in unordered(np.array([0, 2, 1]), np.array([1, 0, 0]), 3)]
    [[0, 0], [1, 2], [0, 1, 0]]
    """
    keys, place = np.unique(np.minimum(better, worse) * m + np.maximum(better, worse), return_inverse=True)
    return keys // m, keys % m, place


def _parts(n_pairs: int, entries: int) -> Iterator[slice]:
    step = max(1, _ENTRIES_AT_ONCE // entries)
    return (slice(begin, begin + step) for begin in range(0, n_pairs, step))
