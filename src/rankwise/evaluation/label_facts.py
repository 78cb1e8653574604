"""Facts about labels that decide which measures are shown by default; facts about parts add up."""

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
    are_binary : bool
        Whether there are at most two distinct labels.
    n_rows, n_relevant : int
        The number of labels, and of those above the threshold of relevance.
    lowest, lowest_relevant, highest : float
        The lowest label, the lowest one above the threshold, infinite if there is none, and the highest.
    has_threshold : bool
        Whether a threshold of relevance other than 0 was given.
    """

    are_grades: bool
    are_binary: bool
    n_rows: int
    n_relevant: int
    lowest: float
    lowest_relevant: float
    highest: float
    has_threshold: bool

    @classmethod
    def of(cls, y: FloatArray, relevant_above: float) -> LabelFacts:
        """Return the facts about some labels.

        Examples
        --------
        >>> first, second = (LabelFacts.of(np.array(y), 0.0) for y in ([0.0, 2.0], [1.0, 1.0]))
        >>> both = first + second
        >>> both.are_grades, both.are_binary, both.n_relevant, both.lowest_relevant
        (True, False, 3, 1.0)
        """
        relevant, lowest, highest = y > relevant_above, float(y.min()), float(y.max())
        return cls(
            bool(lowest >= 0 and highest <= LARGEST_GRADE and (y == np.round(y)).all()),
            bool(((y == lowest) | (y == highest)).all()),
            len(y),
            int(relevant.sum()),
            lowest,
            float(y[relevant].min(initial=np.inf)),
            highest,
            relevant_above != 0,
        )

    def __add__(self, other: LabelFacts) -> LabelFacts:
        """Return the facts about the labels of both."""
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        ends = {self.lowest, self.highest, other.lowest, other.highest}
        return LabelFacts(
            self.are_grades and other.are_grades,
            self.are_binary and other.are_binary and ends <= {lowest, highest},
            self.n_rows + other.n_rows,
            self.n_relevant + other.n_relevant,
            lowest,
            min(self.lowest_relevant, other.lowest_relevant),
            highest,
            self.has_threshold or other.has_threshold,
        )
