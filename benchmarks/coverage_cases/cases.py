"""All cases by title."""

from sklearn.base import clone

from coverage_cases.measures import (
    agreement_of_grades,
    association_of,
    auc_of_classes,
    concordance_of_eyes,
    concordance_of_few_events,
    concordance_of_pairs,
    concordance_of_strata,
    equal_models,
    error_of_one_ranking,
    error_of_prompts,
    measure_of_queries,
    one_relevant_row,
    skewed_differences,
    trial_of,
    votes_of_groups,
)
from coverage_cases.score_tables import TABLES, WORTHS
from coverage_cases.votes import (
    JUDGED,
    VOTES,
    WAYS,
    category_coverage,
    covariate_intervals,
    duel_coverage,
    far_item,
    independent_votes,
    judge_coverage,
    leaderboard_intervals,
    outlying_item,
    ranked_items,
    weighted_votes,
)
from coverage_cases.weights import (
    BESIDE,
    MODELS,
    STRUCTURES,
    UNEQUAL,
    intervals_of_weights,
    one_ranking,
    weights_behind_a_scaler,
    weights_of_levels,
)
from rankwise import (
    RankLogistic,
)

CASES = {
    **{f"win statistics, {n} patients per arm": trial_of(n) for n in (50, 100, 400)},
    "win statistics, 100 patients per arm in 4 strata": trial_of(100, 4),
    "win statistics, 100 patients per arm in 4 strata, Mantel-Haenszel": trial_of(100, 4, "mantel-haenszel"),
    **{f"Kendall's tau, {n} rows": association_of(n, 0) for n in (30, 100)},
    **{f"Kendall's tau, {n} rows of 4 grades": association_of(n, 4) for n in (30, 100)},
    **{f"score table: {name}": case for name, case in (TABLES | WORTHS).items()},
    **{
        f"leaderboard: {n} rankings of {size}, {words}": ranked_items(n, size, way)
        for n, size in ((200, 5), (60, 20), (60, 5))
        for words, way in WAYS.items()
    },
    **{f"leaderboard: {name}": leaderboard_intervals(drawn) for name, drawn in VOTES.items()},
    **{
        f"leaderboard: an item {gap} above 19 others, 400 votes": outlying_item(far_item(gap))
        for gap in (4, 5, 7)
    },
    "leaderboard: an item 5 above 19 others, ties": outlying_item(far_item(5), ties="davidson"),
    "leaderboard: an item 5 above 19 others, 40 users": outlying_item(far_item(5, n_users=40)),
    "leaderboard: an item 5 above 19 others, weights": outlying_item(far_item(5, weighted=True)),
    **{
        f"leaderboard: 10 items of sd {sd}, 30 votes": leaderboard_intervals(independent_votes(30, sd, 10))
        for sd in (0.5, 1, 2, 4)
    },
    "leaderboard: 3 copies of 1,333 votes": leaderboard_intervals(independent_votes(1333, 1.0), copies=3),
    "leaderboard: half life, 4,000 votes": leaderboard_intervals(
        weighted_votes(4000, 4000 / 3), half_life=4000 / 3
    ),
    "leaderboard: 3 covariates, 2,000 votes": covariate_intervals(2000),
    "leaderboard: 3 covariates, 100 users x 20 votes": covariate_intervals(2000, 100),
    **{f"leaderboard: {name}": judge_coverage(drawn) for name, drawn in JUDGED.items()},
    **{
        f"leaderboard: 300 human votes, a judge on 6,000, agreement {agreement:.0%}": duel_coverage(agreement)
        for agreement in (0.8, 0.95)
    },
    "leaderboard: 100 human votes, a judge on 6,000, agreement 80%": duel_coverage(0.8, 100),
    **{
        f"leaderboard by category: deviations of sd {spread}": category_coverage(spread)
        for spread in (0.0, 0.2, 0.5)
    },
    **{
        f"{name}: {structure}": intervals_of_weights(model, drawn)
        for name, model in MODELS.items()
        for structure, drawn in STRUCTURES.items()
    },
    **{
        f"unequal, {name}: {title}": intervals_of_weights(
            clone(MODELS[name]).set_params(average=average), drawn
        )
        for title, (drawn, average) in UNEQUAL.items()
        for name in BESIDE
    },
    "logistic, debiased: one ranking of 200 rows": intervals_of_weights(
        RankLogistic(alpha=1e-2), one_ranking(200), debias=True
    ),
    **{
        f"behind a scaler, alpha={alpha}: {title}": weights_behind_a_scaler(300, n_queries, alpha)
        for alpha in (0.1, 0.001)
        for title, n_queries in (("one ranking of 300 rows", 0), ("30 queries of 10 rows", 30))
    },
    **{f"logistic: a category of three levels, {n} rows": weights_of_levels(n) for n in (60, 200)},
    **{f"ranking error, {n} queries": measure_of_queries("error", n) for n in (10, 20, 50)},
    **{f"NDCG@10, {n} queries": measure_of_queries("ndcg@10", n) for n in (10, 20, 50)},
    **{f"MRR, {n} queries": measure_of_queries("mrr", n) for n in (10, 50)},
    **{
        f"concordance, {n} rows, strata: {strata}": concordance_of_strata(n, strata)
        for n, strata in ((40, 1), (100, 1), (90, 3), (180, 6), (300, 15))
    },
    "concordance of a strong marker, 100 rows": concordance_of_strata(100, 1, 2.5),
    "ranking error, one ranking of 40 rows": error_of_one_ranking(40, 0),
    "ranking error, one ranking of 200 rows": error_of_one_ranking(200, 0),
    "AUC, two classes, 100 rows": error_of_one_ranking(100, 2),
    **{
        f"AUC, {n_positive} of {n_rows} rows positive": auc_of_classes(n_positive, n_rows)
        for n_positive, n_rows in ((20, 40), (8, 40), (4, 40), (12, 100), (6, 60))
    },
    "AUC of a strong marker, 20 of 40 rows positive": auc_of_classes(20, 40, 2.5),
    **{f"{n} pairs of different rows": concordance_of_pairs(n) for n in (40, 100)},
    "200 pairs among 40 rows": concordance_of_pairs(200, 40),
    **{f"grades of {n} rows": agreement_of_grades(n) for n in (40, 100, 400)},
    **{
        f"one relevant row of 20, {measure}, {n} queries": one_relevant_row(measure, n, strength)
        for measure, strength in (("error", 2.3), ("mrr", 4.0))
        for n in (10, 30, 100)
    },
    **{f"skewed differences, {n:,} queries": skewed_differences(n) for n in (30, 100, 1000, 1001)},
    "eleven equal models, 30 queries": equal_models(11, 30),
    "votes of groups of 200 and 20 x 10": votes_of_groups([200, *[10] * 20]),
    "votes of 20 groups, sizes of Zipf": votes_of_groups([max(1, 200 // k) for k in range(1, 21)]),
    "votes of 20 groups of 20": votes_of_groups([20] * 20),
    "concordance, 60 rows, 14% events": concordance_of_few_events(60, 0.12),
    "concordance, 60 patients with two eyes": concordance_of_eyes(60),
    "ranking error, 20 prompts x 20 votes": error_of_prompts(20, 20),
    "ranking error, 10 prompts x 20 votes": error_of_prompts(10, 20),
}
