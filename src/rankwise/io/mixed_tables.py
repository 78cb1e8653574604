"""Tables with words, booleans, dates and gaps: features as they stand in files, and as columns of a frame."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import is_missing
from rankwise.data.columns import BOOLEAN, CATEGORY, DATE, NUMBER, ORDERED, days, kind_of, numbers_of
from rankwise.io.frames import check_present, number_of, read_text_columns, table_columns
from rankwise.io.table_readers import PARQUET, RowRange, TableError, reader_of

# What a column of later rows is: the levels of a category, a kind, any text, or any kind of number.
WORDS, ANY_NUMBER = "words", "any number"
ColumnKind = list[Any] | str

MISSING = frozenset(("", "nan", "na", "n/a", "null", "none"))
LONGEST_GAP = max(map(len, MISSING))
_TRUTH = {"true": True, "false": False}
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
_MEANT = {NUMBER: "a number", BOOLEAN: "true or false", DATE: "a date", ANY_NUMBER: "a number"}


class MixedTable:
    """The features of tables: lists of text of CSV and TSV files, columns of a frame of Parquet files.

    Parameters
    ----------
    columns : dict
        A list of str and None, or a column of pandas or polars, by name.
    sources : list of tuple (path, n_rows)
        The files, for messages.
    """

    def __init__(self, columns: dict[str, Any], sources: list[tuple[str, int]]):
        self.columns = columns
        self.sources = sources

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return sum(n_rows for _, n_rows in self.sources), len(self.columns)

    def chosen(self, names: Sequence[str]) -> MixedTable:
        """Return a table of some of the columns."""
        return MixedTable({name: self.columns[name] for name in names}, self.sources)

    def paired(self, prefixes: tuple[str, str], names: Sequence[str]) -> MixedTable:
        """Return the columns with the first prefix and, below, those with the second, without prefixes."""
        halves = [{name: self.columns[prefix + name] for name in names} for prefix in prefixes]
        return stacked([MixedTable(half, self.sources) for half in halves])

    def inferred(self, words: Sequence[str] = ()) -> tuple[Any, list[ColumnKind]]:
        """Return a frame for training, and what its columns are; those named in `words` are categories.

        A column of text is one of booleans, numbers or dates if all its values are, and else one of words.
        If most of them are, but not all, a value is probably wrong, and the column is refused.
        """
        found = {name: self._inferred(name, name in words) for name in self.columns}
        frame = reader_of(".csv").frame({name: values for name, (values, _) in found.items()})
        return frame, [kind for _, kind in found.values()]

    def kinds(self, words: Sequence[str] = ()) -> list[ColumnKind | None]:
        """Return the kinds of the columns, as `inferred` does; None for a column without values."""
        return [
            None if self._is_empty(name) else self._inferred(name, name in words)[1] for name in self.columns
        ]

    def typed(self, kinds: Sequence[ColumnKind], words: Sequence[str] = ()) -> Any:
        """Return a frame for training with columns of given kinds, those of the whole table."""
        found = {}
        for (name, column), kind in zip(self.columns.items(), kinds, strict=True):
            if name in words or kind == WORDS or not isinstance(column, list):
                found[name] = self._words(name, name in words)
            elif kind == NUMBER:
                found[name] = self._numbers(name, NUMBER)
            else:
                found[name] = _converted(_without_gaps(column), str(kind))
        return reader_of(".csv").frame(found)

    def _words(self, name: str, declared: bool) -> Any:
        """Return a column of words of a text file, or a column of a Parquet file with its type."""
        column = self.columns[name]
        if not isinstance(column, list):
            return _typed(column, declared)[0]
        texts = _without_gaps(column)
        return reader_of(".csv").categorical(texts) if declared else texts

    def _is_empty(self, name: str) -> bool:
        column = self.columns[name]
        if isinstance(column, list):
            return all(map(is_gap, column))
        return all(map(is_missing, column.to_list()))

    def known(self, kinds: Sequence[ColumnKind]) -> Any:
        """Return a frame for a model, given what its columns are: categories, and float64 with NaN."""
        pairs = zip(self.columns, kinds, strict=True)
        return reader_of(".csv").frame({name: self._known(name, kind) for name, kind in pairs})

    def numbers(self) -> NDArray[np.float64]:
        """Return all columns as an array; refuse what is no number, and gaps."""
        columns = [self._numbers(name, ANY_NUMBER) for name in self.columns]
        for name, values in zip(self.columns, columns, strict=True):
            if np.isnan(values).any():
                raise TableError(
                    f"{self._place(int(np.isnan(values).argmax()))}: column {name!r} is missing."
                )
        return np.column_stack(columns)

    def _inferred(self, name: str, as_words: bool) -> tuple[Any, ColumnKind]:
        column = self.columns[name]
        if not isinstance(column, list):
            values, kind = _typed(column, as_words)
            if kind != WORDS:
                self._numbers(name, ANY_NUMBER)  # refuses infinite values
            return values, kind
        texts = _without_gaps(column)
        if as_words:
            return reader_of(".csv").categorical(texts), WORDS
        kind = self._kind(name, texts)
        if kind == WORDS:
            return texts, WORDS
        return self._numbers(name, kind) if kind == NUMBER else _converted(texts, kind), kind

    def _kind(self, name: str, texts: list[str | None]) -> str:
        """Return the kind of a column of text."""
        if _floats(texts) is not None:
            return NUMBER
        known = {row: text for row, text in enumerate(texts) if text is not None}
        distinct = set(known.values())
        for kind, parse in _PARSERS.items():
            wrong = {text for text in distinct if parse(text) is None}
            if not wrong:
                return kind
            rows = [row for row, text in known.items() if text in wrong]
            if 2 * len(rows) < len(known):
                raise TableError(
                    f"{self._place(rows[0])}: column {name!r} is not {_MEANT[kind]} (it is "
                    f"{known[rows[0]][:40]!r}), but most of its values are. Correct or empty it, or name the "
                    "column in --categorical to take its values as words."
                )
        commas = [text for text in known.values() if _DECIMAL_COMMA.fullmatch(text)]
        if 2 * len(commas) > len(known):
            raise TableError(
                f"Column {name!r} has numbers with a decimal comma, such as {commas[0]!r}; write a point."
            )
        return WORDS

    def _known(self, name: str, kind: ColumnKind) -> Any:
        if kind != WORDS and not isinstance(kind, list):
            return self._numbers(name, kind)
        column = self.columns[name]
        values = column if isinstance(column, list) else column.to_list()
        level_of = _level_of(kind if isinstance(kind, list) else [])
        return [level_of(value) for value in values]

    def _numbers(self, name: str, kind: str) -> NDArray[np.float64]:
        """Return a column as numbers, NaN if a value is missing; refuse words and infinite values."""
        column = self.columns[name]
        values = column if isinstance(column, list) else column.to_list()
        numbers = _numbers_of_text(values, kind) if isinstance(column, list) else _numbers_of_column(column)
        wrong = np.isinf(numbers.astype(np.float64))
        if numbers.dtype == object:
            wrong |= np.array([number is None for number in numbers.tolist()])
        if wrong.any():
            row = int(wrong.argmax())
            what = _MEANT[kind] if numbers[row] is None else "finite"
            raise TableError(
                f"{self._place(row)}: column {name!r} is not {what} (it is {str(values[row])[:40]!r})."
            )
        return numbers.astype(np.float64)

    def _place(self, row: int) -> str:
        for path, n_rows in self.sources:
            if row < n_rows:
                return f"{path}, row {row + 1}"
            row -= n_rows
        raise IndexError(row)


def read_mixed(
    path: str | os.PathLike[str], names: Sequence[str], separator: str | None = None, rows: RowRange = None
) -> MixedTable:
    """Read columns of a table without loss: the text of a CSV or TSV file, the types of a Parquet file."""
    check_present(Path(path), names, table_columns(Path(path), separator))
    if not str(path).lower().endswith(PARQUET):
        texts = read_text_columns(path, names, separator)
        return MixedTable(texts, [(str(path), len(texts[names[0]]))])
    (frame,) = reader_of(".parquet").frames(Path(path), ".parquet", list(names), None, None, ",", rows)
    return MixedTable({name: frame[name] for name in names}, [(str(path), len(frame))])


def stacked(tables: Sequence[MixedTable]) -> MixedTable:
    """Return the rows of several tables with the columns of the first."""
    columns = {}
    for name in tables[0].columns:
        parts = [table.columns[name] for table in tables]
        if len({isinstance(part, list) for part in parts}) > 1:
            raise TableError("Tables with words or gaps must be all text (CSV, TSV) or all Parquet.")
        if isinstance(parts[0], list):
            columns[name] = [value for part in parts for value in part]
        else:
            columns[name] = reader_of(".parquet").stacked(parts)
    return MixedTable(columns, [source for table in tables for source in table.sources])


def is_gap(text: str | None) -> bool:
    """Tell whether a field of text is missing: empty, or nan, na, n/a, null, none in any case."""
    return text is None or (len(text) <= LONGEST_GAP and text.lower() in MISSING)


def _without_gaps(texts: list[str | None]) -> list[str | None]:
    return [None if is_gap(text) else text for text in texts]


def _floats(texts: list[str | None]) -> NDArray[np.float64] | None:
    """Return fields as numbers, NaN for None; None if one of them is not a number."""
    try:
        return np.array([np.nan if text is None else float(text) for text in texts], dtype=np.float64)
    except ValueError:
        return None


def _truth(text: str) -> bool | None:
    return _TRUTH.get(text.lower())


def _date(text: str) -> np.datetime64 | None:
    """Return an ISO date, with a time zone in UTC; None for other text."""
    if not _DATE.fullmatch(text):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return np.datetime64(found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None), "us")


def _plain_number(text: str) -> float | None:
    return number_of(text, parse=True)


_PARSERS = {BOOLEAN: _truth, NUMBER: _plain_number, DATE: _date}


def _numbers_of_text(texts: list[str | None], kind: str) -> NDArray[Any]:
    """Return fields as numbers: NaN if one is missing, None if it is not of the kind."""
    present = _without_gaps(texts)
    if kind in (NUMBER, ANY_NUMBER) and (numbers := _floats(present)) is not None:
        return numbers
    known = {text: None if text is None else _number(text, kind) for text in set(present)}
    return np.array([np.nan if text is None else known[text] for text in present], dtype=object)


def _numbers_of_column(column: Any) -> NDArray[Any]:
    """Return a column of a Parquet file as numbers: NaN if one is missing, None if it is a word."""
    kind = kind_of(column)
    if kind not in (CATEGORY, ORDERED):
        return numbers_of(column, kind)
    return np.array([np.nan if is_missing(value) else None for value in column.to_list()], dtype=object)


def _number(text: str, kind: str) -> float | None:
    for parse in _PARSERS.values() if kind == ANY_NUMBER else (_PARSERS[kind],):
        if (value := parse(text)) is not None:
            return float(days(np.array([value]))[0]) if isinstance(value, np.datetime64) else float(value)
    return None


def _converted(texts: list[str | None], kind: str) -> Any:
    """Return a column of text as booleans or dates."""
    known = {text: None if text is None else _PARSERS[kind](text) for text in set(texts)}
    values = [known[text] for text in texts]
    return values if kind == BOOLEAN else np.array(values, dtype="datetime64[us]")


def _typed(column: Any, as_words: bool) -> tuple[Any, ColumnKind]:
    """Return a column of a Parquet file, which has its type; or its values as words."""
    if as_words:
        texts = [None if is_missing(value) else str(value) for value in column.to_list()]
        return reader_of(".csv").categorical(texts), WORDS
    kind = kind_of(column)
    return column, WORDS if kind in (CATEGORY, ORDERED) else kind


def _level_of(levels: list[Any]) -> Callable[[Any], Any]:
    """Return a function that finds the level of a field: by its text or number, else the field itself."""
    by_text = {str(level): level for level in levels}
    by_number = {float(level): level for level in levels if isinstance(level, int | float)}

    def found(value: Any) -> Any:
        if str(value) in by_text:
            return by_text[str(value)]
        number = number_of(value, parse=True) if by_number else None  # true is 1
        if number in by_number:
            return by_number[number]
        is_absent = is_gap(value) if isinstance(value, str) else is_missing(value)
        return None if is_absent else value

    return found
