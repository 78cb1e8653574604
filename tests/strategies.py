"""Small preference structures of every kind, each with its textbook list of pairs."""

import warnings
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

import reference
from rankwise import NoPairsError, Preferences
from rankwise.preferences import Outcome

# Multiples of 1/2 put many pairs exactly on the margin; the others are ordinary and large numbers.
SCORES = st.one_of(
    st.integers(-6, 6).map(lambda k: k / 2),
    st.floats(-3, 3, allow_nan=False),
    st.floats(-1e6, 1e6, allow_nan=False),
)
LABELS = st.one_of(
    st.integers(0, 3).map(float), st.floats(-5, 5, allow_subnormal=False).map(lambda y: round(y, 6))
)
WEIGHTS = st.sampled_from([0.0, 1e-6, 0.5, 1.0, 2.0, 3.0, 1e6])


@dataclass
class Case:
    preferences: Preferences
    pairs: list
    scores: np.ndarray
    query_weight: dict = field(default_factory=dict)

    def normalised(self, average):
        return reference.normalised(self.pairs, average, self.query_weight)


def vector(draw, elements, n):
    return np.array(draw(st.lists(elements, min_size=n, max_size=n)), dtype=float)


def _from_scores(draw, n):
    y = vector(draw, LABELS, n)
    qid = draw(
        st.one_of(
            st.none(),
            st.lists(st.integers(-2, 4), min_size=n, max_size=n),
            st.lists(st.sampled_from(["q1", "b", "zz"]), min_size=n, max_size=n),
        )
    )
    weight = draw(st.one_of(st.none(), st.lists(WEIGHTS, min_size=n, max_size=n).map(np.array)))
    importance = {q: draw(st.sampled_from([0.5, 1.0, 4.0])) for q in (set(qid) if qid else {0})}
    query_weight = [importance[q] for q in qid] if qid and draw(st.booleans()) else None
    pair_weight = draw(st.sampled_from([None, "difference", "array"]))
    gain = None if pair_weight is None else y
    if pair_weight == "array":
        pair_weight = gain = np.exp2(y / 2)
    preferences = Preferences.from_scores(y, qid, weight, query_weight, pair_weight)
    return preferences, reference.ranking_pairs(y, qid, weight, gain), importance if query_weight else {}


def _from_survival(draw, n):
    time = vector(draw, st.integers(0, 5), n)
    event = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weight = draw(st.one_of(st.none(), st.lists(WEIGHTS, min_size=n, max_size=n).map(np.array)))
    preferences = Preferences.from_survival(event, time, weight)
    return preferences, reference.survival_pairs(event, time, weight), {}


def _from_pairs(draw, n):
    rows = st.integers(0, n - 1)
    listed = draw(st.lists(st.tuples(rows, rows).filter(lambda p: p[0] != p[1]), min_size=1, max_size=20))
    better, worse = np.array(listed).T
    magnitude = vector(draw, st.floats(0.1, 3), len(listed))
    weight = vector(draw, WEIGHTS, len(listed))
    preferences = Preferences.from_pairs(better, worse, magnitude, weight, n_rows=n)
    return preferences, reference.explicit_pairs(better, worse, magnitude, weight), {}


def _from_order(draw, n):
    labels = draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n))
    weight = draw(st.one_of(st.none(), st.lists(WEIGHTS, min_size=n, max_size=n).map(np.array)))
    order = draw(st.sampled_from(["chain", [("d", "a"), ("c", "a"), ("d", "b")], [("a", "b"), ("b", "d")]]))
    edges = order
    if order == "chain":
        present = sorted({label for i, label in enumerate(labels) if weight is None or weight[i] > 0})
        edges = list(zip(present[1:], present[:-1], strict=True))
    with warnings.catch_warnings():  # of classes that no row has
        warnings.filterwarnings("ignore", "order names")
        preferences = Preferences.from_order(labels, order, weight)
    return preferences, reference.order_pairs(labels, edges, weight), {}


@st.composite
def outcomes(draw, n):
    """Draw one to three outcomes of n rows as `reference.hierarchy_pairs` takes them."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        missing = st.floats(allow_nan=True).filter(np.isnan) if draw(st.booleans()) else st.nothing()
        values = vector(draw, st.one_of(st.integers(0, 5).map(float), missing), n)
        event = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=n, max_size=n)))
        found.append((values, event, draw(st.sampled_from([0.0, 1.0, 1.5])), draw(st.booleans())))
    return found


def as_outcomes(given):
    """The outcomes of the library."""
    return [
        Outcome(values, event, margin=margin, higher_is_better=higher)
        for values, event, margin, higher in given
    ]


def _from_hierarchy(draw, n):
    given = draw(outcomes(n))
    strata = draw(st.one_of(st.none(), st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weight = draw(st.one_of(st.none(), st.lists(WEIGHTS, min_size=n, max_size=n).map(np.array)))
    preferences = Preferences.from_hierarchy(as_outcomes(given), strata, weight)
    return preferences, reference.hierarchy_pairs(given, strata, weight), {}


@st.composite
def cases(draw, max_rows=14):
    """Draw a structure of any kind that has pairs, with scores."""
    build = draw(st.sampled_from([_from_scores, _from_survival, _from_pairs, _from_order, _from_hierarchy]))
    n = draw(st.integers(2, max_rows))
    try:
        preferences, pairs, query_weight = build(draw, n)
    except (NoPairsError, ValueError) as error:
        message = str(error)
        assert "nothing to rank" in message or "zero for every row" in message, message
        from hypothesis import reject

        reject()
    return Case(preferences, pairs, vector(draw, SCORES, n), query_weight)
