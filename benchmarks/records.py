"""How records are written: numbers with six digits, and one line per entry."""

import json


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
