"""The scores of a model, or of a file of scores, and the grades that a model predicts."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import get_tags

from rankwise.cli.data import read_data, take_columns_of
from rankwise.cli.models import load_any_model
from rankwise.cli.training import require_rows
from rankwise.core.pipelines import before_last_step, has_probabilities, last_step, scales_queries
from rankwise.core.text import plural
from rankwise.evaluation.grades import GradeAgreement, grade_agreement
from rankwise.evaluation.models import predicts_grades

if TYPE_CHECKING:
    from rankwise.cli.data import Data


class ScoreSource:
    """A model file, or a file of scores with one number per line."""

    def __init__(self, path: str):
        self.path = path
        self._scores = read_scores(path) if holds_scores(path) else None
        self.model = load_any_model(path) if self._scores is None else None

    @property
    def has_probabilities(self) -> bool:
        """Whether differences of scores are log odds of pairs."""
        return has_probabilities(self.model)

    def scores(self, data: Data) -> Any:
        """Return the score of each row; a model takes its own columns of the data."""
        if self._scores is None:
            return model_scores(self.model, data.rows_for(self.model), data.qid)
        return self.given_scores(data.X.shape[0])

    def given_scores(self, n_rows: int) -> Any:
        """Return the scores of a file of scores, which must be one per row."""
        scores: Any = self._scores
        if len(scores) != n_rows:
            raise ValueError(
                f"{self.path!r} has {plural(len(scores), 'score')}, but the data has {plural(n_rows, 'row')}."
            )
        return scores


def read_for(rankings: list[ScoreSource], options: argparse.Namespace) -> Data:
    """Read the data with the features of the models."""
    take_columns_of([ranking.model for ranking in rankings if ranking.model is not None], options)
    take_categories(rankings, options)
    data = read_data(options)
    require_rows(data)
    return data


def labels_for(model: Any, y: Any, options: argparse.Namespace) -> Any:
    """Return the labels as classes if the model has classes that are words, else unchanged."""
    classes = getattr(last_step(model), "classes_", np.empty(0))
    if options.grades is None or classes.dtype.kind not in "UO":
        return y
    return np.array(options.grades)[np.asarray(y, dtype=int)]


def take_categories(rankings: list[ScoreSource], options: argparse.Namespace) -> None:
    """Set the order of labels that are words to that of a model that predicts them, unless it is given."""
    if options.grades is not None or options.label is None:
        return
    for ranking in rankings:
        classes = getattr(last_step(ranking.model), "classes_", np.empty(0))
        if classes.dtype.kind in "UO" and hasattr(last_step(ranking.model), "thresholds_"):
            options.grades = [str(word) for word in classes]
            return


def holds_scores(path: str) -> bool:
    """Return whether a file has scores: its first line is a number."""
    with open(path, "rb") as file:
        try:
            float(file.readline(100))
        except ValueError:
            return False
    return True


def read_scores(path: str) -> Any:
    """Read one finite number per line."""
    scores = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                scores.append(float(line))
            except ValueError:
                raise ValueError(
                    f"{path!r}, line {number}: a score must be a number; got {line.strip()[:40]!r}."
                ) from None
    values = np.array(scores)
    if not np.isfinite(values).all():
        raise ValueError(f"{path!r} contains scores that are NaN or infinite.")
    return values


def model_scores(model: Any, X: Any, qid: Any = None, *, labels: bool = False) -> Any:
    """Return the score of each row or, with `labels`, the predicted label of an ordinal model."""
    ranker, X = ranker_and_rows(model, X, qid)
    if hasattr(ranker, "utility") and not labels:
        return ranker.utility(X)
    scores = ranker.predict(X)
    # A model.dat of SVM-light has a threshold b to subtract, which `predict` ignores.
    return scores - ranker.threshold_ if hasattr(ranker, "threshold_") else scores


def ranker_and_rows(model: Any, X: Any, qid: Any = None) -> tuple[Any, Any]:
    """Return the last step of a model, and the rows as it takes them."""
    if scales_queries(model) and qid is None:
        raise ValueError("The model scales features within queries, but the data has none; use --qid.")
    return last_step(model), before_last_step(model, dense_if_shifted(model, X), qid)


def dense_if_shifted(model: Any, X: Any) -> Any:
    """Return sparse rows as an array if a scaler shifts features."""
    return X.toarray() if hasattr(X, "toarray") and _needs_table(model) else X


def _needs_table(model: Any) -> bool:
    """Return whether a step of a model, or of one of the models that it mixes, takes no sparse rows."""
    steps = [step for _, step in getattr(model, "steps", [])] or [model]
    mixed = [one for step in steps for _, one in getattr(step, "models", [])]
    return any(map(_needs_table, mixed)) or any(
        not get_tags(step).input_tags.sparse for step in steps if hasattr(step, "__sklearn_tags__")
    )


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


def agreement_of(ranking: ScoreSource, data: Data, options: argparse.Namespace) -> GradeAgreement | None:
    """Return the agreement of the grades that a model predicts, None if it predicts none."""
    model = ranking.model
    if not predicts_grades(model):
        return None
    predicted = model_scores(model, data.rows_for(model), data.qid, labels=True)
    return agreement_with(model, data.y, predicted, data.qid, options)


def agreement_with(
    model: Any, y: Any, predicted: Any, qid: Any, options: argparse.Namespace
) -> GradeAgreement:
    """Return the agreement of predicted grades with labels."""
    labels, classes = labels_for(model, y, options), last_step(model).classes_
    words = classes.dtype.kind in "UO"
    return grade_agreement(
        labels,
        predicted,
        categories=options.grades if words else np.union1d(labels, classes).tolist(),
        cluster=qid,
    )
