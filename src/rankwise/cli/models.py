"""From options to estimators and scalers, and from model files to scores."""

from __future__ import annotations

import argparse
import inspect
import os
from dataclasses import dataclass
from typing import Any

from rankwise._pipeline import last_step
from rankwise.cli.arguments import UsageError

# Options of the command line that are parameters of estimators under the same name.
SHARED = (
    "loss",
    "cost",
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "n_components",
    "average",
    "pair_weight",
    "thresholds",
    "order",
    "slack",
    "slack_per",
    "n_estimators",
    "learning_rate",
    "num_leaves",
    "tol",
    "max_iter",
)
ESTIMATORS = {
    "rank-svm": "RankSVM",
    "rank-logistic": "RankLogistic",
    "rank-rls": "RankRLS",
    "ordinal-svm": "OrdinalSVM",
    "hull": "HullRanker",
    "boosted": "BoostedRanker",
}


@dataclass(frozen=True)
class Recipe:
    """What to learn: an estimator with its parameters but alpha, and the scaler in front of it."""

    method: str
    parameters: dict[str, Any]
    scale: str = "none"
    scoring: str = "error"

    def ranker(self, **more: Any) -> Any:
        """Make the estimator."""
        return estimator_class(self.method)(**(self.parameters | more))

    @property
    def tuned(self) -> str:
        """The parameter that cross-validation chooses."""
        return estimator_class(self.method)._tuned

    def scaler(self, X: Any) -> Any:
        """Make the scaler, or None."""
        return make_scaler(self.scale, X)


def estimator_class(method: str) -> Any:
    """Return the class of a method."""
    from rankwise import estimators

    return getattr(estimators, ESTIMATORS[method])


def recipe_of(options: argparse.Namespace) -> Recipe:
    """Gather the parameters that were asked for; refuse those that the estimator does not have."""
    known = estimator_class(options.method)().get_params(deep=False)
    given = {name: getattr(options, name) for name in SHARED if getattr(options, name) is not None}
    for name in given:
        if name not in known:
            raise UsageError(f"--{name.replace('_', '-')} does not go with --method {options.method}.")
    if given.get("loss") == "least-squares" and options.method != "boosted":
        raise UsageError(
            f"--loss least-squares does not go with --method {options.method}; --method rank-rls has it."
        )
    for name in {"loss", "thresholds"} & set(given):
        given[name] = given[name].replace("-", "_")
    check_kernel(given.get("kernel", "linear"))
    for name in ("alpha", "alphas"):
        if "alpha" not in known and getattr(options, name, None) is not None:
            raise UsageError(f"--{name} does not go with --method {options.method}.")
    always = {"random_state": options.seed, "n_jobs": options.jobs}
    given |= {name: value for name, value in always.items() if name in known}
    ranker = estimator_class(options.method)(**given)
    return Recipe(options.method, given, options.scale, scoring_of(options, ranker))


def scoring_of(options: argparse.Namespace, ranker: Any) -> str:
    """Return what candidates are compared by: the log loss where a model has probabilities, by default."""
    has_probabilities = hasattr(ranker, "predict_pair_proba")
    if options.scoring is None:
        return "log_loss" if has_probabilities else "error"
    if options.scoring == "log-loss" and not has_probabilities:
        raise UsageError(f"--scoring log-loss does not go with --method {options.method}.")
    return options.scoring.replace("-", "_")


def check_kernel(kernel: str) -> None:
    """Refuse a kernel that scikit-learn does not have, or that files cannot hold."""
    from sklearn.metrics.pairwise import kernel_metrics

    if kernel == "precomputed":
        raise UsageError("--kernel precomputed needs a kernel matrix, which files do not hold.")
    if kernel not in kernel_metrics():
        raise UsageError(f"--kernel must be one of {', '.join(sorted(kernel_metrics()))}; got {kernel}.")


def takes_queries(ranker: Any) -> bool:
    """Return whether an estimator compares rows within queries."""
    return "qid" in inspect.signature(ranker.fit).parameters


def fit_ranker(ranker: Any, X: Any, y: Any, qid: Any) -> Any:
    """Fit an estimator, with the queries where there are some."""
    return ranker.fit(X, y) if qid is None else ranker.fit(X, y, qid=qid)


def make_scaler(scale: str, X: Any) -> Any:
    """Return a scaler for the data, or None.

    Sparse data stays sparse: the standard scaler then leaves the means where they are, which changes no
    difference of two rows.
    """
    import scipy.sparse as sp
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if scale == "minmax" and sp.issparse(X):
        raise ValueError("--scale minmax would make the sparse data dense; use maxabs, which keeps zeros.")
    scalers = {
        "none": lambda: None,
        "standard": lambda: StandardScaler(with_mean=not sp.issparse(X)),
        "minmax": MinMaxScaler,
        "maxabs": MaxAbsScaler,
    }
    return scalers[scale]()


def with_scaler(scaler: Any, ranker: Any) -> Any:
    """Return the ranker behind its scaler, both of them fitted."""
    from sklearn.pipeline import Pipeline

    return ranker if scaler is None else Pipeline([("scale", scaler), ("rank", ranker)])


def load_any_model(path: str) -> Any:
    """Load a model of our own or of SVMrank."""
    if is_svmrank_model(path):
        from rankwise.io.export import read_svmrank_model

        return read_svmrank_model(path)
    from rankwise.io.model_file import LEADERBOARDS, ModelFileError, load_model

    model = load_model(path)
    if type(model).__name__ in LEADERBOARDS:
        raise ModelFileError(f"{path!r} scores named items and no rows; `rankwise leaderboard` takes it.")
    return model


def is_svmrank_model(path: str | os.PathLike[str]) -> bool:
    """Tell a model.dat of SVMrank by its first line."""
    with open(path, "rb") as file:
        return file.read(9) == b"SVM-light"


def scores_of(model: Any, X: Any, *, labels: bool = False) -> Any:
    """Return the score of each row, or with `labels` the label that an ordinal model predicts."""
    X = _acceptable(model, X)
    ranker = last_step(model)
    if hasattr(ranker, "utility") and not labels:
        return ranker.utility(model[:-1].transform(X) if ranker is not model else X)
    scores = model.predict(X)
    # A model.dat of SVM-light has a number b to subtract; `predict` leaves it out, as it changes no order.
    from_svm_light = type(ranker).__name__ == "RankSVM" and hasattr(ranker, "threshold_")
    return scores - ranker.threshold_ if from_svm_light else scores


def _acceptable(model: Any, X: Any) -> Any:
    """Return sparse rows as an array where a scaler shifts features."""
    shifts = any(
        type(step).__name__ == "MinMaxScaler" or getattr(step, "with_mean", False)
        for _, step in getattr(model, "steps", [])
    )
    return X.toarray() if shifts and hasattr(X, "toarray") else X
