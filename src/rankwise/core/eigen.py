"""Eigendecompositions that Ctrl-C ends.

A decomposition of many rows takes minutes, and scipy holds Python's lock for all of it, so that no signal is
heard. The same routine of scipy's own LAPACK, called by its address, leaves the lock alone: it runs in a
thread of its own while this one listens. The numbers are those of `scipy.linalg.eigh`, to the last bit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from threading import Event, Thread, current_thread, main_thread
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_lapack
from scipy.linalg import eigh as scipy_eigh

from rankwise.core.types import FloatArray

# Fewer rows take less than a second.
LARGE = 1500
SECONDS_BETWEEN_LOOKS = 0.1


def eigh(matrix: FloatArray, driver: str | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the rising eigenvalues and the vectors of a symmetric matrix, which is overwritten.

    Parameters
    ----------
    matrix : array of shape (n, n), in Fortran order
    driver : "evd", or None for scipy's default, "evr"

    Examples
    --------
    >>> eigh(np.diag([3.0, 1.0]))[0]
    array([1., 3.])
    """
    address = _address("dsyevd" if driver == "evd" else "dsyevr")
    listens = current_thread() is main_thread() and len(matrix) >= LARGE
    if not listens or address is None or not matrix.flags.f_contiguous:
        return scipy_eigh(matrix, overwrite_a=True, check_finite=False, driver=driver)
    by_address = _divide_and_conquer if driver == "evd" else _robust
    return interruptible(lambda: by_address(address, matrix))


def interruptible(call: Callable[[], Any]) -> Any:
    """Return what a call returns; an interruption ends the wait, and the call ends by itself."""
    done = Event()
    found: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            found.append((call(), None))
        except BaseException as error:
            found.append((None, error))
        finally:
            done.set()

    Thread(target=run, daemon=True).start()
    while not done.wait(SECONDS_BETWEEN_LOOKS):  # a signal is heard between two looks
        pass
    result, error = found[0]
    if error is not None:
        raise error
    return result


@cache
def _address(name: str) -> int | None:
    """Return where a routine of scipy's LAPACK is, or None where it has another kind of integers."""
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    return api.PyCapsule_GetPointer(capsule, signature) if b"int *" in signature else None


def _robust(address: int, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Call dsyevr, which leaves the vectors in an array of their own."""
    n = len(matrix)
    values, vectors, support = np.empty(n), np.empty((n, n), order="F"), np.empty(2 * n, np.int32)
    bounds = [0.0, 0.0, 1, n, 0.0, 0]  # all of them, and how many were found

    def arguments(work: Any, n_work: int, integers: Any, n_integers: int) -> list[Any]:
        given = [b"V", b"A", b"L", n, matrix, n, *bounds, values, vectors, n, support]
        return [*given, work, n_work, integers, n_integers]

    _called(address, arguments)
    return values, vectors


def _divide_and_conquer(address: int, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Call dsyevd, which leaves the vectors in place of the matrix."""
    n, values = len(matrix), np.empty(len(matrix))

    def arguments(work: Any, n_work: int, integers: Any, n_integers: int) -> list[Any]:
        return [b"V", b"L", n, matrix, n, values, work, n_work, integers, n_integers]

    _called(address, arguments)
    return values, matrix


def _called(address: int, arguments: Callable[..., list[Any]]) -> None:
    """Ask for the room that a routine needs, then call it."""
    work, integers = np.empty(1), np.empty(1, np.int32)
    _call(address, arguments(work, -1, integers, -1))
    work, integers = np.empty(int(work[0])), np.empty(int(integers[0]), np.int32)
    problem = _call(address, arguments(work, len(work), integers, len(integers)))
    if problem:
        raise LinAlgError(f"The eigenvalues of a matrix could not be found (LAPACK says {problem}).")


def _call(address: int, arguments: list[Any]) -> int:
    """Call a routine with pointers to all arguments and to a number that tells of problems, and return it."""
    kinds = {bytes: ctypes.c_char, int: ctypes.c_int, float: ctypes.c_double}
    problem = ctypes.c_int(0)
    kept: list[Any] = [
        value if isinstance(value, np.ndarray) else kinds[type(value)](value) for value in arguments
    ]
    pointers = [
        value.ctypes.data if isinstance(value, np.ndarray) else ctypes.addressof(value)
        for value in [*kept, problem]
    ]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(address)(*pointers)
    return problem.value
