"""What is evaluated: the scores of a model, or scores from a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.core.pipelines import last_step

if TYPE_CHECKING:
    from rankwise.cli.data import Data


class ScoreSource:
    """A file that gives scores to rows: a model, or one number per line."""

    def __init__(self, path: str):
        from rankwise.cli.models import load_any_model

        self.path = path
        self._scores = read_scores(path) if holds_scores(path) else None
        self.model = load_any_model(path) if self._scores is None else None
        self.n_features = None if self.model is None else int(last_step(self.model).n_features_in_)

    @property
    def has_probabilities(self) -> bool:
        """Whether differences of the scores are log odds of pairs."""
        return hasattr(last_step(self.model), "predict_pair_proba")

    def scores(self, X: Any, qid: Any = None) -> Any:
        """Return the score of each row."""
        from rankwise.cli.models import scores_of

        if self._scores is None:
            return scores_of(self.model, X, qid)
        if len(self._scores) != X.shape[0]:
            raise ValueError(
                f"{self.path!r} has {len(self._scores)} scores, but the data has {X.shape[0]} rows."
            )
        return self._scores


def read_for(rankings: list[ScoreSource], options: argparse.Namespace) -> Data:
    """Read the data with the features that the models know."""
    from rankwise.cli.data import read_data, take_columns_of
    from rankwise.cli.training import require_rows

    for ranking in rankings:
        take_columns_of(ranking.model, options)
    known = [ranking.n_features for ranking in rankings if ranking.n_features is not None]
    data = read_data(options, known=max(known, default=None))
    require_rows(data)
    return data


def holds_scores(path: str) -> bool:
    """Tell a file of scores by its first line, which is a number."""
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
