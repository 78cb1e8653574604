"""Measures of rankings: errors of pairs, and the measures of information retrieval.

Every measure takes the labels `y`, the predicted `scores` (higher is better) and optionally the query of each
row, `qid`. It is computed for all queries in one pass over sorted rows, and averaged over queries. No measure
depends on the input order of rows with equal scores.
"""

from rankwise.evaluation.association import Association, Coefficient, concordance
from rankwise.evaluation.concordance import Concordance, concordance_index, concordance_interval
from rankwise.evaluation.list_measures import average_precision, ndcg, precision, reciprocal_rank
from rankwise.evaluation.pair_measures import (
    disagreement_error,
    kendall_tau,
    pair_log_loss,
    ranking_error,
    wmw,
)

__all__ = [
    "Association",
    "Coefficient",
    "Concordance",
    "average_precision",
    "concordance",
    "concordance_index",
    "concordance_interval",
    "disagreement_error",
    "kendall_tau",
    "ndcg",
    "pair_log_loss",
    "precision",
    "ranking_error",
    "reciprocal_rank",
    "wmw",
]
