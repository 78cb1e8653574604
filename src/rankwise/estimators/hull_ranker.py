"""Ranking by separating the convex hulls of classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.metadata_routing import UNUSED

from rankwise.core.checks import (
    as_array,
    as_codes,
    as_weights,
    check_alpha,
    check_choice,
    check_count,
    check_positive,
    declared_order,
    split_missing,
)
from rankwise.core.docstrings import described_as
from rankwise.core.memory import require_memory
from rankwise.core.stored import Array, Sizes, Value
from rankwise.core.text import plural
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatVector
from rankwise.core.warn import warn_caller
from rankwise.data.design import Design, as_design
from rankwise.data.scores import canonical_csr
from rankwise.estimators.alpha_choice import DEFAULT_FOLDS, ChoosesAlpha, seed_of
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.fits import adopt, hinted
from rankwise.estimators.inputs import read_rows, read_validation, require_labels
from rankwise.estimators.parameters import Candidates, Comparison, HullParameters, Strength
from rankwise.estimators.sparsity import PENALTY
from rankwise.estimators.thresholds import class_weights, holds_text, looks_continuous
from rankwise.evaluation.pair_measures import wmw
from rankwise.functions.kernel_map import KernelMap
from rankwise.functions.kernel_parameters import is_linear, is_precomputed, kernel_map_of
from rankwise.functions.kernel_values import kernel_values
from rankwise.functions.learned import Function, Linear, function_of
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.splits import QueryKFold
from rankwise.model_selection.tunable import Fit, Problem, Space
from rankwise.preferences import Preferences
from rankwise.preferences.order_graph import OrderGraph, order_edges, present_edges, warn_of_absent_classes
from rankwise.solvers.hull_certificate import HullOptimum, HullStoppingRule, Penalty, constant_optimum
from rankwise.solvers.hull_interior_point import best_of_zero, mean_square, solve_interior_point
from rankwise.solvers.hull_newton import MAX_DIRECT
from rankwise.solvers.hull_program import HullProgram, hull_program
from rankwise.solvers.result import Monitor, SolverResult

# Hulls closer than this fraction of the size of the data count as touching.
SEPARATION = 1e-7
# Beyond MAX_DIRECT weights the Newton system is solved inexactly, and a smaller gap would cost many steps.
INEXACT_TOL = 1e-4
# Features whose means are this many times larger than their spread are centered, to avoid cancellation.
OFFSET = 10.0

SLACKS = ("squared", "absolute", "none")

# The argument of the penalty.
NORMS = {"function": "‖f‖²", "coefficients": "‖v‖²"}


def are_edges(edges: list[Any], sizes: Sizes) -> bool:
    """Return whether these are pairs of labels."""
    return bool(edges) and all(len(edge) == 2 for edge in edges)


class BaseHullRanker(BaseRanker):
    """A score that separates the convex hulls of classes."""

    # The interval of a class holds for all rows, so there are no queries.
    __metadata_request__fit = {"qid": UNUSED, "sample_weight": True}  # noqa: RUF012
    __metadata_request__score = {"qid": UNUSED, "sample_weight": True}  # noqa: RUF012

    learns_classes = True
    stored: ClassVar = {
        "classes_": Array(("classes",), "", required=True),
        "intervals_": Array(("classes", 2), finite=False, required=True),
        "edges_": Value((list,), check=are_edges, required=True),
    }

    def conflicts(self) -> Iterator[str]:
        """Yield what contradicts the classes."""
        classes = set(self.classes_.tolist())
        if not all(label in classes for edge in self.edges_ for label in edge):
            yield "edges_"

    @property
    def formula(self) -> str:
        """The objective, in words."""
        norm = NORMS[self.penalty]
        if self.slack == "none":
            return f"{norm}, with no row beyond the thresholds between classes"
        power, over = "²" * (self.slack == "squared"), " and their edges" * (self.slack_per == "edge")
        penalty = PENALTY.replace(NORMS["function"], norm)
        return f"mean over rows{over} of slack{power}{penalty}, the slack from the rows to the thresholds"

    def _why_constant(self) -> str:
        """Explain why all scores are equal, and suggest remedies."""
        cause = (
            "no direction of these features separates the classes of the edges on average by more than the "
            "rounding errors at this alpha"
        )
        ways = ["a smaller alpha"]
        if self.slack == "absolute":
            cause = "separating the classes by these features costs more slack than it saves"
            ways.insert(0, "slack='squared'")
        if self.slack_per == "row":
            cause = (
                "with one slack per row, violating all constraints of some classes costs less than "
                "separating them by these features"
            )
            ways.insert(0, "slack_per='edge'")
        ways += ["other features"] * (len(ways) == 1)
        return f"All scores are equal: {cause}. Try {' or '.join(ways)}."

    def check_parameters(self) -> None:
        """Check the parameters that do not depend on alpha."""
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_count("n_neighbors", self.n_neighbors)
        check_choice(self.slack, "slack", SLACKS)
        check_choice(self.slack_per, "slack_per", ("edge", "row"))
        check_choice(self.penalty, "penalty", tuple(NORMS))
        if self.penalty == "coefficients" and is_linear(self):
            raise ValueError("penalty='coefficients' is for kernels; got kernel='linear'.")
        check_choice(self.solver, "solver", ("auto", "interior_point"))
        if self.laplacian_weight != 0:
            check_positive("laplacian_weight", self.laplacian_weight)

    def _joined(self, X: Any, known: NDArray[np.bool_], unlabelled: Any) -> tuple[Any, NDArray[np.bool_]]:
        """Append the rows of `unlabelled` to X."""
        if unlabelled is None:
            return X, known
        if is_precomputed(self):
            raise ValueError(
                "unlabeled cannot be used with kernel='precomputed': pass the kernel matrix of all rows, "
                "and y with missing labels (NaN or None)."
            )
        more = self.validated(unlabelled, reset=False)
        rows = (
            sp.vstack([X, more], format="csr")
            if sp.issparse(X) or sp.issparse(more)
            else np.vstack([X, more])
        )
        return rows, np.append(known, np.zeros(more.shape[0], dtype=bool))

    def _order_graph(self, y: Any, sample_weight: Any, n_rows: int) -> tuple[NDArray[np.bool_], OrderGraph]:
        """Return which rows have a label, and the classes, order and weights of these rows."""
        weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", n_rows)
        if isinstance(y, Preferences):
            known, graph = np.ones(y.n_rows, dtype=bool), self._checked_graph(y, weight)
        else:
            known, present = split_missing(y)
            weight = weight if weight is None or len(known) != n_rows else weight[known]
            graph = self._graph_of_labels(present, weight)
        if len(known) != n_rows:
            raise ValueError(f"X has {plural(n_rows, 'row')}, but y has {len(known)}.")
        graph.require_pairs()
        if self.class_weight is not None:
            weights = class_weights(self.class_weight, graph.classes, graph.codes)
            graph = graph.weighted(weights)
        return known, graph

    @staticmethod
    def _checked_graph(y: Preferences, weight: FloatVector | None) -> OrderGraph:
        if y.classes is None:
            raise ValueError(
                "HullRanker ranks classes: y must hold labels, or come from Preferences.from_order; got "
                f"a {type(y).__name__}."
            )
        graph: Any = y if weight is None else y.weighted(weight)
        return graph

    def _graph_of_labels(self, labels: Any, weight: FloatVector | None) -> OrderGraph:
        classes, codes = as_codes(labels, "y")
        if classes.dtype.kind == "f" and not np.isfinite(classes).all():
            raise ValueError("y contains infinity.")
        self._warn_of_order(labels, classes)
        if self.order == "chain" and looks_continuous(classes, len(codes)):
            raise ValueError(
                f"Unknown label type: continuous. y holds {len(classes)} different numbers in {len(codes)} "
                "rows, and a chain compares each only with the next: bin them, use order='full', "
                "or use RankSVM."
            )
        counted = codes if weight is None else codes[weight > 0]
        return OrderGraph(codes, classes, order_edges(self.order, classes, counted), weight)

    def _warn_of_order(self, labels: Any, classes: NDArray[Any]) -> None:
        """Warn of text labels in alphabetical order, and of edges without rows of their classes."""
        warn_of_absent_classes(self.order, classes, "labels of y")
        if isinstance(self.order, str) and holds_text(classes) and declared_order(labels) is None:
            shown = " < ".join(map(repr, classes[:8].tolist()))
            warn_caller(
                f"y holds text, ordered alphabetically: {shown}. Give the order as a list of (higher, lower) "
                "labels."
            )

    def outputs(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return the labels: the classes, and so the order, depend on the fitted rows."""
        return [as_array(y)]

    def _program(self, known: NDArray[np.bool_], graph: OrderGraph) -> tuple[NDArray[np.int64], HullProgram]:
        """Return the class of each row, -1 for none, and the program."""
        codes, weight = np.full(len(known), -1), np.zeros(len(known))
        codes[known] = graph.codes
        weight[known] = 1.0 if graph.weight is None else graph.weight
        return codes, hull_program(
            codes, graph.edge_codes, weight, slack=self.slack, slack_per=self.slack_per
        )

    def space(self, problem: Problem) -> Space:
        """Return the features; if there are many features and few rows, reduce them to as many as rows."""
        if self.penalty == "coefficients":
            return self._kernel_columns(problem.X)
        m, n = problem.X.shape
        if not (is_linear(self) and n > MAX_DIRECT and (m <= MAX_DIRECT or self.laplacian_weight > 0)):
            return super().space(problem)
        kernel_map = KernelMap("linear")
        return Space(as_design(kernel_map.fit_transform(problem.X)), kernel_map)

    def _kernel_columns(self, X: Any) -> Space:
        """Return the kernel values with the basis rows as features; the weights are the coefficients v."""
        kernel_map = kernel_map_of(self)
        kernel_map.fit_kernel(X)
        values = kernel_values(X, kernel_map.basis_rows, **kernel_map.kernel_arguments)
        return Space(as_design(values, n_threads=thread_count(self.n_jobs)), kernel_map)

    def _centre(self, X: Any) -> FloatVector | None:
        """Return the means of features far from zero: centering only shifts the thresholds."""
        if not is_linear(self) or sp.issparse(X):
            return None
        centre, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        return centre if (np.abs(centre) > OFFSET * spread).any() else None

    def _smoothness(self, X: Any, design: Design) -> NDArray | None:
        """Return the matrix of laplacian_weight times the mean of (f(a) - f(b))^2 over neighbors a, b."""
        if self.laplacian_weight == 0:
            return None
        laplacian, n_edges = self._laplacian(X)
        features = design.X
        matrix = features.T @ (laplacian @ features)
        matrix = matrix.toarray() if sp.issparse(matrix) else matrix
        return float(self.laplacian_weight) / n_edges * matrix

    def _laplacian(self, X: Any) -> tuple[sp.csr_matrix, int]:
        n_neighbors = min(int(self.n_neighbors), X.shape[0] - 1)
        metric = "minkowski"
        if is_precomputed(self):
            K = X.toarray() if sp.issparse(X) else X
            X, metric = (
                np.sqrt(np.maximum(K.diagonal()[:, None] + K.diagonal() - 2.0 * K, 0.0)),
                "precomputed",
            )
        elif sp.issparse(X):
            X = canonical_csr(X)  # scikit-learn's distances square each part of an entry stored in parts
        directed = kneighbors_graph(X, n_neighbors, metric=metric, include_self=False, n_jobs=self.n_jobs)
        joined = directed.maximum(directed.T)
        degree = np.asarray(joined.sum(axis=1)).ravel()
        return (sp.diags(degree) - joined).tocsr(), joined.nnz // 2

    @np.errstate(over="ignore", invalid="ignore")  # a bound that overflows is invalid and rejected
    def _solve(
        self, design: Design, program: HullProgram, penalty: Penalty, graph: OrderGraph
    ) -> tuple[HullOptimum, SolverResult]:
        direct = design.shape[1] <= MAX_DIRECT
        tol = float(self.tol) if direct else max(float(self.tol), INEXACT_TOL)
        zero = best_of_zero(program)
        rule = HullStoppingRule(tol, np.inf if zero is None else zero.bound)
        # If the penalty is above this, the margin is below the rounding errors of the data.
        hard = self.slack == "none"
        ceiling = 1.0 / (SEPARATION**2 * mean_square(design, penalty)) if hard else np.inf
        optimum, result = solve_interior_point(
            design,
            program,
            penalty,
            rule=rule,
            ceiling=ceiling,
            max_iter=int(self.max_iter),
            monitor=Monitor(self.verbose, self.callback),
        )
        if not np.isfinite(optimum.objective):
            raise ValueError(self._why_not_separable(graph, optimum, result))
        constant = None if zero is None else constant_optimum(program, optimum, zero, tol)
        if constant is None:
            return optimum, result
        warn_caller(self._why_constant())
        target = tol * constant.objective
        status = "converged" if constant.gap <= target else result.status
        found = constant.coef, constant.objective, constant.gap
        run = result.n_iter, status, result.history
        return constant, SolverResult(*found, *run, constant.rounding, target)

    @staticmethod
    def _why_not_separable(graph: OrderGraph, optimum: HullOptimum, result: SolverResult) -> str:
        if result.status != "stalled":
            return (
                f"No function that separates the classes was found in {plural(result.n_iter, 'iteration')} "
                f"({result.status}), so slack='none' has no model to return."
            )
        strain = optimum.dual.edge
        tight = [graph.edges[k] for k in np.flatnonzero(strain > 0.01 * strain.max())]
        return (
            "slack='none' needs separable classes, but along the edges "
            f"{tight} the convex hulls intersect or the edges contradict each other. Use slack='squared' or "
            "slack='absolute', or a richer kernel."
        )

    def _function(self, X: Any, coef: FloatVector, space: Space) -> Function:
        if is_linear(self) and space.features is not None:  # back from as many features as rows
            return Linear(as_design(X).rmatvec(space.dual_coef(coef)))
        return function_of(coef, space.features) if self.penalty == "coefficients" else space.function(coef)

    def _intervals(
        self, program: HullProgram, codes: NDArray[np.int64], optimum: HullOptimum
    ) -> NDArray[np.float64]:
        """Return [L, U] of each class; with a slack per edge, the highest L and the lowest U of its edges."""
        of_unit = codes[program.row]
        intervals = np.tile([-np.inf, np.inf], (len(self.classes_), 1))
        low, high = program.low >= 0, program.high >= 0
        np.maximum.at(intervals[:, 0], of_unit[low], optimum.thresholds[program.low[low]])
        np.minimum.at(intervals[:, 1], of_unit[high], optimum.thresholds[program.high[high]])
        return intervals

    def predict_class(self, X: Any) -> NDArray[Any]:
        """Return the class of each row: the one whose interval is nearest to its score.

        The intervals of classes that are not connected by a path of edges may overlap. If two intervals are
        equally near, the class that comes first in `classes_` is returned. See `intervals_`.
        """
        scores = np.asarray(self.predict(X))
        what = f"predict_class of {len(scores)} rows and {len(self.classes_)} classes"
        require_memory(24 * len(scores) * len(self.classes_), what, "give fewer rows at a time")
        low, high = self.intervals_.T
        outside = np.maximum(low - scores[:, None], scores[:, None] - high)
        return self.classes_[np.argmin(np.maximum(outside, 0.0), axis=1)]

    def score(  # type: ignore[override]
        self, X: Any, y: Any, *, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the generalized Wilcoxon-Mann-Whitney statistic over the order graph of the fit.

        It is the mean over edges of the fraction of row pairs in the right order, ties counting one half; see
        `rankwise.metrics.wmw`. Rows without a label are left out. `y` may be a `Preferences.from_order`, with
        its own edges and weights.
        """
        scores = self.predict(X)
        if isinstance(y, Preferences):
            return wmw(y, scores, sample_weight=sample_weight)
        known, present = split_missing(y)
        weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", len(scores))
        return wmw(
            present,
            scores[known] if len(known) == len(scores) else scores,
            order=present_edges(self.edges_, present),
            sample_weight=None if weight is None else weight[known],
        )


@dataclass(eq=False, repr=False)
class HullRanker(BaseHullRanker, HullParameters, Strength):
    """Rank classes by an order graph: minimize the mean over rows of slack^p + alpha ||f||^2.

    For each edge (i, j) of the graph, all rows of class i should score at least 1 higher than all rows of
    class j, and so should the convex hulls of the two: there is a threshold between them. A row's slack is
    its largest violation of the thresholds of its class, so the number of slacks is that of rows, not of
    pairs: program (27) and (28) of Fung, Rosales and Krishnapuram (2005), with p = 2 or
    1. With `slack_per="edge"`, a row has one slack per edge, and the mean is still over rows.

    Cost: about twenty iterations of an interior point method. With n features or basis rows, an iteration is
    O(m n^2 + n^3) up to n = 2000; beyond, it uses conjugate gradients with O(nnz) per step. The
    objective is certified to be within `gap_` of the optimum.

    Parameters
    ----------
    alpha : float
        Strength of the penalty; `alpha = 1 / (2 nu m)` for the nu of (28) and m rows. With two classes and
        absolute slacks the function is half of that of an SVM with C = 1 / (alpha m).
    order : "chain", "full", list of (higher, lower) pairs of labels, or networkx.DiGraph
        "chain" puts each class above the next lower one, "full" above every lower one. Under "full" the
        labels may be real numbers: each distinct label is a class, often of a single row. With one slack per
        edge and row this is the ranking SVM over all pairs, at the cost of listing them.
    slack : "squared", "absolute" or "none"
        "none" allows no violation (the separable case, constraints (2) to (7)) and then minimizes
        ||f||^2; there is no solution if hulls intersect.
    slack_per : "edge" or "row"
        One slack per row and edge, with thresholds per edge, so that every edge counts; or one per row, as
        in the paper. With the latter, the optimum may violate all constraints of the classes in the middle
        of a chain. A warning is issued if all scores are equal.
    penalty : "function" or "coefficients"
        The penalty R(v) of (27) for a kernel: the norm ||f||^2 of the function in the kernel's space, or
        ||v||^2 of its coefficients, `dual_coef_`, which needs no positive semidefinite kernel.
    laplacian_weight : float
        Weight of the mean of (f(a) - f(b))^2 over neighbors a, b, with or without labels: neighboring rows
        should have similar scores.
    n_neighbors : int
        Number of neighbors of each row, by Euclidean distance, or by that of a precomputed kernel.
    class_weight : "balanced", dict or None
        Factors of the weights of the slacks, per class; "balanced" gives all classes the same total weight.
    kernel : "linear", "precomputed", any kernel of scikit-learn, or callable
        See constraints (26).
    gamma, degree, coef0, kernel_params :
        Parameters of the kernel, as in scikit-learn's `pairwise_kernels`.
    n_components : int, optional
        Number of basis rows for a kernel; all training rows, which is exact, by default.
    solver : "auto" or "interior_point"
        The method; "auto" chooses by the loss and the sizes.
    tol : float
        The fit stops when the gap is at most `tol` times the objective and, as in all estimators, times the
        attainable improvement, J(0) - J*. With more than 2000 features and rows, 1e-4 is enough.
    max_iter : int
        The most iterations; a fit that needs more warns, and states its gap.
    callback : callable, optional
        Called with a state (iteration, objective, bound, gap, seconds, coef) after each iteration; a true
        return value stops the fit.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all.
    random_state : int, optional
        The seed of the choice of basis rows.
    verbose : int
        1 prints a line per iteration.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights, for the linear kernel.
    dual_coef_, basis_ : arrays
        The function is the sum of `dual_coef_` times the kernel with the rows of `basis_`, for other kernels.
    classes_ : array of shape (n_classes,)
    edges_ : list of (higher, lower) labels
    intervals_ : array of shape (n_classes, 2)
        Each class's interval [L, U]: its rows should score at least L and at most U, infinite if no edge
        requires a bound; the L of a class is at least 1 above the U of the classes below it.
    n_pairs_ : int
        The number of pairs of rows that the edges order.
    objective_, gap_ : float
        The objective, and an upper bound on its suboptimality.
    n_iter_ : int
    history_ : dict of arrays
        Objective, bound, gap and seconds for each iteration.
    solver_ : str
        The solver that ran.

    See Also
    --------
    HullRankerCV : Chooses alpha by cross-validation.
    Preferences.from_order : The same order for other losses.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import HullRanker
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, progress = load_diabetes_ranking(return_X_y=True)
    >>> thirds = np.searchsorted(np.quantile(progress, [1 / 3, 2 / 3]), progress)
    >>> model = HullRanker(alpha=1e-3).fit(X, thirds)
    >>> model.edges_
    [(1, 0), (2, 1)]
    >>> round(model.score(X, thirds), 2)
    0.77
    """

    command = "hull"
    searching = "HullRankerCV"

    @with_one_blas_thread
    def fit(
        self, X: Any, y: Any, *, unlabelled: Any = None, sample_weight: ArrayLike | None = None
    ) -> HullRanker:
        """Learn to rank.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            With `kernel="precomputed"`, the kernel matrix.
        y : array of shape (n_rows,), or Preferences from `Preferences.from_order`
            The class of each row, of any type that `order` can refer to. Rows without a label (NaN or None)
            count in the Laplacian only.
        unlabeled : array, sparse matrix or frame of shape (n_more, n_features), optional
            Additional rows without labels.
        sample_weight : array of shape (n_rows,), optional
            The weight of each row's slack.
        """
        check_alpha(self.alpha)
        self.check_parameters()
        require_labels(self, y)
        X = read_rows(self, X)
        known, graph = self._order_graph(y, sample_weight, X.shape[0])
        X, known = self._joined(X, known, unlabelled)
        self.classes_, self.edges_, self.n_pairs_ = graph.classes, graph.edges, graph.n_pairs
        if is_linear(self):
            hinted(Space(as_design(X)), self)
        if self.laplacian_weight == 0 and not known.all():
            warn_caller("Rows without a label have no effect: laplacian_weight is 0.")
        codes, program = self._program(known, graph)
        centre = self._centre(X)
        space = self.space(Problem(X if centre is None else X - centre, [graph]))
        smoothness = self._smoothness(X, space.design)
        penalty = Penalty(1.0 if self.slack == "none" else float(self.alpha), smoothness)
        optimum, result = self._solve(space.design, program, penalty, graph)
        self.store(Fit(self._function(X, result.coef, space), result, "interior_point"))
        self.intervals_ = self._intervals(program, codes, optimum)
        if centre is not None:
            self.intervals_ += centre @ self.coef_
        return self


@described_as(HullRanker)
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
    ... :
        As in `HullRanker`.

    Attributes
    ----------
    alpha_, alphas_, cv_errors_, scoring_ :
        As in `RankSVMCV`.
    classes_, edges_, intervals_, coef_, ... :
        As in `HullRanker`, of the model for `alpha_`.

    See Also
    --------
    HullRanker : The model for a given alpha.

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
        X, y, unlabeled, sample_weight :
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
