"""LightGBM's trees as text: reduced to what scores need, and checked before LightGBM reads it.

LightGBM trusts its model files, and a damaged one can end the interpreter. So a model keeps a text of one
form only: a header that follows from the trees, and of each tree a fixed list of lines whose numbers were
checked.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

# The lines of a tree: their type, and how many numbers each has.
LINES = {
    "num_leaves": (int, "one"),
    "num_cat": (int, "one"),
    "split_feature": (int, "nodes"),
    "split_gain": (float, "nodes"),
    "threshold": (float, "nodes"),
    "decision_type": (int, "nodes"),
    "left_child": (int, "nodes"),
    "right_child": (int, "nodes"),
    "leaf_value": (float, "leaves"),
    "leaf_weight": (float, "leaves"),
    "leaf_count": (int, "leaves"),
    "internal_value": (float, "nodes"),
    "internal_weight": (float, "nodes"),
    "internal_count": (int, "nodes"),
    "cat_boundaries": (int, "cuts"),
    "cat_threshold": (int, "words"),
    "is_linear": (int, "one"),
    "shrinkage": (float, "one"),
}
CATEGORICAL = ("cat_boundaries", "cat_threshold")
INTEGER = r"-?\d{1,10}"
NUMBER = r"-?(?:\d{1,400}(?:\.\d{0,400})?(?:e[+-]?\d{1,3})?|inf|nan)"
LINE_OF: dict[type, re.Pattern[str]] = {
    kind: re.compile(f"(?:{word}(?: {word})*)?") for kind, word in ((int, INTEGER), (float, NUMBER))
}
# What is known of a node: whether it asks for a category, where missing values go, and what counts as one.
CATEGORY, MISSING_KINDS = 1, 3
MOST_LEAVES = 2**17


class TreeTextError(ValueError):
    """A text is not that of trees."""


def reduced(text: str, n_features: int) -> str:
    """Return LightGBM's text of a model with nothing but its trees."""
    _, *blocks = re.split(r"\n(?=Tree=\d+\n)", text.partition("\nend of trees")[0])
    made = whole([_reduced_tree(block, number) for number, block in enumerate(blocks)], n_features)
    check(made, n_features)
    return made


def _reduced_tree(block: str, number: int) -> str:
    lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    kept = [f"{name}={lines[name]}" for name in LINES if name in lines]
    return "\n".join([f"Tree={number}", *kept, "\n\n"])


def whole(trees: list[str], n_features: int) -> str:
    """Return the text of a model with these trees, as LightGBM reads it."""
    head = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={n_features - 1}",
        "feature_names=" + " ".join(f"Column_{k}" for k in range(n_features)),
        "feature_infos=" + " ".join(["none"] * n_features),
        "tree_sizes=" + " ".join(str(len(tree)) for tree in trees),
        "",
        "",
    ]
    return "\n".join(head) + "".join(trees) + "end of trees\n\n"


def numbers(text: str) -> list[dict[str, Any]]:
    """Return the arrays of each tree of a checked text, by the names of its lines."""
    return [_tree_numbers(_lines(tree)[1]) for tree in _trees(text)]


def check(text: Any, n_features: int) -> None:
    """Refuse a text that is not one that `reduced` returns: LightGBM would trust it."""
    if not isinstance(text, str) or not text.isascii() or not 0 < n_features < len(text):
        raise TreeTextError("Trees are not given as text.")
    trees = _trees(text)
    if whole(trees, n_features) != text:
        raise TreeTextError("The text of trees does not have the form of a model.")
    for number, tree in enumerate(trees):
        try:
            _check_tree(tree, number, n_features)
        except (AssertionError, KeyError, ValueError) as error:
            raise TreeTextError(f"Tree {number} is not a tree ({error or type(error).__name__}).") from None


def _trees(text: str) -> list[str]:
    return [f"Tree={part}" for part in text.partition("end of trees")[0].split("Tree=")[1:]]


def _lines(block: str) -> tuple[str, list[str]]:
    first, *lines = block.removesuffix("\n\n\n").split("\n")
    return first, lines


def _tree_numbers(lines: list[str]) -> dict[str, Any]:
    texts = dict(line.split("=", 1) for line in lines)
    return {name: _numbers(text, LINES[name][0]) for name, text in texts.items()}


def _check_tree(block: str, number: int, n_features: int) -> None:
    first, lines = _lines(block)
    _require(first == f"Tree={number}", "its number")
    texts = dict(line.split("=", 1) for line in lines)
    categorical = texts["num_cat"] != "0"
    expected = [name for name in LINES if categorical or name not in CATEGORICAL]
    _require([line.split("=", 1)[0] for line in lines] == expected, "its lines")
    tree = _tree_numbers(lines)
    _check_lengths(tree)
    _check_nodes(tree, n_features)
    _check_thresholds(tree)
    if categorical:
        _check_categories(tree)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _numbers(text: str, kind: type) -> Any:
    _require(LINE_OF[kind].fullmatch(text), "its numbers")
    return np.array(text.split(), dtype=np.int64 if kind is int else np.float64)


def _check_lengths(tree: dict[str, Any]) -> None:
    (leaves,), (cats,) = tree["num_leaves"], tree["num_cat"]
    _require(1 <= leaves <= MOST_LEAVES and 0 <= cats < leaves, "its size")
    # A tree of one leaf has no lines of nodes, and LightGBM leaves out some of its leaf.
    sizes = {"one": {1}, "nodes": {leaves - 1}, "leaves": {leaves}, "cuts": {cats + 1}}
    if leaves == 1:
        sizes["leaves"] |= {0}
    sizes["words"] = {len(tree.get("cat_threshold", ()))}
    _require(len(tree["leaf_value"]) == leaves, "leaf_value")
    for name, numbers in tree.items():
        kind, size = LINES[name]
        _require(len(numbers) in sizes[size], name)
        _require(kind is float or name == "cat_threshold" or (np.abs(numbers) < 2**31).all(), name)


def _check_nodes(tree: dict[str, Any], n_features: int) -> None:
    """Each node but the first, and each leaf, is the child of one node before it."""
    (leaves,), (linear,) = tree["num_leaves"], tree["is_linear"]
    _require(linear == 0, "linear trees are not supported")
    _require(np.isfinite(tree["leaf_value"]).all(), "leaf_value")
    feature, kind = tree["split_feature"], tree["decision_type"]
    _require(((feature >= 0) & (feature < n_features)).all(), "split_feature")
    _require(((kind >= 0) & (kind < 4 * MISSING_KINDS)).all(), "decision_type")
    children = np.concatenate([tree["left_child"], tree["right_child"]])
    expected = np.concatenate([np.arange(-leaves, 0), np.arange(1, leaves - 1)])
    _require(leaves == 1 or np.array_equal(np.sort(children), expected), "its children")
    parents = np.tile(np.arange(leaves - 1), 2)
    _require(((children < 0) | (children > parents)).all(), "its order")


def _check_categories(tree: dict[str, Any]) -> None:
    """Each set of categories is a stretch of words of 32 bits."""
    cuts, words = tree["cat_boundaries"], tree["cat_threshold"]
    _require(cuts[0] == 0 and (np.diff(cuts) > 0).all() and cuts[-1] == len(words), "cat_boundaries")
    _require(((words >= 0) & (words < 2**32)).all(), "cat_threshold")


def _check_thresholds(tree: dict[str, Any]) -> None:
    """The threshold of a node that asks for a category is the number of a set of them."""
    (cats,) = tree["num_cat"]
    sets = tree["threshold"][tree["decision_type"] % 2 == CATEGORY]
    _require(np.isin(sets, np.arange(cats)).all(), "threshold")
