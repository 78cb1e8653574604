"""Pairwise losses of scores: a loss never sees the data matrix."""

import importlib

from rankwise.losses.base import PairwiseLoss, PiecewiseLinear, Smooth
from rankwise.losses.hinge import Hinge
from rankwise.losses.huber_hinge import HuberHinge
from rankwise.losses.least_squares import LeastSquares
from rankwise.losses.logistic import Logistic
from rankwise.losses.plackett_luce import PlackettLuce
from rankwise.losses.registry import LOSSES, OBJECTIVES, formula_of, has_log_odds, loss_class, loss_over
from rankwise.losses.squared_hinge import SquaredHinge

# Registers the sums of clicks with the functions that the losses call.
importlib.import_module("rankwise.losses.click_sums")

__all__ = [
    "LOSSES",
    "OBJECTIVES",
    "Hinge",
    "HuberHinge",
    "LeastSquares",
    "Logistic",
    "PairwiseLoss",
    "PiecewiseLinear",
    "PlackettLuce",
    "Smooth",
    "SquaredHinge",
    "formula_of",
    "has_log_odds",
    "loss_class",
    "loss_over",
]
