"""Types of arrays for annotations."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# One-dimensional arrays, which annotations cannot express yet.
FloatVector = FloatArray
IntVector = IntArray
ShortVector = NDArray[np.int32]

# An edge of an order graph: (higher, lower).
Edge = tuple[Hashable, Hashable]
