"""Errors of scores if the votes of a cluster, such as a user or a prompt, depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.comparisons import Outcomes, count_votes
from rankwise.leaderboard.links.base import Terms
from rankwise.leaderboard.pair_model import PairModel

# Eigenvalues of a cluster's information below this fraction of the largest are zero.
NULL = 1e-9
# The smallest eigenvalue of I - L' H^-1 L: a cluster that alone determines a score has 0.
LEAST_LEFT = 1e-3
LEAST_FREEDOM = 1.5


@dataclass(frozen=True)
class ClusterCounts:
    """The weights of wins, losses and ties per cluster, pair and row of covariates, sorted by cluster.

    Attributes
    ----------
    cluster, first, second : int arrays of shape (n_entries,)
    wins, losses, ties : arrays of shape (n_entries,)
    covariates : array of shape (n_covariates, n_entries), optional
    """

    cluster: IntVector
    first: IntVector
    second: IntVector
    wins: FloatVector
    losses: FloatVector
    ties: FloatVector
    covariates: FloatArray | None = None

    @classmethod
    def count(
        cls,
        cluster: NDArray[Any],
        first: NDArray[Any],
        second: NDArray[Any],
        result: FloatVector | None,
        weight: FloatVector | None,
        covariates: FloatArray | None = None,
    ) -> ClusterCounts:
        """Count the matches of each cluster; the order of the items of a pair is kept."""
        n_items = int(max(first.max(), second.max())) + 1
        keys = (cluster.astype(np.int64) * n_items + first) * n_items + second
        values = np.zeros((0, len(keys))) if covariates is None else covariates
        found, wins, losses, ties, rows = count_votes(keys, values, result, weight)
        pair = found % (n_items * n_items)
        numbers = found // (n_items * n_items), pair // n_items, pair % n_items
        return cls(*numbers, wins, losses, ties, None if covariates is None else rows)

    @property
    def outcomes(self) -> Outcomes:
        """The weights of outcomes."""
        return Outcomes(self.wins, self.losses, self.ties)

    def effect_columns(self, model: PairModel) -> FloatArray:
        """Return the covariates and, for an order effect, ones: one row per effect."""
        ones = np.ones((int(model.order_effect), len(self.first)))
        return ones if self.covariates is None else np.concatenate([self.covariates, ones])


class ClusterScores:
    """Scores u_g of clusters, adjusted as in CR2, with the degrees of freedom of Bell and McCaffrey (2002).

    With J_g the information of cluster g and H that of all, plus the prior if any, the adjusted score is
    A_g u_g with A_g = L (I - L' H^-1 L)^(-1/2) L^+ and J_g = L L'. Its covariance is J_g if votes are
    independent, whatever the size of the cluster, so sums of squares are unbiased. O(sum of k_g^3) for k_g
    items in cluster g.

    Parameters
    ----------
    model : PairModel
    parameters : array of shape (n_parameters,)
    inverse : array of shape (n_parameters, n_parameters)
        H^-1, in units of votes.
    counts : ClusterCounts
    scale : float
        The factor of all weights.
    """

    def __init__(
        self,
        model: PairModel,
        parameters: FloatVector,
        inverse: FloatArray,
        counts: ClusterCounts,
        scale: float,
    ) -> None:
        self._inverse, self._n_parameters = inverse, len(parameters)
        scores = model.scores(parameters)
        effects = counts.effect_columns(model)
        d = scores[counts.first] - scores[counts.second] + model.effects(parameters) @ effects
        terms = model.link.terms(d, model.shape(parameters), counts.outcomes.scaled(scale))
        ends = np.flatnonzero(np.diff(counts.cluster, prepend=-1, append=-1))
        parts = [
            _cluster(model, counts, effects, terms, slice(begin, end), inverse)
            for begin, end in pairwise(ends)
        ]
        self.n_clusters = len(parts)
        self._places = np.concatenate([places for places, *_ in parts])
        self._begin = np.cumsum([0, *(len(places) for places, *_ in parts)])
        self.raw = self._rows(np.concatenate([score for _, score, _, _ in parts]))
        self._adjustment = sp.block_diag([adjustment for *_, adjustment, _ in parts], format="csr")
        self._information = sp.block_diag([information for *_, information in parts], format="csr")
        self.adjusted = self._rows(self._adjustment @ self.raw.data)

    def _rows(self, data: FloatVector) -> sp.csr_array:
        """Return the matrix with a row per cluster and a column per parameter."""
        return sp.csr_array((data, self._places, self._begin), shape=(self.n_clusters, self._n_parameters))

    def meat(self) -> FloatArray:
        """Return the sum of A_g u_g u_g' A_g'."""
        return (self.adjusted.T @ self.adjusted).toarray()

    def crude_meat(self) -> FloatArray:
        """Return the sum of u_g u_g', times G / (G - 1)."""
        factor = self.n_clusters / max(self.n_clusters - 1, 1)
        return factor * (self.raw.T @ self.raw).toarray()

    def freedom(self, solved: FloatVector) -> float:
        """Return the degrees of freedom of a contrast c, for solved = H^-1 c.

        They are tr(O)^2 / tr(O^2) for the covariance O of the adjusted scores along H^-1 c if votes are
        independent: O_gh = [g = h] a_g' J_g a_g - b_g' H^-1 b_h with a_g = A_g' H^-1 c and b_g = J_g a_g.
        """
        a = self._adjustment.T @ solved[self._places]
        b = self._information @ a
        own = np.add.reduceat(a * b, self._begin[:-1])
        rows = self._rows(b)
        projected = rows @ self._inverse
        common = np.asarray(rows.multiply(projected).sum(axis=1)).ravel()
        cross = (rows.T @ rows).toarray() @ self._inverse
        squares = float(own @ own - 2 * own @ common + (cross * cross.T).sum())
        trace = float((own - common).sum())
        return max(trace**2 / squares, LEAST_FREEDOM) if squares > 0 else LEAST_FREEDOM


def _cluster(
    model: PairModel,
    counts: ClusterCounts,
    effects: FloatArray,
    terms: Terms,
    part: slice,
    inverse: FloatArray,
) -> tuple[IntVector, FloatVector, FloatArray, FloatArray]:
    """Return the parameters of a cluster, its score, its adjustment and its information."""
    first, second = counts.first[part], counts.second[part]
    items = np.unique(np.concatenate([first, second]))
    places = np.concatenate([items, np.arange(model.n_items, model.n_parameters)])
    rows = np.arange(len(first))
    design = np.zeros((len(first), len(places)))
    design[rows, np.searchsorted(items, first)] += 1.0
    design[rows, np.searchsorted(items, second)] -= 1.0
    n_features = model.n_linear - model.n_items
    design[:, len(items) : len(items) + n_features] = model.features[first] - model.features[second]
    begin = len(items) + n_features
    design[:, begin : begin + len(effects)] = effects[:, part].T
    score = -design.T @ terms.by_d[part]
    information = (design.T * terms.by_dd[part]) @ design
    if terms.by_shape is not None and terms.by_d_shape is not None and terms.by_shape_shape is not None:
        cross = design.T @ terms.by_d_shape[part]
        score[-1] -= terms.by_shape[part].sum()
        information[-1] += cross
        information[:, -1] += cross
        information[-1, -1] += terms.by_shape_shape[part].sum()
    return places, score, _adjustment(information, inverse[np.ix_(places, places)]), information


def _adjustment(information: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return A = L (I - L' H^-1 L)^(-1/2) L^+ with L L' = J."""
    values, vectors = np.linalg.eigh(information)
    kept = values > NULL * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    left, turned = np.linalg.eigh(np.eye(root.shape[1]) - root.T @ inverse @ root)
    back = vectors[:, kept] / np.sqrt(values[kept])
    return root @ (turned / np.sqrt(np.maximum(left, LEAST_LEFT))) @ turned.T @ back.T
