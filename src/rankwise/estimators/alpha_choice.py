"""What the estimators that choose alpha share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array
from rankwise.core.types import FloatArray
from rankwise.data.backends import in_memory
from rankwise.estimators.base import BaseRanker
from rankwise.model_selection.search import AlphaSearch, Choice, Fold, Validation
from rankwise.preferences import Preferences, as_preferences


class ChoosesAlpha(BaseRanker):
    """An estimator with `alphas`, `cv` and `scoring` in place of the alpha of another."""

    _takes_places = False  # folds are rows that are taken out
    # The estimator for one alpha.
    _plain: type[BaseRanker]
    # What alphas are compared by where nothing else is asked for.
    _default_scoring = "error"
    scoring: Any

    def _with_alpha(self, alpha: float) -> Any:
        """Return the estimator for one alpha."""
        known = self._plain().get_params(deep=False)
        parameters = self.get_params(deep=False)
        model = self._plain(alpha=alpha, **{name: parameters[name] for name in known if name in parameters})
        model._handed_scales = self._learned_scales()
        return model

    def _search(self, X: Any, targets: list[Any], y: Any, qid: ArrayLike | None) -> AlphaSearch:
        scoring = self._default_scoring if self.scoring is None else self.scoring
        search = AlphaSearch(self._with_alpha(1.0), X, targets, scoring=scoring, y=labels_alone(y, qid))
        if search.scoring == "log_loss" and self._default_scoring != "log_loss":
            raise ValueError(
                f"scoring='log_loss' needs scores that are log odds, which {type(self).__name__} does not "
                "have; use RankLogisticCV."
            )
        self.scoring_ = search.scoring
        return search

    def _choice(self, search: AlphaSearch, folds: list[Fold]) -> Choice:
        """Compare the candidates `alphas_` over folds; outputs share one alpha."""
        return Choice(self.alphas_, self._errors(search, folds).mean(axis=1), search.scoring)

    def _errors(self, search: AlphaSearch, folds: list[Fold]) -> FloatArray:
        """Return the errors of the candidates: shape (n_alphas, n_outputs, n_folds)."""
        return np.stack(list(search.errors(self.alphas_, folds)), axis=2)

    def _validation(self, validation: Any) -> Validation:
        """Return rows that are kept for the choice of alpha."""
        if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
            raise ValueError("validation must be (X, y) or (X, y, qid), the rows that alphas are judged by.")
        y, qid = (in_memory(part) for part in (*validation[1:], None)[:2])
        self._check_validation_queries(y, qid)
        X = self._validated(validation[0], reset=False)
        outputs = [as_preferences(target) for target in self._targets(y, qid)]
        if outputs[0].n_rows != X.shape[0]:
            raise ValueError(f"X of validation has {X.shape[0]} rows, but its y has {outputs[0].n_rows}.")
        for output in outputs:
            output.require_pairs()
        return Validation(X, outputs, labels_alone(y, qid))


def labels_alone(y: Any, qid: ArrayLike | None) -> Any:
    """Return the labels of rows without queries, which a scorer takes as they are, or None."""
    if isinstance(y, Preferences) or qid is not None:
        return None
    return as_array(in_memory(y))
