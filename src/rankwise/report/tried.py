"""The section "What was tried" of a model that a search has chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwise.report.page import Cell, paragraph, section, table

HEADER = ("Model", "Kind", "Mean", "From", "To", "Difference", "p", "Folds", "Seconds", "Note")


def tried_section(tried: Sequence[Mapping[str, Any]]) -> str:
    """List the candidates of a search, compared on parts of the training rows; nothing without a search."""
    if not tried:
        return ""
    measure = str(tried[0]["measure"])
    text = (
        "Before the last fit, these models were compared by cross-validation on the training rows: "
        f"{measure} of rows that they were not fitted to, with its 95% interval. The difference is from the "
        "best one, positive if a model is worse, with the p-value of a paired test."
    )
    rows = [_cells(one) for one in tried]
    return section(
        "tried",
        "What was tried",
        paragraph(text),
        table(f"{measure} by model", HEADER, rows, name="tried-models"),
    )


def _cells(one: Mapping[str, Any]) -> list[Cell]:
    numbers = [one.get(name) for name in ("mean", "low", "high", "difference", "p", "folds", "seconds")]
    note = [word for word in ("chosen" if one.get("chosen") else "", str(one.get("note") or "")) if word]
    return [str(one["model"]), str(one["family"]), *numbers, ", ".join(note)]
