"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file whose content takes the place of `path` when the block ends, and never half of it.

    The content goes to a temporary file in the same folder, is forced to disk, and is then renamed over
    `path`: whoever reads `path`, also after a crash, finds the old content or the new one. An exception in
    the block leaves `path` alone. The permissions of a file that was there before are kept, and a symbolic
    link keeps pointing where it did. What is not a regular file (a pipe, /dev/stdout) is written directly.

    Parameters
    ----------
    path : path
    mode : "wb" or "w"
    **options
        As for `open`, such as ``encoding`` and ``newline``; text is UTF-8 unless said otherwise.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scores.txt"
    ...     with atomic_write(path, "w") as file:
    ...         _ = file.write("0.5")
    ...     path.read_text()
    '0.5'
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode must be 'wb' or 'w'; got {mode!r}.")
    if mode == "w":
        options = {"encoding": "utf-8"} | options
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, mode, **options) as file:
            yield file
        return
    with _temporary_beside(target) as temporary:
        with open(temporary, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    _sync_folder(target.parent)


@contextmanager
def _temporary_beside(target: Path) -> Iterator[str]:
    """Give the name of a new empty file in the folder of the target; remove it if it is still there."""
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    os.close(handle)
    try:
        os.chmod(temporary, _permissions(target))
        yield temporary
    finally:
        with suppress(FileNotFoundError):
            os.remove(temporary)


def _permissions(target: Path) -> int:
    """Give the permissions of the file to be replaced, or those that `open` would give a new one."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)  # there is no call that reads it and does not set it
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Force the new name to disk, where the system can open folders (Windows cannot)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
