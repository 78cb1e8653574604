"""Tables of results: text, HTML, records for JSON and frames, from one description of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, TypeVar

from rankwise.core.text import html_table, table

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column:
    """A column: its name in records, its value, its format, and its title in tables.

    The value is the attribute of the row with that name unless it is given. The format is a format
    specification, or a function that returns the text. A value that is None is shown as nothing, NaN as
    `missing`.
    """

    name: str
    value: Callable[[Any], Any] | None = None
    format: str | Callable[[Any], str] = ""
    title: str | None = None
    missing: str = "nan"
    left: bool = False

    def of(self, row: Any) -> Any:
        """Return the value."""
        return getattr(row, self.name) if self.value is None else self.value(row)

    def cell(self, row: Any) -> str:
        """Return the value as text."""
        value = self.of(row)
        if value is None:
            return ""
        if value != value and (self.missing != "nan" or not callable(self.format)):
            return self.missing
        if callable(self.format):
            return self.format(value)
        return format(value, self.format) if self.format else str(value)


class ResultTable(list[Row], Generic[Row]):
    """A list of rows that prints as a table; `pandas.DataFrame(table)` is a frame."""

    columns: Sequence[Column] = ()

    def __init__(
        self,
        rows: Iterable[Row] = (),
        columns: Sequence[Column] | None = None,
        *,
        title: str = "",
        note: str = "",
    ) -> None:
        super().__init__(rows)
        if columns is not None:  # columns of a class stay out of pickles: their functions may be lambdas
            self.columns = columns
        self.title, self.note = title, note

    @property
    def header(self) -> list[str]:
        """The titles of the columns."""
        return [one.name if one.title is None else one.title for one in self.columns]

    def cells(self) -> list[list[str]]:
        """Return the rows as text."""
        return [[one.cell(row) for one in self.columns] for row in self]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as records that JSON can represent; NaN is None."""
        records = ({one.name: one.of(row) for one in self.columns} for row in self)
        return [{name: None if value != value else value for name, value in one.items()} for one in records]

    def __str__(self) -> str:
        n_left = sum(one.left for one in self.columns)
        lines = table(self.header, self.cells(), n_left=max(1, n_left))
        return "\n".join([*([self.title] if self.title else []), *lines, *([self.note] if self.note else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return html_table(self.header, self.cells(), self.title) + note


class HasTable:
    """A result whose `table` gives its text, its HTML and its records."""

    @property
    def table(self) -> ResultTable[Any]:
        """The result as a table."""
        raise NotImplementedError

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the rows of the table as records that JSON can represent; NaN is None."""
        return self.table.as_dicts()

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
