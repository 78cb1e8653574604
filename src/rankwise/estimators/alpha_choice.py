"""What the estimators that choose alpha share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.estimators.base import BaseRanker
from rankwise.model_selection.search import AlphaSearch, Choice


class ChoosesAlpha(BaseRanker):
    """An estimator with `alphas` and `cv` in place of the alpha of another."""

    _takes_places = False  # folds are rows that are taken out
    # The estimator for one alpha.
    _plain: type[BaseRanker]

    def _with_alpha(self, alpha: float) -> Any:
        """Return the estimator for one alpha."""
        known = self._plain().get_params(deep=False)
        parameters = self.get_params(deep=False)
        model = self._plain(alpha=alpha, **{name: parameters[name] for name in known if name in parameters})
        model._handed_scales = self._learned_scales()
        return model

    def _search(self, X: Any, targets: list[Any]) -> AlphaSearch:
        return AlphaSearch(self._with_alpha(1.0), X, targets)

    def _choice(self, search: AlphaSearch, cv: Any, y: Any, qid: ArrayLike | None) -> Choice:
        """Compare the candidates `alphas_` over folds; outputs share one alpha."""
        errors = search.errors(self.alphas_, search.folds(cv, y, qid))
        return Choice(self.alphas_, np.array([fold.mean(axis=1) for fold in errors]).T, search.scoring)
