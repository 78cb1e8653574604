"""The sentences about the architecture, held true."""

import ast
from functools import partial

import numpy as np
import pytest

import shape
from rankwise import Preferences, RankLogisticCV, RankSVM
from rankwise.core.backends import Backend
from rankwise.data.design import as_design
from rankwise.datasets import make_ranking
from rankwise.losses import Hinge, HuberHinge, LeastSquares, Logistic, SquaredHinge
from rankwise.solvers import solve_bundle, solve_newton
from rankwise.solvers.conjugate_gradients import solve_conjugate_gradients
from rankwise.solvers.hull_certificate import HullStoppingRule, Penalty
from rankwise.solvers.hull_interior_point import solve_interior_point as solve_hull
from rankwise.solvers.hull_program import hull_program
from rankwise.solvers.interior_point import solve_interior_point
from rankwise.solvers.least_squares import solve_dual, solve_primal
from rankwise.solvers.sparse_newton import solve_sparse_newton
from rankwise.solvers.unpenalised import solve_unpenalised

# Packages, and modules beside them: data sets, and the public names of metrics, plotting and preprocessing.
PACKAGES, LOOSE_MODULES = 15, 4
LONGEST_FUNCTION, LONG_FUNCTIONS = 42, 1
METHODS = {"Ranking": 26, "BaseRanker": 14, "Preferences": 25}
PRIVATE_CROSSINGS = 8
DUPLICATES_PER_1000_LINES = 1.6
# Functions, files and the deepest chain of calls.
WALKS = {"RankSVM": (187, 30, 17), "RankLogisticCV": (298, 41, 30)}


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
    """A design with nothing but the members that it promises to a solver."""

    CONTRACT = ("shape", "precision", "matvec", "rmatvec", "centred", "preconditioner")

    def __init__(self, X, more=(), elsewhere=True):
        self._design, self._promised, self._elsewhere = as_design(X), {*self.CONTRACT, *more}, elsewhere

    def __getattr__(self, name):
        assert name in self._promised, f"a solver asks a design for {name}"
        return getattr(self._design, name)

    def centred(self):
        return self

    def matvec(self, w):
        scores = self._design.matvec(w)
        return Elsewhere(scores) if self._elsewhere else scores

    def __matmul__(self, weights):
        return self._design @ weights

    def rmatvec(self, c):
        return self._design.rmatvec(c._values if self._elsewhere else c)

    def preconditioner(self, loss, diagonal, shift):
        diagonal = diagonal._values if self._elsewhere else diagonal
        return self._design.preconditioner(loss, diagonal, shift)


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


def rows_and_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, X @ rng.normal(size=4) + rng.normal(size=60)


@pytest.mark.parametrize(
    ("solve", "loss"),
    [
        (solve_bundle, Hinge),
        (partial(solve_bundle, line_search=False), Hinge),
        (solve_newton, SquaredHinge),
        (solve_newton, Logistic),
        (solve_newton, HuberHinge),
    ],
)
def test_solvers_of_scores_anywhere_ask_for_the_contract_and_nothing_else(solve, loss):
    X, y = rows_and_labels()
    loss = loss(Preferences.from_scores(y))
    there = solve(ContractDesign(X), ContractLoss(loss), 1e-3, tol=1e-6)
    here = solve(as_design(X), loss, 1e-3, tol=1e-6)
    assert there.status == here.status == "converged"
    np.testing.assert_allclose(there.coef, here.coef, rtol=1e-6)


# What solvers ask of rows in memory beside the contract.
IN_MEMORY = {
    "interior point": (solve_interior_point, ("X", "location", "dense")),
    "unpenalised": (
        lambda design, loss, alpha, **o: solve_unpenalised(design, loss, **o),
        ("location", "matmat"),
    ),
    "sparse Newton": (partial(solve_sparse_newton, l1_ratio=0.5), ("columns",)),
    "conjugate gradients": (solve_conjugate_gradients, ()),
    "primal": (solve_primal, ("normal_equations",)),
    "dual": (solve_dual, ("X", "dense")),
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_solvers_of_rows_in_memory_ask_for_what_is_stated_and_nothing_else(name):
    solve, more = IN_MEMORY[name]
    X, y = rows_and_labels()
    if name == "interior point":
        loss = Hinge(Preferences.from_pairs(np.argsort(y)[30:], np.argsort(y)[:30], n_rows=60))
    elif name in ("unpenalised", "sparse Newton"):
        loss = Logistic(Preferences.from_scores(y))
    else:
        loss = LeastSquares(Preferences.from_scores(y), ties="keep")
    there = solve(ContractDesign(X, more, elsewhere=False), loss, 1e-2, tol=1e-6)
    here = solve(as_design(X), loss, 1e-2, tol=1e-6)
    assert there.status == here.status == "converged"
    np.testing.assert_allclose(there.coef, here.coef, rtol=1e-5)


@pytest.mark.parametrize("smoothed", [False, True])
def test_the_solver_of_hulls_asks_for_what_is_stated_and_nothing_else(smoothed):
    X, y = rows_and_labels()
    codes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    program = hull_program(codes, np.array([[1, 0], [2, 1]]))
    penalty, rule = Penalty(1e-2, np.eye(4) if smoothed else None), HullStoppingRule(1e-6, 1.0)
    there = ContractDesign(X, ("X", "weighted_squares"), elsewhere=False)
    for rows in (there, as_design(X)):
        assert solve_hull(rows, program, penalty, rule=rule)[1].status == "converged"


# Who may know what


def test_preferences_know_no_loss():
    words = ("loss", "hinge", "logistic", "margin")
    for path, tree in shape.modules().items():
        if path.startswith("preferences/"):
            names = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            assert not [name for name in names if any(word in name.lower() for word in words)], path


def test_only_preferences_and_losses_ask_what_kind_a_structure_is():
    kinds = {"Ranking", "OrderGraph", "PairList"}
    for path, tree in shape.modules().items():
        if path.startswith(("preferences/", "losses/")):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                assert not asked & kinds, f"{path}:{node.lineno}"


def test_no_private_name_of_numpy_scipy_or_scikit_learn_is_imported():
    for path, tree in shape.modules().items():
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name.name}" for name in node.names]
            for name in names:
                first, *rest = name.split(".")
                is_private = any(part.startswith("_") for part in rest)
                assert not (first in ("numpy", "scipy", "sklearn") and is_private), f"{path}: {name}"


def test_a_backend_has_six_methods_and_is_met_at_the_edges():
    defined = {name for name, value in vars(Backend).items() if callable(value) and name[0] != "_"}
    assert defined == {"holds", "design", "column", "preferences", "mapped", "by_query"}
    edges = {
        "core/checks.py", "data/frames.py", "estimators/inputs.py", "estimators/base.py",
        "estimators/auto_alpha.py", "evaluation/in_parts.py", "estimators/auto_ranker.py", "report/report.py",
        "cli/dask_files.py",
    }  # fmt: skip
    asking = {
        path
        for path, tree in shape.modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "rankwise.core.backends"
        if {"backend_of", "in_memory", "require_in_memory"} & {name.name for name in node.names}
    }
    assert {path for path in asking if not path.startswith("distributed/")} == edges


# Ceilings that only fall: a change that passes below one lowers it


def test_the_source_is_in_rooms():
    assert len(shape.loose_modules()) <= LOOSE_MODULES
    assert len(shape.packages()) <= PACKAGES


def test_functions_are_short():
    lengths = shape.function_lengths()
    longest = max(lengths, key=lengths.get)
    assert lengths[longest] <= LONGEST_FUNCTION, longest
    assert sum(length > 40 for length in lengths.values()) <= LONG_FUNCTIONS


def test_classes_are_small():
    largest = shape.methods()
    for name, ceiling in METHODS.items():
        assert largest[name] <= ceiling, name
    assert max(largest.values()) <= max(METHODS.values())


def test_private_names_stay_in_their_modules():
    assert len(shape.private_crossings()) <= PRIVATE_CROSSINGS


def test_little_is_written_twice():
    assert shape.duplicates() <= DUPLICATES_PER_1000_LINES


@pytest.mark.parametrize("name", ["RankSVM", "RankLogisticCV"])
def test_a_fit_takes_few_hops(name):
    X, y, qid = make_ranking(60, 4, n_queries=6, n_levels=4, noise=0.5, random_state=0)
    model = {"RankSVM": RankSVM(1e-3), "RankLogisticCV": RankLogisticCV(cv=3)}[name]
    model.fit(X, y, qid=qid)  # imports what is imported on first use
    walk = shape.walk(lambda: model.fit(X, y, qid=qid))
    assert np.less_equal(walk, WALKS[name]).all(), walk
