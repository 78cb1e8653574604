"""A ranker whose score is a sum of curves, one per feature."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.core.docstrings import described_as
from rankwise.core.stored import Value, are_categories
from rankwise.core.threads import thread_count
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.frames import one_row, validated_numbers
from rankwise.estimators.alpha_choice import DEFAULT_FOLDS
from rankwise.estimators.auto_alpha import AUTO
from rankwise.estimators.curve_screen import best_pairs
from rankwise.estimators.fits import PairwiseFits
from rankwise.estimators.pair_probability import PairProbability
from rankwise.estimators.pairwise import PairwiseRanker, PairwiseRankerCV
from rankwise.estimators.parameters import (
    Callback,
    Candidates,
    Comparison,
    CrossValidation,
    CurveParameters,
    Jobs,
    Randomness,
    Strength,
    Verbosity,
    WarmStart,
)
from rankwise.functions.curve_axis import Axis, Columns
from rankwise.functions.curve_features import CurveFeatures, checked_pair, place_of
from rankwise.functions.curve_tables import AXES, Tables
from rankwise.losses import PiecewiseLinear, loss_class, loss_over
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.tunable import Problem, Space
from rankwise.preferences.base import weighing_rows
from rankwise.solvers import chosen_solver

# The search for interactions uses curves fitted with the fourth alpha of the default grid and this gap, and
# at most this many bins per feature: with 16 or 64 it selects pairs that are no better, at a higher cost.
SCREEN_ALPHA, SCREEN_TOL, SCREEN_BINS = 3, 1e-2, 8


@dataclass(frozen=True)
class Curve:
    """The contribution of one feature to the score, as a table.

    Attributes
    ----------
    axis : Axis
        The map from values to entries.
    values : array of shape (n_entries,)
        The contribution of each entry; the last is for missing and unknown values.
    counts : array of shape (n_entries,)
        The number of training rows per entry.
    """

    axis: Axis
    values: FloatVector
    counts: FloatVector

    def __call__(self, x: ArrayLike) -> FloatVector:
        """Return the contribution of each value of the feature."""
        return self.axis.look_up(np.atleast_1d(np.asarray(x, np.float64)), self.values)


class BaseCurveRanker(PairProbability, PairwiseRanker):
    """A score that is a sum of curves."""

    takes_backends = False
    takes_tables = True
    functions = (Tables,)
    stored: ClassVar = {"categories_": Value((dict,), check=are_categories, required=True)}

    n_bins: int
    shape: str
    interactions: Any
    interaction_bins: int
    monotone: Any
    categorical_features: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def explain_pair(self, a: ArrayLike, b: ArrayLike) -> FloatVector:
        """Return the contribution of each feature to f(a) - f(b); they sum to the difference of the scores.

        A contribution is the difference of two values of the feature's curve. That of the table of two
        features is split equally between them; `terms` lists it separately.

        Parameters
        ----------
        a, b : arrays of shape (n_features,), or frames of one row
            Two rows.
        """
        first, second = (self.contributions(one_row(row, name)) for row, name in ((a, "a"), (b, "b")))
        return (first - second)[0]

    def contributions(self, X: Any) -> FloatArray:
        """Return the contribution of each feature to the score of each row: shape (n_rows, n_features).

        The contribution of the table of two features is split equally between them.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        terms = self.terms(X)
        parts = terms[:, : self.n_features_in_].copy()
        for (j, k), shared in zip(self.pairs_, terms[:, self.n_features_in_ :].T, strict=True):
            parts[:, j] += shared / 2
            parts[:, k] += shared / 2
        return parts

    def terms(self, X: Any) -> FloatArray:
        """Return the contributions of the curves and of the tables of pairs to the score of each row.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        terms : array of shape (n_rows, n_features + n_interactions)
        """
        check_is_fitted(self)
        return np.column_stack(list(self.function.terms(self.validated(X, reset=False))))

    def counts_of_rows(self, X: Any) -> tuple[FloatVector, FloatVector]:
        """Return the numbers of these rows, and of those of the fit, in the bins of each feature.

        The number in the first bin of a feature follows from the others, and is left out.
        """
        rows = self.validated(X, reset=False)
        now = [axis.counts(x)[1:] for axis, x in zip(self.function.features().axes, rows.T, strict=True)]
        return np.concatenate(now), np.concatenate([counts[1:] for counts in self.counts_])

    @property
    def feature_importances_(self) -> FloatVector:
        """The fraction of each feature in the spread of all contributions; a table counts half per feature.

        The spread is the standard deviation over the training rows; for a table, features are assumed
        independent.
        """
        check_is_fitted(self)
        spread = np.array([_spread(*table) for table in zip(self.values_, self.counts_, strict=True)])
        for (j, k), values in zip(self.pairs_, self.pair_values_, strict=True):
            counts = np.outer(self.pair_counts_[j], self.pair_counts_[k])
            spread[[j, k]] += _spread(values, counts) / 2
        return spread / (spread.sum() or 1.0)

    def curve(self, feature: int | str) -> Curve:
        """Return the curve of a feature, given by index or name."""
        check_is_fitted(self)
        place = place_of(self, feature, "feature")
        return Curve(self.curve_features.axes[place], self.values_[place], self.counts_[place])

    @property
    def curve_features(self) -> CurveFeatures:
        """The transformer of the fit, rebuilt from the attributes of the model."""
        tables: Tables = self.function
        return tables.features(**self._feature_parameters())

    def validated(self, X: Any, reset: bool) -> Any:
        """Check rows, and convert categories to numbers; `reset` stores the columns."""
        return validated_numbers(self, X, reset)

    def check_parameters(self) -> None:
        """Check the parameters of the solver and of the curves."""
        super().check_parameters()
        CurveFeatures(**self._feature_parameters()).check_parameters()
        if self.monotone is not None and not issubclass(loss_class(self.loss), PiecewiseLinear):
            raise ValueError(
                f"monotone needs loss='hinge', whose solver takes constraints; it is {self.loss!r}."
            )

    def _feature_parameters(self) -> dict[str, Any]:
        return {
            "n_bins": self.n_bins,
            "shape": self.shape,
            "categorical_features": self.categorical_features,
            "pair_bins": self.interaction_bins,
        }

    def space(self, problem: Problem) -> Space:
        """Return the design of the curves alone, and the tables of its weights."""
        curves = self._new_curves(weighing_columns(problem))
        return Space(curves.design(problem.X, thread_count(self.n_jobs)), curves)

    def fits(self, problem: Problem, hint: bool = False, alone: bool = False) -> CurveFits:
        """Return the fits of curves and interactions to a problem, for any alpha."""
        solver = chosen_solver(self.loss, self.solver)
        columns = weighing_columns(problem)
        curves = self._new_curves(columns)
        pairs = self._interactions(curves, problem, solver)
        curves = CurveMap(curves.features.with_pairs(columns, pairs), curves.directions)
        space = Space(curves.design(problem.X, thread_count(self.n_jobs)), curves)
        return CurveFits(self, space, problem, solver)

    def _new_curves(self, columns: Columns) -> CurveMap:
        features = CurveFeatures(**self._feature_parameters())
        features.n_features_in_, features.categories_ = self.n_features_in_, self.categories_
        if hasattr(self, "feature_names_in_"):
            features.feature_names_in_ = self.feature_names_in_
        features.fit_columns(columns)
        return CurveMap(features, self._directions(features.kinds_))

    def _directions(self, kinds: list[str]) -> NDArray[np.int64]:
        """Return 1 for each feature with an increasing curve, -1 for a decreasing one, 0 otherwise."""
        directions = np.zeros(len(kinds), dtype=np.int64)
        given = {} if self.monotone is None else self.monotone
        if not isinstance(given, dict):
            if len(given) != len(kinds):
                raise ValueError(f"monotone has {len(given)} entries, but X has {len(kinds)} features.")
            given = dict(enumerate(given))
        for feature, direction in given.items():
            place = place_of(self, feature, "monotone")
            if direction not in (-1, 0, 1):
                raise ValueError(f"monotone must hold 1, 0 or -1 for a feature; got {direction!r}.")
            if direction and kinds[place] == "levels":
                raise ValueError(f"monotone names {feature!r}, whose categories have no order.")
            directions[place] = direction
        return directions

    def _interactions(self, curves: CurveMap, problem: Problem, solver: str) -> list[Any]:
        """Return the pairs of features with an interaction table."""
        given = self.interactions
        if isinstance(given, Integral) and not isinstance(given, bool) and int(given) >= 0:
            return self._screened(curves, problem, solver, int(given)) if given else []
        free = list(combinations(np.flatnonzero(curves.directions == 0).tolist(), 2))
        if isinstance(given, str) and given == "all":
            return free
        if isinstance(given, str | bool | Integral | float):
            raise ValueError(
                "interactions must be a whole number of at least 0, 'all' or a list of pairs of features; "
                f"got {given!r}."
            )
        pairs = [checked_pair(self, pair, "interactions") for pair in given]
        for pair in pairs:
            if pair not in free:
                raise ValueError(f"interactions must not hold a monotone feature; {pair!r} does.")
        return pairs

    def _screened(self, curves: CurveMap, problem: Problem, solver: str, count: int) -> list[Any]:
        """Return the pairs that would reduce the loss of the curves most.

        The alpha of these curves depends on the data only, so a search over alphas has one set of pairs.
        """
        pairs = list(combinations(np.flatnonzero(curves.directions == 0).tolist(), 2))
        if not pairs:
            return []
        X, n_threads = problem.X, thread_count(self.n_jobs)
        space = Space(curves.design(X, n_threads), curves)
        alpha = float(self.grid(problem, space.design)[SCREEN_ALPHA])
        rough = copy(self).set_params(tol=max(self.tol, SCREEN_TOL), callback=None, verbose=0)
        scores = space.design.matvec(PairwiseFits(rough, space, problem, solver).solve(alpha).coef)
        axes = curves.features.coarse_axes(weighing_columns(problem), SCREEN_BINS)
        loss = loss_over(self.loss, problem.preferences, average=self.average, n_threads=n_threads)
        return best_pairs(axes, X, loss, scores, pairs, count)


@dataclass(eq=False, repr=False)
class CurveRanker(BaseCurveRanker, Verbosity, Jobs, Callback, WarmStart, CurveParameters, Strength):
    """Minimize the mean over pairs of a loss of f(better) - f(worse) + alpha ||w||^2, f a sum of curves.

    The score of a row is f_1(x_1) + ... + f_n(x_n): a generalized additive model. The steps
    of a curve are at quantiles, and w holds the heights of all steps, so that the penalty favors smooth
    curves. Levels of a category and missing values have their own weights. With `interactions`, tables of two
    features are added, whose weights are differences of differences: the interaction beyond two curves. A
    table's weights are scaled such that the penalty hardly depends on its number of bins. All
    pairs of rows count, without sampling. The objective is certified to be within `gap_` of the optimum.

    Cost: O(n m) per iteration for m rows of n features, independent of the number of bins, pairs of rows and
    queries, with typically a few dozen iterations. The search for interactions adds dense matrix products.

    Parameters
    ----------
    alpha : float or "auto"
        Strength of the penalty. By default it is chosen inside the fit, as `CurveRankerCV` does: the best one
        depends on the noise of the labels, and no number suits most tables. A number is some 20 times faster.
    loss : "hinge", "squared_hinge" or "logistic"
        With "logistic" there is `predict_pair_proba`.
    n_bins : int
        The largest number of steps of a curve, less one.
    shape : "steps" or "lines"
        Step functions, or piecewise linear functions with knots at quantiles.
    interactions : int, "all", or sequence of pairs of features
        The number of interaction tables, the pairs of features by index or name, or all pairs. A number
        selects the pairs whose table would reduce the loss of the additive model most, as estimated by one
        Newton step per pair.
    interaction_bins : int
        The largest number of bins of a feature in these tables. Fewer make a smaller model.
    monotone : dict or sequence, optional
        Features, by index or name, with 1 for an increasing and -1 for a decreasing curve; or a sequence
        of 1, 0 and -1, one per feature. Requires `loss="hinge"` and numeric features, which the search for
        interactions then skips. The gap is certified under the constraints.
    categorical_features : sequence of int or str, optional
        Columns that hold categories as numbers, by index or name. Categorical columns of a frame are detected
        automatically.
    average, pair_weight, solver, tol, max_iter, warm_start, callback, n_jobs, verbose :
        As in `RankSVM`.

    Attributes
    ----------
    values_ : list of arrays
        The table of each curve; the last entry is for missing and unknown values. A curve is zero at the bin
        of the median row.
    kinds_, knots_, counts_ : lists
        For each feature: "steps", "lines" or "levels"; the lower edges of its bins, its knots, or its levels;
        and the number of training rows in each.
    alpha_ : float
        The alpha of the fit, if it was chosen.
    pairs_ : array of shape (n_interactions, 2)
        Indices of the features of each interaction table.
    pair_values_ : list of arrays of shape (n_entries, n_entries)
        The interaction tables, zero if either feature is in its middle bin.
    pair_knots_, pair_counts_ : lists of arrays
        The coarser bins of each feature; empty without interactions.
    categories_ : dict
        The categories of the categorical columns of a frame.
    n_pairs_, objective_, gap_, n_iter_, history_, solver_ :
        As in `RankSVM`.

    See Also
    --------
    CurveRankerCV : Chooses alpha by cross-validation.
    KernelRanker : Interactions of any features.

    References
    ----------
    Y. Lou, R. Caruana, J. Gehrke and G. Hooker, "Accurate intelligible models with pairwise interactions",
    KDD 2013.

    Examples
    --------
    >>> from rankwise import CurveRanker
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = CurveRanker(n_bins=8, alpha=1e-2).fit(X[:300], y[:300])
    >>> round(model.score(X[300:], y[300:]), 2)
    0.76
    >>> len(model.curve(2).values)
    9
    """

    command = "curve"
    searching = "CurveRankerCV"

    alpha: float | str = AUTO


class CurveMap:
    """The tables of the weights of a design.

    Parameters
    ----------
    features : CurveFeatures
    directions : array of shape (n_features,)
        1 for an increasing curve, -1 for a decreasing one, 0 otherwise.
    """

    def __init__(self, features: CurveFeatures, directions: NDArray[np.int64]):
        self.features, self.directions = features, directions

    def design(self, X: Any, n_threads: int = 1) -> Any:
        """Return rows as a design.

        Decreasing curves have flipped signs, so their steps are positive, too.
        """
        self._blocks, self._factors = self.features.blocks(), self.features.factors(smooth=True)
        for block, direction in zip(self._blocks, self.directions, strict=True):
            if direction < 0:
                block *= -1.0
        design: Any = self.features.design(X, self._blocks, self._factors, n_threads)
        design.nonnegative = self._nonnegative() if self.directions.any() else None
        return design

    def _nonnegative(self) -> NDArray[np.bool_]:
        """Return which weights must be nonnegative: steps of monotone curves, except for missing values."""
        masks = [np.zeros(block.shape[1], dtype=bool) for block in self._blocks]
        for mask, axis, direction in zip(masks, self.features.axes, self.directions, strict=True):
            mask[: axis.missing - 1] = direction != 0
        free = [np.zeros(A.shape[1] * B.shape[1], dtype=bool) for A, B in self._factors]
        return np.concatenate([*masks, *free])

    def dual_coef(self, coef: FloatArray) -> FloatArray:
        """Return the concatenated entries of all tables, for one function or for several."""
        widths = [block.shape[1] for block in self._blocks]
        widths += [A.shape[1] * B.shape[1] for A, B in self._factors]
        parts = np.split(coef, np.cumsum(widths)[:-1], axis=-1)
        tables = [part @ block.T for part, block in zip(parts, self._blocks, strict=False)]
        for (A, B), part in zip(self._factors, parts[len(tables) :], strict=True):
            table = A @ part.reshape(*part.shape[:-1], A.shape[1], B.shape[1]) @ B.T
            tables.append(table.reshape(*part.shape[:-1], -1))
        return np.concatenate(tables, axis=-1)

    def function(self, entries: FloatVector) -> Tables:
        """Return the tables of these entries."""
        tables, n_features = self.tables(entries), len(self.directions)
        axes = {name: getattr(self.features, name) for name in AXES}
        return Tables(values_=tables[:n_features], pair_values_=tables[n_features:], **axes)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each table."""
        axes, coarse = self.features.axes, self.features.pair_axes
        of_pairs = [(coarse[j].size, coarse[k].size) for j, k in self.features.pairs_]
        return [*((axis.size,) for axis in axes), *of_pairs]

    def tables(self, entries: FloatVector) -> list[FloatArray]:
        """Return the entries of each table, as a matrix for a pair."""
        shapes = self.shapes
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        parts = [part.copy() for part in np.split(entries, ends)]
        for part, direction in zip(parts, self.directions, strict=False):
            if direction:  # rounding of the sums can violate the direction
                part[:-1] = direction * np.maximum.accumulate(direction * part[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def entries(self, X: Any) -> sp.csr_array:
        """Return the entries of rows in the tables."""
        n_entries = sum(int(np.prod(shape)) for shape in self.shapes)
        return self.features.entries(X, np.ones(n_entries, dtype=bool))

    def scores(self, X: Any, coef: FloatArray, n_threads: int = 1) -> FloatArray:
        """Score rows by several functions, given by their entries: shape (n_rows, n_functions)."""
        return self.entries(X) @ coef.T


class CurveFits(PairwiseFits):
    """The fits of curves; the rows to score are sought in the bins once for all alphas."""

    def scores(self, alphas: FloatVector, rows: Any) -> Iterator[FloatArray]:
        """Score other rows by the fit for each alpha in turn: shape (1, n_rows)."""
        curves = self.space.features
        assert isinstance(curves, CurveMap)
        entries = curves.entries(rows)
        return ((entries @ self.space.dual_coef(one.coef[None]).T).T for one in self.compared(alphas))


def weighing_columns(problem: Problem) -> Columns:
    """Return the columns of the rows that make the bins: those of weight zero are not there."""
    weighs = weighing_rows(problem.preferences)
    return Columns(problem.X if weighs.all() else problem.X[weighs])


def _spread(values: FloatArray, counts: FloatArray) -> float:
    """Return the standard deviation of the entries of a table over the rows."""
    mean = np.average(values, weights=counts)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))


# From these numbers of rows on there are fewer folds, as each bins its rows and has fits of its own.
MANY_ROWS, FOLDS_OF_MANY = 5000, 3
VERY_MANY_ROWS, FOLDS_OF_VERY_MANY = 20_000, 2
# The tolerance of their fits: certified fits choose the same alpha, in twice the time.
COMPARED_TOL = 1e-2


@described_as(CurveRanker)
@dataclass(eq=False, repr=False)
class CurveRankerCV(
    PairwiseRankerCV,
    BaseCurveRanker,
    Verbosity,
    Randomness,
    Jobs,
    Callback,
    CurveParameters,
    Comparison,
    Candidates,
):
    """A sum of curves with alpha chosen by cross-validation over queries, then fitted to all rows.

    Bins and interactions are recomputed from the training rows of each fold.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default powers of ten relative to the scale of the data, visited as in `RankSVMCV`.
        At the first, the range of the scores is about one margin.
    cv : int, splitter or iterable of (train, test), optional
        By default five folds, three from 5,000 rows on, or two from 20,000 rows on. An int assigns queries
        (rows, if there are no queries) to folds at random, the same in each fit unless `random_state`
        changes.
    scoring : str, callable or scikit-learn scorer, optional
        The measure to choose alpha by, as in `RankSVMCV`.
    random_state : int, RandomState or None
        Assigns rows to folds.
    ... :
        As in `CurveRanker`.

    Attributes
    ----------
    alpha_, alphas_, cv_errors_ :
        As in `RankSVMCV`.

    See Also
    --------
    CurveRanker : The model for a given alpha.

    Examples
    --------
    >>> from rankwise import CurveRankerCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = CurveRankerCV(cv=3, n_bins=16).fit(X, y)
    >>> model.cv_errors_.shape == (len(model.alphas_), 3)
    True
    """

    takes_backends = False  # one curve per feature needs all rows in one place

    plain = CurveRanker

    cv: CrossValidation = field(default=None, kw_only=True)

    def default_folds(self, n_rows: int) -> int:
        """Return five folds, three of many rows, or two of very many."""
        if n_rows < MANY_ROWS:
            return DEFAULT_FOLDS
        return FOLDS_OF_MANY if n_rows < VERY_MANY_ROWS else FOLDS_OF_VERY_MANY

    def _held_out(self, problem: Problem, y: Any, qid: ArrayLike | None) -> Folds:
        folds = super()._held_out(problem, y, qid)
        if problem.X.shape[0] >= MANY_ROWS:
            folds.model.set_params(tol=max(self.tol, COMPARED_TOL))
        return folds

    def with_alpha(self, alpha: float) -> Any:
        """Return the estimator for one alpha, with the names and the categories of the columns."""
        model = super().with_alpha(alpha)
        known = ("n_features_in_", "feature_names_in_", "categories_")
        model.__dict__.update({name: getattr(self, name) for name in known if hasattr(self, name)})
        return model
