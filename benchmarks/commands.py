"""The start-up time of commands, compared with a Python process that only imports numpy.

    python benchmarks/commands.py [--quick]

The commands train on and score 200 rows, so nearly all of their time is start-up. They alternate with the
reference, each in a new process with one thread. The result is the minimum CPU time (user and system). The
last two lines are a command that needs scikit-learn, and scikit-learn itself.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from rankwise.datasets import dump_svmlight

YARDSTICK = "import numpy"


def run(module, arguments):
    """Return a Python that runs a command."""
    return [sys.executable, "-m", f"rankwise.cli.{module}", *arguments.split()]


TASKS = {
    YARDSTICK: [sys.executable, "-c", YARDSTICK],
    "svm_rank_learn": run("svm_rank", "learn -c 3 rows.txt model.dat"),
    "svm_rank_classify": run("svm_rank", "classify rows.txt model.dat scores.txt"),
    "rankwise train": run("main", "train rows.txt -o model.json"),
    "rankwise predict": run("main", "predict model.json rows.txt -o scores.txt"),
    "rankwise train --scale standard": run("main", "train rows.txt -o scaled.json --scale standard"),
    "import sklearn": [sys.executable, "-c", "import sklearn"],
}


def write_rows(folder):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((200, 10))
    y = np.round(X @ generator.standard_normal(10) + generator.standard_normal(200))
    dump_svmlight(X, y, folder / "rows.txt", qid=np.arange(200) // 10)


def processor_seconds(command, folder):
    """Return the user and system time of a process and of those it starts."""
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # An installed package is compiled, and so is this one after its first run.
    environment |= {"PYTHONDONTWRITEBYTECODE": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least_times(folder, repeats):
    best = dict.fromkeys(TASKS, np.inf)
    for _ in range(repeats):
        for name, command in TASKS.items():
            best[name] = min(best[name], processor_seconds(command, folder))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    repeats = 3 if parser.parse_args().quick else 15
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder))
        best = least_times(folder, repeats)
    print(f"{'':34}{'seconds':>8}{'x numpy':>9}")
    for name, seconds in best.items():
        print(f"{name:34}{seconds:8.3f}{seconds / best[YARDSTICK]:9.2f}")


if __name__ == "__main__":
    main()
