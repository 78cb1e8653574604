"""Pairwise losses over all pairs as objectives for models of other libraries.

A library is imported only when its objective is created.
"""

from rankwise.objectives._catboost import catboost
from rankwise.objectives._lightgbm import lightgbm
from rankwise.objectives._xgboost import xgboost
from rankwise.objectives.networks import torch

__all__ = ["catboost", "lightgbm", "torch", "xgboost"]
