"""The parameters of all estimators, each declared once.

A dataclass collects fields from its last base to its first. So an estimator lists its groups in the reverse
order of its signature, after the classes of its behavior; a class may change a default, which keeps the
place. An estimator that chooses alpha has `Candidates` and `Comparison` in place of `Strength`.

Annotations are objects here and not strings (no `from __future__ import annotations`): constructors are made
in the modules of the estimators, where the names of these types are not known.

A parameter is an option of the shell, with the type and the default of the field, if it has an `option`. A
class that changes a default leaves the option as it is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.functions.kernel_values import kernel_names
from rankwise.losses import LOSSES, OBJECTIVES
from rankwise.losses.plackett_luce import TIES

RandomState = int | np.random.RandomState | None
CrossValidation = int | str | Iterable | None
LOSS = "loss of a pair; least-squares: boosted and kernel only"
# The kernels whose scales are learned.
LEARNED_KERNELS = ("auto", "laplacian", "exponential", "rbf")


def option(default: Any, text: str, *, choices: Iterable[str] | None = None, reader: str = "") -> Any:
    """Return a field that is an option of the shell.

    Parameters
    ----------
    default : value of the parameter
    text : str
        The help.
    choices : words, optional
        The accepted words.
    reader : str
        How the text is read (`READERS` of `rankwise.cli.model_options`), by default by the type of the field.
    """
    return field(default=default, metadata={"help": text, "choices": choices, "reader": reader})


@dataclass(eq=False, repr=False)
class Strength:
    """The weight of the penalty; it may be given by position."""

    alpha: float | str = 1e-3


@dataclass(eq=False, repr=False)
class Candidates:
    """The weights of the penalty to choose from; they may be given by position."""

    alphas: ArrayLike | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Comparison:
    """How candidates are compared."""

    cv: CrossValidation = 5
    scoring: str | Callable | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Parsimony:
    """Which of the candidates that are compared is chosen."""

    one_standard_error: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class Loss:
    """The loss of a pair."""

    loss: str = option("hinge", LOSS, choices=LOSSES)


@dataclass(eq=False, repr=False, kw_only=True)
class Sparsity:
    """The share of absolute weights in the penalty, and the factors of features."""

    l1_ratio: float | Sequence[float] = option(
        0.0,
        "share of absolute weights in the penalty, 0 to 1: a high share, such as 0.9, selects features "
        "(linear kernel and smooth loss; --tune: one, or several separated by commas)",
        reader="ratios",
    )
    penalty_weights: ArrayLike | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Kernel:
    """The function space."""

    kernel: str | Callable = option(
        "linear",
        "linear, exponential, or a kernel of scikit-learn such as rbf or poly (kernel: auto, laplacian, "
        "exponential or rbf)",
        choices=kernel_names(),
    )
    gamma: float | str | None = option(
        None, "width of the kernel: a number, scale, median, learned or learned-matrix", reader="gamma"
    )
    degree: float = option(3, "degree of the polynomial kernel")
    coef0: float = option(1.0, "constant of the polynomial and the sigmoid kernel", reader="number")
    kernel_params: dict[str, Any] | None = None
    n_components: int | None = option(
        None, "number of basis rows of a kernel (default: all rows; kernel: 2,000 to 3,000)"
    )


@dataclass(eq=False, repr=False, kw_only=True)
class Basis:
    """How basis rows of a kernel are chosen."""

    basis: str = "uniform"


@dataclass(eq=False, repr=False, kw_only=True)
class Average:
    """The mean over pairs."""

    average: str = option("queries", "mean over queries or over all pairs", choices=("queries", "pairs"))


@dataclass(eq=False, repr=False, kw_only=True)
class PairWeight:
    """The weight of a pair."""

    pair_weight: str | None = option(
        None, "weight of a pair: the difference of its labels", choices=("difference",)
    )


@dataclass(eq=False, repr=False, kw_only=True)
class Method:
    """The solver, by name."""

    solver: str = "auto"


@dataclass(eq=False, repr=False, kw_only=True)
class Stopping:
    """When a fit ends."""

    tol: float = option(
        1e-3, "stop when the certified gap is below this fraction of the attainable improvement"
    )
    max_iter: int = option(1000, "maximum number of iterations")


@dataclass(eq=False, repr=False, kw_only=True)
class WarmStart:
    """Whether a fit begins with the previous one."""

    warm_start: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class Callback:
    """A function to call after each iteration."""

    callback: Callable | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Jobs:
    """The number of threads."""

    n_jobs: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Randomness:
    """The seed of what is drawn."""

    random_state: RandomState = None


@dataclass(eq=False, repr=False, kw_only=True)
class Verbosity:
    """Whether iterations are printed."""

    verbose: int = 0


@dataclass(eq=False, repr=False, kw_only=True)
class Calibration:
    """Whether probabilities are calibrated on rows held out."""

    calibrated: bool = option(
        False, "learn probabilities of the labels, by cross-fitting, for predict --proba"
    )


@dataclass(eq=False, repr=False, kw_only=True)
class OutputAlphas:
    """Whether each output has an alpha of its own."""

    alpha_per_output: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class Pooling:
    """Whether the held-out scores of all folds are judged together."""

    pooled: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class Kept:
    """What stays the same if rows are left out: alpha, or the penalty relative to the sum over pairs."""

    keep: str = "alpha"


@dataclass(eq=False, repr=False, kw_only=True)
class Cost:
    """The target of a pair in least squares."""

    cost: str = option(
        "magnitude", "target difference of the scores of a pair", choices=("magnitude", "unit", "relative")
    )


@dataclass(eq=False, repr=False, kw_only=True)
class Ties:
    """Whether tied pairs count in least squares."""

    ties: str = "keep"


@dataclass(eq=False, repr=False, kw_only=True)
class Boundaries:
    """The boundaries between ranks."""

    thresholds: str = option("min_error", "boundaries between labels", choices=("midpoint", "min_error"))
    categories: Sequence[Any] | None = None
    error: str = "absolute"
    class_weight: str | dict[Any, float] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Curves:
    """The tables of features and of pairs of features."""

    n_bins: int = option(128, "bins per feature")
    shape: str = option("steps", "shape of the curves", choices=("steps", "lines"))
    interactions: int | str | Sequence[Any] = option(
        0, "number of pairs of features with an interaction", reader="whole"
    )
    interaction_bins: int = 64
    monotone: dict[Any, int] | Sequence[int] | None = None
    categorical_features: Sequence[int | str] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Hulls:
    """The order of classes and the price of its violations."""

    order: Any = option(
        "chain",
        "chain or full: a class is above the next lower one, or above all lower ones; or edges 'A>B,...'",
        reader="order",
    )
    slack: str = option("squared", "penalty of violations of the order", choices=("squared", "absolute"))
    slack_per: str = option("edge", "one slack per row, or per row and edge", choices=("row", "edge"))
    penalty: str = "function"
    laplacian_weight: float = 0.0
    n_neighbors: int = 10
    class_weight: str | dict[Any, float] | None = None


@dataclass(eq=False, repr=False)
class Trees:
    """The loss of boosted trees, which may be given by position, and how they are grown."""

    loss: str = option("squared_hinge", LOSS, choices=OBJECTIVES)
    _: KW_ONLY
    n_estimators: int | None = option(None, "number of trees (default: chosen on held-out rows)")
    learning_rate: float = option(0.05, "shrinkage of each tree")
    num_leaves: int = option(15, "leaves per tree")
    max_depth: int = -1
    min_child_samples: int | None = option(None, "minimum rows per leaf (default: 20, or 10 for small data)")
    subsample: float = 0.8
    colsample_bytree: float = 1.0
    colsample_bynode: float = 0.7
    reg_lambda: float = 0.0
    early_stopping_rounds: int = 50
    categorical_features: Sequence[int | str] | None = None
    lightgbm_parameters: dict[str, Any] | None = None


@dataclass(eq=False, repr=False)
class LearnedKernel:
    """The loss of a pair, which may be given by position, and a kernel whose scales are learned."""

    loss: str = option("squared_hinge", LOSS, choices=OBJECTIVES)
    _: KW_ONLY
    alpha: float | str = "learned"
    kernel: str | Callable = option("auto", "", choices=LEARNED_KERNELS)
    n_components: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class EarlyStopping:
    """Whether held-out parts of the training rows choose the number of trees, and by what measure."""

    early_stopping: bool | str = option(
        "auto",
        "choose the number of trees on held-out parts of the training rows, by --metric; auto is yes without "
        "--n-estimators and with at least 100 rows",
        reader="switch",
    )
    validation_fraction: float | None = option(None, "fraction of rows in each held-out part", reader="part")
    scoring: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class TreeCandidates(Comparison):
    """Parameters of trees to compare, and how."""

    param_grid: dict[str, Any] | Sequence[dict[str, Any]] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Running(Verbosity, Randomness, Jobs, Callback):
    """How a fit runs."""


@dataclass(eq=False, repr=False, kw_only=True)
class PairwiseParameters(Stopping, Method, PairWeight, Average, Basis, Kernel, Sparsity):
    """What RankSVM, RankLogistic and the classes that choose their alpha share."""


@dataclass(eq=False, repr=False, kw_only=True)
class ListTies:
    """How rows of equal labels are chosen from a list."""

    ties: str = option("breslow", "treatment of tied rows of a list", choices=TIES)


@dataclass(eq=False, repr=False, kw_only=True)
class ListParameters(Stopping, Method, Average, Basis, Kernel, Sparsity, ListTies):
    """What RankPlackettLuce and RankPlackettLuceCV share."""


@dataclass(eq=False, repr=False, kw_only=True)
class LeastSquaresParameters(Running, Stopping, Method, Ties, Average, Basis, Kernel, Sparsity, Cost):
    """What RankRLS and RankRLSCV share."""

    tol: float = 1e-6


@dataclass(eq=False, repr=False, kw_only=True)
class OrdinalParameters(Stopping, Method, Calibration, Boundaries, Kernel, Loss):
    """What OrdinalSVM and OrdinalSVMCV share."""


@dataclass(eq=False, repr=False, kw_only=True)
class CurveParameters(Stopping, Method, PairWeight, Average, Curves, Loss):
    """What CurveRanker and CurveRankerCV share."""


@dataclass(eq=False, repr=False, kw_only=True)
class HullParameters(Running, Stopping, Method, Kernel, Hulls):
    """What HullRanker and HullRankerCV share."""

    tol: float = 1e-9
    max_iter: int = 200


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRankerParameters(Running, Stopping, PairWeight, Average, LearnedKernel):
    """All parameters of KernelRanker."""

    random_state: RandomState = 0
