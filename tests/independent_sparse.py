"""Losses of explicit pairs with an elastic net, by L-BFGS-B and Newton steps on the nonzero weights."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def loss_of_pairs(D, weight, target, loss):
    """The mean loss of weights over pairs with differences D, its gradient and its Hessian."""

    def at(w):
        margin = D @ w
        if loss == "logistic":
            value, slope, curve = np.logaddexp(0, -margin), -expit(-margin), expit(margin) * expit(-margin)
        else:
            short = target - margin if loss == "squares" else np.maximum(0, 1 - margin)
            value, slope, curve = short**2, -2 * short, 2.0 * ((short > 0) | (loss == "squares"))
        return weight @ value, D.T @ (weight * slope), D.T @ ((weight * curve)[:, None] * D)

    return at


@np.errstate(over="ignore", invalid="ignore")
def solve(X, pairs, absolute, square, loss):
    """The minimum of the loss plus sum_j absolute_j |w_j| + square_j w_j^2: the weights, and its value."""
    better, worse, weight, target = (np.array([pair[k] for pair in pairs]) for k in range(4))
    of_loss = loss_of_pairs(X[better] - X[worse], weight, target, loss)

    def objective(w):
        return of_loss(w)[0] + absolute @ np.abs(w) + square @ w**2

    def split(both):
        w = both[: len(absolute)] - both[len(absolute) :]
        value, slopes, _ = of_loss(w)
        slopes = slopes + 2 * square * w
        value += absolute @ (both[: len(absolute)] + both[len(absolute) :]) + square @ w**2
        return value, np.concatenate([absolute + slopes, absolute - slopes])

    n = len(absolute)
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
    both = minimize(
        split, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 2 * n, options=options
    ).x
    best = both[:n] - both[n:]
    for least in (1e-3, 1e-5, 1e-7, 0.0):
        w = np.where((np.abs(best) > least * np.abs(best).max(initial=0)) | (absolute == 0), best, 0.0)
        on = np.flatnonzero((w != 0) | (absolute == 0))
        for _ in range(20):
            _, slopes, curve = of_loss(w)
            gradient = (slopes + absolute * np.sign(w) + 2 * square * w)[on]
            H = (curve + np.diag(2 * square))[np.ix_(on, on)]
            w[on] -= np.linalg.lstsq(H, gradient, rcond=1e-13)[0]
        if np.isfinite(w).all() and objective(w) <= objective(best):
            best = w
    return best, float(objective(best))


def scaled(X, pairs, absolute, square, loss):
    """The weights by columns of length 1."""
    size = np.maximum(np.abs(X).max(axis=0), 1e-300)
    return solve(X / size, pairs, absolute / size, square / size**2, loss)[0] / size
