"""Function spaces: kernels, their maps, and the curves of additive models.

A kernel estimator looks for ``f(x) = sum_z a_z k(x, z)`` over basis rows z and pays ``||f||^2 = a' K_ZZ a``.
`KernelMap` turns the rows into features ``phi(x)`` with ``f(x) = w' phi(x)`` and ``||f||^2 = w' w``, so that
any linear solver finds the kernel solution; `kernel_scores` then predicts from the dual coefficients a alone.
"""
