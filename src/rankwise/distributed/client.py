"""Partitions on the workers of a Dask client, or, without a client, on the threads of this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from itertools import count
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np

from rankwise.core.memory import available_memory
from rankwise.core.text import plural
from rankwise.distributed.blocks import as_block
from rankwise.distributed.engine import Engine, constant, identity, nbytes
from rankwise.distributed.faults import WorkersSilentError


class ThreadEngine(Engine):
    """Dask's threads; blocks are loaded and dropped in each round, so they need not fit into memory."""

    def load(self, partitions: Sequence[Any]) -> list[Any]:
        """Return tasks that load the blocks when they are needed."""
        return self.map(as_block, partitions)

    def can_persist(self, n_bytes: float) -> bool:
        """Tell whether this takes at most a quarter of the free memory."""
        free = available_memory()
        return free is None or n_bytes <= free / 4

    def map(self, function: Callable, *columns: Sequence[Any]) -> list[Any]:
        """Return the tasks, which do not run yet."""
        from dask import delayed

        task = delayed(function, pure=False)
        return [task(*row) for row in zip(*columns, strict=True)]

    def persist(self, handles: Sequence[Any]) -> list[Any]:
        """Compute the results and keep them in memory."""
        return [constant(value) for value in self._gather(handles)]

    def scatter(self, values: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
        """Return the argument: the memory is shared."""
        return list(values)

    def broadcast(self, value: Any) -> Any:
        """Return the argument: the memory is shared."""
        return value

    def _gather(self, handles: Sequence[Any]) -> list[Any]:
        import dask

        return list(dask.compute(*handles, scheduler="threads", optimize_graph=False))

    def _is_loss(self, error: BaseException) -> bool:
        return False


# Up to the first size, an argument is part of each task; up to the second, it is a task of its own, whose
# result workers copy from one another. A larger one is scattered.
EMBEDDED_BYTES = 1 << 14
TASK_BYTES = 1 << 22
# The interval at which the driver checks the list of workers.
CHECK_SECONDS = 0.25
# The setting of Dask with the seconds without a sign of life of any worker after which a fit ends.
TIMEOUT, DEFAULT_TIMEOUT = "rankwise.worker-timeout", 60.0


def current_client() -> Any:
    """Return the Dask client that is current in this process, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def current_engine() -> Engine:
    """Return the engine of the current client, or threads if there is none."""
    client = current_client()
    return ThreadEngine() if client is None else ClientEngine(client)


class ClientEngine(Engine):
    """The workers of a Dask client; blocks are futures that stay on the workers."""

    remote = True

    def __init__(self, client: Any) -> None:
        super().__init__()
        self.client = client
        self._name, self._number = uuid4().hex[:8], count()
        self._workers, self._asked = self._addresses(), perf_counter()

    def load(self, partitions: Sequence[Any]) -> list[Any]:
        """Load the blocks on the workers."""
        return self.map(as_block, self.client.compute(list(partitions)))

    def computed(self, partitions: Sequence[Any]) -> list[Any]:
        """Compute the values on the workers, where they stay."""
        return list(self.client.compute(list(partitions)))

    def can_persist(self, n_bytes: float) -> bool:
        """Return True, as workers spill to disk."""
        return True

    def map(self, function: Callable, *columns: Sequence[Any]) -> list[Any]:
        """Submit one task per partition, all in one message.

        Task names are short, since they are most of the bytes of Dask's messages.
        """
        from dask.utils import funcname

        names = [f"{funcname(function)}-{self._name}-{next(self._number):x}" for _ in columns[0]]
        arrays = (value for column in columns for value in column if isinstance(value, np.ndarray))
        self.log.sent += sum(array.nbytes for array in arrays)
        return self.client.map(function, *(list(column) for column in columns), key=names, pure=False)

    def persist(self, handles: Sequence[Any]) -> list[Any]:
        """Return the futures, whose results stay as long as they are referenced here."""
        return list(handles)

    def scatter(self, values: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
        """Send values with the tasks or, if they are large, ahead of them to the workers of the blocks."""
        size = sum(nbytes(value) for value in values)
        if size <= TASK_BYTES:
            return list(values)  # counted by `map`
        self.log.sent += sum(map(array_bytes, values))
        holders = self.client.who_has(blocks)
        addresses = [list(holders.get(block.key) or ()) or None for block in blocks]
        return self.client.sync(self._scatter_all, values, addresses)

    async def _scatter_all(self, values: Sequence[Any], addresses: Sequence[Any]) -> list[Any]:
        import asyncio

        sent = (
            self.client.scatter(value, workers=address, hash=False, asynchronous=True)
            for value, address in zip(values, addresses, strict=True)
        )
        return list(await asyncio.gather(*sent))

    def broadcast(self, value: Any) -> Any:
        """Send a value once; workers copy it from one another."""
        size = nbytes(value)
        if size <= EMBEDDED_BYTES:
            return value  # counted by `map`
        self.log.sent += array_bytes(value)
        if size <= TASK_BYTES:
            return self.client.submit(identity, value, pure=False)
        return self.client.scatter(value, hash=False)

    def status(self, handle: Any) -> str:
        """Return the state of a future."""
        return handle.status

    def _gather(self, handles: Sequence[Any]) -> list[Any]:
        results: list[Any] = self.client.sync(self._gather_from_live_workers, list(handles))
        self.log.received += sum(map(array_bytes, results))
        return results

    async def _gather_from_live_workers(self, handles: list[Any]) -> list[Any]:
        """Gather results; raise an error if all workers have been silent for `worker-timeout` seconds."""
        import asyncio

        import dask

        patience = float(dask.config.get(TIMEOUT, DEFAULT_TIMEOUT))
        gathered = asyncio.ensure_future(self.client.gather(handles, asynchronous=True))
        heard, since = -1.0, perf_counter()
        while not (await asyncio.wait({gathered}, timeout=min(1.0, patience / 4)))[0]:
            latest = await self._last_heard()
            if latest != heard:
                heard, since = latest, perf_counter()
            elif perf_counter() - since > patience:
                gathered.cancel()
                raise WorkersSilentError(patience)
        return gathered.result()

    async def _last_heard(self) -> float:
        """Return the time of the last heartbeat of any worker, by the clock of the scheduler."""
        workers = (await self.client.scheduler.identity())["workers"].values()
        return max((worker["last_seen"] for worker in workers), default=0.0)

    def _is_loss(self, error: BaseException) -> bool:
        from concurrent.futures import CancelledError

        from distributed.comm import CommClosedError

        return isinstance(error, CancelledError | CommClosedError)

    def _addresses(self) -> set[str]:
        return set(self.client.nthreads())

    def _changes(self, after: float | None = None) -> str:
        """Describe the workers that were added or lost since the last check; a check is a message."""
        if perf_counter() - self._asked < (CHECK_SECONDS if after is None else after):
            return ""
        self._asked, now = perf_counter(), self._addresses()
        gone, new, self._workers = self._workers - now, now - self._workers, now
        words = [f"{plural(len(gone), 'worker')} lost"] * bool(gone)
        words += [f"{plural(len(new), 'worker')} added"] * bool(new)
        return f"; {', '.join(words)}" if words else ""


def array_bytes(value: Any) -> int:
    """Return the bytes of the arrays in a result or an argument; other objects are not searched.

    Examples
    --------
    >>> array_bytes(({"a": np.zeros(3)}, [np.ones(2), "text"]))
    40
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, entry.name) for entry in fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(array_bytes, value)) if isinstance(value, list | tuple) else 0
