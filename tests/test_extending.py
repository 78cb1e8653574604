"""What `docs/developers.md` promises: a loss is one file and one line, and everything else finds it."""

import json

import numpy as np
import pytest

from rankwise import Preferences, RankSVM, RankSVMCV, losses
from rankwise.cli.main import main
from rankwise.losses import LOSSES, Hinge, LeastSquares, SquaredHinge
from rankwise.losses.base import PairwiseLoss, PiecewiseLinear, ScoreHessian, Smooth
from rankwise.report import Report
from rankwise.solvers import SOLVERS, chosen_solver, solve_bundle, solve_newton, solvers_of

generator = np.random.default_rng(3)
X = generator.normal(size=(60, 4))
y = X @ [2.0, -1.0, 0.0, 0.5] + generator.normal(size=60)
qid = np.repeat(np.arange(6), 10)


# The file. A margin of 2 in place of 1: the hinge of half the scores, times 2.
class WideHinge(PiecewiseLinear):
    """Mean over pairs of max(0, 2 - (s_better - s_worse))."""

    formula = "mean over pairs of max(0, 2 - (f(better) - f(worse)))"
    lipschitz = 1.0

    def __init__(self, preferences, **options):
        super().__init__(preferences, **options)
        self._hinge = Hinge(preferences, **options)

    def plane(self, scores):
        value, coefficients, offset = self._hinge.plane(np.asarray(scores) / 2)
        return 2 * value, coefficients, 2 * offset


class SumOfSquares(Smooth):
    """Mean over pairs of (1 - (s_better - s_worse))^2, whose minimum RankRLS knows."""

    formula = "mean over pairs of (1 - f(better) + f(worse))²"
    curvature = 2.0

    def value_and_coefficients(self, scores):
        return self._squares.value_and_coefficients(scores)

    def hessian(self, scores) -> ScoreHessian:
        return self._squares.hessian(scores)

    def __init__(self, preferences, **options):
        super().__init__(preferences, **options)
        self._squares = LeastSquares(preferences, cost="unit", **options)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    # The line.
    monkeypatch.setitem(LOSSES, "wide_hinge", WideHinge)
    monkeypatch.setitem(LOSSES, "squares", SumOfSquares)


def test_a_new_loss_is_trained_by_the_solvers_that_fit_it():
    assert (solvers_of("wide_hinge"), solvers_of("squares")) == (
        ["bundle", "bmrm", "tree-rsvm", "pair-rsvm"],
        ["newton"],
    )
    # max(0, 2 - d) + alpha ||w||^2 is 2 (max(0, 1 - d/2) + 2 alpha ||w/2||^2).
    wide = RankSVM(1e-2, loss="wide_hinge", tol=1e-8).fit(X, y, qid=qid)
    hinge = RankSVM(2e-2, tol=1e-8).fit(X, y, qid=qid)
    assert wide.objective_ == pytest.approx(2 * hinge.objective_, abs=1e-7)
    np.testing.assert_allclose(wide.coef_, 2 * hinge.coef_, atol=1e-2)


def test_a_new_smooth_loss_reaches_the_known_optimum():
    from rankwise import RankRLS

    ours = RankSVM(1e-2, loss="squares", tol=1e-10).fit(X, y, qid=qid)
    exact = RankRLS(1e-2, cost="unit", ties="drop").fit(X, y, qid=qid)
    assert ours.objective_ == pytest.approx(exact.objective_, abs=1e-9)
    np.testing.assert_allclose(ours.coef_, exact.coef_, atol=1e-4)


def test_a_new_loss_is_tuned():
    model = RankSVMCV([1.0, 1e-1, 1e-2, 1e-3], loss="wide_hinge", cv=3).fit(X, y, qid=qid)
    assert model.cv_errors_.shape == (4, 3)
    assert model.score(X, y, qid=qid) > 0.75


def test_the_shell_trains_it(tmp_path, capsys):
    path, out = tmp_path / "train.csv", tmp_path / "model.json"
    columns = ",".join(f"f{j}" for j in range(4))
    table = np.column_stack([y, qid, X])
    np.savetxt(path, table, delimiter=",", header=f"y,q,{columns}", comments="", fmt="%.17g")
    command = ["train", str(path), "--label", "y", "--qid", "q", "--loss", "wide-hinge", "-o", str(out)]
    assert main([*command, "--alpha", "0.01", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    expected = RankSVM(1e-2, loss="wide_hinge").fit(X, y, qid=qid)
    assert values["objective"] == pytest.approx(expected.objective_, rel=1e-9)


def test_the_report_writes_its_formula():
    model = RankSVM(1e-2, loss="wide_hinge").fit(X, y, qid=qid)
    page = Report(model, X, y, qid=qid).to_html()
    assert "max(0, 2 − (f(better) − f(worse))) + α‖f‖²" in page  # noqa: RUF001


def test_a_loss_that_is_neither_is_refused(monkeypatch):
    class Plain(PairwiseLoss):
        def value_and_coefficients(self, scores):
            return 0.0, np.zeros(len(scores))

    monkeypatch.setitem(LOSSES, "plain", Plain)
    with pytest.raises(ValueError, match="loss='plain' has no solver"):
        RankSVM(loss="plain").fit(X, y)


def test_solvers_refuse_what_they_cannot_solve():
    from rankwise.data.design import as_design

    preferences = Preferences.from_scores(y)
    with pytest.raises(TypeError, match=r"bundle method needs a loss with the method plane.*SquaredHinge"):
        solve_bundle(as_design(X), SquaredHinge(preferences), 1.0)
    with pytest.raises(TypeError, match=r"Newton's method needs a loss with the method hessian.*Hinge"):
        solve_newton(as_design(X), Hinge(preferences), 1.0)
    with pytest.raises(ValueError, match="solver='newton' does not solve loss='hinge'; use 'bundle' or"):
        chosen_solver("hinge", "newton")


def test_every_registered_loss_declares_its_kind():
    preferences = Preferences.from_scores(y, qid)
    for name, kind in LOSSES.items():
        loss = kind(preferences)
        assert loss.formula.startswith("mean over pairs of" if loss.is_of_pairs else "mean over choices of")
        assert loss.at_zero == pytest.approx(loss.value(np.zeros(len(y))), rel=1e-12)
        assert chosen_solver(name, "auto") in SOLVERS
    assert set(losses.__all__) >= {kind.__name__ for kind in (Hinge, SquaredHinge)}
