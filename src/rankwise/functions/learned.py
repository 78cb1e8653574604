"""The functions that estimators learn: linear ones, and those in the span of a kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.stored import Array, Declaration, Value
from rankwise.core.types import FloatArray
from rankwise.data.scores import row_scores
from rankwise.functions.kernel_values import kernel_scores

# The scales of features, one for each or a matrix: squares of distances between scaled rows are finite.
SCALES = Array(("features?", "features"), low=-1e100, high=1e100)


class Function(Protocol):
    """A scoring function. Its fields are the attributes of the estimator that has learned it.

    Attributes
    ----------
    stored : dict
        The declarations of these attributes.
    """

    stored: ClassVar[Mapping[str, Declaration]]

    def conflicts(self, n_features: int) -> Iterator[str]:
        """Yield the attributes, each as declared, that contradict each other."""


class FeatureMap(Protocol):
    """The functions that the weights of a design stand for: those of a kernel, or tables."""

    def dual_coef(self, coef: FloatArray) -> FloatArray:
        """Return the weights as a function has them."""

    def function(self, coef: FloatArray, /) -> Function:
        """Return the function of such weights."""

    def scores(self, X: FloatArray, coef: FloatArray, n_threads: int = 1) -> FloatArray:
        """Score rows by several functions, given by what `dual_coef` returns: (n_rows, n_functions)."""


@dataclass(frozen=True)
class Linear:
    """f(x) = w'x with the weights `coef_`; several functions have a row each."""

    coef_: FloatArray

    stored: ClassVar[Mapping[str, Declaration]] = {"coef_": Array(("features",), has_norm=True)}

    def scores(self, X: Any, n_threads: int = 1) -> FloatArray:
        """Return the score of each row by each function."""
        return row_scores(X, self.coef_, n_threads)

    def conflicts(self, n_features: int) -> Iterator[str]:
        """Yield nothing: there is one attribute."""
        return iter(())


@dataclass(frozen=True)
class KernelSum:
    """f(x) = sum_k a_k k(x, z_k), with the coefficients `dual_coef_` and the rows z of `basis_`.

    Of a precomputed kernel, the basis is None, and `basis_indices_` has the columns of the kernel matrix.
    """

    dual_coef_: FloatArray
    basis_: Any
    basis_indices_: NDArray[np.int64]
    _kernel_arguments: dict[str, Any]

    stored: ClassVar[Mapping[str, Declaration]] = {
        "basis_indices_": Array(("basis",), "i"),
        "dual_coef_": Array(("basis",), has_norm=True),
        "basis_": Value((np.ndarray, sp.csr_matrix, sp.csr_array, type(None))),
        "_kernel_arguments": Value((dict,)),
    }

    def scores(self, X: Any, n_threads: int = 1) -> FloatArray:
        """Return the score of each row by each function."""
        basis = self.basis_indices_ if self.basis_ is None else self.basis_
        return kernel_scores(X, basis, self.dual_coef_, n_threads=n_threads, **self._kernel_arguments)

    def conflicts(self, n_features: int) -> Iterator[str]:
        """Yield attributes that no fit leaves."""
        basis, indices = self.basis_, self.basis_indices_
        if basis is None:
            if not np.isin(indices, np.arange(n_features)).all():
                yield "basis_indices_"
        else:
            values = Array(("rows?", "columns"))
            if not values.accepts(basis.data if sp.issparse(basis) else basis, {}):
                yield "basis_"
            if basis.shape != (len(indices), n_features):
                yield "basis_"
        arguments = self._kernel_arguments
        if callable(arguments["kernel"]):
            yield "kernel"
        for name, smallest in (("gamma", 0.0), ("degree", 0.0), ("coef0", -sys.float_info.max)):
            number = Value((int, float, type(None)), smallest, sys.float_info.max)
            if not number.accepts(arguments[name], {}):
                yield name
        if "scales" in arguments and not SCALES.accepts(arguments["scales"], {"features": n_features}):
            yield "feature_scales_"


def function_of(coef: FloatArray, features: FeatureMap | None) -> Function:
    """Return the function of weights; those of the features themselves if there is no map."""
    return Linear(coef) if features is None else features.function(coef)
