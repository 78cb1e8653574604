"""Score tables: intervals of scores and differences, ranges of ranks, and intervals for all looks."""

import numpy as np
from scipy.special import expit

from rankwise import BradleyTerry, ScoreTable
from rankwise.leaderboard.score_order import Plan

OF_TABLES = ("mean", "wins", "strength")


def task_scores(n_tasks, n_models=5, law="normal", missing=0.0, equal=1, n_instances=0, weighted=False):
    """Tables of values of models in tasks: equally far apart but for the best, half of them correlated.

    `equal` models are the best. With instances, a value is the mean of that many outcomes of 0 and 1.
    """
    mu = 0.15 * np.minimum(np.arange(n_models)[::-1], n_models - equal).astype(float)
    laws = {
        "normal": lambda rng, shape: rng.normal(size=shape),
        "heavy": lambda rng, shape: rng.standard_t(3, size=shape) / np.sqrt(3),
        "skewed": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    }

    def drawn(rng, large=False):
        n = LARGE_TABLE if large else n_tasks
        values = mu + rng.normal(size=(n, 1)) + 0.5 * laws[law](rng, (n, n_models))
        values[:, ::2] += 0.5 * laws[law](rng, (n, 1))
        if n_instances:
            chances = expit(values - mu.mean())
            values = chances if large else rng.binomial(n_instances, chances) / n_instances
        if missing and not large:
            values[rng.random(values.shape) < missing] = np.nan
        weight = rng.exponential(size=n) + 0.1 if weighted else None
        return ScoreTable.from_wide(values, weight=weight), mu

    return drawn


def fixed_tasks(n_tasks, n_instances, n_models=5):
    """Tables of outcomes 0 and 1 on instances of tasks whose difficulties are the same in all simulations."""
    fixed = np.random.default_rng(3)
    mu = 0.15 * np.arange(n_models)[::-1]
    logits = mu + fixed.normal(size=(n_tasks, 1)) + 0.5 * fixed.normal(size=(n_tasks, n_models))

    def drawn(rng, large=False):
        n = 2000 if large else n_instances
        shared = rng.normal(size=(n_tasks, n, 1))  # some instances are hard for all models
        outcome = rng.random((n_tasks, n, n_models)) < expit(logits[:, None] + shared)
        task, instance, model = (axis.ravel() for axis in np.indices(outcome.shape))
        frame = {"model": model, "task": task, "instance": instance, "value": outcome.ravel().astype(float)}
        return ScoreTable(frame, model="model", task="task", value="value", instance="instance"), None

    return drawn


def nested_tasks(n_tasks, n_instances, n_models=5):
    """Tables of outcomes 0 and 1 on instances of tasks, both of which are new in each simulation."""
    mu = 0.3 * np.arange(n_models)[::-1]

    def drawn(rng, large=False):
        n = 4000 if large else n_tasks
        logits = mu + rng.normal(size=(n, 1, 1)) + 0.5 * rng.normal(size=(n, 1, n_models))
        outcome = rng.random((n, n_instances, n_models)) < expit(
            logits + rng.normal(size=(n, n_instances, 1))
        )
        task, instance, model = (axis.ravel() for axis in np.indices(outcome.shape))
        frame = {"model": model, "task": task, "instance": instance, "value": outcome.ravel().astype(float)}
        return ScoreTable(frame, model="model", task="task", value="value", instance="instance"), mu

    return drawn


def table_intervals(drawn, over="tasks", kinds=OF_TABLES):
    """Intervals of scores of all kinds and of all differences, and ranges of ranks that hold together.

    The errors of the ends are recorded, whose truth is 0.
    """
    truth = {}

    def found(rng, large=False):
        table, mu = drawn(rng, large)
        if large:
            truth.update({by: table.influences(by, over).scores for by in kinds})
            ranges = [f"all ranges, {by}" for by in kinds[:2] if mu is not None]
            names = [*kinds, *(f"difference, {by}" for by in kinds), *ranges]
            return dict.fromkeys(names, (0.0,))
        ends = {}
        for by in kinds:
            board, true = table.leaderboard(by, over), truth[by]
            ends[by] = [(row.score, row.low - true[row.item], row.high - true[row.item]) for row in board]
            apart = [(row, true[row.a] - true[row.b]) for row in table.differences("all", by, over)]
            ends[f"difference, {by}"] = [(row.estimate, row.low - d, row.high - d) for row, d in apart]
            if mu is not None and by in kinds[:2]:
                ends[f"all ranges, {by}"] = joint_ranges(board, mu)
        return ends

    return found


def joint_ranges(board, mu):
    """The ranges of all models as an interval that contains 0 if all of them contain the true ranks."""
    best = 1 + (mu > mu[:, None] + 1e-9).sum(axis=1)
    worst = len(mu) - (mu < mu[:, None] - 1e-9).sum(axis=1)
    length = np.mean([row.worst_rank - row.best_rank for row in board])
    holds = all(row.best_rank <= best[row.item] and worst[row.item] <= row.worst_rank for row in board)
    return around_zero(holds, length)


def around_zero(holds, length):
    """An interval of this length that contains 0 if a statement holds."""
    return (0.0, -length / 2, length / 2) if holds else (0.0, length, 2 * length)


def every_look(law, by="mean", first=10, looks=200):
    """Intervals of a difference after each further task: do all of them contain the truth?

    The length is that of the last interval, relative to the fixed one, which is looked at as often.
    """
    drawn = task_scores(first + looks - 1, 3, law)
    truth = []

    def found(rng, large=False):
        table, _ = drawn(rng, large)
        if large:
            scores = table.influences(by).scores
            truth.append(scores[0] - scores[1])
            return {"anytime": (0.0,), "fixed": (0.0,)}
        holds, lengths = {"anytime": True, "fixed": True}, {}
        for end in range(first, first + looks):
            part = ScoreTable.from_wide(table.values_[:end])
            for kind in holds:
                one = part.difference(0, 1, by, intervals=kind)
                holds[kind] &= one.low <= truth[-1] <= one.high
                lengths[kind] = one.high - one.low
        ratios = {kind: length / lengths["fixed"] for kind, length in lengths.items()}
        return {kind: around_zero(holds[kind], ratio) for kind, ratio in ratios.items()}

    return found


def votes_of_looks(first=100, last=5000, looks=40, n_models=5, n_users=0):
    """Intervals of a difference after more and more votes, at looks of equal ratios, as in `every_look`.

    Users, if any, have tastes of their own; they arrive one after the other. The two items are then equal, as
    differences of the mean user are not those of a model of votes.
    """

    def found(rng, large=False):
        if large:
            return {"anytime": (0.0,), "fixed": (0.0,)}
        scores = 0.5 * rng.normal(size=n_models)
        scores[1] = scores[0] if n_users else scores[1]
        user = np.arange(last) * n_users // last
        tastes = 0.7 * rng.normal(size=(max(n_users, 1), n_models)) * (n_users > 0)
        a = rng.integers(n_models, size=last)
        b = (a + rng.integers(1, n_models, size=last)) % n_models
        merit = scores + tastes[user]
        won = rng.random(last) < expit(merit[np.arange(last), a] - merit[np.arange(last), b])
        holds, lengths = {"anytime": True, "fixed": True}, {}
        for end in np.unique(np.geomspace(first, last, looks).astype(int)):
            cluster = user[:end] if n_users else None
            # Intervals do not use the prior; a known alpha saves the search for it.
            model = BradleyTerry(1e-6).fit(a[:end], b[:end], outcome=won[:end] * 1.0, cluster=cluster)
            planned = (n_users or last) / 5
            for kind in holds:
                one = model.difference(0, 1, intervals=kind, planned=planned)
                holds[kind] &= bool(one.low <= scores[0] - scores[1] <= one.high)
                lengths[kind] = one.high - one.low
        ratios = {kind: length / lengths["fixed"] for kind, length in lengths.items()}
        return {kind: around_zero(holds[kind], ratio) for kind, ratio in ratios.items()}

    return found


# Tasks from which true scores are found.
LARGE_TABLE = 40_000
TABLES = {
    **{
        f"{n} tasks x {k} models{end}": table_intervals(task_scores(n, k, law))
        for law, end in (("normal", ""), ("heavy", ", heavy tails"), ("skewed", ", skewed"))
        for n, k in ((10, 5), (30, 5), (100, 5), (10, 40), (30, 40))
        if law == "normal" or n < 100
    },
    "10 tasks x 5 models, 20% missing": table_intervals(task_scores(10, missing=0.2)),
    "30 tasks x 5 models, 20% missing": table_intervals(task_scores(30, missing=0.2)),
    "30 tasks x 40 models, 20% missing": table_intervals(task_scores(30, 40, missing=0.2)),
    "30 tasks x 5 models, two equal best": table_intervals(task_scores(30, equal=2)),
    "30 tasks x 5 models, all equal": table_intervals(task_scores(30, equal=5)),
    "30 tasks x 5 models, means of 50 instances": table_intervals(task_scores(30, n_instances=50)),
    "over instances, 10 tasks x 30 instances": table_intervals(fixed_tasks(10, 30), "instances"),
    "over instances, 10 tasks x 5 instances": table_intervals(fixed_tasks(10, 5), "instances"),
    "30 tasks x 5 models, unequal weights": table_intervals(task_scores(30, weighted=True)),
    "over both, 12 tasks x 20 instances": table_intervals(nested_tasks(12, 20), "both"),
    "over both, 40 tasks x 5 instances": table_intervals(nested_tasks(40, 5), "both"),
    **{f"200 looks from 10 tasks on, {law}": every_look(law) for law in ("normal", "heavy", "skewed")},
    "200 looks from 10 tasks on, wins": every_look("normal", "wins"),
    "200 looks from 10 tasks on, strength": every_look("normal", "strength"),
    "40 looks from 100 votes to 5,000": votes_of_looks(),
    "40 looks from 40 votes to 2,000": votes_of_looks(40, 2000),
    "20 looks from 20 users of 10 votes to 150": votes_of_looks(200, 1500, 20, n_users=150),
}
# Worths of Plackett and Luce are recorded for few tables.
WORTHS = {
    f"worths, {n} tasks x {k} models{end}": table_intervals(task_scores(n, k, law), kinds=("plackett-luce",))
    for n, k, law, end in (
        (10, 5, "normal", ""),
        (30, 5, "normal", ""),
        (30, 20, "normal", ""),
        (30, 5, "heavy", ", heavy tails"),
    )
}


def separated(n_tasks=20):
    """How often as many tasks again separate two models, as "coverage", for the mean chance as "truth".

    True differences are drawn, too, with a spread that is large beside their errors: a chance without a prior
    is right on average over these.
    """

    def found(case, simulations):
        said, right = [], []
        for seed in range(10 * simulations):
            rng = np.random.default_rng(seed)
            values = rng.normal(size=(2 * n_tasks, 2)) + np.array([rng.normal(), 0.0])
            one = ScoreTable.from_wide(values[:n_tasks]).difference(0, 1)
            if one.is_decided:
                continue
            said.append(Plan(one.estimate, one.standard_error, n_tasks - 1, n_tasks).chance(n_tasks))
            right.append(ScoreTable.from_wide(values).difference(0, 1).is_decided)
        level, share = float(np.mean(said)), float(np.mean(right))
        return {"separated": {"truth": level, "coverage": share, "length": 0.0, "undefined": 0}}

    return found


SEPARATIONS = {f"separation, {n} more tasks beside {n}": separated(n) for n in (10, 30)}
