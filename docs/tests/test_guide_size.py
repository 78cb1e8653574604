"""The guide stays short enough to read: its pages, and their words."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
# What people read from start to end; explanations, reference and evidence are apart.
PARTS = ("get_started", "guide")


def guide_pages():
    texts = [(DOCS / f"{part}.md").read_text(encoding="utf-8") for part in PARTS]
    trees = re.findall(
        r"```\{toctree\}\n:maxdepth: 1\n(?::caption: [^\n]+\n)?\n(.*?)```", "".join(texts), re.DOTALL
    )
    return [page for pages in trees for page in pages.split()]


def test_the_guide_has_at_most_31_pages_and_33_800_words():
    pages = guide_pages()
    assert 25 <= len(pages) <= 31
    assert sum(len((DOCS / f"{page}.md").read_text(encoding="utf-8").split()) for page in pages) <= 33_800


def test_no_page_has_the_name_of_a_page_of_sphinx():
    """The page of the search would replace it."""
    assert not [name for name in ("search", "genindex", "py-modindex") if (DOCS / f"{name}.md").exists()]
