"""A mix of the best model of each family, with weights by the exact pairwise loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from rankwise.core.types import FloatArray, FloatVector
from rankwise.estimators import RankLogistic
from rankwise.estimators.auto_choice import by_error, combined, eligible
from rankwise.estimators.model_scores import ModelScores
from rankwise.evaluation.intervals import Estimate
from rankwise.preferences import Preferences

if TYPE_CHECKING:
    from rankwise.estimators.auto_race import Race, Trial
    from rankwise.estimators.auto_task import Fold, Task

# The penalty of the weights: it only makes them unique.
ALPHA = 1e-6


class Blend:
    """Learn the weights of models from the scores of rows that they were not fitted to.

    Weights are those of the logistic loss over all pairs of the test rows of each fold. A model whose weight
    would be negative is left out, and the others are fitted again.

    Parameters
    ----------
    race : Race
        It has been run.
    """

    def __init__(self, race: Race):
        self._race = race
        best: dict[str, Trial] = {}
        for trial, _ in by_error([(trial, trial.results) for trial in eligible(race.trials)]):
            best.setdefault(trial.candidate.family, trial)
        self._n_folds = min(len(trial.results) for trial in best.values())
        self._finalists = list(best.values())
        self._scales = [_spread(trial.scores[: self._n_folds]) for trial in self._finalists]
        self.mix, self.members = self._fitted(range(self._n_folds))

    @property
    def trials(self) -> list[Trial]:
        """The models with positive weights."""
        return [self._finalists[place] for place in self.members]

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each model; they sum to 1."""
        shares = self.mix.coef_ / self.mix.coef_.sum()
        names = [trial.candidate.name for trial in self.trials]
        return dict(zip(names, shares.tolist(), strict=True))

    def estimate(self) -> Estimate:
        """Return the measure to be expected on new rows: each fold is scored with weights of the others."""
        if self._n_folds < 2:
            return combined(self._results(range(1)))
        return combined(self._results(range(self._n_folds)))

    def scores(self) -> list[FloatVector]:
        """Return the scores of the test rows of each fold."""
        return [self._scores(number)[:, self.members] @ self.mix.coef_ for number in range(self._n_folds)]

    def model(self, models: Sequence[Any]) -> Pipeline:
        """Return the mix of the fitted models of `trials`."""
        names = [trial.candidate.name for trial in self.trials]
        scores = ModelScores(
            list(zip(names, models, strict=True)), [self._scales[place] for place in self.members]
        )
        return Pipeline([("models", scores), ("mix", self.mix)])

    def _results(self, numbers: Sequence[int]) -> list[Any]:
        found = []
        for number in numbers:
            others = [other for other in range(self._n_folds) if other != number] or [number]
            mix, members = self._fitted(others)
            scores = self._scores(number)[:, members] @ mix.coef_
            found.append(self._race.measure(self._fold(number).test.preferences, scores))
        return found

    def _fold(self, number: int) -> Fold:
        return self._race.folds[number]

    def _scores(self, number: int) -> FloatArray:
        columns = [
            trial.scores[number] / scale for trial, scale in zip(self._finalists, self._scales, strict=True)
        ]
        return np.column_stack(columns)

    def _fitted(self, numbers: Sequence[int]) -> tuple[RankLogistic, list[int]]:
        """Return the mix by some folds, and the places of its models."""
        tests: list[Task] = [self._fold(number).test for number in numbers]
        scores = [self._scores(number) for number in numbers]
        members = list(range(len(self._finalists)))
        while True:
            mix = _fit([part[:, members] for part in scores], tests)
            if len(members) == 1 or (mix.coef_ > 0).all():
                return mix, members
            del members[int(np.argmin(mix.coef_))]


def _fit(scores: list[FloatArray], tests: list[Task]) -> RankLogistic:
    """Fit weights to the pairs of each fold."""
    folds = [test.preferences for test in tests]
    if all(fold.is_complete for fold in folds):
        return RankLogistic(ALPHA).fit(np.vstack(scores), _ranked(folds))
    begin = np.cumsum([0, *[len(part) for part in scores]])
    listed = [fold.pairs() for fold in folds]
    better, worse = (
        np.concatenate([pairs[side] + start for pairs, start in zip(listed, begin, strict=False)])
        for side in (0, 1)
    )
    weight = np.concatenate([pairs.weight for pairs in listed])
    y = Preferences.from_pairs(better, worse, weight=weight, n_rows=int(begin[-1]))
    return RankLogistic(ALPHA).fit(np.vstack(scores), y)


def _ranked(folds: list[Preferences]) -> Preferences:
    """Return the labels of all folds as one structure; the queries of each are apart from those of others."""
    groups = [fold.groups() for fold in folds]
    first = np.cumsum([0, *[int(group.max()) + 1 for group in groups]])
    qid = np.concatenate([group + start for group, start in zip(groups, first, strict=False)])
    weights = [np.ones(fold.n_rows) if fold.weight is None else fold.weight for fold in folds]
    labels = np.concatenate([fold.labels for fold in folds])
    return Preferences.from_scores(labels, qid, np.concatenate(weights))


def _spread(scores: Sequence[Any]) -> float:
    """Return the mean standard deviation of the scores of a fold."""
    return float(np.mean([part.std() for part in scores])) or 1.0
