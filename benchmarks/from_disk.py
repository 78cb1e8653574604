"""A fit of rows that are on disk: memory, passes over the rows, and seconds beside a plain read of the file.

    python benchmarks/from_disk.py --rows 100000000 --folder /disk      # 8 GB of Parquet; 30 GB of disk
    python benchmarks/from_disk.py --rows 10000000 --queries            # queries of about 100 rows
    python benchmarks/from_disk.py --rows 10000000 --cold               # no page of the rows stays in memory
    python benchmarks/from_disk.py --learn='--loss squared-hinge'       # or '--method rank-logistic', ...
    python benchmarks/from_disk.py --quick                              # 300,000 rows, in both forms

Rows of 20 features in float32 are generated into a Parquet file, and `rankwise train --stream` learns from it
in a process of its own, which may hold --limit bytes of memory of its own and not a byte more (RLIMIT_DATA).
Beside the peak of its anonymous memory it tells how often the rows were gone through, and how fast. With
--write the figures go to benchmarks/results/from_disk.json, and --draw puts the table into
docs/how_much_data.md.
"""

import argparse
import datetime
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "from_disk.json"
PAGE = HERE.parent / "docs" / "how_much_data.md"
N_FEATURES, ROWS_OF_QUERY, GROUP_ROWS, BLOCK = 20, 100, 1 << 20, 1 << 23
QUICK_ROWS = 300_000


def write_table(path, n_rows, queries):
    """Generate rows whose label is a linear score plus as much noise; grades from -2 to 2 with queries."""
    import pyarrow as pa
    from pyarrow import parquet

    generator = np.random.default_rng(0)
    weights = generator.standard_normal(N_FEATURES)
    names = [f"f{k:02}" for k in range(N_FEATURES)]
    fields = [(name, pa.float32()) for name in names] + [("label", pa.float64())]
    fields += [("query", pa.int64())] if queries else []
    with parquet.ParquetWriter(path, pa.schema(fields), compression="none", use_dictionary=False) as file:
        for begin in range(0, n_rows, GROUP_ROWS):
            m = min(GROUP_ROWS, n_rows - begin)
            X = generator.standard_normal((N_FEATURES, m), dtype=np.float32)
            label = weights @ X / np.linalg.norm(weights) + generator.standard_normal(m)
            columns = [*X, np.clip(np.round(label), -2, 2) if queries else label]
            columns += [np.arange(begin, begin + m) // ROWS_OF_QUERY] if queries else []
            file.write_table(pa.table(columns, schema=pa.schema(fields)))


def forget(file):
    """Have the system drop the pages of a file that it keeps in memory."""
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def seconds_of_read(path, cold):
    """Time a plain read of a file from end to end."""
    with open(path, "rb", buffering=0) as file:
        if cold:
            forget(file.fileno())
        room, start = bytearray(BLOCK), perf_counter()
        while file.readinto(room):
            pass
        return perf_counter() - start


class Passes:
    """Counts and times what goes through all rows of a design."""

    def __init__(self, cold):
        self.cold, self.count, self.seconds = cold, 0, 0.0

    def watch(self, owner, name):
        task = getattr(owner, name)

        def timed(design, vector):
            if design.X.shape[0] < self.n_rows:  # a sample
                return task(design, vector)
            if self.cold:
                self.drop(design.X)
            start = perf_counter()
            try:
                return task(design, vector)
            finally:
                self.count, self.seconds = self.count + 1, self.seconds + perf_counter() - start

        setattr(owner, name, timed)

    n_rows = 0

    def drop(self, X):
        """Drop the pages of a memory map, whose file has no name."""
        import mmap

        while not isinstance(X, mmap.mmap):
            X = X.base
        X.madvise(mmap.MADV_DONTNEED)
        for entry in os.listdir("/proc/self/fd"):
            try:
                if os.fstat(int(entry)).st_size == len(X):
                    forget(int(entry))
            except OSError:
                continue


class Memory:
    """Takes the highest of the anonymous memory of this process in each phase, a hundred times a second."""

    def __init__(self):
        self.phase, self.peak, self._ended = "base", {}, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        while not self._ended.wait(0.01):
            with open("/proc/self/status") as file:
                kilobytes = next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))
            self.peak[self.phase] = max(self.peak.get(self.phase, 0), 1024 * kilobytes)

    def within(self, phase, after, task):
        """Return a task that is a phase of its own."""

        def watched(*arguments):
            self.phase = phase
            found = task(*arguments)
            self.phase = after
            return found

        return watched

    def end(self):
        self._ended.set()
        self._thread.join()
        return self.peak


def train(options):
    """Train in this process, within its limit, and print what it took."""
    from rankwise.cli import stream
    from rankwise.cli.main import main as rankwise
    from rankwise.design import DenseDesign

    passes, folder = Passes(options.cold), Path(options.folder)
    passes.n_rows = options.rows
    for name in ("_matvec", "_rmatvec", "weighted_squares"):
        passes.watch(DenseDesign, name)
    resource.setrlimit(resource.RLIMIT_DATA, (int(options.limit), int(options.limit)))
    memory = Memory()
    sleep(0.1)
    stream.read_stream = memory.within("decode", "fit", stream.read_stream)
    arguments = [
        "--alpha",
        str(options.alpha),
        "--tol",
        str(options.tol),
        "--jobs",
        str(options.jobs),
        "--json",
    ]
    arguments += ["--qid", "query"] * options.queries + options.learn.split()
    table, model = str(folder / "rows.parquet"), str(folder / "model.json")
    sys.stdout.flush()
    code = rankwise(["train", table, "-o", model, "--label", "label", "--stream", *arguments])
    print(json.dumps(memory.end() | {"passes": passes.count, "seconds_passes": passes.seconds}))
    return code


def measured(options):
    """Generate, read, train; return the figures."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        table = Path(folder, "rows.parquet")
        write_table(table, options.rows, options.queries)
        reading = min(seconds_of_read(table, options.cold) for _ in range(2))
        given = ["--train", "--rows", options.rows, "--folder", folder, "--limit", options.limit]
        given += ["--alpha", options.alpha, "--tol", options.tol, "--jobs", options.jobs]
        given += [f"--learn={options.learn}"]
        given += ["--queries"] * options.queries + ["--cold"] * options.cold
        ended = subprocess.run(
            [sys.executable, __file__, *map(str, given)], stdout=subprocess.PIPE, text=True, check=False
        )
        if ended.returncode:
            raise SystemExit(f"The training ended with code {ended.returncode}.")
        learned, watched = map(json.loads, ended.stdout.strip().splitlines()[-2:])
        size = table.stat().st_size
    rows_bytes = 4 * N_FEATURES * options.rows
    per_pass = watched["seconds_passes"] / watched["passes"]
    return {
        "rows": options.rows,
        "form": "queries of 100" if options.queries else "one ranking",
        "cold": options.cold,
        "bytes_file": size,
        "bytes_base": watched["base"],
        "bytes_decode": watched["decode"],
        "bytes_fit": watched["fit"],
        "pairs": learned["pairs"],
        "objective": learned["objective"],
        "gap": learned["gap"],
        "converged": learned["converged"],
        "passes": watched["passes"] + 2,  # for the ranges of the columns, and for the sample to begin with
        "iterations": learned["iterations"],
        "seconds_fit": round(learned["seconds"], 1),
        "seconds_decode": round(learned["seconds_reading"], 1),
        "seconds_read": round(reading, 2),
        "seconds_pass": round(per_pass, 3),
        "speed_of_pass": round((rows_bytes / per_pass) / (size / reading), 2),
        "threads": options.jobs,
        "load": round(os.getloadavg()[0], 1),
        "date": datetime.date.today().isoformat(),
    }


def told(result):
    for name, value in result.items():
        print(f"{name:<16}{value:,}" if isinstance(value, int) else f"{name:<16}{value}")
    print(flush=True)


def table_of(results):
    """Return the table of the page."""
    lines = [
        "| rows from disk | form | file | memory of its own | passes | decoding | fit | plain read | load |",
        "|--:|:--|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in results:
        size, peak = r["bytes_file"] / 1e9, max(r["bytes_decode"], r["bytes_fit"]) / 1e9
        form = r["form"] + (", no page kept" if r["cold"] else "")
        memory = f"{peak:.2g} GB, of the fit {(r['bytes_fit'] - r['bytes_base']) / r['rows']:.0f} bytes a row"
        seconds = " | ".join(f"{r['seconds_' + name]:.3g} s" for name in ("decode", "fit", "read"))
        cells = f"{r['rows']:,}", form, f"{size:.2g} GB", memory, r["passes"], seconds, f"{r['load']:.0f}"
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def draw(results):
    """Put the table into the page, in place of the one that is there."""
    page, table = PAGE.read_text(encoding="utf-8"), table_of(results)
    begin = re.escape(table.partition("\n")[0])
    page, n_tables = re.subn(begin + r".*?\n(?=\n|\Z)", lambda _: table + "\n", page, flags=re.DOTALL)
    assert n_tables == 1, "the page has no such table, or several"
    PAGE.write_text(page, encoding="utf-8")


def keep(result):
    """Write a result in place of the one of the same rows and form."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    case = ("rows", "form", "cold")
    known = [r for r in known if any(r[name] != result[name] for name in case)]
    known = sorted([*known, result], key=lambda r: [r[name] for name in case])
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--queries", action="store_true", help="queries of 100 rows, not one ranking")
    parser.add_argument("--cold", action="store_true", help="drop the pages of the rows before each pass")
    parser.add_argument("--folder", default=".", help="where files go that may be large")
    parser.add_argument("--limit", type=float, default=6e9, help="bytes of memory of its own")
    parser.add_argument("--alpha", type=float, default=1e-3)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--learn", default="", help="more options of `rankwise train`, as one word")
    parser.add_argument("--write", action="store_true", help="keep the figures")
    parser.add_argument(
        "--draw", action="store_true", help="write the table of the page from the figures kept"
    )
    parser.add_argument("--quick", action="store_true", help="few rows, and nothing is written")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.train:
        sys.exit(train(options))
    if options.draw:
        draw(json.loads(RESULTS.read_text(encoding="utf-8")))
        return
    if options.quick:
        for queries in (False, True):
            told(measured(argparse.Namespace(**vars(options) | {"rows": QUICK_ROWS, "queries": queries})))
        return
    result = measured(options)
    told(result)
    if options.write:
        keep(result)


if __name__ == "__main__":
    main()
