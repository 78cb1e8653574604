"""The probabilities of labels as lines of CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from rankwise.cli.scores import ranker_and_rows
from rankwise.core.pipelines import last_step


def probability_lines(model: Any) -> Callable[[Any, Any], str]:
    """Return a function of rows and queries that formats their labels, expected labels and probabilities.

    Its first result begins with the header.
    """
    classes = require_probabilities(model).classes_.tolist()
    header = [["predicted", "expected", *(f"P({label_name(label)})" for label in classes)]]

    def lines(X: Any, qid: Any) -> str:
        ranker, rows = ranker_and_rows(model, X, qid)
        columns = (ranker.predict(rows).tolist(), ranker.predict_expected(rows).tolist())
        found = zip(*columns, *ranker.predict_proba(rows).T.tolist(), strict=True)
        written = csv_lines([*header, *found])
        header.clear()
        return written

    return lines


def require_probabilities(model: Any) -> Any:
    """Return the last step of a model; refuse models without probabilities of labels."""
    ranker = last_step(model)
    if hasattr(ranker, "predict_expected"):
        return ranker
    raise ValueError(
        "The model has no probabilities of labels; train it with --method ordinal-svm --calibrated."
    )


def label_name(label: Any) -> str:
    """Return a label as text; labels of svmlight files are floats.

    Examples
    --------
    >>> label_name(2.0), label_name("good")
    ('2', 'good')
    """
    return f"{label:g}" if isinstance(label, float) else str(label)


def csv_lines(rows: list[Any]) -> str:
    """Return rows as text of CSV.

    Examples
    --------
    >>> csv_lines([["a", "b, c"], [1, 0.5]])
    'a,"b, c"\\n1,0.5\\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
