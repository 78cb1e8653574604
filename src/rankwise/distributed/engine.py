"""Where partitions are worked on: by threads of this process, or by the workers of a Dask client.

An engine knows four things: run a function on each partition, bring results here, sum them in a tree, and
hold results where they are. Futures are plain results of tasks, never actors, so that Dask computes again
what died with a worker.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.distributed.blocks import as_block
from rankwise.distributed.faults import PartitionLostError, RoundLog

# Partial sums of so many partitions are added by one task.
FAN_IN = 8
RETRIES = 5


def require_dask() -> Any:
    """Return the dask module, or say how to install it."""
    try:
        import dask
        import dask.delayed
    except ImportError:
        raise ImportError("Data on Dask need dask: pip install 'rankwise[dask]'.") from None
    return dask


class Engine(ABC):
    """Runs functions on partitions.

    Attributes
    ----------
    generation : int
        Grows when workers took results with them that no recipe restores; what was held before is then
        computed again from what the driver knows.
    log : RoundLog
    remote : bool
        Whether bytes that move cost anything.
    """

    remote = False

    def __init__(self) -> None:
        self.generation = 0
        self.log = RoundLog()
        self.restore: Callable[[Exception], None] = lambda error: None

    @abstractmethod
    def load(self, partitions: Sequence[Any]) -> list[Any]:
        """Return handles of the blocks that Dask objects stand for."""

    @abstractmethod
    def may_hold(self, n_bytes: float) -> bool:
        """Return whether so much can be kept between rounds."""

    @abstractmethod
    def each(self, function: Callable, *columns: Sequence[Any]) -> list[Any]:
        """Call a function for each partition, with one entry of every column: a list of handles."""

    @abstractmethod
    def hold(self, handles: Sequence[Any]) -> list[Any]:
        """Keep results where they are computed, for several rounds."""

    @abstractmethod
    def spread(self, values: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
        """Send each partition its own value."""

    @abstractmethod
    def common(self, value: Any) -> Any:
        """Send all partitions the same value."""

    def status(self, handle: Any) -> str:
        """Return the state of a handle; "cancelled", "lost" and "error" are those without a result."""
        return ""

    @abstractmethod
    def _gather(self, handles: Sequence[Any]) -> list[Any]: ...

    @abstractmethod
    def _is_loss(self, error: BaseException) -> bool: ...

    def _changes(self, after: float | None = None) -> str:
        """Say which workers came and went, if that was not asked within so many (or a few) seconds."""
        return ""

    def total(self, handles: Sequence[Any]) -> Any:
        """Return the handle of the sum, in a tree of fixed shape: the bits do not depend on the workers."""
        handles = list(handles)
        while len(handles) > 1:
            groups = [handles[start : start + FAN_IN] for start in range(0, len(handles), FAN_IN)]
            handles = self.each(add_all, groups)
        return handles[0]

    def round(self, send: Callable[[], Sequence[Any]]) -> list[Any]:
        """Send tasks and bring their results; where a worker took something with it, send them again."""
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


class Held:
    """Results that stay where they are, and how to make them again when a worker took them with it."""

    def __init__(self, engine: Engine, make: Callable[[], Sequence[Any]]):
        self._engine = engine
        self._make = make
        self._generation = -1

    @property
    def held(self) -> bool:
        """Whether they were made, and no worker was lost since."""
        return self._generation == self._engine.generation

    @property
    def handles(self) -> list[Any]:
        """One handle for each partition."""
        if not self.held:
            self._handles = self._engine.hold(self._make())
            self._generation = self._engine.generation
        return self._handles


class HeldRows(Held):
    """The blocks themselves. Dask knows how to load them again, or the driver keeps what it scattered.

    Attributes
    ----------
    loaded : bool
        Whether all of them were seen once: from then on, an error of loading is a loss.
    """

    def __init__(self, engine: Engine, handles: list[Any], kept: list[Any] | None = None):
        self._engine = engine
        self._handles = handles
        self._kept = kept
        self.loaded = False

    @property
    def handles(self) -> list[Any]:
        """One handle for each partition."""
        return self._handles

    def restore(self, error: Exception) -> None:
        """After an error: send again what the driver keeps, and say what is lost for good."""
        reason = f"{type(error).__name__}: {error}".rstrip(".")
        if self.loaded and (unreadable := self._numbers("error")):
            raise PartitionLostError(unreadable, len(self._handles), reason) from error
        if self.loaded and not self._engine.remote and isinstance(error, OSError):
            raise PartitionLostError((), len(self._handles), reason) from error
        lost = self._numbers("cancelled", "lost")
        if lost and self._kept is None:
            raise PartitionLostError(lost, len(self._handles)) from error
        if lost and self._kept is not None:
            sent = self._engine.spread([self._kept[k] for k in lost], [self._handles[k] for k in lost])
            for k, handle in zip(lost, self._engine.each(as_block, sent), strict=True):
                self._handles[k] = handle

    def _numbers(self, *states: str) -> list[int]:
        return [k for k, handle in enumerate(self._handles) if self._engine.status(handle) in states]


def constant(value: Any) -> Any:
    """Return a Delayed that stands for a value in memory."""
    from dask import delayed

    return delayed(value, traverse=False, pure=False)


def same(value: Any) -> Any:
    """Return what was given: the task that holds an argument of many others."""
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
