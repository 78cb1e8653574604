"""`rankwise leaderboard`: rank the players, models or products of a table of matches."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.leaderboard_options import add_leaderboard_options
from rankwise.cli.output import Console
from rankwise.cli.score_table import refuse_table_options, run_score_table
from rankwise.cli.training import check_output
from rankwise.core.text import listed, plural, table
from rankwise.estimators import (
    BradleyTerry,
    BradleyTerryCV,
    CrowdBradleyTerry,
    PlackettLuce,
    PredictionPoweredBradleyTerry,
)
from rankwise.io.atomic import atomic_write
from rankwise.io.model_file import load_model, save_model
from rankwise.io.model_layout import is_model_file
from rankwise.io.tables import read_text_columns
from rankwise.leaderboard import judge_table, leaderboards_by, pair_table, ratings_over_time
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.leaderboard.matches import KNOWN_COLUMNS, layout_of
from rankwise.report.leaderboard import leaderboard_page

EXAMPLE = """  rankwise leaderboard votes.csv     (columns model_a, model_b and winner, or winner and loser)
  rankwise leaderboard matches.csv --a better --b worse
  rankwise leaderboard games.csv --a home --b away --outcome result --order-effect -o page.html
  rankwise leaderboard matches.csv --a winner --b loser --model model.json
  rankwise leaderboard votes.csv --a model_a --b model_b --outcome winner --judge annotator
  rankwise leaderboard model.json --top 5 --match Ann Bob
  rankwise leaderboard model.json --evaluate later.csv --a winner --b loser
  rankwise leaderboard votes.csv --a winner --b loser --date day --tune --over-time month
  rankwise leaderboard scores.csv --model model --task task --value accuracy -o board.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "leaderboard",
        "matches [--a column --b column] [options] | model [options]",
        run,
        "rank items by their matches",
        "Rank named items by their matches (Bradley-Terry): print scores with intervals and ranges of ranks, "
        "and write them to an HTML file that opens offline. A model saved by --model can replace the table.",
        EXAMPLE,
        help_levels="all",
    )
    parser.set_defaults(reads=("matches", "evaluate"), writes=("output", "model"))
    parser.add_argument(
        "matches", help="table of matches: CSV, TSV or Parquet; - is CSV from standard input; or a model"
    )
    add_leaderboard_options(parser)


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, fit or load, print, write."""
    check_output(options.output)
    if options.task is not None:
        return run_score_table(options, console)
    refuse_table_options(options)
    check_output(options.model)
    is_model = options.matches != "-" and is_model_file(options.matches)
    none = None, None, None, None
    model, search, users, ratings, boards = (loaded(options), *none) if is_model else fitted(options)
    board = model.leaderboard(options.top, confidence=options.confidence, ranks=options.ranks or None)
    chances = chances_of(options.match, model)
    held_out = evaluated(options, model)
    fragility = None if options.fragility is None else model.fragility(options.fragility)
    if options.model is not None:
        save_model(model, options.model)
    if options.output is not None:
        html = leaderboard_page(model, board, options.title, fragility, ratings, boards)
        with atomic_write(options.output, "w") as file:
            file.write(html)
    console.result(
        values_of(options, model, board)
        | {"chances": chances, "held_out": None if held_out is None else held_out._asdict()}
        | {"candidates": None if search is None else [one._asdict() for one in search.cv_results_]}
        | {"fragility": fragility_values(fragility, users)}
        | {"over_time": None if ratings is None else [row._asdict() for row in ratings]}
        | {"by": category_values(boards)},
        [
            *lines_of(options, model, board, chances), *search_lines(search), *held_out_lines(held_out),
            *fragility_lines(fragility, users), *rating_lines(ratings),
            *category_lines(boards, options.top),
        ],
    )  # fmt: skip


# Options of reading and fitting, which do not apply to a saved model.
OF_A_FIT = (
    "a", "b", "outcome", "weight", "date", "cluster", "alpha", "ties", "order_effect", "half_life",
    "intervals", "link", "model", "covariates", "judge", "judge_outcome", "tune", "over_time", "by",
    "ranking",
)  # fmt: skip
# Options that rankings do not have.
OF_MATCHES_ALONE = (
    "a", "b", "outcome", "weight", "date", "ties", "order_effect", "half_life", "link", "covariates", "judge",
    "judge_outcome", "tune", "over_time", "by", "evaluate", "fragility",
)  # fmt: skip
# Columns that held-out votes have, too.
OF_VOTES = ("a", "b", "outcome", "weight")


def loaded(options: argparse.Namespace) -> Any:
    """Return the leaderboard of a model file."""
    for name in OF_A_FIT:
        is_column = options.evaluate is not None and name in OF_VOTES
        if getattr(options, name) not in (None, False) and not is_column:
            raise arguments.UsageError(
                f"--{name.replace('_', '-')} cannot be used with a model, which is already fitted."
            )
    model = load_model(options.matches)
    if not isinstance(model, BaseLeaderboard):
        raise ValueError(f"{options.matches!r} scores rows, not named items; use `rankwise predict`.")
    return model


def fitted(options: argparse.Namespace) -> tuple[Any, Any, Any, Any, Any]:
    """Return the leaderboard of a table, and if any the search, clusters, ratings and boards by category."""
    check_usage(options)
    if options.ranking is not None:
        return of_rankings(options), None, None, None, None
    columns, search = read_columns(options), None
    names, by = (columns.pop("a"), columns.pop("b")), columns.pop("by", None)
    if options.tune:
        search = BradleyTerryCV(**shared_options(options)).fit(*names, **columns)
        model = search.best_estimator_
    else:
        model = leaderboard_model(options).fit(*names, **columns)
    users = sorted(set(columns["cluster"][0])) if options.cluster else None
    ratings, boards = None, None
    if options.over_time is not None:
        ratings = ratings_over_time(
            model, *names, period=options.over_time, confidence=options.confidence, **columns
        )
    if by is not None:
        boards = leaderboards_by(model, *names, by=by, confidence=options.confidence, **columns)
    return model, search, users, ratings, boards


def of_rankings(options: argparse.Namespace) -> PlackettLuce:
    """Return the leaderboard of a table with a row per item of a ranking."""
    roles = {"ranking": options.ranking, "item": options.item or "item", "place": options.place or "place"}
    users = options.cluster[0] if options.cluster else None
    found = read_text_columns(options.matches, lambda present: [*roles.values(), *([users] if users else [])])
    table = {role: found[name] for role, name in roles.items()} | {"place": as_numbers(found[roles["place"]])}
    cluster = None
    if users:
        of_ranking = dict(zip(table["ranking"], found[users], strict=True))
        cluster = [of_ranking[name] for name in sorted(of_ranking)]
    model = PlackettLuce(options.alpha, **({"intervals": options.intervals} if options.intervals else {}))
    return model.fit(table, cluster=cluster)


def shared_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the model of votes that are not at their defaults."""
    given = {name: getattr(options, name) for name in ("link", "ties", "order_effect", "intervals")}
    return {name: value for name, value in given.items() if value not in (None, False, "logistic", "half")}


def leaderboard_model(options: argparse.Namespace) -> Any:
    """Return the model of votes, of judges who differ, or of humans and a judge; refuse other options."""
    given = shared_options(options) | ({"half_life": options.half_life} if options.half_life else {})
    for name, kind in (("judge", CrowdBradleyTerry), ("judge_outcome", PredictionPoweredBradleyTerry)):
        if getattr(options, name) is None:
            continue
        known = kind().get_params()
        refused = [option for option in given if option not in known]
        refused += [column for column in OF_VOTES_ALONE[name] if getattr(options, column) is not None]
        if refused:
            flags = [f"--{option.replace('_', '-')}" for option in (name, refused[0])]
            raise arguments.UsageError(f"{flags[0]} cannot be combined with {flags[1]}.")
        return kind(options.alpha, **given)
    return BradleyTerry(options.alpha, **given)


# Columns that a model of judges cannot take.
OF_VOTES_ALONE = {
    "judge": ("cluster", "covariates", "judge_outcome"),
    "judge_outcome": ("cluster", "covariates", "weight", "date"),
}


def category_values(boards: Any) -> dict[str, Any] | None:
    """Return the leaderboards of categories for machines."""
    if boards is None:
        return None
    return {
        "deviation_sd": boards.deviation_sd,
        "leaderboards": {str(name): [row._asdict() for row in board] for name, board in boards.items()},
        "changes": [row._asdict() for row in boards.changes()],
    }


def category_lines(boards: Any, top: int | None) -> list[str]:
    """Return the leaderboards of categories, and the ranks that differ most, for people."""
    if boards is None:
        return []
    lines = []
    for name, board in boards.items():
        lines += ["", str(name), *str(type(board)(board[:top], board.confidence)).splitlines()]
    changes = str(boards).splitlines() if boards.changes() else ["no rank differs from that of all votes"]
    return [*lines, "", *changes]


def rating_lines(ratings: Any) -> list[str]:
    """Return the scores of the best items of the last period in each period, for people."""
    if ratings is None:
        return []
    items = ratings.latest(5)
    scores = {(row.period, row.item): f"{row.score:.3f}" for row in ratings}
    rows = [[str(period), *(scores.get((period, item), "") for item in items)] for period in ratings.periods]
    return ["", *table(["period", *map(str, items)], rows)]


def search_lines(search: Any) -> list[str]:
    """Return the choice of --tune for people."""
    if search is None:
        return []
    best = search.cv_results_[0]
    half_life = "no half-life" if best.half_life is None else f"half-life {best.half_life:.4g}"
    alpha = "learned prior" if best.alpha is None else f"alpha {best.alpha:.3g}"
    return [
        f"chosen of {len(search.cv_results_)} candidates: {half_life}, {alpha}; log loss {best.log_loss:.4f} "
        "of votes held out"
    ]


def evaluated(options: argparse.Namespace, model: Any) -> Any:
    """Return the measures of the held-out votes, or None if there are none."""
    if options.evaluate is None:
        return None
    columns = read_columns(options, options.evaluate, OF_VOTES)
    if any(not isinstance(name, str) for name in model.items_.tolist()):
        named = {str(name): name for name in model.items_.tolist()}
        columns |= {side: [named.get(name, name) for name in columns[side]] for side in ("a", "b")}
    return model.evaluate(columns.pop("a"), columns.pop("b"), **columns)


def held_out_lines(held_out: Any) -> list[str]:
    """Return the measures of held-out votes for people."""
    if held_out is None:
        return []
    if not held_out.unknown:
        return [str(held_out)]
    names = listed([str(name) for name in held_out.unknown], 5)
    return [str(held_out), f"not in the fit, so predicted by the prior: {names}"]


def fragility_values(fragility: Any, users: list[str] | None) -> dict[str, Any] | None:
    """Return the votes or users that decide the top for machines."""
    if fragility is None:
        return None
    values = {
        name: getattr(fragility, name) for name in ("k", "unit", "number", "total", "share", "top", "new_top")
    }
    if fragility.unit == "vote":
        return values | {"removed": [one._asdict() for one in fragility.removed]}
    return values | {"removed": [users[place] if users else int(place) for place in fragility.removed]}


def fragility_lines(fragility: Any, users: list[str] | None) -> list[str]:
    """Return the votes or users that decide the top for people."""
    if fragility is None:
        return []
    if fragility.unit == "cluster":
        named = fragility_values(fragility, users) or {}
        removed = [str(name) for name in named["removed"]] if users else []
    else:
        removed = [
            f"{one.votes:,} x {one.first} {VERBS[one.outcome]} {one.second}" for one in fragility.removed
        ]
    return [str(fragility), *([f"removed: {listed(removed, 5)}"] if removed else [])]


VERBS = {"win": "beats", "loss": "loses to", "tie": "ties with"}


def chances_of(matches: list[list[str]], model: Any) -> list[dict[str, Any]]:
    """Return the probabilities of outcomes, for names as given; a tie has none if it counts as half a win."""
    named = {str(name): name for name in model.items_.tolist()} if matches else {}
    chances = []
    for a, b in matches:
        win, tie, loss = model.predict_match_proba(named.get(a, a), named.get(b, b)).tolist()
        known = tie if model.link_.shapes else None
        chances.append({"a": a, "b": b, "win": win, "tie": known, "loss": loss})
    return chances


def check_usage(options: argparse.Namespace) -> None:
    """Refuse options without those that they need."""
    for name in ("item", "place"):
        if options.ranking is None and getattr(options, name) is not None:
            raise arguments.UsageError(f"--{name} needs --ranking, the column of who ranked.")
    refused = [name for name in OF_MATCHES_ALONE if options.ranking and getattr(options, name)]
    if refused:
        raise arguments.UsageError(f"--{refused[0].replace('_', '-')} cannot be used with --ranking.")
    if options.intervals == "anytime":
        raise arguments.UsageError(
            "--intervals anytime needs --task; for votes, use BradleyTerry.difference."
        )
    if (options.a is None) != (options.b is None):
        raise arguments.UsageError("A table of matches needs --a and --b, or neither.")
    if options.cluster is not None and len(options.cluster) > 2:
        raise arguments.UsageError(f"--cluster takes one column or two; got {len(options.cluster)}.")
    for name in ("judge", "judge_outcome"):
        if options.by is not None and getattr(options, name) is not None:
            raise arguments.UsageError(f"--by cannot be combined with --{name.replace('_', '-')}.")
    for name in ("alpha", "half_life"):
        if options.tune and getattr(options, name) is not None:
            raise arguments.UsageError(f"--tune chooses --{name.replace('_', '-')}; give one of the two.")
    for name in ("covariates", "judge", "judge_outcome"):
        if options.tune and getattr(options, name) is not None:
            raise arguments.UsageError(f"--tune cannot be used with --{name.replace('_', '-')}.")
    if options.over_time is not None and options.judge_outcome is not None:
        raise arguments.UsageError("--over-time cannot be used with --judge-outcome.")


def choose_columns(options: argparse.Namespace, roles: tuple[str, ...], present: list[str]) -> list[str]:
    """Return the columns to read; without --a and --b, set the options to those with known names."""
    options.detected = {}
    if options.a is None:
        layout = layout_of(present)
        if layout is None:
            raise arguments.UsageError(
                f"A table of matches needs --a and --b, unless it has the columns {KNOWN_COLUMNS}."
            )
        options.detected = {role: name for role, name in layout.items() if getattr(options, role) is None}
        for role, name in options.detected.items():
            setattr(options, role, name)
    if options.order_effect and options.outcome is None:
        raise arguments.UsageError("--order-effect needs --outcome.")
    if options.half_life is not None and options.date is None:
        raise arguments.UsageError("--half-life needs --date.")
    if options.over_time is not None and options.date is None:
        raise arguments.UsageError("--over-time needs --date.")
    if options.judge_outcome is not None and options.outcome is None:
        raise arguments.UsageError("--judge-outcome needs --outcome, the human votes.")
    chosen = [getattr(options, role) for role in ROLES if role in roles]
    for role in ("cluster", "covariates"):
        chosen += (getattr(options, role) or []) if role in roles else []
    return list(dict.fromkeys(name for name in chosen if name is not None))


# Columns of a table of matches, one each.
ROLES = ("a", "b", "outcome", "weight", "date", "judge", "judge_outcome", "by")


OF_MATCHES = (
    "a", "b", "outcome", "weight", "date", "cluster", "covariates", "judge", "judge_outcome", "by"
)  # fmt: skip


def read_columns(
    options: argparse.Namespace, path: str | None = None, roles: tuple[str, ...] = OF_MATCHES
) -> dict[str, Any]:
    """Return the columns of a table, by default of the matches, by role; names remain text."""
    found = read_text_columns(path or options.matches, partial(choose_columns, options, roles))
    named = {role: getattr(options, role) for role in ROLES if role in roles}
    columns: dict[str, Any] = {role: found[name] for role, name in named.items() if name is not None}
    if options.cluster and "cluster" in roles:
        columns["cluster"] = [found[name] for name in options.cluster]
    if options.covariates and "covariates" in roles:
        columns["covariates"] = {name: as_numbers(found[name]) for name in options.covariates}
    for name in ("weight", "date"):
        if name in columns:
            columns[name] = as_numbers(columns[name])
    for name in ("outcome", "judge_outcome"):
        if name in columns:
            columns[name] = [OUTCOMES.get(value, value) for value in columns[name]]
    return columns


# Items that are printed as the likely best, the least probability of one, and the items of a table with any.
LIKELY, LEAST_CHANCE, MOST_ITEMS = 3, 0.005, 1000
OUTCOMES = {text: number for number in (0.0, 0.5, 1.0) for text in (str(number), f"{number:g}")}


def as_numbers(column: list[Any]) -> list[Any]:
    """Return text as numbers if all of it is numeric.

    Examples
    --------
    >>> as_numbers(["1", "2.5"]), as_numbers(["2024-05-01", "1"])
    ([1.0, 2.5], ['2024-05-01', '1'])
    """
    try:
        return [float(value) for value in column]
    except (TypeError, ValueError):
        return column


def values_of(options: argparse.Namespace, model: Any, board: Any) -> dict[str, Any]:
    """Return the result for machines."""
    return {
        "command": "leaderboard",
        "matches": model.n_comparisons_,
        "items": len(model.items_),
        "groups": len(model.groups_),
        "alpha": model.alpha_,
        "prior_sd": model.prior_sd_,
        "objective": model.objective_,
        "gap": model.gap_,
        "order_effect": model.order_effect_,
        "tie_effect": model.tie_effect_,
        "effects": [one._asdict() for one in model.effects(confidence=board.confidence)],
        "confidence": board.confidence,
        "leaderboard": [row._asdict() for row in board],
        "first_place": dict(first_places(model)),
        "pairs": pairs_of(model, board),
        "judges": [
            {
                name: part._asdict() if hasattr(part, "_asdict") else part
                for name, part in row._asdict().items()
            }
            for row in judges_of(model, board)
        ],
        **{
            name: getattr(model, f"{name}_", None)
            for name in ("judge_weight", "judge_agreement", "judge_gain")
        },
        "output": options.output,
        "model": options.model,
        "detected": getattr(options, "detected", {}),
    }


def lines_of(options: argparse.Namespace, model: Any, board: Any, chances: list[dict[str, Any]]) -> list[str]:
    """Return the result for people."""
    judges = judges_of(model, board)
    effects = [effect_text(one) for one in model.effects(confidence=board.confidence) if not judges]
    effects += [] if model.prior_sd_ is None else [f"learned prior sd {model.prior_sd_:.3f}"]
    counts = f"{plural(model.n_comparisons_, 'match')} of {plural(len(model.items_), 'item')}"
    end = f"{counts}; intervals {board.confidence:.0%}"
    likely = ", ".join(f"{name} {chance:.0%}" for name, chance in first_places(model)[:LIKELY])
    effects += [f"in first place: {likely}"] if likely else []
    ends = [f"{one['a']} against {one['b']}: {shown(one)}" for one in chances]
    detected = getattr(options, "detected", {})
    if detected:
        roles = [f"{name} ({MEANINGS[role]})" for role, name in detected.items()]
        ends.insert(0, f"columns recognized by name: {listed(roles, len(roles))}")
    files = {"": options.output, "model ": options.model}
    written = [f"{what}written to {path}" for what, path in files.items() if path is not None]
    tables = [*str(board).splitlines(), "", *(str(judges).splitlines() if judges else [])]
    return [*tables, *[""][: len(judges)], "; ".join([end, *effects]), *ends, *written]


def judges_of(model: Any, board: Any) -> Any:
    """Return the table of judges, empty without them."""
    return judge_table(model, confidence=board.confidence) if isinstance(model, CrowdBradleyTerry) else []


def pairs_of(model: Any, board: Any) -> list[dict[str, Any]]:
    """Return the pairs of the best items with intervals; none for thousands of items."""
    if len(model.items_) > MOST_ITEMS:
        return []
    return [row._asdict() for row in pair_table(model, confidence=board.confidence)]


def first_places(model: Any) -> list[tuple[str, float]]:
    """Return the items that may be the best, with the probability; none for thousands of items."""
    if len(model.items_) > MOST_ITEMS:
        return []
    chances = zip(model.items_.tolist(), model.top_probabilities().tolist(), strict=True)
    likely = [(str(name), chance) for name, chance in chances if chance >= LEAST_CHANCE]
    return sorted(likely, key=lambda one: -one[1])


def effect_text(effect: Any) -> str:
    """Write an effect with its interval; that of a covariate may be small, by its unit."""
    digits = ".3g" if effect.name.startswith("covariate ") else ".3f"
    return f"{effect.name} {effect.value:{digits}} ({effect.low:{digits}} to {effect.high:{digits}})"


MEANINGS = {"a": "first item", "b": "second item", "outcome": "outcome", "weight": "weight", "date": "date"}


def shown(chance: dict[str, Any]) -> str:
    """Write the probabilities of a match.

    Examples
    --------
    >>> shown({"win": 0.5, "tie": 0.2, "loss": 0.3}), shown({"win": 0.6, "tie": None, "loss": 0.4})
    ('50.0% win, 20.0% tie, 30.0% loss', '60.0% win, 40.0% loss; a tie counts as half of each')
    """
    if chance["tie"] is None:
        return f"{chance['win']:.1%} win, {chance['loss']:.1%} loss; a tie counts as half of each"
    return f"{chance['win']:.1%} win, {chance['tie']:.1%} tie, {chance['loss']:.1%} loss"
