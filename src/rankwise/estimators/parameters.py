"""The parameters of all estimators, each declared once.

A dataclass collects fields from its last base to its first. So an estimator lists its groups in the reverse
order of its signature, after the classes of its behaviour; a class may change a default, which keeps the
place. An estimator that chooses alpha has `Candidates` and `Comparison` in place of `Strength`.

Annotations are objects here and not strings (no `from __future__ import annotations`): constructors are made
in the modules of the estimators, where the names of these types are not known.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

RandomState = int | np.random.RandomState | None
CrossValidation = int | str | Iterable | None


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
class Loss:
    """The loss of a pair."""

    loss: str = "hinge"


@dataclass(eq=False, repr=False, kw_only=True)
class Kernel:
    """The function space."""

    kernel: str | Callable = "linear"
    gamma: float | str | None = None
    degree: float = 3
    coef0: float = 1.0
    kernel_params: dict[str, Any] | None = None
    n_components: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Basis:
    """How basis rows of a kernel are chosen."""

    basis: str = "uniform"


@dataclass(eq=False, repr=False, kw_only=True)
class Average:
    """The mean over pairs."""

    average: str = "queries"


@dataclass(eq=False, repr=False, kw_only=True)
class PairWeight:
    """The weight of a pair."""

    pair_weight: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Method:
    """The solver, by name."""

    solver: str = "auto"


@dataclass(eq=False, repr=False, kw_only=True)
class Stopping:
    """When a fit ends."""

    tol: float = 1e-3
    max_iter: int = 1000


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

    calibrated: bool = False


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

    cost: str = "magnitude"


@dataclass(eq=False, repr=False, kw_only=True)
class Ties:
    """Whether tied pairs count in least squares."""

    ties: str = "keep"


@dataclass(eq=False, repr=False, kw_only=True)
class Boundaries:
    """The boundaries between ranks."""

    thresholds: str = "min_error"
    categories: Sequence[Any] | None = None
    error: str = "absolute"
    class_weight: str | dict[Any, float] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Curves:
    """The tables of features and of pairs of features."""

    n_bins: int = 128
    shape: str = "steps"
    interactions: int | str | Sequence[Any] = 0
    interaction_bins: int = 64
    monotone: dict[Any, int] | Sequence[int] | None = None
    categorical_features: Sequence[int | str] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Hulls:
    """The order of classes and the price of its violations."""

    order: Any = "chain"
    slack: str = "squared"
    slack_per: str = "edge"
    penalty: str = "function"
    laplacian_weight: float = 0.0
    n_neighbors: int = 10
    class_weight: str | dict[Any, float] | None = None


@dataclass(eq=False, repr=False)
class Trees:
    """The loss of boosted trees, which may be given by position, and how they are grown."""

    loss: str = "squared_hinge"
    _: KW_ONLY
    n_estimators: int | None = None
    learning_rate: float = 0.05
    num_leaves: int = 15
    max_depth: int = -1
    min_child_samples: int | None = None
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

    loss: str = "squared_hinge"
    _: KW_ONLY
    alpha: float | str = "learned"
    kernel: str | Callable = "auto"
    n_components: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class EarlyStopping:
    """Whether held-out parts of the training rows choose the number of trees, and by what measure."""

    early_stopping: bool | str = "auto"
    validation_fraction: float = 0.2
    scoring: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class TreeCandidates(Comparison):
    """Parameters of trees to compare, and how."""

    param_grid: dict[str, Any] | Sequence[dict[str, Any]] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class Running(Verbosity, Randomness, Jobs, Callback):
    """How a fit runs."""


@dataclass(eq=False, repr=False, kw_only=True)
class PairwiseParameters(Stopping, Method, PairWeight, Average, Basis, Kernel):
    """What RankSVM, RankLogistic and the classes that choose their alpha share."""


@dataclass(eq=False, repr=False, kw_only=True)
class LeastSquaresParameters(Running, Stopping, Method, Ties, Average, Basis, Kernel, Cost):
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
