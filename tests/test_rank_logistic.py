"""RankLogistic and RankLogisticCV: the optimum of logistic regression on all pairs, and its probabilities."""

import ctypes
import json
import pickle
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import independent
import reference
from commands import run
from rankwise import (
    Preferences,
    RankLogistic,
    RankLogisticCV,
    RankSVM,
    export_model,
    load_model,
    pair_data,
    save_model,
)
from rankwise.cli.main import main
from rankwise.data.design import as_design
from rankwise.datasets import make_ranking
from rankwise.io.svmlight import dump_svmlight
from rankwise.losses import Logistic
from rankwise.model_selection import QueryKFold
from rankwise.solvers.errors import ErrorModel

FEW_CANDIDATES = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")
# Weights are within (gap / alpha)^(1/2) of the best; the certificate cannot be as small as 1e-6 asks for.
TIGHT = 1e-15
UNCERTIFIED = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=80, n_features=4, n_queries=6, n_levels=4, noise=0.5, seed=0):
    """Rows of several queries, in no order; all queries have pairs."""
    X, y = make_ranking(n, n_features, n_levels=n_levels, noise=noise, random_state=seed)
    return X, y, np.random.default_rng(seed).permutation(np.arange(n) % n_queries)


def regression(X, pairs, alpha):
    """The weights of scikit-learn's logistic regression on the differences, half of them turned round."""
    better, worse, weight, *_ = (np.array(column) for column in zip(*pairs, strict=True))
    sign = np.where(np.arange(len(better)) % 2, 1, -1)
    model = LogisticRegression(C=1 / (2 * alpha), fit_intercept=False, tol=1e-12, solver="newton-cholesky")
    differences = sign[:, None] * (X[better] - X[worse])
    return model.fit(differences, sign, sample_weight=weight).coef_[0]


# The optimum


@UNCERTIFIED
@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("pair_weight", [None, "difference"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_logistic_regression_on_all_differences(average, pair_weight, weighted):
    X, y, qid = data(60)
    weight = np.random.default_rng(1).random(60) if weighted else None
    gain = y if pair_weight else None
    pairs = reference.normalised(reference.ranking_pairs(y, qid, weight, gain=gain), average)
    model = RankLogistic(1e-3, average=average, pair_weight=pair_weight, tol=TIGHT)
    model.fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, regression(X, pairs, 1e-3), rtol=0, atol=1e-6)
    value, _ = reference.logistic(pairs, model.predict(X))
    assert model.objective_ == pytest.approx(value + 1e-3 * model.coef_ @ model.coef_, abs=1e-12)
    assert model.n_pairs_ == len(pairs)
    assert model.solver_ == "newton"


@UNCERTIFIED
@pytest.mark.parametrize("C", [0.001, 0.1, 10.0])
def test_the_exchange_rate_of_a_sum_over_pairs(C):
    X, y, qid = data(40)
    pairs = reference.ranking_pairs(y, qid)
    expected = regression(X, [(i, j, C, t, q) for i, j, _, t, q in pairs], 0.5)
    alpha = 1 / (2 * C * len(pairs))
    model = RankLogistic(alpha, average="pairs", tol=TIGHT).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=1e-6 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_the_optimum_is_that_of_an_independent_solver(alpha):
    X, y, qid = data(25, n_queries=2)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    best = independent.solve(X, pairs, alpha, "logistic")
    assert best.objective - best.lower <= 1e-7
    model = RankLogistic(alpha, tol=1e-10).fit(X, y, qid=qid)
    assert best.lower - 1e-12 <= model.objective_ <= best.objective + 1e-10


def structures():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(40, 3))
    f = X[:, 0] - X[:, 1] + 0.5 * generator.normal(size=40)
    event = generator.random(40) < 0.7
    labels = np.digitize(f, [-1, 0, 1])
    better, worse = generator.integers(40, size=(2, 60))
    kept = better != worse
    swap = (f[better] > f[worse])[kept]
    better, worse = np.where(swap, better[kept], worse[kept]), np.where(swap, worse[kept], better[kept])
    weight = generator.random(len(better)) + 0.1
    return {
        "pairs": (X, Preferences.from_pairs(better, worse, weight=weight, n_rows=40)),
        "survival": (X, Preferences.from_survival(event, np.exp(f))),
        "order": (X, Preferences.from_order(labels, [(3, 1), (2, 1), (1, 0)])),
        "real labels": (X, Preferences.from_scores(f)),
        "query weights": (
            X,
            Preferences.from_scores(labels, np.arange(40) % 3, query_weight=np.arange(40) % 3 + 1.0),
        ),
    }


STRUCTURES = structures()


@UNCERTIFIED
@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure(name):
    X, preferences = STRUCTURES[name]
    model = RankLogistic(1e-2, tol=TIGHT).fit(X, preferences)
    expected = regression(X, independent.listed(preferences), 1e-2)
    np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=1e-6)


@UNCERTIFIED
def test_a_reward_head_from_chosen_and_rejected_rows():
    generator = np.random.default_rng(0)
    chosen, rejected = generator.normal(size=(2, 50, 3))
    chosen += [1.0, -0.5, 0.0]
    model = RankLogistic(0.01, tol=TIGHT).fit(*pair_data(chosen, rejected))
    pairs = [(k, 50 + k, 1 / 50, 1.0, 0) for k in range(50)]
    expected = regression(np.vstack([chosen, rejected]), pairs, 0.01)
    np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=1e-6)


@UNCERTIFIED
def test_a_kernel_model_is_the_optimum_in_its_space():
    X, y, qid = data(30)
    K = rbf_kernel(X, gamma=0.3)
    root = np.linalg.cholesky(K)
    expected = root @ regression(root, reference.normalised(reference.ranking_pairs(y, qid)), 1e-2)
    for model, rows in ((RankLogistic(kernel="rbf", gamma=0.3), X), (RankLogistic(kernel="precomputed"), K)):
        model.set_params(alpha=1e-2, tol=TIGHT).fit(rows, y, qid=qid)
        np.testing.assert_allclose(model.predict(rows), expected, rtol=0, atol=1e-5)
    part = RankLogistic(1e-2, kernel="rbf", gamma=0.3, n_components=10, random_state=0, tol=1e-9)
    assert part.fit(X, y, qid=qid).basis_.shape == (10, 4)
    assert part.objective_ >= model.objective_ - 1e-9


@UNCERTIFIED
def test_sparse_dense_and_single_precision_agree():
    X, y, qid = data()
    X = np.where(np.abs(X) > 0.5, X, 0).astype(np.float32)
    model = RankLogistic(1e-2, tol=TIGHT)
    expected = clone(model).fit(X.astype(np.float64), y, qid=qid).coef_
    for rows in (X, sp.csr_array(X), sp.csc_matrix(X.astype(np.float64)), np.asfortranarray(X)):
        np.testing.assert_allclose(clone(model).fit(rows, y, qid=qid).coef_, expected, rtol=0, atol=1e-6)


# The certificate


@given(st.integers(0, 10_000), st.floats(-8, 1), st.sampled_from([1e-1, 1e-3, 1e-6]), st.floats(-3, 3))
def test_the_gap_bounds_the_distance_to_a_sharper_solution(seed, power, tol, scale):
    X, y, qid = data(30, n_queries=2, seed=seed)
    X, alpha = 10.0**scale * X, 10.0 ** (power + 2 * scale)
    model = RankLogistic(alpha, tol=tol).fit(X, y, qid=qid)
    sharp = RankLogistic(alpha, tol=1e-10).fit(X, y, qid=qid)
    assert model.objective_ - sharp.objective_ - 1e-13 <= model.gap_ <= tol
    assert sharp.objective_ - sharp.gap_ <= model.objective_
    assert model.objective_ <= np.log(2) + 1e-12


def test_a_step_that_only_lowers_the_gradient_is_taken():
    X, y, qid = data(30, n_queries=2, seed=344)
    model = RankLogistic(10.0**-7.9375, tol=1e-10).fit(X, y, qid=qid)  # warns where it stalls
    assert model.gap_ <= 1e-10 * (np.log(2) - model.objective_ + model.gap_)


def exact_logistic(y, scores):
    """The mean loss over all pairs and its gradient, in extended precision."""
    difference = np.subtract.outer(scores.astype(np.longdouble), scores.astype(np.longdouble))
    weight = np.greater.outer(y, y) / np.longdouble(np.greater.outer(y, y).sum())
    pushed = weight * np.exp(-np.logaddexp(0, difference))
    return (weight * np.logaddexp(0, -difference)).sum(), pushed.sum(axis=0) - pushed.sum(axis=1)


@pytest.mark.parametrize("labels", ["one above all", "two", "real"])
@pytest.mark.parametrize("spread", [0.0, 1e-9, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("m", [3, 40, 700])
def test_the_allowance_for_rounding_covers_the_sums_over_bins(labels, spread, m):
    generator = np.random.default_rng(m)
    X = generator.normal(size=(m, 1))
    y = {"one above all": np.arange(m) == 1, "two": np.arange(m) % 2, "real": generator.normal(size=m)}[
        labels
    ]
    loss, coef = Logistic(Preferences.from_scores(np.asarray(y, dtype=float))), np.array([spread])
    scores = X @ coef
    value, coefficients = loss.value_and_coefficients(scores)
    precision = as_design(X).precision
    model, score_range = ErrorModel(precision, loss.bounds), precision.score_range(coef, scores)
    allowed, allowed_slope = model.at(1.0, 0 * coef, value, score_range)
    exact, slopes = exact_logistic(y, scores)
    assert abs(value - exact) <= allowed
    assert abs(X[:, 0] @ coefficients - X[:, 0] @ slopes) <= allowed_slope


def test_max_iter_and_warm_start():
    X, y, qid = data()
    model = RankLogistic(1e-5, tol=1e-9, max_iter=2, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="Stopped by max_iter after ") as record:
        model.fit(X, y, qid=qid)
    assert record[0].filename == __file__
    first = model.objective_
    states = []
    model.set_params(max_iter=100, callback=lambda state: states.append(state)).fit(X, y, qid=qid)
    assert states[0].objective == pytest.approx(first, abs=1e-12)
    cold = RankLogistic(1e-5, tol=1e-9).fit(X, y, qid=qid)
    assert model.objective_ == pytest.approx(cold.objective_, abs=1e-9)
    assert model.n_iter_ < cold.n_iter_


# Probabilities


def test_probabilities_of_pairs():
    X, y, qid = data()
    model = RankLogistic(1e-3).fit(X, y, qid=qid)
    A, B = X[:40], X[40:]
    difference = model.predict(A) - model.predict(B)
    probability = model.predict_pair_proba(A, B)
    np.testing.assert_allclose(probability, expit(difference), rtol=1e-15)
    np.testing.assert_array_equal(probability + model.predict_pair_proba(B, A), 1.0)
    np.testing.assert_array_equal(model.predict_pair_proba(A, A.copy()), 0.5)
    for one in (B[:1], B[0]):
        np.testing.assert_array_equal(model.predict_pair_proba(A, one), expit_pair(model, A, B[:1]))
        np.testing.assert_array_equal(model.predict_pair_proba(one, A), expit_pair(model, B[:1], A))
    np.testing.assert_array_equal(model.predict_pair_proba(sp.csr_array(A), sp.csr_array(A)), 0.5)
    np.testing.assert_allclose(model.predict_pair_proba(sp.csr_array(A), B), probability, rtol=1e-12)


def expit_pair(model, A, B):
    rows = np.broadcast_shapes(A.shape, B.shape)
    return model.predict_pair_proba(np.broadcast_to(A, rows).copy(), np.broadcast_to(B, rows).copy())


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20), st.floats(-1e300, 1e300))
def test_probabilities_are_never_missing(values, other):
    model = RankLogistic().fit([[0.0], [1.0]], [0, 1])
    A, B = np.array(values)[:, None], np.array([[other]])
    forth, back = model.predict_pair_proba(A, B), model.predict_pair_proba(B, A)
    assert ((forth >= 0) & (forth <= 1)).all()
    np.testing.assert_array_equal(forth + back, 1.0)
    np.testing.assert_array_equal(forth > 0.5, (A > B)[:, 0] & (forth != 0.5))


def test_probabilities_of_frames_kernels_and_bad_rows():
    X, y, qid = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = RankLogistic(1e-3, kernel="rbf").fit(frame, y, qid=qid)
    scores = model.predict(frame)
    found = model.predict_pair_proba(frame[:40], frame[40:])
    np.testing.assert_allclose(found, expit(scores[:40] - scores[40:]), rtol=1e-14)
    with pytest.raises(ValueError, match=r"A and B must have the same number of rows, .* got 3 and 4"):
        model.predict_pair_proba(frame[:3], frame[:4])
    with pytest.raises(ValueError, match="feature names"):
        model.predict_pair_proba(frame[:3], frame[list("dcba")][:3])
    with pytest.raises(NotFittedError):
        RankLogistic().predict_pair_proba(X, X)
    linear = RankLogistic(1e-9).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="The score of row 1 of B overflows"):
        linear.predict_pair_proba([[0.0], [0.0]], [[0.0], [1.7e308]])
    assert not hasattr(RankSVM(), "predict_pair_proba")


# Choice of alpha


@FEW_CANDIDATES
def test_cross_validation_takes_the_best_alpha():
    X, y, qid = data(120, n_queries=12, noise=1.0)
    model = RankLogisticCV([1e-4, 10.0, 1e-2], cv=3, scoring="error", tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.alphas_, [10.0, 1e-2, 1e-4])
    for k, (train, test) in enumerate(QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid)):
        for row, alpha in enumerate(model.alphas_):
            cold = RankLogistic(alpha, tol=1e-9).fit(X[train], y[train], qid=qid[train])
            error = 1 - cold.score(X[test], y[test], qid=qid[test])
            assert model.cv_errors_[row, k] == pytest.approx(error, abs=1e-3)
    assert model.alpha_ == model.alphas_[np.argmin(model.cv_errors_.mean(axis=1))]
    cold = RankLogistic(model.alpha_, tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, cold.coef_, rtol=0, atol=2 * np.sqrt(1e-9 / model.alpha_))
    np.testing.assert_allclose(model.predict_pair_proba(X, X[0]), cold.predict_pair_proba(X, X[0]), atol=1e-2)
    assert "alpha" not in model.get_params()
    assert "loss" not in model.get_params()


# Copies, files and exports


@FEW_CANDIDATES
@pytest.mark.parametrize(
    "model", [RankLogistic(0.1), RankLogistic(0.1, kernel="rbf"), RankLogisticCV([1.0, 0.1], cv=3)]
)
def test_clone_pickle_and_file_keep_every_bit(model, tmp_path):
    X, y, qid = data()
    fitted = clone(model).fit(X, y, qid=qid)
    assert fitted.get_params() == model.get_params()
    save_model(fitted, tmp_path / "model.json")
    for other in (
        clone(model).fit(X, y, qid=qid),
        pickle.loads(pickle.dumps(fitted)),
        load_model(tmp_path / "model.json"),
    ):
        assert type(other) is type(model)
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(other.predict_pair_proba(X, X[0]), fitted.predict_pair_proba(X, X[0]))
        assert (other.objective_, other.gap_, other.formula) == (
            fitted.objective_,
            fitted.gap_,
            fitted.formula,
        )


@pytest.mark.parametrize("format", ["svmrank", "solr", "elasticsearch", "c", "sql"])
def test_exports_are_those_of_a_ranking_svm_with_the_same_weights(format, tmp_path):
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    ours, other = (make_pipeline(StandardScaler(), kind()).fit(frame, y) for kind in (RankLogistic, RankSVM))
    other[-1].coef_ = ours[-1].coef_
    texts = [export_model(model, None, format) for model in (ours, other)]
    assert json.dumps(texts[0], default=str).replace("RankLogistic", "RankSVM") == json.dumps(
        texts[1], default=str
    )


# The shell, Dask and errors


@FEW_CANDIDATES
def test_the_shell_tunes_and_exports_pairs_as_python_does(tmp_path, capsys):
    X, y, qid = data(120, n_queries=10)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order].astype(float), qid[order] + 1
    rows, path = tmp_path / "rows.txt", str(tmp_path / "model.json")
    dump_svmlight(X, y, rows, qid=qid)
    options = ["--method", "rank-logistic", "--alphas", "1,0.1,0.01", "--folds", "3", "-o", path]
    tuned = run(capsys, "tune", rows, *options)
    search = RankLogisticCV([1, 0.1, 0.01], cv=3).fit(X, y, qid=qid)
    assert (tuned["best_alpha"], tuned["errors"]) == (search.alpha_, search.cv_errors_.tolist())
    model = load_model(path)
    np.testing.assert_array_equal(model.coef_, search.coef_)
    pair = ["export", path, "-o", str(tmp_path / "pair.sql"), "--tables", "a,b", "-q", "--format"]
    assert main([*pair, "sql"]) == 0
    assert (tmp_path / "pair.sql").read_text() == export_model(model, None, "sql", pair=("a", "b"))
    assert main([*pair, "c"]) == 2
    assert "--tables is for --format sql" in capsys.readouterr().err


@pytest.mark.parametrize("qid", [None, np.arange(200) // 10, np.arange(200) // 30])
def test_rows_on_dask_have_the_same_solution(qid):
    da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")
    X, y, _ = data(200)
    model = RankLogistic(1e-2, tol=1e-11)
    here = clone(model).fit(X, y, qid=qid)
    there = clone(model).fit(da.from_array(X, chunks=(50, 4)), y, qid=qid)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-7)
    assert there.gap_ <= 1e-11
    rows = da.from_array(X, chunks=(60, 4))
    np.testing.assert_allclose(
        there.predict_pair_proba(rows, X[:1]), here.predict_pair_proba(X, X[0]), atol=1e-6
    )


@pytest.mark.parametrize("model", [RankLogistic(solver="bundle"), RankLogisticCV([1.0], solver="bundle")])
def test_solvers_of_other_losses_are_refused(model):
    X, y, qid = data()
    with pytest.raises(ValueError, match="solver='bundle' does not solve loss='logistic'; use 'newton'"):
        clone(model).fit(X, y, qid=qid)


# Exports with probabilities


def in_sqlite(expression, X, names):
    with sqlite3.connect(":memory:") as database:
        columns = ", ".join(f'"{name}" REAL' for name in names)
        database.execute(f"CREATE TABLE rows (number INTEGER, {columns})")
        places = ", ".join("?" * (len(names) + 1))
        database.executemany(
            f"INSERT INTO rows VALUES ({places})", [[k, *row] for k, row in enumerate(X.tolist())]
        )
        found = database.execute(
            f"SELECT {expression} FROM rows first, rows second ORDER BY first.number, second.number"
        ).fetchall()
    database.close()
    return np.array(found).reshape(len(X), len(X))


@pytest.mark.parametrize("scaler", [None, StandardScaler(), MinMaxScaler()])
@pytest.mark.parametrize("boldness", [1.0, 1e4])
def test_sql_gives_the_probability_of_a_pair(scaler, boldness):
    X, y, _ = data(40)
    names = ["a", "b b", "C", 'the "d"']
    model = make_pipeline(scaler, RankLogistic()).fit(X, y)
    model[-1].coef_ *= boldness
    expression = export_model(model, None, "sql", feature_names=names, pair=("first", "second"))
    found = in_sqlite(expression, X, [name.replace('"', '""') for name in names])
    rows = X if scaler is None else model[0].transform(X)
    for k in range(len(X)):
        np.testing.assert_allclose(
            found[k], model[-1].predict_pair_proba(rows[[k]], rows), rtol=1e-9, atol=1e-15
        )
        assert found[k, k] == 0.5
    with pytest.raises(ValueError, match=r"pair must be two names, such as \('a', 'b'\); got 'ab'"):
        export_model(model, None, "sql", pair="ab")
    with pytest.raises(
        ValueError, match=r"pair needs a linear model with probabilities, RankLogistic; got RankSVM\(\)"
    ):
        export_model(RankSVM().fit(X, y), None, "sql", pair=("a", "b"))
    for quote in "`[":
        other = export_model(model, None, "sql", feature_names=names, pair=("first", "second"), quote=quote)
        assert other.startswith("1.0 / (1.0 + EXP(-GREATEST(-700.0, LEAST(700.0, ")
        assert f"{quote}first" in other


def test_onnx_gives_log_odds():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, y, qid = data()
    model = RankLogistic(1e-3).fit(X[:60], y[:60], qid=qid[:60])
    model.calibrate(X[60:], y[60:], qid=qid[60:])
    content = export_model(model, None, "onnx", dtype="float64")
    (scores,) = runtime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(
        ["scores"], {"X": X}
    )
    np.testing.assert_allclose(
        expit(scores[:40] - scores[40:]), model.predict_pair_proba(X[:40], X[40:]), rtol=1e-10
    )


def test_c_gives_log_odds(tmp_path):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not there")
    X, y, qid = data()
    model = RankLogistic(1e-3).fit(X[:60], y[:60], qid=qid[:60]).calibrate(X[60:], y[60:], qid=qid[60:])
    export_model(model, tmp_path / "model.c", "c")
    subprocess.run([compiler, "-shared", "-fPIC", "model.c", "-o", "model.so"], cwd=tmp_path, check=True)
    function = ctypes.CDLL(str(tmp_path / "model.so")).rankwise_model
    function.restype, function.argtypes = ctypes.c_double, [ctypes.POINTER(ctypes.c_double)]
    scores = np.array([function((ctypes.c_double * 4)(*row)) for row in X.tolist()])
    np.testing.assert_allclose(
        expit(scores[:40] - scores[40:]), model.predict_pair_proba(X[:40], X[40:]), rtol=1e-10
    )
