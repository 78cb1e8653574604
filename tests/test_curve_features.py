"""Features cut into curves, against their definitions."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from rankwise.data.product import ProductDesign
from rankwise.functions.curve_axis import (
    TABLE_NORM,
    Axis,
    coding_matrix,
    cut_points,
    line_knots,
    middle,
    table_coding,
)
from rankwise.preprocessing import CurveFeatures

NUMBERS = st.integers(-6, 6).map(lambda k: k / 2)
MAYBE = st.one_of(NUMBERS, st.just(np.nan))


@st.composite
def axes(draw):
    kind = draw(st.sampled_from(["steps", "lines", "levels"]))
    knots = sorted(draw(st.sets(NUMBERS, min_size=1, max_size=6)))
    values = draw(st.lists(NUMBERS, min_size=9, max_size=9))
    axis = Axis(kind, np.array(knots))
    return axis, np.array(values[: axis.size])


def plain_look_up(axis, values, x):
    """The value of a curve, by its definition."""
    knots = axis.knots.tolist()
    if np.isnan(x) or (axis.kind == "levels" and x not in knots):
        return values[-1]
    if axis.kind == "levels":
        return values[knots.index(x)]
    if axis.kind == "steps":
        return values[sum(knot <= x for knot in knots)]
    return np.interp(x, knots, values[:-1])


@given(axes(), st.lists(MAYBE, min_size=1, max_size=8))
def test_a_curve_is_its_table(drawn, x):
    axis, values = drawn
    expected = [plain_look_up(axis, values, one) for one in x]
    np.testing.assert_allclose(axis.look_up(np.array(x), values), expected, rtol=1e-13, atol=1e-13)
    assert axis.counts(np.array(x)).sum() == pytest.approx(len(x))


@given(st.integers(0, 2**32 - 1), st.sampled_from([-1.0, 1.0]))
def test_lines_keep_the_direction_of_their_entries_to_the_last_bit(seed, direction):
    generator = np.random.default_rng(seed)
    axis = Axis("lines", np.unique(generator.normal(size=5)))
    rises = generator.random(len(axis.knots)) * generator.integers(0, 2, len(axis.knots))
    x = np.sort(np.r_[axis.knots, np.nextafter(axis.knots, -np.inf), generator.normal(size=50)])
    scores = axis.look_up(x, np.r_[generator.normal() + direction * np.cumsum(rises), 0.0])
    assert (direction * np.diff(scores) >= 0).all()


@given(axes(), st.data())
def test_weights_are_differences_of_neighbours(drawn, data):
    axis, _ = drawn
    counts = np.array(data.draw(st.lists(st.integers(0, 5), min_size=axis.size, max_size=axis.size)), float)
    matrix = coding_matrix(axis, counts, "differences")
    weights = np.arange(1.0, matrix.shape[1] + 1)
    table, known = matrix @ weights, axis.missing
    assert table[known] == (weights[-1] if counts[known] else 0.0)
    if axis.kind == "levels":
        assert np.array_equal(table[:known], weights[:known])
    else:
        assert np.array_equal(np.diff(table[:known]), weights[: known - 1])
        assert table[middle(counts[:known])] == 0


@given(st.lists(MAYBE, min_size=1, max_size=30), st.integers(1, 8))
def test_bins_are_about_equally_full(x, n_bins):
    x = np.array(x)
    known = x[~np.isnan(x)]
    cuts = cut_points(x, n_bins)
    assert len(cuts) < n_bins
    filled = np.bincount(np.searchsorted(cuts, known, side="right"), minlength=len(cuts) + 1)
    assert len(known) == 0 or filled.min() > 0
    most_common = np.unique(known, return_counts=True)[1].max(initial=0)
    assert filled.max() <= len(known) / n_bins + most_common


@given(st.lists(MAYBE, max_size=60), st.integers(1, 9))
def test_knots_of_lines_are_the_nearest_quantiles(x, n_bins):
    x = np.array(x, dtype=np.float64)
    known = x[~np.isnan(x)]
    expected = np.zeros(1)
    if len(known):
        expected = np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1), method="nearest"))
    np.testing.assert_array_equal(line_knots(x, n_bins), expected)


def test_a_column_without_values_has_no_cuts():
    assert len(cut_points(np.array([np.nan]), 4)) == 0


def rows_of(draw, n_rows):
    column = st.lists(MAYBE, min_size=n_rows, max_size=n_rows)
    return np.array(draw(st.lists(column, min_size=2, max_size=3)), dtype=float).T


@given(st.data())
def test_a_linear_model_of_the_rows_is_a_sum_of_tables(data):
    X = rows_of(data.draw, data.draw(st.integers(1, 12)))
    features = CurveFeatures(
        data.draw(st.integers(1, 5)),
        shape=data.draw(st.sampled_from(["steps", "lines"])),
        coding=data.draw(st.sampled_from(["differences", "values"])),
        categorical_features=data.draw(st.sampled_from([None, [0]])),
        pairs=data.draw(st.sampled_from([None, "all", [(1, 0)]])),
        pair_bins=3,
    ).fit(X)
    blocks, start, expected = features.blocks(), 0, np.zeros(len(X))
    transformed = features.transform(X)
    weights = np.random.default_rng(0).normal(size=transformed.shape[1])
    for axis, x, block in zip(features.axes, X.T, blocks, strict=False):
        table = block @ weights[start : start + block.shape[1]]
        expected += [plain_look_up(axis, table, value) for value in x]
        start += block.shape[1]
    coarse = features.pair_axes
    for (j, k), factors in zip(features.pairs_, features.factors(), strict=True):
        block = np.kron(*factors)
        table = (block @ weights[start : start + block.shape[1]]).reshape(coarse[j].size, coarse[k].size)
        expected += table[coarse[j].codes(X[:, j]), coarse[k].codes(X[:, k])]
        start += block.shape[1]
    np.testing.assert_allclose(transformed @ weights, expected, atol=1e-12)
    assert len(features.get_feature_names_out()) == transformed.shape[1]


def test_an_interaction_table_represents_more_than_two_curves():
    """Its weights are second differences, so that a sum of two curves needs none of them."""
    grid = np.array([[a, b] for a in range(4) for b in range(4)], dtype=float)
    features = CurveFeatures(pairs="all").fit(grid)
    table = features.transform(grid)[:, 6:].toarray()
    corner = table[0] - table[1] - table[4] + table[5]
    assert np.array_equal(np.sort(np.abs(corner)), [0, 0, 0, 0, 0, 0, 0, 0, 1])
    assert not table[grid[:, 0] == 1].any()
    assert not table[grid[:, 1] == 1].any()


def test_the_penalty_of_a_table_does_not_depend_on_its_bins():
    """Least norms of weights that give one smooth table, on few bins and on many."""
    x = (np.arange(4096) + 0.5) / 4096
    norms = []
    for n_bins in (16, 64):
        axis = Axis("steps", cut_points(x, n_bins))
        coding = table_coding(axis, axis.counts(x))
        assert coding.shape == (n_bins + 1, n_bins // 2)
        middles = (np.arange(n_bins) + 0.5) / n_bins
        curve = np.append(np.sin(3 * middles) - np.sin(3 * middles[middle(axis.counts(x))]), 0.0)
        weights = np.linalg.lstsq(coding, curve, rcond=None)[0]
        np.testing.assert_allclose(coding @ weights, curve, atol=0.06)
        norms.append(weights @ weights)
        rows = (coding[axis.codes(x)] ** 2).sum(axis=1)
        assert rows.mean() ** 2 == pytest.approx(TABLE_NORM)
    assert norms[0] == pytest.approx(norms[1], rel=0.2)


@given(st.data())
def test_products_are_those_of_the_product(data):
    X = rows_of(data.draw, data.draw(st.integers(2, 12)))
    features = CurveFeatures(4, pairs="all", pair_bins=3).fit(X)
    design = features.design(X, features.blocks(), features.factors(smooth=data.draw(st.booleans())))
    assert isinstance(design, ProductDesign)
    plain = design.tocsr().toarray()
    w, c = (np.random.default_rng(seed).normal(size=n) for seed, n in enumerate(plain.shape[::-1]))
    np.testing.assert_allclose(design.matvec(w), plain @ w, atol=1e-12)
    np.testing.assert_allclose(design.rmatvec(c), plain.T @ c, atol=1e-12)
    np.testing.assert_allclose(design.weighted_squares(np.abs(c)), (plain**2).T @ np.abs(c), atol=1e-12)
    assert (design.column_scale() >= np.abs(plain).max(axis=0)).all()
    np.testing.assert_array_equal(design.take(np.array([1, 0])).tocsr().toarray(), plain[[1, 0]])


def test_one_hot_rows_have_a_one_for_each_feature():
    X = np.random.default_rng(0).normal(size=(40, 3))
    rows = CurveFeatures(5, coding="values").fit_transform(X)
    assert sp.issparse(rows)
    assert rows.shape == (40, 15)
    assert np.array_equal(np.unique(rows.data), [1.0])
    assert (rows.sum(axis=1) == 3).all()
    assert (rows.sum(axis=0) == 8).all()


def test_categories_of_a_frame_are_levels_and_names_are_kept():
    frame = pd.DataFrame(
        {"age": [1.0, 2.0, np.nan, 2.0], "town": pd.Categorical(["b", "a", "b", None], categories=["a", "b"])}
    )
    features = CurveFeatures(coding="values").fit(frame)
    names = ["age < 1.5", "1.5 <= age", "age missing", "town = a", "town = b", "town missing"]
    assert features.get_feature_names_out().tolist() == names
    other = pd.DataFrame({"age": [9.0], "town": pd.Categorical(["c"])})
    assert features.transform(other).toarray().tolist() == [[0, 1, 0, 0, 0, 1]]


def test_names_contain_categories_and_are_distinct():
    frame = pd.DataFrame({"k": pd.Categorical(["red", "blue", "red"]), "time": 1.7e9 + np.arange(3.0)})
    features = CurveFeatures().fit(frame)
    times = ["time >= 1700000000.5", "time >= 1700000001.5"]
    assert features.get_feature_names_out().tolist() == ["k = blue", "k = red", *times]
    with pytest.raises(ValueError, match="input_features has 1 names, but X has 2 columns"):
        features.get_feature_names_out(["k"])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_bins": 0}, "n_bins must be an integer of at least 1; got 0"),
        ({"shape": "round"}, "shape must be one of 'steps', 'lines'; got 'round'"),
        ({"pairs": "some"}, "pairs must be one of 'all'; got 'some'"),
        ({"pairs": [(0, 0)]}, r"pairs must hold pairs of two different features; got \(0, 0\)"),
        ({"categorical_features": ["town"]}, "categorical_features names 'town', which is no column of X"),
    ],
)
def test_what_is_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        CurveFeatures(**parameters).fit(np.zeros((3, 2)))
