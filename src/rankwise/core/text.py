"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1) -> list[str]:
    """Lay out a table: `n_left` columns to the left, the others to the right.

    Examples
    --------
    >>> print("\\n".join(table(["alpha", "error"], [["1", "0.25"], ["0.001", "0.5"]])))
    alpha  error
    1       0.25
    0.001    0.5
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(_padded(line, widths, n_left)).rstrip() for line in lines]


def _padded(line: Sequence[str], widths: Sequence[int], n_left: int) -> list[str]:
    cells = list(zip(line, widths, strict=True))
    left = [cell.ljust(width) for cell, width in cells[:n_left]]
    return left + [cell.rjust(width) for cell, width in cells[n_left:]]
