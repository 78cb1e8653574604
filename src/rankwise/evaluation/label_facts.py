"""Facts about labels that decide which measures are defined; those of parts of the rows add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.core.types import FloatArray

# Labels above this are not grades: gains of 2^label would be meaningless.
LARGEST_GRADE = 31


@dataclass(frozen=True)
class LabelFacts:
    """What the choice of measures needs to know of the labels.

    Attributes
    ----------
    are_grades : bool
        Whether all labels are nonnegative integers up to 31.
    n_rows, n_relevant : int
        The number of labels, and of those above the threshold of relevance.
    lowest, lowest_relevant, highest : float
        The lowest label, the lowest one above the threshold, infinite if there is none, and the highest.
    """

    are_grades: bool
    n_rows: int
    n_relevant: int
    lowest: float
    lowest_relevant: float
    highest: float

    @classmethod
    def of(cls, y: FloatArray, relevant_above: float) -> LabelFacts:
        """Return the facts about some labels.

        Examples
        --------
        >>> first, second = (LabelFacts.of(np.array(y), 0.0) for y in ([0.0, 2.0], [1.0, 1.0]))
        >>> both = first + second
        >>> both.are_grades, both.n_relevant, both.lowest_relevant
        (True, 3, 1.0)
        """
        relevant = y > relevant_above
        return cls(
            bool((y >= 0).all() and (y == np.round(y)).all() and y.max() <= LARGEST_GRADE),
            len(y),
            int(relevant.sum()),
            float(y.min()),
            float(y[relevant].min(initial=np.inf)),
            float(y.max()),
        )

    def __add__(self, other: LabelFacts) -> LabelFacts:
        """Return the facts about the labels of both."""
        return LabelFacts(
            self.are_grades and other.are_grades,
            self.n_rows + other.n_rows,
            self.n_relevant + other.n_relevant,
            min(self.lowest, other.lowest),
            min(self.lowest_relevant, other.lowest_relevant),
            max(self.highest, other.highest),
        )
