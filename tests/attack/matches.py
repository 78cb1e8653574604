"""The optimum of BradleyTerry against Newton's method for a multinomial choice between outcomes."""

import numpy as np
from scipy.special import logsumexp

from attack.draws import choice
from rankwise import BradleyTerry

HALVES = 60


def case(rng):
    """Draw matches among a few items, and what is estimated."""
    n_items, n_matches = int(rng.integers(2, 9)), int(rng.integers(1, 60))
    a = rng.integers(n_items, size=n_matches)
    b = (a + 1 + rng.integers(n_items - 1, size=n_matches)) % n_items
    result = rng.choice([0.0, 0.5, 1.0], n_matches, p=choice(rng, [[0.4, 0.2, 0.4], [0.5, 0.0, 0.5]]))
    weight = choice(rng, [np.ones(n_matches), rng.choice([0.1, 1.0, 7.0], n_matches)])
    alpha = float(10.0 ** rng.uniform(-4, 0))
    order_effect, ties = bool(rng.integers(2)), choice(rng, ["half", "davidson"])
    if ties == "davidson" and not (result == 0.5).any():
        ties = "half"
    model = BradleyTerry(alpha=alpha, order_effect=order_effect, ties=ties)
    model.fit(a, b, weight, outcome=result)
    items = np.unique(np.concatenate([a, b]))
    codes = [np.searchsorted(items, side) for side in (a, b)]
    outcomes = utilities(*codes, len(items), order_effect, ties == "davidson")
    share = shares(result, ties == "davidson") * (weight / weight.sum())[:, None]
    parameters, objective = newton(outcomes, share, alpha)
    compare(model, parameters, objective, len(items), order_effect, ties == "davidson")
    return 4


def utilities(a, b, n_items, order_effect, davidson):
    """The log odds of each outcome are linear in the parameters: (n_matches, n_outcomes, n_parameters)."""
    unit = np.eye(n_items + order_effect + davidson)
    first, second = unit[a] + (unit[n_items] if order_effect else 0.0), unit[b]
    outcomes = [first, second]
    if davidson:
        outcomes.append((first + second) / 2 + unit[-1])
    return np.stack(outcomes, axis=1)


def shares(result, davidson):
    """The share of each outcome in each match."""
    if davidson:
        return np.column_stack([result == 1.0, result == 0.0, result == 0.5]).astype(float)
    return np.column_stack([result, 1 - result])


def newton(outcomes, share, alpha):
    """Minimise -sum share log P(outcome) + alpha ||p||^2 with halved steps."""
    weight, point = share.sum(axis=1), np.zeros(outcomes.shape[2])

    def value(p):
        logits = outcomes @ p
        return weight @ logsumexp(logits, axis=1) - np.sum(share * logits) + alpha * p @ p

    for _ in range(100):
        logits = outcomes @ point
        chance = np.exp(logits - logsumexp(logits, axis=1)[:, None])
        mean = np.einsum("mo,mop->mp", chance, outcomes)
        gradient = weight @ mean - np.einsum("mo,mop->p", share, outcomes) + 2 * alpha * point
        second = np.einsum("m,mo,mop,moq->pq", weight, chance, outcomes, outcomes)
        second += 2 * alpha * np.eye(len(point)) - (mean.T * weight) @ mean
        step, size, now = np.linalg.solve(second, gradient), 1.0, value(point)
        while value(point - size * step) > now and size > 2.0**-HALVES:
            size /= 2
        point = point - size * step
        if gradient @ step <= 1e-28:
            break
    return point, value(point)


def compare(model, parameters, objective, n_items, order_effect, davidson):
    """Objective, bound, scores and effects."""
    assert abs(model.objective_ - objective) <= 1e-12 * (1 + objective), f"{model.objective_}, {objective}"
    assert model.objective_ - model.gap_ <= objective + 1e-14
    scores = parameters[:n_items] - parameters[:n_items].mean()
    np.testing.assert_allclose(model.scores_, scores, atol=1e-5)
    np.testing.assert_allclose(model.order_effect_, parameters[n_items] if order_effect else 0.0, atol=1e-5)
    np.testing.assert_allclose(model.tie_effect_, np.exp(parameters[-1]) if davidson else 0.0, rtol=1e-5)
