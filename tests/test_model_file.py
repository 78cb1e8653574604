"""Saving and loading: the same bits come back, or one clear sentence."""

import base64
import io
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import tracemalloc
from copy import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import rankwise
from fuzz.fuzz_model_file import Target, overwritten, signed, write_signed
from rankwise import (
    BoostedRanker,
    CurveRanker,
    HullRanker,
    KernelRanker,
    OrdinalSVM,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
)
from rankwise.datasets import make_ranking
from rankwise.io.atomic import atomic_folder, atomic_write
from rankwise.io.model_file import ModelFileError, load_model, model_info, save_model
from rankwise.io.model_layout import read_layout
from rankwise.io.model_values import decode, encode
from rankwise.model_selection import alpha_path
from rankwise.preprocessing import TableEncoder

random = np.random.RandomState(0)
X = np.abs(random.randn(40, 4)) * [1.0, 10.0, 0.1, 3.0]
Y = random.randint(0, 3, 40)
QID = np.repeat(["a", "b"], 20)
NEW = np.abs(random.randn(25, 4))

KERNELS = {
    "linear": {},
    "rbf": {"gamma": "scale"},
    "poly": {"degree": 2, "gamma": 0.3},
    "chi2": {"gamma": 0.5},
    "laplacian": {"n_components": 7, "random_state": 0},
    "precomputed": {},
}
SCALERS = {
    "none": None,
    "standard": StandardScaler(with_mean=False),
    "min_max": MinMaxScaler(feature_range=(0, 2)),
    "max_abs": MaxAbsScaler(),
    "robust": RobustScaler(with_centering=False),
}

# A few candidates do where it does not matter which is best.
FEW_CANDIDATES = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


def round_trip(model, path):
    save_model(model, path)
    return load_model(path)


def assert_same(left, right):
    """Compare what two models have learned, entry by entry and bit by bit."""
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert list(left) == list(right)
        for key in left:
            assert_same(left[key], right[key])
    elif isinstance(left, list | tuple):
        for pair in zip(left, right, strict=True):
            assert_same(*pair)
    elif sp.issparse(left):
        assert left.shape == right.shape
        for name in ("data", "indices", "indptr"):
            assert_same(getattr(left, name), getattr(right, name))
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.flags.f_contiguous == right.flags.f_contiguous
        np.testing.assert_array_equal(left, right)
    elif isinstance(left, float):
        assert np.float64(left).tobytes() == np.float64(right).tobytes() or (left != left and right != right)
    else:
        assert left == right


def learned(model):
    values = {name: value for name, value in sorted(vars(model).items()) if name not in model.get_params()}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


@FEW_CANDIDATES
@pytest.mark.parametrize("kind", [RankSVM, RankSVMCV, RankRLS, RankRLSCV])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", ["dense", "fortran", "float32", "csr"])
def test_a_loaded_model_is_the_saved_one(kind, kernel, form, tmp_path):
    options = dict(KERNELS[kernel]) | (
        {"alphas": [1e-1, 1e-2], "cv": 2} if kind.__name__.endswith("CV") else {}
    )
    rows, new = (X @ X.T, NEW @ X.T) if kernel == "precomputed" else (X, NEW)
    if kernel == "chi2" and form == "csr":
        pytest.skip("scikit-learn has no chi2 kernel for sparse rows")
    change = {
        "dense": np.asarray,
        "fortran": np.asfortranarray,
        "float32": lambda a: np.asarray(a, dtype=np.float32),
        "csr": sp.csr_array,
    }[form]
    rows, new = change(rows), change(new)
    model = kind(kernel=kernel, **options).fit(rows, Y, qid=QID)
    loaded = round_trip(model, tmp_path / "model.json")
    assert loaded.get_params() == model.get_params()
    assert_same(learned(loaded), learned(model))
    for some in (rows, rows.copy(), new):
        np.testing.assert_array_equal(loaded.predict(some), model.predict(some))
        np.testing.assert_array_equal(loaded.rank(some), model.rank(some))
    assert loaded.score(rows, Y, qid=QID) == model.score(rows, Y, qid=QID)
    assert loaded.n_features_in_ == model.n_features_in_
    if kernel == "linear":
        np.testing.assert_array_equal(loaded.explain_pair(X[0], X[1]), model.explain_pair(X[0], X[1]))
    with pytest.warns(UserWarning, match="fitted with qid"):
        loaded.score(rows, Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("scaler", SCALERS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_scaler_in_front(kernel, scaler, sparse, tmp_path):
    if scaler == "min_max" and sparse:
        pytest.skip("MinMaxScaler takes dense rows only")
    rows, new = (sp.csr_matrix(X), sp.csr_matrix(NEW)) if sparse else (X, NEW)
    front = SCALERS[scaler] or "passthrough"
    model = Pipeline([("scale", front), ("rank", RankRLS(kernel=kernel, alpha=0.1))]).fit(rows, Y)
    loaded = round_trip(model, tmp_path / "model.json")
    assert [name for name, _ in loaded.steps] == ["scale", "rank"]
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    assert loaded.score(rows, Y) == model.score(rows, Y)


def test_scalers_keep_what_they_learned(tmp_path):
    steps = [StandardScaler(), MinMaxScaler((-1, 1), clip=True), MaxAbsScaler(), RobustScaler()]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(*steps, RankSVM()).fit(frame, Y)
    loaded = round_trip(model, tmp_path / "model.json")
    for (_, before), (_, after) in zip(model.steps, loaded.steps, strict=True):
        assert before.get_params() == after.get_params()
        assert_same(learned(after), learned(before))
    assert loaded.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("dcba")])


@FEW_CANDIDATES
def test_several_outputs_and_names(tmp_path):
    frame = pd.DataFrame(X, columns=["title", "körper", "a b", 'quote"'])
    outputs = np.column_stack([Y, random.randn(40)])
    model = RankRLSCV(alphas=[1.0, 0.1], cv=2).fit(frame, outputs)
    loaded = round_trip(model, tmp_path / "model.json")
    assert_same(learned(loaded), learned(model))
    assert loaded.predict(frame).shape == (40, 2)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.feature_names_in_.dtype == object
    assert model_info(tmp_path / "model.json").feature_names == list(frame.columns)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("labels", [[1, 2, 3], [0.5, 1.5, 9.0], ["bad", "fair", "good"]])
def test_ordinal_svm(kernel, labels, tmp_path):
    y = np.array(labels)[Y]
    model = OrdinalSVM(kernel=kernel, categories=labels).fit(X, y)
    loaded = round_trip(model, tmp_path / "model.json")
    assert_same(learned(loaded), learned(model))
    assert loaded.predict(NEW).dtype == model.predict(NEW).dtype
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(loaded.utility(NEW), model.utility(NEW))
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    assert loaded.score(X, y) == model.score(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("order", ["chain", "full", [("c", "a"), ("b", "a")]])
def test_hull_ranker(kernel, order, tmp_path):
    y = pd.Series(pd.Categorical(np.array(["a", "b", "c"])[Y], ordered=True))
    model = HullRanker(alpha=0.1, kernel=kernel, order=order, slack_per="edge").fit(X, y)
    loaded = round_trip(model, tmp_path / "model.json")
    assert loaded.get_params() == model.get_params()
    assert_same(learned(loaded), learned(model))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))


def test_training_continues_from_a_loaded_model(tmp_path):
    model = RankSVM(warm_start=True, tol=1e-8).fit(X, Y)
    loaded = round_trip(model, tmp_path / "model.json")
    assert loaded.fit(X, Y).n_iter_ < model.n_iter_


@FEW_CANDIDATES
def test_parameters_that_cannot_be_stored_are_listed_as_left_out(tmp_path):
    path = tmp_path / "model.json"
    model = RankSVMCV(
        alphas=np.array([1.0, 0.1]),
        cv=KFold(2),
        callback=lambda state: None,
        random_state=np.random.RandomState(0),
    ).fit(X, Y)
    loaded = round_trip(model, path)
    assert sorted(model_info(path).left_out) == ["callback", "cv", "random_state"]
    assert (loaded.callback, loaded.cv, loaded.random_state) == (None, 5, None)
    np.testing.assert_array_equal(loaded.alphas, [1.0, 0.1])
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))


def test_the_file_states_its_format(tmp_path):
    path = tmp_path / "model.json"
    model = make_pipeline(StandardScaler(), RankSVM()).fit(X, Y)
    metadata = {"data": "täst", "ndcg": [0.5, None], "nested": {"n": 3}}
    save_model(model, path, feature_names=list("abcd"), metadata=metadata)
    info = model_info(path)
    assert (info.estimator, info.feature_names) == ("StandardScaler > RankSVM", list("abcd"))
    assert (info.metadata, info.version, info.rankwise) == (metadata, 3, rankwise.__version__)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", info.created)
    loaded = load_model(path)
    loaded.predict(NEW)  # and no warning that X has no names, as the fit had none
    save_model(loaded, path)
    assert model_info(path).feature_names == list("abcd")


def test_any_json_reader_can_read_the_file(tmp_path):
    path = tmp_path / "model.json"
    model = RankSVM(kernel="rbf", n_components=5, random_state=1).fit(X, Y)
    save_model(model, path)
    with open(path) as file:
        content = json.load(file, parse_constant=pytest.fail)
    node = content["header"]["model"]["attributes"]["basis_"]["array"]
    described = content["header"]["arrays"][node]
    values = np.frombuffer(base64.b64decode(content["arrays"][node]), dtype="<" + described["dtype"])
    np.testing.assert_array_equal(values.reshape(described["shape"]), model.basis_)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([np.zeros((2, 0)), np.array(["a", "äöü"]), np.array(["x", None, 3], dtype=object)])
    | st.sampled_from([np.arange(6.0).reshape(2, 3).T, np.array([True]), np.array([-0.0, np.nan, 1e-300])])
    | st.sampled_from([sp.csr_matrix(np.eye(2)), sp.csr_array(np.eye(3, dtype=np.float32))]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.tuples(st.text(), st.integers()), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_values_come_back_as_they_were(value):
    arrays = []
    text = json.dumps(encode(value, arrays), allow_nan=False)
    assert_same(decode(json.loads(text), arrays), value)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RankSVM(), "RankSVM is not fitted"),
        (Ridge(), "must be one of .*RankSVM, .*Ridge"),
        (Ridge().fit(X, Y), "must be one of .*RankSVM, .*Ridge"),
        (make_pipeline(PolynomialFeatures(), RankSVM()).fit(X, Y), "StandardScaler, .*PolynomialFeatures"),
        (make_pipeline(StandardScaler(), RankSVM()), "StandardScaler is not fitted"),
        (RankSVM(kernel=lambda a, b: a @ b).fit(X[:9], Y[:9]), "kernel is a function"),
        (type("RankSVM", (RankSVM,), {})().fit(X, Y), "must be one of"),
        ("model", "must be one of"),
    ],
)
def test_refusals_when_saving(model, words, tmp_path):
    with pytest.raises(ModelFileError, match=f"^This model cannot be saved: .*{words}.*\\.$"):
        save_model(model, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_refusals_of_arguments_and_attributes(tmp_path):
    path, model = tmp_path / "model.json", RankSVM().fit(X, Y)
    with pytest.raises(
        ModelFileError, match="feature_names has length 2, but the model has n_features_in_=4"
    ):
        save_model(model, path, feature_names=["a", "b"])
    with pytest.raises(ModelFileError, match="metadata must be a dict"):
        save_model(model, path, metadata={"model": model})
    model.solver_ = object()
    with pytest.raises(ModelFileError, match="attribute solver_: a value of type object"):
        save_model(model, path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small valid file."""
    path = tmp_path_factory.mktemp("saved") / "model.json"
    save_model(RankSVM().fit(X, Y), path)
    return path.read_bytes()


def refusal(content, tmp_path):
    path = tmp_path / "damaged.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{str(path)!r} cannot be loaded: ")
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_damage_is_named(saved, tmp_path):
    middle = len(saved) // 2
    assert "is empty" in refusal(b"", tmp_path)
    for size in (1, 30, 40, 60, middle, len(saved) - 70, len(saved) - 1):
        assert "truncated" in refusal(saved[:size], tmp_path), size
    flipped = saved[:middle] + bytes([saved[middle] ^ 1]) + saved[middle + 1 :]
    assert "checksum does not match" in refusal(flipped, tmp_path)
    assert "truncated" in refusal(saved + b"\n", tmp_path)
    newer = saved.replace(b'"version":3', b'"version":12', 1)
    assert "format version 12, but this version of rankwise reads up to 3" in refusal(newer, tmp_path)
    assert "never published" in refusal(saved.replace(b'"version":3', b'"version":2', 1), tmp_path)
    assert "not a rankwise model file" in refusal(b'{"a": 1}', tmp_path)
    assert "altered" in refusal(json.dumps(json.loads(saved), indent=1).encode(), tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.json")


def test_a_pickle_is_refused_and_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    assert "not a rankwise model file" in refusal(pickle.dumps(Trap()), tmp_path)
    assert not (tmp_path / "sprung").exists()


def crafted(saved, change):
    """Change the header of a valid file and sign it again, as somebody with intent would."""
    content = json.loads(saved)
    header = content["header"]
    arrays = [
        np.frombuffer(base64.b64decode(text), dtype="<" + entry["dtype"]).reshape(entry["shape"])
        for text, entry in zip(content["arrays"], header["arrays"], strict=True)
    ]
    change(header)
    result = io.BytesIO()
    write_signed(result, header, arrays)
    return result.getvalue()


def put(*keys):
    """Return a change of a header: the last of the arguments at the place named by the others."""
    *path, last, value = keys

    def change(header):
        for key in path:
            header = header[key]
        header[last] = value

    return change


HOSTILE = {
    "unknown class": (put("model", "class", "Popen"), "no estimator named 'Popen'"),
    "module path": (put("model", "class", "os.system"), "no estimator named"),
    "class is a list": (put("model", "class", ["RankSVM"]), "no estimator named"),
    "method": (put("model", "attributes", "predict", 1), "'predict' is not the name"),
    "undeclared": (put("model", "attributes", "notes_", 1), "'notes_' is not the name"),
    "dunder": (put("model", "attributes", "__class__", 1), "'__class__' is not the name"),
    "unknown parameter": (put("model", "parameters", "exec", 1), "not that of a model"),
    "size bomb": (put("arrays", 0, "shape", [10**15]), "form of a model"),
    "size overflow": (put("arrays", 0, "shape", [2**62, 2**62, 4]), "form of a model"),
    "zero times bomb": (put("arrays", 0, "shape", [0, 10**18]), "form of a model|not that of a model"),
    "negative shape": (put("arrays", 0, "shape", [-1]), "form of a model"),
    "float shape": (put("arrays", 0, "shape", [4.0]), "form of a model"),
    "shape too small": (put("arrays", 0, "shape", [3]), "form of a model"),
    "object dtype": (put("arrays", 0, "dtype", "O8"), "form of a model"),
    "record dtype": (put("arrays", 0, "dtype", "f8,f8"), "form of a model"),
    "no such dtype": (put("arrays", 0, "dtype", "f7"), "not that of a model"),
    "no arrays": (put("arrays", []), "no array number"),
    "array number": (put("model", "attributes", "coef_", {"array": 99}), "no array number 99"),
    "negative number": (put("model", "attributes", "coef_", {"array": -1}), "no array number -1"),
    "unknown type": (put("model", "attributes", "coef_", {"pickle": "gASV"}), "not that of a model"),
    "coef is text": (put("model", "attributes", "coef_", "gASV"), "not that of a model|inconsistent"),
    "coef is short": (put("model", "attributes", "n_features_in_", 5), "inconsistent"),
    "unhashable key": (put("model", "attributes", "history_", {"map": [[[], 1]]}), "not that of a model"),
    "csr out of range": (
        put("model", "attributes", "coef_", {"csr": [True, [1, 4], [{"array": 0}, [0, 1, 2, 9], [0, 4]]]}),
        "not that of a model",
    ),
    "wide text": (
        put("model", "attributes", "coef_", {"text": [[3000], ["x" * 200_000] + [""] * 2999]}),
        "much more memory",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_content_with_a_right_checksum(case, saved, tmp_path):
    change, words = HOSTILE[case]
    assert re.search(words, refusal(crafted(saved, change), tmp_path))


def kernel_argument(name, value):
    """Return a change of a header: another argument of the kernel."""

    def change(header):
        arguments = header["model"]["attributes"]["_kernel_arguments"]["map"]
        next(pair for pair in arguments if pair[0] == name)[1] = value

    return change


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (RankSVM(kernel="rbf"), kernel_argument("gamma", "0.5")),
        (RankRLS(kernel="rbf"), kernel_argument("gamma", [0.5, 0.5])),
        (RankSVM(kernel="poly"), kernel_argument("degree", -1)),
        (RankSVM(kernel="poly"), kernel_argument("degree", "3")),
        (RankRLS(10.0, kernel="poly"), kernel_argument("coef0", {"map": []})),
        (RankRLS(kernel="rbf"), kernel_argument("kernel", "warm")),
        (RankSVM(kernel="rbf"), kernel_argument("kernel_params", 1)),
        (RankSVM(kernel="rbf"), kernel_argument("gamma", {"float": "nan"})),
        (OrdinalSVM(), put("model", "attributes", "thresholds_", {"text": [[2], ["a", "b"]]})),
        (OrdinalSVM(), put("model", "attributes", "classes_", "low")),
        (OrdinalSVM(), put("model", "attributes", "classes_", {"text": [[1], ["low"]]})),
        (
            make_pipeline(StandardScaler(), RankSVM()),
            put("model", "pipeline", 0, 1, "attributes", "scale_", "wide"),
        ),
    ],
)
def test_numbers_that_cannot_score_a_row_are_refused_at_once(model, change, tmp_path):
    save_model(model.fit(X, Y), tmp_path / "model.json")
    content = (tmp_path / "model.json").read_bytes()
    words = "cannot score a row|inconsistent|not that of a model"
    assert re.search(words, refusal(crafted(content, change), tmp_path))
    same = crafted(content, lambda header: None)
    (tmp_path / "model.json").write_bytes(same)
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(NEW), model.predict(NEW))


FRAME = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(np.array(["u", "v", "w"])[Y]))
# Of each kind of ranker, attributes and values that no fit leaves.
NEVER_LEARNED = [
    (RankSVM(), "coef_", [np.full(4, np.nan), np.full(4, "1"), np.zeros((1, 4)), np.zeros(3), None]),
    (RankSVM(), "fitted_with_qid_", [np.ones(3), "no", None]),
    (RankSVM(warm_start=True), "_weights", [np.full(4, "1"), np.full(4, np.inf), "heavy"]),
    (RankRLS(), "coef_", [np.zeros((0, 4)), np.zeros((1, 1, 4))]),
    (RankRLS(kernel="rbf"), "basis_", [np.full((40, 4), np.nan), np.full((40, 4), None), np.ones((40, 3))]),
    (RankRLS(kernel="rbf"), "basis_indices_", [np.full(40, "1"), np.ones(40), np.ones((40, 1), dtype=int)]),
    (OrdinalSVM(calibrated=True), "slope_", [None, "steep", np.ones(2), np.nan, -1.0]),
    (
        OrdinalSVM(calibrated=True),
        "cuts_",
        [None, "low", np.zeros(1), np.full(2, np.nan), np.array([1.0, 0.0])],
    ),
    (OrdinalSVM(), "thresholds_", [np.full(2, np.nan), np.array([1.0, 0.0]), np.zeros((2, 1))]),
    (HullRanker(), "classes_", [None, "low", [0, 1, 2], np.arange(2), np.arange(3)[None]]),
    (
        HullRanker(),
        "intervals_",
        [None, "wide", np.full((3, 2), "1"), np.full((3, 2), np.nan), np.zeros((2, 2))],
    ),
    (HullRanker(), "edges_", [None, "chain", [], [(1,)], [(1, 7)], [(1, [0])]]),
    (
        BoostedRanker(n_estimators=2),
        "categories_",
        [None, "x", {"kind": []}, {4: None}, {4: [[1]]}, {5: ["u"]}],
    ),
    (BoostedRanker(n_estimators=2), "feature_importances_", [None, np.ones(2), np.full(5, np.nan)]),
    (BoostedRanker(n_estimators=2), "n_iter_", [None, "2", 2.5]),
    (BoostedRanker(n_estimators=2), "feature_names_in_", ["abcde", np.full((1, 5), "a"), np.arange(5.0)]),
    (CurveRanker(0.1, n_bins=4), "categories_", [None, [1], {4: 3}]),
    (CurveRanker(0.1, n_bins=4), "counts_", [None, [np.ones(2)] * 5, [np.full(5, "1")] * 5]),
    (CurveRanker(0.1, n_bins=4), "values_", [[np.full(5, np.nan)] * 5]),
    (
        CurveRanker(0.1, n_bins=4, interactions=[(0, 1)]),
        "pair_counts_",
        [None, [], [None] * 5, [np.ones(1)] * 5],
    ),
    (KernelRanker(), "feature_importances_", [None, np.ones(2), np.full(5, np.nan)]),
    (KernelRanker(), "kernel_", [None, "rbf", "poly"]),
    (KernelRanker(), "n_features_in_", [None, 4, 6]),
    (KernelRanker(), "encoder_", ["passthrough", TableEncoder().fit(X)]),
    (KernelRanker(), "ranker_", [RankSVM().fit(X, Y), RankSVM(kernel="rbf").fit(X, Y)]),
]


@pytest.mark.parametrize(
    ("model", "name", "values"), NEVER_LEARNED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_values_that_no_fit_leaves_are_refused_at_once(model, name, values, tmp_path):
    takes_categories = isinstance(model, BoostedRanker | CurveRanker | KernelRanker)
    if isinstance(model, BoostedRanker):
        pytest.importorskip("lightgbm")
    fitted = round_trip(model.fit(FRAME if takes_categories else X, Y), tmp_path / "model.json")
    for value in values:
        altered = copy(fitted)
        setattr(altered, name, value)
        save_model(altered, tmp_path / "altered.json")  # with a right checksum
        message = refusal((tmp_path / "altered.json").read_bytes(), tmp_path)
        assert re.search("inconsistent|not that of a model|cannot score a row", message)


def test_a_refusal_names_the_attribute(tmp_path):
    model = OrdinalSVM(calibrated=True).fit(X, Y)
    model.slope_ = "steep"
    save_model(model, tmp_path / "altered.json")
    message = refusal((tmp_path / "altered.json").read_bytes(), tmp_path)
    assert "its slope_ is invalid or inconsistent with the rest of the model" in message


def test_text_that_cannot_be_loaded_is_not_saved(tmp_path):
    model = OrdinalSVM().fit(X, Y)
    model.classes_ = np.array(["x" * 20_000] + [""] * 2999)
    with pytest.raises(
        ModelFileError, match="classes_: a text array would take much more memory than its text"
    ):
        save_model(model, tmp_path / "model.json")
    model.classes_ = np.array(["x" * 1000, "y", "z"])
    np.testing.assert_array_equal(round_trip(model, tmp_path / "model.json").classes_, model.classes_)


def test_a_text_array_takes_little_more_memory_than_its_file(tmp_path):
    model = RankSVM().fit(X, Y)
    model.classes_ = np.array(["x" * 20] * 60_000)
    save_model(model, tmp_path / "model.json")

    def widened(header):
        header["model"]["attributes"]["classes_"]["text"][1][0] = "x" * 1900

    content = crafted((tmp_path / "model.json").read_bytes(), widened)
    tracemalloc.start()
    assert "much more memory" in refusal(content, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * len(content)


def test_the_hostile_cases_would_load_without_the_change(saved, tmp_path):
    (tmp_path / "same.json").write_bytes(crafted(saved, lambda header: None))
    np.testing.assert_array_equal(load_model(tmp_path / "same.json").coef_, RankSVM().fit(X, Y).coef_)


def test_deep_nesting_and_bad_base64(saved, tmp_path):
    deep = saved.replace(b'"metadata":{}', b'"metadata":' + b"[" * 200_000 + b"]" * 200_000)
    assert "RecursionError" in refusal(signed(deep), tmp_path)
    start = saved.index(b'"arrays":[\n"') + 12
    assert "not that of a model" in refusal(signed(saved[:start] + b"*" + saved[start + 1 :]), tmp_path)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return Target(tmp_path_factory.mktemp("fuzz"))


@given(st.binary(max_size=60), st.integers(0, 14))
def test_whatever_the_bytes_loading_is_harmless(target, data, choice):
    target.check(bytes([choice]) + data)


@given(st.lists(st.tuples(st.integers(0, 65535), st.integers(0, 255)), max_size=3), st.integers(0, 2))
def test_overwritten_bytes_never_change_a_prediction(target, patches, model):
    content, _, _, scores = target.valid[model]
    changed = overwritten(content, b"".join(p.to_bytes(2, "little") + bytes([v]) for p, v in patches))
    target.check_bytes(changed, scores)


def test_a_large_kernel_model_takes_little_more_memory_than_itself(tmp_path):
    model = RankSVM(kernel="rbf").fit(X, Y)
    model.basis_, model.n_features_in_ = random.randn(10_000, 100), 100
    model.basis_indices_, model.dual_coef_ = np.arange(10_000), random.randn(10_000)
    path = tmp_path / "model.json"
    tracemalloc.start()
    save_model(model, path)
    assert tracemalloc.get_traced_memory()[1] < 0.6 * model.basis_.nbytes
    tracemalloc.reset_peak()
    loaded = load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * model.basis_.nbytes
    assert path.stat().st_size < 1.4 * model.basis_.nbytes
    np.testing.assert_array_equal(loaded.basis_, model.basis_)
    assert loaded.basis_.flags.writeable


def test_the_info_does_not_read_arrays(saved, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(saved)
    with open(path, "rb") as file:
        assert read_layout(file, with_arrays=False)[1] == []


def test_atomic_write_replaces_or_leaves_alone(tmp_path):
    path = tmp_path / "file.txt"
    with atomic_write(path, "w") as file:
        file.write("äold")
    assert path.read_bytes() == "äold".encode()
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new" * (file.write(b"new") // 0))
    assert path.read_bytes() == "äold".encode()
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
        assert path.read_bytes() == "äold".encode()
    assert (path.read_bytes(), link.is_symlink()) == (b"new", True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file.txt", "link.txt"]
    with pytest.raises(ValueError, match="mode must be 'wb' or 'w'; got 'a'"), atomic_write(path, "a"):
        pass


def test_atomic_write_names_the_file_that_was_asked_for(tmp_path, monkeypatch):
    def fails(path):
        with pytest.raises(OSError, match=r"file|folder") as caught, atomic_write(path):
            pass
        assert caught.value.filename == str(path)
        assert ".part" not in str(caught.value)
        return type(caught.value)

    path = tmp_path / "file.txt"
    assert fails(tmp_path / "no" / "folder.txt") is FileNotFoundError
    path.write_text("kept")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)
        assert fails(path) is PermissionError

    def refuse(source, target):
        raise PermissionError(13, "Permission denied", str(source), None, str(target))

    monkeypatch.setattr(os, "replace", refuse)
    assert fails(path) is PermissionError
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]
    assert path.read_text() == "kept"


@pytest.mark.skipif(os.name == "nt", reason="there, permissions know no umask")
def test_atomic_write_leaves_the_umask_alone(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", None)
            with atomic_write(tmp_path / "file.txt", "w") as file:
                file.write("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file.txt").stat().st_mode) == 0o640


def test_atomic_folder_is_whole_or_not_there(tmp_path):
    path = tmp_path / "copies" / "rows"
    with pytest.raises(ZeroDivisionError), atomic_folder(path) as folder:
        _ = (folder / "half").touch() or 1 / 0
    assert list(path.parent.iterdir()) == []
    with atomic_folder(path) as slow:
        (slow / "slow").touch()
        with atomic_folder(path) as quick:  # which leaves the folder of the other alone
            (quick / "quick").touch()
        assert os.listdir(path) == ["quick"]
        assert (slow / "slow").exists()
    assert os.listdir(path.parent) == ["rows"]
    assert os.listdir(path) == ["quick"]
    path.parent.joinpath("file").touch()
    with pytest.raises(OSError, match="file"), atomic_folder(path.parent / "file"):
        pass


def test_atomic_write_to_what_is_no_file():
    with atomic_write(os.devnull) as file:
        file.write(b"gone")
    assert not os.path.isfile(os.devnull)


# Each child is killed at another line of the writer, the last ones after its end.
KILLED = """
import os, signal, sys
import numpy as np
from rankwise import RankSVM
from rankwise.io.model_file import load_model, save_model

path, step = sys.argv[1], int(sys.argv[2])
model = RankSVM(kernel="rbf").fit(np.eye(3), [0, 1, 2])
model.basis_, model.n_features_in_ = np.zeros((1000, 20)), 20
model.basis_indices_, model.dual_coef_ = np.arange(1000), np.zeros(1000)
save_model(model, path)

def save_until(last_line):
    lines = 0
    def trace(frame, event, argument):
        nonlocal lines
        if "rankwise" not in frame.f_code.co_filename:
            return None
        lines += event == "line"
        if lines == last_line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    save_model(model, path)
    os._exit(0)

status, round, seen, n_left = None, 0, [], 0
while status != 0:
    round += 1
    child = os.fork()
    if child == 0:
        model.basis_[:], model.dual_coef_[:] = round, round
        save_until(round * step)
    status = os.waitpid(child, 0)[1]
    n_left += any(name.endswith(".part") for name in os.listdir(os.path.dirname(path)))
    loaded = load_model(path)
    number = loaded.dual_coef_[0]
    assert (loaded.dual_coef_ == number).all() and (loaded.basis_ == number).all()
    seen.append(int(number))
assert n_left > 0
print(seen)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is a forked process")
def test_a_killed_writer_leaves_a_whole_model(tmp_path):
    path = tmp_path / "model.json"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", KILLED, str(path), "11"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Writers were killed in the middle: never half a model; their temporary files are hidden.
    assert [file for file in tmp_path.iterdir() if not file.name.startswith(".")] == [path]


def test_a_model_of_a_path_is_saved_without_the_path(tmp_path):
    X, y = make_ranking(60, 3, random_state=0)
    model = alpha_path(RankSVM(), X, y, (1.0, 0.1), tol=0.1).model(0.5)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert not hasattr(loaded, "alpha_path_")
