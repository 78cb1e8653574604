"""Numbers, counts, lists and tables as text."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import Any

MINUS, NONE, TIMES = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"


def short(value: float | None) -> str:
    """Format a number for readers.

    Examples
    --------
    >>> short(0.123456), short(12.3), short(12345.6), short(1234567), short(0.0000123)
    ('0.1235', '12.30', '12,346', '1,234,567', '1.23e-05')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if float(value).is_integer() and abs(value) < 1e15:
        written = f"{int(value):,}"
    elif abs(value) < 1e-3 or abs(value) >= 1e6:
        written = f"{value:.3g}"
    else:
        digits = max(0, 4 - max(0, math.floor(math.log10(abs(value))) + 1))
        written = f"{value:,.{digits}f}"
    return MINUS + written[1:] if written.startswith("-") else written


def decimal(value: float, digits: int) -> str:
    """Write a number with a fixed number of decimals; what rounds to 0 has no sign.

    Examples
    --------
    >>> decimal(0.25, 3), decimal(-0.0001, 3), decimal(1234.5, 0)
    ('0.250', '0.000', '1,234')
    """
    written = f"{value:,.{digits}f}"
    return written.lstrip("-") if float(written.replace(",", "")) == 0 else written.replace("-", MINUS)


def share(value: float) -> str:
    """Format a fraction in per cent; only 1 is 100%, and only 0 is 0%.

    Examples
    --------
    >>> share(0.8731), share(1.0), share(0.99999)
    ('87.3%', '100%', '99.999%')
    """
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    for digits in range(1, 12):
        written = f"{100 * value:.{digits}f}"
        if float(written) not in (0.0, 100.0):
            break
    return f"{written}%"


def p_value_text(p: float | None) -> str:
    """Write a p-value with four decimals; a dash if there is none.

    Examples
    --------
    >>> p_value_text(0.0313), p_value_text(1e-7), p_value_text(float("nan"))
    ('0.0313', '<0.0001', '-')
    """
    if p is None or p != p:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> plural(1, "query"), plural(1200, "query"), plural(2, "row"), plural(3, "match")
    ('1 query', '1,200 queries', '2 rows', '3 matches')
    """
    if noun.endswith("y"):
        many = noun[:-1] + "ies"
    else:
        many = noun + ("es" if noun.endswith(("ch", "s", "x")) else "s")
    return f"{count:,} {noun if count == 1 else many}"


def listed(names: Sequence[str], most: int) -> str:
    """Join names as in a sentence; more than `most` + 1 are cut to `most` and the number of the others.

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a"], 3), listed(list("abcdef"), 3)
    ('a, b and c', 'a', 'a, b, c and 3 others')
    """
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def listing(names: Sequence[str], most: int = 10) -> str:
    """Quote names, at most this many of them.

    Examples
    --------
    >>> listing(["a", "b", "c"]), listing(["a", "b", "c"], most=1)
    ("'a', 'b', 'c'", "'a' and 2 more")
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def printable(text: str) -> str:
    """Escape the characters by which text of data could control a terminal; the others stay.

    These are control characters, such as line breaks, and marks of the direction of writing. Spaces and the
    joiners of letters stay.

    Examples
    --------
    >>> print(printable("Zoë \\x1b[2J"), printable("a\\tb"))
    Zoë \\x1b[2J a\\tb
    """
    if text.isprintable():
        return text
    return "".join(one if _is_harmless(one) else one.encode("unicode_escape").decode() for one in text)


def _is_harmless(character: str) -> bool:
    is_space = unicodedata.category(character) == "Zs"
    return character.isprintable() or is_space or character in "\u200c\u200d"


def printable_lines(text: str) -> str:
    """Return text with line breaks of its own, otherwise printable."""
    return "\n".join(map(printable, text.split("\n")))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1) -> list[str]:
    """Lay out a table of printable text: `n_left` columns to the left, the others to the right.

    Examples
    --------
    >>> print("\\n".join(table(["alpha", "error"], [["1", "0.25"], ["0.001", "0.5"]])))
    alpha  error
    1       0.25
    0.001    0.5
    """
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(_padded(line, widths, n_left)).rstrip() for line in lines]


def escaped(value: Any) -> str:
    """Escape text for elements and attributes of HTML.

    Examples
    --------
    >>> escaped("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    # A lone surrogate is legal in a Python string, but UTF-8 cannot encode it.
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Return a table as HTML, with its text escaped.

    Examples
    --------
    >>> html_table(["a"], [["<1"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;1</td></tr></tbody></table>'
    """
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escaped(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _padded(line: Sequence[str], widths: Sequence[int], n_left: int) -> list[str]:
    cells = list(zip(line, widths, strict=True))
    left = [cell.ljust(width) for cell, width in cells[:n_left]]
    return left + [cell.rjust(width) for cell, width in cells[n_left:]]
