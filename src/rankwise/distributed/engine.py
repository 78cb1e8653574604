"""The executors of tasks on partitions: threads of this process, or the workers of a Dask client.

An engine maps a function over partitions, gathers results, sums them in a tree, and persists results on the
workers. Futures are plain results of tasks, never actors, so that Dask recomputes those of a lost worker.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.distributed.blocks import as_block
from rankwise.distributed.faults import PartitionLostError, RoundLog

# The number of partial sums that one task adds.
FAN_IN = 8
RETRIES = 5


def require_dask() -> Any:
    """Return the dask module; the error explains how to install it."""
    try:
        import dask
        import dask.delayed
    except ImportError:
        raise ImportError("Data on Dask needs dask: pip install 'rankwise[dask]'.") from None
    return dask


class Engine(ABC):
    """Run functions on partitions.

    Attributes
    ----------
    generation : int
        Incremented when results were lost with a worker and Dask cannot recompute them; results of an earlier
        generation are then computed again by the driver.
    log : RoundLog
    remote : bool
        Whether moving data has a cost.
    """

    remote = False

    def __init__(self) -> None:
        self.generation = 0
        self.log = RoundLog()
        self.restore: Callable[[Exception], None] = lambda error: None

    @abstractmethod
    def load(self, partitions: Sequence[Any]) -> list[Any]:
        """Return the handles of the blocks of Dask objects."""

    def computed(self, partitions: Sequence[Any]) -> list[Any]:
        """Return the handles of the values of Dask objects."""
        return list(partitions)

    @abstractmethod
    def can_persist(self, n_bytes: float) -> bool:
        """Tell whether results of this size can be kept between rounds."""

    @abstractmethod
    def map(self, function: Callable, *columns: Sequence[Any]) -> list[Any]:
        """Call a function for each partition, with one entry of every column; return the handles."""

    @abstractmethod
    def persist(self, handles: Sequence[Any]) -> list[Any]:
        """Keep results on the workers for several rounds."""

    @abstractmethod
    def scatter(self, values: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
        """Send a value to each partition."""

    @abstractmethod
    def broadcast(self, value: Any) -> Any:
        """Send one value to all partitions."""

    def status(self, handle: Any) -> str:
        """Return the state of a handle; "canceled", "lost" and "error" have no result."""
        return ""

    @abstractmethod
    def _gather(self, handles: Sequence[Any]) -> list[Any]: ...

    @abstractmethod
    def _is_loss(self, error: BaseException) -> bool: ...

    def _changes(self, after: float | None = None) -> str:
        """Describe the workers that were added or lost, unless checked within the last `after` seconds."""
        return ""

    def total(self, handles: Sequence[Any]) -> Any:
        """Return the handle of the sum, in a tree of fixed shape: rounding does not depend on the workers."""
        handles = list(handles)
        while len(handles) > 1:
            groups = [handles[start : start + FAN_IN] for start in range(0, len(handles), FAN_IN)]
            handles = self.map(add_all, groups)
        return handles[0]

    def execute(self, send: Callable[[], Sequence[Any]]) -> list[Any]:
        """Send tasks and gather their results; send them again if a worker was lost."""
        for attempt in range(RETRIES + 1):
            start = perf_counter()
            try:
                results = self._gather(send())
            except Exception as error:
                self.restore(error)
                if attempt == RETRIES or not self._is_loss(error):
                    raise
                self.generation += 1
                self.log.failed(perf_counter() - start, f"{type(error).__name__}{self._changes(0.0)}")
            else:
                self.log.answered(perf_counter() - start, self._changes())
                return results
        raise AssertionError("the last attempt returns or raises")


class Pinned:
    """Results that stay on the workers, and the function that recomputes them if a worker is lost."""

    def __init__(self, engine: Engine, make: Callable[[], Sequence[Any]]):
        self._engine = engine
        self._make = make
        self._generation = -1

    @property
    def is_current(self) -> bool:
        """Whether the results exist and no worker was lost since."""
        return self._generation == self._engine.generation

    @property
    def handles(self) -> list[Any]:
        """One handle per partition."""
        if not self.is_current:
            self._handles = self._engine.persist(self._make())
            self._generation = self._engine.generation
        return self._handles


KILLED = (
    "several workers died one after the other while they loaded them, probably for lack of memory; use "
    "smaller partitions, or workers with more memory"
)


class PinnedRows(Pinned):
    """Blocks of rows on the workers. Dask can load them again, or the driver has a copy.

    Attributes
    ----------
    loaded : bool
        Whether all blocks have been loaded once; from then on, an error of loading is a loss.
    """

    def __init__(self, engine: Engine, handles: list[Any], kept: list[Any] | None = None):
        self._engine = engine
        self._handles = handles
        self._kept = kept
        self.loaded = False

    @property
    def handles(self) -> list[Any]:
        """One handle per partition."""
        return self._handles

    def restore(self, error: Exception) -> None:
        """After an error, send lost blocks again; raise an error if the driver has no copy."""
        reason = f"{type(error).__name__}: {error}".rstrip(".")
        if type(error).__name__ == "KilledWorker":
            raise PartitionLostError(self._numbers("error"), len(self._handles), KILLED) from error
        if self.loaded and (unreadable := self._numbers("error")):
            raise PartitionLostError(unreadable, len(self._handles), reason) from error
        if self.loaded and not self._engine.remote and isinstance(error, OSError):
            raise PartitionLostError((), len(self._handles), reason) from error
        lost = self._numbers("cancelled", "lost")
        if lost and self._kept is None:
            raise PartitionLostError(lost, len(self._handles)) from error
        if lost and self._kept is not None:
            sent = self._engine.scatter([self._kept[k] for k in lost], [self._handles[k] for k in lost])
            for k, handle in zip(lost, self._engine.map(as_block, sent), strict=True):
                self._handles[k] = handle

    def _numbers(self, *states: str) -> list[int]:
        return [k for k, handle in enumerate(self._handles) if self._engine.status(handle) in states]


def constant(value: Any) -> Any:
    """Return a value in memory as a Delayed."""
    from dask import delayed

    return delayed(value, traverse=False, pure=False)


def identity(value: Any) -> Any:
    """Return the argument, as a task whose result other tasks share."""
    return value


def add_all(parts: Sequence[Any]) -> Any:
    """Add arrays from left to right."""
    result = np.array(parts[0], dtype=np.float64)
    for part in parts[1:]:
        result += part
    return result


def nbytes(value: Any) -> int:
    """Return the bytes of an array, or of the arrays in a list or an object."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if hasattr(value, "__dict__"):
        value = list(vars(value).values())
    return sum(nbytes(entry) for entry in value) if isinstance(value, list | tuple) else 8
