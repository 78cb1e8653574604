"""The svmlight format as slow and obvious Python: what the native reader is proved equal to."""

import math
import re

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INDEX = re.compile(rb"\+?[0-9]+")
INTEGER = re.compile(rb"0|-?[1-9][0-9]*")


class MalformedError(Exception):
    """The line and the column at which the text is wrong, both from 1."""


def parse(text, zero_based=False, n_features=2**31 - 1):
    """Return (labels, rows, qid, comments); a row is a list of (column, value)."""
    labels, rows, tokens, comments = [], [], [], []
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines, start=1):
        data, _, comment = line.removesuffix(b"\r").partition(b"#")
        words = list(re.finditer(rb"[^ \t]+", data))
        if not words:
            continue
        try:
            label, token, row = _parse_row(words, zero_based, n_features)
        except MalformedError as malformed:
            raise MalformedError(number, malformed.args[0] + 1) from None
        if tokens and (tokens[0] is None) != (token is None):
            raise MalformedError(number, words[1 if token is not None else 0].start() + 1)
        labels.append(label)
        rows.append(row)
        tokens.append(token)
        comments.append(comment.decode("utf-8", "surrogateescape"))
    return labels, rows, _queries(tokens), comments


def _parse_row(words, zero_based, n_features):
    label = _number(words[0].group(), words[0].start())
    words, token = words[1:], None
    if words and words[0].group().startswith(b"qid:"):
        token = words[0].group()[4:]
        if not token:
            raise MalformedError(words[0].start())
        words = words[1:]
    row = []
    for word in words:
        index, colon, value = word.group().partition(b":")
        if not (INDEX.fullmatch(index) and colon and value):
            raise MalformedError(word.start())
        column = int(index) - (not zero_based)
        if column < 0 or column >= n_features or (row and column <= row[-1][0]):
            raise MalformedError(word.start())
        row.append((column, _number(value, word.start() + len(index) + 1)))
    return label, token, row


def _number(word, place):
    if not NUMBER.fullmatch(word) or not math.isfinite(float(word)):
        raise MalformedError(place)
    return float(word)


def _queries(tokens):
    if not tokens or tokens[0] is None:
        return None
    if all(INTEGER.fullmatch(token) and -(2**63) <= int(token) < 2**63 for token in tokens):
        return [int(token) for token in tokens]
    return [token.decode("utf-8", "surrogateescape") for token in tokens]
