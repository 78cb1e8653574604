"""The number of threads of this library and of BLAS."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import OpenBLASController, ThreadpoolController

from rankwise.core.time_limit import check_time

Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")
Result = TypeVar("Result")

_IMPORTED_IN = os.getpid()
# Allows other threads to limit OpenBLAS: threadpoolctl 3.8 ignores all but the first that did.
RELEASE_BLAS: Callable[[], object] = getattr(OpenBLASController, "clear_controlling_thread", bool)


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`, with the meaning of joblib.

    A positive number is returned unchanged if joblib is not imported, as no context of joblib is then active.

    Examples
    --------
    >>> thread_count(1), thread_count(2)
    (1, 2)
    """
    if "joblib" not in sys.modules and (n_jobs is None or n_jobs > 0):
        return 1 if n_jobs is None else int(n_jobs)
    from multiprocessing import current_process

    # In a daemon, such as a worker of Dask, joblib returns 1 with a warning about processes.
    return 1 if current_process().daemon else int(effective_n_jobs(n_jobs))


def openmp_threads(n_jobs: int | None) -> int:
    """Return the number of threads for a library with OpenMP: at most one per core, one in a forked process.

    None stands for one per core, or the number in the variable OMP_NUM_THREADS, as in these libraries. OpenMP
    ends the process if it cannot start as many threads as a file of a model may name.

    GNU's OpenMP keeps its threads for the next parallel region. They do not survive a fork, and the new
    process would wait for them without limit.
    """
    if is_forked():
        return 1
    given = os.environ.get("OMP_NUM_THREADS", "")
    most = int(given) if n_jobs is None and given.isdecimal() and int(given) else available_cores()
    return min(thread_count(-1 if n_jobs is None else n_jobs), most, available_cores())


def is_forked() -> bool:
    """Return whether this process was forked after the package was imported."""
    return os.getpid() != _IMPORTED_IN


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OneBlasThread:
    """A context in which BLAS has one thread, until the last thread has left it.

    Results then do not depend on the number of BLAS threads, which affects rounding, and BLAS does not
    compete with our own threads for cores. The limit is one of the process, shared by concurrent fits.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = thread_pools().limit(limits=1, user_api="blas")
                RELEASE_BLAS()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()
                RELEASE_BLAS()


one_blas_thread = OneBlasThread()


def with_one_blas_thread(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a method such that BLAS has one thread while it runs."""

    @wraps(method)
    def limited(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        with one_blas_thread:
            return method(*arguments, **options)

    return limited


@cache
def thread_pools() -> Any:
    """Return the controller of thread pools, found once, as the search takes milliseconds."""
    return ThreadpoolController()


def in_order(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Yield the results in order, n_threads at a time."""
    if n_threads == 1:
        for item in items:
            check_time()
            yield work(item)
        return
    waiting = list(items)
    with ThreadPoolExecutor(n_threads) as threads:
        for start in range(0, len(waiting), n_threads):
            check_time()
            yield from threads.map(work, waiting[start : start + n_threads])
