"""Leaderboards of scores equal plain loops over tasks, models and pairs, with ties and missing cells."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import friedmanchisquare, t, ttest_1samp, ttest_rel

import reference
from rankwise import ScoreTable
from rankwise.leaderboard.anytime import anytime_critical, anytime_p
from rankwise.leaderboard.score_order import Plan, letter_groups
from rankwise.leaderboard.score_statistics import STATISTICS

BY = tuple(STATISTICS)
NAMES = {"model": "model", "task": "task", "value": "value"}
# Few values, so that there are ties, and missing cells.
CELLS = st.sampled_from([0.0, 1.0, 2.0, 3.5, np.nan])


def tables(least_tasks=2):
    shapes = st.tuples(st.integers(least_tasks, 7), st.integers(2, 5))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=CELLS))


def connected(values):
    """The table and its values, if the models are linked by tasks; others are refused."""
    try:
        table = ScoreTable.from_wide(values)
        assume(len(table.tasks_) > 1)
        return table, table.values_
    except ValueError as error:
        assume("share no tasks" not in str(error) and "are missing" not in str(error))
        raise


def random_values(n_tasks=12, n_models=5, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_tasks, n_models)) + 0.3 * np.arange(n_models)
    values[rng.random(values.shape) < missing] = np.nan
    return values


def long_frame(values, n_instances=0, seed=0):
    """A row per value; with instances, a row per instance around it."""
    rng = np.random.default_rng(seed)
    rows = [
        {"task": t, "model": f"m{k}", "instance": i, "value": values[t, k] + 0.5 * rng.normal()}
        for t, k, i in itertools.product(*map(range, values.shape), range(n_instances or 1))
    ]
    return pd.DataFrame(rows)


@given(tables(3))
def test_means_are_those_of_an_additive_model_by_least_squares(values):
    table, values = connected(values)
    found = table.influences("mean").scores
    effects, levels = reference.additive_effects(values)
    assert np.allclose(found, effects + levels.mean(), atol=1e-9)
    if not np.isnan(values).any():
        assert np.allclose(found, values.mean(axis=0))


@given(tables(3))
def test_wins_and_ranks_are_those_of_loops_over_pairs(values):
    (table, values), n_models = connected(values), values.shape[1]
    leads = reference.leads_of_tasks(values)
    wins = 0.5 + n_models / (n_models - 1) * reference.additive_effects(leads)[0]
    assert np.allclose(table.influences("wins").scores, wins, atol=1e-9)
    ranks = table.influences("rank").scores
    assert np.allclose(ranks, 1 + (n_models - 1) * (1 - wins), atol=1e-9)
    if not np.isnan(values).any():
        assert np.allclose(wins, reference.win_rates(values))
        assert np.allclose(ranks, pd.DataFrame(-values).rank(axis=1).mean())


@given(tables(3))
def test_strengths_have_the_wins_of_the_listed_pairs(values):
    table, values = connected(values)
    found = table.influences("strength")
    assert found.scores.mean() == pytest.approx(0.0, abs=1e-9)
    slopes = reference.strength_slopes(values, found.scores, tie=bool(found.note))
    assert np.abs(slopes).max() < 1e-6


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("by", BY)
def test_influences_are_derivatives_by_the_weight_of_a_task(by, missing):
    values, copies = random_values(missing=missing), 200
    before = ScoreTable.from_wide(np.tile(values, (copies, 1))).influences(by)
    n = len(values)
    for task in (0, 5):
        more = ScoreTable.from_wide(np.vstack([np.tile(values, (copies, 1)), values[[task]]])).influences(by)
        assert np.allclose(more.scores - before.scores, before.values[task], rtol=2e-2, atol=1e-6)
    assert np.allclose(before.values.sum(axis=0), 0.0, atol=1e-9)
    assert len(before.values) == copies * n


def test_means_over_tasks_have_the_intervals_and_tests_of_student():
    values = random_values()
    table = ScoreTable.from_wide(values)
    for row in table.leaderboard():
        ends = ttest_1samp(values[:, row.item], 0.0).confidence_interval(0.95)
        assert (row.low, row.high) == pytest.approx((ends.low, ends.high))
    test = ttest_rel(values[:, 1], values[:, 3])
    one = table.difference(1, 3)
    assert one.estimate == pytest.approx(values[:, 1].mean() - values[:, 3].mean())
    assert one.p_value == pytest.approx(test.pvalue)
    ends = test.confidence_interval(0.95)
    assert (one.low, one.high) == pytest.approx((ends.low, ends.high))


def test_means_over_instances_have_the_errors_of_strata():
    frame = long_frame(random_values(6, 4), n_instances=9)
    table = ScoreTable(frame, model="model", task="task", value="value", instance="instance")
    cells = frame.groupby(["task", "model"])["value"]
    expected = np.sqrt((cells.var() / cells.count()).groupby("model").sum()) / 6
    board = table.leaderboard(over="instances")
    means = cells.mean().groupby("model").mean()
    for row in board:
        assert row.score == pytest.approx(means[row.item])
        assert row.standard_error == pytest.approx(expected[row.item])
    apart = frame.pivot_table(index=["task", "instance"], columns="model", values="value")
    apart = (apart["m0"] - apart["m2"]).groupby("task")
    error = np.sqrt((apart.var() / apart.count()).sum()) / 6
    assert table.difference("m0", "m2", over="instances").standard_error == pytest.approx(error)


def test_comparisons_over_instances_are_within_instances():
    frame = long_frame(random_values(5, 4), n_instances=7)
    table = ScoreTable(frame, model="model", task="task", value="value", instance="instance")
    wide = frame.pivot_table(index=["task", "instance"], columns="model", values="value").to_numpy()
    assert np.allclose(table.influences("wins", "instances").scores, reference.win_rates(wide))


@pytest.mark.parametrize("by", BY)
def test_models_need_not_share_instances_for_means_only(by):
    frame = long_frame(random_values(5, 3), n_instances=6)
    frame["instance"] = np.arange(len(frame))
    table = ScoreTable(frame, model="model", task="task", value="value", instance="instance")
    if by == "mean":
        shared = ScoreTable(long_frame(random_values(5, 3), 6), model="model", task="task", value="value",
                            instance="instance")  # fmt: skip
        ours, theirs = (one.influences("mean", "instances") for one in (table, shared))
        assert np.allclose(np.diag(ours.covariance), np.diag(theirs.covariance))
        assert np.allclose(ours.covariance[0, 1:], 0.0, atol=1e-12)
    else:
        with pytest.raises(ValueError, match="share none"):
            table.leaderboard(by, "instances")


@given(tables(4), st.sampled_from(BY))
@settings(deadline=None)
def test_all_statements_agree(values, by):
    table, _ = connected(values)
    board = table.leaderboard(by)
    found = {(row.a, row.b): row for row in table.differences("all", by)}
    lower_is_better = by == "rank"
    for (a, b), row in found.items():
        assert row.is_decided == (row.p_value < 0.05) or row.p_value == pytest.approx(0.05)
        assert row.estimate <= 1e-12 if lower_is_better else row.estimate >= -1e-12
        groups = [set(next(one.group for one in board if one.item == name)) for name in (a, b)]
        assert bool(groups[0] & groups[1]) == (row.corrected > 0.05)
    items = [row.item for row in board]
    for place, row in enumerate(board):
        above = sum(found[other, row.item].corrected <= 0.05 for other in items[:place])
        below = sum(found[row.item, other].corrected <= 0.05 for other in items[place + 1 :])
        assert (row.best_rank, row.worst_rank) == (1 + above, len(items) - below)
        assert row.low <= row.score <= row.high
    assert sum(row.first for row in board if row.first == row.first) == pytest.approx(1.0)


@given(st.integers(1, 5000), st.floats(0.1, 12.0), st.sampled_from([0.9, 0.95, 0.99]))
def test_anytime_p_values_agree_with_anytime_intervals(n_units, z, confidence):
    is_outside = z > anytime_critical(n_units, confidence)
    assert is_outside == (anytime_p(z, n_units, confidence) < 1 - confidence)


def test_anytime_intervals_are_longer_by_at_most_the_factor_that_is_stated():
    values = random_values(200, 3)
    table = ScoreTable.from_wide(values)
    fixed, anytime = (table.difference(0, 2, intervals=kind) for kind in ("fixed", "anytime"))
    assert 1.4 < (anytime.high - anytime.low) / (fixed.high - fixed.low) < 1.6
    assert anytime.p_value > fixed.p_value


@given(arrays(np.bool_, (6, 6)))
def test_letters_are_shared_if_and_only_if_no_difference_is_clear(upper):
    clear = np.triu(upper, 1) | np.triu(upper, 1).T
    groups = letter_groups(clear)
    for i, j in itertools.combinations(range(6), 2):
        assert any(group[i] and group[j] for group in groups) == (not clear[i, j])
    assert all(any(group[i] for group in groups) for i in range(6))


@given(arrays(np.int64, (7, 3), elements=st.integers(0, 6)))
def test_fragility_of_means_removes_the_fewest_tasks(values):
    table = ScoreTable.from_wide(values)
    means = np.sort(values.mean(axis=0))
    assume(means[-1] > means[-2])
    top = int(values.mean(axis=0).argmax())
    found = table.fragility()
    changing = [
        set(removed)
        for count in range(1, 6)
        for removed in itertools.combinations(range(7), count)
        if is_beaten(np.delete(values, removed, axis=0), top)
    ]
    if found.removed:
        assert {*found.removed} in changing
        assert len(found.removed) <= len(changing[0]) + 1
        assert found.top == top != found.new_top
    else:
        assert not changing


def is_beaten(values, top):
    total = values.sum(axis=0)
    return total.max() > total[top]


@pytest.mark.parametrize("by", BY)
def test_lower_can_be_better(by):
    values = random_values()
    higher, lower = ScoreTable.from_wide(values), ScoreTable.from_wide(-values, lower_is_better=True)
    ours, theirs = higher.leaderboard(by), lower.leaderboard(by)
    assert [row.item for row in ours] == [row.item for row in theirs]
    assert [row.ranks for row in ours] == [row.ranks for row in theirs]
    factor = -1.0 if by == "mean" else 1.0
    assert np.allclose([row.score for row in ours], [factor * row.score for row in theirs])


def test_lower_can_be_better_in_some_tasks():
    values = random_values(4)
    turned = np.where([[False], [True], [False], [True]], -values, values)
    mixed = ScoreTable.from_wide(turned, tasks=list("abcd"), lower_is_better={"b", "d"})
    for by in BY:
        assert np.allclose(mixed.influences(by).scores, ScoreTable.from_wide(values).influences(by).scores)
    scaled = ScoreTable.from_wide(turned, tasks=list("abcd"), lower_is_better={"b", "d"}, scale="range")
    spread = values.max(axis=1, keepdims=True) - values.min(axis=1, keepdims=True)
    expected = ((values - values.min(axis=1, keepdims=True)) / spread).mean(axis=0)
    assert np.allclose(scaled.influences().scores, expected)


def test_scales_of_tasks_do_not_matter_with_a_scale():
    values = random_values()
    stretched = values * np.logspace(-3, 3, len(values))[:, None]
    for scale in ("range", "deviation"):
        ours, theirs = (ScoreTable.from_wide(one, scale=scale).influences() for one in (values, stretched))
        assert np.allclose(ours.scores, theirs.scores)


def test_kendalls_w_is_that_of_friedman():
    values = np.round(random_values(9, 4), 0)
    expected = friedmanchisquare(*values.T).statistic / (9 * 3)
    assert ScoreTable.from_wide(values).agreement() == pytest.approx(expected)


def test_the_task_that_disagrees_comes_first():
    values = np.tile(np.arange(5.0), (8, 1)) + 0.01 * random_values(8, 5)
    values[3] *= -1
    first = ScoreTable.from_wide(values).task_agreement()[0]
    assert (first.task, round(first.correlation, 6), first.models) == (3, -1.0, 5)


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_frames_of_all_libraries_are_tables(convert):
    values = random_values(6, 4, missing=0.1)
    frame = {
        "m": [f"m{k}" for _ in range(6) for k in range(4)],
        "t": [t for t in range(6) for _ in range(4)],
        "v": values.ravel().tolist(),
    }
    table = ScoreTable(convert(frame), model="m", task="t", value="v")
    assert np.array_equal(table.values_, values, equal_nan=True)
    assert table.n_missing_ == np.isnan(values).sum()


def test_rows_and_names_may_come_in_any_order():
    frame = long_frame(random_values(6, 4), n_instances=3)
    mixed = frame.sample(frac=1.0, random_state=0)
    for over in ("tasks", "instances"):
        ours, theirs = (
            ScoreTable(one, model="model", task="task", value="value", instance="instance").influences(
                "wins", over
            )
            for one in (frame, mixed)
        )
        assert np.allclose(ours.covariance, theirs.covariance)


def test_repeated_rows_are_averaged_and_counted():
    frame = {"m": ["x", "x", "y", "x", "y"], "t": [1, 1, 1, 2, 2], "v": [1.0, 3.0, 0.0, 1.0, 0.5]}
    table = ScoreTable(frame, model="m", task="t", value="v")
    assert table.values_[0].tolist() == [2.0, 0.0]
    assert table.n_repeated_ == 1
    assert "1 repeated row" in table.leaderboard().note


def test_few_tasks_are_noted():
    assert "cannot be known" in ScoreTable.from_wide(random_values(9)).leaderboard().note
    assert "cannot be known" not in ScoreTable.from_wide(random_values(10)).leaderboard().note


def test_a_model_of_one_task_has_no_interval():
    values = random_values(8, 3)
    values[1:, 2] = np.nan
    row = next(row for row in ScoreTable.from_wide(values).leaderboard() if row.item == 2)
    assert (row.low, row.high, row.ranks, row.tasks) == (-np.inf, np.inf, "1 to 3", 1)


def test_wins_that_all_agree_are_not_certain():
    table = ScoreTable.from_wide(np.tile([1.0, 0.0], (5, 1)))
    for by in ("wins", "rank", "strength"):
        row = table.leaderboard(by)[0]
        assert row.high - row.low > 0.1
    assert "all models tie" in table.leaderboard("strength").note


def test_a_table_prints_and_is_a_frame():
    board = ScoreTable.from_wide(random_values()).leaderboard("rank")
    assert "ranks" in str(board).splitlines()[0]
    assert "<table>" in board._repr_html_()
    assert list(pd.DataFrame(board).columns[:3]) == ["rank", "item", "score"]
    assert board.as_dicts()[0]["item"] == board[0].item


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([[1.0], [2.0]], {}, "two models or more"),
        ([[1.0, np.nan], [np.nan, 2.0]], {}, "share no tasks"),
        ([[1.0, np.nan], [1.0, np.nan]], {}, "models 1 are missing"),
        ([[1.0, np.inf], [1.0, 0.0]], {}, "infinite"),
        ([[1.0, 2.0], [1.0, 0.0]], {"lower_is_better": {7}}, "collection of tasks; got 7"),
        ([[1.0, 2.0], [1.0, 0.0]], {"scale": "log"}, "scale must be"),
        ([[1.0, 2.0], [1.0, 0.0]], {"models": ["x"]}, "do not fit"),
    ],
)
def test_unusable_tables_are_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        ScoreTable.from_wide(values, **options)


def test_unusable_questions_are_refused():
    table = ScoreTable.from_wide([[1.0, 2.0]])
    for ask, message in (
        (lambda: table.leaderboard(), "two tasks or more"),
        (lambda: table.leaderboard(over="instances"), "column of instances"),
        (lambda: table.leaderboard(by="median"), "by must be"),
        (lambda: table.leaderboard(over="models"), "over must be"),
        (lambda: ScoreTable({"m": [1]}, model="m", task="t", value="v"), "no column 't', 'v'"),
        (lambda: ScoreTable([1.0], model="m", task="t", value="v"), "from_wide"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
    two = ScoreTable.from_wide(random_values())
    with pytest.raises(ValueError, match="no models 9"):
        two.difference(0, 9)
    with pytest.raises(ValueError, match="intervals must be"):
        two.difference(0, 1, intervals="daily")


def test_intervals_of_fixed_looks_have_the_quantile_of_student():
    values = random_values(5, 2)
    row = ScoreTable.from_wide(values).leaderboard(confidence=0.8)[0]
    assert (row.high - row.score) / row.standard_error == pytest.approx(t.isf(0.1, 4))


def test_intervals_stay_within_the_bounds_of_rates_and_ranks():
    table = ScoreTable.from_wide(np.tile([3.0, 2.0, 1.0], (6, 1)))
    for by, bounds in (("wins", (0.0, 1.0)), ("rank", (1.0, 3.0))):
        board = table.leaderboard(by)
        assert (min(row.low for row in board), max(row.high for row in board)) == bounds


def test_equal_models_share_the_first_place():
    board = ScoreTable.from_wide(np.ones((4, 3))).leaderboard()
    assert [round(row.first, 9) for row in board] == [round(1 / 3, 9)] * 3
    assert {row.ranks for row in board} == {"1 to 3"}


def test_the_size_of_values_does_not_matter():
    values = random_values()
    for size in (1e-90, 1e90):
        ours, theirs = (ScoreTable.from_wide(one).leaderboard() for one in (values, values * size))
        assert [row.ranks for row in ours] == [row.ranks for row in theirs]
        assert np.allclose([row.low for row in ours], [row.low / size for row in theirs])
    with pytest.raises(ValueError, match="at most 1e"):
        ScoreTable.from_wide(values * 1e120)


def test_tasks_without_values_are_left_out():
    values = random_values(6, 3)
    values[2] = np.nan
    table = ScoreTable.from_wide(values, lower_is_better={2})
    assert table.tasks_.tolist() == [0, 1, 3, 4, 5]
    assert np.array_equal(table.values_, np.delete(values, 2, axis=0))


@pytest.mark.parametrize("score", BY)
def test_a_task_of_weight_two_scores_as_two_tasks(score):
    values, weight = random_values(8, 4, missing=0.1), np.array([1, 2, 1, 1, 3, 1, 1, 1])
    weighted = ScoreTable.from_wide(values, weight=weight / 7).influences(score)
    copied = ScoreTable.from_wide(np.repeat(values, weight, axis=0)).influences(score)
    assert np.allclose(weighted.scores, copied.scores, atol=1e-8)


@given(
    arrays(np.float64, 7, elements=st.floats(0.1, 9.0)),
    arrays(np.float64, (7, 3), elements=st.floats(-9, 9).map(lambda x: round(x, 3))),
)
def test_errors_of_weighted_means_are_those_of_the_matrix_of_residuals(weight, values):
    board = ScoreTable.from_wide(values, weight=weight).leaderboard()
    found = ScoreTable.from_wide(values, weight=weight).influences()
    for row in board:
        mean, error, freedom = reference.weighted_mean(values[:, row.item], weight)
        assert (row.score, row.standard_error) == pytest.approx((mean, error), abs=1e-9)
        if error > 1e-6:
            assert found.freedom[row.item] == pytest.approx(freedom)


def test_weights_of_instances_are_those_in_the_scores():
    frame = long_frame(random_values(4, 3), n_instances=5)
    frame["weight"] = 1.0 + (frame["task"] * 3 + frame["instance"]) % 4
    table = ScoreTable(frame, **NAMES, instance="instance", weight="weight")
    parts = frame.assign(total=frame["value"] * frame["weight"]).groupby("model")[["total", "weight"]].sum()
    expected = (parts["total"] / parts["weight"]).to_numpy()
    for over in ("tasks", "instances", "both"):
        assert np.allclose(table.influences("mean", over).scores, expected)
    cells = frame.assign(total=frame["value"] * frame["weight"]).groupby(["task", "model"]).sum()
    assert np.allclose(table.values_.ravel(), cells["total"] / cells["weight"])
    frame["weight"] = 1.0
    ones = ScoreTable(
        frame[frame["instance"] <= frame["task"]], **NAMES, instance="instance", weight="weight"
    )
    means = frame[frame["instance"] <= frame["task"]].groupby("model")["value"].mean()
    assert np.allclose(ones.influences().scores, means)


def test_instances_of_weight_zero_are_left_out():
    frame = long_frame(random_values(4, 3), n_instances=5)
    frame["weight"] = (frame["instance"] > 0) * (frame["task"] > 0) * 1.0
    ours = ScoreTable(frame, **NAMES, instance="instance", weight="weight")
    theirs = ScoreTable(frame[frame["weight"] > 0], **NAMES, instance="instance", weight="weight")
    assert np.array_equal(ours.values_, theirs.values_)
    assert ours.tasks_.tolist() == [1, 2, 3]
    for weight, message in ((np.arange(len(frame)), "must be the same"), (-frame["weight"], "negative")):
        with pytest.raises(ValueError, match=message):
            ScoreTable(frame.assign(weight=weight), **NAMES, instance="instance", weight="weight")


def test_over_both_compares_on_instances_with_errors_of_tasks():
    frame = long_frame(random_values(9, 4), n_instances=6)
    table = ScoreTable(frame, **NAMES, instance="instance")
    by_task = np.array([reference.win_rates(one) for one in wide_instances(frame)])
    board = table.leaderboard("wins", "both")
    for row in board:
        rates = by_task[:, int(row.item[1])]
        assert row.score == pytest.approx(rates.mean())
        assert row.standard_error == pytest.approx(rates.std(ddof=1) / 3)
    test = ttest_rel(by_task[:, 0], by_task[:, 3])
    assert table.difference("m0", "m3", "wins", "both").p_value == pytest.approx(test.pvalue)
    assert "other instances" in board.note


def wide_instances(frame):
    """The values of each task: a row per instance, a column per model."""
    parts = frame.groupby("task")
    return [
        part.pivot_table(index="instance", columns="model", values="value").to_numpy() for _, part in parts
    ]


def test_means_over_tasks_have_the_errors_of_both():
    table = ScoreTable(long_frame(random_values(9, 4), n_instances=6), **NAMES, instance="instance")
    ours, theirs = (table.influences("mean", over) for over in ("both", "tasks"))
    assert np.array_equal(ours.covariance, theirs.covariance)


@given(tables(3))
@settings(deadline=None)
def test_worths_have_no_slope_of_plackett_and_luce(values):
    table, values = connected(values)
    found = table.influences("plackett-luce")
    n_models = values.shape[1]
    lists = [row[~np.isnan(row)] for row in values]
    item = [np.flatnonzero(~np.isnan(row)) for row in values]
    weight = [np.ones(len(one)) for one in lists]
    if found.note:
        lists += list(np.eye(n_models))
        item += [np.arange(n_models)] * n_models
        weight += [np.full(n_models, 1 - 1 / n_models)] * n_models
    query = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    item, labels, weight = (np.concatenate(one) for one in (item, lists, weight))
    # A weight of a whole ranking: its rows are counted alike.
    slopes = np.zeros(n_models)
    for q in set(query.tolist()):
        rows = query == q
        if len(set(labels[rows].tolist())) > 1:
            loss = reference.plackett_luce(
                found.scores[item[rows]], labels[rows], query[rows], ties="efron", average="pairs"
            )[1]
            chosen = (labels[rows] > labels[rows].min()).sum()
            np.add.at(slopes, item[rows], weight[rows] * chosen * loss)
    assert np.abs(slopes).max() < 1e-5
    assert found.scores.mean() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("score", ["mean", "wins"])
@pytest.mark.parametrize("seed", range(5))
def test_instances_without_which_another_model_is_first(score, seed):
    frame = long_frame(np.zeros((3, 3)), n_instances=5, seed=seed)
    table = ScoreTable(frame, **NAMES, instance="instance")
    found = table.fragility(score, "instances")
    rows = pd.MultiIndex.from_frame(frame[["task", "instance"]])

    def first_without(removed):
        rest = frame[~rows.isin(removed)]
        if score == "mean":
            return rest.groupby(["task", "model"])["value"].mean().groupby("model").mean().idxmax()
        rates = np.mean([reference.win_rates(one) for one in wide_instances(rest)], axis=0)
        return f"m{rates.argmax()}"

    assert first_without([]) == found.top
    assert first_without(found.removed) == found.new_top != found.top
    assert (found.total, found.unit) == (15, "instance")
    fewer = (
        removed
        for count in range(1, min(len(found.removed), 3))
        for removed in itertools.combinations(sorted(set(rows)), count)
    )
    changing = next((removed for removed in fewer if first_without(removed) != found.top), None)
    assert changing is None or len(found.removed) <= len(changing) + 1
    assert f"{found.removed[0][1]} of {found.removed[0][0]}" in str(found)


def test_the_chance_of_separation_is_that_of_a_simulation():
    for apart, n, more in ((0.5, 8, 8), (1.2, 12, 3)):
        ours = Plan(apart, 0.6, n - 1, n).chance(more)
        theirs = reference.chance_of_separation(apart, 0.6, n, more, 0.95, 2000, 0)
        assert ours == pytest.approx(theirs, abs=0.03)


def test_more_tasks_separate_the_first_two():
    table = ScoreTable.from_wide(random_values(30, 3, seed=4) - [3.0, 0.0, 0.0])
    first, second, third = (row.item for row in table.leaderboard())
    found = table.separation()
    assert (found.a, found.b, found.unit, found.units) == (first, second, "task", 30)
    one = table.difference(first, second)
    plan = Plan(one.estimate, one.standard_error, 29, 30)
    assert plan.chance(found.more) >= 0.8 > plan.chance(found.more - 1)
    assert table.separation(intervals="anytime").more > found.more
    assert table.separation(first, third).more == 0
    assert "already" in str(table.separation(first, third))
    assert f"{found.more:,} more tasks" in str(found)
    equal = ScoreTable.from_wide([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert equal.separation(chance=0.99).more is None
    assert "Even 1,000 times" in str(equal.separation(chance=0.99))


def test_separation_over_instances_asks_for_instances():
    table = ScoreTable(long_frame(0.02 * random_values(3, 2), n_instances=9), **NAMES, instance="instance")
    found = table.separation(over="instances")
    assert (found.unit, found.units) == ("instance", 27)
    with pytest.raises(ValueError, match="a and b, or neither"):
        table.separation("m0")
    with pytest.raises(ValueError, match="0 < chance < 1"):
        table.separation(chance=1.0)
