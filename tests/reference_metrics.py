"""The textbook measures: loops over queries, pairs and orders. Slow, and plain enough to be checked by eye.

Every function returns one value for each query, in sorted order of the queries, NaN where it is undefined.
"""

from itertools import permutations, product
from math import log2, nan, sqrt


def rows_of_queries(qid):
    return [[i for i, q in enumerate(qid) if q == wanted] for wanted in sorted(set(qid))]


def orders(rows, scores):
    """Every order of the rows in which scores fall; tied rows stand in each of their orders once."""
    levels = sorted({scores[i] for i in rows}, reverse=True)
    tied = [permutations([i for i in rows if scores[i] == level]) for level in levels]
    return [[i for group in groups for i in group] for groups in product(*tied)]


def mean(values):
    return sum(values) / len(values)


def dcg(labels, k, gain):
    total = 0.0
    for rank, label in enumerate(labels[:k], start=1):
        total += (2**label - 1 if gain == "exponential" else label) / log2(rank + 1)
    return total


def ndcg(y, scores, qid, *, k=None, gain="exponential"):
    values = []
    for rows in rows_of_queries(qid):
        best = dcg(sorted((y[i] for i in rows), reverse=True), k, gain)
        found = mean([dcg([y[i] for i in order], k, gain) for order in orders(rows, scores)])
        values.append(found / best if best > 0 else nan)
    return values


def precision(y, scores, qid, *, k=10, relevant_above=0.0):
    values = []
    for rows in rows_of_queries(qid):
        found = mean([sum(y[i] > relevant_above for i in order[:k]) for order in orders(rows, scores)])
        values.append(found / (len(rows) if k is None else k))
    return values


def first_relevant_rank(order, y, relevant_above):
    return next(rank for rank, i in enumerate(order, start=1) if y[i] > relevant_above)


def reciprocal_rank(y, scores, qid, *, relevant_above=0.0):
    values = []
    for rows in rows_of_queries(qid):
        if any(y[i] > relevant_above for i in rows):
            ranks = [first_relevant_rank(order, y, relevant_above) for order in orders(rows, scores)]
            values.append(mean([1 / rank for rank in ranks]))
        else:
            values.append(nan)
    return values


def average_precision(y, scores, qid, *, relevant_above=0.0):
    values = []
    for rows in rows_of_queries(qid):
        precisions = []
        for i in rows:
            if y[i] > relevant_above:
                at_least = [j for j in rows if scores[j] >= scores[i]]
                precisions.append(sum(y[j] > relevant_above for j in at_least) / len(at_least))
        values.append(mean(precisions) if precisions else nan)
    return values


def kendall_tau(y, scores, qid):
    values = []
    for rows in rows_of_queries(qid):
        balance = label_pairs = score_pairs = 0
        for i in rows:
            for j in rows:
                label, score = y[i] - y[j], scores[i] - scores[j]
                balance += (label * score > 0) - (label * score < 0)
                label_pairs += label != 0
                score_pairs += score != 0
        values.append(balance / sqrt(label_pairs * score_pairs) if label_pairs and score_pairs else nan)
    return values


def pair_cost(better, worse, ties):
    if better == worse:
        return {"half": 0.5, "error": 1.0, "correct": 0.0}[ties]
    return float(better < worse)


def ranking_error(y, scores, qid, *, sample_weight=None, ties="half"):
    """Equation (1) of Airola et al. (2011), for each query."""
    totals = pair_totals(y, scores, qid, sample_weight, ties)
    return [error / total if total > 0 else nan for error, total in totals]


def pair_totals(y, scores, qid, sample_weight=None, ties="half"):
    """Weight of the errors and of all pairs, for each query."""
    weight = [1.0] * len(y) if sample_weight is None else sample_weight
    totals = []
    for rows in rows_of_queries(qid):
        error = total = 0.0
        for i in rows:
            for j in rows:
                if y[i] > y[j]:
                    total += weight[i] * weight[j]
                    error += weight[i] * weight[j] * pair_cost(scores[i], scores[j], ties)
        totals.append((error, total))
    return totals


def disagreement_error(better, worse, weight, scores, *, ties="half"):
    """Equation (1) of Pahikkala et al. (2009), with weights and a choice for ties."""
    pairs = zip(better, worse, weight, strict=True)
    return sum(w * pair_cost(scores[i], scores[j], ties) for i, j, w in pairs) / sum(weight)


def wmw(y, scores, edges, *, ties="half"):
    """Section 1.1 of Fung et al. (2005), as the mean over edges."""
    shares = []
    for higher, lower in edges:
        pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] == higher and y[j] == lower]
        shares.append(mean([1 - pair_cost(scores[i], scores[j], ties) for i, j in pairs]))
    return mean(shares)
