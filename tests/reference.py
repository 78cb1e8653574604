"""The textbook formulas, pair by pair, in plain loops: what every fast path is proved equal to.

A pair is a tuple (better, worse, weight, target, query). Sums have the digits of the scores and weights: long
doubles give the sums of long doubles.
"""

import itertools

import numpy as np
from scipy.special import expit
from scipy.stats import ttest_1samp


def ranking_pairs(y, qid=None, weight=None, gain=None):
    n = len(y)
    qid = [0] * n if qid is None else list(qid)
    weight = np.ones(n) if weight is None else weight
    pairs = []
    for i in range(n):
        for j in range(n):
            if qid[i] == qid[j] and y[i] > y[j]:
                w = weight[i] * weight[j] * (1.0 if gain is None else gain[i] - gain[j])
                pairs.append((i, j, w, y[i] - y[j], qid[i]))
    return pairs


def survival_pairs(event, time, weight=None):
    n = len(time)
    weight = np.ones(n) if weight is None else weight
    return [
        (i, j, weight[i] * weight[j], time[i] - time[j], 0)
        for i in range(n)
        for j in range(n)
        if event[j] and (time[i] > time[j] or (time[i] == time[j] and not event[i]))
    ]


def decided_by(outcomes, i, j):
    """The first outcome that orders rows i and j, and 1 if i is better or -1; (None, 0) if none does.

    An outcome is (values, event or None, margin, higher_is_better).
    """
    for k, (values, event, margin, higher_is_better) in enumerate(outcomes):
        if np.isnan(values[i]) or np.isnan(values[j]) or abs(values[i] - values[j]) <= margin:
            continue
        smaller = i if values[i] < values[j] else j
        if event is not None and not event[smaller]:
            continue
        return k, 1 if (values[i] > values[j]) == higher_is_better else -1
    return None, 0


def hierarchy_pairs(outcomes, strata=None, weight=None):
    """The pairs of a hierarchy of outcomes: each is decided by the first outcome that orders it."""
    n = len(outcomes[0][0])
    weight = np.ones(n) if weight is None else weight
    strata = np.zeros(n) if strata is None else strata
    pairs = [
        (i, j, weight[i] * weight[j], 1.0, 0)
        for i in range(n)
        for j in range(n)
        if strata[i] == strata[j] and decided_by(outcomes, i, j)[1] == 1
    ]
    return [pair for pair in pairs if pair[2] > 0]


def order_pairs(labels, edges, weight=None):
    n = len(labels)
    weight = np.ones(n) if weight is None else weight
    return [
        (i, j, weight[i] * weight[j], 1.0, 0)
        for high, low in edges
        for i in range(n)
        for j in range(n)
        if labels[i] == high and labels[j] == low
    ]


def click_pairs(clicked, click_weight, qid, impression, weight):
    n = len(clicked)
    return [
        (i, j, click_weight[i] * weight[i] * weight[j], 1.0, 0)
        for i in range(n)
        for j in range(n)
        if i != j and clicked[i] and qid[i] == qid[j] and impression[i] == impression[j]
    ]


def explicit_pairs(better, worse, magnitude, weight):
    return [(i, j, w, t, 0) for i, j, t, w in zip(better, worse, magnitude, weight, strict=True)]


def normalised(pairs, average="queries", query_weight=None):
    """Scale the weights so that a sum over pairs is the mean loss."""
    importance = query_weight or {}
    total = {}
    for _, _, w, _, q in pairs:
        total[q] = total.get(q, 0.0) + w
    counted = {q: importance.get(q, 1.0) for q in total if total[q] > 0}
    if average == "queries":
        scale = {q: u / sum(counted.values()) / total[q] for q, u in counted.items()}
    else:
        scale = {q: u / sum(counted[k] * total[k] for k in counted) for q, u in counted.items()}
    return [(i, j, w * scale.get(q, 0.0), t, q) for i, j, w, t, q in pairs]


def zeros(s):
    return np.zeros(len(s), np.result_type(np.asarray(s).dtype, float))


def hinge(pairs, s):
    value, c = 0.0, zeros(s)
    for i, j, w, _, _ in pairs:
        if s[i] - s[j] < 1:
            value += w * (1 - (s[i] - s[j]))
            c[i] -= w
            c[j] += w
    return value, c


def huber_hinge(pairs, s, width=0.5):
    """Value and gradient of the hinge with a parabola of this width below the margin."""
    value, c = 0.0, np.zeros(len(s))
    for i, j, w, *_ in pairs:
        below = 1 - (s[i] - s[j])
        if below > 0:
            value += w * (below**2 / (2 * width) if below < width else below - width / 2)
            slope = w * min(below / width, 1)
            c[i] -= slope
            c[j] += slope
    return value, c


def squared_hinge(pairs, s):
    value, c = 0.0, zeros(s)
    for i, j, w, _, _ in pairs:
        if s[i] - s[j] < 1:
            v = 1 - (s[i] - s[j])
            value += w * v**2
            c[i] -= 2 * w * v
            c[j] += 2 * w * v
    return value, c


def squared_hinge_hessian(pairs, s):
    H = np.diag(zeros(s))
    for i, j, w, _, _ in pairs:
        if s[i] - s[j] < 1:
            H[i, i] += 2 * w
            H[j, j] += 2 * w
            H[i, j] -= 2 * w
            H[j, i] -= 2 * w
    return H


def logistic(pairs, s):
    value, c = 0.0, zeros(s)
    for i, j, w, _, _ in pairs:
        value += w * np.logaddexp(0.0, s[j] - s[i])
        push = w * expit(s[j] - s[i])
        c[i] -= push
        c[j] += push
    return value, c


def logistic_hessian(pairs, s):
    H = np.diag(zeros(s))
    for i, j, w, _, _ in pairs:
        curvature = w * expit(s[i] - s[j]) * expit(s[j] - s[i])
        H[i, i] += curvature
        H[j, j] += curvature
        H[i, j] -= curvature
        H[j, i] -= curvature
    return H


def plackett_luce(s, labels, query, weight=None, event=None, ties="breslow", average="queries"):
    """The loss of whole lists and its gradient: choice by choice, row by row.

    Without `event` the best of the rows that remain is chosen, and those with the lowest label never are;
    with it, rows with an event leave those with their label or a higher one. A weight counts rows: the
    smallest is 1 if one is smaller.
    """
    n = len(s)
    weight = [1.0] * n if weight is None else [float(w) for w in weight]
    unit = min(1.0, *(w for w in weight if w > 0))
    sign = 1.0 if event is None else -1.0
    lists = []
    for q in sorted(set(query)):
        rows = [i for i in range(n) if query[i] == q and weight[i] > 0]
        loss, total, gradient = 0.0, 0.0, [0.0] * n
        for level in sorted({labels[i] for i in rows}):
            if event is None:
                risk = [i for i in rows if labels[i] <= level]
                lowest = min(labels[i] for i in rows)
                chosen = [i for i in rows if labels[i] == level and level > lowest]
            else:
                risk = [i for i in rows if labels[i] >= level]
                chosen = [i for i in rows if labels[i] == level and event[i]]
            mean_weight = sum(weight[i] for i in chosen) / max(1, len(chosen))
            for k, i in enumerate(chosen):
                gone = k / len(chosen) if ties == "efron" else 0.0
                size = {j: weight[j] / unit * np.exp(sign * s[j]) * (1 - gone * (j in chosen)) for j in risk}
                own = weight[i] if ties == "breslow" else mean_weight
                loss += own * np.log(sum(size.values())) - weight[i] * sign * s[i]
                gradient[i] -= sign * weight[i]
                for j in risk:
                    gradient[j] += sign * own * size[j] / sum(size.values())
            total += sum(weight[i] for i in chosen)
        if total > 0:
            lists.append((loss, total, gradient))
    everything = sum(total for _, total, _ in lists)
    factor = [1 / everything if average == "pairs" else 1 / (total * len(lists)) for _, total, _ in lists]
    value = sum(f * loss for f, (loss, _, _) in zip(factor, lists, strict=True))
    parts = zip(factor, lists, strict=True)
    return value, np.sum([[f * g for g in gradient] for f, (_, _, gradient) in parts], axis=0)


def least_squares(pairs, s, cost):
    value, c = 0.0, zeros(s)
    for i, j, w, t, _ in pairs:
        r = (t if cost == "magnitude" else 1.0) - (s[i] - s[j])
        value += w * r**2
        c[i] -= 2 * w * r
        c[j] += 2 * w * r
    return value, c


def pair_slope(loss, d, t):
    """The derivative of the loss of a pair by its score difference d, and its second derivative."""
    if loss == "hinge":
        return -1.0 * (d < 1), 0.0
    if loss == "squared_hinge":
        return -2.0 * max(1 - d, 0.0), 2.0 * (d < 1)
    if loss == "logistic":
        return -expit(-d), expit(d) * expit(-d)
    if loss == "relative":
        return 2.0 * (d - t) / t**2, 2.0 / t**2
    return 2.0 * (d - (t if loss == "magnitude" else 1.0)), 2.0


def slopes(pairs, s, loss):
    """The matrix C, with C_ij the derivative by score i of the loss of the pair of rows i and j."""
    C = np.diag(zeros(s))
    for i, j, w, t, _ in pairs:
        slope = w * pair_slope(loss, s[i] - s[j], t)[0]
        C[i, j] += slope
        C[j, i] -= slope
    return C


def touching(pairs, X, w, loss, unit):
    """The gradient, the Hessian and the weight of the pairs with a row of each unit, and of all pairs.

    `unit` has the unit of each row, or None if each pair is a unit.
    """
    n = X.shape[1]
    names = np.arange(len(pairs)) if unit is None else np.unique(unit)
    gradients, hessians, mass = np.zeros((len(names) + 1, n)), np.zeros((len(names) + 1, n, n)), []
    for k, name in enumerate([*names, None]):
        total = 0.0
        for p, (i, j, weight, t, _) in enumerate(pairs):
            units = (p,) if unit is None else (unit[i], unit[j])
            if name is None or name in units:
                z = X[i] - X[j]
                first, second = pair_slope(loss, float(z @ w), t)
                gradients[k] += weight * first * z
                hessians[k] += weight * second * np.outer(z, z)
                total += weight
        mass.append(total)
    return gradients, hessians, np.array(mass)


def laplacian(pairs, n):
    L = np.zeros((n, n))
    for i, j, w, _, _ in pairs:
        L[i, i] += w
        L[j, j] += w
        L[i, j] -= w
        L[j, i] -= w
    return L


# RankRLS, in the notation of Pahikkala et al. (2009)


def kept_pairs(y, qid=None, weight=None, average="queries"):
    """All pairs of rows of a query, tied ones with target 0, normalised by half the square of the weights.

    A query with fewer than two rows that weigh something has no pair, and does not count.
    """
    n = len(y)
    qid = [0] * n if qid is None else list(qid)
    weight = np.ones(n) if weight is None else weight
    weights = {q: [weight[i] for i in range(n) if qid[i] == q and weight[i] > 0] for q in qid}
    size = {q: sum(some) ** 2 / 2 for q, some in weights.items() if len(some) > 1}
    pairs = []
    for i in range(n):
        for j in range(i):
            if qid[i] == qid[j] and qid[i] in size:
                scale = 1 / len(size) / size[qid[i]] if average == "queries" else 1 / sum(size.values())
                high, low = (i, j) if y[i] > y[j] else (j, i)
                pairs.append((high, low, weight[i] * weight[j] * scale, y[high] - y[low], qid[i]))
    return pairs


def incidence(pairs, n, cost="magnitude"):
    """M and N of equations (12) and (13) for the costs (20), (21) and (22)."""
    M, N = np.zeros((n, len(pairs))), np.zeros(len(pairs))
    for k, (i, j, w, t, _) in enumerate(pairs):
        width = np.sqrt(w) / (t if cost == "relative" else 1.0)
        M[i, k], M[j, k] = width, -width
        N[k] = width * (1.0 if cost == "unit" else t)
    return M, N


def scoring_laplacian(query, label=None):
    """Equation (25), D - P P'; with labels (D - D_t) - P P' + P_t P_t', which leaves tied pairs out."""
    P = np.array([[float(q == r) for r in sorted(set(query))] for q in query])
    L = np.diag(P.sum(axis=0) @ P.T) - P @ P.T
    if label is None:
        return L
    levels = list(zip(query, label, strict=True))
    return L - scoring_laplacian(levels)


def dual_solution(M, N, K, lam):
    """Equation (17)."""
    return np.linalg.solve(M @ M.T @ K + lam * np.eye(len(K)), M @ N)


def primal_solution(H, M, N, lam):
    """Equation (28), with one column of H for each row of the data."""
    return np.linalg.solve(H @ M @ M.T @ H.T + lam * np.eye(len(H)), H @ M @ N)


def reduced_solution(K_R, K_RR, M, N, lam):
    """Equation (41): coefficients of the basis vectors."""
    return np.linalg.solve(K_R @ M @ M.T @ K_R.T + lam * K_RR, K_R @ M @ N)


def least_squares_objective(pairs, scores, cost, penalty):
    """Mean loss of (20), (21) or (22), pair by pair, plus the penalty."""
    M, N = incidence(pairs, len(scores), cost)
    return float(np.sum((N - M.T @ scores) ** 2)) + penalty


def match_loss(scores, matches, alpha, order_effect=0.0, tie_effect=None):
    """Mean of -log P(outcome) over matches (a, b, result, weight), + alpha times the squared parameters.

    Bradley and Terry (1952): P(a wins) = e^a / (e^a + e^b), and a tie is half of each; with a tie effect,
    Davidson (1970): wins and ties in proportion to e^a, e^b and nu sqrt(e^a e^b).
    """
    total, weights = 0.0, 0.0
    for a, b, result, weight in matches:
        pi_a, pi_b = np.exp(scores[a] + order_effect), np.exp(scores[b])
        if tie_effect is None:
            win = pi_a / (pi_a + pi_b)
            likelihood = result * np.log(win) + (1 - result) * np.log(1 - win)
        else:
            tie = tie_effect * np.sqrt(pi_a * pi_b)
            share = {1.0: pi_a, 0.0: pi_b, 0.5: tie}[result]
            likelihood = np.log(share / (pi_a + pi_b + tie))
        total, weights = total - weight * likelihood, weights + weight
    log_nu = 0.0 if tie_effect is None else np.log(tie_effect)
    return total / weights + alpha * (np.sum(np.square(scores)) + order_effect**2 + log_nu**2)


def judge_loss(scores, slopes, orders, votes, sds):
    """Sum of -log P(outcome) over votes (a, b, result, judge), and of the penalties of normal priors.

    P(a wins | judge k) = 1 / (1 + exp(-beta_k (s_a - s_b) - h_k)), and a tie is half of each. The priors are
    those of scores, log |beta_k| and h_k, with standard deviations `sds`.
    """
    total = 0.0
    for a, b, result, k in votes:
        win = 1 / (1 + np.exp(-slopes[k] * (scores[a] - scores[b]) - orders[k]))
        total -= result * np.log(win) + (1 - result) * np.log(1 - win)
    parts = (scores, np.log(np.abs(slopes)), orders)
    return total + sum(np.sum(np.square(one)) / (2 * sd**2) for one, sd in zip(parts, sds, strict=True))


def prediction_powered(a, b, human, judge, n_items, weight, prior_sd, rounds=6, debias=False):
    """Scores and covariance of human votes sharpened by a judge (PPI++), vote by vote.

    Minimise the mean human loss + weight (mean judge loss on all - on the labelled) + prior, with the
    precision of the prior times the variance that the correction leaves. The covariance is the sandwich of
    influences with HC2, plus the mean squared bias of the prior. If `debias`, both are those after one Newton
    step without the prior.
    """
    X = np.eye(n_items)[a] - np.eye(n_items)[b]
    known = ~np.isnan(human)
    H, y, f, ratio = X[known], human[known], judge[known], known.mean()
    centre, n = np.eye(n_items) - 1 / n_items, known.sum()

    def derivatives(scores):
        p, q = 1 / (1 + np.exp(-X @ scores)), 1 / (1 + np.exp(-H @ scores))
        gradient = H.T @ (y - q) + weight * (ratio * X.T @ (judge - p) - H.T @ (f - q))
        information = (1 - weight) * (H.T * (q * (1 - q))) @ H
        return p, q, gradient, information + weight * ratio * (X.T * (p * (1 - p))) @ X

    def sandwich(scores, precision):
        p, q, _, information = derivatives(scores)
        inverse = np.linalg.pinv(information + precision, rcond=1e-10)
        leverage = q * (1 - q) * np.einsum("ij,jk,ik->i", H, inverse, H)
        residual = (y - q - weight * (f - q)) / np.sqrt(1 - np.minimum(leverage, 0.9))
        rest, own = (one[:, None] * H @ inverse @ centre for one in (residual, f - q))
        rest, own = (one - one.mean(axis=0) for one in (rest, own))
        meat = rest.T @ rest + weight * ratio * (rest.T @ own + own.T @ rest)
        everyone = (judge - p)[:, None] * X @ inverse @ centre
        bread = centre @ inverse
        left = np.trace(both := meat + weight**2 * ratio * n * np.cov(everyone.T))
        return both, bread, left / np.trace(bread @ information @ bread.T)

    used, scores = 1.0, np.zeros(n_items)
    for _ in range(rounds):
        rho, precision = used, used * np.eye(n_items) / prior_sd**2
        for _ in range(50):
            _, _, gradient, information = derivatives(scores)
            scores = scores + np.linalg.solve(information + precision, gradient - precision @ scores)
        meat, bread, left = sandwich(scores, precision)
        used = np.clip(left, 0.05, 1)
    if not debias:
        return centre @ scores, meat + rho**2 / prior_sd**2 * bread @ bread.T
    _, _, gradient, information = derivatives(scores)
    scores = scores + np.linalg.pinv(information, rcond=1e-10) @ gradient
    return centre @ scores, sandwich(scores, 0.0)[0]


def reliability(pairs, s, bins):
    """Share, mean probability and share in the stated order of the pairs of each bin of [1/2, 1]."""
    edges = np.linspace(0.5, 1, bins + 1)
    share, stated, right = np.zeros((3, bins))
    for i, j, w, _, _ in pairs:
        probability = expit(abs(s[i] - s[j]))
        k = min(np.searchsorted(edges, probability, side="right") - 1, bins - 1)
        share[k] += w
        stated[k] += w * probability
        right[k] += w * (0.5 if s[i] == s[j] else float(s[i] > s[j]))
    whole = np.where(share > 0, share, np.nan)
    return share, stated / whole, right / whole


def vote_regression(a, b, result, Z, alpha, weight=None, steps=50):
    """Logistic regression by dense Newton steps: rows +1 for a, -1 for b and covariates, ridge alpha.

    Minimises the weighted mean of the loss + the sum of alpha p^2, with one alpha per parameter, and returns
    the parameters and the inverse information of all votes at the optimum; ties are halves.
    """
    n_items = int(max(a.max(), b.max())) + 1
    X = np.hstack([np.eye(n_items)[a] - np.eye(n_items)[b], Z])
    w = np.ones(len(a)) if weight is None else weight
    p = np.zeros(X.shape[1])
    for _ in range(steps):
        chance = expit(X @ p)
        gradient = X.T @ (w * (chance - result)) / w.sum() + 2 * alpha * p
        information = (X.T * (w * chance * (1 - chance))) @ X
        p = p - np.linalg.pinv(information / w.sum() + 2 * np.diag(alpha)) @ gradient
    return p, np.linalg.pinv(information)


def additive_effects(values):
    """Effects of columns, with mean 0, and levels of rows by least squares; NaN is missing."""
    n_rows, n_columns = values.shape
    rows, columns = np.nonzero(~np.isnan(values))
    design = np.zeros((len(rows), n_rows + n_columns))
    design[np.arange(len(rows)), rows] = 1.0
    design[np.arange(len(rows)), n_rows + columns] = 1.0
    found = np.linalg.lstsq(design, values[rows, columns], rcond=None)[0]
    levels, effects = found[:n_rows], found[n_rows:]
    return effects - effects.mean(), levels + effects.mean()


def wins_within(row):
    """The wins of each value over the other values of a row, a tie as half; NaN if it is missing."""
    return [
        np.nan
        if np.isnan(a)
        else sum((a > b) + 0.5 * (a == b) for j, b in enumerate(row) if j != i and not np.isnan(b))
        for i, a in enumerate(row)
    ]


def win_rates(values):
    """The mean rate of wins of each model over the others, of a table without missing cells."""
    return np.mean([wins_within(row) for row in values], axis=0) / (values.shape[1] - 1)


def leads_of_tasks(values):
    """Wins minus losses of each model within each task, over twice the number of its models."""
    leads = []
    for row in values:
        count = np.count_nonzero(~np.isnan(row))
        leads.append([(won - (count - 1) / 2) / count for won in wins_within(row)])
    return np.array(leads)


def strength_slopes(values, strengths, tie=False):
    """The derivative of the likelihood of Bradley and Terry of all pairs within tasks, pair by pair."""
    tasks = [*values, *([np.zeros(values.shape[1])] if tie else [])]
    slopes = np.zeros(values.shape[1])
    for row in tasks:
        for i, j in itertools.permutations(range(len(row)), 2):
            if not np.isnan(row[i] + row[j]):
                chance = 1 / (1 + np.exp(strengths[j] - strengths[i]))
                slopes[i] += (row[i] > row[j]) + 0.5 * (row[i] == row[j]) - chance
    return slopes


def weighted_mean(values, weight):
    """A weighted mean, its standard error and its degrees of freedom, from the matrix of residuals.

    Residuals are e = M x; each square is divided by its expectation if all values vary alike.
    """
    p = np.asarray(weight) / np.sum(weight)
    n = len(p)
    M = np.eye(n) - np.outer(np.ones(n), p)
    H = M @ M.T
    residuals = M @ values
    a = [p[i] ** 2 / H[i, i] for i in range(n)]
    variance = sum(a[i] * residuals[i] ** 2 for i in range(n))
    spread = sum(a[i] * a[j] * H[i, j] ** 2 for i in range(n) for j in range(n))
    return float(p @ values), float(np.sqrt(variance)), sum(a[i] * H[i, i] for i in range(n)) ** 2 / spread


def chance_of_separation(apart, error, n, more, confidence, draws, seed):
    """How often a t-test of n values with this mean and error and `more` drawn ones excludes 0."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(draws):
        deviation = error * np.sqrt(n * (n - 1) / rng.chisquare(n - 1))
        later = rng.normal(rng.normal(apart, deviation / np.sqrt(n)), deviation, more)
        # Values with the mean and the error that are known.
        known = np.linspace(-1, 1, n)
        known = apart + known * error * np.sqrt(n) / known.std(ddof=1)
        found += ttest_1samp([*known, *later], 0.0).pvalue < 1 - confidence
    return found / draws
