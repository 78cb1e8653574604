"""Partitions on this machine, which together may exceed its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rankwise.core.memory import available_memory
from rankwise.distributed.blocks import as_block
from rankwise.distributed.engine import Engine, constant


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
