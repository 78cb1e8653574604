"""`rankwise train --dask`: files larger than memory."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankwise.cli.arguments import UsageError
from rankwise.cli.data import Data

LOCAL, THREADS = "local", "threads"


def add_dask_option(parser: Any) -> None:
    """Add --dask."""
    parser.add_argument(
        "--dask",
        nargs="?",
        const=LOCAL,
        metavar="ADDRESS",
        help="keep the rows on the workers of a Dask scheduler at this address or of a cluster on this "
        "machine (without an address), or read them again in each round (threads); files may be given by a "
        "pattern in quotes, and each is a partition",
    )


def check_dask_options(options: argparse.Namespace) -> None:
    """Refuse options that need all rows in memory."""
    if options.dask is None:
        return
    if os.path.exists(options.dask):
        raise UsageError(
            f"--dask takes an address, but {options.dask!r} is a file; name the files before --dask."
        )
    if options.method not in ("rank-svm", "rank-logistic", "rank-rls"):
        raise UsageError(
            f"--method {options.method} needs all rows in memory and cannot be used with --dask."
        )
    if options.scale not in ("auto", "none") or options.kernel not in (None, "linear"):
        raise UsageError("--scale and --kernel need all rows in memory and cannot be used with --dask.")
    if options.sep is not None:
        raise UsageError("--sep cannot be used with --dask; a semicolon is found by the header.")
    if options.features is not None:
        raise UsageError(
            "--features cannot be used with --dask, for which all columns but label and query are features."
        )


@contextmanager
def dask_client(options: argparse.Namespace) -> Iterator[None]:
    """Connect to the scheduler of the options, or start one."""
    if options.dask in (None, THREADS):
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError("--dask needs Dask: pip install 'rankwise[dask]'.") from None
    if options.dask != LOCAL:
        with Client(options.dask, timeout="30s"):
            yield
        return
    workers = None if options.jobs in (None, -1) else options.jobs
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        yield


def read_partitions(options: argparse.Namespace) -> Data:
    """Read labels and queries; the rows stay in files or on the workers."""
    from rankwise.distributed import from_files

    columns = {"label": options.label or "label", "qid": options.qid}
    read = from_files(options.data, n_features=options.n_features, zero_based=options.zero_based, **columns)
    return Data(read.X, read.y, read.qid, read.X.feature_names)
