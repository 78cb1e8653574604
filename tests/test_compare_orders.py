"""Order graphs compared by cross-validation."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import HullRanker, NoPairsError
from rankwise.metrics import wmw
from rankwise.model_selection import compare_orders

ENDS = [(2, 0)]


def data(m=60):
    random = np.random.default_rng(0)
    X = random.normal(size=(m, 3)) * [1.0, 5.0, 0.2]
    return X, np.digitize(X[:, 0] + X[:, 1] / 5 + random.normal(size=m), [-1.0, 1.0])


@pytest.mark.parametrize("judge", ["full", [(2, 1), (1, 0)]])
def test_each_order_is_fitted_to_each_fold_and_judged_over_the_same_edges(judge):
    X, y = data()
    model = make_pipeline(StandardScaler(), HullRanker(slack="absolute"))
    alphas = [1e-1, 1e-3]
    found = compare_orders(model, X, y, {"chain": "chain", "ends": ENDS}, judge=judge, alphas=alphas, cv=4)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    for k, order in enumerate(["chain", ENDS]):
        expected = [
            [
                wmw(y[test], model.set_params(hullranker__order=order, hullranker__alpha=alpha)
                    .fit(X[train], y[train]).predict(X[test]), order=judge)
                for train, test in folds
            ]
            for alpha in alphas
        ]  # fmt: skip
        best = int(np.argmax(np.mean(expected, axis=1)))
        np.testing.assert_allclose(found.scores[k], expected[best])
        assert found.alphas[k] == alphas[best]
    assert found.n_edges == [2, 1]
    assert found.best_order == ["chain", ENDS][found.best]


def test_table_has_the_best_first_and_its_lead_by_folds():
    X, y = data()
    found = compare_orders(HullRanker(), X, y, ["full", ENDS, "chain"], cv=3)
    assert found.names == ["full", "order 2", "chain"]
    head, *lines = str(found).splitlines()
    assert head.split()[:4] == ["order", "edges", "alpha", "mean"]
    assert [float(line.split()[-6]) for line in lines] == sorted(found.mean.round(4), reverse=True)
    assert lines[0].endswith("0.0000 ± 0.0000")
    last = int(np.argmin(found.mean))
    behind = found.scores[found.best] - found.scores[last]
    assert lines[-1].endswith(f"{behind.mean():.4f} ± {behind.std(ddof=1) / np.sqrt(3):.4f}")


def test_precomputed_kernels_and_splitters():
    X, y = data(40)
    K, folds = X @ X.T, [(np.arange(30), np.arange(30, 40)), (np.arange(10, 40), np.arange(10))]
    by_kernel = compare_orders(HullRanker(1e-1, kernel="precomputed"), K, y, "chain", cv=folds)
    linear = compare_orders(HullRanker(1e-1), X, y, "chain", cv=folds)
    np.testing.assert_allclose(by_kernel.scores, linear.scores)


def test_invalid_input_raises_an_error():
    X, y = data()
    with pytest.raises(ValueError, match="orders must hold at least one order; got none"):
        compare_orders(HullRanker(), X, y, {})
    with pytest.raises(NoPairsError, match="No fold has pairs of rows to score"):
        compare_orders(HullRanker(), X, y, judge=[(8, 7)], cv=3)
    with pytest.raises(ValueError, match="cv must be an integer"):
        compare_orders(HullRanker(), X, y, cv=0)


def test_display_shows_means_and_folds():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from rankwise.plotting import OrderComparisonDisplay

    X, y = data()
    found = compare_orders(HullRanker(), X, y, {"all": "full", "ends": ENDS}, cv=3)
    display = OrderComparisonDisplay(found).plot()
    order = np.argsort(-found.mean, kind="stable")
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [found.names[k] for k in order]
    *folds, _, means = display.drawn_.marks
    np.testing.assert_allclose(means.x, found.mean[order])
    np.testing.assert_allclose(np.column_stack([line.x for line in folds]), found.scores[order])
    matplotlib.pyplot.close(display.figure_)
