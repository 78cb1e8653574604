"""Fits of small problems, in any form of the rows, against an independent solver and a closed form."""

import numpy as np

import independent
import reference
from attack.draws import choice, forms, problem
from rankwise import RankLogistic, RankRLS, RankSVM
from test_certificates import exact_objective

# Of sums over pairs of numbers around 1.
ROUNDING = 1e-12
MODELS = {
    "hinge": lambda alpha: RankSVM(alpha, tol=1e-6),
    "squared_hinge": lambda alpha: RankSVM(alpha, loss="squared_hinge", tol=1e-6),
    "logistic": lambda alpha: RankLogistic(alpha, tol=1e-6),
}


def case(rng):
    """Fit one model to one problem."""
    X, y, qid = problem(rng)
    alpha = float(10.0 ** rng.uniform(-4, 2))
    weight = choice(rng, [None, rng.choice([0.5, 1.0, 3.0], len(y))])
    name = choice(rng, [*MODELS, "least_squares"])
    rows = forms(rng, X)
    if name == "least_squares":
        return check_least_squares(rng, X, rows, y, qid, weight, alpha)
    model = MODELS[name](alpha).fit(rows, y, qid=qid, sample_weight=weight)
    check_certificate(model, X, y, qid, weight, name)
    check_columns(rng, model, X, y, qid, weight, name)
    return 3 + check_names(rng, model, rows)


def check_certificate(model, X, y, qid, weight, loss):
    """The objective is right, and the optimum is within the gap."""
    pairs = reference.normalised(reference.ranking_pairs(y, qid, weight))
    exact = exact_objective(X, pairs, model.alpha, loss, model.coef_)
    other = independent.solve(X - X.mean(axis=0), pairs, model.alpha, loss)
    best = exact_objective(X, pairs, model.alpha, loss, other.coef)
    assert abs(model.objective_ - exact) <= model.gap_ + 1e-14 * exact, f"{model.objective_} is {exact}"
    assert exact - best <= model.gap_ + ROUNDING, f"{exact} - {best} is above the gap {model.gap_}"
    assert model.objective_ - model.gap_ <= best + ROUNDING, f"the bound is above {best}"
    assert other.lower <= model.objective_ + ROUNDING, f"{model.objective_} is below the bound {other.lower}"


def check_columns(rng, model, X, y, qid, weight, loss):
    """Columns in another order give the same optimum."""
    order = rng.permutation(X.shape[1])
    turned = MODELS[loss](model.alpha).fit(forms(rng, X[:, order]), y, qid=qid, sample_weight=weight)
    distance = abs(turned.objective_ - model.objective_)
    assert distance <= model.gap_ + turned.gap_ + ROUNDING, f"columns in the order {order} change {distance}"


def check_names(rng, model, rows):
    """The columns of a frame in another order have the same scores, or are refused."""
    if not hasattr(rows, "columns"):
        return 0
    expected, turned = model.predict(rows), rows[rng.permutation(list(rows.columns)).tolist()]
    try:
        np.testing.assert_array_equal(model.predict(turned), expected)
    except ValueError as error:
        if "feature names" not in str(error):
            raise
    return 1


def check_least_squares(rng, X, rows, y, qid, weight, alpha):
    """RankRLS is the solution of its normal equations."""
    average = choice(rng, ["queries", "pairs"])
    model = RankRLS(alpha, average=average).fit(rows, y, qid=qid, sample_weight=weight)
    pairs = reference.kept_pairs(y, qid, weight, average)
    M, N = reference.incidence(pairs, len(y))
    centred = X - X.mean(axis=0)
    expected = reference.primal_solution(centred.T, M, N, alpha)
    scores = centred @ expected
    np.testing.assert_allclose(centred @ model.coef_, scores, atol=1e-7 * (1 + np.abs(scores).max()))
    value = reference.least_squares_objective(pairs, centred @ model.coef_, "magnitude", 0.0)
    value += alpha * model.coef_ @ model.coef_
    assert abs(value - model.objective_) <= model.gap_ + 1e-9 * value, f"{model.objective_} is {value}"
    return 2
