"""Checkpoints of fits in Python."""

import numpy as np
import pytest

from rankwise import Checkpoint, CurveRanker, OrdinalSVM, RankLogistic, RankSVM
from rankwise.datasets import make_ranking
from rankwise.io.checkpoint import read_checkpoint

X, y, QID = make_ranking(300, 5, n_queries=15, n_levels=3, random_state=0)
MODELS = [
    RankSVM(tol=1e-8),
    RankSVM(loss="squared_hinge", tol=1e-8),
    RankLogistic(tol=1e-8),
    CurveRanker(alpha=0.1, n_bins=8, tol=1e-8),
    OrdinalSVM(tol=1e-8),
]


def fitted(model, **options):
    queries = {} if isinstance(model, OrdinalSVM) else {"qid": QID}
    return type(model)(**model.get_params() | options).fit(X, y, **queries)


class CrashError(Exception):
    """The end of the driver."""


class Crashing(Checkpoint):
    """A checkpoint of a fit that dies after three iterations."""

    def __call__(self, state):
        super().__call__(state)
        if state.iteration == 3:
            raise CrashError


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_fit_continues_after_a_crash(model, tmp_path):
    path = tmp_path / "fit"
    with pytest.raises(CrashError):
        fitted(model, callback=Crashing(path, every=2))
    header, arrays = read_checkpoint(path)
    assert header["saved"]["iteration"] == 2
    assert np.any(arrays["coef"])

    saved, states = Checkpoint(path, every=1), []
    resumed = fitted(model, callback=saved)
    whole = fitted(model, callback=lambda state: states.append(state.objective))

    assert resumed.objective_ == pytest.approx(whole.objective_, abs=1e-7)
    assert resumed.history_["objective"][0] <= states[0] + 1e-12
    assert saved.iteration == 2 + resumed.n_iter_


def test_rows_on_dask_continue_from_a_checkpoint_of_memory(tmp_path):
    da = pytest.importorskip("dask.array")
    with pytest.raises(CrashError):
        fitted(MODELS[0], callback=Crashing(tmp_path / "fit", every=1))
    model = RankSVM(tol=1e-8, callback=Checkpoint(tmp_path / "fit"))
    model.fit(da.from_array(X, chunks=(100, 5)), y, qid=QID)
    assert model.objective_ == pytest.approx(fitted(MODELS[0]).objective_, abs=1e-7)


def test_a_checkpoint_of_other_columns_is_refused(tmp_path):
    fitted(MODELS[0], callback=Checkpoint(tmp_path / "fit", every=1))
    with pytest.raises(ValueError, match=r"weights of shape \(5,\), but this fit needs 4"):
        RankSVM(callback=Checkpoint(tmp_path / "fit")).fit(X[:, :4], y, qid=QID)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no checkpoint"])
def test_a_damaged_checkpoint_is_refused(tmp_path, content):
    (tmp_path / "fit").write_bytes(content)
    with pytest.raises(ValueError, match="not a complete checkpoint of this version of rankwise; delete it"):
        fitted(MODELS[0], callback=Checkpoint(tmp_path / "fit"))


def test_weights_that_are_not_finite_are_refused(tmp_path):
    np.savez(tmp_path / "fit.npz", header=np.frombuffer(b"{}", np.uint8), coef=np.full(5, np.nan))
    with pytest.raises(ValueError, match="not a complete checkpoint"):
        fitted(MODELS[0], callback=Checkpoint(tmp_path / "fit.npz"))


def test_a_file_that_cannot_be_written_does_not_end_the_fit(tmp_path):
    with pytest.warns(RuntimeWarning, match="checkpoint could not be written"):
        model = fitted(MODELS[0], callback=Checkpoint(tmp_path / "missing" / "fit", every=1))
    assert model.gap_ <= 1e-7


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "10"])
def test_every_is_a_number_of_iterations(every):
    with pytest.raises(ValueError, match="every must be an integer of at least 1"):
        Checkpoint("fit", every)


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        Checkpoint(tmp_path)
