"""What the estimators that choose alpha share."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rankwise.core.types import FloatArray
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.fits import adopt
from rankwise.estimators.inputs import labels_alone, read_validation, require_here
from rankwise.model_selection.folds import FOLDS_OF, Folds
from rankwise.model_selection.newton_search import NewtonLeftOut
from rankwise.model_selection.scoring import OF_PAIRS
from rankwise.model_selection.search import (
    CHANCE,
    MOST_LARGER,
    Choice,
    EdgeOfGridWarning,
    HeldOut,
    Search,
    has_risen,
)
from rankwise.model_selection.tunable import Problem

# The folds if `cv` is None.
DEFAULT_FOLDS = 5


def seed_of(random_state: Any) -> int:
    """Return the seed of folds: the same for each fit, unless `random_state` is a generator.

    Examples
    --------
    >>> seed_of(None), seed_of(7)
    (0, 7)
    """
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31 - 1))


class ChoosesAlpha(BaseRanker):
    """An estimator with `alphas`, `cv` and `scoring` in place of the alpha of another."""

    takes_backends = False  # the rows of folds are copied
    # The estimator for one alpha.
    plain: type[BaseRanker]
    # Whether the held-out scores of all folds are judged together.
    pooled = False
    alphas: ArrayLike | None
    alphas_: FloatArray
    alpha_: Any
    cv_errors_: FloatArray
    cv: Any
    scoring: Any
    callback: Any = None
    # Whether the largest alpha within a standard error of the lowest error is chosen.
    one_standard_error = False

    def with_alpha(self, alpha: float) -> Any:
        """Return the estimator for one alpha."""
        known = self.plain().get_params(deep=False)
        parameters = self.get_params(deep=False)
        return self.plain(alpha=alpha, **{name: parameters[name] for name in known if name in parameters})

    def default_folds(self, n_rows: int) -> int:
        """Return the number of folds if none is given."""
        return DEFAULT_FOLDS

    def _held_out(self, problem: Problem, y: Any, qid: ArrayLike | None) -> Folds:
        """Return the folds to be, which know what they are judged by."""
        scoring = self.default_scoring if self.scoring is None else self.scoring
        labels = labels_alone(y, qid) if callable(scoring) else None
        kind = FOLDS_OF.get(type(problem.outputs[0]), Folds)
        folds = kind(self.with_alpha(1.0), problem, scoring, labels, self.pooled)
        if folds.scoring == "log_loss" and self.default_scoring != "log_loss":
            raise ValueError(
                f"scoring='log_loss' needs scores that are log odds, which {type(self).__name__} does not "
                "have; use RankLogisticCV."
            )
        self.scoring_ = folds.scoring
        return folds

    @property
    def labels_may_stay(self) -> bool:
        """Whether folds are of queries, each judged by a mean over its pairs: labels may stay with rows."""
        scoring = self.default_scoring if self.scoring is None else self.scoring
        is_mean = isinstance(scoring, str) and scoring in OF_PAIRS and not self.pooled
        return is_mean and (self.cv is None or isinstance(self.cv, Integral))

    def _split(self, folds: Folds, y: Any, qid: ArrayLike | None, validation: Any) -> None:
        """Make the folds of `cv`, or take the validation rows as the only one."""
        if validation is None:
            cv = self.default_folds(folds.problem.X.shape[0]) if self.cv is None else self.cv
            folds.split(cv, y, qid, seed_of(self.random_state))
        else:
            folds.splits = [read_validation(self, validation)]

    def _fit_chosen(
        self, fits: Any, y: Any, qid: ArrayLike | None, validation: Any, is_kept: bool = True
    ) -> Self:
        """Choose alpha, and fit all rows."""
        if np.ndim(self.l1_ratio) > 0:
            return self._fit_best_ratio(fits, y, qid, validation)
        held_out: Any = self._held_out(fits.problem, y, qid)
        held_out.design = fits.space.design
        self.alphas_ = held_out.candidates(self.alphas)
        if validation is None and isinstance(self.cv, str):
            require_here(fits.problem.X, f"cv={self.cv!r}")
            if self.pooled:
                raise ValueError(f"pooled=True needs folds, such as cv=10; cv={self.cv!r} has none.")
            held_out = NewtonLeftOut(held_out, fits, self.cv)
        else:
            self._split(held_out, y, qid, validation)
        held_out.is_kept = is_kept
        choice = self._choice(held_out)
        self._calibrate_by(held_out, choice)
        self.cv_errors_ = choice.errors
        self.alpha_, result = fits.chosen(choice, held_out)
        fits.keep(self, result)
        # Beyond an alpha that selects no feature, all weights stay zero.
        is_empty = choice.is_open_above and not np.any(getattr(self, "coef_", 1))
        if self.alpha_ == choice.alpha and not is_empty:
            choice.warn_at_edge()
        return self

    def _fit_best_ratio(self, fits: Any, y: Any, qid: ArrayLike | None, validation: Any) -> Self:
        """Choose alpha for each `l1_ratio`, and keep the fit of the ratio with the lowest error."""
        tried = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)  # of ratios that are not kept
            for ratio in self.l1_ratio:
                model = copy(self)
                model.l1_ratio = float(ratio)
                tried.append(model._fit_chosen(replace(fits, model=model), y, qid, validation, is_kept=False))
        best = min(tried, key=lambda model: float(model.cv_errors_.mean(axis=1).min()))
        adopt(self, best)
        self.l1_ratio_ = best.l1_ratio
        return self

    def _calibrate_by(self, held_out: Any, choice: Choice) -> None:
        """Learn what probabilities need from the rows held out; here there are none."""

    def _choice(self, held_out: HeldOut) -> Choice:
        """Compare the candidates `alphas_`, and keep those that were visited: all that the user gave."""
        search = Search(self.scoring_, callback=self.callback, one_standard_error=self.one_standard_error)
        # Ending at six rises cost up to .001 of concordance with l1_ratio (`benchmarks/cox_accuracy.py`).
        if self.alphas is None and not np.any(self.l1_ratio):
            search.is_over = partial(has_risen, chance=CHANCE.get(self.scoring_))
            search.most_above = MOST_LARGER
        choice = search.choose(held_out, self.alphas_)
        self.alphas_ = choice.alphas
        return choice
