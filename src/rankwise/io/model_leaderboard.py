"""What the model file of a leaderboard has to hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.io.model_layout import ModelFileError


def check_leaderboard(model: Any) -> None:
    """Refuse a `BradleyTerry` whose arrays do not fit together, which the sums over entries would trust."""
    model._check_parameters()
    fits = isinstance(model.order_effect, bool) and _items_fit(model.items_)
    n = len(model.items_)
    features = np.zeros((n, 0)) if model._features is None else model._features
    n_parameters = n + features.shape[-1] + model.order_effect + (model.ties == "davidson")
    fits &= features.shape == (n, features.shape[-1])
    columns = {
        "_features": features,
        "_parameters": model._parameters,
        "scores_": model.scores_,
        "coef_": getattr(model, "coef_", np.zeros(0)),
    }
    lengths = {"_parameters": n_parameters, "scores_": n, "coef_": features.shape[-1]}
    fits &= all(columns[name].shape == (length,) for name, length in lengths.items())
    fits &= all(column.dtype == np.float64 and np.isfinite(column).all() for column in columns.values())
    numbers = (model.alpha_, model.order_effect_, model.tie_effect_, getattr(model, "intercept_", 0.0))
    fits &= all(isinstance(number, float) and np.isfinite(number) for number in numbers)
    if not (fits and _entries_fit(model._entries, n)):
        raise ModelFileError("its arrays do not fit together")


def _items_fit(items: Any) -> bool:
    return items.ndim == 1 and 0 < len(items) == len(set(items.tolist()))


def _entries_fit(entries: Any, n_items: int) -> bool:
    """Tell whether these are counted pairs of items, sorted, each of them once and of positive weight."""
    first, second, wins, losses, ties = entries
    if not all(items.dtype == np.int32 and items.ndim == 1 for items in (first, second)) or not len(first):
        return False
    numbers = first.astype(np.int64) * n_items + second
    fits = len(first) == len(second) and (first != second).all() and (np.diff(numbers) > 0).all()
    fits &= all(items.min() >= 0 and items.max() < n_items for items in (first, second))
    for weights in (wins, losses, ties):
        fits &= weights.dtype == np.float64 and weights.shape == first.shape
        fits &= bool(np.isfinite(weights).all() and (weights >= 0).all())
    return bool(fits and (wins + losses + ties > 0).all())
