"""The parameters of all estimators: names, order, kinds and defaults, and what scikit-learn asks of them."""

import copy
import inspect
import pickle

import pytest
from sklearn.base import clone

import rankwise

# As a caller writes them; those after the asterisk are given by name.
SIGNATURES = {
    "RankSVM": """
        alpha=0.001, *, loss="hinge", l1_ratio=0.0, penalty_weights=None, kernel="linear",
        gamma=None, degree=3, coef0=1.0, kernel_params=None, n_components=None, basis="uniform",
        average="queries", pair_weight=None, solver="auto", tol=0.001, max_iter=1000,
        warm_start=False, callback=None, n_jobs=None, random_state=None, verbose=0
    """,
    "RankSVMCV": """
        alphas=None, *, cv=5, scoring=None, one_standard_error=False, pooled=False, loss="hinge",
        l1_ratio=0.0, penalty_weights=None, kernel="linear", gamma=None, degree=3, coef0=1.0,
        kernel_params=None, n_components=None, basis="uniform", average="queries", pair_weight=None,
        solver="auto", tol=0.001, max_iter=1000, callback=None, n_jobs=None, random_state=None, verbose=0
    """,
    "RankLogistic": """
        alpha=0.001, *, l1_ratio=0.0, penalty_weights=None, kernel="linear", gamma=None, degree=3,
        coef0=1.0, kernel_params=None, n_components=None, basis="uniform", average="queries",
        pair_weight=None, solver="auto", tol=0.001, max_iter=1000, warm_start=False, callback=None,
        n_jobs=None, random_state=None, verbose=0
    """,
    "RankLogisticCV": """
        alphas=None, *, cv=5, scoring=None, one_standard_error=False, calibrated=False,
        l1_ratio=0.0, penalty_weights=None, kernel="linear", gamma=None, degree=3, coef0=1.0,
        kernel_params=None, n_components=None, basis="uniform", average="queries", pair_weight=None,
        solver="auto", tol=0.001, max_iter=1000, callback=None, n_jobs=None, random_state=None,
        verbose=0
    """,
    "RankRLS": """
        alpha=0.001, *, cost="magnitude", l1_ratio=0.0, penalty_weights=None, kernel="linear",
        gamma=None, degree=3, coef0=1.0, kernel_params=None, n_components=None, basis="uniform",
        average="queries", ties="keep", solver="auto", tol=1e-06, max_iter=1000, callback=None,
        n_jobs=None, random_state=None, verbose=0
    """,
    "RankRLSCV": """
        alphas=None, *, cv=None, scoring=None, one_standard_error=False, alpha_per_output=False,
        pooled=False, keep="alpha", cost="magnitude", l1_ratio=0.0, penalty_weights=None,
        kernel="linear", gamma=None, degree=3, coef0=1.0, kernel_params=None, n_components=None,
        basis="uniform", average="queries", ties="keep", solver="auto", tol=1e-06, max_iter=1000,
        callback=None, n_jobs=None, random_state=None, verbose=0
    """,
    "OrdinalSVM": """
        alpha=0.001, *, loss="hinge", kernel="linear", gamma=None, degree=3, coef0=1.0,
        kernel_params=None, n_components=None, thresholds="min_error", categories=None,
        error="absolute", class_weight=None, calibrated=False, solver="auto", tol=0.001, max_iter=1000,
        warm_start=False, callback=None, n_jobs=None, random_state=None, verbose=0
    """,
    "OrdinalSVMCV": """
        alphas=None, *, cv=5, scoring=None, loss="hinge", kernel="linear", gamma=None, degree=3,
        coef0=1.0, kernel_params=None, n_components=None, thresholds="min_error", categories=None,
        error="absolute", class_weight=None, calibrated=False, solver="auto", tol=0.001, max_iter=1000,
        callback=None, n_jobs=None, random_state=None, verbose=0
    """,
    "HullRanker": """
        alpha=0.001, *, order="chain", slack="squared", slack_per="edge", penalty="function",
        laplacian_weight=0.0, n_neighbors=10, class_weight=None, kernel="linear", gamma=None, degree=3,
        coef0=1.0, kernel_params=None, n_components=None, solver="auto", tol=1e-09, max_iter=200,
        callback=None, n_jobs=None, random_state=None, verbose=0
    """,
    "HullRankerCV": """
        alphas=None, *, cv=5, scoring=None, order="chain", slack="squared", slack_per="edge",
        penalty="function", laplacian_weight=0.0, n_neighbors=10, class_weight=None, kernel="linear",
        gamma=None, degree=3, coef0=1.0, kernel_params=None, n_components=None, solver="auto",
        tol=1e-09, max_iter=200, callback=None, n_jobs=None, random_state=None, verbose=0
    """,
    "BoostedRanker": """
        loss="squared_hinge", *, n_estimators=None, learning_rate=0.05, num_leaves=15, max_depth=-1,
        min_child_samples=None, subsample=0.8, colsample_bytree=1.0, colsample_bynode=0.7,
        reg_lambda=0.0, early_stopping_rounds=50, categorical_features=None, lightgbm_parameters=None,
        average="queries", pair_weight=None, warm_start=False, n_jobs=None, random_state=None, verbose=0,
        early_stopping="auto", validation_fraction=None, scoring=None
    """,
    "BoostedRankerCV": """
        loss="squared_hinge", *, n_estimators=None, learning_rate=0.05, num_leaves=15, max_depth=-1,
        min_child_samples=None, subsample=0.8, colsample_bytree=1.0, colsample_bynode=0.7,
        reg_lambda=0.0, early_stopping_rounds=50, categorical_features=None, lightgbm_parameters=None,
        average="queries", pair_weight=None, n_jobs=None, random_state=None, verbose=0, cv=5,
        scoring=None, param_grid=None
    """,
    "CurveRanker": """
        alpha="auto", *, loss="hinge", n_bins=128, shape="steps", interactions=0, interaction_bins=64,
        monotone=None, categorical_features=None, average="queries", pair_weight=None, solver="auto",
        tol=0.001, max_iter=1000, warm_start=False, callback=None, n_jobs=None, verbose=0
    """,
    "CurveRankerCV": """
        alphas=None, *, cv=None, scoring=None, loss="hinge", n_bins=128, shape="steps", interactions=0,
        interaction_bins=64, monotone=None, categorical_features=None, average="queries",
        pair_weight=None, solver="auto", tol=0.001, max_iter=1000, callback=None, n_jobs=None,
        random_state=None, verbose=0
    """,
    "KernelRanker": """
        loss="squared_hinge", *, alpha="learned", kernel="auto", n_components=None, average="queries",
        pair_weight=None, tol=0.001, max_iter=1000, callback=None, n_jobs=None, random_state=0, verbose=0
    """,
    "BradleyTerry": """
        alpha=None, *, tol=1e-16, max_iter=100, verbose=0, callback=None, intervals="debiased",
        link="logistic", ties="half", order_effect=False, feature_alpha=None, half_life=None
    """,
    "CrowdBradleyTerry": """
        alpha=None, *, tol=1e-16, max_iter=100, verbose=0, callback=None, intervals="debiased", half_life=None
    """,
    "PredictionPoweredBradleyTerry": """
        alpha=None, *, tol=1e-16, max_iter=100, verbose=0, callback=None, intervals="debiased"
    """,
    "BradleyTerryCV": """
        alphas=None, *, half_lives=None, cv=5, link="logistic", ties="half", order_effect=False,
        feature_alpha=None, intervals="debiased", tol=1e-16, max_iter=100, verbose=0, callback=None
    """,
}


def written(signature):
    """Return a signature as it is written, without annotations."""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return text.strip("()").replace("'", '"')


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_stay_as_they_are(name):
    assert written(inspect.signature(getattr(rankwise, name))) == " ".join(SIGNATURES[name].split())


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_survive_clone_copy_pickle_and_repr(name):
    kind = getattr(rankwise, name)
    changed = {"verbose": 2, "alphas" if name.endswith("CV") else "average": None}
    changed = {key: value for key, value in changed.items() if key in kind().get_params()}
    model = kind(**changed)
    for other in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
        assert vars(other) == vars(model)
    assert "verbose=2" in repr(model)
    with pytest.raises(TypeError, match="unexpected keyword argument 'verbosity'"):
        kind(verbosity=1)


@pytest.mark.parametrize("name", [name for name in SIGNATURES if name.endswith("CV")])
def test_an_estimator_that_chooses_alpha_has_none(name):
    model = getattr(rankwise, name)()
    assert not hasattr(model, "alpha")
    assert not hasattr(model, "warm_start")
    assert not isinstance(model, getattr(rankwise, name.removesuffix("CV")))
