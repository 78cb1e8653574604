"""Arrays in files: the same numbers, no file left, and no more memory than counting takes."""

import gc
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import Preferences, RankLogistic, RankRLS, RankSVM, _native, arrays_on_disk
from rankwise.data import on_disk
from rankwise.datasets import make_ranking

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there, arrays stay in memory")


@pytest.fixture
def small_arrays(monkeypatch):
    """Have arrays of 4 kB in files, too."""
    monkeypatch.setattr(on_disk, "FEWEST_BYTES", 1 << 12)


MODELS = [
    RankSVM(),
    RankSVM(loss="squared_hinge"),
    RankLogistic(),
    RankRLS(),
    RankRLS(solver="cg"),
    RankSVM(kernel="rbf", n_components=30, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("queries", [1, 40])
def test_the_model_is_the_same_to_the_bit(small_arrays, tmp_path, model, queries):
    X, y, qid = make_ranking(2000, 5, n_queries=queries, random_state=0)
    expected, model = model.fit(X, y, qid=qid).predict(X), clone(model)
    with arrays_on_disk(tmp_path):
        found = model.fit(X, y, qid=qid).predict(X)
        assert _native.bytes_in_files() > 0
    np.testing.assert_array_equal(found, expected)
    assert list(tmp_path.iterdir()) == []
    del found, model
    gc.collect()
    assert _native.bytes_in_files() == 0


def test_large_arrays_are_in_files_and_small_ones_are_not(tmp_path):
    n = on_disk.FEWEST_BYTES // 8
    with arrays_on_disk(tmp_path):
        small, large, zeros = np.empty(n - 1), np.empty(n), np.zeros(2 * n)
        assert _native.bytes_in_files() == 8 * 3 * n
        assert not zeros.any()
        large = np.resize(large, 3 * n)
        large[:] = 1.0
        assert _native.bytes_in_files() == 8 * 5 * n
    outside = np.ones(n) + 0
    assert _native.bytes_in_files() == 8 * 5 * n
    del zeros
    assert large.sum() == 3 * n
    del large
    assert _native.bytes_in_files() == 0
    assert outside.sum() + len(small) == 2 * n - 1


def test_an_array_that_grows_keeps_its_numbers(small_arrays, tmp_path):
    with arrays_on_disk(tmp_path):
        array = np.arange(1000.0)
        array.resize(5000, refcheck=False)
        np.testing.assert_array_equal(array[:1000], np.arange(1000))
        assert not array[1000:].any()
        array.resize(10, refcheck=False)
        np.testing.assert_array_equal(array, np.arange(10))
        assert _native.bytes_in_files() == 0


def test_contexts_may_be_nested_and_end_by_errors(small_arrays, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(ZeroDivisionError), arrays_on_disk(tmp_path), arrays_on_disk(inner):
        raise ZeroDivisionError
    assert np.ones(10_000).sum() == 10_000
    assert _native.bytes_in_files() == 0


def test_what_has_no_room_is_refused(small_arrays, tmp_path):
    with arrays_on_disk(tmp_path), pytest.raises(MemoryError):
        np.empty(1 << 57)
    folder = tmp_path / "gone"
    folder.mkdir()
    with arrays_on_disk(folder):
        folder.rmdir()
        with pytest.raises(MemoryError):
            np.zeros(1000)
        folder.mkdir()
    with pytest.raises(NotADirectoryError, match="folder must be an existing folder; got"):
        arrays_on_disk(tmp_path / "none")


@pytest.mark.parametrize("queries", [False, True])
def test_a_ranking_keeps_eight_bytes_a_row_beside_what_it_is_given(queries):
    m = 3000
    y = np.random.default_rng(0).random(m)
    preferences = Preferences.from_scores(y, np.arange(m) // 100 if queries else None)
    preferences.row_factor()
    given = [preferences.labels, *([preferences.query] if queries else [])]
    kept = [value for value in vars(preferences.order).values() if not any(value is g for g in given)]
    arrays = [value for value in kept if isinstance(value, np.ndarray)]
    row_sized = [array for array in arrays if len(array) >= m and array.strides != (0,)]
    assert sum(array.nbytes for array in row_sized) == 8 * m
    assert preferences.labels is y


# The limit is on what the process may ask the system for as its own: arrays in files are not.
CHILD = """
    import resource, sys, tempfile
    import numpy as np
    import rankwise, rankwise.data.on_disk
    rankwise.data.on_disk.FEWEST_BYTES = 1 << 16
    rows, bytes_a_row, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    generator = np.random.default_rng(0)
    X = np.memmap(tempfile.TemporaryFile(dir=folder), np.float32, "w+", shape=(rows, 4))
    X[:] = generator.standard_normal(X.shape, dtype=np.float32)
    y = np.memmap(tempfile.TemporaryFile(dir=folder), np.float64, "w+", shape=rows)
    y[:] = X[:, 0] + generator.standard_normal(rows)
    def fit(X, y):  # first on fewer rows: libraries take memory for themselves when first used
        with rankwise.arrays_on_disk(folder):
            return rankwise.RankSVM(tol=1e-2, n_jobs=1).fit(X, y)

    fit(X[: rows // 2], y[: rows // 2])
    with open("/proc/self/status") as file:
        used = next(1024 * int(line.split()[1]) for line in file if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + bytes_a_row * rows,) * 2)
    model = fit(X, y)
    print(model.n_pairs_, model.gap_)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_fit_of_one_ranking_needs_sixty_bytes_a_row(tmp_path):
    rows = 1_000_000
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(rows), "60", str(tmp_path)]
    # As with larger arrays, what is freed then goes back to the system.
    settings = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
    ended = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    n_pairs, gap = ended.stdout.split()
    assert int(n_pairs) == rows * (rows - 1) // 2
    assert float(gap) <= 1e-2
