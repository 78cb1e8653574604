"""Ratings over time: a fit to the votes until the end of each period."""

import json

import numpy as np
import pandas as pd
import pytest

from html_page import Page
from rankwise import BradleyTerry, CrowdBradleyTerry
from rankwise.cli.main import main
from rankwise.leaderboard import ratings_over_time
from rankwise.leaderboard.over_time import periods_of


@pytest.fixture(scope="module")
def votes():
    """Votes of four months; the scores of the first and the last item cross."""
    generator = np.random.default_rng(0)
    day = np.sort(generator.integers(0, 120, size=400))
    a = generator.integers(4, size=400)
    b = (a + generator.integers(1, 4, size=400)) % 4
    slope = np.array([1.5, 0.5, -0.5, -1.5])
    d = (slope[a] - slope[b]) * (1 - day / 60)
    won = generator.random(400) < 1 / (1 + np.exp(-d))
    names = np.array(["ann", "bob", "cid", "dora"])
    date = (np.datetime64("2024-01-01") + day).astype(str)
    return pd.DataFrame({"a": names[a], "b": names[b], "outcome": won * 1.0, "date": date})


def effective(votes, half_life=30):
    day = pd.to_datetime(votes.date)
    weight = 0.5 ** ((day.max() - day).dt.days / half_life)
    return weight.sum() ** 2 / (weight**2).sum()


@pytest.mark.parametrize("alpha", [None, 0.01])
def test_ratings_are_those_of_fits_to_the_votes_until_then(votes, alpha):
    ratings = ratings_over_time(BradleyTerry(alpha, half_life=30), votes, confidence=0.9)
    assert ratings.periods == ["2024-01", "2024-02", "2024-03", "2024-04"]
    for period in ratings.periods:
        past = votes[votes.date.str[:7] <= period]
        # The same prior: alpha times the effective number of votes stays.
        scaled = None if alpha is None else alpha * effective(votes) / effective(past)
        board = BradleyTerry(scaled, half_life=30).fit(past).leaderboard(confidence=0.9)
        found = [row for row in ratings if row.period == period]
        assert [row.item for row in found] == [row.item for row in board]
        for row, expected in zip(found, board, strict=True):
            assert row[3:] == pytest.approx((expected.score, expected.low, expected.high, expected.matches))
    first, last = ratings.of("ann")[0], ratings.of("ann")[-1]
    assert first.score > 0.5
    assert last.score < -0.5
    assert ratings.latest(1) == ["dora"]
    assert pd.DataFrame(ratings).shape == (16, 7)
    assert str(ratings).splitlines()[1].split()[:3] == ["2024-01", "1", "ann"]


def test_periods_are_weeks_years_or_numbers():
    days = (np.array(["2023-12-31", "2024-01-01", "2024-01-07", "2024-03-01"], dtype="datetime64[D]")).astype(
        float
    )
    assert periods_of(days, True, "week")[0] == ["2023-12-25", "2024-01-01", "2024-02-26"]
    assert periods_of(days, True, "week")[1].tolist() == [0, 1, 1, 2]
    assert periods_of(days, True, "year")[0] == ["2023", "2024"]
    assert periods_of(days, True, 7)[0] == ["2023-12-31", "2024-01-07", "2024-02-25"]
    with pytest.raises(ValueError, match="period must be"):
        periods_of(days, True, "day")
    with pytest.raises(ValueError, match="needs dates"):
        periods_of(days, False, "month")
    with pytest.raises(ValueError, match="period must be a positive number"):
        periods_of(days, True, 0)


def test_numbers_are_periods_of_their_unit_and_dates_are_needed(votes):
    number = np.arange(len(votes))
    ratings = ratings_over_time(
        BradleyTerry(), votes.a, votes.b, outcome=votes.outcome, date=number, period=200, cluster=number % 20
    )
    assert ratings.periods == [0.0, 200.0]
    board = BradleyTerry().fit(votes.drop(columns="date"), cluster=number % 20).leaderboard()
    assert ratings[-4].low == pytest.approx(board[0].low)
    with pytest.raises(ValueError, match="need the date"):
        ratings_over_time(BradleyTerry(), ["x"], ["y"])


def test_the_picture_has_a_line_per_item(votes):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from rankwise.plotting import RatingsDisplay

    ratings = ratings_over_time(BradleyTerry(half_life=30), votes)
    display = RatingsDisplay(ratings=ratings).plot(top=2)
    first, second = display.drawn_.marks[1::3]
    assert [first.name, second.name] == ratings.latest(2)
    assert first.y == [row.score for row in ratings.of(ratings.latest(1)[0])]
    named = RatingsDisplay(ratings=ratings).plot(items=["ann"])
    assert [named.drawn_.marks[1].name] == ["ann"]
    pyplot.close("all")


def test_the_command_prints_ratings_and_draws_them(votes, tmp_path, capsys):
    votes.to_csv(tmp_path / "votes.csv", index=False)
    columns = ["leaderboard", str(tmp_path / "votes.csv"), "--a", "a", "--b", "b", "--outcome", "outcome"]
    options = ["--date", "date", "--half-life", "30", "--over-time", "month"]
    page = tmp_path / "page.html"
    assert main([*columns, *options, "--json", "-o", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)["over_time"]
    expected = ratings_over_time(BradleyTerry(half_life=30), votes)
    assert [row["score"] for row in found] == pytest.approx([row.score for row in expected])
    assert "Ratings over time" in Page(page.read_text()).words
    assert main([*columns, *options]) == 0
    assert "2024-04" in capsys.readouterr().out
    assert main([*columns, "--over-time", "month"]) == 2
    assert "--over-time needs --date." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*columns, "--date", "date", "--over-time", "day"])
    assert "week, month, year or a positive number" in capsys.readouterr().err


def test_a_period_with_votes_of_two_clusters_has_no_intervals():
    winner, loser, date = list("xyxyzx") * 2, list("yxyxyz") * 2, [1, 1, 2, 2, 3, 3] * 2
    users = list("ppqqqrppqqst")
    ratings = ratings_over_time(BradleyTerry(), winner, loser, date=date, cluster=users, period=1)
    assert ratings.periods == [3.0]


def test_ratings_with_covariates_and_judges(votes):
    length = np.random.default_rng(0).normal(size=len(votes))
    judge = np.arange(len(votes)) % 3
    for model, more in (
        (BradleyTerry(), {"covariates": {"length": length}}),
        (CrowdBradleyTerry(), {"judge": judge}),
    ):
        last = [row for row in ratings_over_time(model, votes, **more) if row.period == "2024-04"]
        board = model.fit(votes, **more).leaderboard()
        assert [row.item for row in last] == [row.item for row in board]
        assert [row.score for row in last] == pytest.approx([row.score for row in board])
