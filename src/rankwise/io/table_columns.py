"""Columns as they stand in files: text, or values with a type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import is_missing
from rankwise.core.types import FloatArray
from rankwise.data.columns import (
    BOOLEAN,
    CATEGORY,
    DATE,
    NUMBER,
    ORDERED,
    Column,
    as_python,
    days,
    kind_of,
    numbers_of,
)
from rankwise.io.table_formats import TableError

# What a column of later rows is: the levels of a category, a kind, any text, or any kind of number.
WORDS, ANY_NUMBER = "words", "any number"
ColumnKind = list[Any] | str

MISSING = frozenset(("", "nan", "na", "n/a", "null", "none"))
LONGEST_GAP = max(map(len, MISSING))
# The words of a text file that stand for numbers, in lower case.
_TRUTH = {"true": True, "false": False}
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
MEANT = {NUMBER: "a number", BOOLEAN: "true or false", DATE: "a date", ANY_NUMBER: "a number"}


class TextColumn:
    """A column of a text file: strings, None for empty fields."""

    def __init__(self, fields: Column | list[str | None]):
        self.fields = fields

    def __len__(self) -> int:
        return len(self.fields)

    def values(self) -> list[Any]:
        """Return the fields without white space around them; None for an empty one."""
        fields = self.fields if isinstance(self.fields, list) else self.fields.to_list()
        return [None if field is None else field.strip() or None for field in fields]

    def words(self) -> list[str | None]:
        """Return the fields; None for missing values."""
        return [None if is_gap(value) else value for value in self.values()]

    def numbers(self, kind: str) -> NDArray[Any]:
        """Return the fields as numbers, all at once if possible."""
        if kind in (NUMBER, ANY_NUMBER) and (numbers := self._floats()) is not None:
            return numbers
        words = self.words()
        known = {word: np.nan if word is None else _number(word, kind) for word in set(words)}
        numbers = np.array([known[word] for word in words])
        return numbers if numbers.dtype == object else numbers.astype(np.float64)

    def _floats(self) -> FloatArray | None:
        """Return the fields as finite numbers, NaN for empty ones; None if there are others."""
        try:
            if isinstance(self.fields, list):
                return np.array([np.nan if field is None else _finite(field) for field in self.fields])
            values = self.fields.cast(nw.Float64()).to_numpy()
        except Exception:  # each library has its own error; the fields are read one by one then
            return None
        n_finite = int(np.isfinite(values).sum())
        return values if n_finite == len(values) - self.fields.null_count() else None

    def integers(self) -> NDArray[np.int64] | None:
        """Return the fields as integers, all at once; None if one is not the usual form of an integer."""
        if isinstance(self.fields, list) or self.fields.null_count():
            return None
        try:
            integers = self.fields.cast(nw.Int64())
        except Exception:  # each library has its own error
            return None
        is_usual = bool((integers.cast(nw.String()) == self.fields).all())
        return integers.to_numpy() if is_usual else None

    def kind(self, name: str, place: Callable[[int], str]) -> str:
        """Return the kind that all fields are of; if most are of one but not all, refuse the others."""
        if self._floats() is not None:
            return NUMBER
        known = {row: word for row, word in enumerate(self.words()) if word is not None}
        distinct = set(known.values())
        if all(_is_float(word) for word in distinct):
            return NUMBER
        for kind, parse in _PARSERS.items():
            wrong = {word for word in distinct if parse(word) is None}
            if not wrong:
                return kind
            rows = [row for row, word in known.items() if word in wrong]
            if 2 * len(rows) < len(known):
                raise TableError(
                    f"{place(rows[0])}: column {name!r} is not {MEANT[kind]} (it is "
                    f"{known[rows[0]][:40]!r}), but most of its values are. Correct or empty it, or name the "
                    "column in --categorical to take its values as words."
                )
        commas = [word for word in known.values() if _DECIMAL_COMMA.fullmatch(word)]
        if 2 * len(commas) > len(known):
            raise TableError(
                f"Column {name!r} has numbers with a decimal comma, such as {commas[0]!r}; write a point."
            )
        return WORDS

    def held(self, kind: str) -> Any:
        """Return words and booleans as a list, numbers and dates as an array."""
        words = self.words()
        if kind == WORDS:
            return words
        if kind == NUMBER:
            return self.numbers(NUMBER).astype(np.float64)
        known = {word: None if word is None else _PARSERS[kind](word) for word in set(words)}
        values = [known[word] for word in words]
        return values if kind == BOOLEAN else np.array(values, dtype="datetime64[us]")


class TypedColumn:
    """A column with a type."""

    def __init__(self, fields: Column):
        self.fields = fields

    def __len__(self) -> int:
        return len(self.fields)

    def values(self) -> list[Any]:
        """Return the values; None for missing ones."""
        return [None if is_missing(value) else as_python(value) for value in self.fields.to_list()]

    def words(self) -> list[str | None]:
        """Return the text of the values."""
        return [None if value is None else str(value) for value in self.values()]

    def numbers(self, kind: str) -> NDArray[Any]:
        """Return numbers, booleans and dates as numbers, whatever kind is asked for; text is not parsed."""
        kind = kind_of(self.fields)
        if kind not in (CATEGORY, ORDERED):
            return numbers_of(self.fields, kind)
        values = [None if isinstance(value, str) else number_of(value) for value in self.values()]
        return np.array(values, dtype=object if None in values else np.float64)

    def integers(self) -> NDArray[np.int64] | None:
        """Return the values as integers, None if they have another type."""
        dtype = self.fields.dtype
        if self.fields.null_count() or not dtype.is_integer() or dtype in (nw.UInt64, nw.UInt128, nw.Int128):
            return None
        return self.fields.to_numpy().astype(np.int64)

    def kind(self, name: str, place: Callable[[int], str]) -> str:
        """Return the kind by the type."""
        kind = kind_of(self.fields)
        return WORDS if kind in (CATEGORY, ORDERED) else kind

    def held(self, kind: str) -> Any:
        """Return the series."""
        return self.fields


FileColumn = TextColumn | TypedColumn


def file_column(fields: Column | list[str | None], is_text: bool) -> FileColumn:
    """Return a column of a format."""
    return TextColumn(fields) if is_text or isinstance(fields, list) else TypedColumn(fields)


def joined_column(parts: Sequence[FileColumn]) -> FileColumn:
    """Return the parts of a column as one, of float64 if their numbers differ in type."""
    if len(parts) == 1:
        return parts[0]
    if len({type(part) for part in parts}) > 1:
        raise TableError(
            "Tables with strings or missing values must be all text (CSV, TSV) or all with types."
        )
    if any(isinstance(part.fields, list) for part in parts):
        return TextColumn([field for part in parts for field in part.values()])
    series = [part.fields for part in parts if not isinstance(part.fields, list)]
    if len({one.dtype for one in series}) > 1 and all(one.dtype.is_numeric() for one in series):
        series = [one.cast(nw.Float64()) for one in series]
    joined = nw.concat([one.alias("column").to_frame() for one in series])["column"]
    return file_column(joined, isinstance(parts[0], TextColumn))


def known_values(column: FileColumn, levels: Sequence[Any]) -> list[Any]:
    """Return the level of each value, by its text or number; else the value itself, None if it is missing."""
    by_text = {str(level): level for level in levels}
    by_number = {float(level): level for level in levels if isinstance(level, int | float)}

    def level_of(value: Any) -> Any:
        if str(value) in by_text:
            return by_text[str(value)]
        number = number_of(value) if by_number else None  # true is 1
        if number in by_number:
            return by_number[number]
        return None if isinstance(value, str) and is_gap(value) else value

    return [level_of(value) for value in column.values()]


def is_gap(text: str | None) -> bool:
    """Return whether a field of text is missing: empty, or nan, na, n/a, null, none in any case."""
    return text is None or (len(text) <= LONGEST_GAP and text.lower() in MISSING)


def number_of(value: Any) -> float | None:
    """Return a value or the text of one as a number, NaN if it is missing and None if it is not a number."""
    if is_missing(value) or (isinstance(value, str) and is_gap(value.strip())):
        return np.nan
    try:
        return float(_TRUTH.get(value.strip().lower(), value) if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return None


def _finite(field: str) -> float:
    if not np.isfinite(number := float(field)):
        raise ValueError
    return number


def _is_float(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _truth(word: str) -> bool | None:
    return _TRUTH.get(word.lower())


def _date(word: str) -> np.datetime64 | None:
    """Return an ISO date, with a time zone in UTC; None for other text."""
    if not _DATE.fullmatch(word):
        return None
    try:
        date = datetime.fromisoformat(word)
    except ValueError:
        return None
    return np.datetime64(date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None), "us")


_PARSERS: dict[str, Callable[[str], Any]] = {BOOLEAN: _truth, NUMBER: number_of, DATE: _date}


def _number(word: str, kind: str) -> float | None:
    for parse in _PARSERS.values() if kind == ANY_NUMBER else (_PARSERS[kind],):
        if (value := parse(word)) is not None:
            return float(days(np.array([value]))[0]) if isinstance(value, np.datetime64) else float(value)
    return None
