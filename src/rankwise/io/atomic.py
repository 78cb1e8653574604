"""Files and folders that are written atomically."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file that replaces `path`, atomically, when the block ends.

    The content is written to a temporary file in the same folder, forced to disk, and then renamed to `path`:
    a reader of `path`, even after a crash, finds the old content or the new one. An exception in the block
    leaves `path` unchanged. The permissions of an existing file are kept, and a symbolic link keeps its
    target. If `path` is not a regular file (a pipe, /dev/stdout), it is written directly. A killed process
    leaves its temporary file, whose name begins with a dot and ends in .part.

    Parameters
    ----------
    path : path
    mode : "wb" or "w"
    **options
        As for `open`, such as ``encoding`` and ``newline``; the default encoding of text is UTF-8.

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
    # Of the path itself: the links of /dev/stdout lead to the name of a pipe, which is in no folder.
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, **options) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    _check_writable(target)
    with _temporary_beside(target) as temporary:
        with open(temporary, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _errors_about(target):
            os.replace(temporary, target)
    _sync_folder(target.parent)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new folder that is renamed to `path` when the block ends, unless `path` exists by then.

    Its content is not forced to disk, as it is for copies that can be made again. An exception in the block
    removes the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with atomic_folder(Path(place, "copies", "rows")) as folder:
    ...         _ = (folder / "labels.txt").write_text("0.5")
    ...     os.listdir(Path(place, "copies"))
    ['rows']
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _temporary_beside(target, folder=True) as temporary:
        yield temporary
        try:
            temporary.rename(target)
        except OSError:
            if not target.is_dir():
                raise


def _check_writable(target: Path) -> None:
    """Refuse to replace a file that could not be opened for writing."""
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


@contextmanager
def _temporary_beside(target: Path, folder: bool = False) -> Iterator[Path]:
    """Yield the path of a new empty file or folder beside the target; remove it at the end if it exists."""
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    with _errors_about(target):
        if folder:
            temporary.mkdir()
        else:  # the system applies the umask, which cannot be read without changing it
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    try:
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        yield temporary
    finally:
        if folder:
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


@contextmanager
def _errors_about(target: Path) -> Iterator[None]:
    """Let errors name the target, not the temporary file."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from None


def _sync_folder(folder: Path) -> None:
    """Force the new name to disk, if the system can open folders (Windows cannot)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
