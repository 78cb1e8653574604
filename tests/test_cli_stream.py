"""`rankwise train --stream`: the same model from rows that are in a file, not in memory."""

import numpy as np
import pytest

from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.io.model_file import load_model

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    X, y, qid = make_ranking(300, 4, n_queries=12, n_levels=4, noise=0.8, random_state=0)
    path = tmp_path_factory.mktemp("stream")
    frame = pd.DataFrame(X * [1, 10, 100, 1000], columns=list("abcd")).assign(
        grade=y, query=[f"q{q}" for q in qid]
    )
    frame[:130].to_csv(path / "first.csv", index=False)
    frame[130:].to_csv(path / "second.csv", index=False)
    frame.assign(b=frame.b + 1e9).to_csv(path / "far.csv", index=False)
    frame.assign(c=frame.c * 1e40).to_csv(path / "huge.csv", index=False)
    frame[:0].to_csv(path / "empty.csv", index=False)
    return path


def train(folder, output, *options, data=("first.csv", "second.csv")):
    files = [str(folder / name) for name in data]
    columns = ["--label", "grade", "--qid", "query"]
    return main(["train", *files, "-o", str(folder / output), *columns, *options])


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("rankwise.cli.stream.CHUNK_ROWS", 50)


@pytest.mark.parametrize("method", ["rank-svm", "rank-logistic", "rank-rls"])
@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
@pytest.mark.parametrize(("kind", "digits"), [("float64", 1e-9), ("float32", 1e-5)])
def test_the_model_is_that_of_rows_in_memory(folder, method, scale, kind, digits):
    options = ["--method", method, "--scale", scale, "--tol", "1e-9", "-q"]
    assert train(folder, "memory.json", *options) == 0
    assert train(folder, "stream.json", *options, "--stream", kind) == 0
    in_memory, streamed = (load_model(folder / name) for name in ("memory.json", "stream.json"))
    rows = pd.read_csv(folder / "first.csv")[list("abcd")].to_numpy()
    expected, found = in_memory.predict(rows), streamed.predict(rows)
    np.testing.assert_allclose(
        found - found.mean(), expected - expected.mean(), atol=digits * np.ptp(expected)
    )


def test_no_file_is_left(folder):
    before = {path.name for path in folder.iterdir()}
    assert train(folder, "kept.json", "--stream", "-q") == 0
    assert {path.name for path in folder.iterdir()} - before == {"kept.json"}


def test_columns_that_lose_their_order_are_named(folder, capsys):
    assert train(folder, "far.json", "--stream", data=["far.csv"]) == 0
    assert "differ by too little in 'b' for the digits of float32" in capsys.readouterr().err
    assert train(folder, "far.json", "--stream", "float64", data=["far.csv"]) == 0
    assert "digits" not in capsys.readouterr().err


def test_numbers_that_do_not_fit_are_refused(folder, capsys):
    assert train(folder, "huge.json", "--stream", data=["huge.csv"]) == 1
    assert "Column 'c' is too large for float32." in capsys.readouterr().err
    assert not (folder / "huge.json").exists()


def test_a_table_without_rows_is_refused(folder, capsys):
    assert train(folder, "empty.json", "--stream", data=["empty.csv"]) == 1
    assert "The data has no rows." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tune"], "do not go with --stream"),
        (["--kernel", "rbf"], "do not go with --stream"),
        (["--method", "hull"], "does not go with --stream"),
        (["--dask", "threads"], "does not go with --dask"),
    ],
)
def test_what_needs_all_rows_in_memory_is_refused(folder, capsys, options, message):
    assert train(folder, "refused.json", "--stream", "float32", *options) == 2
    assert message in capsys.readouterr().err


def test_svmlight_files_are_sent_elsewhere(tmp_path, capsys):
    (tmp_path / "rows.txt").write_text("1 1:1\n0 1:2\n")
    assert main(["train", str(tmp_path / "rows.txt"), "-o", str(tmp_path / "m.json"), "--stream"]) == 2
    assert "--dask threads" in capsys.readouterr().err
