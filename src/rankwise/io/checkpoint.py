"""Files with the weights of an unfinished fit, from which a later fit continues."""

from __future__ import annotations

import io
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.io.atomic import atomic_write


class Checkpoint:
    """A callback that saves the weights of a fit every few iterations, and from which a fit continues.

    If the file exists, the fit starts from its weights. The solution is the same from every start, and only
    the number of iterations changes: a script can be run again, unchanged, after a crash or on another
    cluster. `RankSVM`, `RankLogistic`, `CurveRanker` and `OrdinalSVM` with a number for `alpha` start from a
    checkpoint; a search for alpha is repeated. The file is kept when the fit ends.

    Parameters
    ----------
    path : path
        The file is replaced atomically. A file that cannot be written is a warning, not an error.
    every : int
        The number of iterations between two saves.

    Attributes
    ----------
    iteration : int
        The iterations that earlier runs and this one have taken, as of the last write.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rankwise import Checkpoint, RankSVM
    >>> from rankwise.datasets import make_ranking
    >>> X, y, qid = make_ranking(400, 5, n_queries=20, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> saved = pathlib.Path(folder.name, "fit.checkpoint")
    >>> first = RankSVM(solver="bundle", tol=1e-6, callback=Checkpoint(saved, every=1)).fit(X, y, qid=qid)
    >>> again = RankSVM(solver="bundle", tol=1e-6, callback=Checkpoint(saved, every=1)).fit(X, y, qid=qid)
    >>> again.n_iter_ < first.n_iter_
    True
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 10):
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"every must be an integer of at least 1; got {every!r}.")
        self.path, self.every = Path(path), every
        if self.path.is_dir():
            raise ValueError(f"{str(path)!r} is a folder; give the path of a file.")
        self.iteration = 0
        self._before = 0

    def __call__(self, state: Any) -> None:
        """Save the weights of an iteration, if it is time."""
        if state.iteration % self.every:
            return
        self.iteration = self._before + state.iteration
        header = {"iteration": self.iteration, "gap": float(np.max(state.gap))}
        try:
            write_checkpoint(self.path, header, state.coef)
        except OSError as error:
            warnings.warn(f"The checkpoint could not be written: {error}", RuntimeWarning, stacklevel=2)

    def starting_weights(self, n_weights: int) -> FloatVector | None:
        """Return the saved weights, None without a file; another number of weights is refused."""
        self._before = 0
        try:
            header, coef = read_checkpoint(self.path)
        except FileNotFoundError:
            return None
        if coef is None or coef.shape != (n_weights,):
            has = "no weights" if coef is None else f"weights of shape {coef.shape}"
            raise ValueError(
                f"{str(self.path)!r} has {has}, but this fit needs {n_weights}: it is a checkpoint of other "
                "data or settings. Delete it, or use another path."
            )
        self._before = self.iteration = int(header.get("iteration", 0))
        return coef


def write_checkpoint(path: Path, header: dict[str, Any], coef: Any) -> None:
    """Write values that JSON can hold and, unless None, weights; the file is replaced atomically."""
    arrays = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    if coef is not None:
        arrays["coef"] = coef
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], Any]:
    """Read a checkpoint; a file of another kind raises a `ValueError`."""
    content = path.read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            header, coef = json.loads(arrays["header"].tobytes()), arrays.get("coef")
        if not isinstance(header, dict):
            raise TypeError
        if coef is not None and (coef.dtype != np.float64 or not np.isfinite(coef).all()):
            raise TypeError
    except Exception:  # the readers of zip, arrays and JSON raise many types
        raise ValueError(f"{str(path)!r} is not a complete checkpoint; delete it.") from None
    return header, coef
