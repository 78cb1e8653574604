"""Checkpoints, from which an interrupted training continues."""

from __future__ import annotations

import hashlib
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
from rankwise.io.checkpoint import Checkpoint

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
    digest = hashlib.blake2b(digest_size=16)
    kept = {name: value for name, value in settings.items() if name not in FREE_SETTINGS}
    digest.update(json.dumps(kept, sort_keys=True, default=str).encode())
    for part in [rows_digest(data.X), target_digest(data.y), column_digest(data.qid)]:
        digest.update(part)
    return digest.hexdigest()


def target_digest(y: Any) -> bytes:
    """Digest labels, right-censored times with their strata, or clicks with their weights."""
    if not hasattr(y, "groups"):
        return column_digest(y)
    clicks = [getattr(y, name) for name in ("click_weight", "impression") if hasattr(y, name)]
    return b"".join(map(array_digest, (y.values, y.event, y.groups(), *clicks)))


def rows_digest(X: Any) -> bytes:
    """Digest rows; those of partitions are read on their workers."""
    if hasattr(X, "blocks"):
        return _blocks_digest(block_digest, X.blocks)
    return _joined_digest([array_digest(part) for part in _arrays_of(X)])


def column_digest(values: Any) -> bytes:
    """Digest labels or queries; those of partitions are read on their workers."""
    return _blocks_digest(array_digest, values.blocks) if hasattr(values, "blocks") else array_digest(values)


def _blocks_digest(digest: Callable[[Any], bytes], blocks: list[Any]) -> bytes:
    engine = current_engine()
    return _joined_digest(engine.execute(lambda: engine.map(digest, blocks)))


def _joined_digest(parts: list[bytes]) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()


def block_digest(rows: Any) -> bytes:
    """Digest the rows of one partition."""
    return rows_digest(rows if is_frame(rows) else as_block(rows).X)


def _arrays_of(X: Any) -> list[Any]:
    return [X.data, X.indices, X.indptr, X.shape] if hasattr(X, "indptr") else [X]


def array_digest(values: Any) -> bytes:
    """Digest the type, the shape and the entries of an array, or None."""
    array = np.ascontiguousarray(np.zeros(0) if values is None else values)
    digest = hashlib.blake2b(f"{array.dtype}{array.shape}".encode(), digest_size=16)
    text = json.dumps(array.tolist(), default=str) if array.dtype.hasobject else None
    digest.update(array.data if text is None else text.encode())
    return digest.digest()


def leftover(model_path: str) -> bool:
    """Return whether an earlier training left a checkpoint."""
    return os.path.exists(f"{model_path}.checkpoint")
