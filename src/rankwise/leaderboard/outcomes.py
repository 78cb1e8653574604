"""The weights of outcomes of votes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rankwise.core.types import FloatVector


@dataclass(frozen=True)
class Outcomes:
    """The weights of wins, losses and ties of the first item, per entry."""

    wins: FloatVector
    losses: FloatVector
    ties: FloatVector

    @cached_property
    def total(self) -> FloatVector:
        """The weight of each entry."""
        return self.wins + self.losses + self.ties

    @cached_property
    def lead(self) -> FloatVector:
        """Half of the wins minus half of the losses."""
        return 0.5 * (self.wins - self.losses)

    def scaled(self, factor: float) -> Outcomes:
        """Return the weights times a factor."""
        return Outcomes(factor * self.wins, factor * self.losses, factor * self.ties)
