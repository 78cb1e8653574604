"""HullRanker with a built-in choice of alpha."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array, check_count
from rankwise.core.threads import with_one_blas_thread
from rankwise.estimators.alpha_choice import DEFAULT_FOLDS, ChoosesAlpha, seed_of
from rankwise.estimators.fits import adopt
from rankwise.estimators.hull_ranker import BaseHullRanker, HullRanker
from rankwise.estimators.inputs import read_rows, read_validation, require_labels
from rankwise.estimators.parameters import Candidates, Comparison, HullParameters
from rankwise.functions.kernel_parameters import is_precomputed
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.splits import QueryKFold
from rankwise.model_selection.tunable import Problem
from rankwise.preferences import Preferences


@dataclass(eq=False, repr=False)
class HullRankerCV(ChoosesAlpha, BaseHullRanker, HullParameters, Comparison, Candidates):
    """Convex-hull ranking with alpha chosen by cross-validation over rows, then fitted to all rows.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default eight powers of ten relative to the scale of the data, visited
        as in `RankSVMCV`.
    cv : int, splitter or iterable of (train, test)
        An int assigns rows to stratified folds at random, the same in each fit unless `random_state` changes.
        Rows without a label are in no fold.
    scoring : str or callable, optional
        The measure to choose alpha by, as in `RankSVMCV`; by default the ranking error over the pairs of the
        order.
    order, slack, kernel, ... :
        As in `HullRanker`; `slack="none"` is not available, as it has no alpha.

    Attributes
    ----------
    alpha_, alphas_, cv_errors_, scoring_ :
        As in `RankSVMCV`.
    classes_, edges_, intervals_, coef_, ... :
        As in `HullRanker`, of the model for `alpha_`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import HullRankerCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, progress = load_diabetes_ranking(return_X_y=True)
    >>> thirds = np.searchsorted(np.quantile(progress, [1 / 3, 2 / 3]), progress)
    >>> model = HullRankerCV(cv=3).fit(X, thirds)
    >>> model.cv_errors_.shape == (len(model.alphas_), 3)
    True
    """

    plain = HullRanker

    @with_one_blas_thread
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        unlabelled: Any = None,
        sample_weight: ArrayLike | None = None,
        validation: Any = None,
    ) -> HullRankerCV:
        """Choose alpha and learn to rank.

        Parameters
        ----------
        X, y, unlabelled, sample_weight :
            As for `HullRanker.fit`; rows without a label are used in the final fit only.
        validation : tuple (X, y), optional
            Validation rows for the choice of alpha, instead of folds; the model is fitted to X only.
        """
        if self.slack == "none":
            raise ValueError("slack='none' has no alpha to choose; use HullRanker.")
        self.check_parameters()
        require_labels(self, y)
        checked = read_rows(self, X)
        known, graph = self._order_graph(y, sample_weight, checked.shape[0])
        self.edges_ = graph.edges
        rows = checked[known][:, known] if is_precomputed(self) else checked[known]
        labels = y if isinstance(y, Preferences) else as_array(y)[known]
        held_out = self._held_out(Problem(rows, [graph]), labels, None)
        held_out.model.set_params(class_weight=None)  # already included in the weights of the graph
        self.alphas_ = held_out.candidates(self.alphas)
        self._split(held_out, labels, None, validation)
        choice, scoring = self._choice(held_out), self.scoring_
        model = self.with_alpha(choice.alpha)
        model.fit(X, y, unlabelled=unlabelled, sample_weight=sample_weight)
        adopt(self, model)
        self.alpha_, self.alphas_, self.cv_errors_ = choice.alpha, choice.alphas, choice.errors
        self.scoring_ = scoring
        choice.warn_at_edge()
        return self

    def _split(self, folds: Folds, y: Any, qid: ArrayLike | None, validation: Any) -> None:
        """Make stratified folds, or take the validation rows."""
        if validation is not None:
            folds.splits = [read_validation(self, validation)]
            return
        cv = DEFAULT_FOLDS if self.cv is None else self.cv
        if isinstance(cv, Integral):
            check_count("cv", cv)
            strata = Preferences.from_scores(folds.problem.outputs[0].codes)
            splitter = QueryKFold(int(cv), shuffle=True, random_state=seed_of(self.random_state))
            cv = list(splitter.split(folds.problem.X, strata))
        folds.split(cv, y)

    def outputs(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return the preferences between rows with these labels."""
        if isinstance(y, Preferences):
            return [y]
        with warnings.catch_warnings():  # some classes may have no rows
            warnings.simplefilter("ignore", UserWarning)
            return [Preferences.from_order(np.asarray(as_array(y)), self.edges_)]
