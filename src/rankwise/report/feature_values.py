"""The values of features as a page writes them: dates as dates, and booleans as yes and no."""

from __future__ import annotations

from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from rankwise.core.text import short
from rankwise.data.columns import BOOLEAN, CATEGORY, DATE, is_frame, kind_of
from rankwise.data.frames import frame_columns
from rankwise.estimators.weights import encoder_of
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names

ValueKind = Literal["number", "date", "yes or no"]
YES_NO = ("no", "yes")
MINUTES = 24 * 60


def value_kinds(data: EvaluationData) -> dict[str, ValueKind]:
    """Return the kind of the columns of X and of what a TableEncoder makes of them, by name."""
    model, columns = data.models[data.name], _column_kinds(data.X)
    if columns is None:
        return {}
    kinds = dict(zip(feature_names(data.X, model, data.feature_names, len(columns)), columns, strict=True))
    encoder = encoder_of(model)
    if encoder is not None:
        names = encoder.get_feature_names_out().tolist()
        for name, place in zip(names, encoder.source_columns_.tolist(), strict=True):
            is_level = encoder.kinds_[place] == CATEGORY or name.endswith(" is missing")
            kinds[str(name)] = "yes or no" if is_level else columns[place]
    return kinds


def _column_kinds(X: Any) -> list[ValueKind] | None:
    if is_frame(X):
        return [_kind_of(column) for column in frame_columns(X)]
    dtype = getattr(X, "dtype", None)
    if dtype is None or dtype.kind not in "bM":
        return None
    return ["yes or no" if dtype.kind == "b" else "date"] * int(X.shape[1])


def _kind_of(column: Any) -> ValueKind:
    if isinstance(column.dtype, nw.Duration | nw.Time):
        return "number"  # of days
    kinds: dict[str, ValueKind] = {DATE: "date", BOOLEAN: "yes or no"}
    return kinds.get(kind_of(column), "number")


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
