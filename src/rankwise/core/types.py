"""Names of the arrays that annotations speak of."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# The same types with one dimension, which annotations cannot say yet.
FloatVector = FloatArray
IntVector = IntArray
ShortVector = NDArray[np.int32]

# An edge of an order graph: (higher, lower).
Edge = tuple[Hashable, Hashable]
