"""A search that is interrupted and continued ends as one that was not interrupted."""

import numpy as np
import pytest

from rankwise import (
    BradleyTerryCV,
    Checkpoint,
    CurveRankerCV,
    HullRankerCV,
    OrdinalSVMCV,
    RankLogistic,
    RankLogisticCV,
    RankPlackettLuceCV,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
)
from rankwise.datasets import make_ranking
from rankwise.model_selection import QueryKFold, folds

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


def rows(n, n_queries, noise=1.0):
    return make_ranking(n, 5, n_queries=n_queries, n_levels=4, noise=noise, random_state=1)


LARGE, SMALL = rows(6000, 60), rows(300, 12)


def weak_rows(n, n_features, n_queries, seed):
    """Rows whose best alpha lies above the grid."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    y = np.digitize(0.08 * X[:, :5].sum(axis=1) + rng.normal(size=n), [-1, 0, 1])
    return X, y, np.repeat(np.arange(n_queries), n // n_queries)


WEAK, LARGE_WEAK = weak_rows(300, 40, 30, 4), weak_rows(6000, 20, 60, 0)
VALID = {"validation": rows(200, 10)}


def top_score(model, X, y):
    """A scorer of models: the gain of the ten best rows."""
    return float(np.sort(np.argsort(-model.predict(X))[:10]).mean())


# An estimator that chooses alpha, its rows, and options of the fit.
CASES = {
    "hinge in lockstep": (RankSVMCV(), LARGE, {}),
    "hinge in lockstep, wide grid": (RankSVMCV(alphas=np.logspace(2, -9, 12)), LARGE, {}),
    "hinge refitted": (RankSVMCV(), SMALL, {}),
    "squared hinge in lockstep": (RankSVMCV(loss="squared_hinge"), LARGE, {}),
    "squared hinge refitted": (RankSVMCV(loss="squared_hinge"), SMALL, {}),
    "logistic in lockstep": (RankLogisticCV(), LARGE, {}),
    "logistic refitted": (RankLogisticCV(), SMALL, {}),
    "logistic, calibrated": (RankLogisticCV(calibrated=True), SMALL, {}),
    "larger alphas refitted": (RankSVMCV(), WEAK, {}),
    "larger alphas in lockstep": (RankSVMCV(), LARGE_WEAK, {}),
    "kernel": (RankSVMCV(kernel="rbf", gamma=0.5), SMALL, {}),
    "published algorithm": (RankSVMCV(solver="bmrm", alphas=[1.0, 0.1, 0.01]), SMALL, {}),
    "validation rows": (RankSVMCV(), SMALL, VALID),
    "validation rows, many": (RankLogisticCV(), LARGE, VALID),
    "scorer of models": (RankLogisticCV(scoring=top_score, cv=QueryKFold(3)), SMALL, {}),
    "queries left out": (RankLogisticCV(cv="leave-query-out"), SMALL, {}),
    "few features": (RankLogisticCV(l1_ratio=0.9), SMALL, {}),
    "few features, validation rows": (RankSVMCV(loss="squared_hinge", l1_ratio=0.5), SMALL, VALID),
    "few features of lists": (RankPlackettLuceCV(l1_ratio=0.9, alphas=np.logspace(-1, -3, 6)), SMALL, {}),
    "several ratios": (RankLogisticCV(l1_ratio=[0.5, 0.9], alphas=[0.1, 0.01]), SMALL, {}),
    "curves": (CurveRankerCV(n_bins=8), SMALL, {}),
    "least squares": (RankRLSCV(cv=4), SMALL, {}),
    "alpha chosen in the fit": (RankSVM("auto"), SMALL, {}),
    "alpha chosen in the fit, smooth": (RankLogistic("auto"), LARGE, {}),
}
CASES |= {
    "ordinal": (OrdinalSVMCV(), SMALL, {}),
    "hull": (HullRankerCV(), rows(80, 4), {}),
}


class StopError(Exception):
    """The end of the process."""


class Stopping(Checkpoint):
    """A checkpoint of a search that stops after a number of candidates."""

    def __init__(self, path, most):
        super().__init__(path)
        self.most = most

    def searched(self, progress):
        super().searched(progress)
        if len(progress.errors) + len(progress.above) == self.most and not progress.is_over:
            raise StopError


class Counting(Checkpoint):
    """A checkpoint that counts the candidates compared, and those above the grid."""

    n_compared, n_above = 0, 0

    def searched(self, progress):
        super().searched(progress)
        self.n_compared += not progress.is_over
        self.n_above = len(progress.above)


def fitted(model, data, options, callback):
    X, y, qid = data
    queries = {} if isinstance(model, OrdinalSVMCV | HullRankerCV) else {"qid": qid}
    return type(model)(**model.get_params() | {"callback": callback}).fit(X, y, **queries, **options)


def assert_same(found, expected):
    for name in ("alpha_", "alphas_", "cv_errors_", "coef_", "dual_coef_", "objective_", "temperature_"):
        if hasattr(expected, name):
            # Bits are equal but for about one fit in several hundred, which a mere repetition changes, too.
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=1e-12, atol=0, err_msg=name
            )


@pytest.mark.parametrize("name", CASES)
def test_a_continued_search_ends_as_one_without_an_interruption(name, tmp_path):
    model, data, options = CASES[name]
    whole = Counting(tmp_path / "whole", every=10**6)
    expected = fitted(model, data, options, whole)
    assert_same(fitted(model, data, options, None), expected)
    keeps_state = name not in ("least squares", "several ratios")
    n, n_above = whole.n_compared, whole.n_above
    for most in sorted({1, n // 2, n - n_above, n}):
        path = tmp_path / f"stopped {most}"
        try:
            fitted(model, data, options, Stopping(path, most))
        except StopError:
            assert path.exists() == keeps_state
        rest = Counting(path, every=10**6)
        assert_same(fitted(model, data, options, rest), expected)
        assert rest.n_compared == whole.n_compared - (most if keeps_state else 0)


def test_larger_alphas_are_among_the_cases(tmp_path):
    for name in ("larger alphas refitted", "larger alphas in lockstep"):
        callback = Counting(tmp_path / name)
        fitted(*CASES[name], callback)
        assert callback.n_above > 0, name


def test_folds_that_are_fitted_one_after_the_other_are_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(folds, "MOST_BYTES", 0)
    test_a_continued_search_of_large_folds(tmp_path)


def test_a_continued_search_of_large_folds(tmp_path):
    expected = fitted(RankSVMCV(), SMALL, {}, None)
    with pytest.raises(StopError):
        fitted(RankSVMCV(), SMALL, {}, Stopping(tmp_path / "fit", 3))
    assert_same(fitted(RankSVMCV(), SMALL, {}, Checkpoint(tmp_path / "fit")), expected)


def test_rows_on_dask_are_searched_again(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y, qid = SMALL
    remote = da.from_array(X, chunks=(100, 5)), y, qid
    expected = fitted(RankSVMCV(), remote, {}, None)
    with pytest.raises(StopError):
        fitted(RankSVMCV(), remote, {}, Stopping(tmp_path / "fit", 3))
    assert_same(fitted(RankSVMCV(), remote, {}, Checkpoint(tmp_path / "fit")), expected)


def test_the_search_of_other_data_is_refused(tmp_path):
    with pytest.raises(StopError):
        fitted(RankSVMCV(), SMALL, {}, Stopping(tmp_path / "fit", 3))
    with pytest.raises(ValueError, match="has another search: it is a checkpoint of other data"):
        fitted(RankSVMCV(), WEAK, {}, Checkpoint(tmp_path / "fit"))
    with np.load(tmp_path / "fit") as file:
        alphas = file["search/grid"]
    for model in (RankSVMCV(alphas=alphas), RankLogisticCV(alphas=alphas)):
        with pytest.raises(ValueError, match="has another search"):
            fitted(model, LARGE, {}, Checkpoint(tmp_path / "fit"))


def other_votes(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.permuted(np.tile(np.arange(6), (200, 1)), axis=1)[:, :2].T
    return first, second


@pytest.mark.parametrize("change", ["rows", "labels", "folds", "queries left out"])
def test_the_search_of_other_data_of_the_same_shape_is_refused(change, tmp_path):
    X, y, qid = SMALL
    cv = "leave-query-out" if change == "queries left out" else 5
    alphas = [1.0, 0.01]
    model = RankLogisticCV(alphas, cv=cv, callback=Checkpoint(tmp_path / "fit")).fit(X, y, qid=qid)
    again = RankLogisticCV(alphas, cv=cv, callback=Checkpoint(tmp_path / "fit"))
    np.testing.assert_array_equal(again.fit(X.copy(), y.copy(), qid=qid).cv_errors_, model.cv_errors_)
    if change == "folds":
        again.set_params(cv=QueryKFold(5))
    X, y = -X if change in ("rows", "queries left out") else X, -y if change == "labels" else y
    again.set_params(callback=Checkpoint(tmp_path / "fit"))
    with pytest.raises(ValueError, match="has another search"):
        again.fit(X, y, qid=qid)


def test_the_search_of_other_votes_is_refused(tmp_path):
    def search(**parameters):
        return BradleyTerryCV([0.1, 0.01], cv=3, callback=Checkpoint(tmp_path / "fit"), **parameters)

    expected = BradleyTerryCV([0.1, 0.01], cv=3).fit(*other_votes(0))
    for _ in range(2):
        np.testing.assert_array_equal(search().fit(*other_votes(0)).cv_errors_, expected.cv_errors_)
    for parameters, votes in (({}, other_votes(1)), ({"order_effect": True}, other_votes(0))):
        with pytest.raises(ValueError, match="has another search"):
            search(**parameters).fit(*votes)
