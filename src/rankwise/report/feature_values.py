"""The values of features as a page writes them: dates as dates, and booleans as yes and no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from rankwise.core.text import short
from rankwise.data.columns import BOOLEAN, CATEGORY, DATE, NUMBER, is_frame, kind_of
from rankwise.data.frames import frame_columns
from rankwise.estimators.weights import encoder_of
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names

ValueKind = Literal["number", "date", "yes or no"]
KINDS: dict[str, ValueKind] = {DATE: "date", BOOLEAN: "yes or no"}
YES_NO = ("no", "yes")
MINUTES = 24 * 60


def value_kinds(data: EvaluationData, given: Mapping[str, str]) -> dict[str, ValueKind]:
    """Return the kind of the columns of X and of what a TableEncoder makes of them, by name.

    `given` has the kinds, "date" or "boolean", of columns that X has as numbers.
    """
    model, n_columns = data.models[data.name], data.X.shape[1]
    encoder = encoder_of(model)
    columns: list[Any] = frame_columns(data.X) if is_frame(data.X) else [None] * n_columns
    fitted = [NUMBER] * n_columns if encoder is None else encoder.kinds_
    names = feature_names(data.X, model, data.feature_names, n_columns)
    found = [
        KINDS.get(given.get(name) or _kind_of(column, kind), "number")
        for name, column, kind in zip(names, columns, fitted, strict=True)
    ]
    kinds = dict(zip(names, found, strict=True))
    if encoder is not None:
        made = encoder.get_feature_names_out().tolist()
        for name, place in zip(made, encoder.source_columns_.tolist(), strict=True):
            is_level = fitted[place] == CATEGORY or name.endswith(" is missing")
            kinds[str(name)] = "yes or no" if is_level else found[place]
    return kinds


def _kind_of(column: Any, fitted: str) -> str:
    """Return the kind of a column: that of the frame or, if it has numbers, that of the fit."""
    if column is None:
        return fitted
    if isinstance(column.dtype, nw.Duration | nw.Time):
        return NUMBER  # of days
    found = kind_of(column)
    return fitted if found == NUMBER else found


def value_text(value: float, kind: str = "number") -> str:
    """Write the value of a feature; report.js writes the same.

    Examples
    --------
    >>> value_text(19874.0, "date"), value_text(19874.5, "date"), value_text(1.0, "yes or no")
    ('2024-05-31', '2024-05-31 12:00', 'yes')
    >>> value_text(0.25), value_text(float("nan"), "date")
    ('0.2500', 'missing')
    """
    if value != value:
        return "missing"
    if kind == "date":
        return date_text(value)
    return YES_NO[int(value)] if kind == "yes or no" and value in (0.0, 1.0) else short(value)


def date_text(days: float) -> str:
    """Write the date that is a number of days after 1970-01-01, with the time unless it is midnight."""
    minutes = round(days * MINUTES)
    if minutes % MINUTES == 0:
        return str(np.datetime64(minutes // MINUTES, "D"))
    return str(np.datetime64(minutes, "m")).replace("T", " ")
