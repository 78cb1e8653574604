"""The kernel of an estimator, from its parameters."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Protocol

from rankwise.core.types import FloatArray
from rankwise.functions.kernel_map import KernelMap

LEARNED = ("learned", "learned-matrix")


class KernelModel(Protocol):
    """An estimator with the parameters of a kernel."""

    kernel: str | Callable
    gamma: float | str | None
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    n_components: int | None
    random_state: Any


class Scales(Protocol):
    """Scales of features, learned with a gamma."""

    @property
    def scales(self) -> FloatArray:
        """What features are multiplied by."""

    @property
    def gamma(self) -> float:
        """The gamma of the kernel on scaled features."""


def is_linear(model: KernelModel) -> bool:
    """Return whether functions are linear in the features."""
    return isinstance(model.kernel, str) and model.kernel == "linear"


def is_precomputed(model: KernelModel) -> bool:
    """Return whether X is the kernel matrix."""
    return isinstance(model.kernel, str) and model.kernel == "precomputed"


def is_learned(gamma: Any) -> bool:
    """Return whether the scales of features are learned."""
    return isinstance(gamma, str) and gamma in LEARNED


def uses_kernel_matrix(model: KernelModel, n_rows: int) -> bool:
    """Return whether all rows are basis rows of a kernel."""
    reduced = isinstance(model.n_components, Integral) and model.n_components < n_rows
    return not (is_linear(model) or reduced)


def kernel_map_of(model: KernelModel, scales: Scales | None = None) -> KernelMap:
    """Return the kernel map of an estimator; a gamma that is learned needs the scales."""
    learned = scales if is_learned(model.gamma) else None
    if learned is None and is_learned(model.gamma):
        raise ValueError(
            f"gamma={model.gamma!r} is for the fits of RankSVM, RankLogistic and RankRLS and their CV."
        )
    return KernelMap(
        model.kernel,
        gamma=model.gamma if learned is None else learned.gamma,
        scales=None if learned is None else learned.scales,
        degree=model.degree,
        coef0=model.coef0,
        kernel_params=model.kernel_params,
        n_components=model.n_components,
        basis=getattr(model, "basis", "uniform"),
        random_state=model.random_state,
    )
