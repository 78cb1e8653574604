"""A leaderboard as a command, as a page and as a picture."""

import gzip
import json
import re

import numpy as np
import pandas as pd
import pytest

from html_page import Page
from rankwise import BradleyTerry, CrowdBradleyTerry, RankRLS, save_model
from rankwise.cli.main import main
from rankwise.io.tables import TableError, read_text_columns
from rankwise.leaderboard import judge_table, pair_table
from rankwise.report.leaderboard import headline, leaderboard_page

NAMES = ["Ann", "Bob <b>", "NA", "007"]


@pytest.fixture(scope="module")
def games():
    """Home, away, result, weight and day of 200 games; the first is the best."""
    generator = np.random.default_rng(0)
    a = generator.integers(4, size=200)
    b = (a + 1 + generator.integers(3, size=200)) % 4
    won = generator.random(200) < 1 / (1 + np.exp(0.8 * (a - b) - 0.3))
    result = np.where(generator.random(200) < 0.2, "tie", np.where(won, "win", "loss"))
    names = np.array(NAMES)
    day = pd.date_range("2024-01-01", periods=200).strftime("%Y-%m-%d")
    weight = generator.integers(1, 4, size=200)
    return pd.DataFrame({"home": names[a], "away": names[b], "result": result, "n": weight, "day": day})


@pytest.fixture(scope="module")
def table(games, tmp_path_factory):
    path = tmp_path_factory.mktemp("games") / "games.csv"
    games.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(games):
    return BradleyTerry(ties="davidson", order_effect=True).fit(games.home, games.away, outcome=games.result)


def run(capsys, *arguments):
    capsys.readouterr()
    assert main(["leaderboard", *map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def columns(*more):
    return ["--a", "home", "--b", "away", "--outcome", "result", *more]


def test_the_command_gives_the_numbers_of_the_estimator(capsys, table, model):
    found = run(capsys, table, *columns("--ties", "davidson", "--order-effect"))
    board = model.leaderboard()
    assert [row["item"] for row in found["leaderboard"]] == [row.item for row in board]
    for row, expected in zip(found["leaderboard"], board, strict=True):
        assert row == pytest.approx(expected._asdict(), abs=1e-9)
    assert found["order_effect"] == pytest.approx(model.order_effect_)
    assert found["tie_effect"] == pytest.approx(model.tie_effect_)
    assert (found["matches"], found["items"], found["groups"]) == (200, 4, 1)


def test_the_command_takes_weights_dates_alpha_and_top(capsys, table, games):
    more = ["--weight", "n", "--date", "day", "--half-life", "50", "--alpha", "0.01", "--top", "2"]
    found = run(capsys, table, *columns(*more, "--confidence", "0.8"))
    model = BradleyTerry(0.01, half_life=50)
    model.fit(games.home, games.away, games.n, outcome=games.result, date=games.day)
    expected = model.leaderboard(2, confidence=0.8)
    assert [row["score"] for row in found["leaderboard"]] == pytest.approx([row.score for row in expected])
    assert [row["high"] for row in found["leaderboard"]] == pytest.approx([row.high for row in expected])
    assert found["confidence"] == 0.8


def test_the_command_takes_clusters_and_kinds_of_intervals(capsys, games, tmp_path):
    path, users = tmp_path / "games.csv", np.arange(200) % 11
    games.assign(user=users, prompt=np.arange(200) // 8).to_csv(path, index=False)
    plain = {"outcome": games.result}
    for options, fit in (
        (["--cluster", "user"], {"cluster": users}),
        (["--cluster", "user", "prompt"], {"cluster": (users, np.arange(200) // 8)}),
    ):
        found = run(capsys, path, *columns(*options, "--ties", "davidson", "--order-effect"))
        model = BradleyTerry(ties="davidson", order_effect=True).fit(games.home, games.away, **plain, **fit)
        lows = [row.low for row in model.leaderboard()]
        assert [row["low"] for row in found["leaderboard"]] == pytest.approx(lows)
        names = [one["name"] for one in found["effects"]]
        assert names == ["order effect", "tie effect"]
        assert found["effects"][0]["high"] == pytest.approx(model.effects()[0].high)
    found = run(capsys, path, *columns("--intervals", "posterior"))
    model = BradleyTerry(intervals="posterior").fit(games.home, games.away, **plain)
    assert found["leaderboard"][0]["high"] == pytest.approx(model.leaderboard()[0].high)
    assert found["prior_sd"] == pytest.approx(model.prior_sd_)
    assert main(["leaderboard", str(path), *columns("--cluster", "user", "prompt", "day")]) == 2
    assert "--cluster takes one column or two; got 3" in capsys.readouterr().err


def test_the_command_prints_a_table_and_writes_a_page(capsys, table, tmp_path, model):
    output = tmp_path / "page.html"
    options = columns("--ties", "davidson", "--order-effect", "-o", str(output), "--title", "Games & more")
    assert main(["leaderboard", str(table), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == str(model.leaderboard()).splitlines()
    assert lines[-1] == f"written to {output}"
    page = Page(output.read_text(encoding="utf-8"))
    assert page.names("leaderboard") == [row.item for row in model.leaderboard()]
    assert page.column("leaderboard", "Score") == [row.score for row in model.leaderboard()]
    assert "Games & more" in page.words


def test_every_form_of_a_table_is_read(capsys, table, games, tmp_path):
    packed, tabs, parquet = (tmp_path / name for name in ("games.csv.gz", "games.tsv", "games.parquet"))
    packed.write_bytes(gzip.compress(table.read_bytes()))
    games.to_csv(tabs, sep="\t", index=False)
    games.to_parquet(parquet)
    expected = run(capsys, table, *columns())["leaderboard"]
    for path in (packed, tabs, parquet):
        assert run(capsys, path, *columns())["leaderboard"] == expected
    numbers = games.assign(result=games.result.map({"win": 1, "tie": 0.5, "loss": 0}))
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    assert run(capsys, tmp_path / "numbers.csv", *columns())["leaderboard"] == expected


def test_winners_and_losers_need_no_outcome(capsys, tmp_path):
    path = tmp_path / "matches.csv"
    path.write_text("winner,loser\nx,y\nx,z\n\ny,z\nz,y\n", encoding="utf-8")
    found = run(capsys, path, "--a", "winner", "--b", "loser")
    assert found["leaderboard"][0]["item"] == "x"
    assert found["matches"] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("winner,loser\nx,\n", "loser is missing in row 0"),
        ("winner,loser\nx,x\n", "Row 0 compares 'x' with itself"),
        ("winner,loser\n", "There are no matches"),
        ("winner,beaten\nx,y\n", "has no column 'loser'; its columns are 'winner', 'beaten'"),
        ("winner,loser\nx,y,z\n", "row 1: 3 fields for 2 columns"),
        ("", "is empty, but a table begins with names of columns"),
    ],
)
def test_a_bad_table_is_named(capsys, tmp_path, text, message):
    path = tmp_path / "matches.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["leaderboard", str(path), "--a", "winner", "--b", "loser"]) == 1
    assert message in capsys.readouterr().err


def test_a_saved_model_takes_the_place_of_its_table(capsys, table, model, tmp_path):
    path = tmp_path / "model.json"
    first = run(capsys, table, *columns("--ties", "davidson", "--order-effect", "--model", path))
    assert first["model"] == str(path)
    again = run(capsys, path, "--match", "Ann", "007", "--match", "007", "Ann")
    assert again["leaderboard"] == first["leaderboard"]
    expected = model.predict_match_proba(["Ann", "007"], ["007", "Ann"])
    found = [[one[end] for end in ("win", "tie", "loss")] for one in again["chances"]]
    assert found == pytest.approx(expected, abs=1e-9)
    assert main(["leaderboard", str(path), "--top", "1", "--match", "Ann", "007"]) == 0
    win, tie, loss = expected[0]
    printed = capsys.readouterr().out.splitlines()[-1]
    assert printed == f"Ann against 007: {win:.1%} win, {tie:.1%} tie, {loss:.1%} loss"


def test_what_does_not_go_with_a_saved_model_is_refused(capsys, table, model, tmp_path):
    path = tmp_path / "model.json"
    save_model(model, path)
    assert main(["leaderboard", str(path), "--a", "home", "--b", "away"]) == 2
    assert "--a cannot be used with a model" in capsys.readouterr().err
    assert main(["leaderboard", str(path), "--match", "Ann", "Zoe"]) == 1
    assert "b names 'Zoe', which was in no match" in capsys.readouterr().err
    assert main(["leaderboard", str(table), "--a", "home"]) == 2
    assert "A table of matches needs --a and --b" in capsys.readouterr().err
    assert main(["predict", str(path), str(table)]) == 1
    assert "scores named items, not rows" in capsys.readouterr().err
    save_model(RankRLS().fit([[0.0], [1.0]], [0, 1]), path)
    assert main(["leaderboard", str(path)]) == 1
    assert "scores rows, not named items" in capsys.readouterr().err


def test_names_that_are_numbers_are_found_by_their_text(capsys, tmp_path):
    path = tmp_path / "model.json"
    save_model(BradleyTerry().fit([1, 1, 2], [2, 3, 3]), path)
    (found,) = run(capsys, path, "--match", "1", "3")["chances"]
    assert found["win"] > 0.5


def test_options_that_lack_another_are_refused(capsys, table):
    assert main(["leaderboard", str(table), "--a", "home", "--b", "away", "--order-effect"]) == 2
    assert "--order-effect needs --outcome" in capsys.readouterr().err
    assert main(["leaderboard", str(table), *columns("--half-life", "3")]) == 2
    assert "--half-life needs --date" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["leaderboard", str(table), *columns("--confidence", "95")])
    assert "must be a number between 0 and 1; got '95'" in capsys.readouterr().err


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "matches.csv"
    path.write_bytes(b"winner,loser\n\xff\xfe,y\n")
    with pytest.raises(TableError, match="is not a readable table"):
        read_text_columns(path, ["winner", "loser"])


def test_the_page_shows_chances_and_is_safe(model):
    board = model.leaderboard()
    html = leaderboard_page(model, board)
    page = Page(html)
    assert "<b>" not in html
    names = page.names("chances")
    assert page.tables["chances"][1][3][1] == pytest.approx(model.predict_pair_proba(names[0], names[1]))
    assert page.tables["chances"][2][2][1] == pytest.approx(model.predict_pair_proba(names[1], names[0]))
    assert page.tables["chances"][1][2][1] is None
    assert headline(model, board) in page.words
    assert "Tie effect nu" in page.words
    assert page.column("leaderboard", "Range of rank") == [row.best_rank for row in board]
    # The likelier winner of a pair is blue, the other one orange.
    shades = re.findall(r'style="background:color-mix\(in srgb,var\(--fill-(blue|orange)\)', html)
    n_pairs = len(board) * (len(board) - 1) // 2
    assert sorted(shades) == ["blue"] * n_pairs + ["orange"] * n_pairs


def test_the_page_names_items_in_its_matrix_and_shows_elo_and_first_places(model):
    board = model.leaderboard()
    page = Page(leaderboard_page(model, board))
    names = [row.item for row in board]
    assert [cell[0] for cell in page.tables["chances"][0]] == ["Item", "Rank", *names]
    scores = np.array([row.score for row in board])
    assert page.column("leaderboard", "Elo") == pytest.approx(1000 + 400 / np.log(10) * scores)
    assert "A tie counts as half a win in the win rate." in page.words
    # Ten to one is 400.
    assert board[0].elo == pytest.approx(1000 + 400 * board[0].score / np.log(10))
    places = dict(zip(model.items_, model.top_probabilities(), strict=True))
    assert page.column("leaderboard", "First place") == pytest.approx([places[name] for name in names])
    assert f"Ann is the best with a probability of {places['Ann']:.1%}" in page.words


def test_the_page_has_intervals_of_pairs(model, table, capsys):
    board = model.leaderboard(confidence=0.9)
    page = Page(leaderboard_page(model, board))
    pairs = [(row[0][0], row[1][0]) for row in page.tables["pairs"][1:]]
    names = [row.item for row in board]
    assert pairs == [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    expected = pair_table(model, confidence=0.9)
    assert page.column("pairs", "Difference") == [row.difference for row in expected]
    for row in expected:
        assert row[2:6] == model.difference(row.a, row.b, confidence=0.9)[:4]
        assert row.probability == pytest.approx(model.predict_pair_proba(row.a, row.b))
        assert row[7:] == pytest.approx(model.predict_pair_interval(row.a, row.b, confidence=0.9))
    assert pair_table(model, 1) == []
    assert "pairs" not in Page(leaderboard_page(model, model.leaderboard(1))).tables
    found = run(capsys, table, *columns("--ties", "davidson", "--order-effect", "--confidence", "0.9"))
    assert found["pairs"][0] == pytest.approx(expected[0]._asdict(), abs=1e-9)


def test_differences_are_those_of_single_pairs(model):
    found = model.differences(["Ann", "007"], ["NA", "Ann"], confidence=0.8)
    assert found == [
        model.difference("Ann", "NA", confidence=0.8), model.difference("007", "Ann", confidence=0.8)
    ]  # fmt: skip
    assert model.differences("Ann", ["NA", "007"])[1] == model.difference("Ann", "007")
    with pytest.raises(ValueError, match="b names 'nobody', which was in no match"):
        model.differences(["Ann"], ["nobody"])


def test_the_page_says_how_ties_count_and_ends_with_numerics(games, model):
    words = Page(leaderboard_page(model, model.leaderboard())).words
    equal = model.tie_effect_ / (2 + model.tie_effect_)
    assert f"two items of equal scores tie with a probability of {equal:.1%}" in words
    half = BradleyTerry().fit(games.home, games.away, outcome=games.result)
    words = Page(leaderboard_page(half, half.leaderboard())).words
    assert "A tie counts as half a win for each of the two" in words
    assert words.index("How to read the scores") < words.index("The fit in numbers")
    for numeric in ("Objective", "Certified gap", "Penalty alpha"):
        assert words.index("The fit in numbers") < words.index(numeric)


def test_the_page_says_for_whom_intervals_hold(games):
    for intervals in ("debiased", "posterior"):
        model = BradleyTerry(intervals=intervals).fit(games.home, games.away, outcome=games.result)
        assert "named beforehand" in Page(leaderboard_page(model, model.leaderboard())).words


@pytest.mark.filterwarnings("ignore:1 judge votes against the rest")
def test_the_page_has_a_section_of_judges(model):
    assert "judges" not in Page(leaderboard_page(model, model.leaderboard())).tables
    generator = np.random.default_rng(0)
    a, k = generator.integers(4, size=1200), generator.integers(3, size=1200)
    b = (a + 1 + generator.integers(3, size=1200)) % 4
    slope = np.array([2.0, 1.0, -1.5])[k]
    won = (generator.random(1200) < 1 / (1 + np.exp(slope * (a - b)))).astype(float)
    judge = np.array(["strict", "usual", "<i>opposed"])[k]
    judged = CrowdBradleyTerry().fit(a, b, outcome=won, judge=judge)
    page = Page(leaderboard_page(judged, judged.leaderboard()))
    rows = judge_table(judged)
    assert page.names("judges") == [row.judge for row in rows]
    assert page.column("judges", "Slope") == [row.slope.value for row in rows]
    assert page.column("judges", "Order effect") == [row.order_effect.value for row in rows]
    assert "1 judge votes against the rest: <i>opposed." in page.words
    ordered = np.where(won == 1, a, b), np.where(won == 1, b, a)
    slopes = CrowdBradleyTerry().fit(*ordered, judge=judge)
    page = Page(leaderboard_page(slopes, slopes.leaderboard()))
    assert [cell[0] for cell in page.tables["judges"][0]] == ["Judge", "Votes", "Slope", "from", "to"]


def test_the_page_of_many_items_has_no_ranges_of_ranks(model, monkeypatch):
    from rankwise.leaderboard import base

    monkeypatch.setattr(base, "DENSE_ITEMS", 2)
    board = model.leaderboard(2)
    page = Page(leaderboard_page(model, board))
    assert page.column("leaderboard", "Range of rank") == [None, None]
    assert headline(model, board) == "Ann is ahead after 200 matches of 4 items."


def test_the_picture_draws_scores_with_their_intervals(model):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from rankwise.plotting import LeaderboardDisplay

    display = LeaderboardDisplay.from_estimator(model, top=3, confidence=0.9)
    board = model.leaderboard(3, confidence=0.9)
    intervals, points = display.drawn_.marks
    assert points.x.tolist() == [row.score for row in board]
    ends = np.column_stack([intervals.low, intervals.high])
    assert ends == pytest.approx(np.array([[row.low, row.high] for row in board]))
    assert display.ax_.get_yticklabels()[0].get_text() == f"1  {board[0].item}"
    assert [text.get_text() for text in display.ax_.texts] == [row.ranks for row in board]
    pyplot.close("all")


def test_compact_dates_and_dates_with_a_zone_are_read_by_the_command(tmp_path, capsys):
    found = []
    for dates in (
        ["20240131", "20240201", "20240301"],
        ["2024-01-31", "2024-02-01", "2024-03-01"],
        ["2024-01-31T02:00+02:00", "2024-02-01T00:00Z", "2024-03-01"],
    ):
        lines = [f"{a},{b},{date}" for a, b, date in zip("xyy", "yxx", dates, strict=True)]
        (tmp_path / "m.csv").write_text("\n".join(["w,l,d", *lines]))
        options = ["--a", "w", "--b", "l", "--date", "d", "--half-life", "10"]
        found.append(run(capsys, tmp_path / "m.csv", *options)["leaderboard"])
    assert found[0] == found[1] == found[2]


def test_a_tie_that_counts_as_half_a_win_has_no_probability(table, capsys):
    found = run(capsys, table, *columns("--match", "Ann", "007"))["chances"][0]
    assert found["tie"] is None
    assert found["win"] + found["loss"] == pytest.approx(1.0)
    assert main(["leaderboard", str(table), *columns("--match", "Ann", "007")]) == 0
    printed = capsys.readouterr().out.splitlines()[-1]
    assert printed.endswith(f"{found['win']:.1%} win, {found['loss']:.1%} loss; a tie counts as half of each")


def test_a_single_match_agrees_in_number(tmp_path, capsys):
    (tmp_path / "m.csv").write_text("w,l\nann,bob\n")
    assert main(["leaderboard", str(tmp_path / "m.csv"), "--a", "w", "--b", "l"]) == 0
    assert "1 match of 2 items" in capsys.readouterr().out
