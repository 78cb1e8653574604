"""Labels and queries of files that stay on the workers, and that are arrays for code that takes arrays."""

import json
import logging

import numpy as np
import pytest

from rankwise import RankLogistic, RankRLS, RankSVM
from rankwise.cli.main import main
from rankwise.datasets import dump_svmlight, make_ranking
from rankwise.distributed import from_files, whole_queries
from rankwise.distributed.part_columns import PartColumn
from rankwise.metrics import ranking_error

distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")

N_ROWS = 480
X, Y = make_ranking(N_ROWS, 4, n_levels=4, noise=1.0, random_state=0)
# Four files of 120 rows; the numbers of the queries of a file are not in one range.
QID = np.random.default_rng(0).permutation(24)[np.arange(N_ROWS) // 20]
MODELS = {
    "logistic": RankLogistic(1e-2, tol=1e-10),
    "squares": RankRLS(1e-2),
}


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as started:
        yield started


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture
def no_driver(monkeypatch):
    """Whole queries for few rows, and an error if a column is brought to the driver."""
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))

    def refuse(*args, **kwargs):
        raise AssertionError("a column was brought to the driver")

    monkeypatch.setattr(PartColumn, "__array__", refuse)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for k in range(4):
        rows = slice(120 * k, 120 * (k + 1))
        dump_svmlight(X[rows], Y[rows], folder / f"part-{k}.txt", qid=QID[rows])
    dump_svmlight(X, Y, folder / "all.txt", qid=QID)
    return folder


def write_tables(folder, qid, y=Y):
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "c", "d"]
    frame = pandas.DataFrame(X, columns=names).assign(label=y, qid=qid)
    for k in range(4):
        frame.iloc[120 * k : 120 * (k + 1)].to_csv(folder / f"part-{k}.csv", index=False)
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_the_solution_is_that_of_memory(client, no_driver, folder, name):
    data = from_files(folder / "part-*.txt")
    there = MODELS[name].fit(data.X, data.y, qid=data.qid)
    coef, n_pairs = there.coef_, there.n_pairs_
    here = MODELS[name].fit(X, Y, qid=QID)
    np.testing.assert_allclose(coef, here.coef_, rtol=1e-6, atol=1e-8)
    assert n_pairs == here.n_pairs_


def test_columns_are_arrays_if_asked_for(client, folder):
    data = from_files(folder / "part-*.txt")
    assert isinstance(data.y, PartColumn)
    assert isinstance(data.qid, PartColumn)
    np.testing.assert_array_equal(data.y, Y)
    np.testing.assert_array_equal(np.asarray(data.qid), QID)
    assert (len(data.y), data.y.shape, data.y.ndim, data.qid.dtype) == (N_ROWS, (N_ROWS,), 1, np.int64)
    assert (data.y[3], data.y[-2:].tolist(), data.y.max()) == (Y[3], Y[-2:].tolist(), Y.max())
    assert np.unique(data.qid).tolist() == sorted(set(data.qid)) == list(range(24))
    assert ((data.y == Y) & np.equal(Y, data.y) & (data.y + 1 > data.y)).all()
    assert np.array(data.y, dtype=np.float32).dtype == np.float32
    assert repr(data.y) == "<PartColumn of 480 entries in 4 parts, float64>"
    with pytest.raises(AttributeError, match="no attribute 'columns'"):
        _ = data.y.columns


def test_measures_and_folds_take_such_columns(client, folder):
    data = from_files(folder / "part-*.txt")
    model = RankRLS(1e-2).fit(data.X, data.y, qid=data.qid)
    scores = model.predict(data.X)
    error = ranking_error(data.y, scores, data.qid)
    assert error == pytest.approx(ranking_error(Y, scores.compute(), QID))
    assert model.score(data.X, data.y, qid=data.qid) == pytest.approx(1 - error)


def test_one_ranking_and_threads_have_arrays(folder, tmp_path, client):
    dump_svmlight(X, Y, tmp_path / "one.txt")
    data = from_files(tmp_path / "one.txt")
    assert isinstance(data.y, np.ndarray)
    assert data.qid is None
    np.testing.assert_array_equal(data.y, Y)


@pytest.mark.parametrize("words", ["all", "some"])
def test_words_name_queries(client, no_driver, tmp_path, words):
    is_word = (np.arange(N_ROWS) < 240) | (words == "all")
    qid = [f"q {number}" if word else number for number, word in zip(QID, is_word, strict=True)]
    data = from_files(write_tables(tmp_path, qid))
    assert data.qid.dtype == object
    there = RankRLS(1e-2).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(there.coef_, RankRLS(1e-2).fit(X, Y, qid=QID).coef_, rtol=1e-8)


def test_words_and_numbers_are_joined_as_words(client, tmp_path):
    qid = [f"q {number}" if k < 240 else number for k, number in enumerate(QID)]
    assert from_files(write_tables(tmp_path, qid)).qid.tolist() == list(map(str, qid))


def test_queries_that_continue_in_the_next_file_are_brought_to_the_driver(client, monkeypatch, tmp_path):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))
    qid = np.arange(N_ROWS) // 50
    data = from_files(write_tables(tmp_path, qid))
    there = RankRLS(1e-2).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(there.coef_, RankRLS(1e-2).fit(X, Y, qid=qid).coef_, rtol=1e-8)


def test_a_file_without_queries_is_named(client, folder, tmp_path):
    dump_svmlight(X, Y, tmp_path / "one.txt")
    with pytest.raises(ValueError, match=r"one\.txt has no queries, but other files do"):
        from_files([folder / "part-0.txt", tmp_path / "one.txt"], n_features=4)


def test_invalid_labels_are_refused_with_their_file(client, no_driver, folder):
    data = from_files(folder / "part-*.txt")
    data.y.blocks[2] = client.submit(lambda: np.full(120, np.nan))
    with pytest.raises(ValueError, match=r"part-2\.txt: y contains NaN"):
        RankSVM().fit(data.X, data.y, qid=data.qid)


def test_the_driver_warns_once_of_large_labels_that_tie(client, tmp_path):
    with pytest.warns(UserWarning, match="Labels such as") as caught:
        from_files(write_tables(tmp_path, QID, np.where(Y > 1, 2.0**60, Y)))
    # The readers warn on the workers, whose warnings the driver does not see.
    assert sum(warning.filename.endswith("file_parts.py") for warning in caught) == 1


@pytest.mark.parametrize(
    "options", [["--method", "rank-rls"], ["--method", "rank-logistic", "--scale", "standard"]]
)
def test_the_shell_trains_the_model_of_memory(cluster, no_driver, folder, tmp_path, capsys, options):
    found = []
    for files, more in (("all.txt", []), ("part-*.txt", ["--dask", cluster.scheduler_address])):
        model = tmp_path / f"{files[:3]}.json"
        command = ["train", str(folder / files), "-o", str(model), *options, "--alpha", "0.01"]
        assert main([*command, "--tol", "1e-9", *more, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for name in ("rows", "queries", "pairs"):
        assert found[0][name] == found[1][name]
    assert found[0]["objective"] == pytest.approx(found[1]["objective"], rel=1e-8)


@pytest.mark.parametrize("method", ["rank-rls", "rank-svm"])
def test_the_shell_tunes_as_in_memory(cluster, no_driver, folder, capsys, method):
    found = []
    for files, more in (("all.txt", []), ("part-*.txt", ["--dask", cluster.scheduler_address])):
        options = ["--method", method, "--alphas", "1,0.1", "--folds", "2"]
        assert main(["tune", str(folder / files), *options, *more, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["queries"] == found[1]["queries"] == 24
    here, there = (np.array(one["errors"]) for one in found)
    np.testing.assert_allclose(there, here, atol=2e-3 if method == "rank-svm" else 1e-9)
