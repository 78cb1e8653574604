"""The former path of `rankwise.leaderboard.table`."""

from rankwise.leaderboard.table import Leaderboard, LeaderboardRow, rank_ranges

__all__ = ["Leaderboard", "LeaderboardRow", "rank_ranges"]
