"""Measures, concordance, standard errors and reliability, against loops, scikit-learn and scipy."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score, roc_auc_score

import reference
import reference_metrics
import test_survival
from attack.draws import choice, for_examples
from rankwise import Preferences
from rankwise import metrics as measures
from rankwise.evaluation import reliability
from rankwise.evaluation.concordance import concordance_estimate
from rankwise.evaluation.intervals import error_estimate
from strategies import cases
from test_reliability import close

STEP = 1e-5


def case(rng):
    """Draw one of the four."""
    return choice(rng, [lists, concordance, influence, reliabilities])(rng)


def lists(rng):
    """Every measure per query, and some of one query by other libraries."""
    n = int(rng.integers(2, 14))
    y, scores = rng.integers(0, 4, n) * 1.0, rng.integers(0, 6, n) * 0.5
    qid = rng.integers(0, 1 + n // 3, n)
    k = choice(rng, [None, 1, 2, 5])
    gain, ties = choice(rng, ["exponential", "linear"]), choice(rng, ["half", "error", "correct"])
    above = choice(rng, [0.0, 1.0])
    compared = {
        "ndcg": {"k": k, "gain": gain},
        "precision": {"k": k, "relevant_above": above},
        "reciprocal_rank": {"relevant_above": above},
        "average_precision": {"relevant_above": above},
        "kendall_tau": {},
        "ranking_error": {"ties": ties},
    }
    for name, options in compared.items():
        expected = getattr(reference_metrics, name)(y.tolist(), scores.tolist(), qid.tolist(), **options)
        found = getattr(measures, name)(y, scores, qid, per_query=True, **options)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=f"{name} {options}")
    return len(compared) + other_libraries(y, scores)


def other_libraries(y, scores):
    """NDCG and AUC of scikit-learn and tau-b of scipy, where they are defined."""
    if len(set(y)) < 2 or len(set(scores)) < 2:
        return 0
    expected = ndcg_score([y], [scores])
    np.testing.assert_allclose(measures.ndcg(y, scores, gain="linear"), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(measures.kendall_tau(y, scores), kendalltau(y, scores)[0], rtol=0, atol=1e-12)
    high = y == y.max()
    expected = 1 - roc_auc_score(high, scores)
    np.testing.assert_allclose(measures.ranking_error(high * 1.0, scores), expected, rtol=0, atol=1e-12)
    return 3


def life(rng):
    """Events, times, scores, strata and weights, with ties."""
    n = int(rng.integers(4, 20))
    event, time = rng.random(n) < 0.6, rng.integers(0, choice(rng, [6, 50]), n) * 0.5
    scores, stratum = rng.integers(-4, 5, n) * 0.25, rng.integers(0, 2, n)
    return event, time, scores, stratum, rng.choice([0.5, 1.0, 3.0], n)


def concordance(rng):
    """Harrell's and Uno's index."""
    event, time, scores, stratum, weight = life(rng)
    tau = choice(rng, [np.inf, 2.0])
    expected = test_survival.reference(event, time, scores, stratum, tau=tau, weight=weight)
    if expected is None:
        return 0
    y = Preferences.from_survival(event, time, weight, qid=stratum)
    np.testing.assert_allclose(measures.concordance_index(y, scores, tau=tau), expected, rtol=0, atol=1e-12)
    expected = test_survival.reference(event, time, scores, stratum, uno=True)
    y = Preferences.from_survival(event, time, qid=stratum)
    np.testing.assert_allclose(
        measures.concordance_index(y, scores, weights="uno"), expected, rtol=0, atol=1e-12
    )
    return 2


def influence(rng):
    """The influence of a row is the derivative by its weight, and influences sum to 0."""
    event, time, scores, stratum, weight = life(rng)
    if rng.random() < 0.5:
        pairs = lambda w: reference.ranking_pairs(time, stratum, w)  # noqa: E731
        average = choice(rng, ["queries", "pairs"])
        make = lambda: error_estimate(Preferences.from_scores(time, stratum, weight), scores, average)  # noqa: E731
        sign = 1.0
    else:
        pairs = lambda w: [  # noqa: E731
            pair for pair in reference.survival_pairs(event, time, w) if stratum[pair[0]] == stratum[pair[1]]
        ]
        average, sign = "pairs", -1.0
        make = lambda: concordance_estimate(  # noqa: E731
            Preferences.from_survival(event, time, weight, qid=stratum), scores
        )
    if not pairs(weight):
        return 0

    def error(w):
        listed = reference.normalised(pairs(w), average)
        return sum(u * ((scores[i] < scores[j]) + (scores[i] == scores[j]) / 2) for i, j, u, *_ in listed)

    found, steps = make(), STEP * np.eye(len(time))
    slopes = [(error(weight * (1 + step)) - error(weight * (1 - step))) / (2 * STEP) for step in steps]
    np.testing.assert_allclose(found.influence, sign * np.array(slopes), rtol=0, atol=1e-8)
    assert abs(found.influence.sum()) <= 1e-12
    return 2


def reliabilities(rng):
    """Shares, probabilities and frequencies of bins."""
    averages = st.sampled_from(["queries", "pairs"])
    return for_examples(rng, check_reliability, cases(), st.integers(1, 12), averages, examples=10)


def check_reliability(drawn, bins, average):
    pairs = drawn.normalised(average)
    assume(abs(sum(w for _, _, w, _, _ in pairs) - 1) < 1e-9)
    close(reliability(drawn.preferences, drawn.scores, bins=bins, average=average), pairs, drawn.scores)
