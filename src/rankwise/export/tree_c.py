"""Trees as a C function."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

import numpy as np

from rankwise.export.c import check_function_name, comment
from rankwise.export.terms import Terms
from rankwise.export.trees import WORD, Tree

LISTED = """static int {name}_listed(const unsigned long *words, long n, double value)
{{
    long code;
    if (!(value > -1.0 && value < 32.0 * n)) return 0;
    code = (long)value;
    return (int)(words[code / 32] >> (code % 32) & 1UL);
}}

"""
BY_NUMBER = "value != value ? missing_left[node] : value <= threshold[node]"
BY_EITHER = f"n_words[node] ? {{name}}_listed(words + first_word[node], n_words[node], value) : {BY_NUMBER}"
BODY = """    double score = 0.0;
    long tree;
    for (tree = 0; tree < {n_trees}; tree++) {{
        long node = root[tree];
        while (node >= 0) {{
            double value = x[feature[node]];
            int goes_left = {test};
            node = goes_left ? left[node] : right[node];
        }}
        score += leaf[-1 - node];
    }}
    return score;
}}
"""


def c_trees(terms: Terms, model_name: str) -> str:
    """Return C source (C90 and later, and C++) of `double <model_name>(const double *x)`, the score of a row.

    `x` holds the raw features in the order of the fit. NaN is a missing value, and a categorical column holds
    the index of the category among those of the fit, which are listed in a comment. The numbers are exact.
    """
    check_function_name(model_name)
    trees = terms.trees
    has_sets = any(tree.categories for tree in trees)
    test = (BY_EITHER if has_sets else BY_NUMBER).format(name=model_name)
    return (
        f"/* The score of a row of {len(terms.names)} features; a higher score ranks higher. "
        f"Written by rankwise.\n{_names(terms)} */\n"
        f"{LISTED.format(name=model_name) if has_sets else ''}double {model_name}(const double *x)\n{{\n"
        f"{_splits(trees)}{_sets(trees) if has_sets else ''}{BODY.format(n_trees=len(trees), test=test)}"
    )


def _names(terms: Terms) -> str:
    """Return the features by their index, with their categories."""
    lines = [f"   x[{k}]: {comment(name)}" for k, name in enumerate(terms.names)]
    for k, known in terms.categories.items():
        lines[k] += f" ({comment(', '.join(map(str, known)))})"
    return "\n".join(lines)


def _splits(trees: list[Tree]) -> str:
    """Return the splits and the leaves of all trees as arrays; a child below zero is a leaf."""
    first = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]
    first_leaf = np.cumsum([0, *(len(tree.value) for tree in trees)])[:-1]
    places = list(zip(trees, first.tolist(), first_leaf.tolist(), strict=True))
    sides = [
        [
            child + n if child >= 0 else child - n_leaves
            for tree, n, n_leaves in places
            for child in side(tree)
        ]
        for side in (lambda tree: tree.left.tolist(), lambda tree: tree.right.tolist())
    ]
    return "".join(
        [
            _array("long", "root", [n if tree.root == 0 else -1 - n_leaves for tree, n, n_leaves in places]),
            _array("long", "feature", [k for tree in trees for k in tree.feature.tolist()]),
            _array(
                "double", "threshold", [t for tree in trees for t in np.nan_to_num(tree.threshold).tolist()]
            ),
            _array("int", "missing_left", [int(k) for tree in trees for k in tree.missing_left]),
            _array("long", "left", sides[0]),
            _array("long", "right", sides[1]),
            _array("double", "leaf", [value for tree in trees for value in tree.value.tolist()]),
        ]
    )


def _sets(trees: list[Tree]) -> str:
    """Return the sets of categories as bits, with the words of each split; a split by number has none."""
    codes = [tree.categories.get(k, []) for tree in trees for k in range(len(tree.feature))]
    words = [_bits(each) for each in codes]
    first = np.cumsum([0, *map(len, words)])[:-1].tolist()
    return "".join(
        [
            _array("long", "first_word", first),
            _array("long", "n_words", [len(each) for each in words]),
            _array("unsigned long", "words", [f"{word}UL" for each in words for word in each]),
        ]
    )


def _bits(codes: list[int]) -> list[int]:
    words = [0] * (max(codes) // WORD + 1 if codes else 0)
    for code in codes:
        words[code // WORD] |= 1 << code % WORD
    return words


def _array(kind: str, title: str, values: Iterable[object]) -> str:
    """Return an array on lines of moderate length; C requires at least one entry."""
    texts = [str(value) for value in values] or ["0"]
    lines = fill(", ".join(texts), 100, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return f"    static const {kind} {title}[{len(texts)}] = {{\n{lines}\n    }};\n"
