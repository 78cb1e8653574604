"""Files and blocks larger than memory: what is read, how often, and how much of it at a time."""

import os
import threading
import weakref
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from rankwise import RankRLS, RankSVM
from rankwise.distributed import from_files, gathered

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")

generator = np.random.default_rng(11)
DENSE = np.round(generator.standard_normal((90, 6)), 3) * (generator.random((90, 6)) < 0.6)
Y = np.round(DENSE @ generator.standard_normal(6) + generator.standard_normal(90))
QID = np.arange(90) // 15
BORDERS = (0, 20, 65, 90)


@pytest.fixture
def text_files(tmp_path):
    for k, (begin, end) in enumerate(pairwise(BORDERS)):
        part = slice(begin, end)
        dump_svmlight_file(
            sp.csr_matrix(DENSE[part]),
            Y[part],
            str(tmp_path / f"part-{k}.txt"),
            zero_based=False,
            query_id=QID[part],
        )
    return tmp_path


@pytest.mark.parametrize("cached", [False, True])
def test_text_files_are_the_matrix_they_hold(text_files, tmp_path, cached):
    options = {"cache": tmp_path / "copies"} if cached else {}
    for _ in range(2):  # the second time from the copies
        data = from_files(text_files / "part-*.txt", **options)
        np.testing.assert_array_equal(data.y, Y)
        np.testing.assert_array_equal(data.qid, QID)
        model = RankSVM(1e-2, loss="squared_hinge", tol=1e-10).fit(data.X, data.y, qid=data.qid)
        here = RankSVM(1e-2, loss="squared_hinge", tol=1e-10).fit(DENSE, Y, qid=QID)
        np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-8)
        np.testing.assert_allclose(gathered(model.predict(data.X)), here.predict(DENSE), atol=1e-8)
    assert (tmp_path / "copies").exists() == cached


def test_a_copy_is_made_again_when_its_file_has_changed(text_files, tmp_path):
    assert from_files(text_files / "part-0.txt", cache=tmp_path / "copies").y[0] == Y[0]
    path = text_files / "part-0.txt"
    path.write_text("77 qid:1 1:2\n" + path.read_text())
    os.utime(path, ns=(1, 1))
    assert from_files(path, cache=tmp_path / "copies").y[0] == 77


def test_widths_of_text_files_may_differ(tmp_path):
    (tmp_path / "a.txt").write_text("1 1:1\n2 1:3\n")
    (tmp_path / "b.txt").write_text("3 4:1\n")
    data = from_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert data.qid is None
    assert RankRLS().fit(data.X, data.y).n_features_in_ == 4
    assert (
        RankRLS(solver="cg").fit(from_files(tmp_path / "*.txt", n_features=7).X, data.y).n_features_in_ == 7
    )


@pytest.mark.parametrize("cached", [False, True])
def test_parquet_files_are_the_table_they_hold(tmp_path, cached):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"x{k}" for k in range(6)]
    table = pandas.DataFrame(DENSE, columns=names).assign(grade=Y, query=[f"q{q}" for q in QID])
    for k, (begin, end) in enumerate(pairwise(BORDERS)):
        table.iloc[begin:end].to_parquet(tmp_path / f"{k}.parquet")
    options = {"cache": tmp_path / "copies"} if cached else {}
    data = from_files(tmp_path / "*.parquet", label="grade", qid="query", **options)
    model = RankRLS(1e-2).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(model.coef_, RankRLS(1e-2).fit(DENSE, Y, qid=QID).coef_, atol=1e-8)
    assert model.feature_names_in_.tolist() == names


def test_labels_beyond_float_precision_raise_an_error_or_warn(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    large = 2**53
    for name, labels in {"both": [large + 1, large], "first": [large + 1], "second": [large]}.items():
        frame = pandas.DataFrame({"label": pandas.array(labels, dtype="Int64"), "x": 1.0})
        frame.to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match=r"both\.parquet: column 'label' has distinct integers above 2\^53"):
        from_files(tmp_path / "both.parquet")
    with pytest.warns(UserWarning, match=r"distinct integers above 2\^53 may be equal"):
        from_files([tmp_path / "first.parquet", tmp_path / "second.parquet"])


def test_invalid_files_raise_an_error(text_files, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file has the name or pattern '.*nothing-\*'"):
        from_files(tmp_path / "nothing-*")
    (text_files / "part-9.txt").write_text("1 1:1\n")
    with pytest.raises(ValueError, match=r"part-9\.txt has no queries, but other files do"):
        from_files(text_files / "part-*.txt")
    (tmp_path / "table.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match="got both or none"):
        from_files([tmp_path / "table.parquet", text_files / "part-0.txt"])


@pytest.fixture
def tables(tmp_path):
    """Two tables of one data set; the columns of the second are in another order."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"x{k}" for k in range(6)]
    table = pandas.DataFrame(DENSE, columns=names).assign(grade=Y, query=QID)
    return table.iloc[:30], table.iloc[30:][table.columns[::-1]]


def write_tables(tables, folder, suffix="parquet"):
    for number, table in enumerate(tables):
        path = folder / f"{number}.{suffix}"
        table.to_parquet(path) if suffix == "parquet" else table.to_csv(path, index=False)
    return folder / f"*.{suffix}"


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_columns_of_tables_are_joined_by_name(tables, tmp_path, suffix):
    data = from_files(write_tables(tables, tmp_path, suffix), label="grade", qid="query")
    model = RankRLS(1e-2).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(model.coef_, RankRLS(1e-2).fit(DENSE, Y, qid=QID).coef_, atol=1e-8)


def test_tables_with_other_columns_are_refused_by_name(tables, tmp_path):
    first, second = tables
    paths = write_tables([first, second.rename(columns={"x2": "y2"})], tmp_path)
    with pytest.raises(ValueError, match=r"1\.parquet has the column 'y2', which .*0\.parquet has not"):
        from_files(paths, label="grade", qid="query")
    paths = write_tables([first, second.drop(columns="x2")], tmp_path)
    with pytest.raises(ValueError, match=r"1\.parquet has no column 'x2'"):
        from_files(paths, label="grade", qid="query")


def test_a_column_of_queries_that_is_named_must_exist(tables, tmp_path):
    paths = write_tables(tables, tmp_path)
    with pytest.raises(ValueError, match=r"[01]\.parquet has no column 'nope'"):
        from_files(paths, label="grade", qid="nope")
    first, second = tables
    paths = write_tables([first.rename(columns={"query": "qid"}), second], tmp_path)
    with pytest.raises(ValueError, match="Some of the tables have a column 'qid'"):
        from_files(paths, label="grade")


def test_queries_are_equal_across_types_of_parts(tables, tmp_path):
    first, second = tables
    paths = write_tables([first.assign(query=7), second.assign(query=7.0)], tmp_path)
    assert np.unique(from_files(paths, label="grade", qid="query").qid).tolist() == [7]
    paths = write_tables([first.assign(query=7), second.assign(query="7")], tmp_path)
    assert np.unique(from_files(paths, label="grade", qid="query").qid).tolist() == [7]


def test_frames_on_dask_are_used_by_the_names_of_their_columns(tables):
    from dask import delayed

    columns = [f"x{k}" for k in range(6)]
    first, second = tables[0][columns], tables[1][columns]
    model = RankRLS(1e-2).fit([delayed(first), delayed(second)], Y)
    assert model.feature_names_in_.tolist() == columns
    with pytest.raises(
        ValueError, match="Partition 1 of X must have the columns of partition 0 in the same order"
    ):
        RankRLS(1e-2).fit([delayed(first), delayed(second[columns[::-1]])], Y)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict([delayed(first[columns[::-1]])]).compute()
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*z.*now missing.*x1"):
        model.predict([delayed(first.rename(columns={"x1": "z"}))]).compute()


class Loader:
    """Loads blocks, and counts those that are in memory at the same time."""

    def __init__(self):
        self.lock, self.alive, self.most, self.loads = threading.Lock(), 0, 0, 0

    def __call__(self, k):
        rows = np.random.default_rng(k).standard_normal((50, 4))
        with self.lock:
            self.alive += 1
            self.loads += 1
            self.most = max(self.most, self.alive)
        weakref.finalize(rows, self._freed)
        return rows

    def _freed(self):
        self.alive -= 1


def test_threads_hold_a_few_blocks_at_a_time():
    loader, n_blocks = Loader(), 40
    blocks = [dask.delayed(loader, pure=False)(k) for k in range(n_blocks)]
    y = np.concatenate([np.random.default_rng(k).standard_normal((50, 4))[:, 0] for k in range(n_blocks)])
    with dask.config.set(num_workers=2):
        model = RankSVM(1e-2).fit(blocks, np.round(2 * y))
    assert loader.loads >= 3 * n_blocks
    assert loader.most <= 8
    assert loader.alive == 0
    assert model.gap_ <= 1e-3


def test_a_memory_map_is_used_in_place(tmp_path):
    np.save(tmp_path / "rows.npy", DENSE)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    blocks = [dask.delayed(np.load)(tmp_path / "rows.npy", mmap_mode="r"), dask.delayed(rows[:10])]
    model = RankRLS(1e-2, solver="cg", tol=1e-10).fit(blocks, np.concatenate([Y, Y[:10]]))
    both = np.concatenate([DENSE, DENSE[:10]])
    np.testing.assert_allclose(
        model.coef_, RankRLS(1e-2).fit(both, np.concatenate([Y, Y[:10]])).coef_, atol=1e-8
    )
