"""Commands for linear models start without scikit-learn and scipy, and learn and score what estimators do."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RankLogistic, RankRLS, RankSVM
from rankwise.cli.main import main
from rankwise.data.sparse_rows import SparseRows, is_sparse, kept_entries
from rankwise.estimators.linear_rank_svm import LinearRankSVM
from rankwise.io.linear_model_file import load_linear_scorer, save_linear_model
from rankwise.io.model_file import load_model, save_model
from rankwise.io.model_layout import read_layout, write_layout

COMMANDS = """
import sys
from rankwise.cli.main import main
from rankwise.cli.svm_rank import classify, learn

HEAVY = {"sklearn", "scipy", "joblib", "pandas", "dask"}
for data in ("dense.txt", "sparse.txt"):
    for run, *arguments in (
        (learn, "-c", "3", data, "model.dat"),
        (classify, data, "model.dat", "scores.txt"),
        (main, "train", data, "-o", "model.json"),
        (main, "train", data, "-o", "model.json", "--loss", "squared-hinge", "--jobs", "2"),
        (main, "predict", "model.json", data, "-o", "scores.txt"),
        (main, "predict", "model.dat", data, "-o", "scores.txt"),
    ):
        assert run(arguments) == 0, arguments
        found = HEAVY & {name.partition(".")[0] for name in sys.modules}
        assert not found, (arguments, found)
"""

# What scikit-learn's base class does not import itself: searches, kernels, and solvers for other models.
FIRST_FIT = """
import sys
import numpy
import sklearn.base

before = set(sys.modules)
from rankwise import RankSVM

UNNEEDED = ("sklearn.metrics", "sklearn.model_selection", "sklearn.preprocessing", "sklearn.pipeline",
            "sklearn.linear_model", "scipy.optimize", "scipy.stats", "scipy.sparse.linalg", "scipy.spatial",
            "pandas", "matplotlib", "dask", "rich", "rankwise.leave_out", "rankwise.calibration")

def check(step):
    found = [name for name in set(sys.modules) - before if name.startswith(UNNEEDED)]
    assert not found, (step, sorted(found))

check("import")
X = numpy.random.default_rng(0).standard_normal((50, 3))
for loss in ("hinge", "squared_hinge"):
    RankSVM(loss=loss).fit(X, X[:, 0]).predict(X)
    check(loss)
"""


def rows_of(seed, density):
    """Rows in queries of ten, with labels that a linear function nearly gives."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((60, 12)) * (generator.random((60, 12)) < density)
    y = np.round(X @ generator.standard_normal(12) + generator.standard_normal(60))
    return X, y, np.repeat(np.arange(6), 10)


def light(X):
    """Return a CSR matrix as `SparseRows`."""
    return SparseRows((X.data, X.indices, X.indptr), X.shape)


def write_rows(path, X, y, qid):
    lines = []
    for row, label, query in zip(X, y, qid, strict=True):
        entries = " ".join(f"{k + 1}:{float(row[k])!r}" for k in np.flatnonzero(row).tolist())
        lines.append(f"{label} qid:{query} {entries}\n")
    path.write_text("".join(lines))


def test_commands_for_linear_models_import_neither_scikit_learn_nor_scipy(tmp_path):
    for name, density in (("dense.txt", 1.0), ("sparse.txt", 0.2)):
        write_rows(tmp_path / name, *rows_of(0, density))
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_first_linear_fit_imports_little_more_than_the_base_class_of_scikit_learn():
    done = subprocess.run([sys.executable, "-c", FIRST_FIT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_parameters_are_those_of_the_estimator():
    assert LinearRankSVM().get_params() == RankSVM().get_params()
    assert list(LinearRankSVM().get_params()) == list(RankSVM().get_params())


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("density", [1.0, 0.3])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), average=st.sampled_from(["queries", "pairs"]), grouped=st.booleans())
def test_the_fit_is_that_of_the_estimator_to_the_bit(loss, density, seed, average, grouped):
    X, y, qid = rows_of(seed, density)
    ours, theirs = (X, X) if density == 1.0 else (light(sp.csr_matrix(X)), sp.csr_matrix(X))
    options = {"loss": loss, "average": average, "pair_weight": "difference" if grouped else None}
    model = LinearRankSVM(0.01, **options).fit(ours, y, qid=qid if grouped else None)
    expected = RankSVM(0.01, **options).fit(theirs, y, qid=qid if grouped else None)
    assert vars(model).keys() == vars(expected).keys()
    assert model.coef_.tolist() == expected.coef_.tolist()
    assert (model.objective_, model.gap_) == (expected.objective_, expected.gap_)
    assert (model.n_iter_, model.n_pairs_) == (expected.n_iter_, expected.n_pairs_)
    assert model.predict(ours).tolist() == expected.predict(theirs).tolist()


def test_a_file_of_a_command_is_a_file_of_the_estimator(tmp_path):
    X, y, qid = rows_of(1, 1.0)
    model = LinearRankSVM(0.01).fit(X, y, qid=qid)
    save_linear_model(model, tmp_path / "model.json", metadata={"rows": 60})
    loaded = load_model(tmp_path / "model.json")
    assert type(loaded) is RankSVM
    assert loaded.get_params() == RankSVM(0.01).get_params()
    assert loaded.coef_.tolist() == model.coef_.tolist()
    assert vars(loaded).keys() == vars(RankSVM(0.01).fit(X, y, qid=qid)).keys()


@pytest.mark.parametrize(
    "model", [RankSVM(), RankLogistic(), RankRLS(), RankRLS(n_jobs=2)], ids=lambda model: type(model).__name__
)
def test_linear_models_score_alike_with_and_without_scikit_learn(model, tmp_path):
    X, y, qid = rows_of(2, 0.3)
    save_model(model.fit(X, y, qid=qid), tmp_path / "model.json")
    scorer = load_linear_scorer(tmp_path / "model.json")
    assert scorer.n_jobs == model.n_jobs
    csr = sp.csr_matrix(X)
    assert scorer.predict(X).tolist() == model.predict(X).tolist()
    assert scorer.predict(light(csr)).tolist() == model.predict(csr).tolist()


@pytest.mark.parametrize(
    "model", [RankSVM(kernel="rbf"), make_pipeline(StandardScaler(), RankSVM())], ids=["kernel", "pipeline"]
)
def test_what_is_not_linear_is_left_to_load_model(model, tmp_path):
    X, y, _ = rows_of(3, 1.0)
    save_model(model.fit(X, y), tmp_path / "model.json")
    assert load_linear_scorer(tmp_path / "model.json") is None


def test_weights_that_do_not_fit_are_refused(tmp_path, capsys):
    X, y, _ = rows_of(4, 1.0)
    path = tmp_path / "model.json"
    save_model(RankSVM().fit(X, y), path)
    with open(path, "rb") as file:
        header, arrays = read_layout(file, with_arrays=True)
    header["model"]["attributes"]["n_features_in_"] = 11
    del header["arrays"]
    with open(path, "wb") as file:
        write_layout(file, header, arrays)
    write_rows(tmp_path / "rows.txt", X, y, np.zeros(60, int))
    assert main(["predict", str(path), str(tmp_path / "rows.txt")]) == 1
    assert "its coef_ is invalid or inconsistent with the rest of the model" in capsys.readouterr().err


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_rows_are_refused_in_the_words_of_the_estimator(bad, density):
    X, y, _ = rows_of(5, density)
    X[3, np.flatnonzero(X[3])[0]] = bad
    ours, theirs = (X, X) if density == 1.0 else (light(sp.csr_matrix(X)), sp.csr_matrix(X))
    with pytest.raises(ValueError, match="Input X contains") as refusal:
        LinearRankSVM().fit(ours, y)
    with pytest.raises(ValueError, match="Input X contains") as expected:
        RankSVM().fit(theirs, y)
    assert str(refusal.value) == str(expected.value)


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(0, 8), n_columns=st.integers(0, 5))
def test_sparse_rows_are_those_of_scipy(seed, n_rows, n_columns):
    generator = np.random.default_rng(seed)
    dense = generator.integers(-2, 3, (n_rows, n_columns)) * (generator.random((n_rows, n_columns)) < 0.7)
    matrix = sp.csr_matrix(dense.astype(np.float64))
    X = light(matrix)
    chosen = generator.integers(0, n_rows, 5) if n_rows else np.zeros(0, np.int64)
    kept = generator.random(X.nnz) < 0.5
    assert is_sparse(X)
    assert X.nnz == matrix.nnz
    np.testing.assert_array_equal(X.toarray(), dense)
    np.testing.assert_array_equal(X.to_scipy().toarray(), dense)
    np.testing.assert_array_equal(X[chosen].toarray(), dense[chosen])
    np.testing.assert_array_equal(X[1:3].toarray(), dense[1:3])
    np.testing.assert_array_equal(kept_entries(X, kept).toarray(), kept_entries(matrix, kept).toarray())
    assert kept_entries(X, kept).data.tolist() == matrix.data[kept].tolist()
