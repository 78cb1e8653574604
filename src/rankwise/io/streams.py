"""Binary input and output: compression by suffix, standard input and output, and atomic writes."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rankwise.io.atomic import atomic_write

__all__ = [
    "PACKED_SUFFIXES",
    "DamagedFileError",
    "Input",
    "LineTooLongError",
    "line_blocks",
    "open_input",
    "open_output",
]

BLOCK_BYTES = 1 << 20
LONGEST_LINE = 1 << 26
_ZSTD_READ = 1 << 14  # compressed bytes; their decompressed content is held in memory
_DAMAGE: tuple[type[Exception], ...] = (zlib.error, lzma.LZMAError, OSError)


class DamagedFileError(ValueError):
    """A compressed file is truncated or not of the format of its suffix."""


class LineTooLongError(ValueError):
    """A line has more than `LONGEST_LINE` bytes."""


class Input(NamedTuple):
    """A stream of bytes, its name in messages, and its length if it is known before reading."""

    stream: Any
    name: str
    n_bytes: int | None


@contextlib.contextmanager
def open_input(source: Any) -> Iterator[Input]:
    """Open a path (decompressed by its suffix), ``"-"`` for standard input, or a binary file object."""
    if isinstance(source, str) and source == "-":
        if sys.stdin is None:
            raise ValueError("Standard input (-) is closed; give the path of a file.")
        yield Input(sys.stdin.buffer, "<stdin>", None)
    elif isinstance(source, str | os.PathLike):
        with _open_path(Path(source)) as opened:
            yield opened
    elif hasattr(source, "read"):
        yield Input(source, str(getattr(source, "name", "<file object>")), None)
    else:
        raise TypeError(
            f"source must be a path, '-' for standard input, a binary file object or a list of these; "
            f"got {type(source).__name__}."
        )


@contextlib.contextmanager
def _open_path(path: Path) -> Iterator[Input]:
    with contextlib.ExitStack() as stack:
        raw = stack.enter_context(open(path, "rb"))
        status = os.fstat(raw.fileno())
        unpack = _UNPACK.get(path.suffix.lower())
        if unpack is None:
            yield Input(raw, str(path), status.st_size)
        elif stat.S_ISREG(status.st_mode) and status.st_size == 0:
            raise DamagedFileError(f"{path} is empty, which no compressed file is.")
        else:
            unpacked = stack.enter_context(contextlib.closing(unpack(raw)))
            yield Input(_Checked(unpacked, path), str(path), None)


class _Checked(io.RawIOBase):
    """Turn the errors of decompressors into a `DamagedFileError`."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream = stream
        self._path = path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return self._stream.readinto(buffer)
        except EOFError:
            problem = "is truncated: it ends before its compressed data does"
        except _DAMAGE + _zstd_errors() as error:
            if getattr(error, "errno", None) is not None:
                raise
            problem = (
                f"is damaged, or not compressed in the format of its suffix {self._path.suffix} ({error})"
            )
        raise DamagedFileError(f"{self._path} {problem}.")


def line_blocks(stream: Any, size: int = BLOCK_BYTES) -> Iterator[memoryview]:
    """Yield blocks of complete lines, of about `size` bytes, each of which ends with a line feed.

    The memory of a block is reused for the next one. A line feed is added if the last line has none.
    """
    buffer, filled = bytearray(size + 1), 0
    while n_read := _fill(stream, memoryview(buffer)[filled:-1]):
        end = buffer.rfind(b"\n", filled, filled + n_read) + 1
        filled += n_read
        if end:
            yield memoryview(buffer)[:end]
            buffer[: filled - end] = buffer[end:filled]
            filled -= end
        if filled == len(buffer) - 1:
            buffer = _enlarged(buffer)
    if filled:
        buffer[filled] = ord("\n")
        yield memoryview(buffer)[: filled + 1]


def _enlarged(buffer: bytearray) -> bytearray:
    size = len(buffer) - 1
    if size >= LONGEST_LINE:
        raise LineTooLongError
    return buffer + bytes(min(size, LONGEST_LINE - size))


def _fill(stream: Any, room: memoryview) -> int:
    if hasattr(stream, "readinto"):
        n_read = stream.readinto(room)
        if n_read is None:
            raise BlockingIOError("the source has no data yet; it must not be in non-blocking mode.")
        return n_read
    data = stream.read(len(room))
    if isinstance(data, str):
        raise TypeError("the file object returns text; open it in binary mode ('rb').")
    room[: len(data)] = data
    return len(data)


@contextlib.contextmanager
def open_output(target: Any) -> Iterator[Any]:
    """Open a path (compressed by its suffix), ``"-"`` for standard output, or a binary file object.

    A path is written atomically; an error leaves it unchanged.
    """
    if isinstance(target, str) and target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif isinstance(target, str | os.PathLike):
        with atomic_write(target) as raw, _packed(raw, Path(target)) as stream:
            yield stream
    elif hasattr(target, "write"):
        yield target
    else:
        raise TypeError(
            f"target must be a path, '-' for standard output or a binary file object; "
            f"got {type(target).__name__}."
        )


def _packed(raw: Any, path: Path) -> Any:
    pack = _PACK.get(path.suffix.lower())
    return contextlib.nullcontext(raw) if pack is None else pack(raw)


def _import_zstd() -> tuple[str, Any]:
    """Return the module of the standard library (from Python 3.14 on) or the zstandard package."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        return "standard", zstd
    try:
        import zstandard
    except ImportError:
        raise ImportError("Files that end in .zst need zstandard: pip install 'rankwise[zstd]'.") from None
    return "package", zstandard


def _zstd_errors() -> tuple[type[Exception], ...]:
    names = ("compression.zstd", "zstandard")
    return tuple(sys.modules[name].ZstdError for name in names if name in sys.modules)


def _unzstd(raw: BinaryIO) -> Any:
    home, zstd = _import_zstd()
    return zstd.ZstdFile(raw) if home == "standard" else _ZstdReader(raw, zstd.ZstdDecompressor())


def _zstd(raw: BinaryIO) -> Any:
    home, zstd = _import_zstd()
    if home == "standard":
        return zstd.ZstdFile(raw, "wb")
    return zstd.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False)


class _ZstdReader(io.RawIOBase):
    """Decompress frame by frame; a truncated frame is an EOFError."""

    def __init__(self, raw: BinaryIO, decompressor: Any) -> None:
        self._raw = raw
        self._decompressor = decompressor
        self._frame: Any = None
        self._packed = b""
        self._unpacked = memoryview(b"")

    def readinto(self, room: Any) -> int:
        while not self._unpacked:
            self._packed = self._packed or self._raw.read(_ZSTD_READ)
            if not self._packed and self._frame is None:
                return 0
            if not self._packed:
                raise EOFError
            self._unpack()
        n = min(len(room), len(self._unpacked))
        room[:n] = self._unpacked[:n]
        self._unpacked = self._unpacked[n:]
        return n

    def _unpack(self) -> None:
        self._frame = self._frame or self._decompressor.decompressobj()
        self._unpacked = memoryview(self._frame.decompress(self._packed))
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None


_UNPACK: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _unzstd,
    ".zstd": _unzstd,
}
_PACK: dict[str, Callable[[BinaryIO], Any]] = {
    # Without a name and a time, equal data has equal bytes.
    ".gz": lambda raw: gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
    ".zst": _zstd,
    ".zstd": _zstd,
}

PACKED_SUFFIXES = tuple(_UNPACK)
