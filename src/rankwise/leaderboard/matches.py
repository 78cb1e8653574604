"""Matches between named items, as columns of names, outcomes, weights and dates, or as a frame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise.core.checks import as_array, as_they_are, as_vector, as_weights, is_missing
from rankwise.core.text import listed, plural
from rankwise.core.types import FloatArray, FloatVector, ShortVector
from rankwise.core.warn import warn_caller
from rankwise.data.columns import columns_by_name
from rankwise.leaderboard.covariates import Covariates, read_covariates

# Text of a compact date, and text that ends in a zone after a time.
COMPACT = re.compile("[0-9]{8}")
ZONED = re.compile(r"[T ][0-9].*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$")
LISTED = 5
# Intervals by two clusters cover 91% in simulations, by three or more 92 to 96%; those by few are very long.
FEWEST_CLUSTERS, FEW_CLUSTERS = 3, 5
OUTCOMES = {
    "win": 1.0, "loss": 0.0, "tie": 0.5, "draw": 0.5, 1: 1.0, 0: 0.0, 0.5: 0.5,
    "model_a": 1.0, "model_b": 0.0, "tie (bothbad)": 0.5, "bothbad": 0.5, "both_bad": 0.5,
}  # fmt: skip
NAMES = (("winner", "loser"), ("a", "b"))
# The columns of tables of matches: of both items, and of the outcome for the first if it is not the winner.
LAYOUTS = (
    {"a": "winner", "b": "loser"},
    {"a": "chosen", "b": "rejected"},
    {"a": "model_a", "b": "model_b", "outcome": "winner"},
    {"a": "a", "b": "b", "outcome": "outcome"},
)
KNOWN_COLUMNS = "winner and loser, chosen and rejected, model_a, model_b and winner, or a, b and outcome"


@dataclass(frozen=True)
class Matches:
    """Matches of positive weight, one entry each.

    Attributes
    ----------
    items : array of shape (n_items,)
        The names, sorted if they can be.
    first, second : int arrays of shape (n_matches,)
        Indices in `items`.
    result : array of shape (n_matches,), or None if the first won all
        1 if the first won, 0 if it lost, 0.5 for a tie.
    weight : array of shape (n_matches,), or None if all are 1
    clusters : tuple of int arrays of shape (n_matches,)
        The clusters of each match, one array per column.
    covariates : Covariates, optional
        Of each match, for the first item, in units of their root mean square.
    judges : array of shape (n_judges,), or None
        The names of judges.
    judge : int array of shape (n_matches,), or None
        Indices in `judges`.
    """

    items: NDArray[Any]
    first: ShortVector
    second: ShortVector
    result: FloatVector | None
    weight: FloatVector | None
    clusters: tuple[ShortVector, ...] = ()
    covariates: Covariates | None = None
    judges: NDArray[Any] | None = None
    judge: ShortVector | None = None

    @property
    def covariate_values(self) -> FloatArray | None:
        """The covariates of each match in their units, or None."""
        return None if self.covariates is None else self.covariates.values

    @property
    def has_counts(self) -> bool:
        """Whether all weights are whole numbers, so that a match of weight 2 is two matches."""
        return self.weight is None or bool((self.weight % 1.0 == 0.0).all())


def layout_of(present: Sequence[Any]) -> dict[str, str] | None:
    """Return the columns of a table by their meaning, or None if the names of columns do not tell.

    Examples
    --------
    >>> layout_of(["question", "model_a", "model_b", "winner", "weight"])
    {'a': 'model_a', 'b': 'model_b', 'outcome': 'winner', 'weight': 'weight'}
    """
    layout = next((one for one in LAYOUTS if set(one.values()) <= set(present)), None)
    if layout is None:
        return None
    others = ("weight", "date") if "outcome" in layout else ("outcome", "weight", "date")
    return layout | {name: name for name in others if name in present}


def frame_columns(frame: Any, **given: Any) -> dict[str, Any]:
    """Return the columns of a frame, or mapping of columns, by their meaning, and arguments that are given.

    An argument may name a column of the frame; a list of names becomes a mapping of covariates, or a list of
    columns. Other values stay as they are.

    Examples
    --------
    >>> frame = {"winner": ["x"], "loser": ["y"], "user": ["u"], "length": [3]}
    >>> frame_columns(frame, cluster="user", covariates=["length"], date=None)
    {'a': ['x'], 'b': ['y'], 'cluster': ['u'], 'covariates': {'length': [3]}}
    """
    columns = columns_by_name(frame)
    if columns is None:
        raise ValueError("loser must be given, unless a frame with both columns is; got None.")
    layout = layout_of(list(columns))
    if layout is None:
        raise ValueError(
            f"A frame of matches must have the columns {KNOWN_COLUMNS}; it has "
            f"{', '.join(map(str, columns)) or 'none'}."
        )
    named = {argument: _named(columns, argument, value) for argument, value in given.items()}
    return {meaning: columns[name] for meaning, name in layout.items()} | {
        argument: value for argument, value in named.items() if value is not None
    }


def _named(columns: dict[Any, Any], argument: str, value: Any) -> Any:
    """Return the column or columns that an argument names, or the argument."""
    names = [value] if isinstance(value, str) else value
    if not (isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)):
        return value
    unknown = [name for name in names if name not in columns]
    if unknown and not isinstance(value, str) and argument != "covariates":
        return value  # labels, one per match
    if unknown:
        raise ValueError(
            f"{argument} names the column {unknown[0]!r}, which the frame does not have; it has "
            f"{', '.join(map(str, columns))}."
        )
    if argument == "covariates":
        return {name: columns[name] for name in names}
    return columns[value] if isinstance(value, str) else [columns[name] for name in names]


def read_matches(
    a: Any,
    b: Any,
    weight: ArrayLike | None = None,
    *,
    outcome: Any = None,
    date: Any = None,
    half_life: float | None = None,
    cluster: Any = None,
    covariates: Any = None,
    judge: Any = None,
) -> Matches:
    """Return the matches of two columns of names; without outcomes, `a` won each match.

    With a half-life, the weight of a match halves per half-life before the latest match.
    """
    items, (first, second) = numbered(dict(zip(NAMES[outcome is not None], (a, b), strict=True)))
    result = None if outcome is None else results_of(outcome, len(first))
    weights = None if weight is None else as_weights(weight, "weight", len(first))
    if half_life is not None:
        given = np.ones(len(first)) if weights is None else weights
        weights = _faded(given, ages_of(date, len(first)), half_life)
    if weights is not None and not np.isfinite(2.0 * _sum(weights)):
        raise ValueError("The sum of weight overflows; divide all weights by the same number.")
    clusters = () if cluster is None else _clusters_of(cluster, len(first))
    rows = None
    if covariates is not None:
        rows = read_covariates(covariates, len(first), is_difference=outcome is None)
    judges = (None, None) if judge is None else _judges_of(judge, len(first))
    matches = _without_zeros(Matches(items, first, second, result, weights, clusters, rows, *judges))
    if matches.covariates is None:
        return matches
    return replace(matches, covariates=matches.covariates.scaled(matches.weight))


def _judges_of(judge: Any, length: int) -> tuple[NDArray[Any], ShortVector]:
    """Return the names of judges, and the code of the judge of each match."""
    names, (codes,) = numbered({"judge": judge})
    if len(codes) != length:
        raise ValueError(f"judge has {len(codes)} entries for {plural(length, 'match')}.")
    return names, codes


def _clusters_of(cluster: Any, length: int) -> tuple[ShortVector, ...]:
    """Return the codes of one column of clusters, or of two: a pair, a frame or an array of two columns."""
    if (by_name := columns_by_name(cluster)) is not None:
        columns = list(by_name.values())
    elif isinstance(cluster, np.ndarray) and cluster.ndim == 2:
        columns = list(cluster.T)
    elif isinstance(cluster, list | tuple) and cluster and all(map(_is_column, cluster)):
        columns = list(cluster)
    else:
        columns = [cluster]
    if len(columns) > 2:
        raise ValueError(f"cluster must be one column or two; got {len(columns)}.")
    codes = tuple(numbered({"cluster": column})[1][0] for column in columns)
    for one in codes:
        if len(one) != length:
            raise ValueError(f"cluster has {len(one)} entries for {plural(length, 'match')}.")
        n_clusters = int(one.max()) + 1
        if n_clusters < FEWEST_CLUSTERS:
            raise ValueError(
                f"cluster has {plural(n_clusters, 'value')}; errors need at least {FEWEST_CLUSTERS} "
                "clusters. Leave cluster out only if the votes are independent."
            )
        if n_clusters < FEW_CLUSTERS:
            warn_caller(
                f"cluster has {n_clusters} values: intervals by so few clusters are very long, and a "
                "difference is seldom clear."
            )
    return codes


def _is_column(value: Any) -> bool:
    return not isinstance(value, str | tuple) and (hasattr(value, "__len__") or hasattr(value, "to_numpy"))


def _sum(weights: FloatVector) -> float:
    with np.errstate(over="ignore"):
        return float(weights.sum())


def _faded(weights: FloatVector, ages: FloatVector, half_life: float) -> FloatVector:
    """Halve weights per half-life; warn of matches that are too old to count."""
    faded = weights * 0.5 ** (ages / half_life)
    if not faded.any():
        raise ValueError(f"half_life={half_life:g} leaves no match with a weight above 0.")
    n_lost = int(((faded == 0) & (weights > 0)).sum())
    if n_lost:
        warn_caller(
            f"half_life={half_life:g} gives {plural(n_lost, 'match')} a weight of 0; the oldest is "
            f"{ages.max():g} before the latest, in days or in the unit of date."
        )
    return faded


def _without_zeros(matches: Matches) -> Matches:
    """Drop matches of weight 0 and keep their items; refuse an item compared with itself."""
    itself = np.flatnonzero(matches.first == matches.second)
    if len(itself):
        row = int(itself[0])
        name = matches.items.tolist()[matches.first[row]]
        raise ValueError(f"Row {row} compares {name!r} with itself; a match needs two items.")
    if matches.weight is None or matches.weight.all():
        return matches
    kept = matches.weight > 0
    first, second = matches.first[kept], matches.second[kept]
    alone = np.setdiff1d(np.arange(len(matches.items)), np.concatenate([first, second]))
    if len(alone):
        names = listed([str(name) for name in matches.items[alone].tolist()], LISTED)
        warn_caller(f"All matches of {names} have a weight of 0 and do not determine the score.")
    result = None if matches.result is None else matches.result[kept]
    clusters = tuple(codes[kept] for codes in matches.clusters)
    covariates = None if matches.covariates is None else matches.covariates.take(kept)
    judge = None if matches.judge is None else matches.judge[kept]
    return Matches(
        matches.items, first, second, result, matches.weight[kept], clusters, covariates, matches.judges,
        judge,
    )  # fmt: skip


def numbered(columns: dict[str, Any]) -> tuple[NDArray[Any], list[ShortVector]]:
    """Return the distinct values of columns of one length, sorted if they can be, and the columns as codes.

    Examples
    --------
    >>> items, (a, b) = numbered({"a": ["y", "x"], "b": ["x", "z"]})
    >>> items.tolist(), a.tolist(), b.tolist()
    (['x', 'y', 'z'], [1, 0], [0, 2])
    """
    checked = {name: _column(values, name) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in checked.items()}
    if len(set(lengths.values())) > 1:
        counts = " and ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"{counts} entries; each match needs both.")
    if not min(lengths.values()):
        raise ValueError("There are no matches to learn from.")
    if all(isinstance(values, np.ndarray) and _fits_integers(values) for values in checked.values()):
        return _numbered_integers([values.astype(np.int64) for values in checked.values()])
    number_of: dict[Any, int] = {}
    codes = [_entered(values, name, number_of) for name, values in checked.items()]
    distinct = in_order(number_of)
    place = np.empty(len(distinct), dtype=np.int32)
    place[[number_of[value] for value in distinct]] = np.arange(len(distinct))
    return as_they_are(distinct), [place[one] for one in codes]


def _fits_integers(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iu" and np.can_cast(values.dtype, np.int64)


def _numbered_integers(columns: list[NDArray[Any]]) -> tuple[NDArray[Any], list[ShortVector]]:
    low, high = (int(pick([pick(column) for column in columns])) for pick in (np.min, np.max))
    if high - low > 4 * sum(map(len, columns)):
        distinct, codes = np.unique(np.concatenate(columns), return_inverse=True)
        return distinct, np.split(codes.astype(np.int32), len(columns))
    shifted = [column - low for column in columns]
    present = sum(np.bincount(column, minlength=high - low + 1) for column in shifted) > 0
    number_of = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(present) + low, [number_of[column] for column in shifted]


def _column(values: Any, name: str) -> Any:
    """Return a column as a list or as an array."""
    if isinstance(values, str) or not (hasattr(values, "__len__") or hasattr(values, "to_numpy")):
        raise ValueError(f"{name} must be a column of names, one per match; got {values!r}.")
    column = list(values) if isinstance(values, list | tuple) else as_array(values)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {column.shape}.")
    return column


def _entered(column: Any, name: str, number_of: dict[Any, int]) -> ShortVector:
    """Return the number of each name, adding new names; refuse missing values and unhashable ones."""
    values = column if isinstance(column, list) else column.tolist()
    n_before = len(number_of)
    try:
        numbers = _native.number_names(values, number_of)
    except TypeError:
        raise ValueError(f"{name} must hold names, such as strings or numbers; got {values[0]!r}.") from None
    if any(map(is_missing, islice(number_of, n_before, None))):
        row = next(row for row, value in enumerate(values) if is_missing(value))
        raise ValueError(f"{name} is missing in row {row}.")
    return numbers


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return values sorted; values without a common order are sorted by type and text."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def results_of(outcome: Any, length: int, name: str = "outcome") -> FloatVector:
    """Return 1, 0 or 0.5 for each outcome of the first item: win, loss, tie or draw, or 1, 0 and 0.5.

    model_a is a win of the first, model_b of the second, and "tie (bothbad)" or both_bad a tie.

    Examples
    --------
    >>> results_of(["win", "tie", "Loss"], 3)
    array([1. , 0.5, 0. ])
    """
    if isinstance(outcome, np.ndarray) and outcome.dtype.kind in "biuf" and outcome.shape == (length,):
        numbers = outcome.astype(np.float64)
        if ((numbers == 0.0) | (numbers == 0.5) | (numbers == 1.0)).all():
            return numbers
    distinct, (codes,) = numbered({name: outcome})
    if len(codes) != length:
        raise ValueError(f"{name} has {len(codes)} entries for {plural(length, 'match')}.")
    results = [_result(value) for value in distinct.tolist()]
    if None in results:
        row = int(np.isin(codes, [number for number, one in enumerate(results) if one is None]).argmax())
        raise ValueError(
            f"{name} must be win, loss or tie (or 1, 0 or 0.5), or model_a, model_b, tie or tie (bothbad); "
            f"got {distinct.tolist()[codes[row]]!r} in row {row}."
        )
    return np.array(results, dtype=np.float64)[codes]


def _result(value: Any) -> float | None:
    known = value.strip().lower() if isinstance(value, str) else value
    return OUTCOMES.get(known) if isinstance(known, str | Real) else None


def ages_of(date: Any, length: int) -> FloatVector:
    """Return the time from each date to the latest: in days, or in the unit of the numbers.

    Numbers that are all dates YYYYMMDD are dates, as is text of eight digits. Times with a zone are converted
    to UTC, which others are taken to be in.

    Examples
    --------
    >>> ages_of(["2024-05-01", "2024-05-03"], 2), ages_of([3, 1], 2)
    (array([2., 0.]), array([0., 2.]))
    """
    if date is None:
        raise ValueError("half_life needs the date of each match; got none.")
    days, _ = days_of(date, length)
    return days.max() - days


def days_of(date: Any, length: int) -> tuple[FloatVector, bool]:
    """Return days since 1970 and True for dates, or the numbers themselves and False.

    Examples
    --------
    >>> days_of(["1970-01-02", "19700103"], 2), days_of([3, 1], 2)
    ((array([1., 2.]), True), (array([3., 1.]), False))
    """
    array = as_array(date)
    is_number = array.dtype.kind == "O" and all(isinstance(value, Real) for value in array.ravel().tolist())
    if array.dtype.kind in "OUM" and not is_number:
        return as_vector(_days_of(array), "date", length), True
    numbers = as_vector(array, "date", length)
    dates = compact_dates(numbers)
    return (numbers, False) if dates is None else (_days_of(dates), True)


def _days_of(dates: NDArray[Any]) -> FloatVector:
    """Return the days since 1970 of dates or texts."""
    try:
        if dates.dtype.kind != "M":
            dates = np.array([_in_utc(value) for value in dates.ravel().tolist()], dtype="datetime64[s]")
        dates = dates.astype("datetime64[s]")
    except (TypeError, ValueError) as error:
        raise ValueError(f"date must hold dates or numbers ({error}).") from None
    if np.isnat(dates).any():
        raise ValueError(f"date is missing in row {int(np.argmax(np.isnat(dates)))}.")
    return dates.astype(np.int64) / 86400.0


def _in_utc(value: Any) -> Any:
    """Return a date that numpy reads: without its zone, and with hyphens."""
    if isinstance(value, str):
        if COMPACT.fullmatch(value):
            return f"{value[:4]}-{value[4:6]}-{value[6:]}"
        if ZONED.search(value):
            value = datetime.fromisoformat(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def compact_dates(numbers: FloatVector) -> NDArray[Any] | None:
    """Return numbers YYYYMMDD as dates, or None unless all are dates of the years 1800 to 2199.

    Examples
    --------
    >>> compact_dates(np.array([20240131.0, 20240201.0]))
    array(['2024-01-31', '2024-02-01'], dtype='datetime64[D]')
    >>> compact_dates(np.array([20240131.0, 20240230.0])) is None
    True
    """
    if not ((numbers % 1 == 0) & (numbers >= 18_000_101) & (numbers <= 21_991_231)).all():
        return None
    whole = numbers.astype(np.int64)
    year, month, day = whole // 10_000, whole // 100 % 100, whole % 100
    begin = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    dates = begin.astype("datetime64[D]") + (day - 1)
    are_dates = (month >= 1) & (month <= 12) & (dates.astype("datetime64[M]") == begin)
    return dates if are_dates.all() else None
