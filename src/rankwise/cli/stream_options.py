"""The option --stream of `rankwise train`, without what it takes to read."""

from __future__ import annotations

import argparse
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankwise.cli.arguments import UsageError
from rankwise.cli.data import is_table


def add_stream_option(parser: Any) -> None:
    """Add --stream."""
    parser.add_argument(
        "--stream",
        nargs="?",
        const="float32",
        choices=("float32", "float64"),
        help="for tables that are larger than memory: put the features into a nameless file beside the "
        "model, as float32 (by default) or float64, and read them from there in each pass; other large "
        "arrays are in such files, too",
    )


def folder_of(options: argparse.Namespace) -> str:
    """Return the folder of the model, where there is room for large files."""
    return os.path.dirname(os.path.abspath(options.output))


@contextmanager
def arrays_of_stream(options: argparse.Namespace) -> Iterator[None]:
    """Have large arrays in files beside the model; that numbers are finite is seen as they are read."""
    if options.stream is None:
        yield
        return
    from sklearn import config_context

    from rankwise.data.on_disk import arrays_on_disk

    folder = folder_of(options)
    with arrays_on_disk(folder), room_watched(folder), config_context(assume_finite=True):
        yield


@contextmanager
def room_watched(folder: str) -> Iterator[None]:
    """Say where there was no room for a file, or for an array that is in one."""
    try:
        yield
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOSPC:
            raise
        where = "on the disk" if isinstance(error, OSError) else "on the disk or in memory"
        free = shutil.disk_usage(folder).free / 1e6
        raise OSError(
            f"There is no room {where}: --stream keeps the features and some 100 bytes a row in files in "
            f"{folder!r}, which has {free:,.0f} MB left; -o names a model in another folder."
        ) from error


def check_stream_options(options: argparse.Namespace) -> None:
    """Refuse what needs all rows in memory."""
    if options.stream is None:
        return
    if options.dask is not None:
        raise UsageError("--stream is for one machine and does not go with --dask.")
    if not is_table(options.data[0]):
        raise UsageError("--stream reads tables (CSV, Parquet); for svmlight files there is --dask threads.")
    if options.method not in ("rank-svm", "rank-logistic", "rank-rls"):
        raise UsageError(f"--method {options.method} needs all rows in memory and does not go with --stream.")
    if options.tune or options.kernel not in (None, "linear") or options.scale.startswith("query-"):
        raise UsageError(
            "--tune, --kernel and --scale query-... need all rows in memory and do not go with --stream."
        )
