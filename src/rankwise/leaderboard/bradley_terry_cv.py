"""BradleyTerry with half-life and alpha chosen by held-out votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise, product
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import check_count, check_positive
from rankwise.core.docstrings import described_as
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.bradley_terry import BradleyTerry
from rankwise.leaderboard.held_out import HeldOut
from rankwise.leaderboard.table import Leaderboard
from rankwise.leaderboard.vote_table import VoteTable, quiet_fit
from rankwise.model_selection import search
from rankwise.model_selection.digests import digest

# The parameters of the fits that are compared, beside alpha and the half-life.
SHARED = ("link", "ties", "order_effect", "feature_alpha", "tol", "max_iter", "intervals")
# Default candidates: standard deviations of the prior, and half-lives as fractions of the span of dates.
PRIOR_SDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
FRACTIONS = (1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)

Fold = tuple[IntVector, IntVector]


class Candidate(NamedTuple):
    """A half-life and an alpha with their held-out log loss: mean and standard error over periods or folds.

    None is no half-life, and an alpha that is learned in each fit.
    """

    half_life: float | None
    alpha: float | None
    log_loss: float
    standard_error: float


@described_as(BradleyTerry)
@dataclass(eq=False, repr=False)
class BradleyTerryCV(BaseEstimator):
    """Bradley-Terry with the half-life and alpha of the lowest held-out log loss, then fitted to all votes.

    With dates, this is forward validation: the latest half of the votes is divided into `cv` periods with
    about the same number of votes, and each period is predicted from all votes before it. Items change, so
    votes that are left out at random would say too little about the next period. Without dates, votes, or
    clusters of votes if they are given, are assigned to `cv` folds at random, and alpha alone is chosen.

    An alpha is a penalty of the fit to all votes. It is multiplied by the number of all votes over that of
    the training votes, so that the prior is the same in all fits. This takes n_half_lives x n_alphas x cv
    fits.

    Parameters
    ----------
    alphas : sequence of float or None, optional
        Candidates; None learns the prior in each fit. By default None, and normal priors of scores with
        standard deviations from 1/8 to 4 in powers of 2.
    half_lives : sequence of float or None, optional
        Candidates, for which `fit` needs dates; None is no half-life. By default None, the span of the dates,
        and this span divided by 2, 4, 8, 16 and 32; without dates None alone.
    cv : int or iterable of (train, test)
        The number of periods or folds, or the row numbers of each. Few periods are long ones: the choice is
        for predictions about as far ahead as a period.
    ... :
        As in `BradleyTerry`.

    Attributes
    ----------
    half_life_ : float or None
        The half-life with the lowest mean log loss. If it is the shortest candidate, or alpha is the smallest
        or the largest of those given, an `EdgeOfGridWarning` suggests others.
    alpha_ : float
        The penalty of `best_estimator_`: the alpha with the lowest mean log loss, or the one learned.
    best_estimator_ : BradleyTerry
        Fitted to all votes; it has all intervals and predictions. `save_model` saves it.
    alphas_, half_lives_ : lists
        The candidates.
    cv_errors_ : array of shape (n_half_lives, n_alphas, n_folds)
        Held-out log loss.
    cv_results_ : list of Candidate
        Its means and standard errors, the best first; `pandas.DataFrame(cv_results_)` is a frame.
    items_, scores_ : arrays
        Those of `best_estimator_`.

    Examples
    --------
    >>> from rankwise import BradleyTerryCV
    >>> generator = np.random.default_rng(2)
    >>> a = generator.integers(3, size=300)
    >>> b = (a + generator.integers(1, 3, size=300)) % 3
    >>> won = generator.random(300) < 1 / (1 + np.exp(b - a))
    >>> model = BradleyTerryCV([None], half_lives=[None, 150, 40])
    >>> model = model.fit(a, b, outcome=won * 1.0, date=range(300))
    >>> len(model.cv_results_), model.cv_errors_.shape
    (3, (3, 1, 5))
    >>> model.half_life_ is None
    True
    """

    alphas: Sequence[float | None] | None = None
    _: KW_ONLY
    half_lives: Sequence[float | None] | None = None
    cv: Any = 5
    link: str = "logistic"
    ties: str = "half"
    order_effect: bool = False
    feature_alpha: float | None = None
    intervals: str = "debiased"
    tol: float = 1e-16
    max_iter: int = 100
    verbose: int = 0
    callback: Callable[[Any], Any] | None = None

    def fit(
        self, winner: Any, loser: Any = None, weight: ArrayLike | None = None, *,
        date: Any = None, outcome: Any = None, cluster: Any = None, features: Any = None,
    ) -> BradleyTerryCV:  # fmt: skip
        """Choose the half-life and alpha, and learn the scores.

        Parameters
        ----------
        winner, loser, weight, outcome, date, features, cluster :
            As for `BradleyTerry.fit`. Without dates, clusters (those of the first column) stay together in
            folds.
        """
        votes = VoteTable.read(
            winner, loser, weight=weight, outcome=outcome, date=date, features=features, cluster=cluster
        )
        self.half_lives_ = _half_lives(self.half_lives, votes.days)
        self.alphas_ = _alphas(self.alphas, votes.size(slice(None), None))
        folds = folds_of(votes, self.cv)
        candidates = list(product(self.half_lives_, self.alphas_))
        held_out = VoteFolds(self, votes, candidates, folds)
        searching = search.Search("log_loss", callback=self.callback)
        choice = searching.choose(held_out, np.arange(float(len(candidates))))
        self.cv_errors_ = choice.errors.reshape(len(self.half_lives_), len(self.alphas_), len(folds))
        self.cv_results_ = _candidates(self.half_lives_, self.alphas_, self.cv_errors_)
        self.half_life_, alpha = self.cv_results_[0][:2]
        self.best_estimator_ = self._plain(
            alpha, self.half_life_, verbose=self.verbose, callback=self.callback
        )
        votes.fit(self.best_estimator_)
        self.alpha_ = self.best_estimator_.alpha_
        self.items_, self.scores_ = self.best_estimator_.items_, self.best_estimator_.scores_
        _warn_at_edge("half_life", self.half_life_, self.half_lives_, at_top=False)
        if self.alphas is not None:
            _warn_at_edge("alpha", alpha, self.alphas_, at_top=True)
        return self

    def _plain(self, alpha: float | None, half_life: float | None, **more: Any) -> BradleyTerry:
        options = {name: getattr(self, name) for name in SHARED}
        return BradleyTerry(alpha, half_life=half_life, **options, **more)

    def log_loss_of(
        self, votes: VoteTable, half_life: float | None, alpha: float | None, fold: Fold
    ) -> float:
        """Return the log loss of the votes that a fold holds out, by a fit to its other votes."""
        train, test = fold
        if alpha is not None:
            alpha = votes.scaled(alpha, train, half_life)
        with quiet_fit():
            model = votes.fit(self._plain(alpha, half_life), train, clustered=False)
            return votes.evaluate(model, test).log_loss

    def leaderboard(
        self, top: int | None = None, *, confidence: float = 0.95, ranks: bool | None = None
    ) -> Leaderboard:
        """Return the leaderboard of `best_estimator_`."""
        return self._best().leaderboard(top, confidence=confidence, ranks=ranks)

    def predict_pair_proba(self, a: Any, b: Any) -> Any:
        """Return P(a above b) by `best_estimator_`."""
        return self._best().predict_pair_proba(a, b)

    def predict_match_proba(self, a: Any, b: Any) -> FloatArray:
        """Return P(a wins), P(tie) and P(a loses) by `best_estimator_`."""
        return self._best().predict_match_proba(a, b)

    def score(
        self, winner: Any, loser: Any = None, weight: ArrayLike | None = None, *, outcome: Any = None
    ) -> float:
        """Return the mean log likelihood of held-out votes."""
        return self._best().score(winner, loser, weight, outcome=outcome)

    def evaluate(
        self, winner: Any, loser: Any = None, weight: ArrayLike | None = None, *, outcome: Any = None
    ) -> HeldOut:
        """Return the log loss, accuracy and Brier score of held-out votes."""
        return self._best().evaluate(winner, loser, weight, outcome=outcome)

    def _best(self) -> BradleyTerry:
        check_is_fitted(self)
        return self.best_estimator_


class VoteFolds(search.HeldOut):
    """The log loss of held-out votes, in periods or folds, of candidates by their numbers."""

    def __init__(self, model: BradleyTerryCV, votes: VoteTable, candidates: list[Any], folds: list[Fold]):
        self._model, self._votes, self._candidates, self._folds = model, votes, candidates, folds

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the log losses of each candidate: shape (1, n_folds)."""
        for half_life, alpha in (self._candidates[int(value)] for value in values):
            yield np.array(
                [[self._model.log_loss_of(self._votes, half_life, alpha, fold) for fold in self._folds]]
            )

    def identity(self, digested: bool = True) -> dict[str, Any]:
        """Return the candidates, the parameters of the model, and a digest of the votes and the folds."""
        found = {"candidates": self._candidates} | {name: getattr(self._model, name) for name in SHARED}
        votes = self._votes
        if digested:
            found["digest"] = digest(votes.columns, votes.days, votes.clusters, votes.features, self._folds)
        return found


def folds_of(votes: VoteTable, cv: Any) -> list[Fold]:
    """Return the training and test rows of periods or folds, without votes of weight 0."""
    rows = np.flatnonzero(votes.weights(slice(None)) > 0)
    if not isinstance(cv, Integral):
        given = ((np.asarray(train), np.asarray(test)) for train, test in cv)
        return [(np.intersect1d(train, rows), np.intersect1d(test, rows)) for train, test in given]
    check_count("cv", cv)
    if votes.days is not None:
        return [(rows[train], rows[test]) for train, test in forward_folds(votes.days[rows], int(cv))]
    unit = rows if votes.group is None else votes.group[rows]
    return [(rows[train], rows[test]) for train, test in random_folds(unit, int(cv))]


def forward_folds(days: FloatVector, n_periods: int) -> list[Fold]:
    """Divide the latest half of the votes into periods; each is a test set, and all votes before it train it.

    Periods have about the same number of votes, as dates may be dense in some years and sparse in others.
    Votes of one date stay together.

    Examples
    --------
    >>> [(train.tolist(), test.tolist()) for train, test in forward_folds(np.array([0.0, 1, 2, 3, 4, 4]), 2)]
    [([0, 1, 2], [3]), ([0, 1, 2, 3], [4, 5])]
    """
    ordered = np.sort(days)
    n_past = len(days) // 2
    begins = np.unique(ordered[n_past + (len(days) - n_past) * np.arange(n_periods) // n_periods])
    begins = begins[begins > ordered[0]]
    if not len(begins):
        raise ValueError(
            "date leaves no votes from which to predict the latest half of them; without date, alphas are "
            "compared by random folds."
        )
    return [
        (np.flatnonzero(days < begin), np.flatnonzero((days >= begin) & (days < end)))
        for begin, end in pairwise([*begins, np.inf])
    ]


def random_folds(unit: NDArray[Any], n_folds: int) -> list[Fold]:
    """Assign units of votes, such as users, to folds at random; the same at each call."""
    distinct, codes = np.unique(unit, return_inverse=True)
    if not 2 <= n_folds <= len(distinct):
        raise ValueError(
            f"cv={n_folds} needs from 2 to {plural(len(distinct), 'fold')}, one per vote or cluster."
        )
    fold_of = np.random.default_rng(0).permutation(np.arange(len(distinct)) % n_folds)[codes]
    return [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(n_folds)]


def _half_lives(given: Sequence[float | None] | None, days: FloatVector | None) -> list[float | None]:
    """Return no half-life if it is a candidate, then half-lives from the longest down."""
    if given is None:
        span = 0.0 if days is None else float(np.ptp(days))
        return [None, *(span * fraction for fraction in FRACTIONS if span)]
    candidates = _sorted("half_lives", given)
    if days is None and candidates != [None]:
        raise ValueError("half_lives need the date of each vote; got none.")
    return candidates


def _alphas(given: Sequence[float | None] | None, n_votes: float) -> list[float | None]:
    """Return None, to learn the prior, if it is a candidate, then penalties from the largest down."""
    if given is None:
        return [None, *(1.0 / (2.0 * n_votes * sd**2) for sd in PRIOR_SDS)]
    return _sorted("alphas", given)


def _sorted(name: str, given: Sequence[float | None]) -> list[float | None]:
    numbers = [value for value in given if value is not None]
    if isinstance(given, str) or not len(given):
        raise ValueError(f"{name} must be a sequence of positive numbers or None; got {given!r}.")
    for value in numbers:
        check_positive(name, value)
    learned = [None] if len(numbers) < len(given) else []
    return [*learned, *sorted({float(value) for value in numbers}, reverse=True)]


def _candidates(
    half_lives: list[float | None], alphas: list[float | None], errors: FloatArray
) -> list[Candidate]:
    """Return the candidates with their mean errors, the best first; of equal ones, the first stays first."""
    n_folds = errors.shape[2]
    spread = (
        errors.std(axis=2, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.full(errors.shape[:2], np.nan)
    )
    found = [
        Candidate(half_life, alpha, float(mean), float(error))
        for (half_life, alpha), mean, error in zip(
            product(half_lives, alphas), errors.mean(axis=2).ravel(), spread.ravel(), strict=True
        )
    ]
    return sorted(found, key=lambda candidate: candidate.log_loss)


def _warn_at_edge(name: str, best: float | None, candidates: list[float | None], *, at_top: bool) -> None:
    numbers = [value for value in candidates if value is not None]
    if (
        best is None
        or len(numbers) < 2
        or best not in ((numbers[0], numbers[-1]) if at_top else numbers[-1:])
    ):
        return
    end = "largest" if best == numbers[0] else "smallest"
    plural_name = {"alpha": "alphas", "half_life": "half_lives"}[name]
    warn_caller(
        f"The best {name}, {best:.3g}, is the {end} of {len(numbers)} candidates, and one beyond may be "
        f"better; pass {plural_name} with more of them.",
        search.EdgeOfGridWarning,
    )
