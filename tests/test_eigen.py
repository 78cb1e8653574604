"""Eigendecompositions are accurate and can be interrupted."""

import signal
import threading

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from rankwise import RankRLS, RankSVM
from rankwise.solvers import spectrum
from rankwise.solvers.spectrum import eigh, interruptible


def matrices(n):
    A = np.random.default_rng(n).normal(size=(n, n - 1))
    return np.asfortranarray(A @ A.T)


@pytest.mark.parametrize("n", [1, 2, 3, 60])
def test_a_matrix_is_the_product_of_its_factors(n):
    matrix = matrices(n)
    values, vectors = eigh(matrix)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(vectors * values @ vectors.T, matrix, rtol=0, atol=1e-12 * n)
    np.testing.assert_allclose(values, eigvalsh(matrix), rtol=0, atol=1e-12 * n)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-13 * n)


def test_models_are_the_same_with_and_without_a_thread(monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0] + X[:, 1] ** 2
    for model in (RankSVM(kernel="rbf"), RankRLS(kernel="rbf"), RankRLS(solver="primal")):
        monkeypatch.setattr(spectrum, "LARGE", 0)
        found = model.fit(X, y).predict(X)
        monkeypatch.setattr(spectrum, "LARGE", 10**9)
        np.testing.assert_array_equal(found, model.fit(X, y).predict(X))


def test_the_interpreter_lock_is_released():
    """Otherwise the main thread could not handle Ctrl-C during a decomposition."""
    matrix, done, waits = matrices(700), threading.Event(), 0
    threading.Thread(target=lambda: (np.linalg.eigh(matrix), done.set())).start()
    while not done.wait(0.002):
        waits += 1
    assert waits > 5


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of other threads are POSIX")
def test_an_interruption_ends_the_wait_while_the_call_runs_on():
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
