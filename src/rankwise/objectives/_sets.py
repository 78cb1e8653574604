"""The preferences of the training and validation sets of a booster."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector, IntVector
from rankwise.preferences import Preferences

# The number of sets of one booster that are cached: its training set and validation sets.
REMEMBERED = 16


@dataclass(frozen=True)
class Rows:
    """A set of rows as a booster describes it.

    Attributes
    ----------
    labels : array of shape (n_rows,)
    weight : array of shape (n_rows,) or (n_queries,), optional
    sizes : array of shape (n_queries,), optional
        The numbers of rows of the queries, which are contiguous.
    taken : array of shape (n_rows,), optional
        The row numbers in the set of which this one is a subset.
    source : object, optional
        An object that the booster passes for this set only, the same in each round.
    """

    labels: FloatVector
    weight: FloatVector | None = None
    sizes: IntVector | None = None
    taken: IntVector | None = None
    source: Any = None

    def __len__(self) -> int:
        return len(self.labels)

    def equals(self, other: Rows) -> bool:
        """Return whether two sets are equal, whatever their source."""
        return all(map(_same, self._columns().values(), other._columns().values()))

    def copied(self) -> Rows:
        """Return a copy, since boosters reuse their memory."""
        columns: Any = {
            name: None if column is None else np.array(column) for name, column in self._columns().items()
        }
        return Rows(**columns)

    def _columns(self) -> dict[str, Any]:
        return {name: column for name, column in vars(self).items() if name != "source"}

    def preferences(self) -> Preferences:
        """Return the ranking by the labels, within queries if there are several."""
        if self.sizes is None or len(self.sizes) == 0:
            return Preferences.from_scores(self.labels, sample_weight=self.weight)
        sizes = np.asarray(self.sizes, dtype=np.int64)
        query = np.repeat(np.arange(len(sizes)), sizes)
        if self.weight is not None and len(self.weight) == len(sizes):
            return Preferences.from_scores(self.labels, query, query_weight=np.repeat(self.weight, sizes))
        return Preferences.from_scores(self.labels, query, sample_weight=self.weight)


class RowSets:
    """The preferences of the training set of a booster, and of the sets that it is evaluated on.

    A booster does not identify the set that it passes. Validation sets are identified by their number of
    rows, and sets of equal size by their order. A training set of the same size is identified by its source,
    or by its labels, weights and groups. Without preferences, rows are ranked by their labels.
    """

    _training: Rows | None = None  # that the derivatives were last asked for
    _source: Any = None  # a weak reference, since boosters may let go of their rows

    def __init__(self, training: Preferences | None, validation: Any):
        self.given = training
        self.validation = _checked(validation, training)
        self._evaluated = 0

    def __getstate__(self) -> dict[str, Any]:
        """Copy without the training set, so that a saved model does not include its data."""
        return {name: part for name, part in vars(self).items() if name not in ("_training", "_source")}

    def begin_round(self, training: Rows) -> None:
        """Start a new round: the next validation set is the first one."""
        self._evaluated = 0
        if self.validation and (self._training is None or not training.equals(self._training)):
            self._training = training.copied()
        self._source = None if training.source is None else weakref.ref(training.source)

    def next_evaluated(self, rows: Rows) -> int | None:
        """Return the number of this validation set, or None for any other set."""
        same = [number for number, known in enumerate(self.validation) if known.n_rows == len(rows)]
        if not same or self._is_training(rows):
            return None
        number = same[self._evaluated % len(same)]
        self._evaluated += len(same) > 1
        return number

    def _is_training(self, rows: Rows) -> bool:
        """Tell whether a set with as many rows as a validation set is the training set."""
        if self.given is None or self.given.n_rows != len(rows):
            return False
        if rows.source is not None and self._source is not None and self._source() is rows.source:
            return True
        told_by_labels = rows.source is None or np.ptp(rows.labels) > 0
        if self._training is None or (told_by_labels and rows.equals(self._training)):
            raise ValueError(
                f"The booster evaluates a set of {len(rows)} rows, as many as the training set and a "
                "validation set have, and nothing tells the two apart: give the rows of the validation set "
                "labels of their own (they have no effect), and evaluate the training set itself, no copy."
            )
        return False

    def preferences(self, rows: Rows, number: int | None = None) -> Preferences:
        """Return the preferences of a validation set or, without its number, of the training set."""
        if self.given is None:
            return rows.preferences()
        known = self.given if number is None else self.validation[number]
        if known.n_rows != len(rows):
            known = self._part(known, rows)
        return known if rows.weight is None else known.weighted(rows.weight)

    def _part(self, known: Preferences, rows: Rows) -> Preferences:
        if rows.taken is not None and rows.taken.max(initial=-1) < known.n_rows:
            return known[rows.taken]
        counts = ", ".join(str(each.n_rows) for each in (known, *self.validation))
        raise ValueError(
            f"The booster has a set of {len(rows)} rows, but preferences were given for sets of {counts} "
            "rows: pass those of every evaluated set as validation=[...]."
        )


class Memory:
    """A cache of objects per set of rows; the sets are the same in each round."""

    def __init__(self) -> None:
        self._known: list[tuple[Any, Rows, Any]] = []

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        """Copy without content, so that a saved model does not include its training data."""
        return Memory, ()

    def __call__(self, key: Any, rows: Rows, make: Callable[[], Any]) -> Any:
        """Return the cached result of `make` for these rows, or call it."""
        for known_key, known_rows, made in self._known:
            if known_key == key and known_rows.equals(rows):
                return made
        made = make()
        self._known = [(key, rows.copied(), made), *self._known[: REMEMBERED - 1]]
        return made


def _same(first: Any, second: Any) -> bool:
    return first is second or (first is not None and second is not None and np.array_equal(first, second))


def _checked(validation: Any, training: Preferences | None) -> Sequence[Preferences]:
    """Return a list of preferences."""
    if validation is None:
        return []
    listed = [validation] if isinstance(validation, Preferences) else list(validation)
    wrong = [entry for entry in listed if not isinstance(entry, Preferences)]
    if wrong:
        raise ValueError(
            f"validation must be a Preferences or a list of them; got a {type(wrong[0]).__name__}."
        )
    if training is None:
        raise ValueError("validation needs preferences; without both, the labels are ranked.")
    return listed
