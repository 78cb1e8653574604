"""Cross-validation at the cost of a few fits: exact for RankRLS, by Newton steps for smooth losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError
from sklearn.base import clone

from rankwise.core.checks import as_alphas, as_array, as_codes, as_vector, check_choice, declared_order
from rankwise.core.progress import Progress
from rankwise.core.text import plural
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.design import as_design
from rankwise.functions.kernel_parameters import Scales
from rankwise.losses.least_squares import LeastSquares, keeps_ties, share_laplacian
from rankwise.model_selection.newton_steps import NewtonSteps, folds_of, require_squares
from rankwise.model_selection.one_alpha import FACTORS, QuerySystem, kernel_matrix
from rankwise.model_selection.pair_blocks import (
    Block,
    features,
    joint_loss,
    query_blocks,
    rows_by_group,
)
from rankwise.model_selection.pair_downdates import AnyPairs
from rankwise.model_selection.pair_formulas import AllPairs, KernelClasses, KernelPairs, TwoClasses
from rankwise.model_selection.query_weights import scores_without_fold
from rankwise.model_selection.scoring import held_out_error
from rankwise.model_selection.splits import QueryKFold
from rankwise.preferences import NoPairsError, Preferences
from rankwise.preferences.base import is_preferences_list, same_rows
from rankwise.solvers.endings import warn_of_ending
from rankwise.solvers.least_squares import solve_primal
from rankwise.solvers.result import SolverResult
from rankwise.solvers.spectrum import Spectrum

NEWTON_STEP = "Newton step"
PairFormula = AllPairs | TwoClasses | AnyPairs


@dataclass
class LeaveOutResult:
    """The predictions of models for rows that they were not fitted to.

    Attributes
    ----------
    error : float, or array of shape (n_alphas,), (v,) or (n_alphas, v)
        The fraction of held-out pairs in the wrong order, equal scores counting one half.
    auc : as `error`
        ``1 - error``; the area under the ROC curve if there are two labels.
    alphas : array of shape (n_alphas,)
    method : "closed form", "downdates" or "Newton step"
        The method of computation. The scores equal those of refits up to rounding or, after a Newton step, up
        to terms of second order.
    """

    error: Any
    alphas: FloatArray
    method: str
    _predictions: FloatArray | Callable[[], FloatArray]

    @property
    def auc(self) -> Any:
        """One minus the error."""
        return 1.0 - self.error

    @property
    def predictions(self) -> FloatArray:
        """The held-out scores, computed on first use; with axes for alphas first and outputs last.

        From `leave_query_out` (m,): the score of each row by the model without its fold. From
        `leave_pair_out` (m, m): entry (i, j) is the score of row i by the model without rows i and j, NaN if
        the pair was not left out.
        """
        if callable(self._predictions):
            self._predictions = self._predictions()
        return self._predictions


@with_one_blas_thread
def leave_pair_out(
    model: Any, X: Any, y: Any, *, alphas: ArrayLike | None = None, keep: str = "alpha"
) -> LeaveOutResult:
    """Leave every pair of rows with different labels out once, exactly, in O(m^2) after one decomposition.

    The scores of rows i and j are those of a clone of the model with the same alpha, fitted to the other
    m - 2 rows. The error is the fraction of pairs in the wrong order, an almost unbiased
    estimate of 1 - AUC for two labels. Sections 3.4 and 4.1 of Pahikkala et al. (2009); equations (36) to
    (39) with the lambda that belongs to m - 2 rows, alpha (m - 2)^2 / 2.

    Cost, for a function space of r <= m dimensions: O(m r^2 + r^3) once and O(m^2 (r + v)) for each alpha
    with v outputs, if ties are kept or there are two labels; with a kernel and one alpha, about three or four
    fits. Otherwise (survival, weights, other labels with ties dropped, explicit pairs) the two rows are
    removed from the normal equations, O(m^2 r^2) once and O(r^3) per pair and alpha.

    Rounding errors of the scores are about 1e-16 times the mean squared distance of two rows, divided by
    alpha. Scores of a pair that differ by less than 1e-11 of their spread count as equal.

    Parameters
    ----------
    model : RankRLS
        It is not changed, and need not be fitted. With `verbose=1` it reports progress. Basis rows
        (`n_components`) and `gamma="scale"` are those of all rows.
    X : array or sparse matrix of shape (m, n_features)
        The rows.
    y : array of shape (m,) or (m, v), or Preferences without queries, or a list of them
        Labels, higher is better.
    alphas : array, optional
        Instead of the model's alpha; the result gets an axis for them.
    keep : "alpha" or "lambda"
        The quantity that is the same in all fits: alpha, the weight of the penalty relative to the mean over
        pairs, as in a refit; or lambda, its weight relative to the sum over pairs, as in the paper.

    Returns
    -------
    LeaveOutResult

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rankwise import RankRLS
    >>> from rankwise.model_selection import leave_pair_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> result = leave_pair_out(RankRLS(alpha=0.1), X[:60], y[:60])
    >>> result.predictions.shape, result.method
    ((60, 60), 'closed form')
    >>> round(result.auc, 2)
    0.99
    """
    return pairs_left_out(HeldOutTask(model, X, y, None, alphas, keep))


@with_one_blas_thread
def leave_query_out(
    model: Any,
    X: Any,
    y: Any,
    qid: ArrayLike | None = None,
    *,
    folds: int | ArrayLike | None = None,
    alphas: ArrayLike | None = None,
    keep: str = "alpha",
) -> LeaveOutResult:
    """Leave each query, or each fold of queries, out once, at the cost of a few fits.

    It is exact for `RankRLS`. For other smooth losses the weights without a fold are those after one Newton
    step from the weights of all rows, with the Hessian of the other rows: the errors of real data differ from
    those of refits by less than 0.001. For `RankRLS`, the scores of the held-out rows U are those of a clone
    of the model with the same alpha, fitted to the
    other rows. With G = K (L K + lambda I)^-1,

        f_U = (I - G_UU L_UU)^-1 ((G M N)_U - G_UU (M N)_U),

    equation (33) of Pahikkala et al. (2009); lambda is alpha times the queries (`average="pairs"`: pairs)
    that remain. Every cost and all weights are supported. As in `leave_pair_out`, rounding errors grow if
    alpha is small relative to the scale of the rows.

    Cost, for a function space of r <= m dimensions: O(m r^2 + r^3) once and, for each fold of b rows, the
    smaller of O(b^2 r + b^3) per alpha and O(b r^2) for all alphas together, plus a few steps of conjugate
    gradients of O(r^2) per alpha, or O(r^3) if the fold is a large part of all rows. With a kernel, one
    alpha and queries of equal weight, it is about two fits.

    Parameters
    ----------
    model : RankRLS, RankLogistic, RankSVM with the squared hinge, or CurveRanker
        It is not changed, and need not be fitted. With `verbose=1` it reports progress. Basis rows
        (`n_components`), bins and `gamma="scale"` are those of all rows.
    X : array or sparse matrix of shape (m, n_features)
        The rows.
    y : array of shape (m,) or Preferences; for RankRLS also (m, v) or a list of Preferences
        For a Preferences, queries or connected components of explicit pairs are left out.
    qid : array of shape (m,), optional
        The query of each row, unless y is a Preferences.
    folds : int or array of shape (m,), optional
        By default, each query is a fold. An int assigns the queries to this many folds at random, the same in
        each call; an array has the fold of each row.
    alphas : array, optional
        Instead of the model's alpha; the result gets an axis for them.
    keep : "alpha" or "lambda"
        The quantity that is the same in all fits: alpha, the weight of the penalty relative to the mean over
        pairs, as in a refit; or lambda, its weight relative to the sum over pairs, as in the paper.

    Returns
    -------
    LeaveOutResult
        The error is the mean over queries, as in `RankRLS.score`.

    Examples
    --------
    >>> from rankwise import RankRLS
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.model_selection import leave_query_out
    >>> X, y, qid = make_ranking(200, 5, n_queries=20, noise=0.1, random_state=0)
    >>> result = leave_query_out(RankRLS(), X, y, qid, alphas=[10.0, 1e-1, 1e-3])
    >>> result.predictions.shape, result.error.shape
    ((3, 200), (3,))
    """
    if hasattr(model, "cost"):
        return queries_left_out(HeldOutTask(model, X, y, qid, alphas, keep), folds)
    if keep != "alpha":
        raise ValueError(f"keep={keep!r} is for RankRLS; the other losses keep alpha.")
    return smooth_queries_left_out(SmoothTask(model, X, y, qid, alphas), folds)


@with_one_blas_thread
def leave_row_out(model: Any, X: Any, y: Any, *, alphas: ArrayLike | None = None) -> LeaveOutResult:
    """Leave each row of one ranking out once, by a Newton step from the fit to all rows.

    A pair counts half by the model without its better row and half by the one without its worse row.

    Cost: a fit, n^2 / 2 Hessian products for n features, and O(N n) for N pairs, which are listed.

    Parameters
    ----------
    model : RankLogistic, RankSVM with the squared hinge, or CurveRanker
        It is not changed, and need not be fitted.
    X : array or sparse matrix of shape (m, n_features)
        The rows.
    y : array of shape (m,) or Preferences without queries
        Labels, higher is better; or preferences among the rows.
    alphas : array, optional
        Instead of the model's alpha; the error gets an axis for them.

    Returns
    -------
    LeaveOutResult
        Without predictions: each row has scores by m models.

    Examples
    --------
    >>> from rankwise import RankLogistic
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import leave_row_out
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> round(leave_row_out(RankLogistic(), X, y).error, 2)
    0.26
    """
    task = SmoothTask(model, X, y, None, alphas)
    if task.steps.preferences.has_queries:
        raise ValueError("leave_row_out ranks all rows together; for rows of queries use leave_query_out.")
    errors = [task.steps.error_without_rows(*solution) for solution in task.solutions("rows")]
    return LeaveOutResult(task.squeezed(errors), task.alphas, NEWTON_STEP, _no_predictions)


def _no_predictions() -> FloatArray:
    raise ValueError("leave_row_out has no predictions: each row has a score by each of m models.")


def smooth_queries_left_out(task: SmoothTask, folds: int | ArrayLike | None = None) -> LeaveOutResult:
    """See `leave_query_out`; the error is averaged as the model averages its loss."""
    preferences = task.steps.preferences
    fold_of_row = _fold_numbers(folds, preferences.groups())
    _require_pairs_outside(preferences, fold_of_row)
    rows = folds_of(fold_of_row)
    scores = [task.steps.scores_without(*solution, rows) for solution in task.solutions("queries")]
    errors = [held_out_error(preferences, one, task.average) for one in scores]
    return LeaveOutResult(task.squeezed(errors), task.alphas, NEWTON_STEP, task.squeezed(scores))


class SmoothTask:
    """Checked input of a smooth loss: its Newton steps and the alphas."""

    def __init__(self, model: Any, X: Any, y: Any, qid: ArrayLike | None, alphas: ArrayLike | None):
        if not hasattr(model, "mean_loss"):
            raise TypeError(
                "model must be a RankRLS, a RankLogistic, a RankSVM with loss='squared_hinge' or a "
                f"CurveRanker; got {type(model).__name__}."
            )
        self.one_alpha = alphas is None
        self.alphas = as_alphas([model.alpha] if alphas is None else alphas)
        self.verbose, self.average = int(getattr(model, "verbose", 0)), model.average
        plain = clone(model).set_params(alpha=float(self.alphas[0]))
        plain.check_parameters()
        self.steps = NewtonSteps(plain.fits(plain.problem(X, y, qid)))

    def solutions(self, noun: str) -> Iterator[tuple[float, FloatArray]]:
        """Yield each alpha and the weights of all rows, and report progress."""
        advance = Progress(f"Leaving {noun} out", len(self.alphas), self.verbose).advance
        coef = None
        for alpha in map(float, self.alphas):
            coef = self.steps.solve(alpha, coef)
            yield alpha, coef
            advance(1)

    def squeezed(self, values: list[Any]) -> Any:
        """Drop the axis of alphas if they were not requested."""
        return values[0] if self.one_alpha else np.array(values)


class HeldOutTask:
    """Checked input: the model's cost, its function space, preferences for each output, and the alphas."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        alphas: ArrayLike | None = None,
        keep: str = "alpha",
        scales: Scales | None = None,
    ):
        _check_model(model)
        require_squares(model, "Leaving pairs or queries out by a closed form")
        check_choice(keep, "keep", ("alpha", "lambda"))
        self.keep = keep
        self.model = clone(model)
        self.model.check_parameters()
        self.cost = {"cost": model.cost, "ties": model.ties, "average": model.average}
        self.outputs, self.one_output = as_outputs(y, qid)
        self.X = self.model.validated(X, reset=True)
        if self.X.shape[0] != self.n_rows:
            raise ValueError(f"X has {plural(self.X.shape[0], 'row')}, but y has {self.n_rows}.")
        self.one_alpha = alphas is None
        self.alphas = as_alphas([model.alpha] if alphas is None else alphas)
        self.verbose = int(getattr(model, "verbose", 0))
        self.scales = scales
        self._features: FloatArray | None = None
        self._kernel_matrix: FloatArray | None = None
        self.system: tuple[FloatArray, FloatArray] | None = None  # of the last output that was left out

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.outputs[0].n_rows

    def features(self) -> FloatArray:
        """Return the rows as points of the function space, shape (m, r) with r <= m."""
        if self._features is None:
            self._features = features(self.model, self.X, self.scales)
        return self._features

    def spectrum(self, form: LeastSquares) -> Spectrum:
        """Return the decomposed normal equations Phi'L Phi and Phi'r, one column per output."""
        gram, pull = as_design(self.features()).centred().normal_equations(form)
        self.system = gram.copy(), pull
        return Spectrum.of(gram, pull.reshape(len(pull), -1), check=False)

    def kernel_matrix(self) -> FloatArray | None:
        """Return the kernel matrix if a fit would factor it, and None otherwise."""
        if self._kernel_matrix is None:
            self._kernel_matrix = kernel_matrix(self.model, self.X, self.scales)
        return self._kernel_matrix

    def batches(self) -> list[list[int]]:
        """Group the outputs that share a Laplacian: all of them if ties are kept, otherwise each alone."""
        numbers = list(range(len(self.outputs)))
        shared = share_laplacian(self.outputs, self.cost["cost"], self.cost["ties"])
        return [numbers] if shared else [[k] for k in numbers]

    def squeezed(self, values: FloatArray) -> Any:
        """Drop the axes of alphas (first) and outputs (last) if they were not requested."""
        if self.one_output:
            values = values[..., 0]
        if self.one_alpha:
            values = values[0]
        return float(values) if np.ndim(values) == 0 else values


def has_queries(preferences: Preferences) -> bool:
    """Return whether the pairs belong to several queries or components."""
    return len(np.unique(preferences.groups())) > 1


def as_outputs(y: Any, qid: ArrayLike | None) -> tuple[list[Preferences], bool]:
    """Return the preferences of each output, and whether y was a single output."""
    if isinstance(y, Preferences):
        if qid is not None:
            raise ValueError("qid must be None when y is a Preferences: pass the queries to from_scores.")
        return [y], True
    if is_preferences_list(y):
        return same_rows(y), False
    if declared_order(y) is not None:
        return [Preferences.from_scores(y, qid)], True
    labels = as_array(y)
    if labels.ndim == 2 and labels.shape[1] > 1:
        return [Preferences.from_scores(column, qid) for column in labels.T], False
    return [Preferences.from_scores(as_vector(labels, "y"), qid)], True


def _check_model(model: Any) -> None:
    if not all(hasattr(model, name) for name in ("alpha", "cost", "ties", "average", "kernel")):
        raise TypeError(f"model must be a RankRLS; got {type(model).__name__}.")
    if not isinstance(model.alpha, Real):
        raise ValueError(f"alpha must be a positive number; got {model.alpha!r}.")


# Queries


def queries_left_out(
    task: HeldOutTask, folds: int | ArrayLike | None = None, average: str = "queries"
) -> LeaveOutResult:
    """See `leave_query_out`; with `average="pairs"` the error is the fraction of all held-out pairs."""
    fold_of_row = _fold_numbers(folds, task.outputs[0].groups())
    for output in task.outputs:
        _require_pairs_outside(output, fold_of_row)
    scores = np.empty((len(task.alphas), task.n_rows, len(task.outputs)))
    fits: list[SolverResult] = []
    for batch in task.batches():
        outputs = [task.outputs[k] for k in batch]
        form = joint_loss(outputs, **task.cost)
        blocks = query_blocks(form)
        leaving = _by_fold(blocks, fold_of_row)
        penalties = _penalties(leaving, blocks, task)
        found = _scores_by_factors(task, form, leaving, penalties)
        if found is None:
            spectrum = task.spectrum(form)
            if form.cost == "relative":
                fits.append(_fit_to_all(task, form))
            found = scores_without_fold(task.features(), spectrum, leaving, penalties, task.verbose)
        scores[:, :, batch] = found
    for stalled in [fit for fit in fits if fit.status != "converged"][:1]:  # one warning for all outputs
        warn_of_ending(stalled, float(task.model.tol))
    errors = [
        [held_out_error(output, column[:, k], average) for k, output in enumerate(task.outputs)]
        for column in scores
    ]
    return LeaveOutResult(task.squeezed(np.array(errors)), task.alphas, "closed form", task.squeezed(scores))


def _fit_to_all(task: HeldOutTask, form: LeastSquares) -> SolverResult:
    """Fit all rows for the least alpha: where labels hardly differ, no solver finds the weights exactly."""
    design, alpha = as_design(task.features()), float(task.alphas.min())
    return solve_primal(design, form, alpha, tol=float(task.model.tol), system=task.system)


def _by_fold(blocks: list[Block], fold_of_row: IntArray) -> list[list[Block]]:
    """Return the blocks of each fold."""
    folds: dict[int, list[Block]] = {}
    for block in blocks:
        folds.setdefault(int(fold_of_row[block.rows[0]]), []).append(block)
    return list(folds.values())


def _penalties(folds: list[list[Block]], blocks: list[Block], task: HeldOutTask) -> FloatArray:
    """Return lambda for each fold and alpha: alpha times the mass that remains, or that of all rows."""
    whole = sum(block.mass for block in blocks)
    leaving = np.array([sum(block.mass for block in fold) for fold in folds])
    remaining = np.full(len(folds), whole) if task.keep == "lambda" else whole - leaving
    # Equal sums of masses may differ in their last bits, and each distinct lambda needs a factorization.
    return np.multiply.outer(np.round(remaining, 14), task.alphas)


def _scores_by_factors(
    task: HeldOutTask, form: LeastSquares, folds: list[list[Block]], penalties: FloatArray
) -> FloatArray | None:
    """Score each row by the model without its fold, with one factorization per lambda; None if too many."""
    different = np.unique(penalties)
    if len(different) > FACTORS or not form.root_is_sparse or not QuerySystem.suits(form.root):
        return None
    K = task.kernel_matrix()
    if K is None:
        return None
    system = QuerySystem(K, form.root, task.outputs[0].groups())  # type: ignore[arg-type]
    scores = np.empty((len(task.alphas), task.n_rows, form.pull.reshape(task.n_rows, -1).shape[1]))
    try:
        for penalty in different:
            for k in range(len(task.alphas)):
                some = [fold for fold, one in zip(folds, penalties[:, k], strict=True) if one == penalty]
                if some:
                    rows = np.concatenate([block.rows for fold in some for block in fold])
                    scores[k, rows] = system.scores(some, float(penalty))[rows]
    except LinAlgError:
        return None
    return scores


def _fold_numbers(folds: int | ArrayLike | None, groups: IntArray) -> IntArray:
    """Return the number of each row's fold."""
    if folds is None:
        numbers = groups
    elif isinstance(folds, Integral):
        numbers = np.empty_like(groups)
        splits = QueryKFold(int(folds), shuffle=True, random_state=0).split(groups, groups=groups)
        for number, (_, test) in enumerate(splits):
            numbers[test] = number
    else:
        numbers = as_codes(folds, "folds", len(groups))[1]  # type: ignore[arg-type]
        if any(len(np.unique(numbers[rows])) > 1 for rows in rows_by_group(groups)):
            raise ValueError("folds must not split queries: a query has rows in several folds.")
    if len(np.unique(numbers)) < 2:
        raise ValueError("Leaving a query out needs at least two queries, or folds of them; got one.")
    return numbers


def _require_pairs_outside(preferences: Preferences, fold_of_row: IntArray) -> None:
    """Raise an error if a fold holds all pairs."""
    if len(np.unique(fold_of_row[preferences.partner_weights()[0] > 0])) < 2:
        raise NoPairsError("All pairs are in one fold: without it, no pair remains to learn from.")


# Pairs


def pairs_left_out(task: HeldOutTask) -> LeaveOutResult:
    """See `leave_pair_out`."""
    if task.outputs[0].has_queries:
        raise ValueError("leave_pair_out ranks all rows together; for rows of queries use leave_query_out.")
    fast = pair_formulas(task)
    options = {**task.cost, "keep": task.keep}
    formulas = fast or [AnyPairs(task.features(), output, **options) for output in task.outputs]
    work = sum(formula.work(task.alphas) for formula in formulas)
    advance = Progress("Leaving pairs out", work, task.verbose).advance
    errors = np.concatenate([formula.errors(task.alphas, advance) for formula in formulas], axis=1)
    predictions = partial(_pair_predictions, task, formulas)
    method = "downdates" if fast is None else "closed form"
    return LeaveOutResult(task.squeezed(errors), task.alphas, method, predictions)


@with_one_blas_thread
def _pair_predictions(task: HeldOutTask, formulas: Sequence[PairFormula]) -> FloatArray:
    scores = [
        np.concatenate([formula.predictions(alpha) for formula in formulas], axis=2) for alpha in task.alphas
    ]
    return task.squeezed(np.array(scores))


def has_pair_formula(task: HeldOutTask) -> bool:
    """Return whether leaving a pair out has a closed form for every output."""
    return all(_has_pair_formula(task, output) for output in task.outputs)


def _has_pair_formula(task: HeldOutTask, output: Preferences) -> bool:
    if not output.counts_pairs or output.labels is None:
        return False
    if keeps_ties(output, task.cost["cost"], task.cost["ties"]):
        return True
    return len(np.unique(output.labels)) == 2 and output.n_rows > 4


def pair_formulas(task: HeldOutTask) -> Sequence[PairFormula] | None:
    """Return closed forms that together cover the outputs in their order, or None."""
    if not has_pair_formula(task):
        return None
    outputs: list[Any] = task.outputs
    if len(task.batches()) == 1 and keeps_ties(outputs[0], task.cost["cost"], task.cost["ties"]):
        return [_all_pairs(task, np.column_stack([output.values for output in outputs]))]
    for output in outputs:
        _require_pairs_without_any_pair(output)
    return [_two_classes(task, output.labels) for output in outputs]


def _all_pairs(task: HeldOutTask, labels: FloatArray) -> AllPairs:
    """Return the closed form: by a factor of the kernel matrix for one alpha, by its spectrum for several."""
    m = len(labels)
    factor = (m / (m - 2)) ** 2 if task.keep == "lambda" else 1.0
    K = task.kernel_matrix() if len(task.alphas) == 1 else None
    if K is not None:
        try:
            return KernelPairs(K, labels, float(task.alphas[0]), factor)
        except LinAlgError:  # alpha is below the rounding errors of the matrix
            pass
    return AllPairs(task.features(), labels, factor)


def _two_classes(task: HeldOutTask, labels: FloatArray) -> TwoClasses:
    """Return the closed form of the cost: (20) has labels 0 and 1, (22) is (21) with another alpha."""
    low, high = labels.min(), labels.max()
    sizes = np.array([np.count_nonzero(labels == low), np.count_nonzero(labels == high)])
    factor = float(np.prod(sizes / (sizes - 1))) if task.keep == "lambda" else 1.0
    if task.cost["cost"] == "unit":
        labels = (labels == high).astype(np.float64)
    if task.cost["cost"] == "relative":
        factor *= (high - low) ** 2
    K = task.kernel_matrix() if len(task.alphas) == 1 else None
    if K is not None:
        try:
            return KernelClasses(K, labels, float(task.alphas[0]), factor)
        except LinAlgError:  # alpha is below the rounding errors of the matrix
            pass
    return TwoClasses(task.features(), labels, factor)


def _require_pairs_without_any_pair(ranking: Any) -> None:
    """Raise an error if, without some pair of rows, all other labels are equal."""
    levels, counts = np.unique(ranking.labels, return_counts=True)
    others = len(ranking.labels) - counts.max()
    if others == 1 or (others == 2 and len(levels) == 3) or (len(levels) == 2 and counts.min() < 2):
        raise NoPairsError(
            "Without some pairs of rows, all remaining labels are equal: each "
            "label needs at least two rows, or there must be more labels."
        )
