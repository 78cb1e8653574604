"""The options of `train` and `tune`: the model, the choice of its parameters, and checkpoints."""

from __future__ import annotations

import dataclasses
from collections import ChainMap
from functools import cache
from typing import Any, get_args

from rankwise import estimators
from rankwise.cli.arguments import (
    COUNT,
    FOLDS,
    GAMMA,
    NUMBER,
    NUMBERS,
    PART,
    POSITIVE,
    SECONDS,
    THREADS,
    WHOLE,
    order,
    value,
)
from rankwise.losses import LOSSES

SCALES = ("none", "standard", "minmax", "maxabs", "query-minmax", "query-standard", "query-rank")
# Parameters of estimators that are options: how their text is read, by default as a number of their type, and
# what they are. The choices of a tuple are words.
OPTIONS: dict[str, tuple[Any, str]] = {
    "loss": (
        ChainMap({"least_squares": None}, LOSSES),  # with the losses that are added to LOSSES later
        "loss of a pair; least-squares is for boosted and kernel alone",
    ),
    "cost": (("magnitude", "unit", "relative"), "target difference of a pair"),
    "average": (("queries", "pairs"), "mean over queries or over all pairs"),
    "pair_weight": (("difference",), "weight of a pair: the difference of its labels"),
    "kernel": (
        str,
        "linear, exponential, or a kernel of scikit-learn such as rbf or poly (kernel: auto, laplacian, "
        "exponential or rbf)",
    ),
    "gamma": (GAMMA, "width of the kernel: a number, scale, median, learned or learned-matrix"),
    "degree": (None, "degree of the polynomial kernel"),
    "coef0": (NUMBER, "constant of the polynomial and the sigmoid kernel"),
    "n_components": (
        None,
        "number of basis rows of a kernel (default: all rows; kernel: 2,000 to 3,000)",
    ),
    "n_estimators": (None, "number of trees, by default chosen"),
    "learning_rate": (None, "factor of each tree"),
    "num_leaves": (None, "leaves per tree"),
    "min_child_samples": (None, "fewest rows of a leaf, by default 20, or 10 of few"),
    "early_stopping": (
        ("auto", "yes", "no"),
        "choose the number of trees on held-out parts of the training rows, by --metric; auto is yes without "
        "--n-estimators and with at least 100 rows",
    ),
    "validation_fraction": (PART, "fraction of such a part"),
    "n_bins": (None, "bins per feature"),
    "shape": (("steps", "lines"), "shape of the curves"),
    "interactions": (WHOLE, "number of pairs of features with a table"),
    "thresholds": (("midpoint", "min-error"), "boundaries between labels"),
    "calibrated": (None, "learn probabilities of the labels by cross-fitting, for predict --proba"),
    "order": (
        value(order, "chain, full, or edges such as 'good>fair,fair>bad'"),
        "chain or full: a class is above the next lower one, or above all lower ones; or edges 'A>B,...'",
    ),
    "slack": (("squared", "absolute"), "penalty of violations"),
    "slack_per": (("row", "edge"), "one slack per row, or per row and edge"),
    "tol": (None, "stop when the certified gap is below this fraction of the possible improvement"),
    "max_iter": (None, "maximal number of iterations"),
}
# The readers of numbers by their type.
READERS = {int: COUNT, float: POSITIVE}
# The most methods that the help of an option names; more are most of them.
MOST_NAMED = 5


@cache
def methods() -> dict[str, type[Any]]:
    """Return the estimators of the commands, by method."""
    kinds = [getattr(estimators, name) for name in estimators.__all__]
    return {kind.command: kind for kind in kinds if getattr(kind, "command", "")}


def add_model_options(parser: Any, more: tuple[str, ...] = ()) -> None:
    """Add the parameters of estimators; their defaults are those of the estimator."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--method",
        choices=(*methods(), *more),
        default="rank-svm",
        help="estimator (default: %(default)s)",
    )
    for name, (read, text) in OPTIONS.items():
        _add_parameter(group, name, read, text)
    group.add_argument(
        "--scale",
        choices=("auto", *SCALES),
        default="auto",
        help="scale the features first (default: auto, which is standard if words or gaps of a table are "
        "encoded as numbers, else none)",
    )
    group.add_argument("--seed", type=WHOLE, default=0, help="random seed (default: 0)")
    group.add_argument("--jobs", type=THREADS, default=1, help="threads, -1 for all cores (default: 1)")


def _add_parameter(group: Any, name: str, read: Any, text: str) -> None:
    """Add a parameter as an option, with the methods that have it and its default."""
    found = {
        method: field
        for method, kind in methods().items()
        for field in dataclasses.fields(kind)
        if field.name == name
    }
    defaults = {field.default for field in found.values()}
    notes = [", ".join(found)] if len(found) <= MOST_NAMED else []
    if len(defaults) == 1 and type(default := defaults.pop()) in (int, float, str):
        notes.append(f"default: {str(default).replace('_', '-')}")
    kind = next(iter(found.values())).type
    how: dict[str, Any] = {"type": read}
    if isinstance(read, tuple | ChainMap):
        how = {"choices": [word.replace("_", "-") for word in read]}
    elif kind is bool:
        how = {"action": "store_true", "default": None}
    elif read is None:
        how = {"type": next(READERS[part] for part in (kind, *get_args(kind)) if part in READERS)}
    group.add_argument(
        f"--{name.replace('_', '-')}", help=text + (f" ({'; '.join(notes)})" if notes else ""), **how
    )


def add_selection_options(parser: Any) -> None:
    """Add the options of cross-validation."""
    parser.add_argument(
        "--alphas",
        type=NUMBERS,
        metavar="A,B,...",
        help="candidates (default: powers of ten, for rank-rls of two, on the scale of the data)",
    )
    parser.add_argument("--folds", type=FOLDS, default=5, help="number of folds of queries (default: 5)")
    parser.add_argument(
        "--metric",
        "--scoring",
        dest="scoring",
        metavar="NAME",
        help="measure for the choice of alpha: error, concordance, ndcg@10, ndcg, map, mrr, p@5, tau or, "
        "with rank-logistic, log-loss and, with ordinal-svm, distance, the mean absolute error of predicted "
        "ranks (default: log-loss for rank-logistic, distance for ordinal-svm, error for the others)",
    )
    parser.add_argument(
        "--undefined",
        type=NUMBER,
        metavar="VALUE",
        help="value of ndcg, map and mrr for a query without relevant rows; 0 is LETOR's convention "
        "(default: the query is omitted)",
    )
    parser.add_argument(
        "--valid",
        nargs="+",
        metavar="DATA",
        help="files with validation rows for the choice of alpha, in place of folds",
    )


def add_checkpoint_options(parser: Any) -> None:
    """Add the options of checkpoints."""
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint, if there is one")
    parser.add_argument(
        "--checkpoint-every",
        type=SECONDS,
        default=60.0,
        metavar="SECONDS",
        help="interval of checkpoints, in a file with the name of the model and .checkpoint (default: 60)",
    )
