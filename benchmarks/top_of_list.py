"""The effect on NDCG@10 of pair weights that favor the top of the list.

    python benchmarks/top_of_list.py                       # four sets, three losses: about half an hour
    python benchmarks/top_of_list.py --quick               # OHSUMED or generated rows, one fold, one loss
    python benchmarks/top_of_list.py --only jokes --loss logistic

Three real sets of queries and a made one, each in five parts. Every part is the test part once; three others
are trained on, and the last chooses alpha by NDCG@10, for each weight by itself. A weight is compared with no
weight by NDCG@10, query by query, with a permutation test. A pair of rows i above j, with gains g = 2^y - 1,
weighs

    none        1
    difference  y_i - y_j
    gain        g_i - g_j
    discount    D_i D_j              D the discount 1 / log2(1 + place) at the places of the ideal order
    ndcg        (g_i - g_j) (D_i - D_j)
    lambda      (g_i - g_j) |D_i - D_j|, D at the places of the current model: a convex fit, new places, and
                again from there, ROUNDS times
    lambda@10   the same with no discount below place 10

    --more      adds (g_i - g_j) D_i and D_i alone, ndcg without a discount below place 10, ndcg with each
                query divided by its ideal DCG, and lambda mixed half and half with none

and each query weighs the same but for the last ndcg. Rows of equal label share the mean of their discounts in
the ideal order. The first four are products of numbers of rows and differences of gains, which the losses sum
in O(m log m); the others are listed as pairs here.

    ohsumed    LETOR 2 OHSUMED, the official folds, grades 0, 1, 2
    documents  Reuters: 40 documents nearest to a given one, grade 2 for the same topics, 1 for a common one
    jokes      Jester: 40 jokes for a user, grades 0 to 4 by rating; features from other users' ratings and
               from 30 known ones of the user
    made       a control where weights must help: two features, one of which tells grade 0 from 1 and the
               other the rare grade 4 from the rest, so that no weights of features serve all pairs
"""

import argparse

import numpy as np
from rank_svm import graded
from reproduce.data import Data, MissingDataError
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from rankwise import Preferences, RankLogistic, RankSVM, scale_within_queries
from rankwise.evaluation import compare_values
from rankwise.metrics import average_precision, ndcg, ranking_error

ALPHAS = (10.0, 1.0, 0.1, 0.01, 0.001)
ROUNDS = 3
LOSSES = {
    "hinge": lambda: RankSVM(warm_start=True),
    "squared_hinge": lambda: RankSVM(loss="squared_hinge", warm_start=True),
    "logistic": lambda: RankLogistic(warm_start=True),
}
MEASURES = {
    "NDCG@10": lambda *rows, **options: ndcg(*rows, k=10, **options),
    "NDCG@5": lambda *rows, **options: ndcg(*rows, k=5, **options),
    "MAP": average_precision,
    "error": ranking_error,
}


# The sets: five parts of rows, labels and queries each.


def documents(data, n_queries=1000, n_near=40):
    X, topics = data.reuters()
    generator = np.random.default_rng(0)
    asked = generator.choice(np.flatnonzero(topics.any(axis=1)), n_queries, replace=False)
    words = X.sign()
    length = np.log(np.asarray(words.sum(axis=1)).ravel())
    reduced = TruncatedSVD(100, random_state=0).fit_transform(X)
    spaces = [X, normalize(words), X.multiply(X).tocsr(), words]
    likeness = [(space[asked] @ space.T).toarray() for space in spaces]
    likeness += [(unit := normalize(reduced[:, :size]))[asked] @ unit.T for size in (5, 20, 100)]
    likeness += [np.tile(length, (n_queries, 1)), -np.abs(length - length[asked, None])]
    itself = asked[:, None] == np.arange(len(length))
    near = np.argsort(np.where(itself, -1.0, likeness[0]), axis=1)[:, ::-1][:, :n_near]
    shared = (topics[near] * topics[asked, None] > 0).any(axis=2)
    same = (topics[near] == topics[asked, None]).all(axis=2)
    return in_parts([np.take_along_axis(column, near, axis=1) for column in likeness], shared + 1.0 * same)


def jokes(data, n_users=400, n_others=3000):
    ratings = data.jester()
    generator = np.random.default_rng(0)
    ratings = generator.permutation(ratings[~np.isnan(ratings).any(axis=1)])
    others, users = ratings[:n_others], ratings[n_others : n_others + n_users]
    places = generator.permutation(ratings.shape[1])
    known, asked = places[:30], places[30:70]
    columns = [
        np.tile(value, (n_users, 1))
        for value in (others.mean(axis=0), others.std(axis=0), (others > 5).mean(axis=0))
    ]
    columns = [column[:, asked] for column in columns]
    likeness = standardised(users[:, known]) @ standardised(others[:, known]).T
    nearest, liked = np.argsort(-likeness, axis=1), standardised(others)[:, asked]
    columns += [liked[nearest[:, :size]].mean(axis=1) for size in (10, 50, 300)]
    columns += [low_rank(others, users[:, known], known, size)[:, asked] for size in (2, 8, 20)]
    return in_parts(columns, np.floor((users[:, asked] + 10) / 4.0001))


def standardised(ratings):
    return (ratings - ratings.mean(axis=1, keepdims=True)) / ratings.std(axis=1, keepdims=True).clip(0.1)


def low_rank(others, ratings, known, size):
    """Complete ratings of known jokes by the first principal directions of other users."""
    mean = others.mean(axis=0)
    _, spread, directions = np.linalg.svd(others - mean, full_matrices=False)
    loadings = directions[:size].T * spread[:size] / np.sqrt(len(others))
    seen = loadings[known]
    taste = np.linalg.solve(seen.T @ seen + 15 * np.eye(size), seen.T @ (ratings - mean[known]).T)
    return (loadings @ taste).T


def in_parts(columns, labels):
    """Split columns and labels of shape (n_queries, n_rows) into five parts of queries."""
    X, y = np.stack([column.ravel() for column in columns], axis=1), labels.ravel()
    qid = np.repeat(np.arange(len(labels)), labels.shape[1])
    return by_query(scale_within_queries(X, qid), y, qid)


def by_query(X, y, qid):
    return [(X[qid % 5 == k], y[qid % 5 == k], qid[qid % 5 == k]) for k in range(5)]


SETS = {
    "ohsumed": lambda data: data.ohsumed(),
    "documents": documents,
    "jokes": jokes,
    "made": lambda data: by_query(*graded()),
}


# The weights.


def discounts(keys, qid, depth=np.inf):
    """Return 1 / log2(1 + place) of each row in the order of falling keys of its query, 0 beyond depth."""
    order = np.lexsort((-keys, qid))
    place = np.empty(len(keys))
    place[order] = np.arange(len(keys)) - np.searchsorted(qid[order], qid[order])
    return np.where(place < depth, 1.0 / np.log2(place + 2.0), 0.0)


def ideal_discounts(y, qid, depth=np.inf):
    """Return the mean discount of the rows of equal label in the order of falling labels."""
    level = np.unique(np.stack([qid, y]), axis=1, return_inverse=True)[1].ravel()
    return (np.bincount(level, discounts(y, qid, depth)) / np.bincount(level))[level]


def listed(y, qid, weigh, totals=None, share=1.0):
    """Return the pairs, weighed by `weigh` and divided in each query by the sum of weights or by `totals`.

    With a `share` below 1, equal weights have the rest of the query.
    """
    pairs = Preferences.from_scores(y, qid).pairs()
    weight = weigh(pairs.better, pairs.worse)
    query = np.unique(qid, return_inverse=True)[1][pairs.better]
    totals = np.bincount(query, weight) if totals is None else totals
    weight = share * weight / np.where(totals > 0, totals, 1.0)[query]
    weight += (1.0 - share) / np.bincount(query)[query]
    return Preferences.from_pairs(pairs.better, pairs.worse, weight=weight, n_rows=len(y))


def swaps(y, discount):
    """Return the function of pairs that says what a swap of the two rows changes in DCG."""
    gain = np.exp2(y)
    return lambda i, j: (gain[i] - gain[j]) * np.abs(discount[i] - discount[j])


def at_better_row(y, qid, gain):
    """Weigh a pair by the ideal discount of its better row and, with a gain, by the difference of gains."""
    discount = ideal_discounts(y, qid)
    return listed(y, qid, lambda i, j: discount[i] * (1.0 if gain is None else gain[i] - gain[j]))


def ideal_dcg(y, qid):
    return np.bincount(np.unique(qid, return_inverse=True)[1], (np.exp2(y) - 1.0) * ideal_discounts(y, qid))


WEIGHTS = {
    "none": lambda y, qid: Preferences.from_scores(y, qid),
    "difference": lambda y, qid: Preferences.from_scores(y, qid, pair_weight="difference"),
    "gain": lambda y, qid: Preferences.from_scores(y, qid, pair_weight=np.exp2(y)),
    "discount": lambda y, qid: Preferences.from_scores(y, qid, sample_weight=ideal_discounts(y, qid)),
    "ndcg": lambda y, qid: listed(y, qid, swaps(y, ideal_discounts(y, qid))),
}
MORE_WEIGHTS = {
    "gain, better discount": lambda y, qid: at_better_row(y, qid, np.exp2(y)),
    "better discount": lambda y, qid: at_better_row(y, qid, None),
    "ndcg@10": lambda y, qid: listed(y, qid, swaps(y, ideal_discounts(y, qid, 10))),
    "ndcg by ideal DCG": lambda y, qid: listed(y, qid, swaps(y, ideal_discounts(y, qid)), ideal_dcg(y, qid)),
}
# The depth of the discount, and the share of the weights that follow it.
REWEIGHTED = {"lambda": (np.inf, 1.0), "lambda@10": (10, 1.0)}
MORE_REWEIGHTED = {"lambda, half": (np.inf, 0.5)}


def fixed_weights(loss, preferences, X, alphas):
    """Return the weights of the features for each alpha."""
    model, coef = LOSSES[loss](), []
    for alpha in alphas:
        coef.append(model.set_params(alpha=alpha).fit(X, preferences).coef_)
    return np.array(coef)


def reweighted(loss, depth, share, train, alphas, starts):
    """Weigh the pairs by the places of the last fit and fit again, ROUNDS times for each alpha."""
    X, y, qid = train
    coef = []
    for alpha, start in zip(alphas, starts, strict=True):
        model = LOSSES[loss]().set_params(alpha=alpha)
        last = start
        for _ in range(ROUNDS):
            weigh = swaps(y, discounts(X @ last, qid, depth))
            last = model.fit(X, listed(y, qid, weigh, share=share)).coef_
        coef.append(last)
    return np.array(coef)


# The judgment.


def measured(part, coef, measure):
    X, y, qid = part
    return MEASURES[measure](y, X @ coef, qid, per_query=True, undefined="nan")


def fold_values(loss, parts, fold, alphas):
    """Return for each weight and measure its values for the queries of the test part."""
    *train, validation, test = (parts[(fold + j) % 5] for j in range(5))
    train = tuple(np.concatenate(columns) for columns in zip(*train, strict=True))
    X, y, qid = train
    coef = {name: fixed_weights(loss, weigh(y, qid), X, alphas) for name, weigh in WEIGHTS.items()}
    for name, (depth, share) in REWEIGHTED.items():
        coef[name] = reweighted(loss, depth, share, train, alphas, coef["none"])
    values = {}
    for name, candidates in coef.items():
        quality = [np.nanmean(measured(validation, one, "NDCG@10")) for one in candidates]
        best = candidates[int(np.argmax(quality))]
        values[name] = {measure: measured(test, best, measure) for measure in MEASURES}
    return values


def loss_table(title, loss, parts, folds, alphas):
    found = [fold_values(loss, parts, fold, alphas) for fold in range(folds)]
    print(f"\n{f'{title}, {loss}':<26}{''.join(f'{name:>9}' for name in MEASURES)}", end="")
    print(f"{'difference':>12}{'from':>9}{'to':>9}{'p':>8}")
    values = {
        name: {measure: np.concatenate([fold[name][measure] for fold in found]) for measure in MEASURES}
        for name in found[0]
    }
    for name, by_measure in values.items():
        means = "".join(f"{np.nanmean(column):>9.4f}" for column in by_measure.values())
        print(f"{name:<26}{means}{verdict(by_measure, values['none'])}", flush=True)


def verdict(values, plain):
    if values is plain:
        return ""
    compared = compare_values({"weighted": values["NDCG@10"], "plain": plain["NDCG@10"]})
    difference = compared.differences[0]
    bounds = f"{difference.mean:>+12.4f}{difference.low:>+9.4f}{difference.high:>+9.4f}"
    return f"{bounds}{difference.p:>8.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="OHSUMED, one fold, one loss, two alphas")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), help="these sets")
    parser.add_argument("--loss", nargs="+", choices=LOSSES, default=list(LOSSES), help="these losses")
    parser.add_argument("--more", action="store_true", help="more weights")
    options = parser.parse_args()
    if options.more:
        WEIGHTS.update(MORE_WEIGHTS)
        REWEIGHTED.update(MORE_REWEIGHTED)
    if options.quick:
        data = Data(may_generate=True)
        parts = data.ohsumed()
        loss_table("generated" if data.generated else "ohsumed", "squared_hinge", parts, 1, ALPHAS[2:4])
        return
    for name in options.only:
        try:
            parts = SETS[name](Data())
        except MissingDataError as error:
            print(f"{name} is left out. {error}")
            continue
        for loss in options.loss:
            loss_table(name, loss, parts, 5, ALPHAS)


if __name__ == "__main__":
    main()
