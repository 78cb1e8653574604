"""The JSON nodes of a model file: values, and estimators by class, parameters and learned attributes.

null, booleans, finite numbers, strings and lists are themselves. Any other value is an object with one key
that names its type: {"array": 3} is array number 3 of the file, {"tuple": [...]} a tuple. Reading creates
values of these few types and nothing else. This part of the format needs no scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.io.model_layout import Arrays, Contents, ModelFileError
from rankwise.losses import LOSSES, PairwiseLoss

_PLAIN = (str, bool, type(None))


def to_node(estimator: Any, learned: dict[str, Any], contents: Contents) -> dict[str, Any]:
    """Return an estimator as a node; its arrays are appended to the contents.

    A parameter that cannot be stored is omitted; a learned attribute that cannot be stored is an error.
    """
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        n_arrays = len(contents.arrays)
        try:
            parameters[name] = encode(value, contents.arrays)
        except ModelFileError:
            del contents.arrays[n_arrays:]
            contents.left_out.append(name)
    attributes = {}
    for name, value in learned.items():
        try:
            attributes[name] = encode(value, contents.arrays)
        except ModelFileError as error:
            raise ModelFileError(f"attribute {name}: {error}") from None
    return {"class": type(estimator).__name__, "parameters": parameters, "attributes": attributes}


def from_node(kind: type[Any], names: Container[str], node: dict[str, Any], arrays: Arrays) -> Any:
    """Return the estimator of a node, of a class that may have these learned attributes."""
    estimator = kind(**{name: decode(value, arrays) for name, value in node["parameters"].items()})
    for name, value in node["attributes"].items():
        if name not in names:
            raise ModelFileError(f"{name!r} is not the name of a learned attribute")
        setattr(estimator, name, decode(value, arrays))
    return estimator


def encode(value: Any, arrays: Arrays) -> Any:
    """Return a value as a JSON node and append its arrays to `arrays`; refuse types that a file cannot hold.

    Examples
    --------
    >>> arrays = []
    >>> encode({"tol": 1e-3, "weights": np.zeros(2)}, arrays)
    {'map': [['tol', 0.001], ['weights', {'array': 0}]]}
    """
    if isinstance(value, np.ndarray) and value.ndim:
        return _encode_array(value, arrays)
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    if isinstance(value, _PLAIN):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, list | tuple):
        items = [encode(item, arrays) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"map": [[encode(key, arrays), encode(item, arrays)] for key, item in value.items()]}
    if sp.issparse(value) and value.format == "csr":
        return _encode_csr(value, arrays)
    if isinstance(value, PairwiseLoss):
        return _encode_loss(value, arrays)
    raise ModelFileError(f"a value of type {type(value).__name__} cannot be stored")


def _encode_array(array: NDArray[Any], arrays: Arrays) -> Any:
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        arrays.append(array)
        return {"array": len(arrays) - 1}
    if array.dtype.kind in "UO":
        items = [encode(item, arrays) for item in array.ravel().tolist()]
        if array.dtype.kind == "O":
            return {"objects": [list(array.shape), items]}
        _check_width(items)
        return {"text": [list(array.shape), items]}
    raise ModelFileError(f"an array of {array.dtype} cannot be stored")


def _encode_csr(matrix: Any, arrays: Arrays) -> Any:
    parts = [encode(part, arrays) for part in (matrix.data, matrix.indices, matrix.indptr)]
    return {"csr": [sp.isspmatrix(matrix), list(matrix.shape), parts]}


def _encode_loss(loss: PairwiseLoss, arrays: Arrays) -> Any:
    name = next((name for name, kind in LOSSES.items() if kind is type(loss)), None)
    if name is None:
        raise ModelFileError(f"the loss {loss!r} is not in rankwise.losses.LOSSES")
    return {"loss": [name, encode(loss.parameters, arrays)]}


def _decode_loss(content: Any, arrays: Arrays) -> PairwiseLoss:
    name, parameters = content
    return LOSSES[name](**decode(parameters, arrays))


def decode(node: Any, arrays: Arrays) -> Any:
    """Return the value of a node, the inverse of `encode`.

    Examples
    --------
    >>> decode({"map": [["tol", 0.001], ["weights", {"array": 0}]]}, [np.zeros(2)])
    {'tol': 0.001, 'weights': array([0., 0.])}
    """
    if isinstance(node, list):
        return [decode(item, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    return _DECODERS[kind](content, arrays)


def _decode_number(content: Any, arrays: Arrays) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]


def _decode_tuple(content: Any, arrays: Arrays) -> tuple[Any, ...]:
    return tuple(decode(item, arrays) for item in content)


def _decode_map(content: Any, arrays: Arrays) -> dict[Any, Any]:
    return {decode(key, arrays): decode(item, arrays) for key, item in content}


def _decode_array(content: Any, arrays: Arrays) -> NDArray[Any]:
    if type(content) is not int or not 0 <= content < len(arrays):
        raise ModelFileError(f"there is no array number {content!r}")
    return arrays[content]


def _decode_text(content: Any, arrays: Arrays) -> NDArray[Any]:
    shape, items = content
    if not all(isinstance(item, str) for item in items):
        raise ModelFileError("a text array has entries that are not strings")
    _check_width(items)
    return np.array(items, dtype=str).reshape(shape)


def _check_width(items: list[str]) -> None:
    """Refuse text that would be mostly padding: the longest entry sets the width of all."""
    if max(map(len, items), default=0) * len(items) > 4 * sum(map(len, items)) + 4_000_000:
        raise ModelFileError("a text array would take much more memory than its text")


def _decode_objects(content: Any, arrays: Arrays) -> NDArray[Any]:
    shape, items = content
    array = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):  # one by one: numpy would turn tuples into a further dimension
        array[number] = decode(item, arrays)
    return array.reshape(shape)


def _decode_csr(content: Any, arrays: Arrays) -> Any:
    is_matrix, shape, parts = content
    data, indices, indptr = (decode(part, arrays) for part in parts)
    kind = sp.csr_matrix if is_matrix else sp.csr_array
    matrix = kind((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)  # the products trust the indices
    return matrix


_DECODERS: dict[str, Callable[[Any, Arrays], Any]] = {
    "float": _decode_number,
    "tuple": _decode_tuple,
    "map": _decode_map,
    "array": _decode_array,
    "text": _decode_text,
    "objects": _decode_objects,
    "csr": _decode_csr,
    "loss": _decode_loss,
}
