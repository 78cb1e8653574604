"""Leaderboards from paired comparisons: the Bradley-Terry model, its intervals and its table."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names

if TYPE_CHECKING:
    from rankwise.leaderboard.bradley_terry import BradleyTerry
    from rankwise.leaderboard.bradley_terry_cv import BradleyTerryCV, Candidate
    from rankwise.leaderboard.by_category import CategoryLeaderboards, RankChange, leaderboards_by
    from rankwise.leaderboard.crowd import CrowdBradleyTerry
    from rankwise.leaderboard.differences import ScoreDifference
    from rankwise.leaderboard.duel_tables import join_duels
    from rankwise.leaderboard.fragility import Fragility, RemovedVotes
    from rankwise.leaderboard.held_out import HeldOut
    from rankwise.leaderboard.judge_rows import JudgeRow, JudgeTable, judge_table
    from rankwise.leaderboard.links import LINKS, Link
    from rankwise.leaderboard.over_time import Rating, Ratings, ratings_over_time
    from rankwise.leaderboard.pair_rows import PairRow, PairTable, pair_table
    from rankwise.leaderboard.prediction_powered import PredictionPoweredBradleyTerry
    from rankwise.leaderboard.table import Effect, Leaderboard, LeaderboardRow, rank_ranges, step_down_ranges

__all__ = [
    "LINKS",
    "BradleyTerry",
    "BradleyTerryCV",
    "Candidate",
    "CategoryLeaderboards",
    "CrowdBradleyTerry",
    "Effect",
    "Fragility",
    "HeldOut",
    "JudgeRow",
    "JudgeTable",
    "Leaderboard",
    "LeaderboardRow",
    "Link",
    "PairRow",
    "PairTable",
    "PredictionPoweredBradleyTerry",
    "RankChange",
    "Rating",
    "Ratings",
    "RemovedVotes",
    "ScoreDifference",
    "join_duels",
    "judge_table",
    "leaderboards_by",
    "pair_table",
    "rank_ranges",
    "ratings_over_time",
    "step_down_ranges",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.leaderboard.bradley_terry": ["BradleyTerry"],
        "rankwise.leaderboard.by_category": ["CategoryLeaderboards", "RankChange", "leaderboards_by"],
        "rankwise.leaderboard.differences": ["ScoreDifference"],
        "rankwise.leaderboard.crowd": ["CrowdBradleyTerry"],
        "rankwise.leaderboard.links": ["LINKS", "Link"],
        "rankwise.leaderboard.prediction_powered": ["PredictionPoweredBradleyTerry"],
        "rankwise.leaderboard.duel_tables": ["join_duels"],
        "rankwise.leaderboard.judge_rows": ["JudgeRow", "JudgeTable", "judge_table"],
        "rankwise.leaderboard.bradley_terry_cv": ["BradleyTerryCV", "Candidate"],
        "rankwise.leaderboard.fragility": ["Fragility", "RemovedVotes"],
        "rankwise.leaderboard.held_out": ["HeldOut"],
        "rankwise.leaderboard.over_time": ["Rating", "Ratings", "ratings_over_time"],
        "rankwise.leaderboard.pair_rows": ["PairRow", "PairTable", "pair_table"],
        "rankwise.leaderboard.table": [
            "Effect",
            "Leaderboard",
            "LeaderboardRow",
            "rank_ranges",
            "step_down_ranges",
        ],
    },
)
