"""Preferences from logs of clicks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_vector, check_choice, check_positive
from rankwise.core.text import listed
from rankwise.core.types import FloatVector
from rankwise.core.warn import warn_caller
from rankwise.preferences.click_log import ClickLog, check_impressions, read_log
from rankwise.preferences.clicks import Clicks
from rankwise.preferences.propensities import Propensities, from_interventions, from_regression

__all__ = ["estimate_propensities", "from_clicks"]


def from_clicks(
    clicked: ArrayLike,
    position: ArrayLike,
    qid: ArrayLike,
    *,
    impression: ArrayLike | None = None,
    document: ArrayLike | None = None,
    X: Any = None,
    propensity: str | ArrayLike | None = None,
    clip: float | None = None,
) -> Clicks:
    """Rank each clicked row above every other row of its impression, clicked ones included.

    The pairs of a clicked row weigh 1 / p, with the probability p that users examine its position. If a row
    is clicked with probability p r, the expected sum of losses is that of each row, weighted by its relevance
    r, above every other row (Joachims, Swaminathan & Schnabel 2017). Pairs of two clicked rows belong to it:
    without them, whether a row is the worse one of a pair depends on its own position. The cost is O(m log m)
    for m rows, without a list of pairs.

    Parameters
    ----------
    clicked : array of bool of shape (n_rows,)
        Rows that were shown, clicked or not.
    position : array of int of shape (n_rows,)
        1 for the first row of an impression.
    qid : array of shape (n_rows,)
        The query of each row; folds keep queries together.
    impression : array of shape (n_rows,), optional
        The list in which a row was shown, such as a session, within its query. By default each query was
        shown once.
    document : array of shape (n_rows,), optional
        The document of each row, for `propensity="estimate"`.
    X : array of shape (n_rows, n_features), optional
        Features, for `propensity="estimate"` without `document`.
    propensity : None, "estimate" or array of shape (n_rows,)
        None corrects nothing. An array has the p of each row. "estimate" calls `estimate_propensities`.
    clip : float, optional
        The largest 1 / p. Without it, few clicks at the last positions may dominate; with it, these positions
        count too little.

    Returns
    -------
    Preferences
        With `propensities` (the curve, if it was estimated), `effective_sample_size` and `clipped_fraction`.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> propensity = [1, 0.5, 0.25]
    >>> preferences = Preferences.from_clicks([0, 1, 1], [1, 2, 3], ["a", "a", "a"], propensity=propensity)
    >>> preferences.n_pairs, preferences.pairs().weight.tolist()
    (4, [2.0, 2.0, 4.0, 4.0])
    """
    log = read_log(clicked, position, qid, impression, document)
    check_impressions(log, impression is not None)
    curve, chance = _propensities(log, X, propensity)
    if clip is not None:
        check_positive("clip", clip)
    weight = 1.0 / chance
    bound = np.inf if clip is None else clip
    clipped = float(np.mean(weight[log.clicked] > bound)) if log.clicked.any() else 0.0
    click_weight = np.where(log.clicked, np.minimum(weight, bound), 0.0)
    clicks = Clicks(
        click_weight,
        np.ones(len(weight)),
        log.impression,
        log.query,
        propensities=curve,
        clipped_fraction=clipped,
    )
    clicks.require_pairs()
    return clicks


def estimate_propensities(
    clicked: ArrayLike,
    position: ArrayLike,
    qid: ArrayLike,
    *,
    document: ArrayLike | None = None,
    X: Any = None,
    level: float = 0.95,
) -> Propensities:
    """Estimate the probability that users examine each position, relative to the first one.

    A row is clicked if its position is examined, with probability p_k, and its document is found relevant.
    Documents that were shown at several positions for the same query separate the two (Agarwal et al. 2019):
    the relevance of a document cancels in the fractions of its clicks by position. Without `document`, the
    relevance is a logistic function of `X`, and both are fitted by maximum likelihood: the model of
    regression-EM (Wang et al. 2018). It is biased if the old ranking knew more of the relevance than X has.

    Parameters
    ----------
    clicked : array of bool of shape (n_rows,)
    position : array of int of shape (n_rows,)
        1 for the first row of an impression.
    qid : array of shape (n_rows,)
        The query of each row.
    document : array of shape (n_rows,), optional
        The document of each row.
    X : array of shape (n_rows, n_features), optional
        Features for the relevance, used without `document`.
    level : float
        The level of the intervals, which take queries as independent.

    Returns
    -------
    Propensities

    Examples
    --------
    >>> clicked, position = [1, 0, 1, 0, 1, 0, 0, 1], [1, 2, 1, 2, 1, 2, 1, 2]
    >>> curve = estimate_propensities(clicked, position, ["a"] * 8, document=[1, 2, 1, 2, 2, 1, 2, 1])
    >>> curve.value.round(2).tolist(), curve.method
    ([1.0, 0.33], 'interventions')
    """
    log = read_log(clicked, position, qid, document=document)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")
    return _estimated(log, X, level)


def _estimated(log: ClickLog, X: Any, level: float = 0.95) -> Propensities:
    if log.document is not None:
        curve = from_interventions(log, level)
    elif X is not None:
        curve = from_regression(log, X, level)
    else:
        raise ValueError(
            "Propensities are estimated from documents that were shown at several positions (document) or "
            "from features of the rows (X), but neither was given. Pass one of them, or the propensities."
        )
    borrowed = curve.position[~curve.linked & (curve.n_clicks > 0)]
    if len(borrowed):
        names = listed(list(map(str, borrowed)), 10)
        warn_caller(
            f"The data does not determine the propensity of position {names}, which takes that of the "
            "nearest position above that has one."
        )
    return curve


def _propensities(
    log: ClickLog, X: Any, propensity: str | ArrayLike | None
) -> tuple[Propensities | None, FloatVector]:
    """Return the estimated curve, if any, and the propensity of each row."""
    n_rows = len(log.clicked)
    if propensity is None:
        return None, np.ones(n_rows)
    if isinstance(propensity, str):
        check_choice(propensity, "propensity", ("estimate",))
        curve = _estimated(log, X)
        return curve, curve.value[log.place]
    chance = as_vector(propensity, "propensity", n_rows)
    bad = chance[(chance <= 0) | (chance > 1)]
    if len(bad):
        raise ValueError(f"propensity must be above 0 and at most 1; it has {bad[0]:g}.")
    return None, chance
