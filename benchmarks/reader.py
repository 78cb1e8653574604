"""Speed and memory of the svmlight reader, compared with scikit-learn's load_svmlight_file on the same files.

    python benchmarks/reader.py [--quick]
    python benchmarks/reader.py --commands      # a minute; writes a record and the table of the page

Two kinds of lines: dense ones like LETOR (25 features with eight decimals and a comment), and sparse ones
like RCV1 (about 76 words, values with all their digits). The two readers alternate on each file; the minimum
time of each is reported. Memory is the increase of the peak over the bytes of the resulting CSR matrix, in a
new process.

With --commands, what users of the shell wait for: the CPU seconds of one thread, beyond those of
`import sklearn`, of a first import and of commands on 48,000 rows of 136 features.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from rank_svm import graded_rows
from records import compact, markdown, with_block
from sklearn.datasets import load_svmlight_file
from timing import best_times, peak_memory, two_thread_calibration

from rankwise.datasets import dump_svmlight, load_svmlight, make_text_ranking

N_FEATURES = 25
RESULTS = Path(__file__).parent / "results" / "commands.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
COMMAND_ROWS, COMMAND_REPEATS = 48_000, 7
COMMANDS = {
    "import rankwise; rankwise.RankSVM": "",
    "train, svmlight": "train rows.txt -o model.json --jobs 1",
    "train, CSV": "train rows.csv -o model.json --label grade --qid query --jobs 1",
    "evaluate, svmlight": "evaluate model.json rows.txt",
    "report, svmlight": "report model.json rows.txt -o page.html",
}
# Runs in a process of its own, whose last line is the CPU seconds of a command after `import sklearn`.
COMMAND = """
import sys
from time import process_time
import sklearn
start = process_time()
if sys.argv[1:]:
    from rankwise.cli.main import main
    assert main(sys.argv[1:]) == 0
else:
    import rankwise
    rankwise.RankSVM
print(process_time() - start)
"""


def write_letor(path, n_rows):
    generator = np.random.default_rng(0)
    with open(path, "w") as file:
        for begin in range(0, n_rows, 10_000):
            X = generator.lognormal(0.0, 2.0, (min(10_000, n_rows - begin), N_FEATURES)) - 1.0
            for row, entries in enumerate(X, start=begin):
                text = " ".join(f"{index}:{value:.8f}" for index, value in enumerate(entries, start=1))
                file.write(f"{row % 3} qid:{row // 150} {text} #docid = {7919 * row % 348_566}\n")


def write_text(path, n_rows):
    X, y = make_text_ranking(n_rows, random_state=0)
    dump_svmlight(X, y, path, qid=np.arange(n_rows) // 100)


def write_graded(folder, n_rows):
    X, y, qid = graded_rows(n_rows)
    with open(folder / "rows.txt", "w") as svmlight, open(folder / "rows.csv", "w") as table:
        table.write("grade,query," + ",".join(f"f{k}" for k in range(X.shape[1])) + "\n")
        for grade, query, row in zip(y, qid, X.tolist(), strict=True):
            numbers = " ".join(f"{k}:{value:.5f}" for k, value in enumerate(row, start=1))
            svmlight.write(f"{grade} qid:{query} {numbers}\n")
            table.write(f"{grade},{query}," + ",".join(f"{value:.4f}" for value in row) + "\n")


def command_seconds(folder, command):
    """Return the CPU seconds of a command in a new process with one thread and with compiled modules."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS"), "1")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    line = [sys.executable, "-c", COMMAND, *command.split()]
    run = subprocess.run(line, check=True, capture_output=True, text=True, cwd=folder, env=environment)
    return float(run.stdout.split()[-1])


def time_commands(n_rows, repeats):
    """Print the shortest CPU seconds of each command; return them in a record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_graded(folder, n_rows)
        found = {name: [] for name in COMMANDS}
        for _ in range(1 + repeats):  # the first run compiles modules
            for name, command in COMMANDS.items():
                found[name].append(command_seconds(folder, command))
        sizes = {path: round((folder / path).stat().st_size / 1e6, 1) for path in ("rows.txt", "rows.csv")}
    best = {name: {"cpu_seconds": round(min(times[1:]), 3)} for name, times in found.items()}
    for name, record in best.items():
        print(f"{name:<36}{record['cpu_seconds']:8.3f} s")
    return {"files": {"rows": n_rows} | sizes} | best


def command_table(record):
    """Return the table of docs/benchmarks.md."""
    sizes = record["files"]
    megabytes = {"svmlight": f"{sizes['rows.txt']:.0f}", "CSV": f"{sizes['rows.csv']:.0f}"}
    times = {name: f"{entry['cpu_seconds']:.2f}" for name, entry in record.items() if name != "files"}
    rows = [[name, megabytes.get(name.rpartition(", ")[2], ""), time] for name, time in times.items()]
    return markdown(["command", "MB of text", "CPU seconds"], rows)


def csr_bytes(X):
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def memory_ratio(path, n_jobs):
    """Print the peak of one reading over the size of the matrix: run in a fresh process."""
    load_svmlight(os.devnull)
    result = []
    peak = peak_memory(lambda: result.append(load_svmlight(path, n_jobs=n_jobs)))
    print("nan" if peak is None else peak / csr_bytes(result[0].X))


def measured_memory_ratio(path, n_jobs):
    command = [sys.executable, __file__, "--memory-of", str(path), "--jobs", str(n_jobs)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(name, path, repeats):
    tasks = {
        "scikit-learn": partial(load_svmlight_file, str(path), query_id=True),
        "one thread": partial(load_svmlight, path, n_jobs=1),
        "two threads": partial(load_svmlight, path, n_jobs=2),
    }
    best = best_times(tasks, repeats)
    megabytes = path.stat().st_size / 1e6
    print(f"\n{name}: {megabytes:.0f} MB of text")
    for task, seconds in best.items():
        ratio = best["scikit-learn"] / seconds
        print(f"  {task:<13} {seconds:8.3f} s {megabytes / seconds:8.0f} MB/s {ratio:7.1f} x scikit-learn")
    for n_jobs in (1, 2):
        print(f"  memory with {n_jobs} thread(s): {measured_memory_ratio(path, n_jobs):.2f} x the CSR matrix")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller files, fewer repetitions")
    parser.add_argument("--commands", action="store_true", help="time commands, and write a record")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        return memory_ratio(options.memory_of, options.jobs)
    if options.commands:
        if options.quick:
            time_commands(COMMAND_ROWS // 20, 1)
        else:
            record = time_commands(COMMAND_ROWS, COMMAND_REPEATS)
            RESULTS.write_text(compact(record))
            PAGE.write_text(with_block(PAGE.read_text(), "commands", command_table(record)))
        return None
    repeats = 3 if options.quick else 5
    print(f"two sorts at once take {two_thread_calibration():.2f} of one after the other (0.5 is ideal)")
    with tempfile.TemporaryDirectory() as folder:
        dense, sparse = Path(folder, "letor.txt"), Path(folder, "text.txt")
        write_letor(dense, 60_000 if options.quick else 300_000)
        write_text(sparse, 30_000 if options.quick else 150_000)
        compare("dense lines, as in LETOR", dense, repeats)
        compare("sparse lines, as in RCV1", sparse, repeats)


if __name__ == "__main__":
    main()
