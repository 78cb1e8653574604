"""The guide stays short enough to read: its pages, and their words."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
# Pages to look things up in, which are not read from start to end.
LOOK_UP = "Look up"


def guide_pages():
    text = (DOCS / "guide.md").read_text(encoding="utf-8")
    trees = re.findall(r"```\{toctree\}\n:maxdepth: 1\n:caption: ([^\n]+)\n\n(.*?)```", text, re.DOTALL)
    return [page for caption, pages in trees if caption != LOOK_UP for page in pages.split()]


def test_the_guide_has_at_most_24_pages_and_30_000_words():
    pages = guide_pages()
    assert 20 <= len(pages) <= 24
    assert sum(len((DOCS / f"{page}.md").read_text(encoding="utf-8").split()) for page in pages) <= 30_000


def test_no_page_has_the_name_of_a_page_of_sphinx():
    """The page of the search would replace it."""
    assert not [name for name in ("search", "genindex", "py-modindex") if (DOCS / f"{name}.md").exists()]
