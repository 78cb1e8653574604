"""A model as a node of a file: its class by name, its parameters and what it learned; and the file around it.

This part of the format needs no scikit-learn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rankwise import __version__
from rankwise.core.pipelines import last_step
from rankwise.io.atomic import atomic_write
from rankwise.io.model_layout import ModelFileError, read_layout, write_layout
from rankwise.io.model_values import Arrays, decode, encode

# Of files of early versions: a parameter that RankSVM no longer has, and parameters of a base class that were
# stored as if a fit had learned them.
FORMER_PARAMETERS = ("counting",)
FORMER_ATTRIBUTES = ("average", "basis", "counting", "pair_weight")


@dataclass
class Writer:
    """What gathers while a model is taken apart."""

    arrays: Arrays = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def apart(estimator: Any, learned: dict[str, Any], writer: Writer) -> dict[str, Any]:
    """Return an estimator as its class, its parameters and what it learned."""
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        n_arrays = len(writer.arrays)
        try:
            parameters[name] = encode(value, writer.arrays)
        except ModelFileError:
            del writer.arrays[n_arrays:]
            writer.left_out.append(name)
    attributes = {}
    for name, value in learned.items():
        try:
            attributes[name] = encode(value, writer.arrays)
        except ModelFileError as error:
            raise ModelFileError(f"of its attribute {name}, {error}") from None
    return {"class": type(estimator).__name__, "parameters": parameters, "attributes": attributes}


def together(known: dict[str, Any], node: dict[str, Any], arrays: Arrays) -> Any:
    """Return the estimator of a node; its class is one of those known."""
    if node["class"] not in known:
        raise ModelFileError(f"this rankwise has no estimator named {node['class']!r}")
    kind = known[node["class"]]
    given = {name: value for name, value in node["parameters"].items() if name not in FORMER_PARAMETERS}
    estimator = kind(**{name: decode(value, arrays) for name, value in given.items()})
    for name, value in node["attributes"].items():
        if name in FORMER_ATTRIBUTES:
            continue
        if name.startswith("__") or hasattr(kind, name):
            raise ModelFileError(f"{name!r} is not the name of a learned attribute")
        setattr(estimator, name, decode(value, arrays))
    return estimator


def write_model(
    path: str | os.PathLike[str],
    model: Any,
    tree: dict[str, Any],
    writer: Writer,
    *,
    estimator: str,
    sklearn: str | None,
    feature_names: Sequence[str] | None,
    metadata: dict[str, Any] | None,
) -> None:
    """Write the file of a model that was taken apart, whole or not at all."""
    header = {
        "estimator": estimator,
        "rankwise": __version__,
        "sklearn": sklearn,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "metadata": checked_metadata(metadata),
        "feature_names": checked_names(model, feature_names),
        "left_out": writer.left_out,
        "model": tree,
    }
    with atomic_write(path) as file:
        write_layout(file, header, writer.arrays)


def checked_metadata(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return the metadata as JSON would give it back."""
    try:
        return json.loads(json.dumps({} if metadata is None else dict(metadata), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"metadata must be a dict of what JSON can hold ({error})") from None


def checked_names(model: Any, names: Sequence[str] | None) -> list[str] | None:
    """Return the names of the features, as given or as the model has them."""
    ranker = last_step(model)
    if names is None:
        names = getattr(model, "feature_names_in_", getattr(ranker, "feature_names_", None))
        return None if names is None else [str(name) for name in names]
    listed, n_features = [str(name) for name in names], getattr(model, "n_features_in_", 0)
    if len(listed) != n_features:
        raise ModelFileError(
            f"feature_names has {len(listed)} names, but the model has {n_features} features"
        )
    return listed


@contextmanager
def refusals(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one sentence that names the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}.") from None
    except OSError:
        raise
    # A checksum keeps accidents out but not intent: the content may be anything that JSON can say.
    except Exception as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be loaded: its content is not that of a model "
            f"({type(error).__name__})."
        ) from error


def read_model(path: str | os.PathLike[str], *, with_arrays: bool) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a model file."""
    with open(path, "rb") as file, refusals(path):
        return read_layout(file, with_arrays=with_arrays)
