"""What the estimators that choose alpha share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatArray
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.inputs import labels_alone, read_validation
from rankwise.model_selection.remote_search import RemoteSearch, suits_remote_search
from rankwise.model_selection.search import AlphaSearch, Choice, Fold
from rankwise.model_selection.tunable import Problem

# The folds if `cv` is None.
DEFAULT_FOLDS = 5


class ChoosesAlpha(BaseRanker):
    """An estimator with `alphas`, `cv` and `scoring` in place of the alpha of another."""

    takes_backends = False  # the rows of folds are copied
    # The estimator for one alpha.
    plain: type[BaseRanker]
    # What alphas are compared by, unless `scoring` asks for something else.
    default_scoring = "error"
    # Whether the held-out scores of all folds are judged together.
    pooled = False
    alphas: ArrayLike | None
    alphas_: FloatArray
    cv: Any
    scoring: Any

    def with_alpha(self, alpha: float) -> Any:
        """Return the estimator for one alpha."""
        known = self.plain().get_params(deep=False)
        parameters = self.get_params(deep=False)
        return self.plain(alpha=alpha, **{name: parameters[name] for name in known if name in parameters})

    def _search(self, problem: Problem, y: Any, qid: ArrayLike | None) -> AlphaSearch:
        scoring = self.default_scoring if self.scoring is None else self.scoring
        labels = labels_alone(y, qid) if callable(scoring) else None
        stays = getattr(problem.outputs[0], "stays_with_rows", False)
        kind = RemoteSearch if stays else AlphaSearch
        search = kind(self.with_alpha(1.0), problem, scoring=scoring, y=labels, pooled=self.pooled)
        if search.scoring == "log_loss" and self.default_scoring != "log_loss":
            raise ValueError(
                f"scoring='log_loss' needs scores that are log odds, which {type(self).__name__} does not "
                "have; use RankLogisticCV."
            )
        self.scoring_ = search.scoring
        return search

    @property
    def labels_may_stay(self) -> bool:
        """Whether the search can leave labels where the rows are."""
        scoring = self.default_scoring if self.scoring is None else self.scoring
        return suits_remote_search(DEFAULT_FOLDS if self.cv is None else self.cv, scoring, self.pooled)

    def _folds(self, search: AlphaSearch, y: Any, qid: ArrayLike | None, validation: Any) -> list[Fold]:
        """Return the folds of `cv`, or the validation rows as the only one."""
        if validation is None:
            return search.folds(DEFAULT_FOLDS if self.cv is None else self.cv, y, qid)
        return [read_validation(self, validation)]

    def _choice(self, search: AlphaSearch, folds: list[Fold]) -> Choice:
        """Compare the candidates `alphas_` over folds, and keep those that were visited.

        All that the user gave are visited.
        """
        visits = search.visits(self.alphas_, folds)
        if self.alphas is None:
            choice = search.choice(self.alphas_, visits, folds)
        else:
            choice = Choice(self.alphas_, np.array(list(visits)), search.scoring)
        self.alphas_ = choice.alphas
        return choice
