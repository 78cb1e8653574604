import itertools
import pickle
from decimal import Decimal

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import _safe_indexing, indexable

import reference
from rankwise import NoPairsError, Preferences, RankRLS, RankSVM, metrics, pair_data, qid_from_sizes
from rankwise.core.checks import as_labels
from rankwise.losses import pair_sums
from rankwise.losses.pair_sums import misordered_weight, violated_weight
from rankwise.preferences import ranking
from rankwise.preferences.ranking import Ranking
from strategies import cases


def as_set(pairs):
    """Pairs as a sorted list of (better, worse, weight), those of weight zero left out."""
    return sorted((int(i), int(j), float(w)) for i, j, w in pairs if w > 0)


def of_structure(preferences):
    better, worse, _, weight = preferences.pairs()
    return as_set(zip(better, worse, weight, strict=True))


@settings(max_examples=300, deadline=None)
@given(cases())
def test_pairs_are_those_of_the_definition(case):
    expected = as_set((i, j, w) for i, j, w, _, _ in case.pairs)
    got = of_structure(case.preferences)
    assert [p[:2] for p in got] == [p[:2] for p in expected]
    np.testing.assert_allclose([p[2] for p in got], [p[2] for p in expected], rtol=1e-12)
    counted = case.preferences.pairs()
    assert case.preferences.n_pairs == len(counted.better) >= len(expected)
    targets = {(i, j): t for i, j, _, t, _ in case.pairs}
    if len(targets) == len(case.pairs):
        for i, j, t in zip(counted.better, counted.worse, counted.magnitude, strict=True):
            assert targets[i, j] == pytest.approx(t)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.sampled_from([0.0, 1.0, 2.0])), min_size=2),
    st.integers(1, 7),
    st.booleans(),
)
def test_rows_of_sorted_queries_are_put_in_order_block_by_block(rows, block_rows, weighted):
    qid, y, weight = map(list, zip(*sorted(rows, key=lambda row: row[0]), strict=True))
    weight = weight if weighted else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK_ROWS", block_rows)
        preferences = Ranking(
            np.array(y, dtype=float),
            np.unique(qid, return_inverse=True)[1],
            weight=None if weight is None else np.array(weight),
        )
        expected = as_set((i, j, w) for i, j, w, _, _ in reference.ranking_pairs(y, qid, weight, None))
        assert of_structure(preferences) == expected
    assert preferences.n_pairs == len(expected)
    kept = np.ones(len(y)) if weight is None else np.array(weight)
    totals = [sum(w for i, _, w in expected if qid[i] == query) for query in np.unique(qid)]
    largest = [max(kept[np.array(qid) == query].max(), 1e-9) for query in np.unique(qid)]
    np.testing.assert_allclose(preferences._pair_totals, np.divide(totals, np.square(largest)))


@settings(max_examples=200, deadline=None)
@given(cases(), st.data())
def test_a_slice_is_the_induced_structure(case, data):
    n = len(case.preferences)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n)))
    expected = as_set(
        (a, b, w)
        for i, j, w, _, _ in case.pairs
        for a in np.flatnonzero(rows == i)
        for b in np.flatnonzero(rows == j)
    )
    got = of_structure(case.preferences[rows])
    assert [p[:2] for p in got] == [p[:2] for p in expected]
    np.testing.assert_allclose([p[2] for p in got], [p[2] for p in expected], rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(cases(), st.data())
def test_sample_weights_multiply(case, data):
    n = len(case.preferences)
    weight = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n)))
    if not weight.any():
        return
    expected = as_set((i, j, w * weight[i] * weight[j]) for i, j, w, _, _ in case.pairs)
    got = of_structure(case.preferences.weighted(weight))
    assert [p[:2] for p in got] == [p[:2] for p in expected]
    ratio = [g[2] / e[2] for g, e in zip(got, expected, strict=True)]
    np.testing.assert_allclose(ratio, ratio[:1] * len(ratio), rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_pairs_build_the_structure_again(case):
    again = Preferences.from_pairs(*case.preferences.pairs(), n_rows=len(case.preferences))
    assert of_structure(again) == of_structure(case.preferences)
    assert again.n_rows == case.preferences.n_rows


@settings(max_examples=100, deadline=None)
@given(cases())
def test_groups_hold_every_pair(case):
    groups = case.preferences.groups()
    better, worse, _, _ = case.preferences.pairs()
    np.testing.assert_array_equal(groups[better], groups[worse])


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from(["queries", "pairs"]))
def test_weights_in_the_mean_are_those_of_the_definition(case, average):
    expected = case.normalised(average)
    if sum(w for *_, w, _, _ in expected) != pytest.approx(1.0):
        return  # the reference multiplies weights as they come, and lost some to rounding
    better, worse, _, weight = case.preferences.mean_pairs(average)
    n = len(case.preferences)
    listed = sp.coo_array((weight, (better, worse)), shape=(n, n)).toarray()
    by_pair = np.zeros((n, n))
    for i, j, w, _, _ in expected:
        by_pair[i, j] += w
    np.testing.assert_allclose(listed, by_pair, rtol=1e-9, atol=1e-15)
    shares = np.bincount(worse, weight, minlength=n)
    found = case.preferences.row_factor(average) * case.preferences.partner_weights()[0]
    np.testing.assert_allclose(found, shares, rtol=1e-9, atol=1e-15)


def test_index_forms():
    preferences = Preferences.from_scores([3.0, 1.0, 2.0, 5.0])
    mask = np.array([True, False, True, True])
    expected = of_structure(preferences[[0, 2, 3]])
    for index in (mask, (mask, ...), np.array([0, 2, 3]), [0, 2, 3], (np.array([0, 2, 3]), Ellipsis)):
        assert of_structure(preferences[index]) == expected
    assert of_structure(preferences[1:]) == of_structure(preferences[[1, 2, 3]])
    assert preferences[2].n_rows == 1
    with pytest.raises(IndexError):
        preferences[[4]]


def test_scikit_learn_takes_it_as_y():
    preferences = Preferences.from_scores(np.arange(12.0), qid=np.repeat([5, 3, 4], 4))
    X = np.zeros((12, 2))
    assert indexable(X, preferences)[1] is preferences
    assert _safe_indexing(preferences, np.array([0, 1])).n_pairs == 1
    for train, test in KFold(3).split(X, preferences):
        assert len(preferences[train]) == 8
        assert preferences[test].n_pairs == 6
    for train, test in GroupKFold(3).split(X, preferences, groups=preferences.groups()):
        assert preferences[train].n_pairs + preferences[test].n_pairs == preferences.n_pairs


def test_pickle():
    for preferences in (
        Preferences.from_scores([1, 2, 3], qid=["a", "a", "b"]),
        Preferences.from_order([1, 2, 3], "chain"),
        Preferences.from_pairs([0], [1]),
    ):
        assert of_structure(pickle.loads(pickle.dumps(preferences))) == of_structure(preferences)


@pytest.mark.parametrize(
    "qid", [[2, 2, 1, 1], list("bbaa"), [2.5, 2.5, 1.5, 1.5], ["x", "x", 3, 3], [True, True, False, False]]
)
@pytest.mark.parametrize("container", [list, np.array, pd.Series, pl.Series])
def test_any_qid(qid, container):
    if container is pl.Series and len({type(q) for q in qid}) > 1:
        return
    preferences = Preferences.from_scores([1, 2, 3, 3], qid=container(qid))
    assert of_structure(preferences) == [(1, 0, 1.0)]
    assert len(set(preferences.groups())) == 2


def test_n_pairs_is_exact():
    n = 3_000_000
    assert Preferences.from_scores(np.arange(n)).n_pairs == n * (n - 1) // 2
    assert Preferences.from_scores(np.arange(n) % 2).n_pairs == (n // 2) ** 2
    assert Preferences.from_order(np.arange(n) % 3, "chain").n_pairs == 2 * (n // 3) ** 2
    assert isinstance(Preferences.from_scores(np.arange(5)).n_pairs, int)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Preferences.from_scores([2, 2, 2]), r"all 3 labels are equal \(2\)"),
        (lambda: Preferences.from_scores([1, 2, 3], qid=[1, 2, 3]), "every query has a single row"),
        (lambda: Preferences.from_scores([1, 1, 3], qid=[1, 1, 3]), "within each query all labels are equal"),
        (lambda: Preferences.from_scores([1]), "1 sample"),
        (lambda: Preferences.from_scores([]), "0 samples"),
        (lambda: Preferences.from_scores([1, 2], sample_weight=[0, 1]), "positive weights"),
        (
            lambda: Preferences.from_scores([1, 2], pair_weight=[3, 3]).row_factor(),
            "every pair weighs nothing",
        ),
        (lambda: Preferences.from_survival([0, 0], [1, 2]), "observed event"),
        (lambda: Preferences.from_pairs([], [], n_rows=3), "no pair"),
        (lambda: Preferences.from_pairs([0], [1], weight=[0.0]), "zero for every row"),
        (lambda: Preferences.from_order(["a", "a"], "chain"), "no edge"),
        (lambda: Preferences.from_order(["a"], "chain"), "1 sample"),
        (lambda: Preferences.from_order(["a", "b"], [("c", "a")]), r"no edge .*\['a', 'b'\]"),
    ],
)
def test_no_pairs_raises_an_error_with_the_reason(build, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        build()
    if "zero for every row" not in sentence:
        assert isinstance(caught.value, NoPairsError)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Preferences.from_scores([1, np.nan]), "y contains NaN"),
        (lambda: Preferences.from_scores([1, np.inf]), "y contains NaN or infinity"),
        (lambda: Preferences.from_scores(["a", "b"]), "y must be real numbers"),
        (lambda: Preferences.from_scores([[1, 2], [3, 4]]), "y must be one-dimensional"),
        (lambda: Preferences.from_scores([1, 2], qid=[1]), "qid has length 1, but must have length 2"),
        (lambda: Preferences.from_scores([1, 2], qid=[1.0, np.nan]), "qid contains missing values"),
        (lambda: Preferences.from_scores([1, 2], qid=["a", None]), "qid contains missing values"),
        (lambda: Preferences.from_scores([1, 2], qid=pd.Series(["a", pd.NA])), "qid contains missing values"),
        (lambda: Preferences.from_scores([1, 2], qid=np.array(["NaT", "2020"], "M8[D]")), "missing values"),
        (lambda: Preferences.from_scores(["1", "2"]), "y must be real numbers"),
        (lambda: Preferences.from_scores(np.array([1, 2], "m8[D]")), "y must be real numbers"),
        (lambda: Preferences.from_scores([1, 2], qid=["a", np.nan]), "missing values"),
        (lambda: Preferences.from_order(["a", "b"], networkx.Graph([("a", "b")])), "directed graph"),
        (lambda: Preferences.from_scores([1, 2], sample_weight=[1, -1]), "must not be negative"),
        (lambda: Preferences.from_scores([1, 2], sample_weight=[1]), "sample_weight has length 1"),
        (lambda: Preferences.from_scores([1, 2], query_weight=[1, 2]), "constant within each query"),
        (lambda: Preferences.from_scores([1, 2], pair_weight="gap"), "pair_weight must be one of"),
        (lambda: Preferences.from_scores([1, 2], pair_weight=[2, 1]), "must not fall as the label rises"),
        (lambda: Preferences.from_pairs([0, 1], [1]), "better has 2 entries and worse 1"),
        (lambda: Preferences.from_pairs([0], [0]), "row 0 is paired with itself"),
        (lambda: Preferences.from_pairs([0.5], [1]), "row numbers"),
        (lambda: Preferences.from_pairs([-1], [1]), "negative"),
        (lambda: Preferences.from_pairs([0], [5], n_rows=3), "has row number 5, but must be below 3"),
        (lambda: Preferences.from_order(list("abc"), "ring"), "order must be one of 'chain', 'full'"),
        (lambda: Preferences.from_order(list("abc"), 3), "order must be 'chain', 'full', a list"),
        (
            lambda: Preferences.from_order(list("abc"), [("a", "b"), ("b", "c"), ("c", "a")]),
            r"has a cycle: '(\w)' above '\w' above '\w' above '\1'",
        ),
        (lambda: Preferences.from_order(list("ab"), [("a", "a")]), "has a cycle: 'a' above 'a'"),
        (lambda: Preferences.from_survival([2, 1], [1, 2]), "event must hold booleans"),
        (lambda: pair_data(np.ones((2, 3)), np.ones((3, 3))), "same two-dimensional shape"),
    ],
)
def test_bad_input_gets_a_sentence(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


def test_the_cycle_is_shown_in_the_order_given():
    with pytest.raises(ValueError, match="cycle") as caught:
        Preferences.from_order([1, 2, 3], [(1, 2), (2, 3), (3, 1)])
    names = [int(word) for word in str(caught.value).rstrip(".").split(": ")[1].split(" above ")]
    assert all((high, low) in {(1, 2), (2, 3), (3, 1)} for high, low in itertools.pairwise(names))


def test_order_forms_agree():
    labels = ["low", "mid", "high", "low", "high"]
    edges = [("high", "mid"), ("mid", "low")]
    listed = Preferences.from_order(labels, edges)
    graph = Preferences.from_order(labels, networkx.DiGraph(edges))
    assert of_structure(listed) == of_structure(graph)
    assert sorted(listed.edges) == sorted(edges)
    # Edges are not closed transitively: no (high, low) pair.
    assert listed.n_pairs == 2 * 1 + 1 * 2
    numbers = [0, 1, 2, 0, 2]
    full = Preferences.from_order(numbers, "full")
    assert of_structure(full) == of_structure(Preferences.from_scores(numbers))
    # "chain" joins neighbours among the classes that are present.
    gap = Preferences.from_order([1, 5, 9], "chain")
    assert of_structure(gap) == [(1, 0, 1.0), (2, 1, 1.0)]


def test_declared_orders_are_kept():
    words, order = ["low", "high", "mid", "high"], ["low", "mid", "high"]
    expected = of_structure(Preferences.from_scores([0, 2, 1, 2]))
    ordered = pd.Categorical(words, categories=order, ordered=True)
    for labels in (ordered, pd.Series(ordered), pl.Series(words, dtype=pl.Enum(order))):
        assert of_structure(Preferences.from_order(labels, "full")) == expected
    chain = Preferences.from_order(ordered, "chain")
    assert sorted(chain.edges) == [("high", "mid"), ("mid", "low")]


def test_numbers_whose_declared_order_is_another_are_ranked_by_it():
    places = pd.Categorical([1, 3, 2, 3], categories=[3, 2, 1], ordered=True)
    X = np.arange(4.0)[:, None]
    assert RankSVM().fit(X, places).predict(X).tolist() == RankSVM().fit(X, [2, 0, 1, 0]).predict(X).tolist()
    assert metrics.ranking_error(places, [2, 0, 1, 0]) == 0.0
    assert as_labels(pd.Categorical([1, 5], ordered=True), "y").tolist() == [1.0, 5.0]


def test_lists_keep_their_values():
    sets = [frozenset("a"), frozenset("b"), frozenset("a"), frozenset("b")]
    assert Preferences.from_scores([0, 1, 2, 3], sets).n_pairs == 2
    assert Preferences.from_scores([0, 1, 2, 3], [1, 1, "1", "1"]).n_pairs == 2
    assert Preferences.from_scores([0, 1, 2, 3], [2**63 + 1, 2**63 + 1, 2**63 + 2, -1]).n_pairs == 1
    assert Preferences.from_scores([0, 1, 2, 3], [("a", 1), ("a", 1), ("a", 2), ("a", 2)]).n_pairs == 2
    assert Preferences.from_scores([0, 1, 2, 3], ["a", "a", "a\0", "a\0"]).n_pairs == 2


def test_pair_data_keeps_columns_apart():
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match="same columns in the same order"):
        pair_data(frame, frame[["b", "a"]])
    X, _ = pair_data(frame, frame + 1)
    np.testing.assert_array_equal(X, [[1, 2], [2, 3]])


def test_slices_without_pairs_are_allowed_until_used():
    preferences = Preferences.from_scores([1, 2, 3])[[0]]
    assert preferences.n_pairs == 0
    with pytest.raises(NoPairsError, match="1 sample"):
        preferences.row_factor()


def test_pair_data():
    better, worse = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[0.0, 0.0], [5.0, 5.0]])
    X, preferences = pair_data(better, worse, weight=[1.0, 3.0])
    rows = preferences.pairs()
    np.testing.assert_array_equal(X[rows.better], better)
    np.testing.assert_array_equal(X[rows.worse], worse)
    np.testing.assert_array_equal(rows.weight, [1.0, 3.0])
    sparse, _ = pair_data(sp.csr_matrix(better), sp.csr_matrix(worse))
    np.testing.assert_array_equal(sparse.toarray(), X)


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from([0.0, np.nextafter(0, 1), 1.0]))
def test_violated_and_total_weight(case, margin):
    got = violated_weight(case.preferences, case.scores, margin)
    total = case.preferences.total_weight()
    expected = sum(w for i, j, w, _, _ in case.pairs if case.scores[i] - case.scores[j] < margin)
    everything = sum(w for *_, w, _, _ in case.pairs)
    if everything > 0 and total.sum() > 0:
        assert got.sum() / total.sum() == pytest.approx(expected / everything, rel=1e-9, abs=1e-12)


def test_violated_weight_by_query_and_edge():
    preferences = Preferences.from_scores([1, 2, 1, 2, 3], qid=list("bbaaa"))
    scores = np.array([0.0, 1.0, 3.0, 2.0, 1.0])
    np.testing.assert_array_equal(violated_weight(preferences, scores, 0.0), [3.0, 0.0])
    np.testing.assert_array_equal(preferences.total_weight(), [3.0, 1.0])
    graph = Preferences.from_order(list("aabc"), [("b", "a"), ("c", "b")])
    np.testing.assert_array_equal(violated_weight(graph, [0.0, 2.0, 1.0, 0.5], 0.0), [1.0, 1.0])
    np.testing.assert_array_equal(graph.total_weight(), [2.0, 1.0])


def test_reference_survival_pairs():
    """Event before censoring at equal times; a censored row is never the worse one."""
    pairs = reference.survival_pairs([True, False, True, True], [2.0, 2.0, 1.0, 2.0])
    assert sorted(p[:2] for p in pairs) == [(0, 2), (1, 0), (1, 2), (1, 3), (3, 2)]


def test_integers_beyond_float_precision_raise_an_error():
    large = 2**53
    exact = [large + 1, large, large + 2]
    for labels in (
        exact,
        np.array(exact),
        [*exact, 0.5],
        [10**30, 10**30 + 1],
        [2**63, 2**63 + 1, -1],
        np.array([float(large), large + 1], dtype=object),
        [Decimal(large), Decimal(large + 1)],
        pd.Series(exact, dtype="Int64"),
        pd.array(exact, dtype="Int64"),
        pl.Series(exact),
    ):
        sentence = r"^y has distinct integers above 2\^53 that are equal"
        with pytest.raises(ValueError, match=sentence):
            Preferences.from_scores(labels)
        with pytest.raises(ValueError, match=sentence):
            RankSVM().fit(np.eye(len(labels)), labels)
    assert Preferences.from_scores([large, large + 2, large + 2, -large]).n_pairs == 5
    assert Preferences.from_scores([large, 10.0**300, 0.5]).n_pairs == 3


def test_edges_of_absent_classes_warn():
    order = [("b", "a"), ("c", "a")]
    with pytest.warns(UserWarning, match="^order names 'c', not among the labels.$"):
        assert Preferences.from_order(["a", "b", "b"], order).n_pairs == 2
    with pytest.warns(UserWarning, match="order names 'c', not among the labels"):
        assert metrics.wmw(["a", "b", "b"], [0.0, 1.0, -1.0], order=order) == 0.5


NAMES = st.one_of(
    st.lists(st.text(max_size=3), min_size=3, max_size=6, unique=True),
    st.lists(st.integers(-5, 50), min_size=3, max_size=6, unique=True),
    st.lists(st.tuples(st.integers(0, 3), st.text(max_size=1)), min_size=3, max_size=6, unique=True),
)


@given(NAMES, st.data())
def test_pairs_of_names_are_pairs_of_their_rows(names, data):
    n = len(names)
    rows = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    better, worse = zip(*data.draw(st.lists(rows, min_size=1, max_size=8)), strict=True)
    named = Preferences.from_pairs([names[k] for k in better], [names[k] for k in worse], items=names)
    expected = Preferences.from_pairs(better, worse, n_rows=n)
    for found, wanted in zip(named.pairs(), expected.pairs(), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert named.n_rows == n
    assert named.items.tolist() == names
    kept = [n - 1, 0]
    assert named[kept].items.tolist() == [names[k] for k in kept]
    assert named.weighted(np.ones(n)).items.tolist() == names


def test_names_without_items_are_the_rows_in_sorted_order():
    preferences = Preferences.from_pairs(["b", "c"], ["a", "b"])
    assert preferences.items.tolist() == ["a", "b", "c"]
    assert preferences.pairs().better.tolist() == [1, 2]
    frame = pd.DataFrame({"x": [3.0, 1.0, 2.0]}, index=["c", "a", "b"])
    model = RankRLS().fit(frame.loc[preferences.items], preferences)
    assert model.rank(frame).tolist() == [0, 2, 1]
    dates = pd.to_datetime(["2026-01-02", "2026-01-01"])
    dated = Preferences.from_pairs(dates[:1], dates[1:])
    assert dated.pairs().better.tolist() == [1]
    assert (dated.items == dates[::-1].to_numpy()).all()


def test_names_that_fit_no_row_are_refused():
    with pytest.raises(ValueError, match="worse names 'd', which is not among the items"):
        Preferences.from_pairs(["a"], ["d"], items=["a", "b"])
    with pytest.raises(ValueError, match="items must differ from each other; 'a' is there twice"):
        Preferences.from_pairs(["a"], ["b"], items=["a", "b", "a"])
    with pytest.raises(ValueError, match="'a' is paired with itself"):
        Preferences.from_pairs(["a"], ["a"], items=["a", "b"])
    with pytest.raises(ValueError, match="n_rows is 3, but there are 2 items"):
        Preferences.from_pairs(["a"], ["b"], items=["a", "b"], n_rows=3)
    with pytest.raises(ValueError, match="better contains missing values"):
        Preferences.from_pairs(["a", None], ["b", "b"], items=["a", "b"])
    with pytest.raises(ValueError, match="must be row numbers"):
        Preferences.from_pairs([0.5], [1.0])


@given(cases())
def test_has_pairs_agrees_with_the_number_of_pairs(case):
    preferences = case.preferences
    assert preferences.has_pairs
    for rows in (slice(0, 1), slice(0, 3), slice(1, None, 2)):
        part = preferences[rows]
        assert part.has_pairs is (part.n_pairs > 0)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([3, 20, 100]), st.sampled_from([2, 7, 10**6]))
def test_pairs_of_small_queries_in_the_wrong_order(seed, size, n_scores):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 400))
    labels, query = generator.integers(0, 5, n).astype(float), generator.integers(0, 1 + n // size, n)
    ranking = Ranking(labels, query)
    scores = generator.integers(-n_scores, n_scores, n) * np.array([1.0, -0.0])[generator.integers(0, 2, n)]
    better, worse, _, _ = ranking.pairs()
    wrong, wrong_or_tied = (
        np.bincount(query[better[hit]], minlength=query.max() + 1)
        for hit in (scores[better] < scores[worse], scores[better] <= scores[worse])
    )
    assert pair_sums._has_small_queries(ranking)
    for found in (misordered_weight(ranking, scores), pair_sums._sorted_misordered_weight(ranking, scores)):
        np.testing.assert_array_equal(found[0], wrong)
        np.testing.assert_array_equal(found[1], wrong_or_tied)


def test_queries_from_their_sizes():
    np.testing.assert_array_equal(qid_from_sizes([2, 0, 3]), [0, 0, 2, 2, 2])
    with pytest.raises(ValueError, match="sizes must be whole numbers of rows"):
        qid_from_sizes([1.5])
    with pytest.raises(ValueError, match=r"one entry per row\. Its entries sum .* pass qid_from_sizes"):
        Preferences.from_scores([1, 2, 3, 4, 5], [2, 3])
    with pytest.raises(ValueError, match=r"one entry per row\.$"):
        Preferences.from_scores([1, 2, 3, 4, 5], [2, 4])


@pytest.mark.parametrize("queries", [False, True])
def test_a_ranking_keeps_eight_bytes_a_row_beside_what_it_is_given(queries):
    m = 3000
    y = np.random.default_rng(0).random(m)
    preferences = Preferences.from_scores(y, np.arange(m) // 100 if queries else None)
    preferences.row_factor()
    given = [preferences.labels, *([preferences.query] if queries else [])]
    kept = [value for value in vars(preferences.order).values() if not any(value is g for g in given)]
    arrays = [value for value in kept if isinstance(value, np.ndarray)]
    row_sized = [array for array in arrays if len(array) >= m and array.strides != (0,)]
    assert sum(array.nbytes for array in row_sized) == 8 * m
    assert preferences.labels is y
