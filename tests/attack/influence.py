"""The influence of a row on an error or a concordance, against difference quotients by its weight."""

import numpy as np

import reference
from attack.draws import choice
from rankwise import Preferences
from rankwise.evaluation.concordance import concordance_estimate
from rankwise.evaluation.intervals import error_estimate

STEP = 1e-5


def life(rng):
    """Events, times, scores, strata and weights, with ties."""
    n = int(rng.integers(4, 20))
    event, time = rng.random(n) < 0.6, rng.integers(0, choice(rng, [6, 50]), n) * 0.5
    scores, stratum = rng.integers(-4, 5, n) * 0.25, rng.integers(0, 2, n)
    return event, time, scores, stratum, rng.choice([0.5, 1.0, 3.0], n)


def case(rng):
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
