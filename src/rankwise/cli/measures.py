"""The measures of `rankwise evaluate` for each query, and the paired tests between two of them."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import metrics
from rankwise.cli.data import Data

RESAMPLES = 9_999


def measure(data: Data, scores: Any, options: argparse.Namespace) -> dict[str, NDArray[np.float64]]:
    """Give each measure for each query, in sorted order of the queries, NaN where it is undefined.

    NDCG is left out where there are negative labels, which have no gain.
    """
    y, qid = data.y, data.qid
    relevant: dict[str, Any] = {"relevant_above": np.nextafter(options.relevant_at, -np.inf)}
    found: dict[str, Any] = {
        "error": metrics.ranking_error(y, scores, qid, per_query=True),
        "tau": metrics.kendall_tau(y, scores, qid, per_query=True),
    }
    if np.min(y) >= 0:
        for k in (*options.at, None):
            name = "ndcg" if k is None else f"ndcg@{k}"
            found[name] = metrics.ndcg(y, scores, qid, k=k, gain=options.gain, per_query=True)
    found["map"] = metrics.average_precision(y, scores, qid, per_query=True, **relevant)
    found["mrr"] = metrics.reciprocal_rank(y, scores, qid, per_query=True, **relevant)
    for k in options.at:
        found[f"p@{k}"] = metrics.precision(y, scores, qid, k=k, per_query=True, **relevant)
    return found


def p_value(a: NDArray[np.float64], b: NDArray[np.float64], test: str, seed: int) -> float:
    """Give the two-sided p-value of the mean difference over the queries where both are defined.

    "permutation" flips the sign of each query's difference, in all ways where these are few and in 9,999
    random ones otherwise; "wilcoxon" is the signed-rank test. NaN where fewer than two queries are left.

    Examples
    --------
    >>> p_value(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.2, 0.3, 0.4, 0.5]), "permutation", seed=0)
    0.125
    """
    from scipy.stats import permutation_test, wilcoxon

    difference = (a - b)[~np.isnan(a - b)]
    if len(difference) < 2:
        return float("nan")
    if not difference.any():
        return 1.0
    if test == "wilcoxon":
        return float(wilcoxon(difference).pvalue)
    result = permutation_test(
        (difference,),
        lambda values, axis: values.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        random_state=np.random.default_rng(seed),
    )
    return float(result.pvalue)
