"""The sources of the pages: formulas stay in one piece."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1]
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]
CODE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
DISPLAYED = re.compile(r"\$\$((?!\n\n).)*?\$\$", re.DOTALL)
# What begins a block within a paragraph: a list item, a heading, a quotation, a row of a table.
BLOCK = re.compile(r" {0,3}([-+*]|\d+[.)]|#{1,6}|>|\|)( |$)")


def stray_dollars(text):
    """Return the blocks in which a formula begins and does not end."""
    text = CODE.sub("", text)
    text = DISPLAYED.sub("", text)
    text = re.sub(r"`+[^`]*`+|\\\$", "", text)
    blocks = [[]]
    for line in text.splitlines():
        if not line.strip() or line.startswith("    ") or BLOCK.match(line):
            blocks.append([])
        if not line.startswith("    "):
            blocks[-1].append(line)
    texts = map(" ".join, blocks)
    return [block for block in texts if "$$" in block or block.count("$") % 2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_formula_is_broken(page):
    assert stray_dollars(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "the sum of $1\n- s_j + s_i$ over the pairs",
        "a price of $5 here",
        "| $a | b$ |\n| x |\n| $y | z |",
        "$$\nx\n",
    ],
)
def test_a_broken_formula_is_found(text):
    assert stray_dollars(text)


@pytest.mark.parametrize(
    "text", ["with $a$ and\n$b$", "$$\na\n- b\n$$\n", "`$HOME` is set", "```\n$ rankwise\n```\n"]
)
def test_whole_formulas_pass(text):
    assert stray_dollars(text) == []
