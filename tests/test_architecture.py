"""The sentences about the architecture, held true."""

import numpy as np
import pytest

from rankwise import Preferences
from rankwise.data.design import as_design
from rankwise.losses import Hinge, Logistic, SquaredHinge
from rankwise.solvers import solve_bundle, solve_newton


class Elsewhere:
    """Scores or coefficients with nothing but `ScoreVector`: sums, multiples and `@`."""

    __array_ufunc__ = None

    def __init__(self, values):
        self._values = values

    def __add__(self, other):
        return Elsewhere(self._values + other._values)

    def __sub__(self, other):
        return Elsewhere(self._values - other._values)

    def __mul__(self, number):
        return Elsewhere(number * self._values)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return float(self._values @ other._values)


class ContractDesign:
    """A design with nothing but the members that `Design` promises to solvers."""

    CONTRACT = ("shape", "precision", "matvec", "rmatvec", "centred", "preconditioner")

    def __init__(self, X):
        self._design, self.used = as_design(X), set()

    def __getattr__(self, name):
        assert name in self.CONTRACT, f"a solver asks a design for {name}"
        self.used.add(name)
        return getattr(self._design, name)

    def centred(self):
        return self

    def matvec(self, w):
        return Elsewhere(self._design.matvec(w))

    def rmatvec(self, c):
        return self._design.rmatvec(c._values)

    def preconditioner(self, loss, diagonal, shift):
        return self._design.preconditioner(loss, diagonal._values, shift)


class ContractLoss:
    """A loss of scores that are elsewhere."""

    def __init__(self, loss):
        self._loss, self.at_zero, self.bounds = loss, loss.at_zero, loss.bounds

    def plane(self, scores):
        value, coefficients, offset = self._loss.plane(scores._values)
        return value, Elsewhere(coefficients), offset

    def value_and_coefficients(self, scores):
        value, coefficients = self._loss.value_and_coefficients(scores._values)
        return value, Elsewhere(coefficients)

    def hessian(self, scores):
        hessian = self._loss.hessian(scores._values)

        class There:
            diagonal = Elsewhere(hessian.diagonal)

            def product(self, direction):
                return Elsewhere(hessian.product(direction._values))

        return There()


@pytest.mark.parametrize(
    ("solve", "loss"), [(solve_bundle, Hinge), (solve_newton, SquaredHinge), (solve_newton, Logistic)]
)
def test_a_solver_asks_a_design_and_a_loss_for_their_contract_and_nothing_else(solve, loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    loss = loss(Preferences.from_scores(X @ rng.normal(size=4) + rng.normal(size=60)))
    there = solve(ContractDesign(X), ContractLoss(loss), 1e-3, tol=1e-6)
    here = solve(as_design(X), loss, 1e-3, tol=1e-6)
    assert there.status == here.status == "converged"
    np.testing.assert_allclose(there.coef, here.coef, rtol=1e-6)
