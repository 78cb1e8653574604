"""What alphas are compared by: measures by name, scorers, validation rows, and pairs that share rows."""

import json
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer

from rankwise import BoostedRanker, Preferences, RankLogisticCV, RankRLSCV, RankSVM, RankSVMCV
from rankwise.cli.main import main
from rankwise.datasets import dump_svmlight, make_ranking
from rankwise.evaluation.registry import parsed_measure
from rankwise.metrics import average_precision, kendall_tau, ndcg, precision, ranking_error, reciprocal_rank
from rankwise.model_selection import EqualErrorsWarning, QueryKFold
from rankwise.model_selection.scoring import as_scoring

X, Y, QID = make_ranking(240, 4, n_queries=12, n_levels=3, noise=1.0, random_state=3)
ALPHAS = [10.0, 1.0, 1e-1, 1e-2, 1e-3]
QUIET = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")
ESTIMATORS = [
    RankSVMCV(ALPHAS, cv=3, tol=1e-9),
    RankRLSCV(ALPHAS, cv=3),
    RankLogisticCV(ALPHAS, cv=3, tol=1e-9),
]


def folds():
    return QueryKFold(3, shuffle=True, random_state=0).split(X, groups=QID)


def errors_by(model, measure):
    """The error of each alpha and fold, by fits of their own."""
    table = []
    for alpha in ALPHAS:
        fits = [
            (model.with_alpha(alpha).fit(X[train], Y[train], qid=QID[train]).predict(X[test]), test)
            for train, test in folds()
        ]
        table.append([1 - measure(Y[test], scores, QID[test]) for scores, test in fits])
    return np.array(table)


@QUIET
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("ndcg@3", partial(ndcg, k=3)),
        ("map", average_precision),
        ("mrr", reciprocal_rank),
        ("p@2", partial(precision, k=2)),
        ("tau", kendall_tau),
        ("concordance", lambda *columns: 1 - ranking_error(*columns)),
    ],
)
def test_alphas_are_compared_by_the_measure_that_is_named(model, name, measure):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        fitted = model.set_params(scoring=name).fit(X, Y, qid=QID)
        expected = errors_by(model, measure)
    found = fitted.cv_errors_ if fitted.cv_errors_.ndim == 2 else fitted.cv_errors_[:, None]
    expected = expected if found.shape[1] > 1 else expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert fitted.alpha_ == ALPHAS[int(np.argmin(found.mean(axis=1)))]
    assert fitted.scoring_ == name


@QUIET
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_a_scorer_does_what_the_measure_does(model):
    by_name = model.set_params(scoring="ndcg@3").fit(X, Y, qid=QID)
    errors, alpha = by_name.cv_errors_, by_name.alpha_
    scored = model.set_params(scoring=make_scorer(ndcg, k=3)).fit(X, Y, qid=QID)
    np.testing.assert_allclose(scored.cv_errors_, errors - 1, atol=1e-12)
    assert (scored.alpha_, scored.scoring_) == (alpha, "score")


@QUIET
def test_a_scorer_sees_plain_labels_where_there_are_no_queries():
    def largest(model, rows, labels):
        assert isinstance(labels, np.ndarray)
        return float(np.corrcoef(labels, model.predict(rows))[0, 1])

    model = RankSVMCV(ALPHAS, cv=3, scoring=largest, pair_weight="difference").fit(X, Y)
    assert (-model.cv_errors_ > 0.3).all()


@QUIET
@pytest.mark.parametrize("cv", ["leave-query-out", "folds"])
def test_queries_that_are_left_out_exactly_have_any_measure(cv):
    model = RankRLSCV(ALPHAS, cv=None if cv == "leave-query-out" else 12, scoring="ndcg@3")
    model.fit(X, Y, qid=QID)
    others = RankRLSCV(ALPHAS, cv=[(np.flatnonzero(q != QID), np.flatnonzero(q == QID)) for q in range(12)])
    others.set_params(scoring="ndcg@3").fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.cv_errors_, others.cv_errors_, atol=1e-9)


def test_queries_without_relevant_rows_warn_once():
    labels = np.where(QID < 4, 0, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RankSVMCV(ALPHAS, cv=3, scoring="ndcg@3").fit(X, labels, qid=QID)
    assert sum(issubclass(warning.category, UndefinedMetricWarning) for warning in caught) == 1


def test_queries_without_relevant_rows_may_count():
    preferences, scores = Preferences.from_scores([1, 0, 0, 0], qid=[0, 0, 1, 1]), np.arange(4.0)
    error = as_scoring("ndcg", undefined=0.0).error(preferences, scores)
    assert error == pytest.approx(1 - (1 / np.log2(3)) / 2)  # the one relevant row is second of two
    scorer = make_scorer(ndcg, undefined=0.0)
    assert scorer(RankSVM().fit(X, Y), X[:4], preferences) <= 0.5


def test_measures_are_refused_by_name():
    with pytest.raises(ValueError, match=r"scoring must be among error, ndcg, .*; got 'ndgc'"):
        RankSVMCV(scoring="ndgc").fit(X, Y)
    with pytest.raises(ValueError, match="scoring must be the name of a measure"):
        RankSVMCV(scoring=3).fit(X, Y)
    with pytest.raises(ValueError, match="needs scores that are log odds"):
        RankSVMCV(scoring="log_loss").fit(X, Y)
    with pytest.raises(ValueError, match=r"give folds \(cv=5\)"):
        RankRLSCV(cv="leave-pair-out", scoring="ndcg").fit(X, Y)
    kind, options = parsed_measure("p@5")
    assert (kind.key, options) == ("p", {"k": 5})


# Validation rows


@QUIET
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_alphas_are_compared_on_the_validation_rows(model):
    train, test = QID < 8, QID >= 8
    model.set_params(scoring="error").fit(
        X[train], Y[train], qid=QID[train], validation=(X[test], Y[test], QID[test])
    )
    fits = [model.with_alpha(alpha).fit(X[train], Y[train], qid=QID[train]) for alpha in ALPHAS]
    expected = [ranking_error(Y[test], fit.predict(X[test]), QID[test]) for fit in fits]
    np.testing.assert_allclose(model.cv_errors_.reshape(len(ALPHAS)), expected, atol=2e-3)
    np.testing.assert_allclose(model.coef_, fits[ALPHAS.index(model.alpha_)].coef_, rtol=1e-3, atol=1e-5)


def test_validation_rows_are_checked():
    with pytest.raises(ValueError, match=r"validation must be \(X, y\) or \(X, y, qid\)"):
        RankSVMCV().fit(X, Y, validation=X)
    with pytest.raises(ValueError, match="X of validation has 240 rows, but its y has 3"):
        RankSVMCV().fit(X, Y, validation=(X, [0, 1, 2]))


@QUIET
@pytest.mark.parametrize(
    "model",
    [*ESTIMATORS, BoostedRanker(n_estimators=2)],
    ids=lambda model: type(model).__name__,
)
def test_validation_rows_without_qid_warn(model):
    with pytest.warns(UserWarning, match="fit got qid, but validation has none: its rows of different"):
        model.fit(X, Y, qid=QID, validation=(X, Y))


@pytest.fixture
def files(tmp_path):
    for name, rows in {"train.txt": QID < 8, "valid.txt": QID >= 8}.items():
        dump_svmlight(X[rows], Y[rows], tmp_path / name, qid=QID[rows])
    return tmp_path


def run(capsys, *arguments):
    assert main([str(argument) for argument in (*arguments, "--json")]) == 0
    return json.loads(capsys.readouterr().out)


@QUIET
@pytest.mark.parametrize("command", ["tune", "train"])
def test_the_shell_takes_a_measure_and_validation_rows(command, files, capsys):
    options = ["--alphas", ",".join(map(str, ALPHAS)), "--metric", "ndcg@3", "--undefined", "0"]
    options += ["--valid", files / "valid.txt", "--tol", "1e-9", *(["--tune"] if command == "train" else [])]
    if command == "train":
        options += ["-o", files / "model.json"]
    values = run(capsys, command, files / "train.txt", *options)
    values = values.get("cross_validation", values)
    train, test = QID < 8, QID >= 8
    for alpha, error in zip(values["alphas"], values["mean_error"], strict=True):
        fit = RankSVM(alpha, tol=1e-9).fit(X[train], Y[train], qid=QID[train])
        assert error == pytest.approx(1 - ndcg(Y[test], fit.predict(X[test]), QID[test], k=3), abs=1e-6)
    assert values["scoring"] == "ndcg@3"
    assert values["mean"] == pytest.approx([1 - error for error in values["mean_error"]])
    assert values["values"] == [[value] for value in values["mean"]]
    assert values["std"] == [0.0] * len(ALPHAS)


@QUIET
@pytest.mark.parametrize(
    ("metric", "title"),
    [
        ("ndcg@3", "ndcg@3, exponential gain"),
        ("tau", "kendall's tau"),
        ("concordance", "concordance"),
        ("error", "ranking error"),
    ],
)
def test_the_shell_prints_the_measure_that_was_asked_for(metric, title, files, capsys):
    options = [str(files / "train.txt"), "--alphas", ",".join(map(str, ALPHAS)), "--metric", metric]
    options += ["--valid", str(files / "valid.txt")]
    values = run(capsys, "tune", *options)
    assert main(["tune", *options]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert f"  {title}  " in header
    assert [float(line.split()[1]) for line in lines] == pytest.approx(values["mean"], abs=1e-4)
    best = [float(line.split()[1]) for line in lines if line.endswith("best")]
    pick = min if metric == "error" else max
    assert best == [pytest.approx(pick(values["mean"]), abs=1e-4)]
    assert main(["tune", *options, "-o", str(files / "model.json")]) == 0
    assert f" in 1 fold, {title} {best[0]:.4f})" in capsys.readouterr().out


def test_the_shell_refuses_what_does_not_go_together(files, capsys):
    assert main(["tune", str(files / "train.txt"), "--metric", "ndgc"]) == 2
    assert "--metric must be among error" in capsys.readouterr().err
    assert main(["train", str(files / "train.txt"), "-o", str(files / "m"), "--metric", "map"]) == 2
    assert "use it with --tune" in capsys.readouterr().err


# Explicit pairs that share rows


def shared_pairs(n=60, n_pairs=400, seed=0):
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(n, 3))
    first, second = rng.integers(0, n, size=(2, n_pairs))
    first, second = first[first != second], second[first != second]
    wins = (items[first] - items[second]) @ [1.0, -1.0, 0.5] + rng.logistic(size=len(first)) > 0
    return items, Preferences.from_pairs(np.where(wins, first, second), np.where(wins, second, first))


@QUIET
@pytest.mark.parametrize("model", [RankSVMCV(), RankRLSCV(), RankLogisticCV()])
def test_pairs_that_share_rows_are_assigned_to_folds_as_pairs(model):
    items, pairs = shared_pairs()
    model.set_params(scoring="error").fit(items, pairs)
    errors = model.cv_errors_ if model.cv_errors_.ndim == 1 else model.cv_errors_.mean(axis=1)
    assert errors.min() < 0.35
    assert len(np.unique(errors)) > 1
    if isinstance(model, RankRLSCV):
        assert model.cv_ == "folds of pairs"


def test_folds_of_pairs_hold_each_pair_out_once():
    _, pairs = shared_pairs()
    dealt = pairs.pair_folds(5, seed=1)
    assert sum(test.n_pairs for _, test in dealt) == pairs.n_pairs
    for train, test in dealt:
        assert train.n_rows == test.n_rows == 60
        assert train.n_pairs + test.n_pairs == pairs.n_pairs
        seen, left = (
            {frozenset(ends) for ends in zip(*part.pairs()[:2], strict=True)} for part in (train, test)
        )
        assert not seen & left
    chosen = Preferences.from_pairs(np.arange(10), np.arange(10) + 10)
    assert chosen.pair_folds(5) == []  # ten pairs that share no row are queries of their own
    assert Preferences.from_scores(Y).pair_folds(5) == []


def test_too_few_pairs_for_the_folds_raise_an_error():
    rows, pairs = np.eye(3), Preferences.from_pairs([0, 1, 1], [1, 0, 2])
    for model in (RankSVMCV(), RankRLSCV(cv=5), RankLogisticCV()):
        with pytest.raises(
            ValueError, match=r"5 folds need as many different pairs of rows.*got 2 different"
        ):
            model.fit(rows, pairs)


@pytest.mark.parametrize("model", [RankSVMCV(ALPHAS, cv=3), RankRLSCV(ALPHAS, cv=3)])
def test_a_choice_among_equal_errors_warns(model):
    rows = np.tile([[0.0], [1.0]], (30, 1))
    message = r"All 5 candidates for alpha have the same held-out error, 0; .*taken, 10\. Smaller.*0\.0001"
    with pytest.warns(EqualErrorsWarning, match=message):
        model.fit(rows, rows[:, 0])
    assert model.alpha_ == 10.0
