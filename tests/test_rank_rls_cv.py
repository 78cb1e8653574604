"""RankRLSCV and the permutation test, as users meet them."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, RepeatedKFold

from rankwise import NoPairsError, Preferences, RankRLS, RankRLSCV
from rankwise.data.design import MemoryDesign
from rankwise.datasets import load_diabetes_ranking, make_ranking
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold, leave_pair_out, leave_query_out, permutation_test
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.permutation import permuted_labels
from rankwise.model_selection.tunable import Problem

ALPHAS = [1e-3, 10.0, 0.1]
DESCENDING = np.array([10.0, 0.1, 1e-3])
# A few candidates do where it does not matter which is best.
FEW_CANDIDATES = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


def data(n=60, n_queries=6, n_levels=4, seed=0):
    X, y = make_ranking(n, 4, n_levels=n_levels, noise=0.5, random_state=seed)
    return X, y, np.random.default_rng(seed).permutation(np.arange(n) % n_queries)


# RankRLSCV


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf"}, {"ties": "drop"}, {"cost": "unit"}])
def test_queries_choose_alpha_by_leaving_queries_out(parameters):
    X, y, qid = data()
    model = RankRLSCV(ALPHAS, **parameters).fit(X, y, qid=qid)
    held_out = leave_query_out(RankRLS(**parameters), X, y, qid, alphas=[10.0, 0.1, 1e-3])
    assert model.cv_ == "leave-query-out"
    np.testing.assert_array_equal(model.alphas_, [10.0, 0.1, 1e-3])
    np.testing.assert_allclose(model.cv_errors_, held_out.error)
    assert model.alpha_ == model.alphas_[np.argmin(held_out.error)]
    refitted = RankRLS(model.alpha_, **parameters).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.predict(X), refitted.predict(X))
    assert model.objective_ == refitted.objective_
    assert model.solver_ == refitted.solver_
    assert model.fitted_with_qid_


@FEW_CANDIDATES
def test_one_ranking_chooses_alpha_by_leaving_pairs_out():
    X, y, _ = data()
    model = RankRLSCV(ALPHAS).fit(X, y)
    assert model.cv_ == "leave-pair-out"
    np.testing.assert_allclose(model.cv_errors_, leave_pair_out(RankRLS(), X, y, alphas=model.alphas_).error)
    graded = RankRLSCV(ALPHAS, cost="unit").fit(X, y)  # leaving pairs out would mean to refit for each
    assert graded.cv_ == "folds of rows"


@FEW_CANDIDATES
def test_an_int_deals_out_queries_or_rows():
    X, y, qid = data()
    model = RankRLSCV(ALPHAS, cv=3).fit(X, y, qid=qid)
    assert model.cv_ == "folds of queries"
    expected = leave_query_out(RankRLS(), X, y, qid, folds=3, alphas=model.alphas_).error
    np.testing.assert_allclose(model.cv_errors_, expected)
    assert RankRLSCV(ALPHAS, cv=3).fit(X, y).cv_ == "folds of rows"


@FEW_CANDIDATES
def test_preferences_and_weights():
    X, y, qid = data()
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    first = RankRLSCV(ALPHAS).fit(X, y, qid=qid, sample_weight=weight)
    second = RankRLSCV(ALPHAS).fit(X, Preferences.from_scores(y, qid, weight))
    np.testing.assert_allclose(first.cv_errors_, second.cv_errors_)
    np.testing.assert_allclose(first.coef_, second.coef_)


def test_repeated_rows_in_whole_queries_equal_weights():
    X, y, qid = data(30, 5)
    weight = np.random.default_rng(0).integers(1, 4, size=30)
    again = np.repeat(np.arange(30), weight)
    first = RankRLSCV(ALPHAS).fit(X, y, qid=qid, sample_weight=weight)
    second = RankRLSCV(ALPHAS).fit(X[again], y[again], qid=qid[again])
    np.testing.assert_allclose(first.cv_errors_, second.cv_errors_)
    np.testing.assert_allclose(first.coef_, second.coef_)


@FEW_CANDIDATES
@pytest.mark.parametrize("cv", ["leave-query-out", "folds"])
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_queries_of_one_row_do_not_count(cv, average):
    X, y, qid = data(90, 6)
    qid[30:], some = np.arange(60) + 6, np.arange(30)
    fold_of_query = np.arange(66) % 3
    whole, part = (
        RankRLSCV(ALPHAS, cv=folds_of(fold_of_query[qid[k]]) if cv == "folds" else cv, average=average).fit(
            X[k], y[k], qid=qid[k]
        )
        for k in (np.arange(90), some)
    )
    np.testing.assert_allclose(whole.cv_errors_, part.cv_errors_)
    np.testing.assert_allclose(whole.coef_, part.coef_)


def folds_of(numbers):
    return [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in np.unique(numbers)]


@FEW_CANDIDATES
def test_outputs_share_one_alpha():
    X, y, _ = data()
    Y = np.column_stack([y, X[:, 0]])
    model = RankRLSCV(ALPHAS).fit(X, Y)
    errors = leave_pair_out(RankRLS(), X, Y, alphas=model.alphas_).error
    np.testing.assert_allclose(model.cv_errors_, errors.mean(axis=1))
    assert model.coef_.shape == (2, 4)


@FEW_CANDIDATES
@pytest.mark.parametrize(
    "parameters",
    [{}, {"kernel": "rbf", "gamma": 0.1}, {"cv": KFold(3)}, {"ties": "drop", "cv": KFold(3)}],
)
def test_each_output_may_have_its_alpha(parameters):
    """What is chosen and learned for an output is what it would be for that output alone."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 4))
    noise = random.normal(size=(40, 3)) * [0.1, 2.0, 8.0]
    Y = (X @ random.normal(size=(4, 3)) + noise).round()
    alphas = 10.0 ** np.arange(2, -5, -1)
    options = {"alphas": alphas} | parameters
    model = RankRLSCV(alpha_per_output=True, **options).fit(X, Y)
    alone = [RankRLSCV(**options).fit(X, column) for column in Y.T]
    np.testing.assert_array_equal(model.alpha_, [one.alpha_ for one in alone])
    assert len(np.unique(model.alpha_)) > 1
    np.testing.assert_allclose(model.cv_errors_, np.column_stack([one.cv_errors_ for one in alone]))
    np.testing.assert_allclose(
        model.predict(X), np.column_stack([one.predict(X) for one in alone]), atol=1e-9
    )
    np.testing.assert_allclose(model.objective_, [one.objective_ for one in alone])


def rare_outputs(with_queries=False):
    """Four outputs of two classes, of which the rarest have two or three positive rows; and six folds."""
    random = np.random.default_rng(1)
    X, fold = random.normal(size=(60, 4)), np.arange(60) % 6
    hidden = X @ random.normal(size=(4, 4)) + random.normal(size=(60, 4))
    Y = (hidden > np.quantile(hidden, [0.5, 0.93, 0.96, 0.95], axis=0).diagonal()).astype(float)
    return X, Y, fold if with_queries else None, folds_of(fold)


OUTPUT_CASES = [
    {},
    {"ties": "drop"},
    {"cost": "unit"},
    {"kernel": "rbf", "gamma": 0.1},
    {"average": "pairs"},
    {"scoring": "ndcg@5"},
]


@FEW_CANDIDATES
@pytest.mark.parametrize("with_queries", [True, False])
@pytest.mark.parametrize("parameters", OUTPUT_CASES)
def test_an_output_is_judged_by_the_folds_in_which_it_has_pairs(parameters, with_queries):
    X, Y, qid, folds = rare_outputs(with_queries)
    options = {"alphas": DESCENDING, "cv": folds} | parameters
    each = RankRLSCV(alpha_per_output=True, **options).fit(X, Y, qid=qid)
    alone = [RankRLSCV(**options).fit(X, column, qid=qid) for column in Y.T]
    np.testing.assert_array_equal(each.alpha_, [one.alpha_ for one in alone])
    np.testing.assert_allclose(each.cv_errors_, np.column_stack([one.cv_errors_ for one in alone]))
    common = RankRLSCV(**options).fit(X, Y, qid=qid)
    np.testing.assert_allclose(common.cv_errors_, np.mean([one.cv_errors_ for one in alone], axis=0))
    errors = brute_force_errors(RankRLS(), X, Y[:, 2], folds) if not (parameters or with_queries) else None
    if errors is not None:
        assert 0 < len(errors) < len(folds)
        np.testing.assert_allclose(each.cv_errors_[:, 2], np.mean(errors, axis=0))


def brute_force_errors(model, X, y, folds):
    """The errors (n_folds, n_alphas) of the folds in which an output has pairs."""
    judged = [(train, test) for train, test in folds if np.ptp(y[train]) and np.ptp(y[test])]
    return [
        [
            ranking_error(
                y[test], clone(model).set_params(alpha=alpha).fit(X[train], y[train]).predict(X[test])
            )
            for alpha in DESCENDING
        ]
        for train, test in judged
    ]


@FEW_CANDIDATES
def test_many_rare_outputs_can_be_judged():
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(60, 3)), np.zeros((60, 12))
    for k in range(12):
        Y[[k, k + 20, k + 40], k] = 1.0
    folds = folds_of(np.arange(60) // 6)
    model = RankRLSCV(DESCENDING, cv=folds, alpha_per_output=True).fit(X, Y)
    assert np.isfinite(model.cv_errors_).all()
    Y[:, 5] = 0.0
    Y[:2, 5] = 1.0  # both in the first fold
    with pytest.raises(NoPairsError, match="No fold has pairs of output 5 both in"):
        RankRLSCV(DESCENDING, cv=folds).fit(X, Y)


@FEW_CANDIDATES
@pytest.mark.parametrize("with_queries", [True, False])
@pytest.mark.parametrize("parameters", OUTPUT_CASES[:4])
def test_pooled_scores_are_judged_together(parameters, with_queries):
    X, Y, qid, folds = rare_outputs(with_queries)
    model = RankRLSCV(DESCENDING, cv=folds, pooled=True, alpha_per_output=True, **parameters).fit(
        X, Y, qid=qid
    )
    expected = np.empty((len(DESCENDING), 4))
    for a, alpha in enumerate(DESCENDING):
        for k, y in enumerate(Y.T):
            scores = np.empty(len(y))
            for train, test in folds:
                some = None if qid is None else qid[train]
                scores[test] = RankRLS(alpha, **parameters).fit(X[train], y[train], qid=some).predict(X[test])
            with warnings.catch_warnings(action="ignore"):  # queries without pairs
                expected[a, k] = ranking_error(y, scores, qid)
    np.testing.assert_allclose(model.cv_errors_, expected)
    np.testing.assert_array_equal(model.alpha_, DESCENDING[expected.argmin(axis=0)])
    common = RankRLSCV(DESCENDING, cv=folds, pooled=True, **parameters).fit(X, Y, qid=qid)
    np.testing.assert_allclose(common.cv_errors_, expected.mean(axis=1))


@FEW_CANDIDATES
def test_what_can_be_pooled():
    X, y, qid = data()
    assert RankRLSCV(DESCENDING, pooled=True).fit(X, y).cv_ == "folds of rows"
    left_out, pooled = (RankRLSCV(DESCENDING, pooled=one).fit(X, y, qid=qid) for one in (False, True))
    np.testing.assert_array_equal(left_out.cv_errors_, pooled.cv_errors_)
    judged, pooled = (RankRLSCV(DESCENDING, pooled=one).fit(X, y, validation=(X, y)) for one in (False, True))
    np.testing.assert_array_equal(judged.cv_errors_, pooled.cv_errors_)
    pairs = Preferences.from_pairs([0, 1, 2, 3, 0], [1, 2, 3, 4, 4], n_rows=len(y))
    for options, labels, sentence in [
        ({"cv": "leave-pair-out"}, y, "needs folds"),
        ({"cv": 3, "scoring": lambda model, X, y: 0.0}, y, "A scorer judges a model"),
        ({"cv": 2}, pairs, "pairs that share rows"),
        ({"cv": RepeatedKFold(n_splits=3, n_repeats=2)}, y, "row 0 is in 2"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            RankRLSCV(DESCENDING, pooled=True, **options).fit(X, labels)


@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
def test_alphas_of_outputs_in_every_solver(solver):
    random = np.random.default_rng(0)
    X, Y, alphas = random.normal(size=(30, 5)), random.normal(size=(30, 2)), [1e-3, 2.0]
    model = RankRLS(alphas, solver=solver, tol=1e-10).fit(X, Y)
    alone = [RankRLS(alpha, solver=solver, tol=1e-10).fit(X, y) for alpha, y in zip(alphas, Y.T, strict=True)]
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in alone], rtol=1e-6)
    np.testing.assert_allclose(model.objective_, [one.objective_ for one in alone])
    with pytest.raises(ValueError, match="one for each of 2 outputs; got 3"):
        RankRLS([1.0, 2.0, 3.0]).fit(X, Y)


def test_default_alphas_follow_the_scale_of_the_data():
    X, y, qid = data()
    model = RankRLSCV().fit(X, y, qid=qid)
    assert len(model.alphas_) == 31
    assert model.alphas_[0] / model.alphas_[-1] == 2.0**30
    pairs = [(i, j) for i in range(60) for j in range(60) if qid[i] == qid[j]]
    distance = np.mean([np.sum((X[i] - X[j]) ** 2) for i, j in pairs])  # all queries have ten rows
    assert model.alphas_[5] == pytest.approx(distance)
    scaled = RankRLSCV().fit(1000 * X, y, qid=qid)
    np.testing.assert_allclose(scaled.cv_errors_, model.cv_errors_, atol=1e-12)
    np.testing.assert_allclose(scaled.coef_, model.coef_ / 1000)


def test_the_choice_is_good_on_real_data():
    X, y = load_diabetes_ranking(return_X_y=True)
    model = RankRLSCV().fit(X[:200], y[:200])
    assert model.cv_errors_.min() == pytest.approx(0.263, abs=2e-3)
    assert model.score(X[200:], y[200:]) > 0.75


@FEW_CANDIDATES
def test_clone_and_pickle():
    X, y, qid = data()
    model = RankRLSCV(ALPHAS, cv=3, kernel="rbf")
    fitted = clone(model).fit(X, y, qid=qid)
    assert fitted.get_params() == model.get_params()
    assert "alpha" not in fitted.get_params()
    loaded, expected = pickle.loads(pickle.dumps(fitted)), fitted.predict(X)
    for rows in (X, X.copy(), np.asfortranarray(X)):
        np.testing.assert_array_equal(fitted.predict(rows), expected)
        np.testing.assert_array_equal(loaded.predict(rows), expected)
    np.testing.assert_array_equal(loaded.predict(X[5:6]), expected[5:6])


@pytest.mark.parametrize(
    ("cv", "sentence"),
    [
        ("loo", "cv must be one of 'leave-query-out', 'leave-pair-out'; got 'loo'"),
        (0, "cv must be an integer of at least 1; got 0"),
        (2.5, "Expected .?cv.? as an integer"),
    ],
)
def test_bad_cv_gets_a_sentence(cv, sentence):
    X, y, _ = data()
    with pytest.raises(ValueError, match=sentence):
        RankRLSCV(cv=cv).fit(X, y)


@FEW_CANDIDATES
def test_splits_of_the_caller():
    X, y, qid = data()
    splits = list(QueryKFold(3).split(X, groups=qid))
    model = RankRLSCV(ALPHAS, cv=splits).fit(X, y, qid=qid)
    by_splitter = RankRLSCV(ALPHAS, cv=QueryKFold(3)).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.cv_errors_, by_splitter.cv_errors_)
    train, test = splits[0]
    first = RankRLSCV([0.1], cv=splits[:1]).fit(X, y, qid=qid)
    refitted = RankRLS(0.1).fit(X[train], y[train], qid=qid[train])
    assert first.cv_errors_[0] == pytest.approx(1 - refitted.score(X[test], y[test], qid=qid[test]))
    assert model.cv_ == by_splitter.cv_ == "splits"


# Permutation test


def test_labels_are_shuffled_within_queries():
    _, y, qid = data()
    shuffled = permuted_labels(y, qid, 20, np.random.default_rng(0))
    assert shuffled.shape == (60, 20)
    assert len(np.unique(shuffled, axis=1).T) == 20
    for query in range(6):
        rows = qid == query
        np.testing.assert_array_equal(
            np.sort(shuffled[rows], axis=0), np.sort(y[rows])[:, None] * np.ones(20)
        )


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf"}, {"ties": "drop", "cost": "unit"}])
@pytest.mark.parametrize("with_queries", [True, False])
def test_the_null_distribution_is_that_of_refits_with_shuffled_labels(with_queries, parameters):
    X, y, qid = data(40, 4, n_levels=2)
    model, qid = RankRLS(0.1, **parameters), qid if with_queries else None
    result = permutation_test(model, X, y, qid, n_permutations=12, random_state=3)
    query = np.zeros(40, int) if qid is None else qid
    columns = permuted_labels(y.astype(float), query, 12, np.random.default_rng(3)).T
    evaluate = leave_pair_out if qid is None else leave_query_out
    more = () if qid is None else (qid,)
    np.testing.assert_allclose(result.null_distribution, [evaluate(model, X, c, *more).auc for c in columns])
    assert result.statistic == pytest.approx(evaluate(model, X, y, *more).auc)
    assert result.pvalue == (1 + np.sum(result.null_distribution >= result.statistic - 1e-12)) / 13
    assert result.method == ("leave-query-out" if with_queries else "leave-pair-out")


def test_p_values_are_small_where_there_is_something_to_learn_and_uniform_otherwise():
    X, y = make_ranking(40, 3, noise=0.5, random_state=0)
    assert permutation_test(RankRLS(), X, y, n_permutations=199, random_state=0).pvalue == 1 / 200
    generator = np.random.default_rng(0)
    noise = [
        permutation_test(RankRLS(), X, generator.normal(size=40), n_permutations=39, random_state=k).pvalue
        for k in range(100)
    ]
    assert 0.4 < np.mean(noise) < 0.62
    assert np.mean(np.array(noise) <= 0.1) < 0.2


def test_what_the_permutation_test_refuses():
    X, y, _ = data()
    with pytest.raises(ValueError, match="n_permutations must be a whole number of at least 1"):
        permutation_test(RankRLS(), X, y, n_permutations=0)


@FEW_CANDIDATES
@pytest.mark.parametrize(
    "parameters",
    [{}, {"average": "pairs"}, {"cost": "unit"}, {"ties": "drop", "average": "pairs"}, {"cost": "relative"}],
)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_folds_of_queries_share_their_parts(parameters, n_outputs, monkeypatch):
    generator = np.random.default_rng(3)
    X, qid = generator.normal(size=(120, 4)) + 1e4, generator.permutation(np.arange(120) % 9)
    y = generator.integers(0, 4, (120, n_outputs)) + (X[:, :1] - 1e4 > 0)
    y = y[:, 0] if n_outputs == 1 else y
    weight = generator.integers(1, 4, 120).astype(float)
    models = [RankRLSCV([10.0, 1.0, 1e-2], cv=3, **parameters) for _ in range(2)]
    shared = models[0].fit(X, y, qid=qid, sample_weight=None if n_outputs == 2 else weight)
    monkeypatch.setattr(RankRLS, "fold_equations", lambda *arguments: None)
    apart = models[1].fit(X, y, qid=qid, sample_weight=None if n_outputs == 2 else weight)
    np.testing.assert_allclose(shared.cv_errors_, apart.cv_errors_, rtol=1e-9)
    assert shared.alpha_ == apart.alpha_


@FEW_CANDIDATES
@pytest.mark.parametrize("parameters", [{}, {"cost": "unit"}, {"average": "pairs"}])
def test_the_grid_of_folds_that_share_their_parts_is_that_of_all_rows(parameters, monkeypatch):
    X, y, qid = make_ranking(90, 3, n_queries=9, n_levels=4, noise=0.5, random_state=1)
    shared = RankRLSCV(cv=3, **parameters).fit(X, y, qid=qid)
    monkeypatch.setattr(RankRLS, "fold_equations", lambda *arguments: None)
    apart = RankRLSCV(cv=3, **parameters).fit(X, y, qid=qid)
    np.testing.assert_allclose(shared.alphas_, apart.alphas_, rtol=1e-12)


@pytest.mark.parametrize("with_queries", [True, False])
def test_parts_score_as_fits_to_the_other_parts_do(with_queries):
    generator = np.random.default_rng(4)
    X, y, qid = generator.normal(size=(90, 3)), generator.normal(size=90), np.arange(90) // 10
    target = Preferences.from_scores(y, qid if with_queries else None)
    search = Folds(RankRLS(), Problem(X, [target]))
    folds = search.split(3)
    assert (
        search.rows.partition(folds) is None
    ) is not with_queries  # rows of one ranking have pairs between folds
    (found,) = search.scores(np.array([0.3]))
    for (train, test), (_, scores) in zip(folds, found, strict=True):
        fitted = RankRLS(0.3).fit(X[train], target[train])
        np.testing.assert_allclose(scores[0], fitted.predict(X[test]), rtol=1e-8)
    assert search.rows.partition([*folds[:2], (folds[2][0][1:], folds[2][1])]) is None
    assert search.rows.partition(folds[:2]) is None


@FEW_CANDIDATES
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_fit_to_all_rows_takes_the_sums_of_the_folds(offset, monkeypatch):
    generator = np.random.default_rng(5)
    X, y, qid = generator.normal(size=(90, 3)) + offset, generator.normal(size=90), np.arange(90) // 10
    made, made_by = [], MemoryDesign.equations_of_parts
    monkeypatch.setattr(
        MemoryDesign,
        "equations_of_parts",
        lambda self, form, parts: made.append([len(rows) for rows in parts]) or made_by(self, form, parts),
    )
    model = RankRLSCV([10.0, 1.0, 1e-2], cv=3).fit(X, y, qid=qid)
    assert made == [[30, 30, 30]]
    monkeypatch.undo()
    expected = RankRLS(model.alpha_).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    assert model.gap_ <= 1e-6 * model.objective_


def test_what_a_search_finds_is_not_taken_for_other_rows():
    generator = np.random.default_rng(8)
    X, y, qid = generator.normal(size=(90, 3)), generator.normal(size=90), np.arange(90) // 10
    search = Folds(RankRLS(0.3), Problem(X, [Preferences.from_scores(y, qid)]))
    search.split(3)
    list(search.errors(np.array([0.3])))
    expected = RankRLS(0.3).fit(X[:40], y[:40], qid=qid[:40])
    np.testing.assert_array_equal(search.model.fit(X[:40], y[:40], qid=qid[:40]).coef_, expected.coef_)


@FEW_CANDIDATES
@pytest.mark.parametrize("cv", ["leave-query-out", "leave-pair-out"])
def test_lambda_can_be_kept_when_queries_or_pairs_are_left_out(cv):
    X, y, qid = data(24, 4)
    queries = qid if cv == "leave-query-out" else None
    model = RankRLSCV(ALPHAS, cv=cv, keep="lambda", cost="unit").fit(X, y, qid=queries)
    if cv == "leave-query-out":
        found = leave_query_out(RankRLS(cost="unit"), X, y, qid, alphas=DESCENDING, keep="lambda")
    else:
        found = leave_pair_out(RankRLS(cost="unit"), X, y, alphas=DESCENDING, keep="lambda")
    np.testing.assert_allclose(model.cv_errors_, found.error, atol=1e-12)


def test_folds_keep_alpha():
    X, y, _ = data(24)
    with pytest.raises(ValueError, match="folds keep alpha"):
        RankRLSCV(ALPHAS, cv=3, keep="lambda").fit(X, y)
    with pytest.raises(ValueError, match="keep must be one of"):
        RankRLSCV(ALPHAS, keep="sum").fit(X, y)


@FEW_CANDIDATES
@pytest.mark.parametrize("ties", ["keep", "drop"])
@pytest.mark.parametrize("cv", [None, 3])
def test_a_list_of_preferences_has_an_output_for_each(ties, cv):
    X, y, qid = data()
    Y = np.column_stack([y, y[::-1]])
    outputs = [Preferences.from_scores(column, qid) for column in Y.T]
    expected = RankRLSCV(ALPHAS, cv=cv, ties=ties).fit(X, Y, qid=qid)
    found = RankRLSCV(ALPHAS, cv=cv, ties=ties).fit(X, outputs)
    np.testing.assert_allclose(found.cv_errors_, expected.cv_errors_, atol=1e-12)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    assert found.score(X, outputs) == pytest.approx(expected.score(X, Y, qid=qid))


@pytest.mark.parametrize(
    "second",
    [
        {"qid": np.arange(60) % 5},
        {"qid": np.arange(60) % 6, "sample_weight": np.arange(60) % 3 + 1.0},
        {},
    ],
)
def test_outputs_with_other_queries_or_weights_are_fitted_alone(second):
    X, y, _ = data()
    outputs = [Preferences.from_scores(y, np.arange(60) % 6), Preferences.from_scores(y[::-1], **second)]
    found = RankRLS().fit(X, outputs)
    for k, output in enumerate(outputs):
        alone = RankRLS().fit(X, output)
        np.testing.assert_allclose(found.coef_[k], alone.coef_, rtol=1e-9)
        assert found.n_pairs_[k] == alone.n_pairs_
    np.testing.assert_allclose(
        found.path(X, outputs, [1.0, 0.1])[1, 1], RankRLS(0.1).fit(X, outputs[1]).coef_
    )


def test_a_list_of_preferences_among_other_rows_is_refused():
    X, y, qid = data()
    with pytest.raises(ValueError, match="among the same rows; they have"):
        RankRLS().fit(X, [Preferences.from_scores(y), Preferences.from_scores(y[1:])])
    with pytest.raises(ValueError, match="qid must be None"):
        RankRLS().fit(X, [Preferences.from_scores(y)] * 2, qid=qid)


@FEW_CANDIDATES
@pytest.mark.parametrize("parameters", [{}, {"cost": "unit"}, {"kernel": "rbf", "n_components": 20}])
def test_the_fit_after_leaving_queries_out_is_that_of_all_rows(parameters):
    X, y, qid = make_ranking(200, 4, n_queries=20, n_levels=4, noise=0.5, random_state=1)
    model = RankRLSCV([10.0, 1.0, 1e-2], random_state=0, **parameters).fit(X, y, qid=qid)
    expected = RankRLS(model.alpha_, random_state=0, **parameters).fit(X, y, qid=qid)
    assert model.cv_ == "leave-query-out"
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-8, atol=1e-10)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-10)


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")
def test_outputs_whose_positives_share_a_fold_are_pooled():
    generator = np.random.default_rng(12)
    X = generator.normal(size=(100, 4))
    Y = np.column_stack([generator.random(100) < 0.3, np.zeros(100)]).astype(float)
    Y[:2, 1] = 1
    folds = [(np.setdiff1d(np.arange(100), test), test) for test in np.split(np.arange(100), 10)]
    model = RankRLSCV([1.0, 0.1], cv=folds, pooled=True, alpha_per_output=True).fit(X, Y)
    scores = np.zeros((2, 100, 2))
    for train, test in folds:
        for k, alpha in enumerate([1.0, 0.1]):
            for output in (0, 1):
                if len(np.unique(Y[train, output])) > 1:
                    scores[k, test, output] = RankRLS(alpha).fit(X[train], Y[train, output]).predict(X[test])
    expected = [[ranking_error(Y[:, j], scores[k][:, j]) for j in (0, 1)] for k in (0, 1)]
    np.testing.assert_allclose(model.cv_errors_, expected)
    alone = RankRLSCV([1.0, 0.1], cv=folds, pooled=True).fit(X, Y[:, 1])
    np.testing.assert_allclose(alone.cv_errors_, np.array(expected)[:, 1])
    RankRLSCV(cv=10, pooled=True, alpha_per_output=True).fit(X, Y)


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")
def test_folds_do_not_depend_on_the_order_of_outputs():
    generator = np.random.default_rng(3)
    X, Y = generator.normal(size=(60, 3)), generator.normal(size=(60, 2))
    here, there = (RankRLSCV(cv=4, alpha_per_output=True).fit(X, part) for part in (Y, Y[:, ::-1]))
    np.testing.assert_allclose(here.cv_errors_, there.cv_errors_[:, ::-1], rtol=1e-9)
    np.testing.assert_array_equal(here.alpha_, there.alpha_[::-1])
