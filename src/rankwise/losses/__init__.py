"""Pairwise losses of scores: no loss ever sees the data matrix."""

from rankwise.losses.base import PairwiseLoss
from rankwise.losses.hinge import Hinge
from rankwise.losses.least_squares import LeastSquares
from rankwise.losses.least_squares_form import QuadraticForm, least_squares_form
from rankwise.losses.logistic import Logistic
from rankwise.losses.squared_hinge import SquaredHinge

__all__ = [
    "Hinge",
    "LeastSquares",
    "Logistic",
    "PairwiseLoss",
    "QuadraticForm",
    "SquaredHinge",
    "least_squares_form",
]
