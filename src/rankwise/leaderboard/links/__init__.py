"""Links between differences of scores and chances of winning, by name."""

from __future__ import annotations

from rankwise.core.checks import check_choice
from rankwise.leaderboard.links.base import Link, Terms
from rankwise.leaderboard.comparisons import Outcomes
from rankwise.leaderboard.links.davidson import Davidson
from rankwise.leaderboard.links.logistic import Logistic
from rankwise.leaderboard.links.probit import Probit

__all__ = ["LINKS", "Davidson", "Link", "Logistic", "Outcomes", "Probit", "Terms", "link_of"]

# Links by the value of `link`, for ties="half": a new link is a file and a line here.
LINKS: dict[str, Link] = {"logistic": Logistic(), "probit": Probit()}
TIES = ("half", "davidson")


def link_of(link: str, ties: str = "half") -> Link:
    """Return a link by the parameters of an estimator.

    Examples
    --------
    >>> link_of("logistic", "davidson").shapes, link_of("probit").unit
    (('tie effect',), 'standard deviations')
    """
    check_choice(link, "link", LINKS)
    check_choice(ties, "ties", TIES)
    if ties == "half":
        return LINKS[link]
    if link != "logistic":
        raise ValueError(f"ties='davidson' needs link='logistic'; got link={link!r}.")
    return Davidson()
