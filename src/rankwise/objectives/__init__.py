"""The losses for models of other libraries: scores in, one coefficient a row out.

No library is imported before its objective is made.
"""

from rankwise.objectives.networks import jax, torch

__all__ = ["jax", "torch"]
