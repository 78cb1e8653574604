"""Leaderboards from paired comparisons: the Bradley-Terry model, its intervals and its table."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names

if TYPE_CHECKING:
    from rankwise.leaderboard.bradley_terry import BradleyTerry, ScoreDifference
    from rankwise.leaderboard.table import Leaderboard, LeaderboardRow, rank_ranges

__all__ = ["BradleyTerry", "Leaderboard", "LeaderboardRow", "ScoreDifference", "rank_ranges"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.leaderboard.bradley_terry": ["BradleyTerry", "ScoreDifference"],
        "rankwise.leaderboard.table": ["Leaderboard", "LeaderboardRow", "rank_ranges"],
    },
)
