"""Penalties with absolute weights, by which linear rankers select features."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.checks import as_array
from rankwise.core.text import MINUS
from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.functions.kernel_parameters import is_linear
from rankwise.model_selection.tunable import Problem
from rankwise.solvers.sparse_newton import largest_alpha

# The last term of most objectives, in words.
PENALTY = " + \N{GREEK SMALL LETTER ALPHA}‖f‖²"
# The default grid has this many alphas, down to this fraction of the largest.
N_ALPHAS, LEAST = 50, 1e-3
# The same if features outnumber rows, so that more of them would fit noise.
WIDE_LEAST = 1e-2


def penalty_words(model: Any) -> str:
    """Return the last term of an objective, in words."""
    if not np.any(model.l1_ratio):
        return PENALTY
    ratio = getattr(model, "l1_ratio_", model.l1_ratio)
    elastic = f"(r‖w‖₁ + (1 {MINUS} r)‖w‖²), r = {ratio}"
    return PENALTY.replace("‖f‖²", elastic)


def check_sparse(model: Any) -> None:
    """Check `l1_ratio` and `penalty_weights`, and whether the model can have them."""
    ratio = model.l1_ratio
    if any(isinstance(one, str) or not 0.0 <= float(one) <= 1.0 for one in np.ravel(ratio).tolist()):
        raise ValueError(f"l1_ratio must be a number from 0 to 1; got {ratio!r}.")
    if np.ndim(ratio) > 0 and not np.all(ratio):
        raise ValueError(f"l1_ratio={ratio!r} has candidates of 0; give those above 0.")
    if not np.any(ratio):
        raise ValueError("penalty_weights are for an elastic net; set l1_ratio above 0, such as 0.9.")
    if not is_linear(model):
        raise ValueError(
            f"l1_ratio={ratio!r} selects features of a linear model, but kernel={model.kernel!r}; "
            "use kernel='linear', or l1_ratio=0."
        )
    if np.array_equal(getattr(model, "alpha", None), 0):  # type: ignore[arg-type]
        raise ValueError(f"l1_ratio={ratio!r} needs a penalty, but alpha=0; set l1_ratio=0.")


def sparse_options(model: Any, design: Design) -> dict[str, Any]:
    """Return the penalty of a model as options of a solver."""
    if np.ndim(model.l1_ratio) > 0:
        raise ValueError(f"l1_ratio must be a number; a list, {model.l1_ratio!r}, is for a CV class.")
    if design.location is not None:
        raise ValueError(
            f"l1_ratio={model.l1_ratio!r} needs all rows in memory, but X is {design.location}; "
            "use l1_ratio=0, or select features on a sample of the rows."
        )
    weights = model.penalty_weights
    if weights is not None:
        weights = np.asarray(as_array(weights), dtype=np.float64)
        if weights.shape != design.shape[1:] or not (weights >= 0).all() or not 0 < weights.max() < np.inf:
            raise ValueError(
                "penalty_weights must be numbers of at least 0, not all of them 0, one for each of the "
                f"{design.shape[1]} features."
            )
    return {"l1_ratio": float(model.l1_ratio), "penalty_weights": weights}


def sparse_alphas(model: Any, problem: Problem, design: Design) -> FloatVector:
    """Return alphas in equal ratios down from the largest that selects a feature."""
    loss = model.mean_loss(problem.preferences)
    top = largest_alpha(design, loss, **sparse_options(model, design))
    m, n = design.shape
    return np.asarray(top * np.geomspace(1.0, LEAST if m > n else WIDE_LEAST, N_ALPHAS))
