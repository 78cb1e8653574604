"""Timing on noisy machines: tasks alternate, and the minimum time of each is reported."""

import threading
from time import perf_counter

import numpy as np


def best_times(tasks, repeats=9, clock=perf_counter):
    """Return the minimum time of each task by a clock; the tasks alternate."""
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            start = clock()
            task()
            best[name] = min(best[name], clock() - start)
    return best


def two_thread_calibration(repeats=9):
    """Time two parallel sorts relative to two sequential ones: 0.5 if both cores are idle."""
    arrays = np.random.default_rng(0).random((2, 500_000))

    def both():
        threads = [threading.Thread(target=np.sort, args=(a,)) for a in arrays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    best = best_times({"one": lambda: [np.sort(a) for a in arrays], "two": both}, repeats)
    return best["two"] / best["one"]


def peak_memory(task):
    """Return the bytes by which `task` raised the peak of the process, or None where it cannot be read."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = memory_status("VmRSS")
        task()
        return memory_status("VmHWM") - before
    except OSError:
        return None


def memory_status(field):
    """Return a field of the process's memory status, such as VmRSS or VmHWM, in bytes."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return 1024 * int(line.split()[1])
    raise OSError(field)
