"""Exports of trees: interpreters written from each program's documentation agree with `predict`."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from rankwise import BoostedRanker, BoostedRankerCV, CurveRanker, export_model, load_model, save_model
from rankwise.cli.main import main
from rankwise.io.tree_engines import before_slack, rounded_down
from rankwise.io.trees import Tree, check_depth

lightgbm = pytest.importorskip("lightgbm")

N = 300
NAMES = ["bm25", "clicks", "age", "tiny", "huge"]
random = np.random.default_rng(0)
NUMBERS = random.normal(size=(N, 5)) * [1.0, 1.0, 30.0, 1e-7, 1e9] + [0.0, -0.5, 2000.0, 0.0, 0.0]
NUMBERS[:, 1] = np.maximum(NUMBERS[:, 1], 0.0)  # many zeros: LightGBM splits beside them
GRADES = (NUMBERS / [1.0, 0.5, 30.0, 1e-7, 1e9]).sum(axis=1)
GAPS = np.where(random.random((N, 5)) < [0.0, 0.2, 0.2, 0.2, 0.2], np.nan, NUMBERS)
GAP_GRADES = GRADES + 2.0 * np.isnan(GAPS).sum(axis=1)
DATA = {"numbers": (NUMBERS, GRADES), "missing values": (GAPS, GAP_GRADES)}
SCALERS = [StandardScaler(), MinMaxScaler((-3, 7)), MaxAbsScaler(), RobustScaler()]


@pytest.fixture(scope="module", params=DATA)
def model(request):
    X, y = DATA[request.param]
    return BoostedRanker(n_estimators=12).fit(X, y)


# Interpreters that share nothing with the package -----------------------------------------------------------


def in_solr(text, rows):
    """Solr's `MultipleAdditiveTreesModel`: sums, values and comparisons of 32-bit floats."""
    content = json.loads(text)
    assert content["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    names, params = [feature["name"] for feature in content["features"]], content["params"]
    null_is_zero = params.get("isNullSameAsZero", True)
    assert type(null_is_zero) is bool
    rows = rows.astype(np.float32)
    rows = np.where(np.isnan(rows), np.float32(0), rows) if null_is_zero else rows
    for k, feature in enumerate(content["features"]):
        if "norm" in feature:
            norm = {name: np.float32(text) for name, text in feature["norm"]["params"].items()}
            assert norm["std"] > 0
            with np.errstate(over="ignore"):
                rows[:, k] = (rows[:, k] - norm["avg"]) / norm["std"]
    return np.array([solr_score(row, params["trees"], names) for row in rows])


def solr_score(row, trees, names):
    score = np.float32(0)
    for tree in trees:
        node = tree["root"]
        while "value" not in node:
            value = row[names.index(node["feature"])]
            assert isinstance(node["threshold"], str)
            with np.errstate(over="ignore"):
                threshold = np.float32(node["threshold"]) + np.float32(1e-6)
            if np.isnan(value):
                node = node[node["missing"]]
            else:
                node = node["left"] if value <= threshold else node["right"]
        score += np.float32(tree["weight"]) * np.float32(node["value"])
    return score


def in_elasticsearch(text, rows, names):
    """The plugin's parser of `model/xgboost+json` and its `NaiveAdditiveDecisionTree`, in 32-bit floats."""
    body = json.loads(text)["model"]
    assert body["model"]["type"] == "model/xgboost+json"
    trees = json.loads(body["model"]["definition"])
    for tree in trees:
        check_nodes(tree, set(), names)
    return np.array([elasticsearch_score(row, trees, names) for row in rows.astype(np.float32)])


def check_nodes(node, seen, names):
    """What the parser demands of a node."""
    assert node["nodeid"] not in seen
    seen.add(node["nodeid"])
    if "leaf" in node:
        return
    assert node["split"] in names
    assert isinstance(node["depth"], int)
    assert abs(node["split_condition"]) <= np.finfo(np.float32).max
    assert [node["yes"], node["no"]] == [child["nodeid"] for child in node["children"]]
    assert node["missing"] in (node["yes"], node["no"])
    for child in node["children"]:
        check_nodes(child, seen, names)


def elasticsearch_score(row, trees, names):
    score = np.float32(0)
    for node in trees:
        while "leaf" not in node:
            value = row[names.index(node["split"])]
            if np.isnan(value):
                goes = node["missing"]
            else:
                goes = node["yes"] if np.float32(node["split_condition"]) > value else node["no"]
            node = next(child for child in node["children"] if child["nodeid"] == goes)
        score += np.float32(node["leaf"])
    return score


def in_json(text, rows):
    content = json.loads(text, parse_constant=pytest.fail)  # NaN and infinities are no JSON
    return np.array(
        [json_score(dict(zip(content["feature_names"], row, strict=True)), content) for row in rows]
    )


def json_score(row, content):
    score = 0.0
    for node in content["trees"]:
        while "value" not in node:
            value = row[node["feature"]]
            if "categories" in node:
                side = "left" if value in node["categories"] else "right"
            elif math.isnan(value):
                side = node["missing"]
            else:
                side = "left" if value <= node["threshold"] else "right"
            node = node[side]
        score += node["value"]
    return score


# Rows on both sides of each split ---------------------------------------------------------------------------


def splits_of(text):
    """The features and thresholds of LightGBM's text."""
    lines = zip(
        *(re.findall(f"^{name}=(.*)$", text, re.M) for name in ("split_feature", "threshold")), strict=True
    )
    return [
        (int(feature), float(threshold))
        for features, thresholds in lines
        for feature, threshold in zip(features.split(), thresholds.split(), strict=True)
    ]


def beside(splits, dtype, X):
    """Rows of the type with a value on each threshold or next to it, the others as in some row."""
    infinity = dtype(np.inf)
    with np.errstate(over="ignore"):
        nearest = np.array([threshold for _, threshold in splits]).astype(dtype)
        near = [np.nextafter(nearest, -infinity), nearest, np.nextafter(nearest, infinity)]
    rows = X[np.arange(3 * len(splits)) % len(X)].astype(dtype)
    for k, (feature, _) in enumerate(splits):
        for side in range(3):
            value = near[side][k]
            rows[3 * k + side, feature] = value if abs(value) < np.finfo(dtype).max else dtype(0)
    zeros = rows[:40].copy()
    zeros[:, min(1, X.shape[1] - 1)] = np.resize(
        np.array([0, 1e-35, -1e-35, 1e-36, 1.1e-35, -1.1e-35, np.nan]), 40
    ).astype(dtype)
    return np.concatenate([X.astype(dtype), rows, zeros]).astype(np.float64)


def single_scores(model, rows):
    """The sum in 32-bit floats of the leaves that LightGBM itself finds."""
    booster = lightgbm.Booster(model_str=model.trees_)
    values = [
        np.array(line.split(), np.float32) for line in re.findall(r"^leaf_value=(.*)$", model.trees_, re.M)
    ]
    leaves = booster.predict(rows, pred_leaf=True)
    score = np.zeros(len(rows), np.float32)
    for tree, value in enumerate(values):
        score += value[leaves[:, tree]]
    return score


def test_elasticsearch_finds_the_leaves_of_the_model(model):
    rows = beside(splits_of(model.trees_), np.float32, GAPS)
    for format in ("elasticsearch", "opensearch"):
        text = export_model(model, None, format, feature_names=NAMES, model_name="books")
        assert json.loads(text)["model"]["name"] == "books"
        np.testing.assert_array_equal(in_elasticsearch(text, rows, NAMES), single_scores(model, rows))
    np.testing.assert_allclose(single_scores(model, rows), model.predict(rows), rtol=1e-4, atol=1e-5)


def test_solr_finds_the_leaves_of_the_model(model):
    rows = beside(splits_of(model.trees_), np.float32, GAPS)
    rows[np.abs(rows) < 1.2e-13] = 0.0  # Solr's nearest thresholds to zero are no closer
    text = export_model(model, None, "solr", feature_names=NAMES, model_name="books", feature_store="shop")
    np.testing.assert_array_equal(in_solr(text, rows), single_scores(model, rows))
    content = json.loads(text)
    assert (content["name"], content["store"]) == ("books", "shop")
    assert ("isNullSameAsZero" in content["params"]) == ("decision_type=8" in model.trees_)
    assert [feature["name"] for feature in content["features"] if "norm" in feature] == ["tiny"]


def test_solr_of_thresholds_that_its_slack_would_move():
    """A threshold just below a power of two in size, and thresholds of a few 1e-6."""
    for size in (1.0, 3e-6, 1e-20, 1e20):
        X = -size * (1 + np.arange(-40, 40)[:, None] * np.float64(2.0**-23))
        model = BoostedRanker(n_estimators=8, min_child_samples=1).fit(X, random.normal(size=80))
        rows = beside(splits_of(model.trees_), np.float32, X)[:-40]
        text = export_model(model, None, "solr")
        np.testing.assert_array_equal(in_solr(text, rows), single_scores(model, rows))


def test_thresholds_in_single_precision():
    thresholds = np.concatenate(
        [random.normal(size=200) * 10.0**e for e in range(-40, 40, 4)] + [[0.0, 1e300, -1e300]]
    )
    single = rounded_down(thresholds)
    assert (single <= thresholds).all()
    with np.errstate(over="ignore"):
        assert (np.nextafter(single, np.float32(np.inf)) > thresholds).all()
    with np.errstate(over="ignore", invalid="ignore"):
        sums, slack = before_slack(single) + np.float32(1e-6), np.float32(1e-6)
        above = np.nextafter(before_slack(single), np.float32(np.inf)) + slack
    assert (sums <= single).all()
    assert (above > single).all()
    large = np.abs(thresholds) >= 32
    np.testing.assert_array_equal(sums[large], single[large])
    assert ((sums < 0) == (single < 0)).all()  # zero stays on its side


def test_splits_by_missing_values_alone():
    """LightGBM's threshold is then larger than all numbers of single precision."""
    X = np.where(random.random((N, 2)) < 0.5, np.nan, NUMBERS[:, :2] - 0.5)
    model = BoostedRanker(n_estimators=3).fit(X, np.isnan(X) @ [1.0, -2.0])
    assert max(threshold for _, threshold in splits_of(model.trees_)) > 1e299
    rows = np.array([[a, b] for a in (np.nan, 1.0, 3e38, -3e38, 0.0) for b in (np.nan, 5.0)])
    np.testing.assert_array_equal(
        in_solr(export_model(model, None, "solr"), rows), single_scores(model, rows)
    )
    text = export_model(model, None, "elasticsearch")
    np.testing.assert_array_equal(in_elasticsearch(text, rows, ["f1", "f2"]), single_scores(model, rows))
    np.testing.assert_array_equal(in_json(export_model(model, None, "json"), rows), model.predict(rows))


def test_json_is_exact(model):
    rows = beside(splits_of(model.trees_), np.float64, GAPS)
    np.testing.assert_array_equal(in_json(export_model(model, None, "json"), rows), model.predict(rows))


# Categories -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words():
    X = pd.DataFrame({"shop": np.array(["north", "it's", "south", "east"])[random.integers(0, 4, N)]})
    X["size"] = random.normal(size=N)
    X.loc[::7, "shop"] = None
    y = X["size"] + 2.0 * X["shop"].isin(["it's", "east"]) - X["shop"].isna()
    model = BoostedRanker(n_estimators=20, min_child_samples=5, lightgbm_parameters={"cat_smooth": 1.0}).fit(
        X, y
    )
    new = X.copy()
    new.loc[5:20, "shop"] = "elsewhere"
    assert "num_cat=1" in model.trees_
    return model, new


def test_categories(words):
    model, X = words
    values = X.astype(object).where(X.notna(), None).to_numpy()
    np.testing.assert_array_equal(in_json(export_model(model, None, "json"), values), model.predict(X))


@pytest.mark.parametrize("format", ["solr", "elasticsearch", "opensearch"])
def test_search_engines_refuse_categories_by_name(words, format):
    with pytest.raises(ValueError, match="Feature 'shop' holds categories, and trees of search engines"):
        export_model(words[0], None, format)


# Scalers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaler", SCALERS)
def test_scalers_become_part_of_the_thresholds(scaler):
    X = GAPS[:, :3]
    model = make_pipeline(scaler, MinMaxScaler(), BoostedRanker(n_estimators=15)).fit(X, GRADES)
    content = export_model(model, None, "json")
    splits = [
        (int(f) - 1, float(t)) for f, t in re.findall(r'"feature": "f(\d)", "threshold": ([^,]*),', content)
    ]
    assert len(splits) > 100
    rows = beside(splits, np.float64, X)
    np.testing.assert_array_equal(in_json(content, rows), model.predict(rows))
    single = beside(splits, np.float32, X)
    scores = in_elasticsearch(export_model(model, None, "elasticsearch"), single, ["f1", "f2", "f3"])
    np.testing.assert_array_equal(scores, single_scores(model[-1], model[:-1].transform(single)))


def test_scaled_categories_are_refused():
    X = np.column_stack([random.integers(0, 2, N), random.normal(size=N)])
    ranker = BoostedRanker(n_estimators=5, categorical_features=[0])
    model = make_pipeline(MaxAbsScaler(), ranker).fit(X, X[:, 0] + 0.1 * X[:, 1])
    with pytest.raises(ValueError, match="Feature 'f1' holds categories and is scaled before the trees"):
        export_model(model, None, "json")


# What all formats share -------------------------------------------------------------------------------------


def test_a_model_of_one_leaf():
    rows = np.array([[1.0, np.nan], [-1.0, 2.0]])
    model = BoostedRanker(n_estimators=2, min_child_samples=50).fit(
        random.normal(size=(20, 2)), np.arange(20)
    )
    expected = model.predict(rows)
    assert np.ptp(expected) == 0
    names = ["f1", "f2"]
    for scores in (
        in_solr(export_model(model, None, "solr"), rows),
        in_elasticsearch(export_model(model, None, "elasticsearch"), rows, names),
        in_json(export_model(model, None, "json"), rows),
    ):
        np.testing.assert_allclose(scores, expected, atol=1e-7)


def test_a_saved_model_and_one_of_cross_validation_are_exported(tmp_path):
    model = BoostedRankerCV(n_estimators=5, cv=2, param_grid={"num_leaves": [4]}).fit(NUMBERS, GRADES)
    save_model(model, tmp_path / "model.json", feature_names=NAMES)
    loaded = load_model(tmp_path / "model.json")
    text = export_model(loaded, tmp_path / "trees.json", "json")
    assert (tmp_path / "trees.json").read_text() == text
    assert text == export_model(model, None, "json", feature_names=NAMES)
    np.testing.assert_array_equal(in_json(text, NUMBERS), model.predict(NUMBERS))


def test_refusals():
    model = BoostedRanker(n_estimators=2).fit(NUMBERS, GRADES)
    for format in ("svmrank", "c", "sql", "onnx"):
        with pytest.raises(
            ValueError, match=f"'{format}' does not support BoostedRanker; use one of 'solr', 'elastic"
        ):
            export_model(model, None, format)
    with pytest.raises(NotFittedError, match="BoostedRanker is not fitted"):
        export_model(BoostedRanker(), None, "solr")
    with pytest.raises(ValueError, match="output must be 0"):
        export_model(model, None, "solr", output=1)


def test_thresholds_that_are_no_numbers_are_refused():
    model = BoostedRanker(n_estimators=1, num_leaves=2).fit(NUMBERS, GRADES)
    text = re.sub(r"^threshold=.*$", "threshold=nan", model.trees_, flags=re.M)
    size = f"tree_sizes={len(text.partition('Tree=')[2].partition('end of trees')[0]) + len('Tree=')}"
    model.trees_ = re.sub(r"^tree_sizes=.*$", size, text, flags=re.M)
    with pytest.raises(ValueError, match="A threshold of the trees is not a number"):
        export_model(model, None, "json")


def test_zeros_that_count_as_missing_are_refused_by_name():
    ranker = BoostedRanker(n_estimators=20, lightgbm_parameters={"zero_as_missing": True})
    model = ranker.fit(NUMBERS, GRADES + 3.0 * (NUMBERS[:, 1] == 0))
    with pytest.raises(ValueError, match=r"treat zeros of feature 'f\d' as missing values \(zero_as_missing"):
        export_model(model, None, "json")


def test_trees_too_deep_for_nested_formats_are_refused():
    n = 251
    right = np.array([*range(1, n), -1 - n])
    chain = Tree(np.zeros(n, int), np.arange(n), np.zeros(n, bool), -1 - np.arange(n), right, np.zeros(n + 1))
    with pytest.raises(
        ValueError, match="251 splits deep, and format 'solr' supports 250; fit with max_depth=250"
    ):
        check_depth([chain], "solr")


# Curves -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interactions", [0, [(0, 1), (2, 1)]])
def test_curves_are_trees_in_search_engines(interactions):
    X = GAPS[:, :3]
    ranker = CurveRanker(alpha=1e-3, interactions=interactions, n_bins=16, interaction_bins=8)
    model = ranker.fit(X, GAP_GRADES)
    features = model.curve_features
    knots = [(k, knot) for k, axis in enumerate(features.axes) for knot in axis.knots]
    if interactions:
        knots += [(k, knot) for k, axis in enumerate(features.pair_axes) for knot in axis.knots]
    rows = beside(knots, np.float32, X)
    rows[np.abs(rows) < 1.2e-13] = 0.0
    expected, names = model.predict(rows), ["f1", "f2", "f3"]
    solr, elasticsearch = (export_model(model, None, format) for format in ("solr", "elasticsearch"))
    smallest = np.diff(np.unique(np.concatenate([values.ravel() for values in model.values_])))
    assert np.ptp(expected) * 1e-6 < smallest[smallest > 1e-12].min()  # another leaf would be noticed
    np.testing.assert_allclose(in_solr(solr, rows), expected, rtol=0, atol=1e-6 * np.ptp(expected))
    np.testing.assert_allclose(
        in_elasticsearch(elasticsearch, rows, names), expected, rtol=0, atol=1e-6 * np.ptp(expected)
    )
    deepest = max(tree_depth(tree["root"]) for tree in json.loads(solr)["params"]["trees"])
    assert deepest <= (2 * (1 + 4) if interactions else 1 + 5)  # a split for missing values, and halves


def tree_depth(node):
    return 0 if "value" in node else 1 + max(tree_depth(node[side]) for side in ("left", "right"))


def test_curves_that_are_no_steps_are_refused_by_name(words):
    model = CurveRanker(alpha=0.1, shape="lines").fit(NUMBERS, GRADES)
    with pytest.raises(ValueError, match="The curve of feature 'f1' has lines"):
        export_model(model, None, "solr")
    _, X = words
    model = CurveRanker(alpha=0.1).fit(X, X["size"] + (X["shop"] == "east"))
    with pytest.raises(ValueError, match="Feature 'shop' holds categories"):
        export_model(model, None, "elasticsearch")


def test_a_curve_without_effects_is_a_tree():
    model = CurveRanker(alpha=1.0).fit(np.ones((4, 1)), [0, 1, 0, 1])
    rows = np.array([[1.0], [np.nan]])
    assert in_elasticsearch(export_model(model, None, "opensearch"), rows, ["f1"]).tolist() == [0.0, 0.0]


# The shell --------------------------------------------------------------------------------------------------


def test_trees_from_the_shell(tmp_path, capsys):
    table, model, out = tmp_path / "train.csv", tmp_path / "model.json", tmp_path / "out.json"
    pd.DataFrame(GAPS, columns=NAMES).assign(grade=GAP_GRADES.round()).to_csv(table, index=False)
    method = ["--method", "boosted", "--n-estimators", "5"]
    assert main(["train", str(table), "-o", str(model), "--label", "grade", "-q", *method]) == 0
    for format in ("solr", "elasticsearch", "opensearch", "json"):
        arguments = ["export", model, "-o", out, "--format", format, "--name", "books", "-q"]
        assert main(list(map(str, arguments))) == 0
        assert out.read_text() == export_model(load_model(model), None, format, model_name="books")
    assert json.loads(out.read_text())["feature_names"] == NAMES
    arguments = ["export", model, "-o", out, "--format", "svmrank"]
    assert main(list(map(str, arguments))) == 1
    assert "Format 'svmrank' does not support BoostedRanker" in capsys.readouterr().err
