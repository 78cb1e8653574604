"""Ordinal regression on Dask: the choice of alpha, the boundaries and the probabilities of memory."""

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import OrdinalSVM, OrdinalSVMCV

da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")


def make_data(n_rows):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 3))
    grades = np.digitize(X @ [1.0, 0.5, 0.0] + generator.normal(size=n_rows), [-1.0, 0.5, 1.5])
    return X, np.array(["a", "b", "c", "d"])[grades]


def on_dask(X):
    return da.from_array(X, chunks=(len(X) // 3 + 1, 3))


@pytest.mark.parametrize("n_rows", [240, 6000])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"thresholds": "midpoint", "loss": "squared_hinge"},
        {"scoring": "error"},
        {"class_weight": "balanced", "calibrated": True},
    ],
)
def test_the_choice_and_the_labels_are_those_of_memory(options, n_rows):
    X, y = make_data(n_rows)
    model = OrdinalSVMCV(alphas=[1e-1, 1e-2], cv=3, categories=list("abcd"), **options)
    here, there = clone(model).fit(X, y), clone(model).fit(on_dask(X), da.from_array(y))
    np.testing.assert_allclose(there.cv_errors_, here.cv_errors_)
    assert there.alpha_ == here.alpha_
    np.testing.assert_allclose(there.thresholds_, here.thresholds_, rtol=1e-6)
    np.testing.assert_array_equal(there.predict(on_dask(X)), here.predict(X))
    if model.calibrated:
        np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-6)


def test_probabilities_of_one_alpha_are_those_of_memory():
    X, y = make_data(240)
    model = OrdinalSVM(1e-2, calibrated=True, categories=list("abcd"))
    here, there = (clone(model).fit(rows, y) for rows in (X, on_dask(X)))
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-6)


def test_what_needs_rows_in_memory_is_refused():
    X, y = make_data(60)
    model = OrdinalSVMCV(categories=list("abcd"))
    with pytest.raises(ValueError, match=r"validation needs all rows in one place, but X is on Dask"):
        model.fit(on_dask(X), y, validation=(X, y))
    with pytest.raises(ValueError, match="A scorer takes rows in memory, but X is on Dask"):
        clone(model).set_params(scoring=lambda model, X, y: 0.0).fit(on_dask(X), y)
