"""How records are written, numbers with six digits and one line per entry, and how pages get their tables."""

import json
import re


def rounded(value):
    """Return a value with all of its numbers rounded to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def compact(record):
    """Return a record as JSON with one line per entry."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(rounded(value))}" for key, value in record.items())
    return f"{{\n{lines}\n}}\n"


def markdown(header, rows):
    """Return a table; all columns but the first are aligned to the right."""
    lines = [f"| {' | '.join(row)} |" for row in [header, *rows]]
    return "\n".join([lines[0], "|---" + "|---:" * (len(header) - 1) + "|", *lines[1:]])


def with_block(page, name, text):
    """Return a page with a text between the comments of this name, in place of what is there."""
    pattern = rf"<!-- {name} -->.*?<!-- end -->"
    block = f"<!-- {name} -->\n\n{text}\n\n<!-- end -->"
    page, n_blocks = re.subn(pattern, lambda _: block, page, flags=re.DOTALL)
    assert n_blocks == 1, f"the page has {n_blocks} places for {name}"
    return page
