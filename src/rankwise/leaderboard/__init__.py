"""Leaderboards from paired comparisons: the Bradley-Terry model, its intervals and its table."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.leaderboard.bradley_terry import BradleyTerry as BradleyTerry
    from rankwise.leaderboard.bradley_terry_cv import BradleyTerryCV as BradleyTerryCV, Candidate as Candidate
    from rankwise.leaderboard.by_category import (
        CategoryLeaderboards as CategoryLeaderboards,
        RankChange as RankChange,
        leaderboards_by as leaderboards_by,
    )
    from rankwise.leaderboard.crowd import CrowdBradleyTerry as CrowdBradleyTerry
    from rankwise.leaderboard.duel_tables import join_duels as join_duels
    from rankwise.leaderboard.fragility import Fragility as Fragility, RemovedVotes as RemovedVotes
    from rankwise.leaderboard.held_out import HeldOut as HeldOut
    from rankwise.leaderboard.links import LINKS as LINKS, Link as Link
    from rankwise.leaderboard.over_time import (
        Rating as Rating,
        Ratings as Ratings,
        ratings_over_time as ratings_over_time,
    )
    from rankwise.leaderboard.score_fragility import TableFragility as TableFragility
    from rankwise.leaderboard.score_order import Separation as Separation, TableDifference as TableDifference
    from rankwise.leaderboard.score_table import (
        ScoreLeaderboard as ScoreLeaderboard,
        ScoreRow as ScoreRow,
        ScoreTable as ScoreTable,
        TaskAgreement as TaskAgreement,
    )
    from rankwise.leaderboard.side_tables import (
        JudgeRow as JudgeRow,
        JudgeTable as JudgeTable,
        PairRow as PairRow,
        PairTable as PairTable,
        judge_table as judge_table,
        pair_table as pair_table,
        undecided_pairs as undecided_pairs,
    )
    from rankwise.leaderboard.plackett_luce import PlackettLuce as PlackettLuce
    from rankwise.leaderboard.prediction_powered import (
        PredictionPoweredBradleyTerry as PredictionPoweredBradleyTerry,
    )
    from rankwise.leaderboard.table import (
        Effect as Effect,
        Leaderboard as Leaderboard,
        LeaderboardRow as LeaderboardRow,
        ScoreDifference as ScoreDifference,
        rank_ranges as rank_ranges,
        step_down_ranges as step_down_ranges,
    )

__getattr__, __dir__, __all__ = lazy_imports(__name__)
