"""Checkpoints, from which an interrupted training continues."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

from rankwise.cli.data import Data
from rankwise.cli.output import sentence
from rankwise.core.warn import warn_caller
from rankwise.data.columns import is_frame
from rankwise.distributed.blocks import as_block
from rankwise.distributed.client import current_engine
from rankwise.io.checkpoint import Checkpoint, as_read
from rankwise.model_selection.digests import digest

# Stopping rules and threads, which may change when a run is continued.
FREE_SETTINGS = ("tol", "max_iter", "n_jobs")


class RunCheckpoint(Checkpoint):
    """The checkpoint of a training, beside its model, which is written at an interval.

    Parameters
    ----------
    model_path : str
        The path of the model; the checkpoint has the additional suffix .checkpoint.
    fingerprint : str
        A digest of the data and the settings; a checkpoint with another one is refused.
    interval : float
        The interval in seconds.
    """

    def __init__(self, model_path: str, fingerprint: str, interval: float):
        super().__init__(f"{model_path}.checkpoint")
        self.fingerprint = fingerprint
        self.interval = interval
        self.note: Callable[[str], None] = warn_caller
        self._written = monotonic()

    def is_due(self, state: Any) -> bool:
        """Return whether the interval has passed."""
        return monotonic() - self._written >= self.interval

    def starting_weights(self, n_weights: int) -> Any:
        """Return the weights of the file that was loaded, if there are as many."""
        coef = self.saved.coef
        return None if self.is_searching or coef is None or coef.shape != (n_weights,) else coef

    def resumed(self, progress: Any) -> None:
        """Put into a search what the file that was loaded has."""
        self.is_searching = True
        self.put_into(progress)

    def identity_of(self, progress: Any) -> dict[str, Any]:
        """Return the model of a search; the fingerprint has its data and folds."""
        return as_read(progress.held_out.identity(digested=False))

    def write(self) -> None:
        """Write the file, and restart the interval."""
        super().write()
        self._written = monotonic()

    def header(self) -> dict[str, Any]:
        """Return the fingerprint."""
        return {"fingerprint": self.fingerprint}

    def check_header(self, header: dict[str, Any]) -> None:
        """Refuse a file of other data or settings."""
        if header.get("fingerprint") != self.fingerprint:
            raise ValueError(
                f"{str(self.path)!r} is a checkpoint of other data or settings; use the original ones, or "
                "train without --resume."
            )

    def not_written(self, error: OSError) -> None:
        """Report that the file could not be written."""
        self.note(f"warning: the checkpoint could not be written. {sentence(error)}")

    def delete(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)


def fingerprint(data: Data, settings: dict[str, Any]) -> str:
    """Return a digest of the data and settings."""
    kept = {name: value for name, value in settings.items() if name not in FREE_SETTINGS}
    text = json.dumps(kept, sort_keys=True, default=str)
    return digest(text, *(of_partitions(part) for part in (data.X, data.y, data.qid)))


def of_partitions(values: Any) -> Any:
    """Return values, or the digests of their partitions, which are read on their workers."""
    if not hasattr(values, "blocks"):
        return values
    engine = current_engine()
    return engine.execute(lambda: engine.map(partition_digest, values.blocks))


def partition_digest(part: Any) -> str:
    """Digest the rows, labels or queries of one partition."""
    return digest(part if isinstance(part, np.ndarray) or is_frame(part) else as_block(part).X)


def leftover(model_path: str) -> bool:
    """Return whether an earlier training left a checkpoint."""
    return os.path.exists(f"{model_path}.checkpoint")
