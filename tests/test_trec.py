"""Run and qrels files: read, written, and malformed lines named."""

import gzip
import io

import numpy as np
import pytest

from rankwise.io.trec import TrecError, read_qrels, read_run, write_qrels, write_run

RUN = b"q1 Q0 a 1 2.5 bm25\n\nq1\tQ0  b 2 -1e-3 bm25\r\nq2 Q0 a 7 0 bm25"


def test_a_run_is_read_by_line():
    run = read_run(io.BytesIO(b"\xef\xbb\xbf" + RUN))
    assert run.qid.tolist() == ["q1", "q1", "q2"]
    assert run.docid.tolist() == ["a", "b", "a"]
    assert run.score.tolist() == [2.5, -1e-3, 0.0]
    assert run.tag == "bm25"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".xz"])
def test_files_are_packed_by_their_suffix(tmp_path, suffix):
    path = tmp_path / f"run.txt{suffix}"
    write_run(path, ["q", "q", "p"], ["x", "y", "x"], [0.1 + 0.2, 1 / 3, -1e-300], run_name="svm")
    run = read_run(path)
    assert run.docid.tolist() == ["y", "x", "x"]
    assert run.score.tolist() == [1 / 3, 0.1 + 0.2, -1e-300]
    assert run.tag == "svm"
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == (suffix == ".gz")


def test_qrels_are_written_and_read(tmp_path):
    write_qrels(tmp_path / "qrels.txt.gz", [2, 1, 2], ["a", "a", "b"], [1.0, -1.0, 3.0])
    assert gzip.decompress((tmp_path / "qrels.txt.gz").read_bytes()) == b"2 0 a 1\n2 0 b 3\n1 0 a -1\n"
    qrels = read_qrels(str(tmp_path / "qrels.txt.gz"))
    assert (qrels.qid.tolist(), qrels.docid.tolist()) == (["2", "2", "1"], ["a", "b", "a"])
    assert qrels.grade.tolist() == [1, 3, -1]
    assert qrels.grade.dtype == np.int64


def test_equal_scores_are_written_by_document_descending():
    file = io.BytesIO()
    write_run(file, [1, 1, 1], ["a", "c", "b"], [1.0, 1.0, 1.0])
    assert [line.split()[2] for line in file.getvalue().splitlines()] == [b"c", b"b", b"a"]


def test_bytes_that_are_not_utf_8_survive():
    run = read_run(io.BytesIO(b"1 Q0 \xff 1 1.0 t\n"))
    file = io.BytesIO()
    write_run(file, run.qid, run.docid, run.score, run_name=run.tag)
    assert file.getvalue() == b"1 Q0 \xff 1 1.0 t\n"


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (
            read_run,
            b"q Q0 a 1 1 t\nq Q0 b 2 1\n",
            "line 2: 5 fields, but a line of a run has 6: qid Q0 docid",
        ),
        (read_run, b"q Q0 a 1 x t\n", "line 1: the score must be a finite number; got 'x'"),
        (read_run, b"q Q0 a 1 nan t\n", "line 1: the score must be a finite number; got 'nan'"),
        (
            read_run,
            b"\nq Q0 a 1 1 t\nq Q0 a 2 0 t\n",
            "line 3: the document 'a' occurs twice in the query 'q'",
        ),
        (read_run, b"\n", "has no lines; a line of a run is qid Q0 docid rank score tag"),
        (read_qrels, b"q 0 a\n", "line 1: 3 fields, but a line of qrels has 4: qid 0 docid grade"),
        (read_qrels, b"q 0 a 1.5\n", "line 1: the grade must be an integer; got '1.5'"),
        (read_qrels, b"q 0 a 99999999999\n", "line 1: the grade must be an integer"),
        (read_qrels, b"q 0 a 1\nq 0 a 1\n", "line 2: the document 'a' occurs twice"),
    ],
)
def test_malformed_lines_are_named(tmp_path, read, text, message):
    path = tmp_path / "lines.txt"
    path.write_bytes(text)
    with pytest.raises(TrecError, match=message) as raised:
        read(path)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 1], ["a", "b c"], [1.0, 2.0]), "docid must be one word per row.*row 1 has 'b c'"),
        (([1, 1], ["a", ""], [1.0, 2.0]), "docid must be one word"),
        (([1, 1], ["a", "a"], [1.0, 2.0]), "'a' occurs twice in the query '1'"),
        (([1, 1], ["a"], [1.0, 2.0]), "docid has 1 entries, but qid has 2"),
        (([1, 1], ["a", "b"], [1.0, np.nan]), "scores"),
    ],
)
def test_rows_that_no_run_can_hold_are_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        write_run(tmp_path / "run.txt", *arguments)
    assert not list(tmp_path.iterdir())


def test_fractions_are_no_grades():
    with pytest.raises(ValueError, match="grades must be integers"):
        write_qrels(io.BytesIO(), [1], ["a"], [0.5])


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u0085", "\x1c"])
def test_only_ascii_white_space_ends_a_field(space):
    line = f"q Q0 a{space}b 1 2.5 x\n".encode()
    assert read_run(io.BytesIO(line)).docid.tolist() == [f"a{space}b"]
    assert read_qrels(io.BytesIO(f"q\t0\va{space}b\f1\r\n".encode())).docid.tolist() == [f"a{space}b"]
    file = io.BytesIO()
    write_run(file, ["q"], [f"a{space}b"], [2.5], run_name="x")
    assert file.getvalue() == f"q Q0 a{space}b 1 2.5 x\n".encode()


@pytest.mark.parametrize("number", ["1_0", "\u0661", "\uff11"])
def test_numbers_of_python_alone_are_refused(number):
    with pytest.raises(TrecError, match="the score must be a finite number"):
        read_run(io.BytesIO(f"q Q0 a 1 {number} x\n".encode()))
    with pytest.raises(TrecError, match="the grade must be an integer"):
        read_qrels(io.BytesIO(f"q 0 a {number}\n".encode()))
