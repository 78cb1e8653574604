"""A fit of rows on disk: memory, passes over the rows, and time compared with a plain read of the file.

    python benchmarks/from_disk.py --rows 100000000 --folder /disk      # 8 GB of Parquet; 30 GB of disk
    python benchmarks/from_disk.py --rows 10000000 --queries            # queries of about 100 rows
    python benchmarks/from_disk.py --rows 10000000 --cold               # no page of the rows stays in memory
    python benchmarks/from_disk.py --rows 20000000 --queries --group 7e8  # as root: pages of files count, too
    python benchmarks/from_disk.py --learn='--loss squared-hinge'       # or '--method rank-logistic', ...
    python benchmarks/from_disk.py --quick                              # 300,000 rows, in both forms

A Parquet file with rows of 20 features in float32 is generated, and `rankwise train --stream` learns from it
in a separate process, which is limited to --limit bytes of private memory (RLIMIT_DATA). The results are the
peak of its anonymous memory, and the number and speed of its passes over the rows. With
--write the figures go to benchmarks/results/from_disk.json, and --draw puts the table into
docs/benchmarks.md.
"""

import argparse
import contextlib
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
PAGE = HERE.parent / "docs" / "benchmarks.md"
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
    """Drop the cached pages of a file."""
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def seconds_of_read(file, n_bytes=None):
    """Time a plain read of a file from end to end, or of its first bytes."""
    room, start, done = memoryview(bytearray(BLOCK)), perf_counter(), 0
    while done != n_bytes and (n := os.preadv(file, [room[: n_bytes and n_bytes - done]], done)):
        done += n
    return perf_counter() - start


def seconds_of_table(path, cold):
    """Time a plain read of the table."""
    with open(path, "rb", buffering=0) as file:
        if cold:
            forget(file.fileno())
        return seconds_of_read(file.fileno())


class Passes:
    """Counts and times the passes over all rows of a design, and a plain read of the same bytes."""

    n_rows = 0

    def __init__(self, cold):
        self.cold, self.seconds, self.seconds_read = cold, [], []

    def watch(self, owner, name):
        task = getattr(owner, name)

        def timed(design, vector):
            if design.X.shape[0] < self.n_rows:  # a sample
                return task(design, vector)
            file, size = self.ready(design.X), design.X.nbytes
            self.seconds_read.append(seconds_of_read(file, size))
            self.ready(design.X)
            start = perf_counter()
            try:
                return task(design, vector)
            finally:
                self.seconds.append(perf_counter() - start)

        setattr(owner, name, timed)

    def ready(self, X):
        """Return the file of a memory map, which has no name; of cold rows, drop the pages."""
        import mmap

        while not isinstance(X, mmap.mmap):
            X = X.base
        file = next(number for number in open_files() if os.fstat(number).st_size == len(X))
        if self.cold:
            X.madvise(mmap.MADV_DONTNEED)
            forget(file)
        return file


def open_files():
    """Yield the numbers of the files that this process has open."""
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.fstat(int(entry))
            yield int(entry)


def readahead_of(folder):
    """Return the read-ahead in bytes of the system for files of a folder, if known."""
    device = os.stat(folder).st_dev
    told = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
    return 1024 * int(told.read_text()) if told.exists() else None


@contextlib.contextmanager
def memory_group(limit):
    """Make a group of processes with a limit of memory, pages of files included; yield its folder."""
    root = Path("/sys/fs/cgroup")
    new = (root / "cgroup.controllers").exists()
    group = (root if new else root / "memory") / f"rankwise-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.max" if new else "memory.limit_in_bytes")).write_text(str(int(limit)))
        yield group
    finally:
        group.rmdir()


class Memory:
    """Records the peak of the anonymous memory of this process per phase, sampled 100 times per second."""

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
    """Train in this process, within its limit, and print memory, passes and time."""
    from rankwise.cli import stream
    from rankwise.cli.main import main as rankwise
    from rankwise.data.design import DenseDesign

    passes, folder = Passes(options.cold), Path(options.folder)
    passes.n_rows = options.rows
    if options.join:
        Path(options.join, "cgroup.procs").write_text(str(os.getpid()))
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
    watched = {"seconds_passes": passes.seconds, "seconds_reads": passes.seconds_read}
    print(json.dumps(memory.end() | watched))
    return code


def measured(options):
    """Generate, read, train; return the figures."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder))
        group = stack.enter_context(memory_group(options.group)) if options.group else ""
        table = Path(folder, "rows.parquet")
        write_table(table, options.rows, options.queries)
        reading = min(seconds_of_table(table, options.cold) for _ in range(2))
        given = ["--train", "--rows", options.rows, "--folder", folder, "--limit", options.limit]
        given += ["--alpha", options.alpha, "--tol", options.tol, "--jobs", options.jobs]
        given += [f"--learn={options.learn}", f"--join={group}"]
        given += ["--queries"] * options.queries + ["--cold"] * options.cold
        ended = subprocess.run(
            [sys.executable, __file__, *map(str, given)], stdout=subprocess.PIPE, text=True, check=False
        )
        if ended.returncode:
            raise SystemExit(f"The training ended with code {ended.returncode}.")
        learned, watched = map(json.loads, ended.stdout.strip().splitlines()[-2:])
        size = table.stat().st_size
    per_pass, per_read = min(watched["seconds_passes"]), min(watched["seconds_reads"])
    return {
        "rows": options.rows,
        "form": "queries of 100" if options.queries else "one ranking",
        "cold": options.cold,
        "bytes_ahead": readahead_of(options.folder),
        "bytes_group": options.group,
        "bytes_file": size,
        "bytes_base": watched["base"],
        "bytes_decode": watched["decode"],
        "bytes_fit": watched["fit"],
        "pairs": learned["pairs"],
        "objective": learned["objective"],
        "gap": learned["gap"],
        "converged": learned["converged"],
        "passes": len(watched["seconds_passes"])
        + 2,  # for the ranges of the columns, and for the sample to begin with
        "iterations": learned["iterations"],
        "seconds_fit": round(learned["seconds"], 1),
        "seconds_decode": round(learned["seconds_reading"], 1),
        "seconds_read": round(reading, 2),
        "seconds_pass": round(per_pass, 3),
        "pass_to_read": round(per_read / per_pass, 2),
        "threads": options.jobs,
        "load": round(os.getloadavg()[0], 1),
        "date": datetime.date.today().isoformat(),
    }


def told(result):
    for name, value in result.items():
        print(f"{name:<16}{value:,}" if isinstance(value, int) else f"{name:<16}{value}")
    print(flush=True)


def form_of(r):
    """Return the form of the rows and the restrictions of the run."""
    form = r["form"]
    if r["cold"]:
        form += f", no page kept, {r['bytes_ahead'] // 1024:,} KB read ahead"
    return (
        form + f", {r['bytes_group'] / 1e9:.2g} GB with all pages of files" if r.get("bytes_group") else form
    )


def table_of(results):
    """Return the table of the page."""
    lines = [
        "| rows from disk | form | file | memory of its own | passes | decoding | fit | plain read "
        "| speed of a pass | load |",
        "|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in results:
        size, peak = r["bytes_file"] / 1e9, max(r["bytes_decode"], r["bytes_fit"]) / 1e9
        form = form_of(r)
        memory = f"{peak:.2g} GB, of the fit {(r['bytes_fit'] - r['bytes_base']) / r['rows']:.0f} bytes a row"
        seconds = " | ".join(f"{r['seconds_' + name]:.3g} s" for name in ("decode", "fit", "read"))
        cells = f"{r['rows']:,}", form, f"{size:.2g} GB", memory, r["passes"], seconds
        cells += r.get("pass_to_read", ""), f"{r['load']:.0f}"
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def draw(results):
    """Put the table into the page, in place of the one that is there."""
    page, table = PAGE.read_text(encoding="utf-8"), table_of(results)
    begin = re.escape("| rows from disk |")
    page, n_tables = re.subn(begin + r".*?\n(?=\n|\Z)", lambda _: table + "\n", page, flags=re.DOTALL)
    assert n_tables == 1, "the page has no such table, or several"
    PAGE.write_text(page, encoding="utf-8")


def keep(result):
    """Write a result in place of the one of the same rows and form."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []

    def case(r):
        ahead = r.get("bytes_ahead") or 0
        return r["rows"], r["form"], r["cold"], ahead if r["cold"] else 0, r.get("bytes_group") or 0

    known = sorted([r for r in known if case(r) != case(result)] + [result], key=case)
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
    parser.add_argument(
        "--group", type=float, help="bytes of memory with all pages of files (cgroup; as root)"
    )
    parser.add_argument("--join", default="", help=argparse.SUPPRESS)
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
