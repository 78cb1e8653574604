"""Sums of curves that rank."""

import json
import pickle
import sqlite3
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    BoostedRanker,
    CurveRanker,
    CurveRankerCV,
    ModelFileError,
    Preferences,
    RankLogistic,
    RankSVM,
    export_model,
    load_model,
    save_model,
)
from rankwise.cli.main import main
from rankwise.estimators.curve_screen import best_pairs, pair_gains
from rankwise.estimators.weights import pair_parts
from rankwise.functions.curve_axis import Axis
from rankwise.io.svmlight import dump_svmlight
from rankwise.losses import SquaredHinge
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold
from rankwise.plotting import CurveDisplay, PairExplanationDisplay
from rankwise.preferences.base import NoPairsError, weighing_rows
from rankwise.preprocessing import CurveFeatures
from rankwise.report import Report
from rankwise.report.curves_display import drawn_curves, drawn_tables
from rankwise.solvers.bounded_planes import BoundedPlanes
from rankwise.solvers.planes import Planes
from test_curve_features import plain_look_up
from test_export import in_c, in_onnxruntime, in_sqlite

GENERATOR = np.random.default_rng(5)
X = GENERATOR.normal(size=(600, 4))
Y = np.round(np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.1 * GENERATOR.normal(size=600), 1)
QID = GENERATOR.integers(0, 15, 600)
GENERATOR_OF_WEIGHTS = np.random.default_rng(6)
TRAIN, TEST = np.arange(450), np.arange(450, 600)


@pytest.mark.parametrize("shape", ["steps", "lines"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_it_is_a_linear_ranker_of_curve_features(loss, shape):
    given = {"alpha": 1e-3, "tol": 1e-6}
    model = CurveRanker(loss=loss, n_bins=12, shape=shape, **given).fit(X, Y, qid=QID)
    features = CurveFeatures(12, shape=shape).fit(X)
    linear = RankLogistic(**given) if loss == "logistic" else RankSVM(loss=loss, **given)
    linear.fit(features.transform(X), Y, qid=QID)
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(linear.objective_, abs=2e-6)
    np.testing.assert_allclose(model.predict(X), linear.predict(features.transform(X)), atol=0.02)


def test_curves_rank_where_a_line_does_not():
    curves = CurveRanker().fit(X[TRAIN], Y[TRAIN])
    line = RankSVM().fit(X[TRAIN], Y[TRAIN])
    assert ranking_error(Y[TEST], curves.predict(X[TEST])) < 0.75 * ranking_error(
        Y[TEST], line.predict(X[TEST])
    )


def test_the_search_finds_the_interaction():
    model = CurveRanker(interactions=1).fit(X[TRAIN], Y[TRAIN])
    assert model.pairs_.tolist() == [[2, 3]]
    alone = CurveRanker().fit(X[TRAIN], Y[TRAIN]).score(X[TEST], Y[TEST])
    assert 1 - model.score(X[TEST], Y[TEST]) < 0.7 * (1 - alone)
    assert model.pair_values_[0].shape == (65, 65)
    assert CurveRanker(interactions="all").fit(X, Y).pairs_.shape == (6, 2)
    assert CurveRanker(interactions=[(3, 2)]).fit(X, Y).pairs_.tolist() == [[2, 3]]


def test_the_search_ignores_the_main_effects_of_features():
    """With scores of zero a feature that matters most by itself has no part in the best pair."""
    y = 3 * X[:, 0] + np.sign(X[:, 2] * X[:, 3])
    axes = [Axis("steps", np.quantile(x, [0.25, 0.5, 0.75])) for x in X.T]
    codes = [axis.codes(x) for axis, x in zip(axes, X.T, strict=True)]
    loss = SquaredHinge(Preferences.from_scores(y))
    pairs = list(combinations(range(4), 2))
    assert best_pairs(axes, X, loss, np.zeros(600), pairs, 1) == [(2, 3)]
    c, h = loss.derivatives(np.zeros(600))
    cells = [(codes[2] == a) & (codes[3] == b) for a in range(4) for b in range(4)]
    bins = [codes[j] == a for j in (2, 3) for a in range(4)]
    parts = [
        [(c[met].sum() ** 2 - (c[met] ** 2).sum()) / h[met].sum() for met in group] for group in (cells, bins)
    ]
    expected = sum(parts[0]) - sum(parts[1])
    assert pair_gains(axes, X, loss, np.zeros(600), [(2, 3)]) == pytest.approx([expected], rel=1e-5)


def test_parts_add_up_to_the_score():
    model = CurveRanker(interactions=2, alpha=1e-4).fit(X, Y)
    scores = model.predict(X)
    np.testing.assert_allclose(model.terms(X).sum(axis=1), scores, atol=1e-12)
    np.testing.assert_allclose(model.contributions(X).sum(axis=1), scores, atol=1e-12)
    parts = model.explain_pair(X[0], X[1])
    assert parts.sum() == pytest.approx(scores[0] - scores[1])
    j = next(j for j in range(4) if j not in model.pairs_)
    curve = model.curve(j)
    assert parts[j] == pytest.approx(np.diff(curve(X[[1, 0], j]))[0])


def test_equal_rows_have_equal_scores_to_the_bit():
    model = CurveRanker(interactions=1, shape="lines").fit(X, Y)
    assert np.array_equal(np.concatenate([model.predict(row[None]) for row in X[:50]]), model.predict(X)[:50])


def hinge_programme(rows, pairs, alpha, bounded):
    """The minimum of the mean hinge + alpha ||w||^2 with w_j >= 0, by a general solver over slacks."""
    differences = np.array([rows[i] - rows[j] for i, j in pairs])
    n, t = rows.shape[1], len(pairs)
    start = np.concatenate([np.zeros(n), np.ones(t)])

    def objective(v):
        return alpha * v[:n] @ v[:n] + v[n:].mean(), np.concatenate([2 * alpha * v[:n], np.full(t, 1 / t)])

    matrix = np.hstack([differences, np.eye(t)])
    margin = {"type": "ineq", "fun": lambda v: matrix @ v - 1, "jac": lambda v: matrix}
    bounds = [(0, None) if held else (None, None) for held in bounded] + [(0, None)] * t
    options = {"ftol": 1e-12, "maxiter": 500}
    return minimize(
        objective, start, jac=True, method="SLSQP", bounds=bounds, constraints=margin, options=options
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_monotone_curve_is_the_optimum_under_its_constraints(seed):
    generator = np.random.default_rng(seed)
    rows = np.round(generator.normal(size=(9, 2)), 1)
    y = generator.permutation(9).astype(float)
    model = CurveRanker(alpha=0.05, n_bins=4, monotone={0: -1}, tol=1e-7).fit(rows, y)
    features = CurveFeatures(4).fit(rows).transform(rows).toarray()
    features[:, :3] *= -1
    pairs = [(i, j) for i in range(9) for j in range(9) if y[i] > y[j]]
    expected = hinge_programme(features, pairs, 0.05, [True] * 3 + [False] * 3)
    assert model.gap_ <= 1e-7
    assert model.objective_ == pytest.approx(expected.fun, abs=1e-6)
    assert (np.diff(model.values_[0][:4]) <= 0).all()


@pytest.mark.parametrize("shape", ["steps", "lines"])
def test_monotone_curves_rise_or_fall(shape):
    rows = X.copy()
    rows[::9, 0] = np.nan
    free = CurveRanker(shape=shape).fit(rows, Y)
    model = CurveRanker(shape=shape, monotone=[1, -1, 0, 0], interactions=2).fit(rows, Y)
    rising, falling = (model.values_[j][:-1] for j in (0, 1))
    assert (np.diff(rising) >= 0).all()
    assert (np.diff(falling) <= 0).all()
    assert model.pairs_.tolist() == [[2, 3]]
    alone = CurveRanker(shape=shape, monotone=[1, -1, 0, 0]).fit(rows, Y)
    assert alone.objective_ > free.objective_ + free.gap_
    assert alone.gap_ <= 1e-3


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**31))
def test_planes_without_bounds_are_plain_planes(n_planes, n_features, seed):
    generator = np.random.default_rng(seed)
    plain, bounded = Planes(n_features), BoundedPlanes(np.zeros(n_features, dtype=bool))
    for _ in range(n_planes):
        gradient, offset = generator.normal(size=n_features), generator.normal()
        plain.add(gradient, offset)
        bounded.add(gradient, offset)
    for alpha in (1.0, 0.01):
        (w, bound), (other, other_bound) = (planes.minimise(alpha, 1e-9) for planes in (plain, bounded))
        assert other_bound == pytest.approx(bound, abs=1e-7)
        np.testing.assert_allclose(other, w, atol=1e-3)


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**31))
def test_the_bound_of_bounded_planes_holds_for_all_weights(n_planes, n_features, seed):
    generator = np.random.default_rng(seed)
    nonnegative = generator.random(n_features) < 0.6
    model, slopes, offsets = BoundedPlanes(nonnegative), [], []
    for _ in range(n_planes):
        slopes.append(generator.normal(size=n_features))
        offsets.append(generator.normal())
        model.add(slopes[-1], offsets[-1])
    w, bound = model.minimise(0.1, 1e-9)

    def value(weights):
        return np.max(np.array(slopes) @ weights + offsets) + 0.1 * weights @ weights

    assert (w[nonnegative] >= 0).all()
    assert bound <= value(w) <= bound + 1e-6
    assert all(value(model.feasible(w + generator.normal(size=n_features))) >= bound for _ in range(20))


def test_missing_values_and_categories_have_their_own_parts():
    frame = pd.DataFrame({"age": X[:, 0], "town": pd.Categorical(np.where(X[:, 1] > 0, "far", "near"))})
    frame.loc[::5, "age"] = np.nan
    y = np.where(frame["age"].isna(), 3.0, 0.0) + (frame["town"] == "near")
    model = CurveRanker().fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.values_[0][-1] > model.values_[0][:-1].max()
    town = model.curve("town")
    assert town.values[1] > town.values[0]
    assert list(model.feature_names_in_) == ["age", "town"]
    unseen = pd.DataFrame({"age": [0.0], "town": pd.Categorical(["elsewhere"])})
    assert model.terms(unseen)[0, 1] == 0.0
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))


CATEGORICAL = [CurveRanker(), BoostedRanker(n_estimators=5, min_child_samples=2)]


@pytest.mark.parametrize("model", CATEGORICAL, ids=["curve", "boosted"])
@pytest.mark.parametrize("names", [[10, 20, 30], ["10", "20", "30"], ["red", "green", "blue"]], ids=str)
def test_later_rows_may_hold_categories_as_plain_values(model, names):
    colour = np.array(names, dtype=object)[GENERATOR.integers(0, 3, 60)]
    rows = pd.DataFrame({"colour": pd.Categorical(colour), "size": X[:60, 0]})
    model.fit(rows, 2.0 * (colour == names[1]) + X[:60, 0])
    plain = [rows.astype({"colour": object}), rows.assign(colour=colour.tolist())]
    for later in plain:
        assert model.predict(later).tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("model", CATEGORICAL, ids=["curve", "boosted"])
def test_rows_of_a_frame_are_explained_by_the_names_of_their_values(model):
    codes = np.array([10, 20, 30])[GENERATOR.integers(0, 3, 60)]
    rows = pd.DataFrame({"code": pd.Categorical(codes), "size": X[:60, 0]})
    scores = model.fit(rows, 2.0 * (codes == 20) + X[:60, 0]).predict(rows)
    parts = model.explain_pair(rows.iloc[0], rows.iloc[1])
    assert parts.tolist() == model.explain_pair(rows[:1], rows[1:2]).tolist()
    assert parts.sum() == pytest.approx(scores[0] - scores[1])
    names, found = pair_parts(model, rows.iloc[0], rows.iloc[1])
    assert (list(names), found.tolist()) == (["code", "size"], parts.tolist())
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.explain_pair(rows.iloc[0][["size", "code"]], rows.iloc[1])
    with pytest.raises(ValueError, match="b must be one row; got 2"):
        model.explain_pair(rows[:1], rows[:2])


@pytest.mark.parametrize("model", CATEGORICAL, ids=["curve", "boosted"])
def test_infinite_values_beside_categories_are_refused(model):
    rows = pd.DataFrame({"colour": pd.Categorical(["red", "green"] * 30), "size": X[:60, 0]})
    bad = rows.assign(size=np.where(X[:60, 0] > 1, np.inf, X[:60, 0]))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(bad, Y[:60])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(rows, Y[:60]).predict(bad)


def test_a_category_that_is_called_monotone_is_refused():
    with pytest.raises(ValueError, match="monotone names 1, whose categories have no order"):
        CurveRanker(categorical_features=[1], monotone={1: 1}).fit(np.round(X), Y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"interactions": -1}, "interactions must be a whole number of at least 0, 'all' or a list"),
        ({"interactions": True}, "interactions must be a whole number"),
        ({"monotone": {0: 2}}, "monotone must hold 1, 0 or -1 for a feature; got 2"),
        ({"monotone": [1]}, "monotone has 1 entries, but X has 4 features"),
        ({"monotone": {0: 1}, "loss": "logistic"}, "monotone needs loss='hinge'"),
        ({"monotone": {0: 1}, "interactions": [(0, 1)]}, "interactions must not hold a monotone feature"),
        ({"n_bins": 0}, "n_bins must be"),
    ],
)
def test_what_is_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        CurveRanker(**parameters).fit(X, Y)


def test_probabilities_of_pairs_need_the_logistic_loss():
    model = CurveRanker(loss="logistic").fit(X, Y)
    probability = model.predict_pair_proba(X[:5], X[5:10])
    difference = model.predict(X[:5]) - model.predict(X[5:10])
    np.testing.assert_allclose(probability, 1 / (1 + np.exp(-difference)))
    assert not hasattr(CurveRanker(), "predict_pair_proba")


def test_alpha_is_chosen_over_queries():
    chosen = CurveRankerCV(cv=3, interactions=1, n_bins=16).fit(X, Y, qid=QID)
    assert chosen.cv_errors_.shape == (len(chosen.alphas_), 3)
    assert chosen.alpha_ == chosen.alphas_[np.argmin(chosen.cv_errors_.mean(axis=1))]
    model = CurveRanker(chosen.alpha_, interactions=1, n_bins=16).fit(X, Y, qid=QID)
    assert chosen.objective_ == pytest.approx(model.objective_, abs=2e-3)


def test_a_grid_search_keeps_queries_together():
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(CurveRanker(), {"n_bins": [2, 32]}, cv=QueryKFold(3))
        search.fit(X, Y, qid=QID)
    assert search.best_params_ == {"n_bins": 32}
    assert search.best_score_ > 0.7


def test_any_preferences_are_learned():
    order = np.argsort(Y)
    preferences = Preferences.from_pairs(order[300:], order[:300], n_rows=600)
    assert ranking_error(preferences, CurveRanker(interactions=1).fit(X, preferences).predict(X)) < 0.1


# Files, exports and the command line -----------------------------------------------------------------------

NAMES = ["age", 'the "best"', "town", "size"]
MODELS = {
    "steps": {"n_bins": 6, "interactions": 2, "interaction_bins": 3},
    "lines": {"shape": "lines", "n_bins": 5, "alpha": 1e-4},
    "levels": {"categorical_features": [0, 2], "interactions": [(0, 2), (1, 2)]},
    "constant": {"n_bins": 1},
}


@pytest.fixture(scope="module", params=MODELS)
def exported(request):
    """A model, and rows that miss values, lie outside of the fit or exactly on a knot."""
    rows = np.round(X[:300], 1)
    rows[::7, 1] = np.nan
    rows[:, 2] = np.round(rows[:, 2])
    model = CurveRanker(**MODELS[request.param]).fit(rows, Y[:300])
    new = np.vstack([rows[:60], [[-99.0, 99.0, 0.5, np.nan]], np.full((1, 4), np.nan)])
    return model, new


def test_a_file_gives_the_same_scores(exported, tmp_path):
    model, new = exported
    save_model(model, tmp_path / "model.json", feature_names=NAMES)
    loaded = load_model(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(new), model.predict(new))
    assert loaded.curve(0)(0.3) == model.curve(0)(0.3)


def test_c_source_gives_the_same_scores(exported, tmp_path):
    model, new = exported
    source = export_model(model, None, "c", feature_names=NAMES, model_name="score")
    assert in_c(source, new, tmp_path, "score").tolist() == pytest.approx(
        model.predict(new).tolist(), abs=1e-12
    )


def test_constant_features_have_no_curves_and_need_no_division():
    model = CurveRanker().fit(np.ones((4, 2)), [0, 1, 2, 3])
    assert model.predict(np.zeros((2, 2))).tolist() == [0.0, 0.0]
    assert model.objective_ == pytest.approx(1.0)


def test_c_source_of_curves_that_are_zero_compiles_without_warnings(tmp_path):
    model = CurveRanker().fit(np.ones((4, 1)), [0, 1, 2, 3])
    assert in_c(export_model(model, None, "c"), np.ones((2, 1)), tmp_path).tolist() == [0.0, 0.0]


def test_sql_gives_the_same_scores(exported):
    model, new = exported
    expression = export_model(model, None, "sql", feature_names=NAMES)
    rows = np.where(np.isnan(new), None, new)
    assert in_sqlite(expression, rows, NAMES).tolist() == pytest.approx(
        model.predict(new).tolist(), abs=1e-12
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_onnx_gives_the_same_scores(exported, dtype):
    model, new = exported
    new = new.astype(dtype)
    scores = in_onnxruntime(export_model(model, None, "onnx", dtype=dtype), new, dtype)
    np.testing.assert_allclose(scores, model.predict(new), atol=1e-12 if dtype == "float64" else 1e-5)


def plain_score(tables, row):
    """The score of a row by what the JSON says."""
    total = 0.0
    for table in tables:
        axes = [Axis(one["kind"], np.array(one["knots"], float)) for one in table["features"]]
        x = [row[one["name"]] for one in table["features"]]
        values = np.array(table["values"])
        if len(axes) == 1:
            total += plain_look_up(axes[0], values, x[0])
        else:
            row_of = [plain_look_up(axes[1], entries, x[1]) for entries in values]
            total += plain_look_up(axes[0], np.array(row_of), x[0])
    return total


def test_json_holds_the_tables(exported):
    model, new = exported
    content = json.loads(export_model(model, None, "json", feature_names=NAMES))
    scores = [plain_score(content["tables"], dict(zip(NAMES, row, strict=True))) for row in new]
    np.testing.assert_allclose(scores, model.predict(new), atol=1e-12)


def test_categories_go_by_their_names():
    frame = pd.DataFrame(
        {"town": pd.Categorical(["far", "o'neil", "far", "near"]), "age": [1.0, 2.0, 3.0, 4.0]}
    )
    model = CurveRanker().fit(frame, [1, 0, 1, 2])
    expression = export_model(model, None, "sql")
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE rows (town TEXT, age REAL)")
        database.executemany("INSERT INTO rows VALUES (?, ?)", frame.astype(object).to_numpy().tolist())
        scores = [score for (score,) in database.execute(f"SELECT {expression} FROM rows ORDER BY rowid")]
    database.close()
    np.testing.assert_allclose(scores, model.predict(frame), atol=1e-12)
    tables = json.loads(export_model(model, None, "json"))["tables"]
    assert tables[0]["features"][0]["categories"] == ["far", "near", "o'neil"]


def test_sql_holds_whole_numbers_of_any_size_as_categories():
    codes = [2**60, 2**60 + 1] * 3
    model = CurveRanker().fit(pd.DataFrame({"code": pd.Categorical(codes)}), [0, 1] * 3)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE rows (code INTEGER)")
        database.executemany("INSERT INTO rows VALUES (?)", [(code,) for code in codes])
        scores = [one for (one,) in database.execute(f"SELECT {export_model(model, None, 'sql')} FROM rows")]
    database.close()
    assert scores == pytest.approx(model.predict(pd.DataFrame({"code": codes})).tolist())


def test_categories_cannot_leave_their_quotes():
    """In MySQL and BigQuery, whose quote is a backtick, a backslash begins an escape."""
    names = ["\\' OR 1 = 1 --", "it's"]
    model = CurveRanker().fit(pd.DataFrame({"k": pd.Categorical(names * 3)}), [0, 1] * 3)
    assert r"""WHEN `k` = '\\\' OR 1 = 1 --' THEN""" in export_model(model, None, "sql", quote="`")
    assert r"""WHEN "k" = '\'' OR 1 = 1 --' THEN""" in export_model(model, None, "sql")


def test_categories_that_sql_cannot_hold_are_refused():
    days = pd.Categorical(pd.to_datetime(["2026-01-01", "2026-01-02"] * 3))
    model = CurveRanker().fit(pd.DataFrame({"day": days}), [0, 1] * 3)
    with pytest.raises(ValueError, match="strings or numbers; those of 'day' have type Timestamp"):
        export_model(model, None, "sql")


def test_sql_of_many_curves():
    rows = GENERATOR.normal(size=(30, 1200))
    model = CurveRanker(n_bins=2).fit(rows, Y[:30])
    names = [f"f{k + 1}" for k in range(1200)]
    scores = in_sqlite(export_model(model, None, "sql"), rows, names)
    np.testing.assert_allclose(scores, model.predict(rows), atol=1e-10)


def test_formats_that_do_not_fit_are_refused():
    model = CurveRanker().fit(X, Y)
    with pytest.raises(ValueError, match="Format 'svmrank' does not support CurveRanker; use one of 'solr'"):
        export_model(model, None, "svmrank")
    with pytest.raises(ValueError, match="Format 'json' does not support RankSVM"):
        export_model(RankSVM().fit(X, Y), None, "json")
    with pytest.raises(ValueError, match="Only a CurveRanker without other steps"):
        export_model(make_pipeline(StandardScaler(), CurveRanker()).fit(X, Y), None, "c")


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.values_.__setitem__(0, np.zeros(3)),
        lambda model: model.knots_[1].__setitem__(0, 1e9),
        lambda model: model.kinds_.__setitem__(0, "round"),
        lambda model: model.pairs_.__setitem__((0, 1), 9),
        lambda model: model.pair_values_.pop(),
    ],
)
def test_a_file_whose_tables_do_not_fit_is_refused(change, tmp_path):
    model = CurveRanker(interactions=1, n_bins=8).fit(X, Y)
    change(model)
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load_model(tmp_path / "model.json")


def test_the_command_line_learns_curves(tmp_path, capsys):
    dump_svmlight(X, Y, tmp_path / "train.txt", qid=QID)
    model = str(tmp_path / "model.json")
    method = ["--method", "curve", "--n-bins", "16", "--interactions", "1"]
    assert main(["train", str(tmp_path / "train.txt"), "-o", model, *method]) == 0  # alpha is chosen
    loaded = load_model(model)
    assert loaded.pairs_.tolist() == [[2, 3]]
    expected = CurveRanker(n_bins=16, interactions=1).fit(X, Y, qid=QID)
    np.testing.assert_allclose(loaded.predict(X), expected.predict(X), atol=1e-9)
    assert main(["export", model, "-o", str(tmp_path / "curves.json"), "--format", "json"]) == 0
    assert main(["tune", str(tmp_path / "train.txt"), "--folds", "2", "--alphas", "0.1,0.001", *method]) == 0
    assert "error" in capsys.readouterr().out


# Pictures ---------------------------------------------------------------------------------------------------


def test_curves_are_drawn_as_they_are():
    model = CurveRanker(n_bins=5, interactions=1).fit(X, Y)
    first, *_ = drawn_curves(model, NAMES)
    place = NAMES.index(first.name)
    assert first.spread == pytest.approx(model.terms(X)[:, place].std())
    inside = (first.edges[:-1] + first.edges[1:]) / 2
    np.testing.assert_allclose(model.curve(place)(inside), first.y[::2])
    assert first.density.max() == 1.0
    (table,) = drawn_tables(model, NAMES)
    assert table.names == ("town", "size")
    assert np.array_equal(table.values, model.pair_values_[0][:-1, :-1])


@pytest.mark.parametrize("shape", ["steps", "lines"])
def test_a_display_has_a_picture_for_each_feature(shape):
    pytest.importorskip("matplotlib").use("Agg")
    rows = X.copy()
    rows[:, 3] = np.round(rows[:, 3])
    rows[::4, 0] = np.nan
    model = CurveRanker(shape=shape, interactions=1, categorical_features=[3]).fit(rows, Y)
    display = CurveDisplay.from_estimator(model, feature_names=NAMES)
    assert len(display.axes_) == 5
    assert sorted(display.shown_[:4]) == sorted(NAMES)
    ax = display.axes_[display.shown_.index("age")]
    drawn = next(curve for curve in display.curves if curve.name == "age")
    assert np.array_equal(ax.lines[0].get_ydata(), drawn.y)
    assert ax.lines[1].get_ydata()[0] == model.values_[0][-1]
    with pytest.raises(ValueError, match="estimator must be a fitted CurveRanker"):
        CurveDisplay.from_estimator(RankSVM().fit(X, Y))
    display.figure_.clear()


def test_the_report_shows_the_curves():
    frame = pd.DataFrame(X, columns=NAMES)
    model = CurveRanker(interactions=1, n_bins=16).fit(frame, Y, qid=QID)
    html = Report(model, frame, Y, QID).to_html()
    assert all(f"Curve of {name}," in html for name in ("age", "town", "size"))
    assert "town and size" in html
    assert "Fraction of the variation" in html
    assert "trees" not in html
    importance = model.feature_importances_
    assert importance.sum() == pytest.approx(1.0)
    assert PairExplanationDisplay.from_estimator(model, frame[:1], frame[1:2]).ax_ is not None


# Rows of weight zero


def structure(kind, rows, weight):
    """Preferences among some of the rows, which weigh something."""
    if kind == "scores":
        return Preferences.from_scores(Y[rows], QID[rows], weight[rows])
    if kind == "order":
        return Preferences.from_order(np.where(Y[rows] > 1, "b", "a"), [("b", "a")], weight[rows])
    order = np.argsort(Y)
    return Preferences.from_pairs(order[300:], order[:300], n_rows=600).weighted(weight)[rows]


@pytest.mark.parametrize("kind", ["scores", "order", "pairs"])
@pytest.mark.parametrize("options", [{}, {"shape": "lines"}, {"interactions": 2, "interaction_bins": 3}])
def test_rows_of_weight_zero_do_not_matter(kind, options):
    weight = GENERATOR_OF_WEIGHTS.choice([0.0, 1.0, 2.0], 600)
    whole = structure(kind, np.arange(600), weight)
    some = weighing_rows(whole)
    part = structure(kind, np.flatnonzero(some), weight)
    rows = np.where(some[:, None], X, 100 + X)
    model = CurveRanker(1e-3, n_bins=5, **options)
    first, second = clone(model).fit(rows, whole), clone(model).fit(X[some], part)
    for found, expected in zip(first.knots_ + first.counts_, second.knots_ + second.counts_, strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(first.pair_knots_, second.pair_knots_, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-2)


def test_tables_of_more_rows_have_fewer_folds(monkeypatch):
    search = CurveRankerCV()
    assert [search.default_folds(n_rows) for n_rows in (4999, 5000, 19_999, 20_000)] == [5, 3, 3, 2]
    monkeypatch.setattr("rankwise.estimators.curve_ranker.MANY_ROWS", len(X))
    for cv, n_folds in ((None, 3), (4, 4)):
        assert CurveRankerCV(cv=cv).fit(X, Y, qid=QID).cv_errors_.shape[1] == n_folds


def test_the_default_alpha_is_that_of_the_search():
    model, search = CurveRanker().fit(X, Y, qid=QID), CurveRankerCV().fit(X, Y, qid=QID)
    assert model.alpha_ == search.alpha_
    np.testing.assert_array_equal(model.predict(X), search.predict(X))


@pytest.mark.parametrize("qid", [None, [0, 0, 1, 1, 2, 2]])
def test_a_few_rows_need_no_folds(qid):
    """Folds of so few rows have no pairs, or there are fewer rows than folds."""
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    model = CurveRanker().fit(rows, [0, 1, 2, 3, 4, 5], qid=qid)
    assert model.score(rows, np.arange(6), qid=qid) == 1.0
    few = CurveRanker().fit(rows[:3], [0, 1, 2])
    assert few.alpha_ > 0
    assert few.score(rows[:3], [0, 1, 2]) == 1.0
    with pytest.raises(NoPairsError):
        CurveRanker().fit(rows, np.ones(6))


def test_another_fit_forgets_the_columns_of_the_last_one():
    model = CurveRanker().fit(pd.DataFrame(X, columns=list("abcdefgh"[: X.shape[1]])), Y)
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


def test_sample_weights_of_zero_take_rows_away():
    rows, y = np.arange(8.0)[:, None], np.arange(8)
    weight = [1, 1, 1, 1, 0, 0, 0, 0]
    assert CurveRanker(n_bins=2).fit(rows, y, sample_weight=weight).knots_[0].tolist() == [2.0]
    assert CurveRanker(n_bins=2).fit(rows[:4], y[:4]).knots_[0].tolist() == [2.0]
