"""Files with the state of an unfinished fit or search, from which a later one continues."""

from __future__ import annotations

import io
import json
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.core.states import State, nested, part_of
from rankwise.core.types import FloatArray, FloatVector
from rankwise.io.atomic import atomic_write

# What is saved of a fit beside its weights.
NUMBERS = ("iteration", "gap", "objective", "seconds")


@dataclass
class Saved:
    """What a checkpoint holds.

    Attributes
    ----------
    iteration, gap, objective, seconds : numbers
        Of the fit to all rows, as far as it has come.
    coef : array of shape (n_weights,), or None before that fit has begun
    identity : dict
        The model and the data of a search, in numbers and words.
    search : dict of arrays
        The course of the search: its grid, the errors so far, and what the next candidate starts from.
    """

    iteration: int = 0
    gap: float | None = None
    objective: float | None = None
    seconds: float = 0.0
    coef: FloatVector | None = None
    identity: dict[str, Any] = field(default_factory=dict)
    search: State = field(default_factory=dict)

    @property
    def n_compared(self) -> int:
        """The number of candidates that the search has compared."""
        return sum(len(self.search.get(name, ())) for name in ("errors", "above"))


class Checkpoint:
    """A callback that saves the state of a fit every few iterations, and from which a fit continues.

    If the file exists, the fit starts from its weights. The solution is the same from every start, and only
    the number of iterations changes: a script can be run again, unchanged, after a crash or on another
    cluster. `RankSVM`, `RankLogistic`, `CurveRanker` and `OrdinalSVM` with a number for `alpha` start from a
    checkpoint.

    The estimators that choose alpha save after each candidate, and a search that is continued makes the
    choice of one without an interruption. A search that keeps no state between candidates is repeated: the
    closed forms of `RankRLSCV`, trees, rows on Dask, and several values of `l1_ratio`. The file is kept when
    the fit ends.

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
        self.saved, self._before, self.is_searching = Saved(), Saved(), False
        self._known: tuple[Any, dict[str, Any]] = None, {}

    @property
    def iteration(self) -> int:
        """The iterations so far, as of the last write."""
        return self.saved.iteration

    def __call__(self, state: Any) -> None:
        """Save the weights of an iteration, if it is time; fits of a search are not saved."""
        if self.is_searching or not self.is_due(state):
            return
        self.record(state)
        self.write()

    def is_due(self, state: Any) -> bool:
        """Return whether an iteration is saved."""
        return state.iteration % self.every == 0

    def record(self, state: Any) -> None:
        """Take the weights of an iteration."""
        saved = self.saved
        saved.coef, saved.iteration = state.coef, self._before.iteration + state.iteration
        saved.seconds = self._before.seconds + state.seconds
        saved.objective, saved.gap = float(np.max(state.objective)), float(np.max(state.gap))

    def starting_weights(self, n_weights: int) -> FloatVector | None:
        """Return the saved weights, None if there are none; another number of weights is refused."""
        if self.is_searching:
            return None
        self.load()
        coef = self.saved.coef
        if coef is not None and coef.shape != (n_weights,):
            raise self._foreign(f"has weights of shape {coef.shape}, but this fit needs {n_weights}")
        return coef

    def resumed(self, progress: Any) -> None:
        """Put into a search what an earlier run has found."""
        self.is_searching = True
        self.load()
        self.put_into(progress)

    def put_into(self, progress: Any) -> None:
        """Put the search that was loaded into another one; refuse the state of another kind."""
        saved = self.saved.search
        if not saved:
            return
        is_same = np.array_equal(saved["grid"], progress.grid)
        if not is_same or self.saved.identity != self.identity_of(progress):
            raise self._foreign("has another search")
        try:
            progress.held_out.restore(part_of(saved, "state"))
        except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise incomplete(self.path) from None
        progress.errors += list(saved["errors"])
        progress.above += list(saved["above"])
        progress.is_over = bool(saved["is_over"])
        self.is_searching = not progress.is_over

    def searched(self, progress: Any) -> None:
        """Save the course of a search after a candidate, unless a search of this kind keeps no state."""
        self.is_searching = not progress.is_over
        state = progress.held_out.state() if progress.held_out.is_kept else None
        if state is None:
            return
        errors = {name: _stacked(getattr(progress, name)) for name in ("errors", "above")}
        self.saved.search = {"grid": progress.grid, "is_over": np.array(progress.is_over)} | errors
        self.saved.search |= nested("state", state)
        self.saved.identity = self.identity_of(progress)
        self.write()

    def identity_of(self, progress: Any) -> dict[str, Any]:
        """Return the model and the data of a search, as a file has them; the data are digested once."""
        if self._known[0] is not progress.held_out:
            self._known = progress.held_out, as_read(progress.held_out.identity())
        return self._known[1]

    def load(self) -> bool:
        """Read the file; return whether there is one."""
        try:
            header, arrays = read_checkpoint(self.path)
        except FileNotFoundError:
            return False
        self.check_header(header)
        try:
            self.saved = _saved(header["saved"], arrays)
        except (KeyError, TypeError, ValueError):
            raise incomplete(self.path) from None
        self._before = Saved(self.saved.iteration, seconds=self.saved.seconds)
        return True

    def header(self) -> dict[str, Any]:
        """Return the marks of the file, by which others are refused."""
        return {}

    def check_header(self, header: dict[str, Any]) -> None:
        """Refuse the file of another fit, as far as its header shows."""

    def write(self) -> None:
        """Write the file, atomically; an error, such as a full disk, does not end the fit."""
        saved = self.saved
        numbers = {name: getattr(saved, name) for name in (*NUMBERS, "identity")}
        arrays = nested("search", saved.search)
        if saved.coef is not None:
            arrays["coef"] = saved.coef
        try:
            write_checkpoint(self.path, self.header() | {"saved": numbers}, arrays)
        except OSError as error:
            self.not_written(error)

    def not_written(self, error: OSError) -> None:
        """Warn that the file could not be written."""
        warnings.warn(f"The checkpoint could not be written: {error}", RuntimeWarning, stacklevel=2)

    def _foreign(self, reason: str) -> ValueError:
        return ValueError(
            f"{str(self.path)!r} {reason}: it is a checkpoint of other data or settings. Delete it, or use "
            "another path."
        )


def _stacked(errors: list[FloatArray]) -> FloatArray:
    return np.array(errors) if errors else np.empty((0, 0, 0))


def _saved(numbers: dict[str, Any], arrays: State) -> Saved:
    """Return the content of a file; refuse values of other types than were written."""
    iteration, rest = numbers["iteration"], {name: numbers[name] for name in NUMBERS[1:]}
    if type(iteration) is not int or not all(
        isinstance(value, int | float | None) for value in rest.values()
    ):
        raise TypeError
    search = part_of(arrays, "search")
    if search and (search["errors"].ndim != 3 or search["above"].ndim != 3 or search["grid"].ndim != 1):
        raise ValueError
    identity = numbers["identity"]
    return Saved(iteration, coef=arrays.get("coef"), identity=identity, search=search, **rest)


def as_read(identity: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON gives them back."""
    return json.loads(json.dumps(identity, default=float))


def write_checkpoint(path: Path, header: dict[str, Any], arrays: State) -> None:
    """Write values that JSON can hold, and arrays; the file is replaced atomically."""
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, header=text, **arrays)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], State]:
    """Read a checkpoint; a file of another kind raises a `ValueError`."""
    content = path.read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file}
        header = json.loads(arrays.pop("header").tobytes())
        kinds = {array.dtype.kind for array in arrays.values()}
        coef = arrays.get("coef", np.zeros(0))
        if not isinstance(header, dict) or not kinds <= set("fib") or not np.isfinite(coef).all():
            raise TypeError
    except Exception:  # the readers of zip, arrays and JSON raise many types
        raise incomplete(path) from None
    return header, arrays


def incomplete(path: Path) -> ValueError:
    """Return the error of a file that is damaged, or of another version."""
    return ValueError(
        f"{str(path)!r} is not a complete checkpoint of this version of rankwise; delete it, or use another "
        "path."
    )
