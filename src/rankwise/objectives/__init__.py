"""Pairwise losses as the objectives of other libraries' models: all pairs, any model.

None of these libraries is imported before its objective is made.
"""

from rankwise.objectives._catboost import catboost
from rankwise.objectives._lightgbm import lightgbm
from rankwise.objectives._xgboost import xgboost
from rankwise.objectives.networks import jax, torch

__all__ = ["catboost", "jax", "lightgbm", "torch", "xgboost"]
