"""The HTML page of a leaderboard: scores with intervals, ranks, and probabilities of winning."""

from __future__ import annotations

from rankwise import __version__
from rankwise.core.text import escaped, listed, plural
from rankwise.leaderboard import PredictionPoweredBradleyTerry
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.leaderboard.by_category import CategoryLeaderboards
from rankwise.leaderboard.fragility import Fragility
from rankwise.leaderboard.over_time import Ratings
from rankwise.leaderboard.table import Leaderboard
from rankwise.report.leaderboard_display import LeaderboardDisplay, RatingsDisplay
from rankwise.report.leaderboard_tables import (
    category_section,
    chance_grid,
    chance_text,
    covariate_section,
    first_places,
    judge_section,
    pair_section,
    percent,
    ranking_table,
    tie_sentence,
)
from rankwise.report.page import facts, figure, page, paragraph, section

SHOWN_IN_CHART = 40
# Items that are named as the likely best, and the least probability of one.
SHOWN_RIVALS, LEAST_CHANCE = 4, 0.01


def leaderboard_page(
    model: BaseLeaderboard, board: Leaderboard, title: str = "Leaderboard",
    fragility: Fragility | None = None, ratings: Ratings | None = None,
    boards: CategoryLeaderboards | None = None,
) -> str:  # fmt: skip
    """Return the HTML page of a fitted leaderboard, with the optional sections.

    The page is self-contained.
    """
    chances = first_places(model, board)
    lead = f'<p class="lead">{escaped(headline(model, board))}</p>\n'
    if chances:
        lead += paragraph(_first_place(chances))
    if fragility is not None:
        lead += paragraph(str(fragility))
    note = "" if isinstance(model, PredictionPoweredBradleyTerry) else board.note
    sections = [
        section("ranking", "Ranking", paragraph(note), _chart(board), ranking_table(model, board, chances)),
        "" if ratings is None else section("time", "Ratings over time", _over_time(ratings)),
        section("matches", "Probabilities of winning", chance_grid(model, board), pair_section(model, board)),
        "" if boards is None else category_section(boards),
        judge_section(model, board),
        covariate_section(model, board),
        section("explained", "How to read the scores", *map(paragraph, _explained(model, board))),
        section("fit", "The fit in numbers", _facts(model)),
    ]
    return page(title, lead, sections, f"Made by rankwise {__version__}.")


def headline(model: BaseLeaderboard, board: Leaderboard) -> str:
    """Summarise the leaderboard in a sentence."""
    first = board[0]
    ranks = f"; the {percent(board)} range of its rank is {first.ranks}" if first.ranks else ""
    over = f"{plural(model.n_comparisons_, 'match')} of {plural(len(model.items_), 'item')}"
    return f"{first.item} is ahead after {over}{ranks}."


def _first_place(chances: dict[object, float]) -> str:
    """State how likely it is that the first item is the best, and who else may be."""
    (name, chance), *others = sorted(chances.items(), key=lambda one: -one[1])[:SHOWN_RIVALS]
    rivals = [f"{other} ({p:.1%})" for other, p in others if p >= LEAST_CHANCE]
    words = f"{name} is the best with a probability of {chance_text(chance)}"
    return f"{words}, followed by {listed(rivals, SHOWN_RIVALS)}." if rivals else f"{words}."


def _chart(board: Leaderboard) -> str:
    picture = LeaderboardDisplay(board).picture(SHOWN_IN_CHART)
    return figure(picture, f"Scores with {percent(board)} confidence intervals, the best on top.")


def _over_time(ratings: Ratings) -> str:
    note = (
        "Scores of the best items at the end of each period, with their intervals, from all votes until then."
    )
    return figure(RatingsDisplay(ratings).picture(), note, key=True)


def _facts(model: BaseLeaderboard) -> str:
    pairs = [
        ("Matches", model.n_comparisons_),
        ("Items", len(model.items_)),
        ("Groups connected by matches", len(model.groups_)),
        ("Penalty alpha", model.alpha_),
        ("Objective", model.objective_),
        ("Certified gap to the optimum", model.gap_),
    ]
    if model.prior_sd_ is not None:
        pairs.insert(4, ("Learned standard deviation of scores (prior)", model.prior_sd_))
    if model.order_effect:
        pairs.append((f"Order effect ({model.link_.unit})", model.order_effect_))
    if model.link_.shapes:
        pairs.append(("Tie effect nu", model.tie_effect_))
    return facts(pairs)


def _explained(model: BaseLeaderboard, board: Leaderboard) -> list[str]:
    """Explain scores, intervals and ties, one paragraph each."""
    level = percent(board)
    scores = f"A difference of scores is {model.link_.meaning}; the mean score is 0."
    if len(model.groups_) > 1:
        scores += " Scores of different groups cannot be compared."
    ranks = (
        "The range of rank excludes the positions of items that are significantly above or below: it is a "
        f"{level} confidence set for the rank of one item, not for those of all items at once."
    )
    return [f"{scores} {tie_sentence(model)}", f"{_intervals(model, level)} {ranks}"]


def _intervals(model: BaseLeaderboard, level: str) -> str:
    """State what an interval covers."""
    centre = (
        ", without the bias of the penalty, so a score may be off its centre"
        if model.intervals == "debiased"
        else ""
    )
    return (
        f"Each score has a {level} confidence interval{centre}. It is for an item named beforehand, not for "
        "one picked because it came first or last, whose score is likely to be too extreme; and for one look "
        "at the votes, not for many while they arrive."
    )
