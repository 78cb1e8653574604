"""Partitions on this machine, which may be larger than its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rankwise.core.memory import available_memory
from rankwise.distributed.blocks import as_block
from rankwise.distributed.engine import Engine, constant


class ThreadEngine(Engine):
    """Dask's threads: blocks are loaded in each round and forgotten, so they need not fit into memory."""

    def load(self, partitions: Sequence[Any]) -> list[Any]:
        """Nothing is loaded before it is needed."""
        return self.each(as_block, partitions)

    def may_hold(self, n_bytes: float) -> bool:
        """Return whether so much leaves room in the memory of this process."""
        free = available_memory()
        return free is None or n_bytes <= free / 4

    def each(self, function: Callable, *columns: Sequence[Any]) -> list[Any]:
        """Build the tasks; nothing runs yet."""
        from dask import delayed

        task = delayed(function, pure=False)
        return [task(*row) for row in zip(*columns, strict=True)]

    def hold(self, handles: Sequence[Any]) -> list[Any]:
        """Compute, and keep the results in memory."""
        return [constant(value) for value in self._gather(handles)]

    def spread(self, values: Sequence[Any], blocks: Sequence[Any]) -> list[Any]:
        """Nothing need be sent."""
        return list(values)

    def common(self, value: Any) -> Any:
        """Nothing need be sent."""
        return value

    def _gather(self, handles: Sequence[Any]) -> list[Any]:
        import dask

        return list(dask.compute(*handles, scheduler="threads", optimize_graph=False))

    def _is_loss(self, error: BaseException) -> bool:
        return False
