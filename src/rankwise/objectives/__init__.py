"""Pairwise losses as the objectives of other libraries' models: all pairs, any model.

None of these libraries is imported before it is used.
"""

from rankwise.objectives._lightgbm import lightgbm

__all__ = ["lightgbm"]
