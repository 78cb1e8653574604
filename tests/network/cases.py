"""Links that fail while a model is fitted: the same answer or a sentence, within a stated time.

`make test-network` runs them: they take minutes, and need root to make network namespaces.
"""

import socket
import threading
import time

import dask
import numpy as np
import pytest
from distributed import Client
from links import Links, is_possible

from rankwise import Checkpoint, RankSVM
from rankwise.distributed import PartitionLostError, WorkersSilentError

pytestmark = pytest.mark.skipif(not is_possible(), reason="Network namespaces need root and the command ip.")
N_PARTS, N_ROWS, N_FEATURES = 4, 2000, 8
# A worker that was cut off for good is given up after this time.
WORKER_TTL = 15


def rows_of(part):
    """Make the rows of a partition, which a worker can make again."""
    return np.random.default_rng(part).standard_normal((N_ROWS, N_FEATURES))


def labels():
    generator = np.random.default_rng(99)
    weights = generator.standard_normal(N_FEATURES)
    X = np.concatenate([rows_of(part) for part in range(N_PARTS)])
    return X, X @ weights + generator.standard_normal(len(X))


X, Y = labels()


def model(callback=None):
    return RankSVM(1e-3, tol=1e-4, solver="bmrm", max_iter=5000, callback=callback)


class At:
    """A callback that does something once, at an iteration."""

    def __init__(self, iteration, action):
        self.iteration, self.action = iteration, action

    def __call__(self, state):
        if state.iteration == self.iteration:
            self.action()


@pytest.fixture(scope="module")
def expected():
    return model().fit(X, Y)


def fitted(links, callback, **options):
    """Fit on the workers."""
    with Client(links.address, timeout="60s", **options) as client:
        client.wait_for_workers(links.n_workers, timeout=60)
        parts = [dask.delayed(rows_of, pure=False)(part) for part in range(N_PARTS)]
        return model(callback).fit(parts, Y)


def assert_both_optimal(found, expected):
    assert found.objective_ - found.gap_ <= expected.objective_ + 1e-12
    assert found.objective_ <= expected.objective_ + found.gap_


def assert_same(found, expected):
    assert_both_optimal(found, expected)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0.02, atol=1e-3)


def test_a_link_that_is_cut_for_ten_seconds_costs_time_only(expected):
    with Links() as links:

        def cut():
            links.cut(0)
            threading.Timer(10, links.mend, [0]).start()

        start = time.monotonic()
        assert_same(fitted(links, At(3, cut)), expected)
        assert time.monotonic() - start < 120


def test_a_worker_that_is_cut_off_for_good_is_replaced_by_the_others(expected):
    with Links(worker_ttl=f"{WORKER_TTL}s") as links:
        start = time.monotonic()
        assert_same(fitted(links, At(3, lambda: links.cut(1))), expected)
        assert time.monotonic() - start < 150


def test_all_links_cut_for_good_end_in_a_sentence_with_the_best_weights():
    with Links() as links, dask.config.set({"rankwise.worker-timeout": 10}):
        start = time.monotonic()
        with pytest.raises((WorkersSilentError, PartitionLostError)) as ended:
            fitted(links, At(3, lambda: [links.cut(number) for number in range(2)]))
        assert time.monotonic() - start < 120
        assert ended.value.coef.shape == (N_FEATURES,)


def test_a_link_with_a_delay_of_a_tenth_of_a_second_is_slow_and_exact(expected):
    with Links(delay=0.1) as links:
        start = time.monotonic()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("10.77.0.10", 9), timeout=30)
        assert time.monotonic() - start > 0.2
        assert_same(fitted(links, None), expected)


def test_a_restarted_scheduler_ends_in_a_sentence_and_the_fit_resumes_on_the_new_cluster(expected, tmp_path):
    class Saved(Checkpoint):
        """A checkpoint of a fit whose scheduler is restarted once."""

        action = None

        def __call__(self, state):
            super().__call__(state)
            if self.action is not None and state.iteration == 20:
                self.action()

    saved = Saved(tmp_path / "fit", every=5)
    with Links() as links, dask.config.set({"rankwise.worker-timeout": 15}):
        saved.action = links.restart_scheduler
        start = time.monotonic()
        with pytest.raises((WorkersSilentError, PartitionLostError)) as ended:
            fitted(links, saved)
        assert time.monotonic() - start < 120
        assert ended.value.coef.shape == (N_FEATURES,)
    saved.action = None
    with Links() as links:
        resumed = fitted(links, saved)
    assert_both_optimal(resumed, expected)  # another start leads to other weights within the gap
    assert resumed.history_["objective"][0] < expected.history_["objective"][10]
    assert saved.iteration > 20


def test_a_worker_without_enough_memory_ends_in_a_sentence():
    def too_large(part):
        return np.ones((4_000_000, N_FEATURES)) * part  # 256 MB

    with Links(memory_limit="300MB") as links, Client(links.address, timeout="60s") as client:
        client.wait_for_workers(2, timeout=60)
        start = time.monotonic()
        parts = [dask.delayed(too_large, pure=False)(part) for part in range(N_PARTS)]
        with pytest.raises(PartitionLostError, match="probably for lack of memory"):
            RankSVM().fit(parts, np.arange(16_000_000))
        assert time.monotonic() - start < 180


def test_a_worker_that_joins_is_used(expected):
    with Links() as links:
        assert_same(fitted(links, At(3, links.add_worker)), expected)
