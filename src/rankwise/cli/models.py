"""From options to estimators and scalers, and from model files to scores."""

from __future__ import annotations

import argparse
import inspect
import os
from dataclasses import dataclass
from typing import Any

from rankwise.cli.arguments import UsageError
from rankwise.cli.data import is_table
from rankwise.core.pipelines import before_last_step, last_step, scales_queries

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
    "n_bins",
    "shape",
    "interactions",
    "tol",
    "max_iter",
)
# What scales the rows of each query by themselves.
QUERY_SCALES = {"query-minmax": "minmax", "query-standard": "standard", "query-rank": "rank"}
ESTIMATORS = {
    "rank-svm": "RankSVM",
    "rank-logistic": "RankLogistic",
    "rank-rls": "RankRLS",
    "ordinal-svm": "OrdinalSVM",
    "hull": "HullRanker",
    "boosted": "BoostedRanker",
    "curve": "CurveRanker",
}


@dataclass(frozen=True)
class Recipe:
    """What to learn: an estimator with its parameters but alpha, and the scaler in front of it."""

    method: str
    parameters: dict[str, Any]
    scale: str = "none"
    scoring: str = "error"
    undefined: Any = "skip"
    light: bool = False  # see `starts_light`

    def ranker(self, **more: Any) -> Any:
        """Make the estimator."""
        return ranker_class(self.method, self.light)(**(self.parameters | more))

    @property
    def tuned(self) -> str:
        """The parameter that cross-validation chooses."""
        return ranker_class(self.method, self.light).tuned

    def scaler(self, X: Any) -> Any:
        """Make the scaler, or None."""
        return make_scaler(self.scale, X)


def ranker_class(method: str, light: bool = False) -> Any:
    """Return the estimator of a method, or with `light` what learns the same without scikit-learn."""
    if light:
        from rankwise.estimators.linear_ranker import LinearRanker

        return LinearRanker
    from rankwise import estimators

    return getattr(estimators, ESTIMATORS[method])


def starts_light(options: argparse.Namespace) -> bool:
    """Return whether a training asks for no more than a `LinearRanker` has, which starts at once."""
    others = ("calibrate", "stream", "dask", "survival")
    return (
        options.method == "rank-svm"
        and options.kernel in (None, "linear")
        and options.scale == "none"
        and not getattr(options, "tune", True)  # the command `tune` has no such option
        and not is_table(options.data[0])
        and all(getattr(options, name, None) is None for name in others)
    )


def recipe_of(options: argparse.Namespace) -> Recipe:
    """Gather the parameters that were asked for; refuse those that the estimator does not have."""
    light = starts_light(options)
    kind = ranker_class(options.method, light)
    known = kind().get_params(deep=False)
    if getattr(options, "survival", None) is not None:
        check_survival(options)
    take_order(options)
    if options.scale in QUERY_SCALES and not takes_queries(kind):
        raise UsageError(
            f"--scale {options.scale} does not go with --method {options.method}, which takes no queries."
        )
    given = {name: getattr(options, name) for name in SHARED if getattr(options, name) is not None}
    for name in given:
        if name not in known:
            raise UsageError(f"--{name.replace('_', '-')} does not go with --method {options.method}.")
    if options.categories is not None and "categories" in known:
        given["categories"] = options.categories
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
    undefined = "skip" if options.undefined is None else options.undefined
    scoring = scoring_of(options, kind(**given))
    return Recipe(options.method, given, options.scale, scoring, undefined, light)


def take_order(options: argparse.Namespace) -> None:
    """Turn the order of classes into edges between labels as they are read."""
    edges, categories = options.order, options.categories
    if categories is not None and len(set(categories)) < max(2, len(categories)):
        raise UsageError("--categories must be two or more words that differ.")
    if isinstance(edges, list):
        named = list(dict.fromkeys(name for edge in edges for name in edge))
        try:
            if categories is None:
                options.order = [(float(high), float(low)) for high, low in edges]
        except ValueError:  # words, in a table: they are the categories
            options.categories = named
        unknown = [name for name in named if categories is not None and name not in categories]
        if unknown:
            raise UsageError(f"--order names {unknown[0]}, which is none of the --categories.")
    elif options.method == "hull" and categories is not None:
        options.order = edges_of(edges or "chain", categories)


def edges_of(order: str, categories: list[str]) -> list[tuple[str, str]]:
    """Return the edges of a chain, or of all pairs, of categories from the lowest up.

    Examples
    --------
    >>> edges_of("chain", ["bad", "fair", "good"])
    [('fair', 'bad'), ('good', 'fair')]
    """
    reach = 1 if order == "chain" else len(categories)
    return [(high, low) for k, high in enumerate(categories) for low in categories[max(0, k - reach) : k]]


def check_survival(options: argparse.Namespace) -> None:
    """Refuse what does not go with right-censored times."""
    if options.method in ("ordinal-svm", "hull"):
        raise UsageError(f"--survival does not go with --method {options.method}, which learns classes.")
    if options.scale in QUERY_SCALES or options.pair_weight is not None:
        raise UsageError("--survival does not go with --scale query-... or --pair-weight.")


def scoring_of(options: argparse.Namespace, ranker: Any) -> str:
    """Return what candidates are compared by: the log loss where a model has probabilities, by default."""
    has_probabilities = hasattr(ranker, "predict_pair_proba")
    if options.scoring is None:
        return "log_loss" if has_probabilities else "error"
    from rankwise.model_selection.scoring import as_scoring

    scoring = options.scoring.replace("-", "_")
    if scoring == "log_loss" and not has_probabilities:
        raise UsageError(f"--metric log-loss does not go with --method {options.method}.")
    try:
        return as_scoring(scoring).key
    except ValueError as error:
        raise UsageError(str(error).replace("scoring must", "--metric must")) from None


def check_kernel(kernel: str) -> None:
    """Refuse a kernel that there is not, or that files cannot hold."""
    if kernel == "linear":
        return
    from rankwise.kernels import kernel_names

    if kernel == "precomputed":
        raise UsageError("--kernel precomputed needs a kernel matrix, which files do not hold.")
    if kernel not in kernel_names():
        raise UsageError(f"--kernel must be one of {', '.join(kernel_names())}; got {kernel}.")


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
    if scale == "none":
        return None
    import scipy.sparse as sp
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if scale == "minmax" and sp.issparse(X):
        raise ValueError("--scale minmax would make the sparse data dense; use maxabs, which keeps zeros.")
    if scale in QUERY_SCALES:
        from rankwise.preprocessing import QueryScaler

        return QueryScaler(QUERY_SCALES[scale])
    scalers = {
        "standard": lambda: StandardScaler(with_mean=not sp.issparse(X)),
        "minmax": MinMaxScaler,
        "maxabs": MaxAbsScaler,
    }
    return scalers[scale]()


def fit_scaled(scaler: Any, X: Any, qid: Any) -> Any:
    """Return the rows behind a scaler that is fitted to them."""
    if scaler is None:
        return X
    if not scales_by_query(scaler):
        from rankwise.cli.stream import scale_rows

        return scale_rows(scaler, X)
    if qid is None:
        raise ValueError(
            "--scale query-... scales within queries, but the data has none; name their column by --qid."
        )
    return scaler.fit_transform(X, qid=qid)


def scales_by_query(scaler: Any) -> bool:
    """Tell whether a scaler looks at each query by itself."""
    return type(scaler).__name__ == "QueryScaler"


def with_scaler(scaler: Any, ranker: Any) -> Any:
    """Return the ranker behind its scaler, both of them fitted."""
    if scaler is None:
        return ranker
    from sklearn.pipeline import Pipeline

    return Pipeline([("scale", scaler), ("rank", ranker)])


def load_any_model(path: str) -> Any:
    """Load a model of our own or of SVMrank."""
    if is_svmrank_model(path):
        from rankwise.export import read_svmrank_model

        return read_svmrank_model(path)
    from rankwise.io.model_file import LEADERBOARDS, ModelFileError, load_model

    model = load_model(path)
    if type(model).__name__ in LEADERBOARDS:
        raise ModelFileError(f"{path!r} scores named items and no rows; `rankwise leaderboard` takes it.")
    return model


def load_scorer(path: str) -> Any:
    """Load what scores rows: a linear model without scikit-learn, any other as `load_any_model` does."""
    from rankwise.estimators.linear_ranker import LinearRanker
    from rankwise.io.linear_model_file import load_linear_scorer
    from rankwise.io.svmrank_file import read_svmrank_weights

    if not is_svmrank_model(path):
        return load_linear_scorer(path) or load_any_model(path)
    scorer: Any = LinearRanker()
    scorer.coef_, scorer.threshold_ = read_svmrank_weights(path)
    scorer.n_features_in_ = len(scorer.coef_)
    return scorer


def save_any_model(model: Any, path: str, **more: Any) -> None:
    """Write a model to a file of our own."""
    if is_light(model):
        from rankwise.io.linear_model_file import save_linear_model

        save_linear_model(model, path, **more)
        return
    from rankwise.io.model_file import save_model

    save_model(model, path, **more)


def is_light(model: Any) -> bool:
    """Return whether a model is linear and takes rows without scipy."""
    from rankwise.estimators.linear_ranker import LinearRanker

    return isinstance(model, LinearRanker)


def is_svmrank_model(path: str | os.PathLike[str]) -> bool:
    """Tell a model.dat of SVMrank by its first line."""
    with open(path, "rb") as file:
        return file.read(9) == b"SVM-light"


def scores_of(model: Any, X: Any, qid: Any = None, *, labels: bool = False) -> Any:
    """Return the score of each row, or with `labels` the label that an ordinal model predicts."""
    if scales_queries(model) and qid is None:
        raise ValueError("The model scales features within queries, but the data has none; name --qid.")
    ranker, X = last_step(model), before_last_step(model, _acceptable(model, X), qid)
    if hasattr(ranker, "utility") and not labels:
        return ranker.utility(X)
    scores = ranker.predict(X)
    # A model.dat of SVM-light has a number b to subtract; `predict` leaves it out, as it changes no order.
    return scores - ranker.threshold_ if hasattr(ranker, "threshold_") else scores


def _acceptable(model: Any, X: Any) -> Any:
    """Return sparse rows as an array where a scaler shifts features."""
    shifts = any(
        type(step).__name__ == "MinMaxScaler" or getattr(step, "with_mean", False)
        for _, step in getattr(model, "steps", [])
    )
    return X.toarray() if shifts and hasattr(X, "toarray") else X
