"""The section on kinds of queries and rows: the first measure of each model by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.slices import Slice
from rankwise.report.page import section, table

OF_ROWS = "Pairs of two rows of a group count, so these measures are not those of all pairs."


def slices_section(
    data: EvaluationData, measured: Mapping[str, Sequence[Measured]], slices: Sequence[Slice]
) -> str:
    """Show the first measure by groups of queries or rows."""
    tables = [_table(data, measured, number, one) for number, one in enumerate(slices)]
    kinds = "By kinds of queries" if all(one.of_queries for one in slices) else "By kinds of rows"
    return section("slices", kinds, *tables)


def _table(data: EvaluationData, measured: Mapping[str, Sequence[Measured]], number: int, one: Slice) -> str:
    rows = [[name, len(inside), *one.means(data, measured, inside)] for name, inside in one.members().items()]
    caption = f"{measured[data.name][0].measure.name} by {one.title[:1].lower()}{one.title[1:]}"
    header = [one.title, "Queries" if one.of_queries else "Rows", *measured]
    note = "" if one.of_queries else OF_ROWS
    return table(caption, header, rows, name=f"slice-{number}", note=note)
