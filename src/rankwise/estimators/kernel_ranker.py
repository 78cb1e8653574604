"""A ranker of mixed tables by a kernel that learns the scale of each feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import as_codes, check_choice, check_count
from rankwise.core.memory import require_memory
from rankwise.core.stored import Array, Part, Value
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.frames import one_row
from rankwise.data.table_encoder import TableEncoder
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.feature_scales import learn_scales
from rankwise.estimators.fits import keep_classes
from rankwise.estimators.inputs import read_preferences, require_labels
from rankwise.estimators.pair_probability import PairProbability
from rankwise.estimators.parameters import LEARNED_KERNELS, KernelRankerParameters
from rankwise.estimators.rank_logistic import RankLogistic
from rankwise.estimators.rank_rls import RankRLS
from rankwise.estimators.rank_svm import RankSVM
from rankwise.functions.kernel_columns import ColumnFunction
from rankwise.functions.learned import SCALES
from rankwise.losses import OBJECTIVES, has_log_odds, loss_class
from rankwise.preferences import Preferences

# The kernels to choose from. With fewer rows than this, too few are held out for a choice; it is the first.
KERNELS = LEARNED_KERNELS[1:]
LEAST_ROWS = 500
# The most rows from which the scales of each kernel are learned for the choice.
COMPARED_ROWS = 5000
# Basis rows: this many times the root of the number of rows, within these limits.
BASIS_PER_ROOT, LEAST_BASIS, MOST_BASIS = 10, 2000, 3000
# Pairs of rows from which importances and interactions are estimated, and columns that are combined.
N_PAIRS, MOST_COLUMNS = 200, 20


class Interaction(NamedTuple):
    """Two columns, and the root mean square of their mixed differences, relative to the scores."""

    first: str
    second: str
    strength: float


def basis_rows(n_rows: int) -> int:
    """Return the default number of basis rows.

    Examples
    --------
    >>> [basis_rows(n_rows) for n_rows in (500, 10_000, 60_000, 1_000_000)]
    [500, 2000, 2450, 3000]
    """
    wanted = np.ceil(BASIS_PER_ROOT * np.sqrt(n_rows))
    return int(min(n_rows, np.clip(wanted, LEAST_BASIS, MOST_BASIS)))


@dataclass(eq=False, repr=False)
class KernelRanker(PairProbability, BaseRanker, KernelRankerParameters):
    """Minimize the mean over pairs of l(f(better) - f(worse)) + alpha ||f||^2, f in the span of a kernel.

    The kernel, such as exp(-gamma sum abs(s x - s z)), learns the scale s of each feature, its width gamma
    and alpha from gradients and held-out rows, so that no parameter has to be tuned. It is
    `RankSVM(kernel=..., gamma="learned", basis="kmeans")`, with other estimators for other losses, behind a
    `TableEncoder`. For these scales, the objective is certified to be within `gap_` of the optimum.

    Cost: that of learning the scales, which does not grow with the rows from 20,000 on, and O(m b^2) for m
    rows and b basis rows; O(m b) memory.

    Parameters
    ----------
    loss : "squared_hinge", "hinge", "huber_hinge", "logistic", "least_squares" or an object
        The loss of a pair. With "logistic" there is `predict_pair_proba`. Least squares take differences of
        labels, or the magnitudes of pairs, as their targets.
    alpha : "learned" or float
        Strength of the penalty; "learned" is the best on held-out rows.
    kernel : "auto", "laplacian", "exponential" or "rbf"
        Functions with edges suit exp(-gamma sum abs(x - z)) and exp(-gamma ||x - z||), smooth ones
        exp(-gamma ||x - z||^2). "auto" takes the one with the lowest error on held-out rows, and with fewer
        than 500 rows "laplacian".
    n_components : int, optional
        Number of basis rows, those nearest to the means of as many clusters. By default all rows up to 2,000;
        from 40,000 rows on 10 times the root of the number of rows, at most 3,000.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    pair_weight : None or "difference"
        With "difference", a pair weighs the difference of its labels; not with least squares.
    tol, max_iter :
        As in `RankSVM`.
    callback : callable, optional
        Called with a state (iteration, objective, bound, gap, seconds, coef) after each iteration; a true
        return value ends the fit.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all. The result does not depend on it.
    random_state : int
        Draws basis rows, held-out rows and pairs of rows. With None, each fit draws others.
    verbose : int
        1 prints a line per iteration.

    Attributes
    ----------
    feature_importances_ : array of shape (n_features,)
        The root mean square of the change of the score if the value of the column is replaced by that of
        another row of the same query, relative to the sum over columns. The columns that encode one column of
        the table count as one.
    alpha_, kernel_ : float, str
        The alpha and the kernel of the fit.
    encoder_ : TableEncoder
        What each column is, and how it is encoded.
    ranker_ : RankSVM, RankLogistic or RankRLS
        The function of the encoded columns, with `feature_scales_`, `gamma_`, `scale_errors_`, `basis_` and
        `dual_coef_`.
    n_pairs_ : int
        The number of pairs of the training data.
    objective_, gap_ : float
        The objective reached and a bound on its suboptimality.
    n_iter_ : int
    history_ : dict of arrays
        Objective, bound, gap and seconds for each iteration, if there are several.

    See Also
    --------
    CurveRanker : One curve per feature.
    BoostedRanker : Trees.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise import KernelRanker
    >>> wines = pd.DataFrame({"price": [8.0, None, 21.0, 12.0] * 9, "grape": ["merlot", "syrah"] * 18})
    >>> rating = [2, 3, 4, 3] * 9
    >>> model = KernelRanker().fit(wines, rating)
    >>> model.rank(wines.head(4))
    array([3, 1, 0, 2])
    >>> model.score(wines, rating)
    1.0
    """

    command = "kernel"
    takes_tables = True
    functions = ()
    stored: ClassVar = {
        "encoder_": Part(("TableEncoder",), required=True),
        "ranker_": Part(("RankSVM", "RankLogistic", "RankRLS"), required=True),
        "kernel_": Value((str,), required=True),
        "feature_importances_": Array(("features",), required=True),
    }

    def conflicts(self) -> Iterator[str]:
        """Yield what contradicts the encoder or the kernel."""
        encoder, function = self.encoder_, self.ranker_
        first, second = (getattr(one, "feature_names_in_", ()) for one in (encoder, self))
        if encoder.n_features_in_ != self.n_features_in_ or not np.array_equal(first, second):
            yield "encoder_"
        if function.n_features_in_ != len(encoder.source_columns_) or function.feature_scales_.ndim > 1:
            yield "ranker_"
        if not 0 < function.gamma_ <= SCALES.high:
            yield "gamma_"
        if self.kernel_ != function.kernel or self.kernel_ not in KERNELS:
            yield "kernel_"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.pairwise = False
        return tags

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return f"{self._ranker(KERNELS[0], 0).formula}, f in the span of a learned kernel"

    @with_one_blas_thread
    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            Frames may hold strings, categories, booleans, dates and missing values; arrays may hold NaN.
        y : array of shape (n_rows,) or Preferences
            Labels, higher is better; or explicit preferences among the rows.
        qid : array of shape (n_rows,), optional
            The query of each row: only rows of the same query are compared.
        sample_weight : array of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        """
        self._check_parameters()
        require_labels(self, y)
        rows = self.validated(X, reset=True)
        preferences = read_preferences(y, qid, sample_weight, self.pair_weight)
        self.kernel_ = self._chosen_kernel(rows, preferences)
        ranker = self._ranker(self.kernel_, len(rows)).fit(rows, y, qid=qid, sample_weight=sample_weight)
        self.ranker_ = ranker.set_params(callback=None)
        keep_classes(self, preferences)
        for name in ("n_pairs_", "fitted_with_qid_", "n_iter_", "objective_", "gap_", "history_"):
            if hasattr(ranker, name):
                setattr(self, name, getattr(ranker, name))
        self.alpha_ = float(getattr(ranker, "alpha_", ranker.alpha))
        self.feature_importances_ = self._importances(rows, preferences.groups())
        return self

    def predict(self, X: Any) -> FloatVector:
        """Return the score of each row; within a query, sort by it.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        scores : array of shape (n_rows,)
        """
        check_is_fitted(self)
        return self.ranker_.predict(self.validated(X, reset=False))

    def explain_pair(self, a: Any, b: Any) -> FloatVector:
        """Return each column's part in f(a) - f(b); the parts add up to the difference of the scores.

        They are Shapley values: the change of the score if the column of b is replaced by that of a, averaged
        over all orders in which the columns are replaced, or over 200 random orders for the kernel
        "exponential". A column that does not differ has the part 0.

        Parameters
        ----------
        a, b : arrays of shape (n_features,), or frames of one row
            Two rows.
        """
        check_is_fitted(self)
        first, second = (
            self.validated(one_row(row, name), reset=False)[0] for row, name in ((a, "a"), (b, "b"))
        )
        return self._function().parts(first, second)

    def interactions(
        self, X: Any, qid: ArrayLike | None = None, *, random_state: Any = 0
    ) -> list[Interaction]:
        """Return the pairs of columns by the strength of their interaction, the strongest first.

        The mixed difference of two columns is f(a) - f(a with the first column of b) - f(a with the second) +
        f(a with both). It is zero for all rows if the effects of the two columns add up. The strength is the
        root of its mean square over 200 random pairs of rows of the same query, relative to that of f(a) -
        f(b). The 20 most important columns are combined.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            Rows to draw from, such as the training rows.
        qid : array of shape (n_rows,), optional
            The query of each row.
        random_state : int
            Draws the pairs of rows.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 4))
        >>> model = KernelRanker().fit(X, X[:, 0] * X[:, 1] + X[:, 2])
        >>> model.interactions(X)[0][:2]
        ('x0', 'x1')
        """
        check_is_fitted(self)
        rows = self.validated(X, reset=False)
        groups = np.zeros(len(rows), np.int64) if qid is None else as_codes(qid, "qid", len(rows))[1]
        columns = np.sort(np.argsort(-self.feature_importances_, kind="stable")[:MOST_COLUMNS])
        drawn = _drawn_pairs(groups, check_random_state(random_state))
        function, total = self._function(), np.zeros((len(columns), len(columns)))
        for a, b in drawn:
            total += function.mixed_differences(rows[a], rows[b], columns) ** 2
        scores = self.ranker_.predict(rows)
        size = float(np.sum((scores[drawn[:, 0]] - scores[drawn[:, 1]]) ** 2)) or 1.0
        strengths, names = np.sqrt(total / size), self._column_names()
        first, second = np.triu_indices(len(columns), 1)
        order = np.argsort(-strengths[first, second], kind="stable")
        return [
            Interaction(names[columns[i]], names[columns[j]], float(strengths[i, j]))
            for i, j in zip(first[order], second[order], strict=True)
        ]

    def validated(self, X: Any, reset: bool) -> FloatArray:
        """Return the rows as numbers; `reset` finds out what the columns are."""
        if sp.issparse(X):
            require_memory(8 * X.shape[0] * X.shape[1], "A dense copy of X", "leave out columns of X")
            X = X.toarray()
        if not reset:
            return self.encoder_.transform(X)
        self.encoder_: TableEncoder = TableEncoder().fit(X)
        self.n_features_in_ = self.encoder_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)  # of a previous fit
        if hasattr(self.encoder_, "feature_names_in_"):
            self.feature_names_in_ = self.encoder_.feature_names_in_
        return self.encoder_.transform(X)

    def _check_parameters(self) -> None:
        loss_class(self.loss, OBJECTIVES)
        check_choice(self.kernel, "kernel", LEARNED_KERNELS)
        if isinstance(self.alpha, str):
            check_choice(self.alpha, "alpha, unless it is a number,", ["learned"])
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        if self.loss == "least_squares" and self.pair_weight is not None:
            raise ValueError(
                "pair_weight must be None with loss='least_squares', whose targets are differences of labels."
            )

    def _chosen_kernel(self, rows: FloatArray, preferences: Preferences) -> str:
        """Return the kernel that is given, or the one with the lowest error on the same held-out rows."""
        if self.kernel != "auto":
            return str(self.kernel)
        if len(rows) != preferences.n_rows or len(rows) < LEAST_ROWS or not preferences.has_pairs:
            return KERNELS[0]
        seed = check_random_state(self.random_state).randint(2**31)
        options: dict[str, Any] = {
            "average": self.average,
            "n_threads": thread_count(self.n_jobs),
            "random_state": seed,
            "n_fitted": COMPARED_ROWS,
        }
        errors = [learn_scales(rows, preferences, one, **options).errors.min() for one in KERNELS]
        return KERNELS[int(np.argmin(errors))]

    def _ranker(self, kernel: str, n_rows: int) -> Any:
        """Return the estimator of the encoded columns."""
        options: dict[str, Any] = {
            "kernel": kernel,
            "gamma": "learned",
            "n_components": basis_rows(n_rows) if self.n_components is None else self.n_components,
            "basis": "kmeans",
            "average": self.average,
        }
        running = ("tol", "max_iter", "callback", "n_jobs", "random_state", "verbose")
        options |= {name: getattr(self, name) for name in running}
        if self.loss == "least_squares":
            return RankRLS(self.alpha, **options)
        if has_log_odds(self.loss):
            return RankLogistic(self.alpha, pair_weight=self.pair_weight, **options)
        return RankSVM(self.alpha, loss=self.loss, pair_weight=self.pair_weight, **options)

    def _function(self) -> ColumnFunction:
        ranker = self.ranker_
        return ColumnFunction(
            ranker.basis_,
            ranker.dual_coef_,
            ranker.kernel,
            ranker.gamma_,
            ranker.feature_scales_,
            self.encoder_.source_columns_,
            self.n_features_in_,
        )

    def _importances(self, rows: FloatArray, groups: NDArray[np.int64]) -> FloatVector:
        function, total = self._function(), np.zeros(self.n_features_in_)
        for a, b in _drawn_pairs(groups, check_random_state(self.random_state)):
            total += function.changes(rows[a], rows[b]) ** 2
        root = np.sqrt(total)
        return root / (root.sum() or 1.0)

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return (
            [f"x{k}" for k in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        )


def _drawn_pairs(groups: NDArray[np.int64], random: np.random.RandomState) -> NDArray[np.int64]:
    """Draw rows, and for each another one of the same group at random: shape (n_pairs, 2)."""
    order = np.argsort(groups, kind="stable")
    first = random.randint(len(groups), size=N_PAIRS)
    begin = np.searchsorted(groups[order], groups[first])
    size = np.searchsorted(groups[order], groups[first], side="right") - begin
    second = order[begin + np.floor(random.uniform(size=N_PAIRS) * size).astype(np.int64)]
    return np.column_stack([first, second])
