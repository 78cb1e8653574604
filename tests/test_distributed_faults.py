"""Workers that fail, stop or join: the solution is the same, and the log records the lost time."""

import logging
import os
import pickle
import signal
import time

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RankRLS, RankSVM, RankSVMCV
from rankwise.datasets import dump_svmlight
from rankwise.distributed import (
    PartitionLostError,
    RoundLog,
    WorkersSilentError,
    engine,
    fit_pipeline,
    from_files,
    scatter,
    whole_queries,
)
from rankwise.distributed import client as client_engine

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")
get_mp_context = pytest.importorskip("distributed.utils").get_mp_context

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals of Unix")
generator = np.random.default_rng(5)
X = generator.standard_normal((600, 6))
Y = X @ generator.standard_normal(6) + generator.standard_normal(600)
QID = np.arange(600) // 30


@pytest.fixture(scope="module", autouse=True)
def forks():
    """Workers are forks of a process that has imported what they need, and start at once."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        context = get_mp_context()
        context.set_forkserver_preload(["distributed", "rankwise.distributed", "sklearn.pipeline"])
        yield


# One for each test: under load a nanny may give up on a worker that was killed in the test before.
@pytest.fixture
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "processes": True}
    with distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as started:
        yield started


@pytest.fixture
def client(cluster, monkeypatch):
    monkeypatch.setattr(client_engine, "CHECK_SECONDS", 0.0)
    with distributed.Client(cluster) as connected:
        connected.wait_for_workers(2)
        yield connected


class At:
    """A callback that does something once, at an iteration."""

    def __init__(self, iteration, action):
        self.iteration = iteration
        self.action = action

    def __call__(self, state):
        if state.iteration == self.iteration:
            self.action()


def holder(client):
    """The nanny of the worker that holds the most rows; a nanny is an object of this process."""
    held = client.has_what()
    return max(client.cluster.workers.values(), key=lambda nanny: len(held.get(nanny.worker_address, ())))


def kill(client):
    """Kill a worker that holds rows, and return when the scheduler knows."""

    def act():
        nanny = holder(client)
        address = nanny.worker_address
        os.kill(nanny.pid, signal.SIGKILL)
        while address in client.nthreads():
            time.sleep(0.01)

    return act


def hinge(**options):
    return RankSVM(1e-3, tol=1e-4, **options)


@pytest.mark.parametrize("counting", ["driver", "workers"])
def test_rows_of_a_killed_worker_are_loaded_again(client, monkeypatch, counting):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0 if counting == "workers" else 10**9)
    data = da.from_array(X, chunks=(150, -1))
    model = hinge(callback=At(3, kill(client))).fit(data, Y, qid=QID)
    here = hinge().fit(X, Y, qid=QID)
    assert model.n_iter_ > 3
    assert model.objective_ == pytest.approx(here.objective_, abs=1e-9)
    assert any("lost" in event for event in model.rounds_.events)


@pytest.mark.parametrize("counting", ["driver", "workers"])
def test_rows_that_the_driver_keeps_are_sent_again(client, monkeypatch, counting):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0 if counting == "workers" else 10**9)
    options = {"loss": "squared_hinge", "tol": 1e-10}
    model = RankSVM(1e-3, callback=At(3, kill(client)), **options)
    model.fit(scatter(X, n_partitions=4), Y, qid=QID)
    here = RankSVM(1e-3, **options).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-8)
    assert any("lost" in event for event in model.rounds_.events)


def test_labels_of_a_killed_worker_are_ranked_again(client, monkeypatch):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))  # labels stay on the workers
    rows, *columns = (da.from_array(one, chunks=(150, *one.shape[1:])) for one in (X, Y, QID))
    model = RankRLS(1e-3, solver="cg", tol=1e-10, callback=At(2, kill(client)))
    model.fit(rows, columns[0], qid=columns[1])
    np.testing.assert_allclose(model.coef_, RankRLS(1e-3).fit(X, Y, qid=QID).coef_, atol=1e-8)
    assert model.rounds_.mode == "whole queries"
    assert any("lost" in event for event in model.rounds_.events)


def test_folds_of_a_killed_worker_are_made_again(client, monkeypatch):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))
    rows, *columns = (da.from_array(one, chunks=(150, *one.shape[1:])) for one in (X, Y, QID))
    lost = []

    def act(state):
        if not lost:
            kill(client)()
            lost.append(state.iteration)

    options = {"alphas": [0.1], "cv": 2, "loss": "squared_hinge", "tol": 1e-6}
    model = RankSVMCV(**options, callback=act).fit(rows, columns[0], qid=columns[1])
    here = RankSVMCV(**options).fit(X, Y, qid=QID)
    assert lost
    assert model.rounds_.mode == "whole queries"
    np.testing.assert_allclose(model.cv_errors_, here.cv_errors_, atol=1e-6)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-4)


def test_labels_of_files_are_read_again(client, monkeypatch, tmp_path):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))
    for k in range(4):
        rows = slice(150 * k, 150 * (k + 1))
        dump_svmlight(X[rows], Y[rows], tmp_path / f"{k}.txt", qid=QID[rows])
    data = from_files(tmp_path / "*.txt")
    kill(client)()
    model = RankSVM(1e-3, loss="squared_hinge", tol=1e-10, callback=At(3, kill(client)))
    model.fit(data.X, data.y, qid=data.qid)
    here = RankSVM(1e-3, loss="squared_hinge", tol=1e-10).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-8)
    np.testing.assert_allclose(data.y, Y)
    assert model.rounds_.mode == "whole queries"


def test_transformed_rows_are_made_again(client):
    options = {"loss": "squared_hinge", "tol": 1e-10}
    here = make_pipeline(StandardScaler(), RankSVM(1e-3, **options))
    here[-1].fit(here[:-1].fit_transform(X), Y, qid=QID)
    model = RankSVM(1e-3, **options, callback=At(2, kill(client)))
    there = fit_pipeline(make_pipeline(StandardScaler(), model), scatter(X, n_partitions=4), Y, qid=QID)
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-5)
    assert any("lost" in event for event in model.rounds_.events)


def test_rows_that_are_gone_end_the_fit_and_keep_the_best_weights(client):
    model = hinge(callback=At(4, kill(client)), warm_start=True)
    with pytest.raises(PartitionLostError, match=r"cannot be read again") as caught:
        model.fit(scatter(X, n_partitions=4, keep=False), Y)
    kept = caught.value.coef
    np.testing.assert_array_equal(kept, model.coef_)
    assert model.score(X, Y) > 0.5
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(caught.value)).coef, kept)
    model.set_params(callback=None).fit(X, Y)
    assert model.n_iter_ < hinge().fit(X, Y).n_iter_
    assert model.objective_ == pytest.approx(hinge().fit(X, Y).objective_, abs=1e-4)


def test_files_that_are_gone_end_the_fit_and_keep_the_best_weights(client, tmp_path):
    for k in range(4):
        np.save(tmp_path / f"{k}.npy", X[150 * k : 150 * (k + 1)])

    def lose():
        for k in range(4):
            (tmp_path / f"{k}.npy").unlink()
        kill(client)()

    model = hinge(callback=At(3, lose))
    with pytest.raises(PartitionLostError, match=r"cannot be read again: FileNotFoundError") as caught:
        model.fit([dask.delayed(np.load)(tmp_path / f"{k}.npy") for k in range(4)], Y)
    assert len(caught.value.partitions) > 0
    np.testing.assert_array_equal(caught.value.coef, model.coef_)


def test_threads_keep_the_best_weights_too(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = hinge(callback=At(3, (tmp_path / "rows.npy").unlink))
    with pytest.raises(
        PartitionLostError, match=r"Some partitions of X cannot be read again: File"
    ) as caught:
        model.fit([dask.delayed(np.load)(tmp_path / "rows.npy")], Y)
    np.testing.assert_array_equal(caught.value.coef, model.coef_)


class Clock:
    """A clock that advances only on request."""

    seconds = 0.0

    def __call__(self):
        return self.seconds


def test_a_worker_that_stops_for_a_while_costs_time_only(client, monkeypatch):
    clock, stopped = Clock(), []
    gather = client_engine.ClientEngine._gather

    def stop():
        stopped.append(holder(client).pid)
        os.kill(stopped[0], signal.SIGSTOP)

    def gather_and_wake(self, handles):
        if stopped:
            clock.seconds += 1.5
            os.kill(stopped.pop(), signal.SIGCONT)
        return gather(self, handles)

    monkeypatch.setattr(engine, "perf_counter", clock)
    monkeypatch.setattr(client_engine.ClientEngine, "_gather", gather_and_wake)
    data = da.from_array(X, chunks=(60, -1)).persist()
    distributed.wait(data)
    model = RankRLS(1e-3, solver="cg", tol=1e-10, callback=At(4, stop)).fit(data, Y)
    np.testing.assert_allclose(model.coef_, RankRLS(1e-3).fit(X, Y).coef_, atol=1e-8)
    assert (model.rounds_.lost_seconds, model.rounds_.retried) == (1.5, 0)
    assert any(" took 1.50 s instead of 0.00 s" in event for event in model.rounds_.events)


def test_workers_that_are_silent_for_good_end_the_fit_and_keep_the_best_weights(client):
    pids = [nanny.pid for nanny in client.cluster.workers.values()]

    def stop():
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        dask.config.set({"rankwise.worker-timeout": 2.0})

    model = RankSVM(1e-3, tol=1e-9, callback=At(2, stop))
    with dask.config.set({"rankwise.worker-timeout": 60.0}):  # until they are stopped
        try:
            with pytest.raises(WorkersSilentError, match="No worker has sent a heartbeat for 2 s") as caught:
                model.fit(da.from_array(X, chunks=(300, 6)), Y, qid=QID)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
    np.testing.assert_array_equal(model.coef_, caught.value.coef)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_a_worker_that_comes_is_welcome(client, cluster):
    def add():
        before = len(client.nthreads())
        cluster.scale(len(cluster.workers) + 1)
        client.wait_for_workers(before + 1)

    model = RankRLS(1e-3, solver="cg", tol=1e-10, callback=At(2, add)).fit(
        da.from_array(X, chunks=(60, -1)), Y
    )
    np.testing.assert_allclose(model.coef_, RankRLS(1e-3).fit(X, Y).coef_, atol=1e-8)
    assert any("added" in event for event in model.rounds_.events)


def test_an_error_in_a_task_is_not_retried(client):
    def broken(block):
        raise KeyError("no such row")

    data = da.from_array(X, chunks=(150, -1)).map_blocks(broken, meta=X[:0])
    with pytest.raises(KeyError, match="no such row"):
        RankSVM().fit(data, Y)


def test_slow_rounds_are_logged(caplog):
    log = RoundLog()
    for seconds in (0.1, 0.1, 0.2, 0.1):
        log.answered(seconds)
    log.answered(2.1, "; 1 worker lost")
    log.failed(0.5, "CancelledError")
    assert (log.rounds, log.retried) == (5, 1)
    assert log.seconds == pytest.approx(3.1)
    assert log.lost_seconds == pytest.approx(2.5)
    assert log.events[0] == "Round 5 took 2.10 s instead of 0.10 s; 1 worker lost."
    assert log.events[1] == "Round 6 is repeated after 0.50 s: CancelledError."
    assert [record.getMessage() for record in caplog.records] == log.events
