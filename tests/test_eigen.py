"""Eigendecompositions hear Ctrl-C, and are those of scipy to the last bit."""

import signal
import threading

import numpy as np
import pytest
from scipy.linalg import eigh as scipy_eigh

from rankwise import RankRLS, RankSVM
from rankwise.core import eigen
from rankwise.core.eigen import eigh, interruptible


@pytest.fixture
def always(monkeypatch):
    """Have matrices of any size decomposed by address."""
    if any(eigen._address(name) is None for name in ("dsyevr", "dsyevd")):
        pytest.skip("scipy's LAPACK has another kind of integers")
    monkeypatch.setattr(eigen, "LARGE", 0)


@pytest.mark.parametrize("driver", [None, "evd"])
@pytest.mark.parametrize("n", [2, 3, 60])
def test_the_numbers_are_those_of_scipy(always, monkeypatch, driver, n):
    A = np.random.default_rng(n).normal(size=(n, n - 1))
    matrix = np.asfortranarray(A @ A.T)
    expected = scipy_eigh(matrix.copy(order="F"), check_finite=False, driver=driver)
    monkeypatch.setattr(eigen, "scipy_eigh", None)
    for found, wanted in zip(eigh(matrix, driver), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_models_are_the_same(always, monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0] + X[:, 1] ** 2
    for model in (RankSVM(kernel="rbf"), RankRLS(kernel="rbf"), RankRLS(solver="primal")):
        found = model.fit(X, y).predict(X)
        monkeypatch.setattr(eigen, "LARGE", 10**9)
        np.testing.assert_array_equal(found, model.fit(X, y).predict(X))
        monkeypatch.setattr(eigen, "LARGE", 0)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of other threads are POSIX")
def test_an_interruption_is_heard_while_the_call_goes_on():
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def call():
        begun.set()
        may_end.wait()
        ended.set()

    def interrupt():
        begun.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(call)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not ended.is_set()
    may_end.set()
    ended.wait()


def test_results_and_errors_come_back():
    assert interruptible(lambda: 7) == 7

    def fail():
        raise ValueError("no such number")

    with pytest.raises(ValueError, match="no such number"):
        interruptible(fail)
