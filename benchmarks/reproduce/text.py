"""Markdown from numbers: every number on the page goes through here, out of a result file."""

import re
import textwrap

# Lines that are not to be joined to their neighbors: headings, tables, lists, pictures, small print.
OWN_LINE = re.compile(r"#|\||- |!|<|\*")
WIDTH = 110


def number(value, digits=3):
    """Write a number with that many decimals; a dash if there is none.

    >>> number(1234.5678, 1), number(-0.0001), number(None)
    ('1,234.6', '0.000', '-')
    """
    if value is None:
        return "-"
    written = f"{value:,.{digits}f}"
    return written.removeprefix("-") if float(written.replace(",", "")) == 0 else written


def significant(value, digits=2):
    """Write a number of any size with that many digits.

    >>> significant(0.001234), significant(1234.0), significant(1e-5)
    ('0.0012', '1,234', '0.000010')
    """
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    decimals = digits - 1
    while abs(value) < 10.0 ** (digits - 1 - decimals) and decimals < 12:
        decimals += 1
    return f"{value:.{decimals}f}"


def p_value(p):
    """Write a p-value, a dash if there is none; small ones as a power.

    >>> p_value(0.0312), p_value(2e-9), p_value(None)
    ('0.031', '2e-09', '-')
    """
    if p is None or p != p:
        return "-"
    return f"{p:.2g}" if p >= 1e-3 else f"{p:.0e}"


def interval(cell, digits=3):
    """Write a mean with half the width of its 95% interval."""
    return f"{number(cell['mean'], digits)} ± {number(cell['half_width'], digits)}"


def table(header, rows):
    """Lay out a Markdown table: the first column and words to the left, numbers to the right.

    >>> table(["size", "name", "error"], [["1", "ours", "0.5"]])[1]
    '| --- | --- | ---: |'
    """
    columns = list(zip(*rows, strict=True))[1:] if rows else [()] * (len(header) - 1)
    rule = ["---"] + ["---:" if all(map(is_number, column)) else "---" for column in columns]
    return ["| " + " | ".join(map(str, line)) + " |" for line in (header, rule, *rows)]


def is_number(cell):
    """Tell numbers, perhaps in bold or with what follows them, and gaps from words.

    >>> is_number("0.5 (1.2)"), is_number("-"), is_number("rankwise")
    (True, True, False)
    """
    return re.match(r"[*-]*\d|-?$", str(cell)) is not None


def wrapped(lines):
    """Fill paragraphs to the width of the page; tables and headings stay as they are.

    >>> wrapped(["some", "words", "", "| a | b |"])
    ['some words', '', '| a | b |']
    """
    found, paragraph = [], []
    for line in [*lines, ""]:
        if line and not OWN_LINE.match(line):
            paragraph.append(line)
            continue
        if paragraph:
            found += textwrap.wrap(" ".join(paragraph), WIDTH, break_on_hyphens=False, break_long_words=False)
            paragraph = []
        found.append(line)
    return found[:-1]


def joined(values, write="{:,}".format):
    """Write a list as words: 1, 2 and 3.

    >>> joined([1000, 2000, 4000])
    '1,000, 2,000 and 4,000'
    """
    words = [write(value) for value in values]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
