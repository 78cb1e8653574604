"""Rows on Dask: time and bytes per round, a fit compared with one in memory, and a model of large clusters.

    python benchmarks/dask_scaling.py             # up to 2 million rows: some minutes, 4 GB
    python benchmarks/dask_scaling.py --rows 500000
    python benchmarks/dask_scaling.py --quick     # up to 100,000 rows
    python benchmarks/dask_scaling.py --spill     # rows three times larger than the memory of the worker
    python benchmarks/dask_scaling.py --rounds --write   # rounds alone; their bytes do not depend on the load
    python benchmarks/dask_scaling.py --tuning --write   # 8 alphas and 5 folds: passes and bytes of a search
    python benchmarks/dask_scaling.py --scaling --write  # one worker and two: strong and weak scaling
    python benchmarks/dask_scaling.py --driver 100000000 --write   # the driver's memory: 16 GB on the workers
    python benchmarks/dask_scaling.py --driver 2000000 --of rls    # the same for RankRLS; see DRIVEN
    python benchmarks/dask_scaling.py --draw      # write the tables of the page from the figures kept

The scheduler and two workers are separate processes. Bytes are those sent and received by the driver,
including all messages of Dask, counted at the sockets. With --write the figures go to
benchmarks/results/dask_scaling.json, and --draw puts them into docs/benchmarks.md.
"""

import argparse
import json
import logging
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster, wait
from distributed.comm import tcp
from distributed.protocol import dumps

from rankwise import (
    Preferences,
    RankLogistic,
    RankLogisticCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
)
from rankwise.distributed import DaskDesign, from_files, whole_queries
from rankwise.distributed.client import ClientEngine
from rankwise.losses import Hinge
from rankwise.model_selection.search import EdgeOfGridWarning

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "dask_scaling.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
NETWORK = 1.25e9  # bytes a second: 10 Gb/s
CORES = 8  # of a worker of the model
EVALUATIONS = 6  # of the loss on a line, for each iteration
QUERY_ROWS = 100


class Wire:
    """Counts the bytes that pass between this process and others."""

    def __init__(self):
        self.sent = self.received = 0
        write, read = tcp.TCP.write, tcp.read_bytes_rw

        async def counted_write(comm, *args, **options):
            size = await write(comm, *args, **options)
            self.sent += size
            return size

        async def counted_read(stream, n):
            self.received += n
            return await read(stream, n)

        tcp.TCP.write, tcp.read_bytes_rw = counted_write, counted_read

    @property
    def total(self):
        return self.sent + self.received


@contextmanager
def workers(n_workers=2, memory_limit="0"):
    """Start a scheduler and workers in processes of their own, and connect to them."""
    command = [sys.executable, __file__, "--serve", str(n_workers), memory_limit]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        with Client(server.stdout.readline().strip()) as client:
            yield client
    finally:
        server.stdin.close()
        server.wait(30)
        server.stdout.close()


def serve(n_workers, memory_limit):
    with tempfile.TemporaryDirectory() as folder, dask.config.set({"temporary_directory": folder}):
        limit = memory_limit if memory_limit != "0" else 0
        options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        with LocalCluster(memory_limit=limit, silence_logs=logging.CRITICAL, **options) as cluster:
            print(cluster.scheduler_address, flush=True)
            sys.stdin.read()


def make_block(seed, n_rows, n_features):
    return np.random.default_rng(seed).standard_normal((n_rows, n_features))


def make_rows(m, n, n_partitions):
    """Return rows with a recipe, and labels; partitions end at the borders of queries."""
    n_rows = m // n_partitions // QUERY_ROWS * QUERY_ROWS
    blocks = [
        da.from_delayed(delayed(make_block)(seed, n_rows, n), (n_rows, n), np.float64)
        for seed in range(n_partitions)
    ]
    first = np.concatenate([make_block(seed, n_rows, n)[:, 0] for seed in range(n_partitions)])
    y = np.round(3 * (first + np.random.default_rng(0).standard_normal(len(first))))
    return da.concatenate(blocks), y


def kinds_table(n_partitions=32, n=50, repeats=10):
    """Print what kinds of messages a round with whole queries is made of."""
    kinds, write, read = Counter(), tcp.TCP.write, tcp.TCP.read

    def count(way, message):
        for part in message if isinstance(message, list | tuple) else [message]:
            kind = part.get("op", "reply") if isinstance(part, dict) else "reply"
            kinds[f"{way} {kind}"] += sum(map(len, dumps(part)))

    async def counted_write(comm, message, *args, **options):
        count("sent", message)
        return await write(comm, message, *args, **options)

    async def counted_read(comm, *args, **options):
        message = await read(comm, *args, **options)
        count("received", message)
        return message

    tcp.TCP.write, tcp.TCP.read = counted_write, counted_read
    one_round, _, _ = rounds_of(200_000, n, n_partitions, whole=True)
    for _ in range(3):
        one_round()
    kinds.clear()
    for _ in range(repeats):
        one_round()
    total = sum(kinds.values())
    print(f"\n{n_partitions} partitions, {n} features: {total / repeats:,.0f} bytes a round in messages")
    for kind, size in kinds.most_common(6):
        print(f"{kind:<32}{size / repeats:>10,.0f}{size / total:>8.0%}")


def rounds_of(m, n, n_partitions, whole):
    """Return a round (scores, the loss, and X' c) as a function, the log of the rounds, and the rows."""
    X, y = make_rows(m, n, n_partitions)
    whole_queries.ROUND_BYTES = -(10**9) if whole else 10**12
    loss = Hinge(Preferences.from_scores(y, np.arange(len(y)) // QUERY_ROWS if whole else None))
    design, loss = DaskDesign.of(X).placed_for(loss, 1e-3)
    w = np.random.default_rng(0).standard_normal(n) / np.sqrt(n)

    def one_round():
        _, coefficients, _ = loss.plane(design.matvec(w))
        return design.rmatvec(coefficients)

    return one_round, design.engine.log, len(y)


def round_costs(wire, m, n, n_partitions, whole, repeats):
    """Return the mode that ran, the rows, and seconds and bytes of a round: scores, the loss, and X' c."""
    one_round, log, n_rows = rounds_of(m, n, n_partitions, whole)
    for _ in range(3):
        one_round()
    start, before = perf_counter(), wire.total
    for _ in range(repeats):
        one_round()
    seconds, moved = (perf_counter() - start) / repeats, (wire.total - before) / repeats
    return log.mode, n_rows, seconds, moved


def round_table(wire, sizes, widths, partitions, repeats):
    print(
        "\nA round is X w, the loss and X' c; bytes in and out of the driver, Dask's own messages included."
    )
    print(
        f"{'mode':<15}{'m':>10}{'n':>7}{'P':>4}{'rounds/s':>10}{'bytes/round':>13}{'limit':>13}{'share':>7}"
    )
    found = []
    for whole, m, n, n_partitions in product((False, True), sizes, widths, partitions):
        name, rows, seconds, moved = round_costs(wire, m, n, n_partitions, whole, repeats)
        assert (name == "whole queries") == whole, "the table compares the mode that was asked for"
        limit = 16 * n * n_partitions if whole else 8 * (rows + 2 * n)
        print(
            f"{name:<15}{rows:>10,}{n:>7,}{n_partitions:>4}{1 / seconds:>10.1f}{moved:>13,.0f}{limit:>13,}"
            f"{moved / limit:>7.2f}"
        )
        found.append({"mode": name, "rows": m, "features": n, "partitions": n_partitions})
        found[-1] |= {"bytes": round(moved), "limit": limit}
    return found


def fit_table(m, n, n_partitions):
    X, y = make_rows(m, n, n_partitions)
    whole_queries.ROUND_BYTES = 1_000_000
    here, found = X.compute(), []
    print(f"\nFits of {m:,} x {n} rows, alpha 1e-3, tol 1e-3")
    for name, columns in (("global ranking", {}), ("queries", {"qid": np.arange(len(y)) // QUERY_ROWS})):
        for place, data in (("in memory", here), ("on Dask", X)):
            start = perf_counter()
            model = RankSVM(1e-3).fit(data, y, **columns)
            seconds = perf_counter() - start
            mode = f"   mode {model.rounds_.mode}, {model.rounds_.rounds} rounds" if data is X else ""
            print(
                f"{name:<16}{place:<11}{seconds:>7.2f} s   {model.n_iter_} iterations   "
                f"objective {model.objective_:.6f}   gap {model.gap_:.1e}{mode}"
            )
            found.append({"form": name, "place": place, "seconds": round(seconds, 2)})
            found[-1] |= {"iterations": model.n_iter_, "rounds": model.rounds_.rounds if data is X else None}
    return {"rows": m, "features": n, "fits": found}


@contextmanager
def counted_passes():
    """Count the rounds of tasks that read all rows, not those of a sample, in the list that is returned."""
    found, blocks, kept = [], [], ClientEngine.map

    def counted(engine, function, *columns):
        name, first = dask.utils.funcname(function), columns[0][0]
        blocks.extend([first] * (name == "describe"))
        found.extend([name] * any(first is block for block in blocks))
        return kept(engine, function, *columns)

    ClientEngine.map = counted
    try:
        yield found
    finally:
        ClientEngine.map = kept


def costs_of(model, X, y, columns):
    """Return the passes, rounds, bytes and seconds of a fit."""
    with counted_passes() as passes:
        start = perf_counter()
        log = model.fit(X, y, **columns).rounds_
    return len(passes), log.rounds, log.sent + log.received, perf_counter() - start


def tuning_table(m, n, n_partitions, n_alphas=8, n_folds=5):
    """Compare a search over alphas and folds with one fit of the alpha that it chooses, and with memory."""
    X, y = make_rows(m, n, n_partitions)
    whole_queries.ROUND_BYTES = 1_000_000
    here, found = X.compute(), []
    print(f"\n{n_alphas} alphas and {n_folds} folds, {m:,} x {n} rows")
    for form, searching, fitting in (
        ("one ranking", RankSVMCV, RankSVM),
        ("queries", RankSVMCV, RankSVM),
        ("queries", RankLogisticCV, RankLogistic),
        ("queries", RankRLSCV, RankRLS),
        ("queries, labels on the workers", RankSVMCV, RankSVM),
        ("queries, labels on the workers", RankLogisticCV, RankLogistic),
        ("queries, labels on the workers", RankRLSCV, RankRLS),
    ):
        columns = {} if form == "one ranking" else {"qid": np.arange(len(y)) // QUERY_ROWS}
        labels, there = y, columns
        if "workers" in form:  # as for more rows
            whole_queries.ROUND_BYTES = -(10**9)
            labels = da.from_array(y, (X.chunks[0],))
            there = {"qid": da.from_array(columns["qid"], (X.chunks[0],))}
        alphas = np.geomspace(1.0, 1e-7, n_alphas)
        model, runs = searching(alphas=alphas, cv=n_folds), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            expected = searching(alphas=alphas, cv=n_folds).fit(here, y, **columns)
            runs.append(costs_of(model, X, labels, there))
            runs.append(costs_of(fitting(model.alpha_), X, labels, there))
        difference = float(np.abs(model.cv_errors_ - expected.cv_errors_).max())
        entry = {"model": searching.__name__, "form": form, "alpha": model.alpha_}
        entry |= {"same_choice": model.alpha_ == expected.alpha_, "largest_difference": difference}
        for name, values in zip(
            ("passes", "rounds", "bytes", "seconds"), zip(*runs, strict=True), strict=True
        ):
            entry[name] = [round(value, 2) for value in values]
        print(entry)
        found.append(entry)
    size = {"rows": len(y), "features": n, "partitions": n_partitions, "alphas": n_alphas, "folds": n_folds}
    return size | {"searches": found}


# Fits of the table of scaling: name, model, whether queries are ranked, and the fraction of the rows.
SCALED = (
    ("RankSVM, one ranking", lambda: RankSVM(1e-3), False, 1.0),
    ("RankSVM, queries", lambda: RankSVM(1e-3), True, 1.0),
    ("RankLogistic, queries", lambda: RankLogistic(1e-3), True, 1.0),
    ("RankRLS, queries", lambda: RankRLS(1e-3), True, 1.0),
    ("RankSVMCV, queries", lambda: RankSVMCV(alphas=np.geomspace(1.0, 1e-7, 8), cv=5), True, 0.2),
)


def scaling_table(m, n=50, n_partitions=8, repeats=3):
    """Fit rows that are loaded with one worker, with two, and half of the rows with one.

    The times of one worker and of two for the same rows show strong scaling; those of one worker with half of
    the rows and of two with all of them show weak scaling. Fits of half of the rows may take other numbers of
    rounds, so that times are those of a round.
    """
    times, rounds = {name: [] for name, *_ in SCALED}, {name: [] for name, *_ in SCALED}
    for n_workers, rows in ((1, m // 2), (1, m), (2, m)):
        with workers(n_workers) as client:
            client.wait_for_workers(n_workers)
            for name, make, whole, fraction in SCALED:
                X, *columns = loaded(round(fraction * rows), n, n_partitions)
                model = make()
                fit = partial(model.fit, X, columns[0], **({"qid": columns[1]} if whole else {}))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", EdgeOfGridWarning)
                    found = seconds_of(fit, repeats)
                times[name].append(round(found, 2))
                rounds[name].append(model.rounds_.rounds)
                print(
                    f"{name:<24}{n_workers} workers{X.shape[0]:>12,} rows{found:>8.2f} s, "
                    f"{rounds[name][-1]} rounds",
                    flush=True,
                )
    fits = [
        {"fit": name, "rows": round(fraction * m), "seconds": times[name], "rounds": rounds[name]}
        for name, _, _, fraction in SCALED
    ]
    return {"features": n, "partitions": n_partitions, "fits": fits}


def loaded(m, n, n_partitions):
    """Return rows, labels and queries that are on the workers."""
    X, y = make_rows(m, n, n_partitions)
    chunks = (X.chunks[0],)
    columns = X, da.from_array(y, chunks), da.from_array(np.arange(len(y)) // QUERY_ROWS, chunks)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        columns = dask.persist(*columns)
    wait(columns)
    return columns


def make_column(seed, n_rows, n_features, name):
    """Return the labels or the queries of a block, which its worker computes."""
    if name == "qid":
        return seed * n_rows + np.arange(n_rows) // QUERY_ROWS
    X = make_narrow(seed, n_rows, n_features)
    noise = np.random.default_rng(10**6 + seed).standard_normal(n_rows, dtype=np.float32)
    return np.round(X @ np.linspace(1.0, 0.0, n_features, dtype=np.float32) + noise)


def make_narrow(seed, n_rows, n_features):
    return np.random.default_rng(seed).standard_normal((n_rows, n_features), dtype=np.float32)


def lists_of_parts(n_rows, n, n_partitions):
    """Return rows, labels and queries as recipes that workers compute."""
    X = [delayed(make_narrow)(seed, n_rows, n) for seed in range(n_partitions)]
    columns = (
        [delayed(make_column)(seed, n_rows, n, name) for seed in range(n_partitions)] for name in ("y", "qid")
    )
    return X, *columns


def write_part(folder, seed, n_rows, n_features):
    """Write a partition as a table, and return when it is complete."""
    import pandas

    columns = {f"x{k}": column for k, column in enumerate(make_narrow(seed, n_rows, n_features).T)}
    columns |= {name: make_column(seed, n_rows, n_features, name) for name in ("y", "qid")}
    pandas.DataFrame(columns).to_parquet(Path(folder) / f"part-{seed:03}.parquet")


def columns_of_files(client, folder, n_rows, n, n_partitions):
    """Let the workers write tables, and read them."""
    writes = [client.submit(write_part, folder, seed, n_rows, n) for seed in range(n_partitions)]
    client.gather(writes)
    data = from_files(Path(folder) / "*.parquet", label="y")
    return data.X, data.y, data.qid


# What --driver measures; the labels and queries of "files" are read from tables.
DRIVEN = {
    "svm": RankSVM(1e-3),
    "rls": RankRLS(1e-3),
    "cg": RankRLS(1e-3, solver="cg"),
    "files": RankRLS(1e-3),
    "logistic-cv": RankLogisticCV(cv=5),
    "svm-cv": RankSVMCV(cv=5),
    "rls-cv": RankRLSCV(cv=5),
}


def driver_memory(m, n=4, n_partitions=64, what="svm"):
    """Fit rows, labels and queries that exist on the workers alone; return the peak memory of the driver."""
    n_rows = m // n_partitions // QUERY_ROWS * QUERY_ROWS
    shape = n_rows, n, n_partitions
    with workers() as client, tempfile.TemporaryDirectory() as folder:
        client.wait_for_workers(2)
        before, start = peak_megabytes(), perf_counter()
        X, y, qid = columns_of_files(client, folder, *shape) if what == "files" else lists_of_parts(*shape)
        model = DRIVEN[what].fit(X, y, qid=qid)
        seconds = perf_counter() - start
    log = model.rounds_
    found = {"rows": n_rows * n_partitions, "features": n, "partitions": n_partitions, "mode": log.mode}
    found |= {"seconds": round(seconds, 1), "rounds": log.rounds, "bytes": log.sent + log.received}
    found |= {"megabytes_before": round(before), "megabytes": round(peak_megabytes())}
    found |= {"gap": float(f"{model.gap_:.2g}"), "pairs": model.n_pairs_}
    print(found)
    return found


def peak_megabytes():
    """Return the largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_of(task, repeats=3, choose=min):
    times = []
    for _ in range(repeats):
        start = perf_counter()
        task()
        times.append(perf_counter() - start)
    return choose(times)


class Constants:
    """What one core does here: seconds for an entry of a product, for a row of a count; and for a round."""

    def __init__(self, m):
        generator = np.random.default_rng(0)
        X, w, c = (
            generator.standard_normal((m, 50)),
            generator.standard_normal(50),
            generator.standard_normal(m),
        )
        self.entry = seconds_of(lambda: (X @ w, X.T @ c)) / (2 * m * 50)
        y, s = np.round(c + generator.standard_normal(m)), generator.standard_normal(m)
        ranking = Hinge(Preferences.from_scores(y))
        self.row = seconds_of(lambda: ranking.plane(s)) / m
        queries = Hinge(Preferences.from_scores(y, np.arange(m) // QUERY_ROWS))
        self.query_row = seconds_of(lambda: queries.plane(s)) / m
        self.m = m
        self.round = self.task = 0.0

    def measure_rounds(self, client):
        """Fit seconds = round + task * P to empty rounds."""
        few, many = (
            seconds_of(lambda n=n: simulated_round(client, n, 0.0, 0.0), 15, median) for n in (8, 80)
        )
        self.task = max((many - few) / 72, 0.0)
        self.round = max(few - 8 * self.task, 0.0)

    def __str__(self):
        return (
            f"product {1e9 * self.entry:.2f} ns an entry; count {1e9 * self.row:.0f} ns a row in one ranking "
            f"of {self.m:,}, {1e9 * self.query_row:.0f} ns in queries of {QUERY_ROWS}; "
            f"a round {1e3 * self.round:.0f} ms and {1e3 * self.task:.2f} ms a partition"
        )


def modeled(constants, m, n, n_workers, whole):
    """Return the seconds of an iteration: on workers, on the driver (network and counting), and of Dask."""
    cores = n_workers * CORES
    on_workers = 2 * constants.entry * m * n / cores
    if whole:
        on_workers += (EVALUATIONS + 1) * constants.query_row * m / cores
        on_driver = 16 * n * np.log2(2 * n_workers) / NETWORK
        return on_workers, on_driver, (EVALUATIONS + 2) * (constants.round + constants.task * n_workers)
    levels = np.log2(m) / np.log2(constants.m)
    counting = EVALUATIONS * constants.row * m * levels / CORES
    return (
        on_workers,
        8 * (m + 2 * n) / NETWORK + counting,
        2 * (constants.round + constants.task * n_workers),
    )


def sleep_for(seconds):
    time.sleep(seconds)
    return np.zeros(1)


def simulated_round(client, n_workers, on_workers, on_driver):
    """Run the tasks of one round, with workers and a driver that sleep instead of computing."""
    runner = ClientEngine(client)
    runner.execute(lambda: [runner.total(runner.map(sleep_for, [on_workers] * n_workers))])
    time.sleep(on_driver)


def simulate(client, constants, m, n, n_workers, whole, speed):
    on_workers, on_driver, _ = modeled(constants, m, n, n_workers, whole)
    rounds = EVALUATIONS + 2 if whole else 2
    start = perf_counter()
    for _ in range(rounds):
        simulated_round(client, n_workers, speed * on_workers / rounds, speed * on_driver / rounds)
    return perf_counter() - start


def checked_rounds(client, constants, sizes, n=50, partitions=(2, 8, 32), repeats=7):
    """Compare the model with measured rounds of whole queries: two workers with one core each.

    A round evaluates the loss, and again for its slopes. It has two messages to the workers, and three tasks
    per partition.
    """
    constants.measure_rounds(client)
    print(f"\nRounds of whole queries, measured and modeled with {constants}")
    found = []
    for m, n_partitions in product(sizes, partitions):
        one_round, _, n_rows = rounds_of(m, n, n_partitions, whole=True)
        for _ in range(3):
            one_round()
        measured = seconds_of(one_round, repeats, median)
        work = (2 * constants.entry * n + 2 * constants.query_row) * n_rows / min(2, n_partitions)
        modeled = work + 2 * constants.round + 3 * n_partitions * constants.task
        print(f"{n_rows:>10,}{n_partitions:>4}{measured:>9.3f} s{modeled:>9.3f} s")
        found.append({"rows": m, "partitions": n_partitions, "seconds": [measured, modeled]})
        found[-1]["seconds"] = [round(value, 3) for value in (measured, modeled)]
    return {"features": n, "constants": str(constants), "rounds": found}


def model_table(m_constants, speed):
    """Print the model of large clusters, and the time of workers that sleep for `speed` times the work."""
    constants = Constants(m_constants)
    options = {"n_workers": 1, "threads_per_worker": 110, "dashboard_address": ":0", "processes": False}
    with LocalCluster(memory_limit=0, **options) as cluster, Client(cluster) as client:
        constants.measure_rounds(client)
        print(f"\nMeasured here: {constants}")
        print(
            f"Modeled iteration of 50 features: workers of {CORES} cores, {NETWORK / 1e9:g} GB/s to the "
            f"driver, {EVALUATIONS} evaluations a line; simulated with the work times {speed:g}"
        )
        print(
            f"{'mode':<15}{'m':>15}{'workers':>9}{'on workers':>12}{'on driver':>11}{'Dask':>8}{'total':>9}"
            f"{'simulated':>11}{'expected':>10}"
        )
        found = []
        for whole, m, n_workers in product((False, True), (10**8, 10**9), (10, 100)):
            parts = modeled(constants, m, 50, n_workers, whole)
            measured = simulate(client, constants, m, 50, n_workers, whole, speed)
            expected = speed * (parts[0] + parts[1]) + parts[2]
            name = "whole queries" if whole else "scores"
            print(
                f"{name:<15}{m:>15,}{n_workers:>9}{parts[0]:>10.2f} s{parts[1]:>9.2f} s{parts[2]:>6.2f} s"
                f"{sum(parts):>7.2f} s{measured:>9.2f} s{expected:>8.2f} s"
            )
            found.append({"mode": name, "rows": m, "workers": n_workers})
            seconds = [*parts, sum(parts), measured, expected]
            found[-1]["seconds"] = [round(value, 2) for value in seconds]
    return {"constants": str(constants), "share": speed, "iterations": found}


def on_paper(model, n=50, cases=((10**9, 100), (10**10, 100), (10**10, 1000))):
    """Return the model of whole queries for more rows than were simulated, by the constants of a record."""
    numbers = [float(text.replace(",", "")) for text in re.findall(r"[\d.,]*\d", model["constants"])]
    entry, _, _, query_row, _, per_round, per_task = numbers
    constants = SimpleNamespace(entry=1e-9 * entry, query_row=1e-9 * query_row)
    constants.round, constants.task = 1e-3 * per_round, 1e-3 * per_task
    lines = []
    for m, n_workers in cases:
        parts = modeled(constants, m, n, n_workers, whole=True)
        seconds = (parts[0], parts[2], sum(parts))
        lines.append((f"10^{len(str(m)) - 1}", str(n_workers), *(f"{value:.2f} s" for value in seconds)))
    return lines


def table(head, lines):
    """Return a table of the page."""
    rule = "|".join("---" for _ in head)
    return "\n".join([f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(line)} |" for line in lines)])


def tables_of(record):
    """Return the tables of the page: the model of clusters, shares of bytes, and fits."""
    head = "mode", "rows", "workers", "on workers", "on the driver", "Dask", "an iteration", "simulated"
    lines = [
        (r["mode"], f"10^{len(str(r['rows'])) - 1}", str(r["workers"]), *(f"{x:.2f} s" for x in r["seconds"]))
        for r in record["model"]["iterations"]
    ]
    cases = dict.fromkeys((r["mode"], r["rows"], r["features"]) for r in record["rounds"])
    cells = {
        (r["mode"], r["rows"], r["features"], r["partitions"]): f"{r['bytes'] / r['limit']:.2f}"
        + (f" ({r['bytes'] / 1000:,.1f} kB)" if r["mode"] == "whole queries" else "")
        for r in record["rounds"]
    }
    shares = [
        (mode, f"{m:,}", f"{n:,}", *(cells.get((mode, m, n, parts), "") for parts in (2, 8, 32)))
        for mode, m, n in sorted(cases)
    ]
    searches = [
        (
            r["model"],
            r["form"],
            *(f"{value:,}" for value in r["passes"]),
            *(f"{value / 1e6:,.1f} MB" if value > 1e5 else f"{value / 1e3:,.0f} kB" for value in r["bytes"]),
            "yes" if r["same_choice"] else "no",
        )
        for r in record["tuning"]["searches"]
    ]
    drivers = [
        (
            f"{r['rows']:,}",
            f"{r['megabytes_before']} MB",
            f"{r['megabytes']} MB",
            f"{r['bytes'] / 1e6:,.1f} MB",
            str(r["rounds"]),
        )
        for r in record["driver"]
    ]
    scaling = []
    for r in record["scaling"]["fits"]:
        half, one, two = (s / n for s, n in zip(r["seconds"], r["rounds"], strict=True))
        times = (f"{1000 * seconds:,.0f} ms" for seconds in (half, one, two))
        scaling.append((r["fit"], f"{r['rows']:,}", *times, f"{one / two:.2f}", f"{half / two:.2f}"))
    checked = [
        (f"{r['rows']:,}", str(r["partitions"]), *(f"{1000 * seconds:,.0f} ms" for seconds in r["seconds"]))
        for r in record["checked"]["rounds"]
    ]
    fits = [
        (r["form"], r["place"], f"{r['seconds']} s", str(r["iterations"]), str(r["rounds"] or ""))
        for r in record["fits"]["fits"]
    ]
    return [
        table((*head, "expected of it"), lines),
        table(("mode", "m", "n", "P = 2", "P = 8", "P = 32"), shares),
        table(
            ("search", "form", "passes", "of one fit", "bytes", "of one fit's", "same choice as in memory"),
            searches,
        ),
        table(("rows", "before the fit", "driver's peak", "bytes moved", "rounds"), drivers),
        table(
            ("rows in queries", "workers", "on workers", "Dask", "an iteration"), on_paper(record["model"])
        ),
        table(("fit", "rows", "one worker, half", "one worker", "two workers", "strong", "weak"), scaling),
        table(("rows in queries", "partitions", "measured", "modeled"), checked),
        table(("fit", "rows are", "seconds", "iterations", "rounds"), fits),
    ]


def draw(record):
    """Put the tables into the page, each in place of the one with the same names of columns."""
    page = PAGE.read_text(encoding="utf-8")
    for drawn in tables_of(record):
        begin = re.escape(drawn.partition("\n")[0])
        page, n = re.subn(
            begin + r".*?\n(?=\n|\Z)", lambda _, drawn=drawn: drawn + "\n", page, flags=re.DOTALL
        )
        assert n == 1, "the page has no such table, or several"
    PAGE.write_text(page, encoding="utf-8")


def spill_table(limit_megabytes, n=100):
    """Fit rows that take three times the memory of the only worker."""
    n_partitions = 48
    m = 3 * limit_megabytes * 10**6 // (8 * n) // n_partitions * n_partitions
    with workers(1, f"{limit_megabytes}MB") as client:
        X, y = make_rows(m, n, n_partitions)
        start = perf_counter()
        model = RankSVM(1e-2, tol=1e-2).fit(X, y)
        seconds = perf_counter() - start
        spilled = sum(client.run(lambda dask_worker: dask_worker.data.spilled_total.disk).values())
    print(
        f"\n{X.nbytes / 1e6:,.0f} MB of rows on one worker with {limit_megabytes} MB: {seconds:.1f} s, "
        f"{model.n_iter_} iterations, gap {model.gap_:.1e}, {spilled / 1e6:,.0f} MB on disk at the end"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=2_000_000, help="the most rows, without --quick")
    parser.add_argument("--spill", action="store_true")
    parser.add_argument("--kinds", action="store_true", help="what kinds of messages a round is made of")
    parser.add_argument("--rounds", action="store_true", help="measure the rounds alone")
    parser.add_argument("--tuning", action="store_true", help="measure a search over alphas alone")
    parser.add_argument("--scaling", action="store_true", help="measure one worker and two alone")
    parser.add_argument("--check", action="store_true", help="compare the model with measured rounds alone")
    parser.add_argument("--model", action="store_true", help="print the model of large clusters alone")
    parser.add_argument("--driver", type=int, metavar="ROWS", help="measure the driver's memory alone")
    parser.add_argument(
        "--of", choices=sorted(DRIVEN), default="svm", help="what --driver measures; only svm is recorded"
    )
    parser.add_argument("--write", action="store_true", help="keep the figures")
    parser.add_argument("--draw", action="store_true", help="write the tables of the page")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(int(options.serve[0]), options.serve[1])
    if options.spill:
        return spill_table(400 if options.quick else 1000)
    if options.kinds:
        with workers() as client:
            client.wait_for_workers(2)
            return kinds_table()
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if options.draw:
        return draw(known)
    if options.driver:
        found = driver_memory(options.driver, what=options.of)
        if options.of != "svm":
            return None
        others = [one for one in known.get("driver", []) if one["rows"] != found["rows"]]
        record = known | {"driver": sorted([*others, found], key=lambda one: one["rows"])}
    else:
        record = known | measured(options)
    if options.write:
        RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return None


def measured(options):
    """Run the measurements that the options select."""
    if options.model:
        return {"model": model_table(options.rows, 5e-2)}
    if options.scaling:
        return {"scaling": scaling_table(100_000 if options.quick else 2 * options.rows)}
    wire = Wire()
    with workers() as client:
        client.wait_for_workers(2)
        if options.tuning:
            return {"tuning": tuning_table(20_000 if options.quick else 200_000, 20, 8)}
        if options.check:
            sizes = (options.rows // 10, options.rows)
            return {"checked": checked_rounds(client, Constants(options.rows), sizes)}
        if options.quick:
            round_table(wire, (100_000,), (50,), (4,), 5)
            round_table(wire, (4_000,), (5_000,), (4,), 5)
            fits = fit_table(100_000, 50, 4)
        else:
            rounds = round_table(wire, (options.rows // 10, options.rows), (50,), (2, 8, 32), 10)
            rounds += round_table(wire, (20_000,), (5_000,), (2, 8), 10)
            if options.rounds:
                return {"rounds": rounds}
            fits = fit_table(options.rows, 50, 8)
    model = model_table(100_000 if options.quick else options.rows, 1e-2 if options.quick else 5e-2)
    return {"rounds": [] if options.quick else rounds, "fits": fits, "model": model}


if __name__ == "__main__":
    main()
