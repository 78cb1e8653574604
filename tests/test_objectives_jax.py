"""The losses as functions for JAX, against the textbook formulas."""

import numpy as np
import pytest

import reference
from rankwise import Preferences, objectives

jax = pytest.importorskip("jax", reason="needs JAX: pip install jax")

SCORES = np.array([0.31, -1.24, 0.05, 2.17, -0.48, 0.93], np.float32)
LABELS = [2.5, 1.0, 1.0, 7.0, 0.0, 2.5]
QUERIES = [1, 0, 1, 0, 0, 1]
FORMULAS = {
    "hinge": (reference.hinge, lambda pairs, s: np.zeros((6, 6))),
    "squared_hinge": (reference.squared_hinge, reference.squared_hinge_hessian),
    "logistic": (reference.logistic, reference.logistic_hessian),
    "least_squares": (
        lambda pairs, s: reference.least_squares(pairs, s, "magnitude"),
        lambda pairs, s: 2 * reference.laplacian(pairs, len(s)),
    ),
}


@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("name", FORMULAS)
def test_value_gradient_and_hessian_are_those_of_the_textbook(name, average):
    loss = objectives.jax(Preferences.from_scores(LABELS, QUERIES), loss=name, average=average)
    pairs = reference.normalised(reference.ranking_pairs(LABELS, QUERIES), average)
    formula, second = FORMULAS[name]
    expected, slope = formula(pairs, SCORES.astype(float))
    value, gradient = jax.jit(jax.value_and_grad(loss))(SCORES)
    assert value.dtype == gradient.dtype == np.float32
    assert value == pytest.approx(expected, rel=1e-6)
    assert np.asarray(gradient) == pytest.approx(slope, abs=1e-6)
    hessian = jax.jit(jax.jacrev(jax.grad(loss)))(SCORES)
    assert np.asarray(hessian) == pytest.approx(second(pairs, SCORES.astype(float)), abs=1e-6)


def test_scores_of_another_shape_are_named():
    loss = objectives.jax(Preferences.from_scores(LABELS))
    with pytest.raises(ValueError, match=r"scores must have the shape \(6,\); got \(5,\)"):
        loss(SCORES[1:])
