"""Reduced kernels against an independent optimum over the same basis, and certificates of learned ones."""

import numpy as np

import independent
import reference
from attack.draws import choice, labels, queries
from rankwise import RankLogistic, RankSVM
from rankwise.functions.kernel_values import kernel_values
from test_kernel_certificates import KERNELS, exact_objective, model_of


def case(rng):
    """Draw one of the two."""
    return choice(rng, [reduced, reduced, learned])(rng)


def rows(rng, n):
    return rng.normal(size=(n, int(rng.integers(1, 4)))) + choice(rng, [0.0, 1.0])


def reduced(rng):
    """No function of the basis is better than the gap allows."""
    n = int(rng.integers(6, 25))
    X, y, qid = rows(rng, n), labels(rng, n), queries(rng, n)
    loss = choice(rng, ["hinge", "squared_hinge", "logistic"])
    options = {"kernel": choice(rng, list(KERNELS)), "gamma": choice(rng, [0.1, 0.5, 1.0])}
    options |= {"alpha": float(10.0 ** rng.uniform(-3, 1)), "n_components": int(rng.integers(1, n + 3))}
    model = model_of(loss, tol=1e-7, **options).set_params(max_iter=1000).fit(X, y, qid=qid)
    exact = float(exact_objective(model, X, y, qid, loss))
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    basis = model.basis_[model.dual_coef_ != 0]  # rows that depend on others are left out
    K_XZ, K_ZZ = (KERNELS[model.kernel](A, basis, model.gamma) for A in (X, basis))
    other = independent.solve(features(K_XZ, K_ZZ), pairs, model.alpha, loss)
    assert abs(model.objective_ - exact) <= model.gap_ + 1e-8 * (1 + exact), f"{model.objective_} is {exact}"
    assert exact - other.objective <= model.gap_ + 1e-7 * (1 + exact), f"{other.objective} is better"
    return 2


def features(K_XZ, K_ZZ):
    """Features whose inner products are the kernel of (nearly) all functions of the basis."""
    eigenvalues, vectors = np.linalg.eigh(K_ZZ)
    kept = eigenvalues > 1e-13 * eigenvalues.max()
    return K_XZ @ vectors[:, kept] / np.sqrt(eigenvalues[kept])


def learned(rng):
    """The objective of a learned kernel is that of its function, and no function of its basis is better."""
    n = int(rng.integers(30, 60))
    X = rng.normal(size=(n, 3))
    y = np.round(X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n), 1)
    loss, kernel = choice(rng, ["hinge", "logistic"]), choice(rng, ["rbf", "laplacian", "exponential"])
    kind = RankLogistic if loss == "logistic" else RankSVM
    options = {"kernel": kernel, "gamma": choice(rng, ["learned", "learned-matrix"]), "random_state": 0}
    model = kind(1e-2, tol=1e-7, n_components=int(rng.integers(5, 20)), **options).fit(X, y)
    scaled = {"kernel": kernel, "gamma": model.gamma_, "scales": model.feature_scales_}
    kept = model.dual_coef_ != 0
    basis, coefficients = model.basis_[kept], model.dual_coef_[kept]
    K_XZ, K = (kernel_values(A, basis, **scaled) for A in (X, basis))
    scores = K_XZ @ coefficients
    np.testing.assert_allclose(model.predict(X), scores, atol=1e-8 * (1 + np.abs(scores).max()))
    pairs = reference.normalised(reference.ranking_pairs(y))
    exact = getattr(reference, loss)(pairs, scores)[0] + 1e-2 * coefficients @ K @ coefficients
    assert abs(model.objective_ - exact) <= model.gap_ + 1e-8 * (1 + exact), f"{model.objective_} is {exact}"
    if len(pairs) > 600:
        return 2
    other = independent.solve(features(K_XZ, K), pairs, 1e-2, loss)
    assert exact - other.objective <= model.gap_ + 1e-7 * (1 + exact), f"{other.objective} is better"
    return 3
