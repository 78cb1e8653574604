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
    column_pair,
    order,
    value,
)
from rankwise.cli.parser import common, special

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
METAVARS: dict[Any, str] = {
    COUNT: "INTEGER",
    WHOLE: "INTEGER",
    POSITIVE: "NUMBER",
    NUMBER: "NUMBER",
    PART: "NUMBER",
}
# The most methods that the help of an option names; more are most of them.
MOST_NAMED = 5


def methods() -> dict[str, type[Any]]:
    """Return the estimators of the commands, by method."""
    kinds = [getattr(estimators, name) for name in estimators.__all__]
    return {kind.command: kind for kind in kinds if getattr(kind, "command", "")}


def having(parameter: str, *, searching: bool = False) -> list[str]:
    """Return the methods whose estimator, or the one that chooses its parameters, has a parameter."""
    kinds = {
        method: getattr(estimators, kind.searching, kind) if searching else kind
        for method, kind in methods().items()
    }
    return [
        method
        for method, kind in kinds.items()
        if parameter in {one.name for one in dataclasses.fields(kind)}
    ]


def taking_margins() -> list[str]:
    """Return the methods that take the size of a preference."""
    return [method for method, kind in methods().items() if kind.takes_margins]


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


def add_model_options(parser: Any, more: tuple[str, ...] = (), *, fits: bool = False) -> None:
    """Add the parameters of estimators, with their defaults; with `fits`, alpha and its alternatives."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--method",
        choices=(*methods(), *more),
        default="rank-svm",
        metavar="METHOD",
        help=common(f"estimator: {', '.join((*methods(), *more))} (default: %(default)s)"),
    )
    if fits:
        _add_fit_options(group)
    group.add_argument(
        "--scale",
        choices=("auto", *SCALES),
        default="auto",
        help=common(
            "scale the features first (default: auto, which is standard if strings or missing values of a "
            "table are encoded as numbers, else none)"
        ),
    )
    for name, fields in declared_options().items():
        _add_parameter(group, name, fields)
    group.add_argument(
        "--seed",
        type=WHOLE,
        default=0,
        metavar="INTEGER",
        help=special("random seed (default: 0)", [*having("random_state"), *more]),
    )
    group.add_argument(
        "--jobs",
        type=THREADS,
        metavar="INTEGER",
        help=special(
            "threads, -1 for all cores (default: 1, all for boosted trees)", [*having("n_jobs"), *more]
        ),
    )


def _add_fit_options(group: Any) -> None:
    """Add alpha, its choice, and the files that calibrate a model."""
    strength = group.add_mutually_exclusive_group()
    strength.add_argument(
        "--alpha",
        type=POSITIVE,
        metavar="NUMBER",
        help=common("strength of the penalty (default: 0.001; curve, kernel: chosen)", having("alpha")),
    )
    strength.add_argument(
        "--tune",
        action="store_true",
        help=common(
            "choose alpha by cross-validation over queries (boosted: the size of the trees or, with "
            "--n-estimators, their number)",
            [method for method, kind in methods().items() if kind.searching],
        ),
    )
    group.add_argument(
        "--calibration-data",
        nargs="+",
        metavar="DATA",
        help=special(
            "held-out files to which the temperature of the probabilities is fitted (rank-logistic)",
            [method for method, kind in methods().items() if hasattr(kind, "calibrate")],
        ),
    )


def _add_parameter(group: Any, name: str, fields: dict[str, dataclasses.Field[Any]]) -> None:
    """Add a parameter as an option, with the methods that have it and its default."""
    declared = next(field for field in fields.values() if field.metadata)
    defaults = {field.default for field in fields.values()}
    notes = [", ".join(fields)] if len(fields) <= MOST_NAMED else []
    if len(defaults) == 1:
        notes += default_of(declared)
    kind, reader = declared.type, declared.metadata["reader"]
    how: dict[str, Any] = {"type": READERS.get(reader, str)}
    if declared.metadata["choices"] is not None:
        words = dict.fromkeys(word for field in fields.values() for word in choices_of(field))
        how["metavar"] = "NAME" if len(words) > MOST_NAMED else f"{{{','.join(words)}}}"
    elif kind is bool:
        how = {"action": "store_true", "default": None}
    elif not reader:
        how["type"] = next(READERS[part] for part in (kind, *get_args(kind)) if part in READERS)
    if how.get("type") in METAVARS:
        how["metavar"] = METAVARS[how["type"]]
    text = declared.metadata["help"]
    by_method = {}
    for method, field in fields.items():
        named = choices_of(field) if how.get("metavar") == "NAME" else []
        own = [f"one of {', '.join(named)}"] if named else []
        own += default_of(field)
        by_method[method] = with_notes(field.metadata.get("help") or text, own)
    group.add_argument(f"--{name.replace('_', '-')}", help=special(with_notes(text, notes), by_method), **how)


def default_of(field: dataclasses.Field[Any]) -> list[str]:
    """Return the note on the default of a parameter, none unless it is a number or a string."""
    if type(field.default) not in (int, float, str):
        return []
    return [f"default: {str(field.default).replace('_', '-')}"]


def with_notes(text: str, notes: list[str]) -> str:
    """Return a help text with notes in parentheses.

    Examples
    --------
    >>> with_notes("bins per feature", ["curve", "default: 128"])
    'bins per feature (curve; default: 128)'
    """
    if not notes:
        return text
    start = f"{text[:-1]}; " if text.endswith(")") else f"{text} ("
    return f"{start}{'; '.join(notes)})"


def add_selection_options(parser: Any) -> None:
    """Add the options of cross-validation."""
    group = parser.add_argument_group("choice of alpha, or of trees")
    group.add_argument(
        "--alphas",
        type=NUMBERS,
        metavar="A,B,...",
        help=special(
            "candidates for alpha (default: powers of ten, for rank-rls of two, on the scale of the data)",
            having("alpha"),
        ),
    )
    group.add_argument(
        "--one-standard-error",
        action="store_true",
        help=special(
            "choose the largest alpha whose error is within one standard error of the lowest, which selects "
            "fewer features with --l1-ratio",
            having("one_standard_error", searching=True),
        ),
    )
    group.add_argument(
        "--folds", type=FOLDS, default=5, metavar="INTEGER", help="number of folds of queries (default: 5)"
    )
    group.add_argument(
        "--metric",
        metavar="NAME",
        help=common(
            "metric for the choice of alpha: error, concordance, ndcg@10, ndcg, map, mrr, p@5, tau; log-loss "
            "(the default of rank-logistic); distance, the mean absolute error of predicted ranks (the "
            "default of ordinal-svm; other methods: error)"
        ),
    )
    _add_validation_options(group)


def _add_validation_options(group: Any) -> None:
    group.add_argument(
        "--undefined",
        type=NUMBER,
        metavar="VALUE",
        help="value of NDCG, MAP and MRR for a query without relevant rows; 0 is LETOR's convention "
        "(default: the query is omitted)",
    )
    group.add_argument(
        "--valid",
        nargs="+",
        metavar="DATA",
        help="files with validation rows, which replace the folds of --tune or choose the number of boosted "
        "trees",
    )


def add_pairs_options(group: Any) -> None:
    """Add the options for tables of chosen and rejected rows in place of labels."""
    group.add_argument(
        "--pairs",
        type=value(column_pair, "two prefixes of columns, separated by a comma"),
        metavar="CHOSEN,REJECTED",
        help=common(
            "prefixes of the columns of the preferred and the other row of a pair, instead of --label: with "
            "chosen_,rejected_ the feature x is in chosen_x and rejected_x; --qid names groups of pairs, "
            "such as a prompt"
        ),
    )
    able = taking_margins()
    group.add_argument(
        "--margin",
        metavar="COLUMN",
        help=special(f"column of the size of each preference of --pairs ({', '.join(able)})", able),
    )


def add_checkpoint_options(parser: Any) -> None:
    """Add the options of checkpoints."""
    parser.add_argument(
        "--resume", action="store_true", help=common("continue from the checkpoint, if there is one")
    )
    parser.add_argument(
        "--checkpoint-every",
        type=SECONDS,
        default=60.0,
        metavar="SECONDS",
        help="interval of checkpoints, which are written to MODEL.checkpoint (default: 60)",
    )
