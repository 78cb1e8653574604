"""The bytes of a model file: JSON, in lines for the header, each array and a checksum.

    {"format":"rankwise-model","version":3,
    "header":{...},
    "arrays":[
    "base64 of little-endian numbers",
    "..."
    ],
    "sha256":"of all bytes before this number"}

The line breaks are part of the format: with them, a large array is read from the file into memory piece by
piece, so that loading takes little more memory than the model itself. This module needs no scikit-learn.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rankwise import __version__
from rankwise.core.pipelines import fitted_columns
from rankwise.core.stored import Part, declared, undeclared
from rankwise.estimators.base import BaseRanker
from rankwise.io.atomic import atomic_write

Arrays = list[NDArray[Any]]

VERSION = 3

_START = b'{"format":"rankwise-model","version":'
_HEADER = b'"header":'
_ARRAYS = b'"arrays":[\n'
_CHECKSUM = b'],\n"sha256":"'
_END = b'"}\n'
_TAIL_BYTES = len(_CHECKSUM) + 64 + len(_END)
# A multiple of 3, so that every piece but the last becomes base64 without padding.
_PIECE = 3 << 18


class ModelFileError(ValueError):
    """A model cannot be saved, or a file is not a complete and unaltered model."""


@dataclass
class Contents:
    """The arrays of a model, and the names of the parameters that its file omits."""

    arrays: Arrays = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file begins as a model file does."""
    with open(path, "rb") as file:
        return file.read(len(_START)) == _START


def write_model(
    path: str | os.PathLike[str],
    model: Any,
    node: dict[str, Any],
    contents: Contents,
    *,
    estimator: str,
    sklearn: str | None,
    feature_names: Sequence[str] | None,
    metadata: dict[str, Any] | None,
) -> None:
    """Write the file of a model, given as a node, atomically."""
    header = {
        "estimator": estimator,
        "rankwise": __version__,
        "sklearn": sklearn,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "metadata": _checked_metadata(metadata),
        "feature_names": _checked_names(model, feature_names),
        "left_out": contents.left_out,
        "model": node,
    }
    with atomic_write(path) as file:
        write_layout(file, header, contents.arrays)


def read_model(path: str | os.PathLike[str], *, with_arrays: bool) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a model file."""
    with open(path, "rb") as file, load_errors(path):
        return read_layout(file, with_arrays=with_arrays)


@contextmanager
def load_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error while a file is read into a `ModelFileError` that names the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}.") from None
    except OSError:
        raise
    # The checksum excludes accidents but not intent: the content may be any JSON.
    except Exception as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be loaded: its content is not that of a model "
            f"({type(error).__name__})."
        ) from error


def _checked_metadata(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return the metadata after a round trip through JSON."""
    try:
        return json.loads(json.dumps({} if metadata is None else dict(metadata), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"metadata must be a dict that JSON can represent ({error})") from None


def _checked_names(model: Any, names: Sequence[str] | None) -> list[str] | None:
    """Return the names of the features, as given or as the model has them."""
    if names is None:
        return fitted_columns(model)
    listed, n_features = [str(name) for name in names], getattr(model, "n_features_in_", 0)
    if len(listed) != n_features:
        raise ModelFileError(
            f"feature_names has length {len(listed)}, but the model has n_features_in_={n_features}"
        )
    return listed


def write_layout(file: IO[bytes], header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays; the dtypes and shapes of the arrays are added to the header."""
    digest = hashlib.sha256()
    for piece in _pieces(header, arrays):
        digest.update(piece)
        file.write(piece)
    file.write(digest.hexdigest().encode() + _END)


def _pieces(header: dict[str, Any], arrays: Arrays) -> Iterator[bytes]:
    table = {"arrays": [described(array) for array in arrays]}
    text = json.dumps(header | table, allow_nan=False, separators=(",", ":"))
    yield _START + str(VERSION).encode() + b",\n" + _HEADER + text.encode("ascii") + b",\n" + _ARRAYS
    for number, array in enumerate(arrays):
        yield b',\n"' if number else b'"'
        content = _as_bytes(array)
        for start in range(0, len(content), _PIECE):
            yield binascii.b2a_base64(content[start : start + _PIECE].data, newline=False)
        yield b'"'
    yield (b"\n" if arrays else b"") + _CHECKSUM


def described(array: NDArray[Any]) -> dict[str, Any]:
    """Return the dtype, shape and memory order of an array; the order affects the rounding of sums."""
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return {"dtype": array.dtype.str.lstrip("<>=|"), "shape": list(array.shape), "order": order}


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the little-endian bytes of an array in its memory order, without a copy if possible."""
    flat = array.ravel(order="F" if described(array)["order"] == "F" else "C")
    return flat.astype(flat.dtype.newbyteorder("<"), copy=False).view(np.uint8)


def read_layout(file: IO[bytes], *, with_arrays: bool = True) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file; refuse one that is incomplete or altered."""
    size = os.fstat(file.fileno()).st_size
    _check_start(file.read(len(_START) + 20))
    _check_whole(file, size)
    file.seek(0)
    file.readline()
    line = file.readline()
    _require(line.startswith(_HEADER) and line.endswith(b",\n"))
    header = json.loads(line[len(_HEADER) : -2])
    _require(isinstance(header, dict) and file.read(len(_ARRAYS)) == _ARRAYS)
    if not with_arrays:
        return header, []
    room = size - file.tell()
    table = [_checked_description(entry) for entry in header["arrays"]]
    # Before memory is allocated: the file must be as long as the header declares.
    _require(sum(_text_bytes(dtype, shape) for dtype, shape, _ in table) <= room)
    return header, [_read_array(file, number, *entry) for number, entry in enumerate(table)]


def _require(condition: bool) -> None:
    if not condition:
        raise ModelFileError("its content does not have the form of a model")


def _check_start(start: bytes) -> None:
    if not start:
        raise ModelFileError("it is empty")
    if not start.startswith(_START):
        if _START.startswith(start):
            raise ModelFileError("it is truncated")
        if b"rankwise-model" in start:
            raise ModelFileError("it was altered after it was written")
        raise ModelFileError("it is not a rankwise model file")
    digits, separator, _ = start[len(_START) :].partition(b",\n")
    if not separator or not digits.isdigit():
        raise ModelFileError("it is truncated or was altered after it was written")
    if int(digits) > VERSION:
        raise ModelFileError(
            f"it has format version {int(digits)}, but this version of rankwise reads up to {VERSION}: "
            "install a newer rankwise"
        )
    if int(digits) != VERSION:
        raise ModelFileError(
            f"it has format version {int(digits)}, which was never published; fit the model again"
        )


def _check_whole(file: IO[bytes], size: int) -> None:
    """Compare the checksum at the end with that of all bytes before it."""
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read()
    if len(tail) != _TAIL_BYTES or not (tail.startswith(_CHECKSUM) and tail.endswith(_END)):
        raise ModelFileError("it is truncated: its last line, the checksum, is missing")
    digest, left = hashlib.sha256(), size - 64 - len(_END)
    file.seek(0)
    while left > 0:
        piece = file.read(min(left, _PIECE))
        if not piece:
            raise ModelFileError("it is truncated")
        digest.update(piece)
        left -= len(piece)
    if digest.hexdigest().encode() != tail[len(_CHECKSUM) : -len(_END)]:
        raise ModelFileError("it was altered or damaged after it was written: its checksum does not match")


def _checked_description(entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    name, shape, order = entry["dtype"], entry["shape"], entry["order"]
    _require(isinstance(name, str) and len(name) <= 3 and name[:1] in "biuf" and order in ("C", "F"))
    _require(len(shape) <= 32 and all(type(length) is int and length >= 0 for length in shape))
    return np.dtype("<" + name), tuple(shape), order


def _n_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    total = dtype.itemsize
    for length in shape:  # Python's integers do not overflow
        total *= length
    return total


def _text_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return -(-_n_bytes(dtype, shape) // 3) * 4


def _read_array(
    file: IO[bytes], number: int, dtype: np.dtype[Any], shape: tuple[int, ...], order: str
) -> NDArray[Any]:
    opening = b',\n"' if number else b'"'
    _require(file.read(len(opening)) == opening)
    n_bytes = _n_bytes(dtype, shape)
    content = np.empty(n_bytes, dtype=np.uint8)
    for start in range(0, n_bytes, _PIECE):
        wanted = min(_PIECE, n_bytes - start)
        piece = binascii.a2b_base64(file.read(-(-wanted // 3) * 4), strict_mode=True)
        _require(len(piece) == wanted)
        content[start : start + wanted] = np.frombuffer(piece, dtype=np.uint8)
    _require(file.read(1) == b'"')
    array = content.view(dtype).reshape(shape, order="F" if order == "F" else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def check_attributes(model: Any) -> None:
    """Refuse a model with an attribute that no fit leaves; the error names the first one."""
    for name in _invalid(model):
        raise ModelFileError(f"its {name} is invalid or inconsistent with the rest of the model")


def _invalid(model: Any) -> Iterator[str]:
    """Yield the attributes that are not as declared, or contradict each other."""
    yield from undeclared(model)
    for name, declaration in declared(type(model)).items():
        if isinstance(declaration, Part) and isinstance(part := getattr(model, name), BaseRanker):
            yield from _invalid(part)
    if model.functions:
        yield from model.function.conflicts(model.n_features_in_)
    if model.conflicts is not None:
        yield from model.conflicts()
