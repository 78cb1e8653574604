"""Measures, concordances, grades, trials and associations."""

import numpy as np

import rankwise
from rankwise import (
    Preferences,
    pair_data,
)
from rankwise.evaluation import compare, compare_values, grade_agreement
from rankwise.evaluation.grades import NAMES
from rankwise.metrics import concordance, concordance_index, concordance_interval
from rankwise.preferences import Outcome

# The size of the sample from which the truth is found.
MANY = 200_000


def queries(rng, n_queries, n_rows=20):
    """Queries of graded rows, and two models: one feature, and a weaker one."""
    n = n_queries * n_rows
    qid = np.repeat(np.arange(n_queries), n_rows)
    strength = rng.normal(1.0, 0.5, size=n_queries)[qid]  # some queries are easier than others
    x, z = rng.normal(size=(2, n))
    y = np.digitize(strength * x + 0.5 * z + rng.normal(size=n), [0.0, 1.0, 2.0])
    return y, {"x": x, "z": z}, qid


def measure_of_queries(measure, n_queries):
    """Intervals of the mean of a measure and of the difference of two models."""

    def found(rng, large=False):
        y, scores, qid = queries(rng, MANY // 20 if large else n_queries)
        result = compare(y, scores, qid, measures=measure)
        mean, difference = result.measures["x"][0], result.differences[0]
        return {"mean": (mean.mean, mean.low, mean.high), "difference": interval_of(difference)}

    return found


def interval_of(one):
    return one.mean, one.low, one.high


def survival(rng, n, n_strata, strength=1.0):
    """Right-censored times in strata of different hazards, about 30% censored, and scores of two models."""
    x, z = rng.normal(size=(2, n))
    stratum = rng.integers(n_strata, size=n)
    time = rng.exponential(size=n) * np.exp(strength * x + 0.3 * z + stratum / n_strata)
    censored = rng.exponential(size=n) * 5.0
    return Preferences.from_survival(time <= censored, np.minimum(time, censored), qid=stratum), x, z


def concordance_of_strata(n, n_strata, strength=1.0):
    """Intervals of Harrell's index, by the metric and by `compare`, and of the difference of two models."""

    def found(rng, large=False):
        lives, x, z = survival(rng, MANY if large else n, n_strata, strength)
        index = concordance_interval(lives, x)
        if large:
            return {"index": (index.estimate,), "difference": (index.estimate - concordance_index(lives, z),)}
        result = compare(lives, {"x": x, "z": z})
        mean = result.measures["x"][0]
        assert np.allclose([mean.low, mean.high], [index.low, index.high]), "two places disagree"
        return {
            "index": (index.estimate, index.low, index.high),
            "difference": interval_of(result.differences[0]),
        }

    return found


def error_of_one_ranking(n, n_levels):
    """Intervals of the ranking error of one ranking, and of the difference of two models."""

    def found(rng, large=False):
        n_rows = MANY if large else n
        x, z, noise = rng.normal(size=(3, n_rows))
        y = x + 0.5 * z + noise
        if n_levels:
            y = np.digitize(y, np.linspace(-1.5, 1.5, n_levels - 1))
        result = compare(y, {"x": x, "z": z}, measures="error")
        mean = result.measures["x"][0]
        return {"error": (mean.mean, mean.low, mean.high), "difference": interval_of(result.differences[0])}

    return found


def auc_of_classes(n_positive, n_rows, shift=1.0):
    """Intervals of the AUC of a marker, and of the difference of two; the sizes of the classes are given."""

    def found(rng, large=False):
        scale = MANY // n_rows if large else 1
        y = np.arange(n_rows * scale) < n_positive * scale
        x, z = rng.normal(size=(2, len(y))) + np.outer([shift, 0.5], y)
        index = concordance_interval(y, x)
        apart = compare(y.astype(float), {"x": x, "z": z}, measures="error").differences[0]
        return {
            "index": (index.estimate, index.low, index.high),
            "difference": (-apart.mean, -apart.high, -apart.low),
        }

    return found


def concordance_of_pairs(n_pairs, n_rows=None):
    """Intervals of the fraction of listed pairs in the right order: disjoint, or of few rows."""

    def found(rng, large=False):
        scale = MANY // n_pairs if large else 1
        if n_rows is None:
            first, second = np.arange(2 * n_pairs * scale).reshape(2, -1)
        else:
            first = rng.integers(n_rows * scale, size=n_pairs * scale)
            second = (first + rng.integers(1, n_rows * scale, size=n_pairs * scale)) % (n_rows * scale)
        quality = rng.normal(size=max(first.max(), second.max()) + 1)
        above = quality[first] + rng.gumbel(size=len(first)) > quality[second] + rng.gumbel(size=len(first))
        pairs = Preferences.from_pairs(
            np.where(above, first, second), np.where(above, second, first), n_rows=len(quality)
        )
        x, z = quality + rng.normal(size=(2, len(quality))) * np.array([[0.5], [1.5]])
        index = concordance_interval(pairs, x)
        apart = compare(pairs, {"x": x, "z": z}, measures="error").differences[0]
        return {
            "index": (index.estimate, index.low, index.high),
            "difference": (-apart.mean, -apart.high, -apart.low),
        }

    return found


def agreement_of_grades(n_rows):
    """Intervals of the accuracy, the absolute error and the quadratic kappa of predicted grades."""

    def found(rng, large=False):
        x, noise = rng.normal(size=(2, MANY if large else n_rows))
        y, predicted = (np.digitize(values, [-1.0, 0.0, 1.0]) for values in (x + 0.7 * noise, x))
        agreement = grade_agreement(y, predicted, categories=range(4))
        return {
            title.lower(): (getattr(agreement, name), *agreement.intervals[name])
            for name, title in NAMES.items()
        }

    return found


def error_of_prompts(n_prompts, n_votes):
    """Intervals of the error of votes whose prompts differ in difficulty."""

    def found(rng, large=False):
        prompts = np.repeat(np.arange(MANY // n_votes if large else n_prompts), n_votes)
        right = rng.beta(1.0, 0.6, size=prompts.max() + 1)[prompts]
        margin = np.where(rng.random(len(prompts)) < right, 1.0, -1.0)[:, None]
        X, pairs = pair_data(margin, np.zeros_like(margin), groups=prompts)
        result = compare(pairs, {"margin": X[:, 0], "none": rng.normal(size=len(X))}, measures="error")
        mean = result.measures["margin"][0]
        return {"error": (mean.mean, mean.low, mean.high)}

    return found


def one_relevant_row(measure, n_queries, strength):
    """Intervals of a measure of queries with one relevant row of 20, mostly found, and of a difference."""

    def found(rng, large=False):
        n = 20_000 if large else n_queries
        qid, y = np.repeat(np.arange(n), 20), np.tile(np.arange(20) == 0, n).astype(float)
        x = rng.normal(size=20 * n) + strength * y
        z = x + 0.6 * rng.normal(size=20 * n)
        result = compare(y, {"x": x, "z": z}, qid, measures=measure)
        mean = result.measures["x"][0]
        return {
            "mean": (mean.mean, mean.low, mean.high),
            "difference": interval_of(result.differences[0]),
        }

    return found


def votes_of_groups(sizes):
    """Intervals of the error of votes in groups of given sizes, and of the difference of two equal models."""
    group = np.repeat(np.arange(len(sizes)), sizes)

    def found(rng, large=False):
        if large:
            return {"error": (1.2 / 3.2,), "difference": (0.0,)}
        right = rng.beta(2.0, 1.2, size=(2, len(sizes)))[:, group]
        margin = np.where(rng.random(right.shape) < right, 1.0, -1.0).T
        X, pairs = pair_data(margin, np.zeros_like(margin), groups=group)
        result = compare(pairs, {"a": X[:, 0], "b": X[:, 1]}, measures="error")
        mean = result.measures["a"][0]
        return {
            "error": (mean.mean, mean.low, mean.high),
            "difference": interval_of(result.differences[0]),
        }

    return found


def skewed_differences(n_queries):
    """Intervals of a mean difference of 0: a small gain on nine queries of ten, a large loss on one."""

    def found(rng, large=False):
        if large:
            return {"difference": (0.0,)}
        apart = np.where(rng.random(n_queries) < 0.9, 0.02, -0.18) + 0.01 * rng.normal(size=n_queries)
        result = compare_values({"a": 0.5 + apart, "b": np.full(n_queries, 0.5)})
        return {"difference": interval_of(result.differences[0])}

    return found


def equal_models(n_models, n_queries):
    """Intervals of the differences of the first of several equal models: the part that all have in common."""

    def found(rng, large=False):
        if large:
            return {"all differences": (0.0,)}
        y, scores, qid = queries(rng, n_queries)
        common = scores["x"]
        models = {str(k): common + rng.normal(size=len(y)) for k in range(n_models)}
        apart = compare(y, models, qid, measures="error").differences
        return {"all differences": (0.0, max(one.low for one in apart), min(one.high for one in apart))}

    return found


def concordance_of_few_events(n, limit):
    """Intervals of concordances if most times are censored, and of the difference of two equal models."""

    def found(rng, large=False):
        x, z, common = rng.normal(size=(3, MANY if large else n))
        time = rng.exponential(size=len(x)) * np.exp(common)
        censored = rng.exponential(size=len(x)) * limit
        lives = Preferences.from_survival(time <= censored, np.minimum(time, censored))
        x, z = common + x, common + z
        index = concordance_interval(lives, x)
        apart = (0.0,) if large else interval_of(compare(lives, {"x": x, "z": z}).differences[0])
        return {"index": (index.estimate, index.low, index.high), "difference": apart}

    return found


def concordance_of_eyes(n_patients):
    """Intervals of the concordance of two eyes per patient, which share a marker and a frailty."""

    def found(rng, large=False):
        patient = np.repeat(np.arange(MANY // 2 if large else n_patients), 2)
        shared, frailty = rng.normal(size=(2, patient.max() + 1))
        x = shared[patient] + 0.3 * rng.normal(size=len(patient))
        time = rng.exponential(size=len(patient)) * np.exp(x + frailty[patient])
        censored = 3.0 * rng.exponential(size=len(patient))
        index = concordance_interval((time <= censored, np.minimum(time, censored)), x, cluster=patient)
        return {"index": (index.estimate, index.low, index.high)}

    return found


def trial_of(n, n_strata=1, weights="pairs"):
    """Intervals of win statistics: deaths of which most are censored, visits to the hospital, and a walk."""

    def found(rng, large=False):
        n_patients = MANY if large else 2 * n
        arm = np.arange(n_patients) % 2
        stratum = rng.integers(n_strata, size=n_patients)
        frailty = rng.normal(size=n_patients) + stratum / n_strata
        time = rng.exponential(size=n_patients) * np.exp(0.3 * arm - 0.5 * frailty)
        end = rng.uniform(0.2, 0.6, size=n_patients)
        walk = 300 + 60 * rng.normal(size=n_patients) + 20 * arm - 20 * frailty
        outcomes = [
            Outcome(np.minimum(time, end), time <= end),
            Outcome(rng.poisson(np.exp(0.3 * frailty - 0.2 * arm)), higher_is_better=False),
            Outcome(walk, margin=30),
        ]
        result = rankwise.win_statistics(arm, outcomes, stratum, stratum_weights=weights)
        parts = result.win_ratio, result.win_odds, result.net_benefit
        return {one.name: (one.estimate, one.low, one.high) for one in parts}

    return found


def association_of(n, n_levels):
    """Intervals of Kendall's tau, gamma and Somers' D of labels with many or few values."""

    def found(rng, large=False):
        x, noise = rng.normal(size=(2, MANY if large else n))
        y = np.digitize(x + noise, np.linspace(-1.5, 1.5, n_levels - 1)) if n_levels else x + noise
        result = concordance(y, np.round(x, 1))
        parts = result.tau_a, result.tau_b, result.gamma, result.somers_d
        return {one.name: (one.estimate, one.low, one.high) for one in parts}

    return found
