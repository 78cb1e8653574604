"""Threads: how many are asked for, and how many BLAS may take."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` asks for, as joblib counts them.

    A number is taken as it is where joblib is not imported: no context of it can say otherwise then.

    Examples
    --------
    >>> thread_count(1), thread_count(2)
    (1, 2)
    """
    if "joblib" not in sys.modules and (n_jobs is None or n_jobs > 0):
        return 1 if n_jobs is None else int(n_jobs)
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OneBlasThread:
    """A context in which BLAS has one thread; it ends when the last of those that entered has left.

    What is learned does then not depend on the threads that BLAS would take, whose number changes how it
    rounds, and BLAS does not spin on the cores that our own threads need. The number of threads is that of
    the whole process, so fits at the same time share one limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = thread_pools().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


one_blas_thread = OneBlasThread()


def with_one_blas_thread(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the method such that BLAS has one thread while it runs."""

    @wraps(method)
    def limited(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        with one_blas_thread:
            return method(*arguments, **options)

    return limited


@cache
def thread_pools() -> Any:
    """Find the libraries that have threads of their own, once: the search takes some milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
