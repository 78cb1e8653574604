"""Kernel function spaces.

A kernel estimator looks for ``f(x) = sum_z a_z k(x, z)`` over basis rows z and pays ``||f||^2 = a' K_ZZ a``.
`KernelMap` turns the rows into features ``phi(x)`` with ``f(x) = w' phi(x)`` and ``||f||^2 = w' w``, so that
any linear solver finds the kernel solution; `kernel_scores` then predicts from the dual coefficients a alone.
"""

from rankwise.kernels.design import KernelDesign, centred_gram, positive_factor
from rankwise.kernels.map import KernelMap
from rankwise.kernels.values import kernel_names, kernel_scores, kernel_values, resolve_gamma, scaled_rows

__all__ = [
    "KernelDesign",
    "KernelMap",
    "centred_gram",
    "kernel_names",
    "kernel_scores",
    "kernel_values",
    "positive_factor",
    "resolve_gamma",
    "scaled_rows",
]
