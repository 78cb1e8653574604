"""Losses by name, and as objects with parameters."""

from __future__ import annotations

from typing import Any

from rankwise.core.checks import check_choice
from rankwise.losses.base import PairwiseLoss
from rankwise.losses.hinge import Hinge
from rankwise.losses.huber_hinge import HuberHinge
from rankwise.losses.logistic import Logistic
from rankwise.losses.squared_hinge import SquaredHinge
from rankwise.preferences import Preferences

# Losses by name, for estimators, commands, reports and model files: a new loss is a file and a line here.
LOSSES: dict[str, type[PairwiseLoss]] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "huber_hinge": HuberHinge,
    "logistic": Logistic,
}


def loss_class(loss: Any) -> type[PairwiseLoss]:
    """Return the class of a loss that is given by name or as an object; refuse anything else.

    Examples
    --------
    >>> loss_class("hinge").__name__, loss_class(HuberHinge(width=0.25)).__name__
    ('Hinge', 'HuberHinge')
    """
    if isinstance(loss, PairwiseLoss):
        return type(loss)
    if isinstance(loss, type):
        raise ValueError(f"loss must be a name or an object; got the class: write loss={loss.__name__}().")
    check_choice(loss, "loss", LOSSES)
    return LOSSES[loss]


def loss_over(loss: Any, preferences: Preferences, **options: Any) -> PairwiseLoss:
    """Return a loss, given by name or as an object, over the pairs of preferences."""
    make = loss.like if isinstance(loss, PairwiseLoss) else loss_class(loss)
    return make(preferences, **options)


def formula_of(loss: Any) -> str:
    """Return the objective of a loss in words."""
    return loss.formula if isinstance(loss, PairwiseLoss) else LOSSES[loss].formula
