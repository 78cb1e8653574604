"""Pairwise losses as the objectives of other libraries' models: all pairs, any model.

None of these libraries is imported before it is used.
"""

from rankwise.objectives._catboost import catboost
from rankwise.objectives._lightgbm import lightgbm
from rankwise.objectives._xgboost import xgboost

__all__ = ["catboost", "lightgbm", "xgboost"]
