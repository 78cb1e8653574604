"""The table of choosing.md that states what each model takes: each cell is what the model does."""

import re
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import get_tags

import rankwise

PAGE = Path(__file__).parents[1] / "choosing.md"
COLUMNS = {
    "missing values": lambda model: get_tags(model).input_tags.allow_nan,
    "sparse rows": lambda model: get_tags(model).input_tags.sparse,
    "weights of rows": lambda model: "sample_weight" in signature(model.fit).parameters,
    "kernels": lambda model: "kernel" in model.get_params(),
    "few features": lambda model: "l1_ratio" in model.get_params(),
    "standard errors": lambda model: hasattr(model, "inference"),
    "rows on Dask": lambda model: model.takes_backends,
    "export": lambda model: is_exported(model),
}


def table():
    """Yield the model, the column and the cell."""
    text = PAGE.read_text(encoding="utf-8").partition("## What each model takes")[2]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n\n")[1].splitlines()
    ]
    for name, *cells in lines[2:]:
        yield from ((name.strip("`"), column, cell) for column, cell in zip(lines[0][1:], cells, strict=True))


def is_exported(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    format = "json" if isinstance(model, rankwise.BoostedRanker) else "sql"
    try:
        return bool(rankwise.export_model(model.fit(X, (X[:, 0] > 0).astype(int)), None, format))
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize(("name", "column", "cell"), [one for one in table() if one[1] in COLUMNS])
def test_cells_are_what_models_do(name, column, cell):
    if name == "BoostedRanker":
        pytest.importorskip("lightgbm")
    assert bool(cell) == bool(COLUMNS[column](getattr(rankwise, name)()))


def test_the_table_has_all_columns():
    columns = {column for _, column, _ in table()}
    assert columns - {"strings and categories"} == set(COLUMNS)
    assert re.fullmatch(r"\w+", next(table())[0])
