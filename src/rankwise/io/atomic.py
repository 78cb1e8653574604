"""Files and folders that are written atomically."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

fcntl: Any
try:
    import fcntl
except ImportError:
    fcntl = None


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file that replaces `path`, atomically, when the block ends.

    The content is written to a temporary file in the same folder, forced to disk, and then renamed to `path`:
    a reader of `path`, even after a crash, finds the old content or the new one. An exception in the block
    leaves `path` unchanged. The permissions of an existing file are kept, and a symbolic link keeps its
    target. If `path` is not a regular file (a pipe, /dev/stdout), it is written directly. A killed process
    leaves its temporary file, which the next write of the same `path` removes.

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
    _remove_abandoned(target)
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
    removes the folder; the next write of the same `path` removes the folder of a killed process.

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
    _remove_abandoned(target)
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
    with _errors_about(target):
        handle, temporary = _claimed(target, folder)
    try:
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        yield temporary
    finally:
        _remove(temporary)
        if handle is not None:
            os.close(handle)


def _claimed(target: Path, folder: bool) -> tuple[int | None, Path]:
    """Create and lock a temporary file or folder; return the handle of the lock (None without locks).

    The lock ends with its process, so a file that is not locked is abandoned.
    """
    while True:
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
        with suppress(FileExistsError):
            handle = _created(temporary, folder)
            if fcntl is None:
                return None, temporary
            if handle is not None:
                if _lock(handle) and temporary.exists():
                    return handle, temporary
                os.close(handle)  # another process removed it between the calls


def _created(temporary: Path, folder: bool) -> int | None:
    """Create a file or folder; return a handle to lock, None without locks or if it no longer exists."""
    if folder:
        temporary.mkdir()
        with suppress(FileNotFoundError):
            return None if fcntl is None else os.open(temporary, os.O_RDONLY)
        return None
    # The system applies the umask, which cannot be read without changing it.
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    if fcntl is not None:
        return handle
    os.close(handle)  # Windows, where an open file cannot be renamed
    return None


def _remove(path: str | os.PathLike[str]) -> None:
    """Remove a file, or a folder with its content, if it exists."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        Path(path).unlink(missing_ok=True)


def _lock(handle: int) -> bool:
    """Lock a file; return False if another process has the lock. A file system may have no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files of killed processes, which are those without a lock."""
    if fcntl is None:
        return
    pattern = re.compile(re.escape(f".{target.name[:100]}.") + r"[a-z0-9_]{8}\.part")
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            ours = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
            if pattern.fullmatch(entry.name) and ours:
                _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
        finally:
            os.close(handle)


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
