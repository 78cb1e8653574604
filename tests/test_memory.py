"""What would not fit into memory is refused by a sentence, before memory is taken."""

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from rankwise import HullRanker, OrdinalSVM, Preferences, RankRLS, fit_thresholds
from rankwise.core.memory import require_memory

FREE = 2_000_000


@pytest.fixture
def small(monkeypatch):
    """Leave two megabytes free."""
    monkeypatch.setattr("rankwise.core.memory.available_memory", lambda: FREE)


def refused(call, *words):
    """Return nothing, but see that a call is refused with these words, and that it took little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError) as caught:
            call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert all(word in message for word in (*words, "of memory, but 2 MB is free; ")), message
    assert message.endswith(".")
    assert peak < FREE, (peak, message)


def test_the_sentence(small):
    require_memory(FREE, "It", "do not")
    with pytest.raises(MemoryError, match=r"^It needs 2\.5 MB of memory, but 2 MB is free; do not\.$"):
        require_memory(2_500_000, "It", "do not")


def test_nothing_is_refused_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.setattr("rankwise.core.memory.available_memory", lambda: None)
    require_memory(1e30, "It", "do not")


def rows(m, n):
    """Return sparse rows with a number each, and labels."""
    entries = np.ones(m), (np.arange(m), np.arange(m) % n)
    return sp.csr_matrix(entries, shape=(m, n)), np.arange(m) % 5


@pytest.mark.parametrize(("solver", "shape"), [("primal", (20, 1000)), ("dual", (1000, 20))])
def test_closed_forms(solver, shape, small):
    X, y = rows(*shape)
    refused(
        lambda: RankRLS(solver=solver).fit(X, y), f"solver='{solver}'", "1000 x 1000", "solver='cg' keeps no"
    )
    RankRLS(solver={"primal": "dual", "dual": "primal"}[solver]).fit(X, y)
    RankRLS(solver="cg").fit(X, y)


@pytest.mark.parametrize("shape", [(500, 450), (450, 500)])
def test_paths(shape, small):
    X, y = rows(*shape)
    refused(lambda: RankRLS().path(X, y, [1.0]), "path on", "450 x 450", "fit each alpha with solver='cg'")
    X, y = rows(100, 50)
    assert RankRLS().path(X, y, [1.0]).shape == (1, 50)


def test_lists_of_pairs(small):
    numbers = np.arange(400)
    refused(Preferences.from_scores(numbers).pairs, "A list of 79800 pairs")
    refused(Preferences.from_survival(numbers < 1, numbers).pairs, "A list of 79800 pairs")
    refused(Preferences.from_order(numbers % 2, "chain").pairs, "A list of 40000 pairs")
    assert len(Preferences.from_scores(numbers[:100]).pairs().better) == 4950


def test_slices_of_pair_lists(small):
    pairs = Preferences.from_pairs([0], [1])
    repeated = np.repeat([0, 1], 300)
    refused(lambda: pairs[repeated], "A list of 90000 pairs")
    assert pairs[np.repeat([0, 1], 30)].n_pairs == 900


def test_all_pairs_of_many_classes(small):
    y = np.arange(400)
    X = y[:, None] * 1.0
    refused(lambda: HullRanker(order="full").fit(X, y), "order='full' of 400 classes, which has 79800 edges")
    HullRanker(order="full").fit(X[:9], y[:9])


def test_distances_to_many_ranks(small):
    y = np.arange(2000)
    refused(lambda: fit_thresholds(y, y, error="zero_one"), "error='zero_one' with 2000 ranks")
    np.testing.assert_array_equal(fit_thresholds(y, y), y[:-1] + 0.5)
    model = OrdinalSVM().fit(y[:600, None] * 1.0, y[:600])
    refused(lambda: model.decision_function(y[:600, None]), "decision_function", "600 ranks")
    assert model.decision_function(y[:10, None]).shape == (10, 600)


# The limit is on what the process may ask the system for as its own: a map of a file is not.
CHILD = """
import resource, sys, tempfile
import numpy as np
from rankwise import RankSVM

rows, bytes_a_row = int(sys.argv[1]), int(sys.argv[2])
generator = np.random.default_rng(0)
X = np.memmap(tempfile.TemporaryFile(dir=sys.argv[3]), np.float32, "w+", shape=(rows, 4))
X[:] = generator.standard_normal(X.shape, dtype=np.float32)
y = X[:, 0] + generator.standard_normal(rows)
model = RankSVM(tol=1e-2, n_jobs=1)
model.fit(X[: rows // 2], y[: rows // 2])  # libraries take memory for themselves when first used
with open("/proc/self/status") as file:
    used = next(1024 * int(line.split()[1]) for line in file if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (used + bytes_a_row * rows,) * 2)
print(model.fit(X, y).n_pairs_)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_fit_of_rows_on_disk_takes_a_hundred_bytes_a_row(tmp_path):
    rows = 1_000_000
    # As with larger arrays, what is freed then goes back to the system.
    settings = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
    command = [sys.executable, "-c", CHILD, str(rows), "100", str(tmp_path)]
    ended = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) == rows * (rows - 1) // 2
