"""Exports: what was written, evaluated by other programs, gives what `predict` gives."""

import ctypes
import json
import shutil
import sqlite3
import subprocess

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from rankwise import HullRanker, OrdinalSVM, RankRLS, RankRLSCV, RankSVM
from rankwise.io.export import FORMATS, export_model
from rankwise.io.model_file import ModelFileError, load_model, save_model
from rankwise.io.svmrank import read_svmrank_model

random = np.random.RandomState(0)
X = np.abs(random.randn(30, 4)) * [1.0, 10.0, 0.1, 3.0] + [0.0, 5.0, 1.0, -2.0]
Y = random.randint(0, 3, 30)
NEW = random.randn(20, 4) * [1.0, 10.0, 0.1, 3.0]
ODD_NAMES = ['a "quoted" name', "SELECT", "b*/ + 1; --", "größe ∑ /* x"]
ROW_FORMATS = [name for name in FORMATS if name != "json"]  # those that do not need tables
LINEAR_FORMATS = [name for name in ROW_FORMATS if name != "onnx"]

FRONTS = {
    "nothing": [],
    "standard": [StandardScaler()],
    "standard without mean": [StandardScaler(with_mean=False)],
    "standard without deviation": [StandardScaler(with_std=False)],
    "min_max": [MinMaxScaler()],
    "min_max to a range": [MinMaxScaler((-3, 7))],
    "max_abs": [MaxAbsScaler()],
    "robust": [RobustScaler()],
    "two": [MinMaxScaler(), "passthrough", StandardScaler()],
}


@pytest.fixture(params=FRONTS)
def model(request):
    return make_pipeline(*FRONTS[request.param], RankRLS(alpha=0.1)).fit(X, Y)


def fitted(weights):
    """A linear model with the given weights."""
    model = RankSVM()
    model.coef_, model.n_features_in_ = np.asarray(weights, dtype=float), len(weights)
    return model


def scaled(weights, shift, scale):
    """The same behind a StandardScaler with the given numbers."""
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = np.asarray(shift, dtype=float), np.asarray(scale, dtype=float)
    scaler.n_samples_seen_, scaler.n_features_in_ = 2, len(weights)
    return make_pipeline(scaler, fitted(weights))


# Evaluators that share nothing with the package -----------------------------------------------------------


def in_solr(text, rows, names):
    """Solr's own arithmetic: normalizers, weights and sums are 32-bit floats."""
    content = json.loads(text)
    scores = np.zeros(len(rows), dtype=np.float32)
    for feature in content["features"]:
        values = rows[:, names.index(feature["name"])].astype(np.float32)
        if "norm" in feature:
            params = {key: np.float32(value) for key, value in feature["norm"]["params"].items()}
            if feature["norm"]["class"].endswith(".StandardNormalizer"):
                assert params["std"] > 0
                values = (values - params["avg"]) / params["std"]
            else:
                assert params["max"] - params["min"] != 0
                values = (values - params["min"]) / (params["max"] - params["min"])
        scores += values * np.float32(content["params"]["weights"][feature["name"]])
    return scores


def in_elasticsearch(text, rows, names):
    """The arithmetic of the plugin's LinearRanker and FeatureNormalizingRanker, in 32-bit floats."""
    model = json.loads(text)["model"]["model"]
    scores = np.zeros(len(rows), dtype=np.float32)
    for name, weight in model["definition"].items():
        values = rows[:, names.index(name)].astype(np.float32)
        normalizer = model.get("feature_normalizers", {}).get(name, {})
        if "standard" in normalizer:
            mean, deviation = (
                np.float32(normalizer["standard"][key]) for key in ("mean", "standard_deviation")
            )
            assert deviation > 0
            values = (values - mean) / deviation
        elif "min_max" in normalizer:
            low, high = (np.float32(normalizer["min_max"][key]) for key in ("minimum", "maximum"))
            assert low < high
            values = (values - low) / (high - low)
        scores += values * np.float32(weight)
    return scores


def in_svmrank(text, rows):
    """The steps of SVM-light's read_model and classify_example_linear."""
    lines = text.split("\n")
    assert lines[0] == "SVM-light Version V6.20"
    heads = [line.split("#")[0].strip() for line in lines[1:11]]
    assert heads[:6] == ["0", "3", "1", "1", "1", "empty"]
    n_features, _, n_vectors, threshold = int(heads[6]), int(heads[7]), int(heads[8]), float(heads[9])
    weights = np.zeros(n_features + 1)
    for line in lines[11 : 10 + n_vectors]:
        factor, *entries = line[: line.index("#")].split()
        for entry in entries:
            index, value = entry.split(":")
            weights[int(index)] += float(factor) * float(value)
    return rows @ weights[1:] - threshold


def in_sqlite(expression, rows, names, quote=('"', '"')):
    begin, end = quote
    columns = ", ".join(f"{begin}{name.replace(end, 2 * end)}{end} REAL" for name in names)
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE rows ({columns})")
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", rows.tolist())
        answer = database.execute(f"SELECT {expression} FROM rows ORDER BY rowid").fetchall()
    database.close()
    return np.array([score for (score,) in answer], dtype=float)


def in_c(source, rows, folder, name="rankwise_model", standard="c90"):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not there")
    (folder / "model.c").write_text(source, encoding="utf-8")
    options = [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "model.c", "-o", "model.so"], cwd=folder, check=True)
    function = getattr(ctypes.CDLL(str(folder / "model.so")), name)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.POINTER(ctypes.c_double)]
    return np.array([function((ctypes.c_double * len(row))(*row)) for row in rows.tolist()])


def in_onnxruntime(content, rows, dtype):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"X": np.ascontiguousarray(rows, dtype=dtype)})
    assert scores.dtype == dtype
    return scores


# What the formats demand ------------------------------------------------------------------------------------

TEXT_NUMBER = {"type": "string", "pattern": r"^-?\d+(\.\d+)?(e[+-]?\d+)?$"}


def exactly(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def solr_norm(kind, *keys):
    name = {"const": f"org.apache.solr.ltr.norm.{kind}"}
    return exactly(**{"class": name, "params": exactly(**dict.fromkeys(keys, TEXT_NUMBER))})


SOLR = {
    "type": "object",
    "properties": {
        "class": {"const": "org.apache.solr.ltr.model.LinearModel"},
        "name": {"type": "string", "minLength": 1},
        "store": {"type": "string"},
        "features": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "norm": {
                        "oneOf": [
                            solr_norm("StandardNormalizer", "avg", "std"),
                            solr_norm("MinMaxNormalizer", "min", "max"),
                        ]
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "params": exactly(weights={"type": "object", "additionalProperties": {"type": "number"}}),
    },
    "required": ["class", "name", "features", "params"],
    "additionalProperties": False,
}
NUMBER = {"type": "number"}
ELASTICSEARCH = exactly(
    model=exactly(
        name={"type": "string"},
        model={
            "type": "object",
            "properties": {
                "type": {"const": "model/linear"},
                "definition": {"type": "object", "additionalProperties": NUMBER},
                "feature_normalizers": {
                    "type": "object",
                    "additionalProperties": {
                        "oneOf": [
                            exactly(standard=exactly(mean=NUMBER, standard_deviation=NUMBER)),
                            exactly(min_max=exactly(minimum=NUMBER, maximum=NUMBER)),
                        ]
                    },
                },
            },
            "required": ["type", "definition"],
            "additionalProperties": False,
        },
    )
)


# The formats, one by one ------------------------------------------------------------------------------------


def test_solr(model):
    text = export_model(model, None, "solr", feature_names=ODD_NAMES, model_name="m", feature_store="s")
    jsonschema.validate(json.loads(text), SOLR)
    content = json.loads(text)
    assert (content["name"], content["store"]) == ("m", "s")
    assert [feature["name"] for feature in content["features"]] == ODD_NAMES
    assert sorted(content["params"]["weights"]) == sorted(ODD_NAMES)
    np.testing.assert_allclose(in_solr(text, NEW, ODD_NAMES), model.predict(NEW), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("format", ["elasticsearch", "opensearch"])
def test_elasticsearch(model, format):
    text = export_model(model, None, format, feature_names=ODD_NAMES, model_name="m")
    jsonschema.validate(json.loads(text), ELASTICSEARCH)
    assert json.loads(text)["model"]["name"] == "m"
    scores = in_elasticsearch(text, NEW, ODD_NAMES)
    np.testing.assert_allclose(scores, model.predict(NEW), rtol=2e-5, atol=2e-5)


def test_scalers_have_the_normalizers_of_their_kind():
    for scaler, solr, elastic in [
        (StandardScaler(), "StandardNormalizer", "standard"),
        (MinMaxScaler(), "MinMaxNormalizer", "min_max"),
        (RobustScaler(), "StandardNormalizer", "standard"),
    ]:
        model = make_pipeline(scaler, RankRLS()).fit(X, Y)
        for feature in json.loads(export_model(model, None, "solr"))["features"]:
            assert feature["norm"]["class"] == f"org.apache.solr.ltr.norm.{solr}"
        body = json.loads(export_model(model, None, "elasticsearch"))["model"]["model"]
        assert {kind for norm in body["feature_normalizers"].values() for kind in norm} == {elastic}
    model = make_pipeline(MinMaxScaler(), RankRLS()).fit(X, Y)
    limits = json.loads(export_model(model, None, "solr"))["features"][1]["norm"]["params"]
    np.testing.assert_allclose([float(limits["min"]), float(limits["max"])], [X[:, 1].min(), X[:, 1].max()])
    model = make_pipeline(MaxAbsScaler(), RankRLS()).fit(X, Y)
    assert "norm" not in export_model(model, None, "solr")


def test_svmrank_in_both_directions(model, tmp_path):
    path = tmp_path / "model.dat"
    text = export_model(model, path, "svmrank", n_documents=30)
    assert path.read_text() == text
    assert "\n30 # number of training documents \n" in text
    np.testing.assert_allclose(in_svmrank(text, NEW), model.predict(NEW), rtol=1e-9, atol=1e-9)
    read = read_svmrank_model(path)
    scores = read.predict(NEW) - read.threshold_
    np.testing.assert_allclose(scores, model.predict(NEW), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(
        read.rank(NEW), model[-1].rank(model[:-1].transform(NEW) if len(model) > 1 else NEW)
    )


def test_svmrank_weights_are_exact(tmp_path):
    weights = np.array([0.1, 0.0, -0.0, 1e-300, 1e300, -1 / 3, 5e-324, 2.0])
    export_model(fitted(weights), tmp_path / "model.dat", "svmrank")
    read = read_svmrank_model(tmp_path / "model.dat")
    np.testing.assert_array_equal(read.coef_, weights)
    assert read.threshold_ == 0
    again = export_model(read, None, "svmrank")
    assert again == (tmp_path / "model.dat").read_text()


# As svm_rank_learn 1.00 lays a file out, with trailing blanks and the short form of -u.
WRITTEN_BY_SVMRANK = """SVM-light Version V6.20
0 # kernel type
3 # kernel parameter -d\x20
1 # kernel parameter -g\x20
1 # kernel parameter -s\x20
1 # kernel parameter -r\x20
{custom}# kernel parameter -u\x20
5 # highest feature index\x20
12 # number of training documents\x20
2 # number of support vectors plus 1\x20
0 # threshold b, each following line is a SV (starting with alpha*y)
1 1:1.5 3:-0.25 4:0.70000076 #
"""


@pytest.mark.parametrize("custom", ["empty", ""])
def test_a_file_of_svmrank_is_read(custom, tmp_path):
    path = tmp_path / "model.dat"
    path.write_text(WRITTEN_BY_SVMRANK.format(custom=custom))
    model = read_svmrank_model(path)
    np.testing.assert_array_equal(model.coef_, [1.5, 0, -0.25, 0.70000076, 0])
    assert (model.n_features_in_, model.threshold_) == (5, 0.0)
    save_model(model, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").coef_, model.coef_)


def test_several_support_vectors_are_added_up(tmp_path):
    text = WRITTEN_BY_SVMRANK.format(custom="empty").replace("2 # number of support", "3 # number of support")
    (tmp_path / "model.dat").write_text(text + "-0.5 qid:7 3:2 5:1 # a comment 1:9\n")
    np.testing.assert_allclose(
        read_svmrank_model(tmp_path / "model.dat").coef_, [1.5, 0, -1.25, 0.70000076, -0.5]
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("SVM-light", "SVM-dark", "line 1 does not begin with"),
        ("0 # kernel type", "2 # kernel type", "its kernel type is 2, and only 0 is linear"),
        ("5 # highest", "five # highest", "line 8 must begin with an integer; got 'five'"),
        ("5 # highest", "99999999999 # highest", "99999999999 features"),
        ("3:-0.25", "6:-0.25", "line 12 has '6:-0.25'; indices go from 1 to 5"),
        ("3:-0.25", "0:-0.25", "line 12 has '0:-0.25'"),
        ("3:-0.25", "3:nan", "line 12 has 'nan' in place of a number"),
        ("3:-0.25", "3", "line 12 has '' in place"),
        ("0.70000076 #", "0.7", "line 12 does not end with #"),
        ("2 # number of support", "3 # number of support", "truncated: line 13"),
        ("2 # number of support", "1 # number of support", "more lines than the 0 vectors"),
        ("0 # threshold", "x # threshold", "line 11 has 'x'"),
        ("1 1:1.5", "one 1:1.5", "line 12 has 'one'"),
    ],
)
def test_what_is_no_svmrank_model_is_refused(old, new, words, tmp_path):
    path = tmp_path / "model.dat"
    text = WRITTEN_BY_SVMRANK.format(custom="empty")
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ModelFileError, match="is not a linear SVMrank model: .*" + words):
        read_svmrank_model(path)


@given(st.binary(max_size=40), st.integers(0, 500))
def test_reading_of_damaged_svmrank_models_is_harmless(tmp_path_factory, patch, position):
    path = tmp_path_factory.getbasetemp() / "damaged.dat"
    content = bytearray(WRITTEN_BY_SVMRANK.format(custom="empty").encode())
    content[position : position + len(patch)] = patch
    path.write_bytes(content)
    try:
        model = read_svmrank_model(path)
    except ModelFileError:
        return
    assert model.coef_.shape == (model.n_features_in_,)


def test_c(model, tmp_path):
    source = export_model(model, None, "c", feature_names=ODD_NAMES, model_name="my_model")
    scores = in_c(source, NEW, tmp_path, "my_model")
    np.testing.assert_allclose(scores, model.predict(NEW), rtol=1e-12, atol=1e-13)


def test_c_of_awkward_names_and_numbers(tmp_path):
    names = ["*/ int x; /*", "??/", "\\", "a\nb", '"', "%s", "int", "//"]
    weights = [1e-300, 1e300, -0.0, 5e-324, -1 / 3, 1.7976931348623157e308, 1e-5, 0.1]
    model = fitted(weights)
    source = export_model(model, None, "c", feature_names=names)
    assert source.isascii()
    scores = in_c(source, np.eye(8), tmp_path, standard="c99")
    np.testing.assert_array_equal(scores, weights)
    for name in ("2x", "a b", "while", "", "naïve", "x;"):
        with pytest.raises(ValueError, match="model_name must be a name that C accepts"):
            export_model(model, None, "c", model_name=name)


def test_sql(model):
    expression = export_model(model, None, "sql", feature_names=ODD_NAMES)
    scores = in_sqlite(expression, NEW, ODD_NAMES)
    np.testing.assert_allclose(scores, model.predict(NEW), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_features", [100, 101, 450])
def test_sql_of_many_features_is_summed_in_groups(n_features):
    """Above 100 terms the sum is nested, as databases limit the depth of expressions."""
    generator = np.random.default_rng(0)
    X, names = generator.normal(size=(9, n_features)), [f"f{k}" for k in range(n_features)]
    model = RankSVM().fit(X, np.arange(9) % 3)
    expression = export_model(model, None, "sql", feature_names=names)
    assert ("\n" in expression) == (n_features > 100)
    np.testing.assert_allclose(in_sqlite(expression, X, names), model.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("quote", "ends"), [('"', ('"', '"')), ("`", ("`", "`"))])
def test_sql_quotes(quote, ends):
    names = ["a`b", 'c"d', "group", "x]y"]
    model = RankSVM().fit(X, Y)
    expression = export_model(model, None, "sql", feature_names=names, quote=quote)
    np.testing.assert_allclose(in_sqlite(expression, NEW, names, ends), model.predict(NEW), rtol=1e-12)
    bracketed = export_model(model, None, "sql", feature_names=names, quote="[")
    assert "[x]]y]" in bracketed
    with pytest.raises(ValueError, match="quote must be one of"):
        export_model(model, None, "sql", quote="'")
    with pytest.raises(ValueError, match="cannot be the name of a column"):
        export_model(model, None, "sql", feature_names=["a", "b", "c", "d\0"])
    escaping = ["a", "b", "c", "d\\`) FROM secret; --"]
    with pytest.raises(ValueError, match="has a backslash, by which BigQuery"):
        export_model(model, None, "sql", feature_names=escaping, quote="`")
    expression = export_model(model, None, "sql", feature_names=escaping)
    np.testing.assert_allclose(in_sqlite(expression, NEW, escaping), model.predict(NEW), rtol=1e-12)


def test_sql_of_many_features_and_of_none():
    weights = random.randn(1900)
    rows = random.randn(3, 1900)
    names = [f"c{number}" for number in range(1900)]
    scores = in_sqlite(export_model(fitted(weights), None, "sql", feature_names=names), rows, names)
    np.testing.assert_allclose(scores, rows @ weights, rtol=1e-10)
    assert export_model(fitted([0.0, -0.0]), None, "sql") == "0.0"


ODD_NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1e-300, -1e-300, 1e300, 1e-5, -1e22, 1e16, 0.1, 5e-324]),
    st.floats(-1e30, 1e30),
)
NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8),
    min_size=3,
    max_size=3,
    unique_by=str.casefold,
)


@given(st.tuples(ODD_NUMBERS, ODD_NUMBERS, ODD_NUMBERS), NAMES)
def test_sql_of_any_numbers_and_names(weights, names):
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, -2.0, 3.0]])
    assume(len({name.encode("utf-8").lower() for name in names}) == 3)
    scores = in_sqlite(export_model(fitted(weights), None, "sql", feature_names=names), rows, names)
    np.testing.assert_allclose(scores, rows @ np.array(weights), rtol=1e-13, atol=1e-300)


@given(st.tuples(ODD_NUMBERS, ODD_NUMBERS), st.tuples(ODD_NUMBERS, ODD_NUMBERS), st.data())
def test_search_engines_rank_as_predict_does_or_refuse(weights, shift, data):
    """A scale that single precision cannot hold goes into the weight; such a weight is refused."""
    positive = st.sampled_from([1e-300, 1e-40, 1e-3, 1.0, 7.0, 1e20, 1e39, 1e300])
    scale = data.draw(st.tuples(positive, positive))
    model = scaled(weights, shift, scale)
    try:
        text = export_model(model, None, "solr")
    except ValueError as error:
        assert "single precision" in str(error)  # noqa: PT017
        with np.errstate(over="ignore"):
            assert max(np.abs(weights).max(), np.abs(np.array(weights) / scale).max()) > 3e38
        return
    jsonschema.validate(json.loads(text), SOLR)
    content = json.loads(text)
    for number, feature in enumerate(content["features"]):
        weight = content["params"]["weights"][feature["name"]]
        params = feature.get("norm", {"params": {"avg": "0", "std": "1"}})["params"]
        assert abs(np.float32(weight)) < np.inf
        assert 0 < np.float32(params["std"]) < np.inf
        slope = weight / float(params["std"])
        np.testing.assert_allclose(slope, weights[number] / scale[number], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx_behind_scalers(model, dtype):
    model = make_pipeline(*[step for _, step in model.steps[:-1]], RankRLS()).fit(X, Y)
    new = (X + 0.1 * random.randn(*X.shape)).astype(dtype)
    want = model.predict(new.astype(np.float64))
    scores = in_onnxruntime(export_model(model, None, "onnx", dtype=dtype), new, dtype)
    tolerance = 1e-6 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(scores, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


@pytest.mark.parametrize("scaler", [StandardScaler(), MaxAbsScaler(), RobustScaler()])
def test_onnx_of_one_scaled_feature_has_all_digits(scaler):
    model = make_pipeline(scaler, RankRLS()).fit(X[:, :1], Y)
    scores = in_onnxruntime(export_model(model, None, "onnx", dtype="float64"), X[:, :1], "float64")
    want = model.predict(X[:, :1])
    np.testing.assert_allclose(scores, want, rtol=0, atol=1e-10 * np.abs(want).max())


def test_onnx_of_several_outputs_and_its_metadata(tmp_path):
    onnx = pytest.importorskip("onnx")
    frame = pd.DataFrame(X, columns=ODD_NAMES)
    model = RankRLSCV(alphas=[0.1], cv=3).fit(frame, np.column_stack([Y, random.randn(30)]))
    content = export_model(model, tmp_path / "model.onnx", "onnx", dtype="float64", model_name="two")
    want = model.predict(pd.DataFrame(NEW, columns=ODD_NAMES))
    np.testing.assert_allclose(in_onnxruntime(content, NEW, "float64"), want, rtol=1e-12, atol=1e-13)
    one = export_model(model, None, "onnx", dtype="float64", output=1)
    np.testing.assert_allclose(in_onnxruntime(one, NEW, "float64"), want[:, 1], rtol=1e-12, atol=1e-13)
    proto = onnx.load(tmp_path / "model.onnx")
    (names,) = (entry.value for entry in proto.metadata_props if entry.key == "feature_names")
    assert (proto.graph.name, json.loads(names)) == ("two", ODD_NAMES)


def test_onnx_refusals(monkeypatch):
    with pytest.raises(ValueError, match="overflows float32; use dtype='float64'"):
        export_model(fitted([1e300]), None, "onnx")
    with pytest.raises(ValueError, match="dtype must be one of 'float32', 'float64'; got 'half'"):
        export_model(fitted([1.0]), None, "onnx", dtype="half")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'rankwise\[onnx\]'"):
        export_model(fitted([1.0]), None, "onnx")


# What all formats share -------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ROW_FORMATS)
def test_refusals(format):
    with pytest.raises(NotFittedError, match="RankSVM is not fitted"):
        export_model(RankSVM(), None, format)
    with pytest.raises(NotFittedError, match="StandardScaler is not fitted"):
        export_model(make_pipeline(StandardScaler(), fitted([1.0])), None, format)
    with pytest.raises(TypeError, match=r"model must be one of .*RankSVM, .*; got Ridge"):
        export_model(Ridge().fit(X, Y), None, format)
    with pytest.raises(TypeError, match=r"exports take StandardScaler, .*; got PolynomialFeatures"):
        export_model(make_pipeline(PolynomialFeatures(), RankSVM()).fit(X, Y), None, format)
    with pytest.raises(ValueError, match=r"MinMaxScaler\(clip=True\) is not linear"):
        export_model(make_pipeline(MinMaxScaler(clip=True), RankSVM()).fit(X, Y), None, format)
    model = RankSVM().fit(X, Y)
    with pytest.raises(ValueError, match="feature_names has length 1, but the model has n_features_in_=4"):
        export_model(model, None, format, feature_names=["a"])
    with pytest.raises(ValueError, match="must be distinct; 'b' occurs more than once"):
        export_model(model, None, format, feature_names=["a", "b", "c", "b"])
    with pytest.raises(ValueError, match="valid Unicode"):
        export_model(model, None, format, feature_names=["a", "b", "c", "\ud800"])
    with pytest.raises(ValueError, match="output must be an integer from 0 to 0; got 1"):
        export_model(model, None, format, output=1)


@pytest.mark.parametrize("format", LINEAR_FORMATS)
def test_refusals_of_linear_formats(format):
    with pytest.raises(ValueError, match="supports linear models, and this RankSVM has kernel='rbf'"):
        export_model(RankSVM(kernel="rbf").fit(X, Y), None, format)
    several = RankRLS().fit(X, np.column_stack([Y, Y[::-1]]))
    with pytest.raises(ValueError, match="has 2 outputs; choose one by output="):
        export_model(several, None, format)
    assert export_model(several, None, format, output=1) == export_model(
        fitted(several.coef_[1]), None, format
    )
    with pytest.raises(ValueError, match="NaN or infinity"):
        export_model(fitted([np.nan, 1.0]), None, format)


def test_unknown_formats_and_options_are_refused():
    with pytest.raises(ValueError, match=r"format must be one of 'svmrank', .*; got 'pmml'"):
        export_model(fitted([1.0]), None, "pmml")
    with pytest.raises(TypeError, match="dtype"):
        export_model(fitted([1.0]), None, "c", dtype="float32")


def test_names_come_from_the_fit_the_file_or_are_numbered(tmp_path):
    frame = pd.DataFrame(X, columns=ODD_NAMES)
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(frame, Y)
    assert names_in(export_model(pipeline, None, "solr")) == ODD_NAMES
    assert names_in(export_model(RankSVM().fit(frame, Y), None, "solr")) == ODD_NAMES
    plain = RankSVM().fit(X, Y)
    assert names_in(export_model(plain, None, "solr")) == ["f1", "f2", "f3", "f4"]
    save_model(plain, tmp_path / "model.json", feature_names=list("abcd"))
    assert names_in(export_model(load_model(tmp_path / "model.json"), None, "solr")) == list("abcd")


def names_in(text):
    return [feature["name"] for feature in json.loads(text)["features"]]


@pytest.mark.parametrize("ranker", [OrdinalSVM(), HullRanker(slack_per="edge")])
@pytest.mark.parametrize("format", ROW_FORMATS)
def test_utilities_are_exported(ranker, format, tmp_path):
    model = make_pipeline(StandardScaler(), ranker).fit(X, Y)
    ranker, rows = model[-1], model[:-1].transform(NEW)
    utility = ranker.utility(rows) if hasattr(ranker, "utility") else ranker.predict(rows)
    options = {"dtype": "float64"} if format == "onnx" else {}
    content = export_model(model, None, format, **options)
    names = ["f1", "f2", "f3", "f4"]
    scores = {
        "svmrank": lambda: in_svmrank(content, NEW),
        "solr": lambda: in_solr(content, NEW, names),
        "elasticsearch": lambda: in_elasticsearch(content, NEW, names),
        "opensearch": lambda: in_elasticsearch(content, NEW, names),
        "onnx": lambda: in_onnxruntime(content, NEW, "float64"),
        "c": lambda: in_c(content, NEW, tmp_path),
        "sql": lambda: in_sqlite(content, NEW, names),
    }[format]()
    np.testing.assert_allclose(scores, utility, rtol=2e-5, atol=2e-5)


def test_a_failed_export_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.sql"
    export_model(RankSVM().fit(X, Y), path, "sql")
    before = path.read_text()
    with pytest.raises(ValueError, match="kernel"):
        export_model(RankSVM(kernel="rbf").fit(X, Y), path, "sql")
    assert path.read_text() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.sql"]
