"""The Plackett-Luce model of whole lists, and Cox regression of censored times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import as_array, as_vector, check_choice, check_positive
from rankwise.core.docstrings import described_as
from rankwise.core.stored import Array, Value
from rankwise.core.types import FloatArray, FloatVector
from rankwise.estimators.fits import PairwiseFits
from rankwise.estimators.linear_inference import LinearInference
from rankwise.estimators.pairwise import PairwiseRanker, PairwiseRankerCV
from rankwise.estimators.parameters import (
    Candidates,
    Comparison,
    ListParameters,
    Parsimony,
    Running,
    Strength,
    WarmStart,
)
from rankwise.estimators.rank_logistic import RankLogistic
from rankwise.estimators.selected_features import SelectsFeatures
from rankwise.losses import PlackettLuce
from rankwise.losses.plackett_luce import TIES
from rankwise.solvers import SolverResult


def _has_baseline(model: Any) -> bool:
    if hasattr(model, "n_pairs_") and not hasattr(model, "baseline_times_"):
        raise AttributeError(
            "Survival is known after a fit to Preferences.from_survival without qid: labels have no times, "
            "and strata have hazards of their own."
        )
    return True


# What a fit to censored times leaves.
BASELINE = ("baseline_times_", "baseline_hazard_", "baseline_score_")


class BaseRankPlackettLuce(SelectsFeatures, LinearInference, PairwiseRanker):
    """A model of the order in which the rows of a list are chosen."""

    may_be_unpenalised = True
    stored: ClassVar = {
        "baseline_times_": Array(("events",), ascending=True),
        "baseline_hazard_": Array(("events",), low=0, ascending=True),
        "baseline_score_": Value((float,)),
    }
    ties: str
    baseline_times_: FloatVector
    baseline_hazard_: FloatVector
    baseline_score_: float

    @property
    def loss(self) -> PlackettLuce:  # type: ignore[override]
        """The loss of the model's ties."""
        return PlackettLuce(ties=self.ties)

    def check_parameters(self) -> None:
        """Check the parameters of the loss and of the solver."""
        check_choice(self.ties, "ties", TIES)
        super().check_parameters()

    def finish(self, fits: PairwiseFits, result: SolverResult) -> None:
        """Keep the baseline hazard of censored times."""
        for name in BASELINE:
            self.__dict__.pop(name, None)  # of a previous fit
        scores = fits.space.design.matvec(result.coef)
        baseline = fits.loss.baseline(scores) if isinstance(fits.loss, PlackettLuce) else None
        if baseline is not None:
            self.__dict__.update(zip(BASELINE, baseline, strict=True))

    @available_if(_has_baseline)
    def predict_survival(self, X: Any, times: ArrayLike) -> FloatArray:
        """Return the probability of each row to live longer than each time: exp(-H(t) exp(-score)).

        H is Breslow's estimate of the cumulative hazard. It is constant after the last event.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        times : array of shape (n_times,)

        Returns
        -------
        survival : array of shape (n_rows, n_times)
        """
        check_is_fitted(self)
        times = as_vector(times, "times")
        hazard = np.concatenate([[0.0], self.baseline_hazard_])
        of_time = hazard[np.searchsorted(self.baseline_times_, times, side="right")]
        with np.errstate(over="ignore"):
            relative = np.exp(self.baseline_score_ - as_array(self.predict(X)))
        return np.exp(-np.where(of_time > 0, of_time * np.maximum(relative, 1e-300)[:, None], 0.0))

    @available_if(_has_baseline)
    def predict_restricted_mean(self, X: Any, horizon: float) -> FloatVector:
        """Return the mean time of each row up to a horizon: the integral of its survival.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        horizon : float
            A time; later events count as this time.
        """
        check_is_fitted(self)
        check_positive("horizon", horizon)
        inside = self.baseline_times_[(self.baseline_times_ > 0) & (self.baseline_times_ < horizon)]
        begin = np.concatenate([[0.0], inside])
        return self.predict_survival(X, begin) @ np.diff(begin, append=horizon)


@described_as(RankLogistic)
@dataclass(eq=False, repr=False)
class RankPlackettLuce(BaseRankPlackettLuce, Running, WarmStart, ListParameters, Strength):
    """Minimize the mean over choices of log(sum of exp(f(row) - f(chosen))) + alpha ||f||^2.

    In each query the rows are chosen one after the other: row i with the probability exp(f(x_i)) / sum of
    exp(f(x_j)) over the rows that remain, those with the label of i or a lower one. This is the model of
    Plackett (1975) and Luce (1959), whose likelihood ListMLE maximizes. Rows with the lowest label of a query
    are never chosen, so that labels of 3, 2, 1, 0, 0, 0 are a top-3 list. The result is certified: the
    objective is within `gap_` of the optimum.

    A row has one label in one query. If lists share rows, repeat the rows: X[np.concatenate(lists)], with the
    label and the list of each place, and `cluster=` in `inference`.

    With `Preferences.from_survival(event, time)` it is Cox regression: among the rows at risk, row i has its
    event first with a probability in proportion to exp(-f(x_i)). A higher score means a longer time, so that
    `-coef_` are log hazard ratios, and `alpha=0` is Cox's partial likelihood alone.

    Cost: O(nnz + m) for m rows with nnz nonzeros and each of some tens of products with the Hessian.

    Parameters
    ----------
    alpha : float or "auto"
        Strength of the penalty; "auto" is chosen inside the fit, as `RankPlackettLuceCV` does, and kept as
        `alpha_`. With 0 there is no penalty; an error gives the reason if no weights are the best. The
        `penalizer` of lifelines is `2 * alpha` with `average="pairs"`.
    ties : "breslow" or "efron"
        How rows of equal labels are chosen: all from the same rows, or, as by Efron (1977), from rows that a
        part of the others has left.
    ... :
        As in `RankLogistic`.
    average : "queries" or "pairs"
        The mean over queries of each query's mean over choices, or the mean over all choices.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights, for the linear kernel.
    dual_coef_, basis_ : arrays
        The function is the sum of `dual_coef_` times the kernel with the rows of `basis_`, for other kernels.
    baseline_times_, baseline_hazard_ : arrays of shape (n_events,)
        For censored times: the times of events, and the cumulative hazard there of a row with the score
        `baseline_score_`.
    n_pairs_ : int
        The number of pairs of rows with an order.
    objective_, gap_ : float
        The objective reached and a bound on its suboptimality.
    n_iter_, history_, solver_ :
        As in `RankLogistic`.

    See Also
    --------
    RankPlackettLuceCV : Chooses alpha by cross-validation.
    PlackettLuce : Rankings of named items, without features.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Preferences, RankPlackettLuce
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> time, censored = rng.exponential(np.exp(X[:, 0])), rng.exponential(2.0, size=300)
    >>> y = Preferences.from_survival(time <= censored, np.minimum(time, censored))
    >>> model = RankPlackettLuce(alpha=0).fit(X, y)
    >>> (-model.coef_).round(1).tolist()  # log hazard ratios
    [-1.0, 0.0]
    >>> model.predict_survival([[0.0, 0.0], [2.0, 0.0]], times=[1.0]).round(1).ravel().tolist()
    [0.3, 0.9]
    """

    command = "rank-plackett-luce"
    searching = "RankPlackettLuceCV"


@described_as(RankPlackettLuce)
@dataclass(eq=False, repr=False)
class RankPlackettLuceCV(
    PairwiseRankerCV, BaseRankPlackettLuce, Running, ListParameters, Parsimony, Comparison, Candidates
):
    """RankPlackettLuce with alpha chosen by cross-validation over queries, then fitted to all rows.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default eight powers of ten relative to the scale of the data, visited as in
        `RankSVMCV`.
    cv : int, splitter or iterable of (train, test)
        An int assigns queries (rows, if there are no queries) to folds at random, the same at each fit unless
        `random_state` changes.
    scoring : str or callable, optional
        The criterion for alpha, as in `RankSVMCV`: the ranking error, which is 1 minus the concordance of
        censored times, by default.
    l1_ratio, one_standard_error :
        As in `RankLogisticCV`.
    ... :
        As in `RankPlackettLuce`.

    Attributes
    ----------
    alpha_, alphas_, cv_errors_, scoring_ :
        As in `RankSVMCV`.

    See Also
    --------
    RankPlackettLuce : The model for a given alpha.

    Examples
    --------
    >>> from rankwise import RankPlackettLuceCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankPlackettLuceCV(cv=3).fit(X, y)
    >>> model.cv_errors_.shape == (len(model.alphas_), 3)
    True
    """

    plain = RankPlackettLuce
