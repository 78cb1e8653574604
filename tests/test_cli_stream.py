"""`rankwise train --stream`: the same model from rows that are in a file, not in memory."""

import errno
import itertools
import json
import signal
from argparse import Namespace

import numpy as np
import pytest

from rankwise.cli import stream, training
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
    assert "float32 is too coarse for the differences of rows in 'b'" in capsys.readouterr().err
    assert train(folder, "far.json", "--stream", "float64", data=["far.csv"]) == 0
    assert "digits" not in capsys.readouterr().err


def test_numbers_that_do_not_fit_are_refused(folder, capsys):
    assert train(folder, "huge.json", "--stream", data=["huge.csv"]) == 1
    assert "Column 'c' overflows float32." in capsys.readouterr().err
    assert not (folder / "huge.json").exists()


def test_a_table_without_rows_is_refused(folder, capsys):
    assert train(folder, "empty.json", "--stream", data=["empty.csv"]) == 1
    assert "The data has no rows." in capsys.readouterr().err


@pytest.mark.parametrize("stream_options", [["--stream"], []])
def test_tables_of_other_columns_are_refused(folder, capsys, stream_options):
    frame = pd.read_csv(folder / "second.csv")
    frame.drop(columns="c").to_csv(folder / "less.csv", index=False)
    frame.assign(e=0.0).to_csv(folder / "more.csv", index=False)
    for other, found in (("less.csv", "lacks 'c'"), ("more.csv", "also has 'e'")):
        assert train(folder, "never.json", *stream_options, data=["first.csv", other]) == 1
        assert f"{other} must have the columns of first.csv; it {found}." in capsys.readouterr().err.replace(
            f"{folder}/", ""
        )


@pytest.mark.parametrize("stream_options", [["--stream"], []])
def test_tables_are_joined_by_the_names_of_their_columns(folder, stream_options):
    frame = pd.read_csv(folder / "second.csv")
    frame[frame.columns[::-1]].to_csv(folder / "turned.csv", index=False)
    assert train(folder, "turned.json", *stream_options, data=["first.csv", "turned.csv"]) == 0
    assert train(folder, "plain.json", *stream_options, data=["first.csv", "second.csv"]) == 0
    turned, plain = (load_model(folder / name) for name in ("turned.json", "plain.json"))
    np.testing.assert_allclose(turned.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("stream_options", [["--stream"], []])
def test_damaged_parquet_is_named(folder, capsys, stream_options):
    pytest.importorskip("pyarrow")
    pd.read_csv(folder / "first.csv").to_parquet(folder / "damaged.parquet")
    content = (folder / "damaged.parquet").read_bytes()
    for damaged in (content[: len(content) // 2], content[:4] + bytes(2000) + content[2004:]):
        (folder / "damaged.parquet").write_bytes(damaged)
        assert train(folder, "never.json", *stream_options, data=["damaged.parquet"]) == 1
        assert f"{folder / 'damaged.parquet'} is not a readable table: " in capsys.readouterr().err
    assert train(folder, "never.json", *stream_options, data=["missing.parquet"]) == 1
    assert f"{str(folder / 'missing.parquet')!r}: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tune"], "cannot be used with --stream"),
        (["--kernel", "rbf"], "cannot be used with --stream"),
        (["--method", "hull"], "cannot be used with --stream"),
        (["--dask", "threads"], "cannot be used with --dask"),
    ],
)
def test_what_needs_all_rows_in_memory_is_refused(folder, capsys, options, message):
    assert train(folder, "refused.json", "--stream", "float32", *options) == 2
    assert message in capsys.readouterr().err


def test_svmlight_files_are_sent_elsewhere(tmp_path, capsys):
    (tmp_path / "rows.txt").write_text("1 1:1\n0 1:2\n")
    assert main(["train", str(tmp_path / "rows.txt"), "-o", str(tmp_path / "m.json"), "--stream"]) == 2
    assert "--dask threads" in capsys.readouterr().err


def test_an_interrupted_training_resumes(folder, capsys, monkeypatch):
    options = ["--stream", "--alpha", "1e-4", "--tol", "1e-6", "--json"]
    assert train(folder, "whole.json", *options) == 0
    whole = json.loads(capsys.readouterr().out)
    hear = training.Watch.__call__

    def hear_and_raise(self, state):
        hear(self, state)
        if state.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(training.Watch, "__call__", hear_and_raise)
        assert train(folder, "part.json", *options) == 130
    assert "part.json.checkpoint has iteration 3" in capsys.readouterr().err
    other = [*options[:-1], "--json", "--resume"]
    assert train(folder, "part.json", *other, data=["first.csv"]) == 1
    assert "is a checkpoint of other data or settings" in capsys.readouterr().err
    assert train(folder, "part.json", *other) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert resumed["resumed"]
    assert resumed["iterations"] > 3
    assert resumed["objective"] == pytest.approx(whole["objective"], abs=2e-6)
    assert {path.name for path in folder.glob("*part.json*")} == {"part.json"}


def test_an_interruption_while_rows_are_read_leaves_nothing(folder, capsys, monkeypatch):
    before = {path.name for path in folder.iterdir()}

    def interrupt(self, X):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("rankwise.cli.stream._Digits.kept", interrupt)
    assert train(folder, "never.json", "--stream") == 130
    assert "Interrupted." in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("place", "error", "where"),
    [
        ("rankwise.cli.stream.FileColumn.add", OSError(errno.ENOSPC, "full"), "on the disk"),
        ("rankwise.cli.training.learn", MemoryError("no array"), "on the disk or in memory"),
    ],
)
def test_a_full_disk_is_named_and_nothing_is_left(folder, capsys, monkeypatch, place, error, where):
    before = {path.name for path in folder.iterdir()}

    def fail(*_arguments):
        raise error

    monkeypatch.setattr(place, fail)
    assert train(folder, "never.json", "--stream") == 1
    told = capsys.readouterr().err
    assert f"There is no space {where}: --stream keeps the features" in told
    assert f"files in {str(folder)!r}, which has " in told
    assert {path.name for path in folder.iterdir()} == before


class Bars:
    """A progress bar that keeps what it is to show."""

    def __init__(self):
        self.shown = []

    def show(self, share, text):
        self.shown.append((share, text))


def test_the_remaining_time_is_printed_if_the_number_of_rows_is_known(folder, monkeypatch):
    pytest.importorskip("pyarrow")
    pd.read_csv(folder / "first.csv").to_parquet(folder / "first.parquet")
    chunks = [Namespace(y=np.zeros(50)), Namespace(y=np.zeros(50)), Namespace(y=np.zeros(30))]
    for name, shares, texts in (
        ("first.parquet", [5 / 13, 10 / 13, 1], ["8 seconds", "3 seconds", "0 seconds"]),
        ("first.csv", [None] * 3, None),
    ):
        monkeypatch.setattr(stream, "perf_counter", itertools.count(0, 5).__next__)
        bars = Bars()
        total = stream._rows_to_come(Namespace(data=[str(folder / name)]))
        assert list(stream._with_progress(iter(chunks), total, bars)) == chunks
        assert [share for share, _ in bars.shown] == shares
        for (_, text), rows, left in zip(bars.shown, (50, 100, 130), texts or [None] * 3, strict=True):
            assert text == f"{rows} rows read" + ("" if left is None else f", about {left} left")


def test_words_and_integers_are_the_queries_they_would_be_at_once(tmp_path):
    pieces = [np.array([3, 3, -4]), np.array(["3", "b", "03"], dtype=object), np.array([5, 3])]
    pieces.append(np.array(["b", str(2**63), "c"], dtype=object))
    with open(tmp_path / "numbers", "w+b") as file:
        queries = stream.Queries(file)
        for piece in pieces:
            queries.add(piece)
        found = queries.joined()
    words = [str(value) for piece in pieces for value in piece.tolist()]
    np.testing.assert_array_equal(found[:, None] == found, np.array(words)[:, None] == np.array(words))
    assert found.dtype == np.int64
