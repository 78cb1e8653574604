"""Pairwise losses of scores: a loss never sees the data matrix."""

import importlib

from rankwise.losses.base import PairwiseLoss, PiecewiseLinear, Smooth
from rankwise.losses.hinge import Hinge
from rankwise.losses.least_squares import LeastSquares
from rankwise.losses.logistic import Logistic
from rankwise.losses.squared_hinge import SquaredHinge

# Registers the sums of clicks with the functions that the losses call.
importlib.import_module("rankwise.losses.click_sums")

__all__ = [
    "LOSSES",
    "Hinge",
    "LeastSquares",
    "Logistic",
    "PairwiseLoss",
    "PiecewiseLinear",
    "Smooth",
    "SquaredHinge",
]

# Losses by name, for estimators, commands and reports: a new loss is a file and a line here.
LOSSES: dict[str, type[PairwiseLoss]] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
}
