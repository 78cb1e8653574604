"""The names of columns: one place decides which column is which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.core.pipelines import last_step
from rankwise.core.text import listing


def fitted_columns(model: Any) -> list[str] | None:
    """Return the names of the columns of a fit, or None if it had none.

    They are those of the frame that a model or the first step of a pipeline was fitted to. A model that was
    fitted to an array has those that its file was saved with.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(last_step(model), "feature_names_", None)
    return None if names is None else [str(name) for name in names]


def require_same_columns(
    expected: Sequence[str], found: Sequence[str], of_found: str, of_expected: str, *, ordered: bool = True
) -> None:
    """Refuse columns with other names or, if `ordered`, in another order; the error names them."""
    missing = [name for name in expected if name not in found]
    surplus = [name for name in found if name not in expected]
    problems = [f"it lacks {listing(missing)}"] * bool(missing)
    problems += [f"it also has {listing(surplus)}"] * bool(surplus)
    if not problems and (not ordered or list(expected) == list(found)):
        return
    in_order = " in the same order" if ordered else ""
    raise ValueError(
        f"{of_found} must have the columns of {of_expected}{in_order}; "
        f"{' and '.join(problems) or 'the order differs'}."
    )
