"""The former path of `rankwise.leaderboard.bradley_terry`."""

from rankwise.leaderboard.bradley_terry import BradleyTerry, ScoreDifference

__all__ = ["BradleyTerry", "ScoreDifference"]
