"""Reading a page back: its tables, its embedded data and its structure."""

import json
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Tables as lists of rows, each cell a (text, number) pair; tags that do not match are an error."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.data, self.values, self.tags, self.text = {}, {}, {}, [], []
        self._open, self._table, self._cell, self._script = [], None, None, None
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self._table = self.tables[attributes["id"]] = []
        elif tag == "tr":
            self._table.append([])
        elif tag in ("td", "th"):
            value = attributes.get("data-value")
            self._cell = ["", float(value) if value else None]
            self._table[-1].append(self._cell)
        elif tag == "script" and attributes.get("type") == "application/json":
            self._script = attributes["id"]
        if "data-measure" in attributes:
            self.values[attributes["data-measure"]] = float(attributes["data-value"])

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        self._cell = None if tag in ("td", "th") else self._cell
        self._script = None if tag == "script" else self._script

    def handle_data(self, content):
        if self._script is not None:
            self.data[self._script] = json.loads(content)
        elif self._cell is not None:
            self._cell[0] += content
        elif self._open and self._open[-1] not in ("script", "style"):
            self.text.append(content)

    @property
    def words(self):
        return " ".join(self.text)

    def column(self, table, title):
        """The numbers of a column, below its heading."""
        head, *rows = self.tables[table]
        place = [cell[0] for cell in head].index(title)
        return [row[place][1] for row in rows]

    def names(self, table):
        return [row[0][0] for row in self.tables[table][1:]]

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]
