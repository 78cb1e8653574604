"""Rankings of right-censored survival times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array, as_codes, as_vector, as_weights
from rankwise.preferences.ranking import Ranking

__all__ = ["from_survival", "lives"]


def from_survival(
    event: ArrayLike,
    time: ArrayLike,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
) -> Ranking:
    """Rank right-censored survival times: a higher score means a longer time to the event.

    A pair counts when the earlier time is an observed event; at equal times an event comes before a
    censoring, and two events are tied.

    Parameters
    ----------
    event : array of bool of shape (n_rows,)
        Whether the event was observed; otherwise the row is censored.
    time : array of shape (n_rows,)
        The time of the event or of the censoring.
    sample_weight : array of shape (n_rows,), optional
    qid : array of shape (n_rows,), optional
        The stratum of each row (hospital, sex, ...), of any type: subjects are compared within strata.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> Preferences.from_survival([True, False, True], [2.0, 3.0, 5.0]).n_pairs
    2
    >>> Preferences.from_survival([True, False, True], [2.0, 3.0, 5.0], qid=["a", "a", "b"]).n_pairs
    1
    """
    ranking = lives(event, time, sample_weight, qid)
    ranking.require_pairs()
    return ranking


def lives(
    event: ArrayLike,
    time: ArrayLike,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
) -> Ranking:
    """Return the ranking of `from_survival`, even if no two subjects are comparable."""
    times = as_vector(time, "time")
    events = as_vector(as_array(event), "event", len(times))
    if not np.isin(events, (0.0, 1.0)).all():
        raise ValueError("event must hold booleans (or 0 and 1).")
    # Label: the rank of (time, censored), so that at equal times an event comes before a censoring.
    order = np.lexsort((1 - events, times))
    step = (np.diff(times[order]) > 0) | (np.diff(events[order]) != 0)
    labels = np.empty(len(times))
    labels[order] = np.concatenate([[0.0], np.cumsum(step)])[: len(times)]
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", len(times))
    query = None if qid is None else as_codes(qid, "qid", len(times))[1]
    return Ranking(labels, query, weight=weight, event=events, values=times)
