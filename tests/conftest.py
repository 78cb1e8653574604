"""How tests share the cores, wait, and draw random examples (HYPOTHESIS_PROFILE), and the workers of Dask."""

import logging
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# Before numpy is imported: the workers of pytest -n share out the cores, BLAS need not do it again.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Before dask is imported: however slow the machine is, no worker and no connection is given up.
os.environ.update(
    DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="1h",
    DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP="1h",
    DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="None",
)

# Draws other examples at each run: for work at a desk. No clock fails a test, of a run or of a draw.
settings.register_profile(
    "default", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
# Draws the same examples at each run, so that a failure belongs to the change under test.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
# For slow builds, such as those with sanitizers.
settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)
# For changes that should fail: the first failure will do, and need not be the smallest.
settings.register_profile("mutate", settings.get_profile("quick"), phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="module")
def client():
    """Two workers of Dask in this process."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture
def no_driver(client, monkeypatch):
    """Whole queries for few rows, and an error if a column is brought to the driver."""
    monkeypatch.setattr("rankwise.distributed.whole_queries.ROUND_BYTES", -(10**6))

    def refuse(values):
        raise AssertionError("a column was brought to the driver")

    monkeypatch.setattr("rankwise.distributed.backend.gathered", refuse)
