"""The option --stream of `rankwise train`, without the imports of reading."""

from __future__ import annotations

import argparse
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankwise.cli.arguments import UsageError
from rankwise.io.table_readers import is_table


def add_stream_option(parser: Any) -> None:
    """Add --stream."""
    parser.add_argument(
        "--stream",
        nargs="?",
        const="float32",
        choices=("float32", "float64"),
        help="for tables larger than memory: write the features to an unnamed file beside the model, as "
        "float32 (default) or float64, and read them from there in each pass; other large arrays are in such "
        "files, too",
    )


def folder_of(options: argparse.Namespace) -> str:
    """Return the folder of the model, which is used for large files."""
    return os.path.dirname(os.path.abspath(options.output))


@contextmanager
def arrays_of_stream(options: argparse.Namespace) -> Iterator[None]:
    """Keep large arrays in files beside the model; numbers are checked to be finite on reading."""
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
    """Explain errors of a full disk."""
    try:
        yield
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOSPC:
            raise
        where = "on the disk" if isinstance(error, OSError) else "on the disk or in memory"
        free = shutil.disk_usage(folder).free / 1e6
        raise OSError(
            f"There is no space {where}: --stream keeps the features and some 100 bytes per row in files in "
            f"{folder!r}, which has {free:,.0f} MB left; use -o to write the model to another folder."
        ) from error


def check_stream_options(options: argparse.Namespace) -> None:
    """Refuse options that need all rows in memory."""
    if options.stream is None:
        return
    if options.dask is not None:
        raise UsageError("--stream is for one machine and cannot be used with --dask.")
    if not is_table(options.data[0]):
        raise UsageError("--stream reads tables (CSV, Parquet); use --dask threads for svmlight files.")
    if options.method not in ("rank-svm", "rank-logistic", "rank-rls"):
        raise UsageError(
            f"--method {options.method} needs all rows in memory and cannot be used with --stream."
        )
    if options.tune or options.kernel not in (None, "linear") or options.scale.startswith("query-"):
        raise UsageError(
            "--tune, --kernel and --scale query-... need all rows in memory and cannot be used with --stream."
        )
