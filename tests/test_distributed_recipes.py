"""Recipes of the page on Dask: LightGBM's own training with our objective, and grouped matches."""

import logging

import numpy as np
import pytest

from rankwise import BradleyTerry, objectives
from rankwise.datasets import make_ranking
from rankwise.metrics import ranking_error

pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
pd = pytest.importorskip("pandas")


@pytest.mark.filterwarnings("ignore")  # of LightGBM, about parameters that it sets itself
def test_lightgbm_trains_on_dask_with_our_objective():
    lgb = pytest.importorskip("lightgbm", reason="needs rankwise[lightgbm]")
    import dask.array as da

    X, y, qid = make_ranking(800, 4, n_queries=40, n_levels=4, noise=0.5, random_state=0)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    lengths = np.bincount(qid // 10)  # four partitions of ten whole queries
    sizes = np.bincount(qid)
    options = {"n_estimators": 15, "min_child_samples": 10, "verbose": -1, "num_leaves": 7}
    started = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "processes": True}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **started) as cluster,
        distributed.Client(cluster),
    ):
        rows = da.from_array(X, chunks=(tuple(lengths), 4))
        labels = da.from_array(y.astype(float), chunks=(tuple(lengths),))
        group = da.from_array(sizes, chunks=10)
        model = lgb.DaskLGBMRanker(objective=objectives.lightgbm(loss="logistic"), **options)
        scores = model.fit(rows, labels, group=group).predict(rows).compute()
    local = lgb.LGBMRanker(objective=objectives.lightgbm(loss="logistic"), n_jobs=1, **options)
    here = local.fit(X, y, group=sizes).predict(X)
    np.testing.assert_allclose(model.to_local().predict(X), scores)
    assert np.corrcoef(scores, here)[0, 1] > 0.97
    errors = [ranking_error(y, found, qid) for found in (scores, here, np.zeros(len(y)))]
    assert errors[0] < errors[1] + 0.02 < errors[2] - 0.2


def test_grouped_matches_give_the_leaderboard_of_all():
    dd = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 6, (600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    wins = rng.random(len(pairs)) < 1 / (1 + np.exp(0.4 * (pairs[:, 0] - pairs[:, 1])))
    ordered = np.where(wins[:, None], pairs, pairs[:, ::-1])
    played = pd.DataFrame(np.array(list("abcdef"))[ordered], columns=["winner", "loser"])
    matches = dd.from_pandas(played, npartitions=5)
    counts = matches.groupby(["winner", "loser"]).size().compute().rename("weight").reset_index()
    assert len(counts) == 30
    grouped, listed = BradleyTerry().fit(counts), BradleyTerry().fit(played)
    assert grouped.items_.tolist() == listed.items_.tolist()
    np.testing.assert_allclose(grouped.scores_, listed.scores_, atol=1e-6)
    np.testing.assert_allclose(grouped.standard_errors(), listed.standard_errors(), rtol=1e-5)
