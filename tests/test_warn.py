"""Warnings point at the first line outside of the package."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rankwise import BradleyTerry, HullRanker, RankLogisticCV, RankRLS, RankSVM, RankSVMCV
from rankwise.datasets import make_ranking
from rankwise.model_selection import alpha_path

X, Y = make_ranking(60, 3, noise=0.5, random_state=0)


CAUSES = {
    "iterations": lambda: RankSVM(1e-6, max_iter=1).fit(X, Y),
    "conjugate gradients": lambda: RankRLS(1e-9, solver="cg", max_iter=1).fit(X, Y),
    "edge": lambda: RankSVMCV([1e6, 1e5], cv=2).fit(X, Y),
    "edge of probabilities": lambda: RankLogisticCV([1e6, 1e5], cv=2).fit(X, Y),
    "constant": lambda: HullRanker(slack="absolute", slack_per="row").fit(X, np.arange(60) % 3),
    "groups": lambda: BradleyTerry().fit(["a", "c"], ["b", "d"]),
    "path": lambda: alpha_path(RankSVM(max_iter=1), X, Y, (1e-1, 1e-3)),
    "text": lambda: HullRanker().fit(X, np.array(["b", "a"] * 30)),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_warnings_name_the_line_of_the_caller(cause):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CAUSES[cause]()
    assert caught
    assert {warning.filename for warning in caught} == {__file__}


@contextmanager
def passed_on():
    yield


def test_a_decorated_caller_is_found():
    with pytest.warns(ConvergenceWarning) as caught:
        passed_on()(CAUSES["iterations"])()
    assert caught[0].filename == __file__
