"""The tables of the page of a leaderboard: ranking, pairs, judges and covariates."""

from __future__ import annotations

import numpy as np

from rankwise.core.text import MINUS, decimal, listed, plural, share
from rankwise.leaderboard import BradleyTerry, CrowdBradleyTerry, judge_table, pair_table
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.leaderboard.by_category import CategoryLeaderboards
from rankwise.leaderboard.prediction_powered import PredictionPoweredBradleyTerry
from rankwise.leaderboard.table import ELO_CENTRE, Leaderboard
from rankwise.report.page import Number, paragraph, section, table

SHOWN_IN_GRID = 10
SHOWN_IN_PAIRS = 5
SHOWN_NAMES = 5
# Probabilities of first place are drawn for up to this number of items.
MOST_ITEMS = 1000


def percent(board: Leaderboard) -> str:
    """Return the confidence level as text."""
    return f"{100 * board.confidence:g}%"


def first_places(model: BaseLeaderboard, board: Leaderboard) -> dict[object, float]:
    """Return the probability of first place of each item; none without ranges of ranks or for many items."""
    if board[0].best_rank is None or len(model.items_) > MOST_ITEMS:
        return {}
    return dict(zip(model.items_.tolist(), model.top_probabilities().tolist(), strict=True))


def ranking_table(model: BaseLeaderboard, board: Leaderboard, chances: dict[object, float]) -> str:
    """Return the leaderboard as a table, with Elo and the probability of first place."""
    header = ["Item", "Rank", "Range of rank", "Score", "from", "to", "Elo"]
    header += [*["First place"][: len(chances)], "Matches", "Win rate"]
    rows = [
        [
            str(row.item), row.rank, Number(row.best_rank, row.ranks or None),
            *map(_score, (row.score, row.low, row.high)),
            Number(row.elo, decimal(row.elo, 0)),
            *([Number(chances[row.item], chance_text(chances[row.item]))] if chances else []),
            row.matches, Number(row.won, None if row.won is None else share(row.won)),
        ]
        for row in board
    ]  # fmt: skip
    note = (
        f"Elo is {ELO_CENTRE:,} for the mean score, plus {model.link_.elo:.1f} per unit of score: "
        f"{model.link_.elo_meaning}. A tie counts as half a win in the win rate."
    )
    if chances:
        note += " First place is the probability that the true score is the highest."
    search = "Find an item:" if len(rows) > 12 else None
    return table("The leaderboard", header, rows, name="leaderboard", search=search, note=note)


def _score(value: float) -> Number:
    if not np.isfinite(value):
        return Number(None, "no limit")
    return Number(value, decimal(value, 3))


def chance_text(value: float) -> str:
    """Write a probability from draws, which do not tell small ones from 0 nor large ones from 1.

    Examples
    --------
    >>> chance_text(0.0), chance_text(0.123), chance_text(1.0)
    ('under 0.1%', '12.3%', 'over 99.9%')
    """
    return "under 0.1%" if value < 0.001 else "over 99.9%" if value > 0.999 else f"{value:.1%}"


def chance_grid(model: BaseLeaderboard, board: Leaderboard) -> str:
    """Return the probabilities of winning of the best items against each other, as a matrix."""
    shown = board[:SHOWN_IN_GRID]
    names = [row.item for row in shown]
    chances = [model.predict_pair_proba(names, [name] * len(names)) for name in names]
    rows = [
        [
            str(item.item),
            item.rank,
            *(None if i == j else Number(p, share(p), shade=2 * p - 1) for j, p in enumerate(row)),
        ]
        for i, (item, row) in enumerate(zip(shown, np.transpose(chances).tolist(), strict=True))
    ]
    note = "The probability that the item of the row beats the item of the column, in a match without a tie."
    header = ["Item", "Rank", *(str(item.item) for item in shown)]
    return table("The best items against each other", header, rows, name="chances", note=note)


def pair_section(model: BaseLeaderboard, board: Leaderboard) -> str:
    """Return the best items against each other: differences and probabilities with intervals."""
    found = pair_table(model, min(SHOWN_IN_PAIRS, len(board)), confidence=board.confidence)
    rows = [
        [
            str(row.a), str(row.b), *map(_score, (row.difference, row.low, row.high)),
            *(Number(p, share(p)) for p in (row.probability, row.lowest, row.highest)),
        ]
        for row in found
    ]  # fmt: skip
    header = ["Item", "Against", "Difference", "from", "to", "Wins", "from", "to"]
    note = (
        "The difference of scores and the probability that the first wins a match without a tie, with "
        f"{percent(board)} intervals, each for one pair. If the interval of the difference contains 0, the "
        "votes do not tell which of the two is better."
    )
    shown = table("Pairs of the best items", header, rows, name="pairs", note=note)
    return shown if rows else ""


def tie_sentence(model: BaseLeaderboard) -> str:
    """Return how ties count."""
    if model.link_.shapes:
        equal = model.tie_effect_ / (2.0 + model.tie_effect_)
        return (
            "A tie is an outcome of its own (Davidson's model): two items of equal scores tie with a "
            f"probability of {share(equal)}. Win rates count it as half a win."
        )
    return "A tie counts as half a win for each of the two."


def judge_section(model: BaseLeaderboard, board: Leaderboard) -> str:
    """Return a section with the judges, or with what the votes of a judge add, if there are any."""
    if isinstance(model, PredictionPoweredBradleyTerry):
        return section("judges", "Votes of a judge", paragraph(board.note))
    if not isinstance(model, CrowdBradleyTerry):
        return ""
    found = judge_table(model, confidence=board.confidence)
    effects = [[row.slope, *([row.order_effect] if row.order_effect else [])] for row in found]
    rows = [
        [
            str(row.judge), row.votes,
            *(_score(value) for one in own for value in (one.value, one.low, one.high)),
        ]
        for row, own in zip(found, effects, strict=True)
    ]  # fmt: skip
    header = ["Judge", "Votes", "Slope", "from", "to", "Order effect", "from", "to"][: len(rows[0])]
    note = (
        f"A judge with slope b decides by b times the difference of scores: about 1 is typical, 0 is a vote "
        f"at random. With {percent(board)} intervals."
    )
    if len(effects[0]) > 1:
        note += f" The order effect is in {model.link_.unit}, in favour of the item named first."
    against = [str(row.judge) for row in found if row.slope.value < 0]
    judges = table("Judges, the sharpest first", header, rows, name="judges", note=note)
    return section("judges", "Judges", paragraph(_contrary(against), "warning"), judges)


def _contrary(names: list[str]) -> str:
    """Name the judges who vote against the rest, if there are any."""
    if not names:
        return ""
    verb = "votes" if len(names) == 1 else "vote"
    return (
        f"{plural(len(names), 'judge')} {verb} against the rest: {listed(names, SHOWN_NAMES)}. The "
        "majority of judges sets the direction of the ranking."
    )


def category_section(boards: CategoryLeaderboards) -> str:
    """Return a section with the ranks and scores of items in each category."""
    overall = boards.overall
    header = ["Item", "All", *(str(name) for name in boards)]
    found = [{row.item: row for row in board} for board in boards.values()]
    ranks = [[str(row.item), row.rank, *(one[row.item].rank for one in found)] for row in overall]
    rows = [
        [
            f"{name}: {row.item}", row.rank, Number(row.best_rank, row.ranks or None),
            *map(_score, (row.score, row.low, row.high)), row.matches,
        ]
        for name, board in boards.items() for row in board
    ]  # fmt: skip
    note = (
        "Scores of a category are overall scores plus deviations, whose standard deviation, "
        f"{boards.deviation_sd:.2g}, is learned: a category with few votes stays close to the whole. The "
        f"{percent(overall)} intervals are those of the posterior."
    )
    columns = ["Category and item", "Rank", "Range of rank", "Score", "from", "to", "Matches"]
    return section(
        "categories", "Categories",
        table("Rank in each category", header, ranks, name="category-ranks"),
        table("Scores in each category", columns, rows, name="category-scores", search="Find:", note=note),
    )  # fmt: skip


def covariate_section(model: BaseLeaderboard, board: Leaderboard) -> str:
    """Return a section with the effects of covariates of matches, if there are any."""
    if not isinstance(model, BradleyTerry) or not model.covariate_names_:
        return ""
    names = model.covariate_names_
    found = {one.name: one for one in model.effects(confidence=board.confidence)}
    effects = [(name, found[f"covariate {name}"]) for name in names]
    rows = [
        [name, *(Number(v, f"{v:.4g}".replace("-", MINUS)) for v in (one.value, one.low, one.high))]
        for name, one in effects
    ]
    note = (
        f"The advantage of the item named first per unit of each covariate, in {model.link_.unit}, with "
        f"{percent(board)} intervals. Scores and probabilities are those of matches in which all are 0."
    )
    header = ["Covariate", "Effect", "from", "to"]
    shown = table("Effects of covariates", header, rows, name="covariates", note=note)
    return section("covariates", "Covariates of matches", shown)
