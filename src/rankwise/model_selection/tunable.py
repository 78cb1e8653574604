"""Where searches and paths over alpha meet estimators: a problem, and the fits of an estimator to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from numpy.typing import ArrayLike

from rankwise.core.states import State
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.functions.learned import FeatureMap, Function, Linear
from rankwise.preferences import Preferences
from rankwise.solvers import SolverResult

if TYPE_CHECKING:
    from rankwise.estimators.feature_scales import FeatureScales


@dataclass(frozen=True)
class Problem:
    """What a model learns from.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_rows, n_features), or Design
        Checked rows; a design if they are not in memory.
    outputs : list
        One entry per output: preferences among the rows, or the labels that a model derives them from.
    scales : FeatureScales or None
        Of a kernel with a learned gamma, once they are learned; folds share those of all rows.
    """

    X: Any
    outputs: list[Any]
    scales: FeatureScales | None = None

    @property
    def preferences(self) -> Preferences:
        """The preferences of the first output."""
        return self.outputs[0]


class Space(NamedTuple):
    """Rows as a design, and the functions of its weights; None for weights of the features themselves."""

    design: Design
    features: FeatureMap | None = None

    def dual_coef(self, coef: FloatArray) -> FloatArray:
        """Return the weights as a function has them."""
        return coef if self.features is None else self.features.dual_coef(coef)

    def function(self, coef: FloatArray) -> Function:
        """Return the function of the weights of the design."""
        if self.features is None:
            return Linear(coef)
        return self.features.function(self.features.dual_coef(coef))


@dataclass(frozen=True)
class Fit:
    """A fit: the function, the result of the solver, if it is kept, and the name of the solver.

    The result has the weights that a warm start begins with.
    """

    function: Function
    result: SolverResult | None = None
    solver: str = ""


class Fits(Protocol):
    """The fits of an estimator to one problem, for any value of the parameter that is tuned."""

    def scores(self, alphas: FloatVector, rows: Any) -> Iterable[FloatArray]:
        """Score other rows by the fit for each alpha: arrays of shape (n_outputs, n_rows).

        An iterator fits an alpha when its scores are asked for.
        """

    def models(self, alphas: FloatVector) -> Iterator[Any]:
        """Yield the fitted model for each alpha."""

    def state(self) -> State | None:
        """Return the state that the next fit starts from, None if it cannot be kept, empty if there is none.

        Fits that return more than an empty state have a method `restore`, which takes it.
        """


class CertifiedFits(Fits, Protocol):
    """Fits with a certificate, for `alpha_path`."""

    @property
    def space(self) -> Space:
        """The function space of all fits."""

    @property
    def at_zero(self) -> float:
        """The objective of the zero function."""

    def handing_on(self) -> CertifiedFits:
        """Return fits that hand on to the next one what is valid for every alpha."""

    def penalty(self, coef: FloatVector) -> float:
        """Return the penalty of weights for an alpha of 1."""

    def solve(self, alpha: float, start: FloatVector | None = None) -> SolverResult:
        """Fit one alpha, from weights to start with if there are some."""


class Tunable(Protocol):
    """What `Folds` and `alpha_path` ask of an estimator, beside scikit-learn's parameters.

    Attributes
    ----------
    tuned : str
        The parameter that a search chooses, such as "alpha".
    has_certified_path : bool
        Whether `fits` returns `CertifiedFits`.
    l1_ratio : float
        The share of absolute weights in the penalty; formulas for a squared norm hold if it is 0.
    fits_all_at_once : bool
        Whether one computation serves all candidates, so that a search gains nothing by leaving some out.
    fold_descents : callable or None
        `fold_descents(problem, parts, design)` returns fits of all folds that share passes over the rows, or
        None. `parts` has the rows that each fold learns from, with their preferences; `design` all rows, if
        it is known.
    fold_equations : callable or None
        `fold_equations(problem, tests)` returns fits of all folds from one pass over the rows, or None. No
        query is split, and each row is among the test rows of one fold; the other folds learn from it.
    """

    tuned: str
    has_certified_path: bool
    l1_ratio: Any
    fits_all_at_once: bool
    fold_descents: Callable[..., Any] | None
    fold_equations: Callable[..., Any] | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def set_params(self, **parameters: Any) -> Any:
        """Change parameters."""

    def problem(
        self, X: Any, y: Any, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Problem:
        """Read and check what to learn from; the estimator remembers the columns."""

    def validated(self, X: Any, reset: bool) -> Any:
        """Check rows; `reset` remembers their columns, otherwise they must be those remembered."""

    def outputs(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return the outputs of a problem from labels or preferences."""

    def grid(self, problem: Problem, design: Design | None = None) -> FloatVector:
        """Return the default candidates, from the largest down; `design` has the rows, if it is known."""

    def fits(self, problem: Problem, hint: bool = False) -> Fits:
        """Return the fits to a problem; `hint` checks the scale of the features."""
