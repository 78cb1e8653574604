"""Run a function in a process of its own: its peak memory is its own, and a time limit can end it."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time

from timing import memory_status

BENCHMARKS = Path(__file__).resolve().parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
REASONS = {
    "ModuleNotFoundError": "not installed",
    "MemoryError": "memory limit",
    "bad_alloc": "memory limit",
    "killed": "memory limit",
}


def run(function, arguments, time_limit=600, threads=2, processor_limit=None, memory_limit=None):
    """Call "module:function" with keyword arguments; give its result, or {"status": why there is none}.

    `time_limit` is on the clock; `processor_limit` counts the seconds of the processor, which other work on
    the machine does not use up; `memory_limit` is in bytes.
    """
    environment = os.environ | dict.fromkeys(THREADS, str(threads))
    environment["RANKWISE_LIMITS"] = json.dumps({"RLIMIT_CPU": processor_limit, "RLIMIT_AS": memory_limit})
    paths = [str(BENCHMARKS), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    environment["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that wait do not burn the other processes' cores
    command = [sys.executable, "-m", "reproduce.isolated", function, json.dumps(arguments)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=time_limit, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"status": "time limit"}
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        return {"status": "time limit"}
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return {
            "status": next(
                (words for part, words in REASONS.items() if part in reason), f"failed: {reason}"[:120]
            )
        }
    return {"status": "done"} | json.loads(done.stdout.splitlines()[-1])


def timed(task):
    """Call and give the result, the seconds and, where the system tells, the bytes by which memory grew."""
    forget_peak()
    before, start, used = memory("VmRSS"), perf_counter(), process_time()
    result = task()
    cost = {"seconds": perf_counter() - start, "processor_seconds": process_time() - used}
    peak = memory("VmHWM")
    return result, cost | {"memory": None if peak is None else peak - before}


def forget_peak():
    """Let the peak begin anew, and give back what was freed before, or a task would grow into that unseen."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except (OSError, AttributeError):
        pass


def keep_limits():
    """Let this process end, and not the machine, when it asks for more than it may."""
    for name, allowed in json.loads(os.environ.get("RANKWISE_LIMITS", "{}")).items():
        if allowed:
            import resource

            resource.setrlimit(getattr(resource, name), (int(allowed), int(allowed) + 1))


def memory(field):
    try:
        return memory_status(field)
    except OSError:
        return None


if __name__ == "__main__":
    keep_limits()
    module, name = sys.argv[1].split(":")
    print("\n" + json.dumps(getattr(import_module(module), name)(**json.loads(sys.argv[2]))))
