"""The estimators of the commands: from options, from files and to files."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from inspect import signature
from typing import Any

import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from rankwise import estimators
from rankwise.cli.arguments import UsageError
from rankwise.cli.model_options import choices_of, declared_options, methods, taking_margins
from rankwise.core.pipelines import has_probabilities
from rankwise.data.query_scaler import QueryScaler
from rankwise.distributed import fit_steps
from rankwise.io.model_file import ModelFileError, load_model, save_model
from rankwise.io.svmrank import read_svmrank_model
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.model_selection.scoring import as_scoring

# The scalers that treat each query by itself.
QUERY_SCALES = {"query-minmax": "minmax", "query-standard": "standard", "query-rank": "rank"}


def make_scaler(scale: str, X: Any) -> Any:
    """Return a scaler for the data, or None.

    For sparse data the standard scaler does not subtract the means, which cancel in differences of rows.
    """
    if scale == "none":
        return None
    is_sparse = sp.issparse(X) or getattr(X, "is_sparse", False)  # rows in memory, or in partitions
    if scale == "minmax" and is_sparse:
        raise ValueError(
            "--scale minmax would make the sparse data dense; use maxabs, which preserves zeros."
        )
    if scale in QUERY_SCALES:
        return QueryScaler(QUERY_SCALES[scale])
    scalers = {
        "standard": lambda: StandardScaler(with_mean=not is_sparse),
        "minmax": MinMaxScaler,
        "maxabs": MaxAbsScaler,
    }
    return scalers[scale]()


def fit_scaled(scaler: Any, X: Any, qid: Any) -> Any:
    """Fit a scaler to the rows and return them scaled."""
    if scaler is None:
        return X
    by_query = scales_by_query(scaler)
    if by_query and qid is None:
        raise ValueError(
            "--scale query-... scales within queries, but the data has none; name their column by --qid."
        )
    if hasattr(X, "blocks"):  # partitions on Dask
        return fit_steps([scaler], X, qid=qid if by_query else None)
    if by_query:
        return scaler.fit_transform(X, qid=qid)
    return scaler.fit_transform(X)


def scales_by_query(scaler: Any) -> bool:
    """Return whether a scaler treats each query by itself."""
    return isinstance(scaler, QueryScaler)


def with_steps(encoder: Any, scaler: Any, ranker: Any) -> Any:
    """Return the pipeline of a fitted encoder, scaler and ranker, of which the first two may be None."""
    steps = {"encode": encoder, "scale": scaler, "rank": ranker}
    present = [(name, step) for name, step in steps.items() if step is not None]
    if len(present) == 1:
        return ranker
    return Pipeline(present)


@dataclass(frozen=True)
class Recipe:
    """An estimator by method and parameters (without alpha), its scaler, and the measure to choose alpha."""

    method: str
    parameters: dict[str, Any]
    scale: str = "none"
    scoring: str = "error"
    undefined: Any = "skip"

    def ranker(self, **more: Any) -> Any:
        """Return a new estimator."""
        return ranker_class(self.method)(**(self.parameters | more))

    def searching(self, options: argparse.Namespace) -> Any:
        """Return a new estimator that chooses alpha, or the trees, by the options."""
        kind = getattr(estimators, ranker_class(self.method).searching)
        known = kind().get_params(deep=False)
        given = {name: value for name, value in self.parameters.items() if name in known}
        is_plain = self.scoring == "distance" or self.undefined == "skip"
        scoring = self.scoring if is_plain else as_scoring(self.scoring, self.undefined)
        given |= {"cv": options.folds, "scoring": scoring}
        if "random_state" in known:
            given["random_state"] = options.seed  # of the folds, also if one fit draws nothing
        if options.one_standard_error:
            if "one_standard_error" not in known:
                raise UsageError(f"--one-standard-error cannot be used with --method {self.method}.")
            given["one_standard_error"] = True
        if "alphas" in known:
            given["alphas"] = options.alphas
        elif "n_estimators" in given:
            given["param_grid"] = [{}]  # the number of trees is chosen alone
        return kind(**given)

    @property
    def tuned(self) -> str:
        """The parameter that cross-validation chooses."""
        return ranker_class(self.method).tuned

    @property
    def takes_tables(self) -> bool:
        """Whether the estimator takes words and missing values."""
        return bool(ranker_class(self.method).takes_tables)

    def scaler(self, X: Any) -> Any:
        """Return a new scaler, or None."""
        return make_scaler(self.scale, X)


def ranker_class(method: str) -> Any:
    """Return the estimator of a method."""
    return methods()[method]


def check_validation(options: argparse.Namespace) -> None:
    """Refuse validation rows if neither a search nor the fit of the estimator uses them."""
    fit = ranker_class(options.method).fit
    if options.valid is None or options.tune or "validation" in signature(fit).parameters:
        return
    raise UsageError(f"--valid needs --tune with --method {options.method}, whose fit has nothing to choose.")


def recipe_of(options: argparse.Namespace) -> Recipe:
    """Return the recipe of the options; refuse options that the estimator does not have."""
    kind = ranker_class(options.method)
    known = kind().get_params(deep=False)
    for name in ("survival", "pairs", "clicked"):
        if getattr(options, name, None) is not None:
            check_preferences(options, name)
    take_order(options)
    if options.scale in QUERY_SCALES and kind.learns_classes:
        raise UsageError(
            f"--scale {options.scale} cannot be used with --method {options.method}, which has no queries."
        )
    given: dict[str, Any] = {}
    for name, fields in declared_options().items():
        value, shown = getattr(options, name), name.replace("_", "-")
        if value is None:
            continue
        if options.method not in fields:
            raise UsageError(f"--{shown} cannot be used with --method {options.method}.")
        choices = choices_of(fields[options.method])
        if choices and value not in choices:
            raise UsageError(
                f"--{shown} must be one of {', '.join(choices)} with --method {options.method}; got {value}."
            )
        given[name] = value.replace("-", "_") if choices else value
    if options.grades is not None and "categories" in known:
        given["categories"] = options.grades
    if not kind.searching and getattr(options, "tune", True):  # the command `tune` has no such option
        raise UsageError(
            f"--method {options.method} chooses alpha in its fit; use `rankwise train` without --tune."
        )
    for name in ("alpha", "alphas"):
        if "alpha" not in known and getattr(options, name, None) is not None:
            raise UsageError(f"--{name} cannot be used with --method {options.method}.")
    always = {"random_state": options.seed, "n_jobs": options.jobs}
    given |= {name: value for name, value in always.items() if name in known}
    undefined = "skip" if options.undefined is None else options.undefined
    scoring = scoring_of(options, kind(**given))
    if "early_stopping" in known and options.metric is not None:
        given["scoring"] = scoring  # of the held-out rows that end a fit
    return Recipe(options.method, given, options.scale, scoring, undefined)


def take_order(options: argparse.Namespace) -> None:
    """Replace the order of classes in the options by edges between labels."""
    edges, categories = options.order, options.grades
    if categories is not None and len(set(categories)) < max(2, len(categories)):
        raise UsageError("--grades must be two or more distinct strings.")
    if isinstance(edges, list):
        named = list(dict.fromkeys(name for edge in edges for name in edge))
        try:
            if categories is None:
                options.order = [(float(high), float(low)) for high, low in edges]
        except ValueError:  # words of a table, which are the categories
            options.grades = named
        unknown = [name for name in named if categories is not None and name not in categories]
        if unknown:
            raise UsageError(f"--order has the class {unknown[0]}, which is not in --grades.")
    elif categories is not None and "order" in ranker_class(options.method)().get_params(deep=False):
        options.order = edges_of(edges or "chain", categories)


def edges_of(order: str, categories: list[str]) -> list[tuple[str, str]]:
    """Return the edges of a chain, or of all pairs, of categories in ascending order.

    Examples
    --------
    >>> edges_of("chain", ["bad", "fair", "good"])
    [('fair', 'bad'), ('good', 'fair')]
    """
    reach = 1 if order == "chain" else len(categories)
    return [(high, low) for k, high in enumerate(categories) for low in categories[max(0, k - reach) : k]]


def check_preferences(options: argparse.Namespace, name: str) -> None:
    """Refuse options that cannot be combined with right-censored times, or with listed pairs."""
    kind = ranker_class(options.method)
    if kind.learns_classes:
        raise UsageError(f"--{name} cannot be used with --method {options.method}, which learns classes.")
    if options.scale in QUERY_SCALES or options.pair_weight is not None:
        raise UsageError(f"--{name} cannot be used with --scale query-... or --pair-weight.")
    if getattr(options, "margin", None) is not None and not kind.takes_margins:
        raise UsageError(
            f"--margin is for --method {' or '.join(taking_margins())}; {options.method} takes no size of a "
            "preference."
        )


def scoring_of(options: argparse.Namespace, ranker: Any) -> str:
    """Return the measure for the choice of alpha, by default that of the CV class of the method."""
    default = getattr(estimators, ranker.searching, ranker).default_scoring
    if options.metric is None:
        return str(default)
    scoring = options.metric.replace("-", "_")
    is_of_method = {"distance": default == "distance", "log_loss": has_probabilities(ranker)}
    if not is_of_method.get(scoring, True):
        raise UsageError(f"--metric {options.metric} cannot be used with --method {options.method}.")
    if scoring == "distance":
        return scoring
    try:
        return as_scoring(scoring).key
    except ValueError as error:
        raise UsageError(str(error).replace("scoring must", "--metric must")) from None


def fit_ranker(ranker: Any, X: Any, y: Any, qid: Any, **more: Any) -> Any:
    """Fit an estimator, with the queries if there are any."""
    return ranker.fit(X, y, **more) if qid is None else ranker.fit(X, y, qid=qid, **more)


def load_any_model(path: str) -> Any:
    """Load a model file of rankwise or of SVMrank."""
    if is_svmrank_model(path):
        return read_svmrank_model(path)
    model = load_model(path)
    if isinstance(model, BaseLeaderboard):
        raise ModelFileError(f"{path!r} scores named items, not rows; use `rankwise leaderboard`.")
    return model


def save_any_model(model: Any, path: str, **more: Any) -> None:
    """Write a model to a file of our own."""
    save_model(model, path, **more)


def is_svmrank_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a model.dat of SVMrank, by its first line."""
    with open(path, "rb") as file:
        return file.read(9) == b"SVM-light"
