"""Boosted trees over all pairs."""

import io
import json
import logging
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from html_page import Page
from rankwise import (
    BoostedRanker,
    BoostedRankerCV,
    ModelFileError,
    Preferences,
    export_model,
    load_model,
    objectives,
    save_model,
)
from rankwise.cli.main import main
from rankwise.estimators import tree_text
from rankwise.estimators.tree_text import TreeTextError
from rankwise.io.model_file import model_info
from rankwise.io.model_layout import read_layout, write_layout
from rankwise.io.svmlight import dump_svmlight
from rankwise.metrics import pair_log_loss, ranking_error
from rankwise.model_selection import QueryKFold
from rankwise.plotting import PairExplanationDisplay
from rankwise.report import Report
from sparse_forms import in_halves

lgb = pytest.importorskip("lightgbm")

GENERATOR = np.random.default_rng(7)
X = GENERATOR.normal(size=(500, 4))
Y = np.round(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * GENERATOR.normal(size=500), 1)
QID = GENERATOR.integers(0, 12, 500)
TRAIN, TEST = np.arange(350), np.arange(350, 500)
WHOLE = {"subsample": 1.0, "colsample_bynode": 1.0, "learning_rate": 0.1}  # nothing is drawn


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge", "least_squares"])
@pytest.mark.parametrize(
    "preferences",
    [
        Preferences.from_scores(Y),
        Preferences.from_scores(Y, QID),
        Preferences.from_survival(GENERATOR.random(500) < 0.7, Y),
        Preferences.from_order(np.where(Y > 0, "high", "low"), [("high", "low")]),
        Preferences.from_pairs(np.argsort(Y)[250:], np.argsort(Y)[:250], n_rows=500),
    ],
    ids=["scores", "queries", "survival", "order", "pairs"],
)
def test_any_preferences_and_loss_are_learned(preferences, loss):
    model = BoostedRanker(loss, n_estimators=60, **WHOLE).fit(X, preferences)
    assert ranking_error(preferences, model.predict(X)) < 0.15
    assert model.n_pairs_ == preferences.n_pairs


def test_it_is_lightgbm_with_the_objective():
    options = {"n_estimators": 20, "num_leaves": 7, "reg_lambda": 1.0}
    model = BoostedRanker("logistic", **options, **WHOLE).fit(X, Y, qid=QID)
    objective = objectives.lightgbm(Preferences.from_scores(Y, QID), "logistic")
    parameters = {
        "objective": objective, "num_leaves": 7, "lambda_l2": 1.0, "verbose": -1, "num_threads": 1,
        "deterministic": True, "force_col_wise": True,
    }  # fmt: skip
    booster = lgb.train(parameters, lgb.Dataset(X, Y), num_boost_round=20)
    np.testing.assert_allclose(model.predict(X), booster.predict(X), rtol=1e-9, atol=1e-12)
    gain = booster.feature_importance("gain")
    np.testing.assert_allclose(model.feature_importances_, gain / gain.sum())
    assert model.n_iter_ == 20


def test_validation_rows_choose_the_number_of_trees():
    model = BoostedRanker(n_estimators=500, early_stopping_rounds=10)
    model.fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN], validation=(X[TEST], Y[TEST], QID[TEST]))
    errors = model.validation_errors_
    assert model.n_iter_ == 1 + np.argmin(errors) < len(errors) < 500
    error = ranking_error(Y[TEST], model.predict(X[TEST]), QID[TEST])
    assert errors.min() == pytest.approx(error, abs=1e-12)
    fewer = BoostedRanker(n_estimators=model.n_iter_).fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])
    np.testing.assert_array_equal(fewer.predict(X), model.predict(X))


def test_validation_rows_may_have_any_preferences():
    held_out = Preferences.from_pairs([0], [1], n_rows=150)
    model = BoostedRanker(n_estimators=5).fit(X[TRAIN], Y[TRAIN], validation=(X[TEST], held_out))
    assert set(model.validation_errors_) <= {0.0, 0.5, 1.0}
    for wrong, message in (
        (X, r"validation must be a tuple \(X, y\), \(X, y, qid\) or \(X, y, qid, init_score\)"),
        ((X[TEST], Y[TRAIN]), "validation has 150 rows in X, but 350 in y"),
        ((X[TEST][:, :2], Y[TEST]), "2 features, but BoostedRanker is expecting 4"),
    ):
        with pytest.raises(ValueError, match=message):
            BoostedRanker().fit(X[TRAIN], Y[TRAIN], validation=wrong)


def test_weights_of_rows_are_those_of_the_preferences():
    weight = GENERATOR.choice([0.0, 1.0, 3.0], 500)
    model = BoostedRanker(n_estimators=5).fit(X, Y, sample_weight=weight)
    explicit = BoostedRanker(n_estimators=5).fit(X, Preferences.from_scores(Y, sample_weight=weight))
    np.testing.assert_array_equal(model.predict(X), explicit.predict(X))
    plain = BoostedRanker(n_estimators=5).fit(X, Y)
    assert not np.array_equal(model.predict(X), plain.predict(X))


def test_threads_and_seeds():
    options = {"n_estimators": 10, "subsample": 0.5, "colsample_bytree": 0.5}
    one, two = (BoostedRanker(**options, n_jobs=n, random_state=3).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    other = BoostedRanker(**options, random_state=4).fit(X, Y)
    assert not np.array_equal(one.predict(X), other.predict(X))


def test_probabilities_of_pairs_are_those_of_the_logistic_loss():
    model = BoostedRanker("logistic", n_estimators=10).fit(X, Y)
    scores = model.predict(X)
    expected = 1 / (1 + np.exp(scores[1:] - scores[:-1]))
    np.testing.assert_allclose(model.predict_pair_proba(X[:-1], X[1:]), expected)
    assert model.predict_pair_proba(X[0], X[0])[0] == 0.5
    assert not hasattr(BoostedRanker(), "predict_pair_proba")


def test_a_pair_is_explained_by_parts_that_add_up():
    model = BoostedRanker(n_estimators=20).fit(X, Y)
    scores = model.predict(X[:2])
    parts = model.explain_pair(X[0], X[1])
    assert parts.shape == (4,)
    assert parts.sum() == pytest.approx(scores[0] - scores[1])
    assert abs(parts[3]) < abs(parts).max()
    contributions = model.contributions(X[:2])
    np.testing.assert_allclose(contributions[0] - contributions[1], parts)
    np.testing.assert_allclose(model.contributions(sp.csr_matrix(X[:2])), contributions)


def test_sparse_rows_are_the_same_rows():
    rows = np.where(X > 0.5, X, 0.0)
    dense = BoostedRanker(n_estimators=10).fit(rows, Y)
    sparse = BoostedRanker(n_estimators=10).fit(sp.csr_array(rows), Y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(rows)), dense.predict(rows), rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_that_lightgbm_takes_for_zero_are_refused(form):
    for rows in (1e-60 * X, np.zeros_like(X)):
        with pytest.raises(ValueError, match=r"above 1e-35 or below -1e-35; LightGBM .* power of ten\.$"):
            BoostedRanker().fit(form(rows), Y)
    one, other = (BoostedRanker(n_estimators=5).fit(form(rows), Y) for rows in (X, 1e-30 * X))
    np.testing.assert_array_equal(other.rank(form(1e-30 * X)), one.rank(form(X)))


def test_entries_stored_in_parts_are_the_same_rows():
    rows = np.where(X > 0.5, X, 0.0)
    model = BoostedRanker(n_estimators=10).fit(rows[:200], Y[:200], validation=(rows[200:], Y[200:]))
    validation = (in_halves(rows[200:]), Y[200:])
    other = BoostedRanker(n_estimators=10).fit(in_halves(rows[:200]), Y[:200], validation=validation)
    np.testing.assert_array_equal(other.validation_errors_, model.validation_errors_)
    np.testing.assert_allclose(other.predict(in_halves(rows)), model.predict(rows), rtol=1e-12)
    np.testing.assert_allclose(model.contributions(in_halves(rows[:2])), model.contributions(rows[:2]))
    parts = model.explain_pair(in_halves(rows[:1]), in_halves(rows[1:2]))
    np.testing.assert_allclose(parts, model.explain_pair(rows[0], rows[1]))


def with_categories(library, columns, kind):
    """A frame whose column "colour" is categorical."""
    if library is pd:
        return pd.DataFrame(columns).astype({"colour": pd.CategoricalDtype(kind)})
    if library is pl:
        return pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Enum(kind)))
    codes = [kind.index(name) for name in columns["colour"]]
    colour = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(kind))
    return pa.table({"size": pa.array(columns["size"]), "colour": colour})


@pytest.mark.parametrize("library", [pd, pl, pa], ids=["pandas", "polars", "pyarrow"])
def test_categories_and_missing_values_of_a_frame(library):
    names = np.array(["red", "green", "blue", "grey"])[GENERATOR.integers(0, 4, 500)]
    worth = {"red": 0.0, "green": 3.0, "blue": -1.0, "grey": 1.0}
    y = np.array([worth[name] for name in names]) + 0.1 * X[:, 0]
    columns = {"size": np.where(X[:, 0] > 1, np.nan, X[:, 0]), "colour": names}
    frame = with_categories(library, columns, sorted(worth))
    options = {"n_estimators": 60, "lightgbm_parameters": {"min_data_per_group": 5, "cat_smooth": 1}}
    model = BoostedRanker(**options).fit(frame, y)
    assert model.score(frame, y) > 0.95
    assert model.feature_names_in_.tolist() == ["size", "colour"]
    codes = np.column_stack([columns["size"], np.searchsorted(sorted(worth), names)])
    by_place = BoostedRanker(categorical_features=[1], **options).fit(codes, y)
    np.testing.assert_array_equal(model.predict(frame), by_place.predict(codes))
    # Another order of the categories is the same category; one that was never seen is missing.
    other = with_categories(library, {"size": [0.5, 0.5], "colour": ["green", "pink"]}, ["pink", "green"])
    np.testing.assert_array_equal(model.predict(other), by_place.predict([[0.5, 1.0], [0.5, np.nan]]))


def test_categories_that_polars_does_not_declare():
    names = ["b", "a", None, "c"] * 50
    frame = pl.DataFrame({"colour": names}).with_columns(pl.col("colour").cast(pl.Categorical))
    model = BoostedRanker(n_estimators=1).fit(frame, np.tile([1, 0, 2, 0], 50))
    assert model.categories_ == {0: ["a", "b", "c"]}


def test_words_are_categories_and_text_is_refused():
    words = np.where(X[:, 1] > 0, "long", "short")
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(["x"] * 500), "c": words})
    model = BoostedRanker(n_estimators=5).fit(frame, Y)
    assert model.categories_ == {1: ["x"], 2: ["long", "short"]}
    declared = frame.assign(c=pd.Categorical(words))
    np.testing.assert_array_equal(
        model.predict(frame), BoostedRanker(n_estimators=5).fit(declared, Y).predict(declared)
    )
    with pytest.raises(ValueError, match=r"Column 'c' has 500 different strings in 500 rows.*names or text"):
        BoostedRanker().fit(frame.assign(c=[f"W{k}" for k in range(500)]), Y)


def test_categories_of_arrays_are_whole_numbers():
    for bad in (-1.0, 0.5, 2.0**31):
        rows = np.where(X > 0, bad, 0.0)
        for codes in (rows, sp.csr_matrix(rows)):
            with pytest.raises(ValueError, match=r"whole numbers from 0 to .*; column 1 of X"):
                BoostedRanker(categorical_features=[1]).fit(codes, Y)
    with pytest.raises(ValueError, match="categorical_features names 'colour', which is no column"):
        BoostedRanker(categorical_features=["colour"]).fit(X, Y)


def test_pipelines_and_searches_pass_the_queries_on():
    model = make_pipeline(StandardScaler(), BoostedRanker(n_estimators=5))
    search = GridSearchCV(model, {"boostedranker__num_leaves": [2, 15]}, cv=QueryKFold(3))
    with config_context(enable_metadata_routing=True):
        search.fit(X, Y, qid=QID)
    assert search.best_params_ == {"boostedranker__num_leaves": 15}
    assert model[-1].get_params() == clone(model)[-1].get_params()


def test_warm_start_adds_trees_to_those_there_are():
    model = BoostedRanker(n_estimators=4, warm_start=True, **WHOLE).fit(X, Y)
    first = model.predict(X)
    model.set_params(n_estimators=10).fit(X, Y)
    whole = BoostedRanker(n_estimators=10, **WHOLE).fit(X, Y)
    assert model.n_iter_ == 10
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)
    assert np.abs(model.predict(X) - first).max() > 0.1
    with pytest.raises(ValueError, match=r"n_estimators=10 must be above the 10 trees there are already"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but BoostedRanker is expecting 4"):
        model.set_params(n_estimators=11).fit(X[:, :3], Y)


def test_warm_start_goes_on_from_a_file_and_stops_by_validation_rows(tmp_path):
    save_model(BoostedRanker(n_estimators=3, warm_start=True).fit(X[TRAIN], Y[TRAIN]), tmp_path / "m")
    model = load_model(tmp_path / "m").set_params(n_estimators=40, early_stopping_rounds=3, warm_start=True)
    model.fit(X[TRAIN], Y[TRAIN], validation=(X[TEST], Y[TEST]))
    assert model.n_iter_ == 4 + np.argmin(model.validation_errors_)
    error = ranking_error(Y[TEST], model.predict(X[TEST]))
    np.testing.assert_allclose(error, model.validation_errors_.min(), rtol=1e-9)


def test_trees_learn_what_to_add_to_scores_to_begin_with():
    first = BoostedRanker("logistic", n_estimators=4, **WHOLE).fit(X, Y, qid=QID)
    start = first.predict(X)
    second = BoostedRanker("logistic", n_estimators=6, **WHOLE).fit(X, Y, qid=QID, init_score=start)
    whole = BoostedRanker("logistic", n_estimators=10, **WHOLE).fit(X, Y, qid=QID)
    np.testing.assert_allclose(start + second.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)


def test_validation_rows_have_scores_to_begin_with_too():
    start = X[:, 0] * 3.0
    model = BoostedRanker(n_estimators=30, early_stopping_rounds=5)
    held_out = (X[TEST], Y[TEST], None, start[TEST])
    model.fit(X[TRAIN], Y[TRAIN], init_score=start[TRAIN], validation=held_out)
    error = ranking_error(Y[TEST], start[TEST] + model.predict(X[TEST]))
    np.testing.assert_allclose(error, model.validation_errors_.min(), rtol=1e-9)
    assert abs(ranking_error(Y[TEST], model.predict(X[TEST])) - error) > 1e-3


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({}, {"init_score": X[:10, 0]}, "init_score has length 10, but must have length 500"),
        ({}, {"init_score": np.full(len(X), np.inf)}, "init_score contains NaN or infinity"),
        ({"warm_start": True}, {"init_score": X[:, 0]}, "init_score must be None with warm_start=True"),
        ({}, {"init_score": X[:, 0], "validation": (X, Y)}, "training rows have an init_score and the val"),
        ({}, {"validation": (X, Y, None, X[:, 0])}, "validation rows have an init_score and the training"),
        (
            {},
            {"init_score": X[:, 0], "validation": (X, Y, None, X[:9, 0])},
            "init_score of validation has length 9, but must have length 500",
        ),
    ],
)
def test_wrong_scores_to_begin_with_are_refused(options, fit, message):
    with pytest.raises(ValueError, match=message):
        BoostedRanker(**options).fit(X, Y, **fit)


def test_warm_start_keeps_the_numbers_of_categories():
    frame = pd.DataFrame({"kind": pd.Categorical(np.array(["b", "c"])[QID % 2]), "x": X[:, 0]})
    model = BoostedRanker(n_estimators=2, warm_start=True).fit(frame, Y)
    wider = frame.assign(kind=pd.Categorical(frame["kind"], categories=["a", "b", "c"]))
    model.set_params(n_estimators=4).fit(wider, Y)
    np.testing.assert_array_equal(model.predict(wider), model.predict(frame))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "ndcg"}, "loss must be one of"),
        ({"n_estimators": 0}, "n_estimators must be an integer"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds must be"),
        ({"lightgbm_parameters": {"objective": "l2"}}, "lightgbm_parameters must not hold 'objective'"),
        ({"early_stopping": "yes"}, "early_stopping must be 'auto', True or False; got 'yes'"),
        ({"validation_fraction": 0.0}, "validation_fraction must be above 0 and at most 0.5; got 0.0"),
        ({"validation_fraction": 0.6}, "validation_fraction must be above 0 and at most 0.5; got 0.6"),
        ({"scoring": "ndcg@x"}, "scoring must be among error"),
        ({"scoring": len}, "scoring must be the name of a measure, such as 'ndcg@10'"),
        ({"scoring": "log_loss"}, "scoring='log_loss' needs loss='logistic'"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BoostedRanker(**options).fit(X, Y)


def test_too_few_rows_for_a_split_are_logged(caplog):
    with caplog.at_level(logging.WARNING, "rankwise"):
        model = BoostedRanker().fit(X[:15], Y[:15])
    assert not model.predict(X).any()
    assert "No tree has a split" in caplog.text
    assert "min_child_samples=10 rows, and there are 15" in caplog.text


def test_leaves_of_few_rows_have_fewer_by_default():
    for n_rows, in_leaf in ((499, 10), (500, 20)):
        model, given = (
            BoostedRanker(n_estimators=3, min_child_samples=n).fit(X[:n_rows], Y[:n_rows])
            for n in (None, in_leaf)
        )
        np.testing.assert_array_equal(model.predict(X), given.predict(X))


def test_verbose_prints_the_errors(capsys):
    BoostedRanker(n_estimators=2, verbose=1).fit(X[TRAIN], Y[TRAIN], validation=(X[TEST], Y[TEST]))
    assert "ranking_error" in capsys.readouterr().out
    BoostedRanker(n_estimators=2).fit(X[TRAIN], Y[TRAIN], validation=(X[TEST], Y[TEST]))
    assert capsys.readouterr().out == ""


def test_a_missing_lightgbm_raises_an_error_with_the_install_command(monkeypatch):
    model = BoostedRanker(n_estimators=2).fit(X, Y)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"pip install 'rankwise\[lightgbm\]'"):
        BoostedRanker().fit(X, Y)
    with pytest.raises(ImportError, match="BoostedRanker needs LightGBM"):
        pickle.loads(pickle.dumps(model)).predict(X)


# Files


def test_a_saved_model_predicts_the_same(tmp_path):
    rows = np.where(GENERATOR.random(X.shape) < 0.1, np.nan, X)
    rows[:, 3] = GENERATOR.integers(0, 5, 500)
    model = BoostedRanker("logistic", n_estimators=10, categorical_features=[3]).fit(rows, Y)
    piped = make_pipeline(StandardScaler(), BoostedRanker(n_estimators=3)).fit(X, Y)
    for fitted, data in ((model, rows), (piped, X)):
        save_model(fitted, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict(data), fitted.predict(data))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(again.contributions(rows), model.contributions(rows))


def test_a_file_with_damaged_trees_is_refused(tmp_path):
    path = tmp_path / "model.json"
    save_model(BoostedRanker(n_estimators=3).fit(X, Y), path)
    with open(path, "rb") as file:
        header, arrays = read_layout(file)
    attributes = json.loads(json.dumps(header))["model"]["attributes"]
    for damage in (
        {"trees_": attributes["trees_"].replace("split_feature=", "split_feature=9")},
        {"trees_": attributes["trees_"][:-300]},
        {"trees_": 3},
        {"n_features_in_": 3},
        {"n_features_in_": 10**12},
    ):
        buffer = io.BytesIO()
        header["model"]["attributes"] = attributes | damage
        header.pop("arrays", None)
        write_layout(buffer, header, arrays)
        path.write_bytes(buffer.getvalue())
        with pytest.raises(ModelFileError, match="cannot be loaded"):
            load_model(path)


@pytest.fixture(scope="module")
def trees():
    fuzz = pytest.importorskip("fuzz.fuzz_trees")
    assert "num_cat=1" in fuzz.MODEL.trees_
    return fuzz


@given(st.lists(st.tuples(st.integers(0, 1500), st.sampled_from(b"0123456789-. =\nein")), max_size=2))
def test_trees_that_are_let_pass_can_be_used(trees, patches):
    trees.check(b"".join(place.to_bytes(2, "little") + bytes([value]) for place, value in patches))


LINES = [
    ("left_child=2 ", "left_child=0 "),
    ("split_feature=", "split_feature=7"),
    ("num_leaves=4", "num_leaves=5"),
    ("num_leaves=4", "num_leaves=99999999999"),
    ("num_leaves=4", "num_leaves=-4"),
    ("num_cat=1", "num_cat=2"),
    ("cat_boundaries=0 1", "cat_boundaries=0 9"),
    ("cat_threshold=", "cat_threshold=-"),
    ("leaf_value=", "leaf_value=nan "),
    ("leaf_value=-", "leaf_value=inf"),
    ("is_linear=0", "is_linear=1"),
    ("shrinkage=", "shrinkage=x"),
    ("decision_type=", "decision_type=1"),
    ("Tree=1", "Tree=7"),
    ("leaf_weight", "leaf_height"),
    ("\nleaf_count=", "\nextra=1\nleaf_count="),
]


@pytest.mark.parametrize(("line", "damage"), LINES)
def test_damaged_lines_are_refused(trees, line, damage):
    text = trees.MODEL.trees_
    tree_text.check(text, 3)
    assert line in text
    body = "Tree=0" + text.partition("Tree=0")[2].removesuffix("end of trees\n\n").replace(line, damage)
    first, second = body.split("Tree=", 2)[1:]
    with pytest.raises(TreeTextError, match="is not a tree"):
        tree_text.check(tree_text.whole([f"Tree={first}", f"Tree={second}"], 3), 3)


def test_another_header_is_refused(trees):
    for line, damage in (("num_class=1", "num_class=3"), ("tree_sizes=", "tree_sizes=9"), ("v4", "v5")):
        with pytest.raises(TreeTextError, match="does not have the form"):
            tree_text.check(trees.MODEL.trees_.replace(line, damage, 1), 3)


# Commands, pictures and the report


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boosted")
    dump_svmlight(X, Y, folder / "train.txt", qid=np.sort(QID))
    main(["train", str(folder / "train.txt"), "-o", str(folder / "model.json"), "-q", *METHOD])
    return folder


METHOD = ["--method", "boosted", "--loss", "logistic", "--n-estimators", "12", "--num-leaves", "7"]


def test_the_command_trains_the_estimator(files):
    model = load_model(files / "model.json")
    expected = BoostedRanker("logistic", n_estimators=12, num_leaves=7).fit(X, Y, qid=np.sort(QID))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert model_info(files / "model.json").metadata["alpha"] is None


def test_the_command_chooses_the_number_of_trees(files, capsys, tmp_path):
    tune = ["tune", str(files / "train.txt"), "--json", "--folds", "3", "--min-child-samples", "5"]
    tune += ["--metric", "log-loss"]
    main([*tune, *METHOD])
    found = json.loads(capsys.readouterr().out)
    (n_trees,) = found["trees"]
    assert 1 <= n_trees <= 12
    qid, errors = np.sort(QID), []
    for train, test in QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid):
        model = BoostedRanker("logistic", n_estimators=n_trees, num_leaves=7, min_child_samples=5).fit(
            X[train], Y[train], qid=qid[train]
        )
        errors.append(pair_log_loss(Y[test], model.predict(X[test]), qid[test]))
    assert found["scoring"] == "log_loss"
    np.testing.assert_allclose(found["errors"][0], errors, rtol=1e-12)
    assert found["best_n_estimators"] == n_trees
    main(["train", str(files / "train.txt"), "-o", str(tmp_path / "m"), "--tune", "--json", *METHOD])
    told = json.loads(capsys.readouterr().out)
    assert told["iterations"] == told["cross_validation"]["best_n_estimators"]


def test_the_command_stops_as_the_estimator_does(files, tmp_path, capsys):
    command = ["train", str(files / "train.txt"), "-o", str(tmp_path / "m"), "-q", "--method", "boosted"]
    options = {"early_stopping": True, "validation_fraction": 0.5, "min_child_samples": 30}
    options |= {"n_estimators": 40, "learning_rate": 0.3, "scoring": "ndcg@5"}
    given = ["--early-stopping", "yes", "--validation-fraction", "0.5", "--min-child-samples", "30"]
    given += ["--n-estimators", "40", "--learning-rate", "0.3", "--metric", "ndcg@5"]
    dump_svmlight(X, np.clip(Y, 0, 3), files / "graded.txt", qid=np.sort(QID))
    command[1] = str(files / "graded.txt")
    assert main([*command, *given]) == 0
    expected = BoostedRanker(**options).fit(X, np.clip(Y, 0, 3), qid=np.sort(QID))
    model = load_model(tmp_path / "m")
    assert model.n_iter_ == expected.n_iter_ == 1 + np.argmin(expected.validation_errors_)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    with pytest.raises(SystemExit):
        main([*command, "--validation-fraction", "0.7"])
    assert "must be a number above 0 and at most 0.5; got '0.7'" in capsys.readouterr().err


def test_the_command_chooses_the_size_of_trees(files, tmp_path, capsys):
    quick = ["--method", "boosted", "--learning-rate", "0.5", "--folds", "2", "--metric", "ndcg@5"]
    dump_svmlight(X, np.clip(Y, 0, 3), files / "graded.txt", qid=np.sort(QID))
    options = {"learning_rate": 0.5, "cv": 2, "scoring": "ndcg@5", "random_state": 0}
    expected = BoostedRankerCV(**options).fit(X, np.clip(Y, 0, 3), qid=np.sort(QID))
    assert main(["tune", str(files / "graded.txt"), "--json", *quick]) == 0
    found = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(found["errors"], expected.cv_errors_, rtol=1e-12)
    assert found["trees"] == expected.n_trees_.tolist()
    assert found["candidates"] == expected.candidates_
    command = ["--scale", "standard", "--valid", str(files / "graded.txt"), "-o", str(tmp_path / "m")]
    assert main(["tune", str(files / "graded.txt"), *quick, *command]) == 0
    assert "num leaves 15, min child samples 5" in capsys.readouterr().out
    assert main(["train", str(files / "graded.txt"), "--tune", "-q", "-o", str(tmp_path / "m"), *quick]) == 0
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), expected.predict(X))


def test_the_command_stops_by_validation_rows(files, tmp_path, capsys):
    dump_svmlight(X[::-1], Y[::-1], files / "valid.txt", qid=np.sort(QID))
    line = [
        "train",
        str(files / "train.txt"),
        "-q",
        "-o",
        str(tmp_path / "m"),
        "--valid",
        str(files / "valid.txt"),
    ]
    assert main([*line, "--method", "boosted", "--learning-rate", "0.3"]) == 0
    held_out = (X[::-1], Y[::-1], np.sort(QID))
    expected = BoostedRanker(learning_rate=0.3).fit(X, Y, qid=np.sort(QID), validation=held_out)
    found = load_model(tmp_path / "m")
    assert found.n_iter_ == expected.n_iter_ < 1000
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert main([*line, "--method", "rank-svm"]) == 2
    assert "--valid needs --tune with --method rank-svm" in capsys.readouterr().err


def test_the_command_takes_least_squares_for_trees_alone(files, tmp_path, capsys):
    command = ["train", str(files / "train.txt"), "-o", str(tmp_path / "m"), "-q", "--loss", "least-squares"]
    assert main([*command, "--method", "boosted", "--n-estimators", "5"]) == 0
    expected = BoostedRanker("least_squares", n_estimators=5).fit(X, Y, qid=np.sort(QID))
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), expected.predict(X))
    assert main(command) == 2
    assert "with --method rank-svm; got least-squares" in capsys.readouterr().err


def test_an_alpha_is_refused(files, tmp_path, capsys):
    assert main(["train", str(files / "train.txt"), "-o", str(tmp_path / "m"), *METHOD, "--alpha", "1"]) == 2
    assert "--alpha cannot be used with --method boosted" in capsys.readouterr().err


def test_the_report_explains_pairs_by_the_trees(files):
    model = load_model(files / "model.json")
    page = Page(Report(model, X, Y, np.sort(QID), pair=(0, 1)).to_html())
    data = page.data["pair-data"]
    a, b = (data["rows"][k] for k in data["pair"])
    expected = model.explain_pair(X[a["row"]], X[b["row"]])
    dense = np.zeros((2, 4))
    for line, row in zip(dense, (a, b), strict=True):
        line[[int(data["names"][k][1:]) - 1 for k in row["features"]]] = row["values"]
    np.testing.assert_allclose(dense[0] - dense[1], expected, atol=1e-8)
    assert sum(page.column("pair-table", "Contribution")) == pytest.approx(a["score"] - b["score"])
    spread = dict(zip(page.names("weights"), page.column("weights", "Standard deviation"), strict=True))
    std = model.contributions(X).std(axis=0)
    np.testing.assert_allclose([spread[f"f{k}"] for k in range(1, 5)], std, rtol=1e-9)


def test_a_pair_is_drawn_by_the_trees(files):
    pytest.importorskip("matplotlib").use("Agg")
    model = load_model(files / "model.json")
    display = PairExplanationDisplay.from_estimator(model, X[0], X[1])
    np.testing.assert_allclose(display.parts, model.explain_pair(X[0], X[1]))


def test_trees_are_not_exported_as_weights(files, tmp_path):
    model = load_model(files / "model.json")
    with pytest.raises(ValueError, match="'svmrank' does not support BoostedRanker"):
        export_model(model, tmp_path / "out", format="svmrank")


IN_A_FORK = """
import os, pickle, signal, sys, time
import numpy as np
from rankwise import BoostedRanker
from rankwise.datasets import make_ranking

X, y, qid = make_ranking(4000, 8, n_queries=40, n_levels=4, noise=0.5, random_state=0)
model = BoostedRanker(n_jobs=2, n_estimators=5).fit(X, y, qid=qid)
scores, unread = model.predict(X), pickle.loads(pickle.dumps(model))
calls = {
    "predict": lambda: np.array_equal(model.predict(X), scores),
    "read": lambda: np.array_equal(unread.predict(X), scores),
    "contributions": lambda: len(model.contributions(X)) == len(X),
    "fit": lambda: np.array_equal(model.fit(X, y, qid=qid).predict(X), scores),
}

def forked(call):
    process = os.fork()
    if process == 0:
        os._exit(0 if call() else 1)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "hangs"

print({name: forked(call) for name, call in calls.items()})
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_does_not_wait_for_threads_of_its_parent():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_FORK], capture_output=True, text=True, timeout=150
    )
    assert ended.stdout.strip() == "{'predict': 0, 'read': 0, 'contributions': 0, 'fit': 0}", ended.stderr
