"""RankBoost with thresholds on features (Freund et al., 2003), for two levels of relevance.

It is a baseline of Pahikkala et al. (2009), table 3; the library's own boosted trees are `BoostedRanker`.
With two levels the weights of pairs are products of one weight per row (RankBoost.B), so that a round costs
O(m n).
"""

import numpy as np


class RankBoost:
    """Minimize the mean over pairs of exp(f(worse) - f(better)), one threshold of one feature per round.

    Parameters
    ----------
    n_rounds : int
    n_thresholds : int
        Thresholds of each feature: quantiles of its values.
    """

    def __init__(self, n_rounds=300, n_thresholds=64):
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds

    def fit(self, X, y, qid):
        """Learn from rows with y 1 or 0; rows of different queries are not compared."""
        codes, relevant = np.unique(qid, return_inverse=True)[1], np.asarray(y) > 0
        bins, cuts = self._binned(X)
        scores = np.zeros(len(y))
        self.features_, self.cuts_, self.steps_ = [], [], []
        for _ in range(self.n_rounds):
            potential = row_potential(scores, relevant, codes)
            feature, threshold, r = self._best(bins, potential)
            # The largest decrease for a rule with values 0 and 1: equation (7) and section 3.2.
            step = 0.5 * np.log((1 + r) / (1 - r))
            scores += step * (bins[:, feature] > threshold)
            self.features_.append(feature)
            self.cuts_.append(cuts[feature][threshold])
            self.steps_.append(step)
        return self

    def staged_scores(self, X):
        """Return the scores after each round, one column per round."""
        rules = np.stack([X[:, f] >= c for f, c in zip(self.features_, self.cuts_, strict=True)], axis=1)
        return np.cumsum(rules * np.array(self.steps_), axis=1)

    def predict(self, X):
        return self.staged_scores(X)[:, -1]

    def _binned(self, X):
        shares = np.linspace(0, 1, self.n_thresholds + 1)[1:]
        cuts = [np.unique(np.quantile(column, shares, method="lower")) for column in X.T]
        bins = np.stack([np.searchsorted(c, x, side="right") for c, x in zip(cuts, X.T, strict=True)], axis=1)
        return bins, cuts

    def _best(self, bins, potential):
        """Return feature, threshold and r of the rule whose weighted difference over pairs is largest."""
        best = (0, 0, 0.0)
        for feature in range(bins.shape[1]):
            totals = np.bincount(bins[:, feature], potential, minlength=2)
            above = totals[::-1].cumsum()[::-1][1:]
            threshold = int(np.argmax(np.abs(above)))
            if abs(above[threshold]) > abs(best[2]):
                best = (feature, threshold, float(above[threshold]))
        return best


def row_potential(scores, relevant, codes):
    """Return each row's part in r: the sum of its pairs' weights, negative for rows that should lose.

    The weight of a pair is exp(s(worse) - s(better)), divided by the sum over all pairs of all queries.
    """
    # Shifting all scores of a query changes no pair's weight and keeps exp in range.
    shift = np.full(codes.max() + 1, -np.inf)
    np.maximum.at(shift, codes, scores)
    centred = scores - shift[codes]
    up = np.where(relevant, np.exp(-centred), 0.0)
    down = np.where(relevant, 0.0, np.exp(centred))
    sum_up, sum_down = np.bincount(codes, up), np.bincount(codes, down)
    potential = up * sum_down[codes] - down * sum_up[codes]
    return potential / (sum_up @ sum_down)
