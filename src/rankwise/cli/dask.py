"""The option --dask: files larger than memory, on the workers of a cluster."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from rankwise.cli.arguments import UsageError
from rankwise.cli.data import Data
from rankwise.cli.model_options import methods
from rankwise.cli.output import Console
from rankwise.cli.parser import common
from rankwise.distributed import from_files

LOCAL, THREADS = "local", "threads"


def add_dask_option(parser: Any) -> None:
    """Add --dask."""
    parser.add_argument(
        "--dask",
        nargs="?",
        const=LOCAL,
        metavar="ADDRESS",
        help=common(
            "keep the rows on the workers of the Dask scheduler at this address or, without an address, of a "
            "cluster on this machine; or read the files again in each round (threads). Each file is a "
            "partition; a pattern in quotes may name them"
        ),
    )


def check_dask_options(options: argparse.Namespace) -> None:
    """Refuse options that need all rows in memory."""
    if options.dask is None:
        return
    check_dask_address(options)
    if not getattr(methods().get(options.method), "takes_backends", False):
        raise UsageError(
            f"--method {options.method} needs all rows in memory and cannot be used with --dask; fit it to a "
            "sample, and score all rows by predict --dask."
        )
    if options.kernel not in (None, "linear"):
        raise UsageError("--kernel needs all rows in memory and cannot be used with --dask.")
    by_column = getattr(options, "scale", None) in ("standard", "minmax", "maxabs")
    if by_column and getattr(options, "valid", None):
        raise UsageError("--scale and --valid cannot be used together with --dask; leave one of them out.")
    if options.sep is not None:
        raise UsageError("--sep cannot be used with --dask; a semicolon is found by the header.")


def check_dask_address(options: argparse.Namespace) -> None:
    """Refuse a file in the place of the address of a scheduler."""
    if os.path.exists(options.dask):
        raise UsageError(
            f"--dask takes an address, but {options.dask!r} is a file; name the files before --dask."
        )


@contextmanager
def dask_client(options: argparse.Namespace, console: Console | None = None) -> Iterator[None]:
    """Connect to the scheduler of the options, or start one; print the address of its dashboard."""
    if options.dask in (None, THREADS):
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError("--dask needs Dask: pip install 'rankwise[dask]'.") from None
    if options.dask != LOCAL:
        with Client(options.dask, timeout="30s") as client:
            print_dashboard(client, console)
            yield
        return
    jobs = getattr(options, "jobs", None)
    workers = None if jobs == -1 else jobs or 1
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        print_dashboard(client, console)
        yield


def has_dashboard() -> bool:
    """Return whether the package is installed that draws Dask's dashboard."""
    return find_spec("bokeh") is not None


def print_dashboard(client: Any, console: Console | None) -> None:
    """Print the address of the dashboard, if there is one."""
    if console is None or not has_dashboard():
        return
    try:
        link = client.dashboard_link
    except KeyError:  # a scheduler without a dashboard
        return
    if link:
        console.note(f"dashboard of Dask: {link}")


def read_partitions(options: argparse.Namespace) -> Data:
    """Read labels and queries; the rows stay in files or on the workers."""
    read = from_files(
        options.data,
        n_features=options.n_features,
        zero_based=options.zero_based,
        label=options.label or "label",
        qid=options.qid,
        features=options.features,
        exclude=options.exclude or (),
        categorical=options.categorical or (),
    )
    return Data(read.X, read.y, read.qid, read.X.feature_names, kinds=read.kinds)
