"""Leaderboards from votes, judges, duels and rankings."""

import warnings
from itertools import combinations

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from coverage_cases.simulation import rounded
from rankwise import (
    BradleyTerry,
    CrowdBradleyTerry,
    PlackettLuce,
    PredictionPoweredBradleyTerry,
)
from rankwise.leaderboard import leaderboards_by

N_ITEMS = 20


# Nodes and weights of the mean over a normal distribution.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def random_pairs(rng, n, n_items=N_ITEMS):
    """Two different items per vote."""
    first = rng.integers(n_items, size=n)
    return first, (first + rng.integers(1, n_items, size=n)) % n_items


def independent_votes(n, sd, n_items=N_ITEMS):
    """Votes between random pairs, with scores of standard deviation sd."""

    def drawn(rng):
        scores = rng.normal(0, sd, size=n_items)
        a, b = random_pairs(rng, n, n_items)
        return a, b, scores[a] - scores[b], scores, {}

    return drawn


def matchmaking(n, sd, strength):
    """Votes between items of similar scores: the odds of a pair fall with the distance of its scores."""

    def drawn(rng):
        scores = rng.normal(0, sd, size=N_ITEMS)
        odds = np.exp(-strength * np.abs(scores[:, None] - scores)) * (1 - np.eye(N_ITEMS))
        a, b = np.divmod(rng.choice(N_ITEMS**2, size=n, p=odds.ravel() / odds.sum()), N_ITEMS)
        return a, b, scores[a] - scores[b], scores, {}

    return drawn


def marginal_scores(scores, spread):
    """Scores of the marginal probabilities if each cluster shifts each item by N(0, spread^2)."""
    shifted = (scores[:, None] - scores)[..., None] + 2**0.5 * spread * NODES
    target, found = expit(shifted) @ (NODE_WEIGHTS / NODE_WEIGHTS.sum()), scores - scores.mean()
    for _ in range(40):
        p = expit(found[:, None] - found)
        information = np.diag((p * (1 - p)).sum(axis=1)) - p * (1 - p)
        found = found + np.linalg.solve(information + 1, (target - p).sum(axis=1))
    return found - found.mean()


def clustered_votes(n_clusters, size, one_pair=False, n_models=N_ITEMS, spread=0.7):
    """Votes of users, or on prompts, each with its own scores; on one pair, or on some of the items."""

    def drawn(rng):
        scores = rng.normal(size=N_ITEMS)
        cluster = np.repeat(np.arange(n_clusters), size)
        if one_pair:
            a, b = (items.repeat(size) for items in random_pairs(rng, n_clusters))
        else:
            models = np.array([rng.choice(N_ITEMS, n_models, replace=False) for _ in range(n_clusters)])
            first = rng.integers(n_models, size=len(cluster))
            second = (first + rng.integers(1, n_models, size=len(cluster))) % n_models
            a, b = models[cluster, first], models[cluster, second]
        shift = rng.normal(0, spread, size=(n_clusters, N_ITEMS))
        d = scores[a] - scores[b] + shift[cluster, a] - shift[cluster, b]
        return a, b, d, marginal_scores(scores, spread), {"cluster": cluster}

    return drawn


def two_way_votes(n_users, n_prompts, n=3000, spread=0.5):
    """Votes of users on prompts, both with scores of their own."""

    def drawn(rng):
        scores = rng.normal(size=N_ITEMS)
        user, prompt = rng.integers(n_users, size=n), rng.integers(n_prompts, size=n)
        a, b = random_pairs(rng, n)
        d = scores[a] - scores[b]
        for cluster, n_clusters in ((user, n_users), (prompt, n_prompts)):
            shift = rng.normal(0, spread, size=(n_clusters, N_ITEMS))
            d = d + shift[cluster, a] - shift[cluster, b]
        return a, b, d, marginal_scores(scores, 2**0.5 * spread), {"cluster": (user, prompt)}

    return drawn


def weighted_votes(n, half_life=None):
    """Votes with lognormal weights, or with dates and a half-life."""

    def drawn(rng):
        scores = rng.normal(size=N_ITEMS)
        a, b = random_pairs(rng, n)
        more = {"weight": rng.lognormal(size=n)} if half_life is None else {"date": np.arange(n)}
        return a, b, scores[a] - scores[b], scores, more

    return drawn


def leaderboard_intervals(drawn, copies=1, **options):
    """Intervals of scores, of the truly best minus the truly worst, and of ranks.

    The items of a simulation have scores of their own, so the errors of the ends are recorded, whose truth
    is 0; coverage is the mean over all items.
    """

    def found(rng, large=False):
        names = ("score", "best - worst", "rank")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, d, scores, more = drawn(rng)
        result = (rng.random(len(a)) < expit(d)).astype(float)
        if copies > 1:
            a, b, result, more = (
                *(np.repeat(one, copies) for one in (a, b, result)),
                {"cluster": np.repeat(np.arange(len(a)), copies)},
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # matchmaking
            model = BradleyTerry(**options).fit(a, b, outcome=result, **more)
        board = model.leaderboard()
        # With matchmaking, an item may be in no vote.
        shift = scores[board.reference or model.items_].mean()
        truth = {item: scores[item] - shift for item in model.items_.tolist()}
        order = sorted(truth, key=truth.get, reverse=True)
        rank = {item: place + 1 for place, item in enumerate(order)}
        ends = model.difference(order[0], order[-1])
        apart = truth[order[0]] - truth[order[-1]]
        return {
            "score": [(row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in board],
            "best - worst": [(ends.difference, ends.low - apart, ends.high - apart)],
            "rank": [
                (row.rank, row.best_rank - rank[row.item], row.worst_rank - rank[row.item]) for row in board
            ],
        }

    return found


def far_item(gap, n=400, n_users=None, weighted=False, spread=0.5):
    """Votes between random pairs; the first item is far above 19 others, and may win all its votes."""

    def drawn(rng):
        scores = rng.normal(0, 0.3, size=N_ITEMS)
        scores[0] = gap
        a, b = random_pairs(rng, n)
        d, more = scores[a] - scores[b], {}
        if n_users:
            user = rng.integers(n_users, size=n)
            shift = rng.normal(0, spread, size=(n_users, N_ITEMS))
            d, scores = d + shift[user, a] - shift[user, b], marginal_scores(scores, spread)
            more["cluster"] = user
        if weighted:
            more["weight"] = rng.lognormal(sigma=0.5, size=n)
        return a, b, d, scores, more

    return drawn


def users_of_unequal_size(n_users, n=800, n_items=8, spread=0.7):
    """Votes of users with their own scores, whose numbers of votes follow Zipf's law."""

    def drawn(rng):
        scores, share = rng.normal(size=n_items), 1 / np.arange(1, n_users + 1)
        cluster = rng.choice(n_users, size=n, p=share / share.sum())
        cluster[:n_users] = np.arange(n_users)
        a, b = random_pairs(rng, n, n_items)
        shift = rng.normal(0, spread, size=(n_users, n_items))
        d = scores[a] - scores[b] + shift[cluster, a] - shift[cluster, b]
        return a, b, d, marginal_scores(scores, spread), {"cluster": cluster}

    return drawn


def votes_with_ties(rng, d, tie=0.7):
    """Outcomes of Davidson's model: 1, 1/2 and 0 in proportion to exp(d/2), `tie` and exp(-d/2)."""
    chances = np.stack([np.exp(0.5 * d), np.full(len(d), tie), np.exp(-0.5 * d)])
    place = rng.random(len(d)) * chances.sum(axis=0)
    return np.where(place < chances[0], 1.0, np.where(place < chances[:2].sum(axis=0), 0.5, 0.0))


def outlying_item(drawn, **options):
    """Intervals of an item far from the rest, of its difference with another, and of the others."""

    def found(rng, large=False):
        names = ("score", "difference", "others", "rank")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, d, scores, more = drawn(rng)
        won = votes_with_ties(rng, d) if options else (rng.random(len(a)) < expit(d)).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a tie effect that few ties know
            model = BradleyTerry(**options).fit(a, b, outcome=won, **more)
        board = model.leaderboard()
        shift = scores[board.reference or model.items_].mean()
        errors = {
            row.item: (row.score, row.low - scores[row.item] + shift, row.high - scores[row.item] + shift)
            for row in board
        }
        (first,) = (row for row in board if row.item == 0)
        apart = model.difference(0, 1)
        gap_of_pair = scores[0] - scores[1]
        return {
            "score": [errors[0]],
            "difference": [(apart.difference, apart.low - gap_of_pair, apart.high - gap_of_pair)],
            "others": [errors[item] for item in errors if item],
            "rank": [(first.rank, first.best_rank - 1, first.worst_rank - 1)],
        }

    return found


def claimed_order(drawn):
    """How often claims of an order with 95% or more are right, as "coverage", for their mean as "truth"."""

    def found(case, simulations):
        said, right = [], []
        for seed in range(simulations):
            rng = np.random.default_rng(seed)
            a, b, d, scores, more = drawn(rng)
            i, j = np.triu_indices(len(scores), 1)
            model = BradleyTerry().fit(a, b, outcome=(rng.random(len(a)) < expit(d)).astype(float), **more)
            chance = np.array([one.probability for one in model.differences(i.tolist(), j.tolist())])
            said += np.maximum(chance, 1 - chance).tolist()
            right += ((chance > 0.5) == (scores[i] > scores[j])).tolist()
        clear = np.array(said) >= 0.95
        level, share = float(np.array(said)[clear].mean()), float(np.array(right)[clear].mean())
        return {
            "claims": {"truth": rounded(level), "coverage": rounded(share), "length": 0.0, "undefined": 0}
        }

    return found


def two_groups(n, n_items=12):
    """Votes between items of two groups, whose scores are nearly equal inside each."""

    def drawn(rng):
        scores = np.where(np.arange(n_items) < n_items // 2, 1.0, -1.0) + 0.05 * rng.normal(size=n_items)
        a, b = random_pairs(rng, n, n_items)
        return a, b, scores[a] - scores[b], scores, {}

    return drawn


CLAIMS = {
    **{
        f"leaderboard, claims of an order: 12 items of sd {sd}, 300 votes": independent_votes(300, sd, 12)
        for sd in (0.1, 0.3, 1)
    },
    "leaderboard, claims of an order: 12 items in two groups, 300 votes": two_groups(300),
    "leaderboard, claims of an order: 5 users of unequal size, 800 votes": users_of_unequal_size(5),
}


def first_place(votes, n_items, **options):
    """How often the likely best item is the best, as "coverage", for the mean probability it has as "truth".

    The standard deviation of scores is drawn, too: a probability is right on average over a prior.
    """

    def found(case, simulations):
        chances, is_best = [], []
        for seed in range(simulations):
            rng = np.random.default_rng(seed)
            sd = np.exp(0.5 * rng.normal())
            a, b, d, scores, _ = independent_votes(votes, sd, n_items)(rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # matchmaking by chance
                model = BradleyTerry(**options).fit(
                    a, b, outcome=(rng.random(votes) < expit(d)).astype(float)
                )
            chance = model.top_probabilities()
            chances.append(chance.max())
            is_best.append(model.items_[chance.argmax()] == scores.argmax())
        level, share = float(np.mean(chances)), float(np.mean(is_best))
        return {"first place": {"truth": level, "coverage": share, "length": 0.0, "undefined": 0}}

    return found


EFFECTS = np.array([0.5, -0.3, 0.2])


def covariate_intervals(n, n_clusters=None, dependence=0.4):
    """Intervals of scores and of the effects of three covariates, with independent or clustered votes.

    The first covariate goes with the items, the second is independent of them, and the third is the same for
    all votes of a cluster. Votes of a cluster depend on each other by a normal copula, which leaves the
    probability of each vote as it is.
    """

    def found(rng, large=False):
        names = ("score", *(f"effect {k + 1}" for k in range(3)))
        if large:
            return dict.fromkeys(names, (0.0,))
        scores = rng.normal(size=N_ITEMS)
        a, b = random_pairs(rng, n)
        cluster = np.arange(n) % (n_clusters or n)
        wordiness = 0.7 * scores + 0.7 * rng.normal(size=N_ITEMS)
        Z = np.stack(
            [
                wordiness[a] - wordiness[b] + rng.normal(size=n),
                rng.choice([-1.0, 1.0], size=n),
                rng.normal(size=cluster.max() + 1)[cluster],
            ],
            axis=1,
        )
        share = dependence if n_clusters else 0.0
        noise = share**0.5 * rng.normal(size=cluster.max() + 1)[cluster]
        noise = noise + (1 - share) ** 0.5 * rng.normal(size=n)
        result = (norm.cdf(noise) < expit(scores[a] - scores[b] + Z @ EFFECTS)).astype(float)
        model = BradleyTerry().fit(
            a, b, outcome=result, covariates=Z, cluster=cluster if n_clusters else None
        )
        truth = scores - scores.mean()
        rows = [
            (row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in model.leaderboard()
        ]
        effects = [
            (one.value, one.low - value, one.high - value)
            for one, value in zip(model.effects(), EFFECTS, strict=True)
        ]
        return dict(zip(names, [rows, *effects], strict=True))

    return found


def judged_votes(n, n_judges, sd=1.0, slope_sd=0.7, order_sd=0.5):
    """Votes of judges with lognormal slopes and normal order effects, as many of each judge."""

    def drawn(rng):
        scores = rng.normal(0, sd, size=N_ITEMS)
        logs, orders = rng.normal(0, slope_sd, size=n_judges), rng.normal(0, order_sd, size=n_judges)
        a, b = random_pairs(rng, n)
        judge = np.arange(n) % n_judges
        won = rng.random(n) < expit(np.exp(logs[judge]) * (scores[a] - scores[b]) + orders[judge])
        return (
            a,
            b,
            won.astype(float),
            judge,
            scores * np.exp(logs.mean()),
            np.exp(logs - logs.mean()),
            orders,
        )

    return drawn


def judge_coverage(drawn, **options):
    """Intervals of scores, slopes and order effects of judges; the errors of the ends, as above."""

    def found(rng, large=False):
        names = ("score", "best - worst", "slope", "order")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, won, judge, scores, slopes, orders = drawn(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a judge with a small slope may seem opposed
            model = CrowdBradleyTerry(**options).fit(a, b, outcome=won, judge=judge)
        truth = scores - scores.mean()
        board = model.leaderboard(ranks=False)
        ends = model.difference(truth.argmax(), truth.argmin())
        effects = model.effects()
        apart = np.ptp(truth)
        return {
            "score": [(row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in board],
            "best - worst": [(ends.difference, ends.low - apart, ends.high - apart)],
            **{
                name: [
                    (one.value, one.low - value, one.high - value)
                    for one, value in zip(effects[kind::2], values, strict=True)
                ]
                for kind, (name, values) in enumerate((("slope", slopes), ("order", orders)))
            },
        }

    return found


FIRST_PLACES = {
    f"leaderboard, posterior: first of {n_items} items, {votes} votes": first_place(
        votes, n_items, intervals="posterior"
    )
    for n_items, votes in ((10, 30), (20, 400))
}


def category_coverage(spread, sizes=(1000, 300, 100, 40), n_items=10):
    """Intervals of scores in categories of several sizes, whose scores deviate by `spread` from the whole."""

    def found(rng, large=False):
        names = [f"{size:,} votes" for size in sizes]
        if large:
            return dict.fromkeys(names, (0.0,))
        scores = rng.normal(size=n_items) + spread * rng.normal(size=(len(sizes), n_items))
        scores -= scores.mean(axis=1, keepdims=True)
        category = np.repeat(np.arange(len(sizes)), sizes)
        a, b = random_pairs(rng, len(category), n_items)
        won = (rng.random(len(a)) < expit(scores[category, a] - scores[category, b])).astype(float)
        boards = leaderboards_by(BradleyTerry(), a, b, outcome=won, by=category)
        return {
            name: [
                (row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in boards[number]
            ]
            for number, (name, truth) in enumerate(zip(names, scores, strict=True))
        }

    return found


def duel_votes(rng, n_humans=300, n_duels=6000, agreement=0.8, n_items=15):
    """Human votes on a random subset of duels, and a judge on all who favors three items.

    The noise of both votes on a duel has a normal copula. Its correlation and the bias of the judge give the
    agreement.
    """
    correlation, bias = {0.8: (0.8, 1.0), 0.95: (0.992, 0.3)}[agreement]
    scores = rng.normal(0, 0.7, size=n_items)
    biased = scores + bias * (np.arange(n_items) < 3)
    a = rng.integers(n_items, size=n_duels)
    b = (a + rng.integers(1, n_items, size=n_duels)) % n_items
    noise, other = rng.normal(size=(2, n_duels))
    noises = noise, correlation * noise + (1 - correlation**2) ** 0.5 * other
    human, judge = (
        (norm.cdf(one) < expit(values[a] - values[b])).astype(float)
        for one, values in zip(noises, (scores, biased), strict=True)
    )
    human[rng.permutation(n_duels)[n_humans:]] = np.nan
    return a, b, human, judge, scores - scores.mean()


def duel_coverage(agreement, n_humans=300):
    """Intervals of scores: of humans with the judge of both kinds, of humans alone, of all votes pooled."""

    def found(rng, large=False):
        names = ("with judge", "posterior", "humans", "pooled")
        if large:
            return dict.fromkeys(names, (0.0,))
        a, b, human, judge, truth = duel_votes(rng, n_humans, agreement=agreement)
        labelled = ~np.isnan(human)
        pool = [np.concatenate([one[labelled], one]) for one in (a, b)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few human votes
            models = (
                PredictionPoweredBradleyTerry().fit(a, b, outcome=human, judge_outcome=judge),
                PredictionPoweredBradleyTerry(intervals="posterior").fit(
                    a, b, outcome=human, judge_outcome=judge
                ),
                BradleyTerry().fit(a[labelled], b[labelled], outcome=human[labelled]),
                BradleyTerry().fit(*pool, outcome=np.concatenate([human[labelled], judge])),
            )
        return {
            name: [
                (row.score, row.low - truth[row.item], row.high - truth[row.item])
                for row in model.leaderboard(ranks=False)
            ]
            for name, model in zip(names, models, strict=True)
        }

    return found


JUDGED = {
    "10 judges, 1,000 votes": judged_votes(1000, 10),
    "10 judges, 1,000 votes, sd 3": judged_votes(1000, 10, 3.0),
    "10 nearly equal judges, 1,000 votes": judged_votes(1000, 10, 1.0, 0.1, 0.1),
    "40 judges x 50 votes": judged_votes(2000, 40),
    "100 judges x 20 votes": judged_votes(2000, 100),
}


VOTES = {
    **{f"scores of sd {sd}, 400 votes": independent_votes(400, sd) for sd in (0.5, 1, 2, 3, 4)},
    "matchmaking, sd 2, 400 votes": matchmaking(400, 2.0, 1.0),
    "200 users x 20 votes on one pair": clustered_votes(200, 20, one_pair=True),
    "200 prompts x 20 votes": clustered_votes(200, 20, n_models=5),
    "15 users x 100 votes": clustered_votes(15, 100),
    "15 users x 15 prompts, two-way": two_way_votes(15, 15),
    "lognormal weights, 4,000 votes": weighted_votes(4000),
    "scores of sd 1, 100 votes": independent_votes(100, 1.0),
    **{f"{n} users x {600 // n} votes": clustered_votes(n, 600 // n) for n in (3, 5)},
    **{f"{n} users of unequal size, 800 votes": users_of_unequal_size(n) for n in (3, 5, 15)},
}


def ranked_items(n_rankings, size, way):
    """Rankings of some of 20 items: as pairs, as pairs in clusters, or as rankings."""

    def found(rng, large=False):
        names = ("score", "best - worst", "rank")
        if large:
            return dict.fromkeys(names, (0.0,))
        scores = rng.normal(size=N_RANKED)
        rankings = []
        for _ in range(n_rankings):
            drawn = rng.choice(N_RANKED, size, replace=False)
            rankings.append(drawn[np.argsort(-(scores[drawn] + rng.gumbel(size=size)))].tolist())
        if way == "rankings":
            model = PlackettLuce().fit(rankings)
        else:
            winner, loser = np.transpose([pair for one in rankings for pair in combinations(one, 2)])
            cluster = np.repeat(np.arange(n_rankings), size * (size - 1) // 2) if way == "clusters" else None
            model = BradleyTerry().fit(winner, loser, cluster=cluster)
        board = model.leaderboard()
        truth = scores - scores[board.reference or model.items_].mean()
        order = np.argsort(-truth)
        rank = {int(item): place + 1 for place, item in enumerate(order)}
        ends, apart = model.difference(int(order[0]), int(order[-1])), truth[order[0]] - truth[order[-1]]
        return {
            "score": [(row.score, row.low - truth[row.item], row.high - truth[row.item]) for row in board],
            "best - worst": [(ends.difference, ends.low - apart, ends.high - apart)],
            "rank": [
                (row.rank, row.best_rank - rank[row.item], row.worst_rank - rank[row.item]) for row in board
            ],
        }

    return found


N_RANKED = 20


WAYS = {"as pairs": "pairs", "pairs in clusters": "clusters", "Plackett-Luce": "rankings"}
