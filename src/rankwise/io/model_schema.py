"""The check of a model that comes from a file.

What a model stores is declared on its class (`rankwise.core.stored`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rankwise.core.stored import Part, declared, undeclared
from rankwise.estimators.base import BaseRanker
from rankwise.io.model_layout import ModelFileError


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
