"""Fitted models in the files of skops and of MLflow; without these packages, their tests are skipped."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    AutoRanker,
    BoostedRanker,
    CurveRanker,
    HullRanker,
    KernelRanker,
    OrdinalSVM,
    RankLogistic,
    RankRLS,
    RankSVM,
    RankSVMCV,
)
from rankwise.losses import HuberHinge

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 3)), columns=["a", "b", "c"])
Y = np.digitize(X["a"] + 0.3 * RNG.normal(size=120), [-1.0, 0.0, 1.0])
SVM = "rankwise.estimators.rank_svm.RankSVM"
TRUSTED = {
    RankSVM: [SVM],
    RankRLS: ["rankwise.estimators.rank_rls.RankRLS"],
    RankLogistic: ["rankwise.estimators.rank_logistic.RankLogistic"],
    RankSVMCV: ["rankwise.estimators.rank_svm.RankSVMCV"],
    OrdinalSVM: ["rankwise.estimators.ordinal_svm.OrdinalSVM"],
    HullRanker: ["rankwise.estimators.hull_ranker.HullRanker"],
    CurveRanker: ["rankwise.estimators.curve_ranker.CurveRanker"],
    BoostedRanker: ["rankwise.estimators.boosted_ranker.BoostedRanker"],
    KernelRanker: [
        "rankwise.data.table_encoder.TableEncoder",
        "rankwise.estimators.kernel_ranker.KernelRanker",
        SVM,
    ],
}


def through_skops(model, trusted):
    """Return the model as skops reads it back."""
    skops = pytest.importorskip("skops.io")
    text = skops.dumps(model)
    assert skops.get_untrusted_types(data=text) == trusted
    return skops.loads(text, trusted=trusted)


@pytest.mark.parametrize("kind", TRUSTED)
def test_skops_reads_what_it_has_written(kind):
    if kind is BoostedRanker:
        pytest.importorskip("lightgbm")
    model = kind(n_estimators=5) if kind is BoostedRanker else kind()
    rows = StandardScaler().set_output(transform="pandas").fit_transform(X)
    model.fit(rows, Y)
    np.testing.assert_array_equal(through_skops(model, TRUSTED[kind]).predict(rows), model.predict(rows))


def test_skops_reads_pipelines_losses_and_the_choice_of_a_search():
    model = make_pipeline(StandardScaler(), RankSVM(loss=HuberHinge(width=0.5))).fit(X, Y)
    read = through_skops(model, [SVM, "rankwise.losses.huber_hinge.HuberHinge"])
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    search = AutoRanker(None, candidates=["linear"], cv=2).fit(X, Y)
    trusted = [f"{type(search.best_estimator_[-1]).__module__}.{type(search.best_estimator_[-1]).__name__}"]
    read = through_skops(search.best_estimator_, trusted)
    np.testing.assert_array_equal(read.predict(X), search.predict(X))


def test_mlflow_reads_what_it_has_written(tmp_path):
    pytest.importorskip("skops")
    sklearn = pytest.importorskip("mlflow.sklearn")
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    model = make_pipeline(StandardScaler(), RankSVM(alpha=0.1)).fit(X, Y)
    sklearn.save_model(
        model,
        tmp_path / "model",
        serialization_format="skops",
        skops_trusted_types=[SVM],
        pip_requirements=["rankwise"],
    )
    for read in (sklearn, pyfunc):
        loaded = read.load_model(str(tmp_path / "model"))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
