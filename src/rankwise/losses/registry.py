"""Losses by name, and as objects with parameters."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from rankwise.core.checks import check_choice
from rankwise.losses.base import PairwiseLoss
from rankwise.losses.hinge import Hinge
from rankwise.losses.huber_hinge import HuberHinge
from rankwise.losses.least_squares import LeastSquares
from rankwise.losses.logistic import Logistic
from rankwise.losses.plackett_luce import PlackettLuce
from rankwise.losses.squared_hinge import SquaredHinge
from rankwise.preferences import Preferences

# Losses by name, for estimators, commands, reports and model files: a new loss is a file and a line here.
LOSSES: dict[str, type[PairwiseLoss]] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "huber_hinge": HuberHinge,
    "logistic": Logistic,
    "plackett-luce": PlackettLuce,
}
# Those of trees, of learned kernels and of the objectives of other libraries.
OBJECTIVES: Mapping[str, type[PairwiseLoss]] = ChainMap({"least_squares": LeastSquares}, LOSSES)


def loss_class(loss: Any, known: Mapping[str, type[PairwiseLoss]] = LOSSES) -> type[PairwiseLoss]:
    """Return the class of a loss that is given by a known name or as an object; refuse anything else.

    Examples
    --------
    >>> loss_class("hinge").__name__, loss_class(HuberHinge(width=0.25)).__name__
    ('Hinge', 'HuberHinge')
    """
    if isinstance(loss, PairwiseLoss):
        return type(loss)
    if isinstance(loss, type):
        raise ValueError(f"loss must be a name or an object; got the class: write loss={loss.__name__}().")
    check_choice(loss, "loss", known)
    return known[loss]


def loss_over(
    loss: Any, preferences: Preferences, known: Mapping[str, type[PairwiseLoss]] = LOSSES, **options: Any
) -> PairwiseLoss:
    """Return a loss, given by name or as an object, over the pairs of preferences."""
    make = loss.like if isinstance(loss, PairwiseLoss) else loss_class(loss, known)
    return make(preferences, **options)


def formula_of(loss: Any) -> str:
    """Return the objective of a loss in words."""
    return loss.formula if isinstance(loss, PairwiseLoss) else OBJECTIVES[loss].formula


def has_log_odds(loss: Any) -> bool:
    """Return whether a loss, a name or an object, makes differences of scores log odds."""
    return loss == "logistic" or isinstance(loss, Logistic)
