"""The options of `train` and `tune`: the model, the choice of its parameters, and checkpoints."""

from __future__ import annotations

import dataclasses
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
    RATIOS,
    SECONDS,
    THREADS,
    WHOLE,
    order,
    value,
)

SCALES = ("none", "standard", "minmax", "maxabs", "query-minmax", "query-standard", "query-rank")
# The readers of parameters, by the name in their declaration or by their type.
READERS: dict[Any, Any] = {
    int: COUNT,
    float: POSITIVE,
    "number": NUMBER,
    "whole": WHOLE,
    "part": PART,
    "ratios": RATIOS,
    "gamma": GAMMA,
    "order": value(order, "chain, full, or edges such as 'good>fair,fair>bad'"),
    "switch": value({"auto": "auto", "yes": True, "no": False}.__getitem__, "auto, yes or no"),
}
# The most methods that the help of an option names; more are most of them.
MOST_NAMED = 5


def methods() -> dict[str, type[Any]]:
    """Return the estimators of the commands, by method."""
    kinds = [getattr(estimators, name) for name in estimators.__all__]
    return {kind.command: kind for kind in kinds if getattr(kind, "command", "")}


def declared_options() -> dict[str, dict[str, dataclasses.Field[Any]]]:
    """Return the parameters that are options, shared ones first, with the field of each method."""
    found: dict[str, dict[str, dataclasses.Field[Any]]] = {}
    for method, kind in methods().items():
        for field in dataclasses.fields(kind):
            found.setdefault(field.name, {})[method] = field
    shown = [name for name, fields in found.items() if any(field.metadata for field in fields.values())]
    return {name: found[name] for name in sorted(shown, key=lambda name: -len(found[name]))}


def choices_of(field: dataclasses.Field[Any]) -> list[str]:
    """Return the words that a parameter accepts, none if it accepts others."""
    return [word.replace("_", "-") for word in field.metadata.get("choices") or ()]


def add_model_options(parser: Any, more: tuple[str, ...] = ()) -> None:
    """Add the parameters of estimators; their defaults are those of the estimator."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--method",
        choices=(*methods(), *more),
        default="rank-svm",
        help="estimator (default: %(default)s)",
    )
    for name, fields in declared_options().items():
        _add_parameter(group, name, fields)
    group.add_argument(
        "--scale",
        choices=("auto", *SCALES),
        default="auto",
        help="scale the features first (default: auto, which is standard if words or gaps of a table are "
        "encoded as numbers, else none)",
    )
    group.add_argument("--seed", type=WHOLE, default=0, help="random seed (default: 0)")
    group.add_argument(
        "--jobs", type=THREADS, help="threads, -1 for all cores (default: 1, all for boosted trees)"
    )


def _add_parameter(group: Any, name: str, fields: dict[str, dataclasses.Field[Any]]) -> None:
    """Add a parameter as an option, with the methods that have it and its default."""
    declared = next(field for field in fields.values() if field.metadata)
    defaults = {field.default for field in fields.values()}
    notes = [", ".join(fields)] if len(fields) <= MOST_NAMED else []
    if len(defaults) == 1 and type(default := defaults.pop()) in (int, float, str):
        notes.append(f"default: {str(default).replace('_', '-')}")
    kind, reader = declared.type, declared.metadata["reader"]
    how: dict[str, Any] = {"type": READERS.get(reader, str)}
    if declared.metadata["choices"] is not None:
        words = dict.fromkeys(word for field in fields.values() for word in choices_of(field))
        how["metavar"] = "NAME" if len(words) > MOST_NAMED else f"{{{','.join(words)}}}"
    elif kind is bool:
        how = {"action": "store_true", "default": None}
    elif not reader:
        how["type"] = next(READERS[part] for part in (kind, *get_args(kind)) if part in READERS)
    text = declared.metadata["help"] + (f" ({'; '.join(notes)})" if notes else "")
    group.add_argument(f"--{name.replace('_', '-')}", help=text, **how)


def add_selection_options(parser: Any) -> None:
    """Add the options of cross-validation."""
    parser.add_argument(
        "--alphas",
        type=NUMBERS,
        metavar="A,B,...",
        help="candidates (default: powers of ten, for rank-rls of two, on the scale of the data)",
    )
    parser.add_argument(
        "--one-standard-error",
        action="store_true",
        help="choose the largest alpha whose error is within one standard error of the lowest, which selects "
        "fewer features with --l1-ratio",
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
        help="files with validation rows: for the choice of alpha by --tune, in place of folds, or of the "
        "number of boosted trees",
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
