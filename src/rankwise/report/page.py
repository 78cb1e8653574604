"""HTML elements. Text is escaped here only, and numbers keep all their digits as data."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from numbers import Real
from typing import Any

from rankwise.core.text import escaped, short
from rankwise.report.marks import Picture
from rankwise.report.svg import legend, svg

# Nothing may be loaded from elsewhere, even if a feature name contains HTML.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


# The strength of the strongest shade of a cell, in per cent.
MOST_SHADE = 38


@dataclass(frozen=True)
class Number:
    """A cell that sorts by a number and shows it rounded, or as `shown`; in bold if it is the best.

    `shade`, from -1 to 1, colours the cell: blue for positive numbers, orange for negative ones.
    """

    value: float | None
    shown: str | None = None
    is_best: bool = False
    shade: float = 0.0


@dataclass(frozen=True)
class QueryLink:
    """A cell that links to the rows of a query, number `place` among the named queries."""

    name: str
    place: int


# Plain numbers and None are numbers, too.
Cell = Number | QueryLink | str | float | None


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    name: str,
    search: str | None = None,
    note: str = "",
) -> str:
    """Write a table whose columns can be sorted and, with a label for it, searched.

    The first cell of a row is its heading. A column with a number is aligned as numbers are.
    """
    kinds = [any(not isinstance(row[k], str | QueryLink) for row in rows) for k in range(len(header))]
    head = "".join(
        f'<th scope="col"{_number_class(kind)}><button type="button">{escaped(title)}</button></th>'
        for title, kind in zip(header, kinds, strict=True)
    )
    body = "\n".join(f"<tr>{_row(row, kinds)}</tr>" for row in rows)
    field = (
        f'<p class="search"><label for="{name}-search">{escaped(search)}</label> '
        f'<input type="search" id="{name}-search" data-table="{name}" autocomplete="off"> '
        f'<span class="found" role="status"></span></p>'
        if search
        else ""
    )
    return (
        f'<div class="table-block">{field}<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escaped(caption)}"><table id="{name}" class="sortable">'
        f"<caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
        f"{paragraph(note, 'note')}</div>"
    )


def _number_class(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _row(row: Sequence[Cell], kinds: Sequence[bool]) -> str:
    first, *others = (_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True))
    return f'<th scope="row"{first}</th>' + "".join(f"<td{cell}</td>" for cell in others)


def _cell(cell: Any, numeric: bool) -> str:
    if cell is None or isinstance(cell, Real):
        cell = Number(None if cell is None else float(cell))
    if isinstance(cell, Number):
        known = cell.value is not None and math.isfinite(cell.value)
        value = repr(float(cell.value)) if known and cell.value is not None else ""
        shown = short(cell.value) if cell.shown is None else cell.shown
        content = f"<strong>{escaped(shown)}</strong>" if cell.is_best else escaped(shown)
        colour = "blue" if cell.shade > 0 else "orange"
        strength = round(MOST_SHADE * min(1.0, abs(cell.shade)))
        tint = f' style="background:color-mix(in srgb,var(--fill-{colour}) {strength}%,transparent)"'
        return f'{_number_class(True)} data-value="{value}"{tint if strength else ""}>{content}'
    if isinstance(cell, QueryLink):
        return f'><a href="#documents" data-query="{cell.place}">{escaped(cell.name)}</a>'
    return f"{_number_class(numeric)}>{escaped(cell)}"


def select(name: str, label: str, options: Sequence[tuple[int, str]], chosen: int) -> str:
    """Return a labelled drop-down list."""
    listed = "".join(
        f'<option value="{value}"{" selected" if value == chosen else ""}>{escaped(title)}</option>'
        for value, title in options
    )
    return f'<p class="field"><label for="{name}">{label}</label><select id="{name}">{listed}</select></p>'


def paragraph(content: str, kind: str = "") -> str:
    """Return a paragraph of plain text, empty without content."""
    return f'<p class="{kind}">{escaped(content)}</p>' if content else ""


def facts(pairs: Iterable[tuple[str, Cell]]) -> str:
    """Return a list of terms with their values."""
    rows = []
    for term, cell in pairs:
        value = _cell(cell, False).replace(' class="number"', "", 1)
        rows.append(f"<div><dt>{escaped(term)}</dt><dd{value}</dd></div>")
    return f'<dl class="facts">{"".join(rows)}</dl>'


def figure(picture: Picture, caption: str, wide: bool = False, key: bool = False) -> str:
    """Return a figure: a picture with its caption, and with the names of its lines and dots as a `key`."""
    kind = ' class="wide"' if wide else ""
    words = f"<figcaption>{escaped(caption)}</figcaption>" if caption else ""
    words += legend(picture) if key else ""
    return f'<figure{kind}><div class="chart">{svg(picture)}</div>{words}</figure>'


def figures(*drawn: str) -> str:
    """Return figures side by side, empty without any."""
    shown = "".join(drawn)
    return f'<div class="figures">{shown}</div>' if shown else ""


def section(name: str, title: str, *parts: str) -> str:
    """Return a section, empty without content."""
    content = "\n".join(part for part in parts if part)
    if not content:
        return ""
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{escaped(title)}</h2>\n{content}\n</section>'


def embedded(name: str, values: Any) -> str:
    """Return a script element with values as JSON, in which no text can close the element."""
    written = json.dumps(values, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{name}">{written}</script>'


def page(title: str, lead: str, sections: Sequence[str], footer: str) -> str:
    """Return the whole page."""
    style, script = (asset(name) for name in ("report.css", "report.js"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        f"<header><h1>{escaped(title)}</h1>\n{lead}</header>\n{contents(sections)}"
        f'<main id="content" tabindex="-1">\n{"".join(sections)}\n</main>\n'
        f"<footer>{paragraph(footer)}</footer>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def contents(sections: Sequence[str]) -> str:
    """Return links to the sections, by their headings; none for fewer than two."""
    found = re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', "".join(sections))
    if len(found) < 2:
        return ""
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in found)
    return f'<nav class="contents" aria-label="Contents"><ul>{links}</ul></nav>\n'


def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return (files("rankwise.report") / "assets" / name).read_text(encoding="utf-8")
