"""The depth of nested formats."""

from __future__ import annotations

from rankwise.io.trees import Tree

# Parsers of JSON accept 1,000 levels by default, and a split takes two.
DEEPEST = 250


def check_depth(trees: list[Tree], format: str) -> None:
    """Refuse trees that parsers of nested texts would refuse."""
    depth = max((int(tree.depths.max(initial=-1)) + 1 for tree in trees), default=0)
    if depth > DEEPEST:
        raise ValueError(
            f"A tree is {depth} splits deep, and format {format!r} supports {DEEPEST}; fit with max_depth="
            f"{DEEPEST} or less."
        )
