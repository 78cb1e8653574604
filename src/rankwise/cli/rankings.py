"""What is evaluated: the scores of a model, or scores from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise._pipeline import last_step


class Ranking:
    """A file that gives scores to rows: a model, or one number a line."""

    def __init__(self, path: str):
        from rankwise.cli.models import load_any_model

        self.path = path
        self._scores = read_scores(path) if holds_scores(path) else None
        self.model = load_any_model(path) if self._scores is None else None
        self.n_features = None if self.model is None else int(last_step(self.model).n_features_in_)

    def scores(self, X: Any) -> Any:
        """Give the score of each row."""
        from rankwise.cli.models import scores_of

        if self._scores is None:
            return scores_of(self.model, X)
        if len(self._scores) != X.shape[0]:
            raise ValueError(
                f"{self.path!r} has {len(self._scores)} scores, but the data has {X.shape[0]} rows."
            )
        return self._scores


def holds_scores(path: str) -> bool:
    """Tell a file of scores by its first line, which is a number."""
    with open(path, "rb") as file:
        try:
            float(file.readline(100))
        except ValueError:
            return False
    return True


def read_scores(path: str) -> Any:
    """Read one finite number a line."""
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
