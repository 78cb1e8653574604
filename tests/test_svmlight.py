import bz2
import gzip
import io
import lzma
import math
import os
import re
import signal
import struct
import subprocess
import sys
import threading
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_svmlight_file

import reference_svmlight as reference
from rankwise import RankSVM
from rankwise.core import memory
from rankwise.datasets import dump_svmlight, load_svmlight, make_text_ranking
from rankwise.io import streams
from rankwise.io.streams import DamagedFileError
from rankwise.io.svmlight import SvmlightError, iter_svmlight

LETOR = (
    b"# a header\n\n2 qid:10 1:0.5 3:-1.25e-3 25:7 #docid = 1\n"
    b"0\tqid:10\t2:+4.  \t3:.5\r\n  \t\n+1 qid:9 #docid = \xc3\xa9"
)


def read(text, **options):
    return load_svmlight(io.BytesIO(text), **options)


def rows_of(X):
    return [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.int64).tolist()


def assert_same(data, expected):
    labels, rows, qid, comments = expected
    assert bits(data.y) == bits(labels)
    assert rows_of(data.X) == rows
    assert bits(data.X.data) == bits([value for row in rows for _, value in row])
    assert (None if data.qid is None else data.qid.tolist()) == qid
    assert data.comments == comments


def test_every_part_of_the_format():
    data = read(LETOR, comments=True)
    assert_same(data, reference.parse(LETOR))
    assert data.X.shape == (3, 25)
    assert data.y.tolist() == [2, 0, 1]
    assert data.qid.tolist() == [10, 10, 9]
    assert data.qid.dtype == np.int64
    assert data.comments == ["docid = 1", "", "docid = é"]
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32


def test_comments_only_on_request():
    assert read(LETOR).comments is None


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\r\n\n"])
def test_a_file_without_rows_is_an_empty_matrix(text):
    data = read(text, n_features=3)
    assert data.X.shape == (0, 3)
    assert len(data.y) == 0
    assert data.qid is None


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["1", "-7", "9223372036854775807"], [1, -7, 2**63 - 1]),
        (["1", "01"], ["1", "01"]),
        (["1", "+1"], ["1", "+1"]),
        (["-0", "0"], ["-0", "0"]),
        (["9223372036854775808", "3"], ["9223372036854775808", "3"]),
        (["5", "5", "query:ä", "5"], ["5", "5", "query:ä", "5"]),
    ],
)
def test_qid_is_any_token(tokens, expected):
    data = read("".join(f"1 qid:{token} 1:1\n" for token in tokens).encode())
    assert data.qid.tolist() == expected
    assert data.qid.dtype == (np.int64 if isinstance(expected[0], int) else object)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (b"1 1:2\nx 1:2\n", 2, 1, "label is not a number; got 'x'"),
        (b"1 1:2\n\n1 1:2 2:0,5 3:1\n", 3, 9, "value is not a number; got '0,5'"),
        (b"1 1:2 2:1e 3:1\n", 1, 9, "value is not a number; got '1e'"),
        (b"1 1:2 2:0x10\n", 1, 9, "value is not a number; got '0x10'"),
        (b"1 1:2 2: 3:1\n", 1, 7, "value behind the index is missing"),
        (b"1 1:2 7\n", 1, 7, "an index, a colon and a value"),
        (b"1 1 :2\n", 1, 3, "an index, a colon and a value"),
        (b"1 3:1 2:1\n", 1, 7, "must ascend"),
        (b"1 3:1 3:1\n", 1, 7, "must ascend"),
        (b"1 0:1\n", 1, 3, "indices begin at 1"),
        (b"1 -3:1\n", 1, 3, "negative"),
        (b"1 1:nan\n", 1, 5, "NaN and infinity"),
        (b"1 1:-Infinity\n", 1, 5, "NaN and infinity"),
        (b"NaN 1:1\n", 1, 1, "NaN and infinity"),
        (b"1 1:1e309\n", 1, 5, "too large for float64"),
        (b"1 2147483648:1\n", 1, 3, "too large, the largest accepted is 2147483647; got '2147483648:1'"),
        (b"1 99999999999999999999999999:1\n", 1, 3, "too large"),
        (b"1 qid: 1:1\n", 1, 3, "missing"),
        (b"1 1:1 qid:3\n", 1, 7, "directly behind the label"),
        (b"1 qid:1 qid:1 1:1\n", 1, 9, "directly behind the label"),
        (b"1 qid:1 1:1\n# x\n1 1:1\n", 3, 1, "no qid, but the lines before"),
        (b"1 1:1\n  1 qid:1 1:1\n", 2, 5, "has a qid, but the lines before"),
        (b"\x7fELF\x02\x01\x01\x00\x00", 1, 1, r"got '\x7fELF\x02\x01\x01\x00\x00'"),
        (b"\xff\xfe1\x00 \x001\x00:\x001\x00", 1, 1, r"'\\xff\\xfe1\x00'"),
        (b"1 1:" + b"9" * 1000 + b"x\n", 1, 5, "'9999999999999999999999999999999999999999'..."),
        (b"1 1:1\r2 1:1\n", 1, 5, "not a number"),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_is_malformed_is_named_with_line_and_column(text, line, column, words, n_jobs):
    with pytest.raises(SvmlightError, match=rf"^<file object>, line {line}, column {column}: ") as caught:
        read(text, n_jobs=n_jobs)
    assert words in str(caught.value)


def test_an_index_beyond_n_features_is_refused():
    with pytest.raises(SvmlightError, match="column 7: the index is too large"):
        read(b"1 1:1 5:1\n", n_features=4)
    assert read(b"1 1:1 4:1\n", n_features=4).X.shape == (1, 4)
    assert read(b"1 0:1 3:1\n", n_features=4, zero_based=True).X.shape == (1, 4)
    with pytest.raises(SvmlightError, match="go up to 4, but n_features is 4"):
        read(b"1 0:1 4:1\n", n_features=4, zero_based="auto")


def test_indices_from_zero_or_one():
    zero, one = b"1 0:1 4:2\n", b"1 1:1 5:2\n"
    for text, zero_based in [(zero, True), (one, False), (zero, "auto"), (one, "auto")]:
        X = read(text, zero_based=zero_based).X
        assert X.shape == (1, 5)
        assert X.indices.tolist() == [0, 4]
    assert read(one, zero_based=True).X.shape == (1, 6)


def test_small_numbers_become_the_nearest():
    data = read(b"1 1:5e-324 2:2e-324 3:-1e-400 4:1e-310 5:0." + b"0" * 400 + b"1\n")
    assert bits(data.X.data) == bits([5e-324, 0.0, -0.0, 1e-310, 0.0])


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993", "9007199254740992.99999999999999999999", "2.2250738585072011e-308", "1e23",
        "8.41e21", "123456789012345678901234567890", "0.000000000000000000000000000001e30", "1e+22", "1E-22",
        "17976931348623157" + "0" * 292, "4.9406564584124654e-324", "00000000000000000000000000012.5", "12.",
        ".5", "0.1e-0007", "6929495644600919.5", "3.7455744005952583e15",
    ],
)  # fmt: skip
def test_reads_the_nearest_double(text):
    assert bits(read(f"{text} 1:{text} 2:-{text}\n".encode()).X.data) == bits([float(text), -float(text)])


@given(st.integers(0, 10**21), st.integers(-360, 330), st.sampled_from(["{}e{}", "{}.e{}", "0.{}e{}"]))
def test_decimals_read_as_python_reads_them(digits, exponent, form):
    text = form.format(digits, exponent)
    if math.isinf(float(text)):
        with pytest.raises(SvmlightError):
            read(f"1 1:{text}\n".encode())
    else:
        assert bits(read(f"1 1:{text}\n".encode()).X.data) == bits([float(text)])


def near_half_way(generator, n):
    """Decimals of up to 19 digits at and beside the middle between two neighbouring doubles."""
    doubles = generator.random(n) * 10.0 ** generator.integers(-3, 4, n)
    for double in doubles:
        middle = (Fraction(double) + Fraction(np.nextafter(double, np.inf))) / 2
        decimals = int(generator.integers(10, 19))
        digits = round(middle * 10**decimals) + int(generator.integers(-1, 2))
        if digits < 10**19:
            yield f"{digits}e-{decimals}"


def test_many_long_decimals():
    generator = np.random.default_rng(0)
    long = (f"{generator.integers(10**18)}e-{generator.integers(30)}" for _ in range(5000))
    texts = [*near_half_way(generator, 5000), *long, "4503599627370496.5", "4503599627370497.5"]
    line = " ".join(f"{index}:{text}" for index, text in enumerate(texts, start=1))
    assert bits(read(f"1 {line}\n".encode()).X.data) == bits([float(text) for text in texts])


DOUBLES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 2**64 - 1)
    .map(lambda n: struct.unpack("<d", struct.pack("<Q", n))[0])
    .filter(math.isfinite),
    st.sampled_from(
        [0.0, -0.0, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e22, 2.0**53]
    ),
)


@given(st.lists(DOUBLES, min_size=1, max_size=20), st.booleans())
def test_write_read_is_exact_for_every_double(values, dense):
    X = np.array([values]) if dense else sp.csr_matrix((values, range(len(values)), [0, len(values)]))
    file = io.BytesIO()
    dump_svmlight(X, values[:1], file)
    data = read(file.getvalue(), n_features=len(values))
    assert bits(data.y) == bits(values[:1])
    stored = [value for value in values if not dense or bits([value]) != [0]]
    assert bits(data.X.data) == bits(stored)


@given(hnp.arrays(np.uint32, st.integers(1, 50)))
@example(np.array([0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x80000000, 0x15AE43FD], dtype=np.uint32))
def test_write_read_is_exact_for_every_float32(patterns):
    values = patterns.view(np.float32)
    values = values[np.isfinite(values)]
    X = sp.csr_matrix((values, np.arange(len(values)), [0, len(values)]), shape=(1, 50))
    file = io.BytesIO()
    dump_svmlight(X, [0], file)
    back = read(file.getvalue(), dtype=np.float32).X.data
    assert back.dtype == np.float32
    assert back.view(np.uint32).tolist() == values.view(np.uint32).tolist()


def test_float32_is_rounded_once():
    # Half-way between two floats, and slightly above and below, where rounding to a double first is wrong.
    texts = ["1.000000059604644775390625", "1.000000059604644775390626", "1.000000059604644775390624"]
    line = " ".join(f"{index}:{text}" for index, text in enumerate(texts, start=1))
    one = np.float32(1)
    above = np.nextafter(one, np.float32(2))
    assert read(f"1 {line}\n".encode(), dtype=np.float32).X.data.tolist() == [one, above, one]
    with pytest.raises(SvmlightError, match="too large for float32"):
        read(b"1 1:3.5e38\n", dtype="float32")


# Without NUL, which numpy's text loses at the end of a word.
WORDS = st.text(
    st.characters(exclude_characters=" \t\r\n#\0", exclude_categories=["Cs"]), min_size=1, max_size=5
)
COMMENTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8)


@given(st.data())
def test_write_read_gives_the_same_rows(data):
    n, n_features = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 5))
    X = data.draw(hnp.arrays(np.float64, (n, n_features), elements=st.sampled_from([0.0, 1.5, -2.0, 1e-30])))
    qid = data.draw(st.sampled_from([st.integers(-(2**63), 2**63 - 1), WORDS, None]))
    qid = None if qid is None else data.draw(st.lists(qid, min_size=n, max_size=n))
    comments = data.draw(st.none() | st.lists(COMMENTS, min_size=n, max_size=n))
    y, zero_based = np.arange(n) / 7, data.draw(st.booleans())
    file = io.BytesIO()
    dump_svmlight(X, y, file, qid=qid, comments=comments, zero_based=zero_based)
    back = read(file.getvalue(), n_features=n_features, zero_based=zero_based, comments=True)
    np.testing.assert_array_equal(back.X.toarray(), X)
    np.testing.assert_array_equal(back.y, y)
    assert [str(q) for q in ([] if back.qid is None else back.qid)] == [str(q) for q in qid or []]
    assert back.comments == (comments or [""] * n)


PIECES = st.sampled_from(
    [b"1", b"0", b"-", b"+", b".", b"e", b":", b" ", b"\t", b"\n", b"\r\n", b"\r", b"#", b"qid:", b"qid:3",
     b"1:1", b" 2:0.5", b" 7:-1e3", b"\x00", b"\xff", b"nan", b"inf", b"99999999999", b"1 qid:1 1:1\n",
     b"2 1:3 4:5 # c\n", b"\xef\xbb\xbf", b"12345678", b"0.00000000"]
)  # fmt: skip
TEXTS = st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=25).map(b"".join))


@pytest.mark.filterwarnings("ignore:Labels such as")
@given(TEXTS)
@example(b"\r")
@example(b"1\r")
@example(b"1 1:1#")
@example(b"1 1:1\r#\r")
@example(b"#")
@example(b"1 1:1\n\xef\xbb\xbf2 1:1\n")
def test_any_text_gives_what_the_reference_gives(text):
    try:
        expected = reference.parse(text)
    except reference.MalformedError as malformed:
        line, column = malformed.args
        with pytest.raises(SvmlightError, match=rf"line {line}, column {column}: "):
            read(text, comments=True)
    else:
        assert_same(read(text, comments=True), expected)


@given(st.data())
def test_altered_bytes_give_what_the_reference_gives(data):
    text = bytearray(LETOR * 2)
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    test_any_text_gives_what_the_reference_gives.hypothesis.inner_test(bytes(text))


@pytest.fixture(scope="module")
def large():
    """Text that is read in several blocks and many parts, with what it holds."""
    generator = np.random.default_rng(0)
    X = sp.random(30_000, 50, 0.3, format="csr", random_state=generator)
    y = generator.integers(0, 5, X.shape[0]).astype(float)
    qid = np.repeat(np.arange(X.shape[0]), generator.integers(1, 60, X.shape[0]))[: X.shape[0]]
    file = io.BytesIO()
    dump_svmlight(X, y, file, qid=qid, comments=[f"doc {row}" for row in range(len(y))])
    assert len(file.getvalue()) > 8 * streams.BLOCK_BYTES
    return file.getvalue(), X, y, qid


def assert_equal_csr(A, B):
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(A, name), getattr(B, name))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_a_large_file_for_any_number_of_threads(large, n_jobs):
    text, X, y, qid = large
    data = read(text, n_features=50, n_jobs=n_jobs, comments=n_jobs == 2)
    assert_equal_csr(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, qid)
    if n_jobs == 2:
        assert data.comments == [f"doc {row}" for row in range(len(y))]
    assert data.X.has_sorted_indices
    data.X.check_format(full_check=True)


def test_equals_scikit_learn(large):
    text = large[0]
    X, y, qid = load_svmlight_file(io.BytesIO(text), query_id=True)
    data = read(text, n_jobs=2)
    assert_equal_csr(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, qid)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("row", [0, 12_345, 29_999])
def test_the_first_problem_of_a_large_file_is_reported(large, row, n_jobs):
    lines = large[0].split(b"\n")
    lines[-2] = b"last"
    lines[row] = b"1 qid:1 wrong"
    with pytest.raises(SvmlightError, match=rf"line {row + 1}, column 9: .* got 'wrong'"):
        read(b"\n".join(lines), n_jobs=n_jobs)


def test_a_qid_that_starts_in_a_later_block_is_refused(large):
    text = re.sub(rb" qid:[0-9]+", b"", large[0])
    line = text.count(b"\n") + 1
    with pytest.raises(SvmlightError, match=f"line {line}, column 3: this line has a qid"):
        read(text + b"1 qid:1 1:1\n", n_jobs=2)
    with pytest.raises(SvmlightError, match=f"line {line}, column 1: this line has no qid"):
        read(large[0] + b"1 1:1\n", n_jobs=2)


def test_words_after_numbers_in_a_later_block(large):
    text, _, _, qid = large
    data = read(text + b"1 qid:word 1:1\n")
    assert data.qid.tolist() == [*map(str, qid.tolist()), "word"]


@pytest.mark.parametrize("chunk_rows", [1, 100, 7_000, 10**6])
def test_chunks_end_at_query_borders(large, chunk_rows):
    text, X, y, qid = large
    text = text[: text.index(b"doc 4999\n") + 9] if chunk_rows == 1 else text
    chunks = list(iter_svmlight(io.BytesIO(text), chunk_rows=chunk_rows, n_features=50, comments=True))
    n = len(np.concatenate([chunk.y for chunk in chunks]))
    assert n == text.count(b"\n")
    assert_equal_csr(sp.vstack([chunk.X for chunk in chunks], format="csr"), X[:n])
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y[:n])
    np.testing.assert_array_equal(np.concatenate([chunk.qid for chunk in chunks]), qid[:n])
    assert [text for chunk in chunks for text in chunk.comments] == [f"doc {row}" for row in range(n)]
    for chunk, after in pairwise(chunks):
        assert chunk.qid[-1] != after.qid[0]
        next_query = np.count_nonzero(after.qid == after.qid[0])
        assert len(chunk.y) + next_query > chunk_rows
        assert len(chunk.y) <= chunk_rows or len(set(chunk.qid)) == 1


def test_chunks_without_qid_have_the_size_asked_for():
    text = b"1 1:1\n" * 25
    assert [len(chunk.y) for chunk in iter_svmlight(io.BytesIO(text), chunk_rows=10)] == [10, 10, 5]
    assert list(iter_svmlight(io.BytesIO(b""))) == []


def test_chunks_of_one_large_query_and_mixed_tokens(monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 64)
    monkeypatch.setattr(streams.line_blocks, "__defaults__", (64,))
    text = b"1 qid:5 1:1\n" * 50 + b"1 qid:a 1:1\n" * 3 + b"1 qid:5 1:1\n" * 2
    chunks = [chunk.qid.tolist() for chunk in iter_svmlight(io.BytesIO(text), chunk_rows=4)]
    assert [len(chunk) for chunk in chunks] == [50, 3, 2]
    assert [str(chunk[0]) for chunk in chunks] == ["5", "a", "5"]


def test_several_files_follow_one_another(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_bytes(b"1 qid:1 1:1")
    second.write_bytes(gzip.compress(b"\xef\xbb\xbf2 qid:2 3:1\n"))
    data = load_svmlight([first, str(second)])
    assert data.X.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert data.qid.tolist() == [1, 2]
    second.write_bytes(gzip.compress(b"# one\n2 qid:2 3:x\n"))
    with pytest.raises(SvmlightError, match=r"b\.txt\.gz, line 2, column 11: "):
        load_svmlight([first, second])


@pytest.mark.parametrize("suffix", [".txt", ".gz", ".bz2", ".xz", ".zst", ".zstd", ".GZ"])
def test_packed_by_suffix_and_unpacked_again(large, tmp_path, suffix):
    if suffix.startswith(".zst") and sys.version_info < (3, 14):
        pytest.importorskip("zstandard", reason="zstandard is not installed.")
    _, X, y, qid = large
    path = tmp_path / f"data{suffix}"
    n = 2000
    dump_svmlight(X[:n], y[:n], path, qid=qid[:n])
    magic = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ", ".zst": b"\x28\xb5\x2f\xfd"}
    magic[".zstd"] = magic[".zst"]
    assert path.read_bytes().startswith(magic.get(suffix.lower(), str(int(y[0])).encode()))
    assert_equal_csr(load_svmlight(path, n_features=50).X, X[:n])
    if suffix != ".txt":
        path.write_bytes(2 * path.read_bytes())  # packed files may be put behind one another
        assert len(load_svmlight(path).y) == 2 * n


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_damaged_file_raises_an_error(large, tmp_path, suffix):
    if suffix.startswith(".zst") and sys.version_info < (3, 14):
        pytest.importorskip("zstandard", reason="zstandard is not installed.")
    path = tmp_path / f"data{suffix}"
    dump_svmlight(large[1][:2000], large[2][:2000], path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedFileError, match=rf"data\{suffix} is truncated"):
        load_svmlight(path)
    middle = len(whole) // 2
    path.write_bytes(
        whole[:middle] + bytes(b ^ 0x5A for b in whole[middle : middle + 64]) + whole[middle + 64 :]
    )
    with pytest.raises((DamagedFileError, SvmlightError), match=rf"data\{suffix}"):
        load_svmlight(path)
    path.write_bytes(b"")
    with pytest.raises(DamagedFileError, match="is empty, which no compressed file is"):
        load_svmlight(path)
    path.write_bytes(b"1 1:1\n" * 10)
    with pytest.raises(
        DamagedFileError, match=f"damaged, or not compressed in the format of its suffix {suffix}"
    ):
        load_svmlight(path)


def test_a_missing_zstd_raises_an_error_with_the_install_command(tmp_path, monkeypatch):
    if sys.version_info >= (3, 14):
        pytest.skip("This Python reads .zst files itself.")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.zst").write_bytes(b"packed")
    with pytest.raises(ImportError, match=r"rankwise\[zstd\]"):
        load_svmlight(tmp_path / "a.zst")


class Endless(io.RawIOBase):
    """One line of `n` bytes, after another line."""

    def __init__(self, n):
        self.left = n
        self.head = b"1 1:1\n1"

    def readinto(self, room):
        head, self.head = self.head, b""
        n = len(head) or min(len(room), self.left)
        room[:n] = head or b" " * n
        self.left -= 0 if head else n
        return n


def test_a_line_of_100_megabytes_is_refused():
    with pytest.raises(
        SvmlightError, match=r"line 2, column 67108865: the line has more than 67,108,864 bytes"
    ):
        load_svmlight(Endless(100_000_000))


class Interrupted(io.RawIOBase):
    """Lines without end; Ctrl-C is pressed while the third block is read."""

    n_reads = 0

    def readinto(self, room):
        self.n_reads += 1
        if self.n_reads == 3:
            signal.raise_signal(signal.SIGINT)
        n = len(room) // 6 * 6 if self.n_reads < 30 else 0
        room[:n] = b"1 1:1\n" * (n // 6)
        return n


def test_reading_can_be_interrupted():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            load_svmlight(Interrupted(), n_jobs=2)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_line_longer_than_a_block_is_read():
    n = 300_000
    text = b"1 " + b" ".join(b"%d:0.25" % index for index in range(1, n + 1))
    assert len(text) > 3 * streams.BLOCK_BYTES
    X = read(text + b"\n" + text).X
    assert X.shape == (2, n)
    assert X.sum() == n / 2


def test_standard_input_and_output(tmp_path):
    code = (
        "from rankwise.datasets import load_svmlight, dump_svmlight;"
        "data = load_svmlight('-'); dump_svmlight(data.X, data.y, '-', qid=data.qid)"
    )
    text = b"2 qid:7 1:0.5 3:0.001\n"
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, check=True)
    assert done.stdout == text


def test_a_pipe_that_gives_little_at_a_time():
    reading, writing = os.pipe()

    def write():
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for begin in range(0, len(LETOR), 7):
                pipe.write(LETOR[begin : begin + 7])

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        data = load_svmlight(pipe, comments=True)
    thread.join()
    assert_same(data, reference.parse(LETOR))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "data.txt.gz"
    dump_svmlight([[1.0]], [1], path)
    before = path.read_bytes()
    X = np.ones((200_000, 2))
    X[-1, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        dump_svmlight(X, np.ones(len(X)), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"y": [1]}, "y has length 1, but must have length 2"),
        ({"y": [1, np.inf]}, "y contains NaN or infinity"),
        ({"X": [1, 2]}, "X must have two dimensions"),
        ({"X": [["a"], ["b"]]}, "X must be real numbers"),
        ({"qid": [1]}, "qid must have one entry per row"),
        ({"qid": ["a b", "c"]}, "qid must not be empty or contain blanks"),
        ({"qid": ["", "c"]}, "qid must not be empty or contain blanks"),
        ({"qid": [1.5, 2.0]}, "qid must hold integers or strings; got 1.5"),
        ({"qid": np.array([None, "a"])}, "qid must hold integers or strings; got None"),
        ({"comments": ["a"]}, "comments has length 1"),
        ({"comments": ["a\nb", ""]}, "comments must be strings without line breaks"),
        ({"zero_based": "auto"}, "zero_based must be True or False"),
    ],
)
def test_what_cannot_be_written_is_refused(options, sentence):
    arguments = {"X": [[1.0], [2.0]], "y": [1, 2], "target": io.BytesIO()} | options
    with pytest.raises(ValueError, match=sentence):
        dump_svmlight(**arguments)
    assert arguments["target"].getvalue() == b""


def test_sparse_matrices_of_other_forms_are_written_sorted():
    X = sp.csr_matrix(([1.0, 2.0, 3.0, 4.0], [2, 0, 0, 1], [0, 3, 4]), shape=(2, 3))
    for form in (X, X.tocsc(), X.tocoo(), sp.csr_array(X)):
        file = io.BytesIO()
        dump_svmlight(form, [1, 2], file, zero_based=True)
        assert file.getvalue() == b"1 0:5 2:1\n2 1:4\n"
    assert X.indices.tolist() == [2, 0, 0, 1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"zero_based": "yes"}, "zero_based must be True, False or 'auto'; got 'yes'"),
        ({"n_features": -1}, "n_features must be an integer"),
        ({"n_features": 2**31}, "n_features must be an integer up to 2147483647"),
        ({"dtype": int}, "dtype must be float64 or float32; got int64"),
    ],
)
def test_wrong_arguments_of_the_reader(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(b"", **options)


def test_wrong_sources():
    with pytest.raises(TypeError, match="binary mode"):
        load_svmlight(io.StringIO("1 1:1\n"))
    with pytest.raises(TypeError, match="source must be a path"):
        load_svmlight(3)
    with pytest.raises(FileNotFoundError):
        load_svmlight("no-such-file.txt")
    with pytest.raises(ValueError, match="needs the whole file"):
        iter_svmlight(io.BytesIO(b""), zero_based="auto")
    with pytest.raises(ValueError, match="chunk_rows must be an integer of at least 1; got 0"):
        iter_svmlight(io.BytesIO(b""), chunk_rows=0)


def test_bad_bytes_of_comments_and_tokens_come_back(tmp_path):
    text = b"1 qid:\xff 1:1 #\xfe\xc3\n"
    data = read(text, comments=True)
    file = io.BytesIO()
    dump_svmlight(data.X, data.y, file, qid=data.qid, comments=data.comments)
    assert file.getvalue() == text


def test_ohsumed_as_scikit_learn_reads_it():
    folder = os.environ.get("RANKWISE_DATA")
    if not folder:
        pytest.skip("RANKWISE_DATA does not name the folder with the real data sets.")
    path = os.path.join(folder, "letor2_ohsumed", "S1.txt.gz")
    X, y, qid = load_svmlight_file(path, query_id=True)
    data = load_svmlight(path, comments=True)
    assert_equal_csr(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.qid, qid)
    assert all(comment.startswith("docid = ") for comment in data.comments)


def test_text_ranking_keeps_its_digits(tmp_path):
    X, y = make_text_ranking(300, random_state=0)
    dump_svmlight(X, y, tmp_path / "text.xz")
    data = load_svmlight(tmp_path / "text.xz", n_features=X.shape[1])
    assert_equal_csr(data.X, X)
    assert bits(data.y) == bits(y)


def test_packed_bytes_of_other_programs(tmp_path):
    for suffix, module in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
        path = tmp_path / f"a{suffix}"
        path.write_bytes(module.compress(LETOR))
        assert_same(load_svmlight(path, comments=True), reference.parse(LETOR))


def test_large_integers_that_may_be_tied_warn(tmp_path):
    large = 2**53
    text = "".join(f"{label} 1:{row}\n" for row, label in enumerate([large + 1, large, large + 2])).encode()
    with pytest.warns(UserWarning, match=r"Labels such as 9007199254740992\.0 are read as float64"):
        assert read(text).y.tolist() == [large, large, large + 2]
    with pytest.warns(UserWarning, match=r"distinct integers above 2\^53 may be equal"):
        assert len(list(iter_svmlight(io.BytesIO(text), chunk_rows=1))) == 3
    apart = b"9007199254740993 1:1\n9007199254740994 1:1\n-9007199254740993 1:1\n"
    assert read(apart).y.tolist() == [large, large + 2, -large]


def test_columns_that_no_fit_has_memory_for_are_refused(monkeypatch):
    """A line of a few bytes may have an index of two billion."""
    monkeypatch.setattr(memory, "available_memory", lambda: 100_000_000_000)
    text = b"1 1:0.5 2000000000:2\n0 1:1\n"
    for read_all in (read, lambda text, **options: next(iter_svmlight(io.BytesIO(text), **options))):
        with pytest.raises(MemoryError, match=r"2,000,000,000 features needs 160 GB of memory, but 100 GB"):
            read_all(text)
        assert read_all(text, n_features=2_000_000_000).X.shape == (2, 2_000_000_000)
    X = read(text, n_features=2_000_000_000).X
    with pytest.raises(
        MemoryError, match=r"2,000,000,000 features needs 160 GB .* number the features without"
    ):
        RankSVM().fit(X, [1, 0])
