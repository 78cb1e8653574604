"""Tables of votes as they come: of arenas, of chosen and rejected answers, and with other columns by name."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankwise import BradleyTerry, CrowdBradleyTerry
from rankwise.cli.main import main

WINNERS = np.array(["model_a", "model_b", "tie", "tie (bothbad)"])


def arena(n=200, seed=0):
    """An arena table: who was better, whose votes they are, how much longer the first answer was."""
    rng = np.random.default_rng(seed)
    a = rng.integers(5, size=n)
    b = (a + rng.integers(1, 5, size=n)) % 5
    names = np.array(["m0", "m1", "m2", "m3", "m4"])
    return pd.DataFrame(
        {
            "question_id": np.arange(n),
            "model_a": names[a],
            "model_b": names[b],
            "winner": WINNERS[rng.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=n)],
            "user": rng.integers(12, size=n),
            "topic": rng.choice(["x", "y", "z"], size=n),
            "length": rng.normal(size=n),
            "side": rng.choice([-1, 1], size=n),
        }
    )


def test_an_arena_table_is_understood():
    frame = arena()
    result = frame.winner.map({"model_a": 1.0, "model_b": 0.0}).fillna(0.5)
    expected = BradleyTerry().fit(frame.model_a, frame.model_b, outcome=result)
    forms = [
        frame,
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        frame.to_dict("list"),
        frame.assign(winner=frame.winner.str.upper()),
    ]
    for form in forms:
        assert BradleyTerry().fit(form).leaderboard() == expected.leaderboard()
    given = BradleyTerry().fit(frame.model_a, frame.model_b, outcome=frame.winner)
    assert given.leaderboard() == expected.leaderboard()
    both_bad = frame.assign(winner=frame.winner.replace("tie (bothbad)", "both_bad"))
    assert BradleyTerry().fit(both_bad).leaderboard() == expected.leaderboard()
    swapped = frame.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    assert BradleyTerry().fit(swapped).scores_ == pytest.approx(-expected.scores_, abs=1e-6)


def test_chosen_and_rejected_are_winner_and_loser():
    frame = pd.DataFrame({"chosen": ["x", "x", "y", "z"], "rejected": ["y", "z", "z", "x"]})
    expected = BradleyTerry().fit(frame.chosen, frame.rejected).leaderboard()
    assert BradleyTerry().fit(frame).leaderboard() == expected


def test_unknown_outcomes_are_named_with_their_row():
    frame = arena(20)
    frame.loc[7, "winner"] = "model_c"
    frame.loc[11, "winner"] = "m1"
    with pytest.raises(ValueError, match=r"outcome must be .* got 'model_c' in row 7"):
        BradleyTerry().fit(frame)
    frame.loc[7, "winner"] = None
    with pytest.raises(ValueError, match="outcome is missing in row 7"):
        BradleyTerry().fit(frame)
    with pytest.raises(ValueError, match=r"got 0\.7 in row 1"):
        BradleyTerry().fit(["x", "y"], ["y", "x"], outcome=np.array([1.0, 0.7]))


@pytest.mark.filterwarnings("ignore:cluster has 3 values")
@pytest.mark.parametrize(
    "convert",
    [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_dict("list")],
)
def test_other_columns_are_given_by_name(convert):
    frame = arena()
    expected = BradleyTerry(half_life=50).fit(
        frame, weight=frame.side + 2.0, cluster=(frame.user, frame.topic),
        covariates=frame[["length", "side"]], date=frame.question_id,
    )  # fmt: skip
    named = BradleyTerry(half_life=50).fit(
        convert(frame.assign(times=frame.side + 2.0)), weight="times", cluster=["user", "topic"],
        covariates=["length", "side"], date="question_id",
    )  # fmt: skip
    assert named.leaderboard() == expected.leaderboard()
    assert named.effects() == expected.effects()
    assert named.covariate_names_ == ["length", "side"]
    judged = CrowdBradleyTerry().fit(convert(frame), judge="user")
    assert judged.leaderboard() == CrowdBradleyTerry().fit(frame, judge=frame.user).leaderboard()
    one = BradleyTerry().fit(convert(frame), cluster="user", covariates="length")
    both = BradleyTerry().fit(frame, cluster=frame.user, covariates={"length": frame.length})
    assert one.leaderboard() == both.leaderboard()
    assert one.effects() == both.effects()


def test_labels_in_a_list_are_not_names_of_columns():
    frame = arena(5)
    labels = ["user", "u", "v", "w", "x"]
    expected = BradleyTerry().fit(frame, cluster=np.array(labels)).leaderboard()
    assert BradleyTerry().fit(frame, cluster=labels).leaderboard() == expected


def test_unknown_columns_are_named():
    with pytest.raises(ValueError, match="cluster names the column 'judge', which the frame does not have"):
        BradleyTerry().fit(arena(), cluster="judge")
    with pytest.raises(ValueError, match="covariates names the column 'width'"):
        BradleyTerry().fit(arena(), covariates=["length", "width"])
    with pytest.raises(
        ValueError, match="must have the columns winner and loser, chosen and rejected, model_a"
    ):
        BradleyTerry().fit(arena().drop(columns="winner"))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "votes.csv"
    arena().to_csv(path, index=False)
    return path


def run(capsys, *arguments):
    capsys.readouterr()
    assert main(["leaderboard", *map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_the_command_recognises_columns(capsys, table, tmp_path, monkeypatch):
    frame = arena()
    expected = BradleyTerry().fit(frame)
    found = run(capsys, table)
    assert [row["score"] for row in found["leaderboard"]] == pytest.approx(
        [row.score for row in expected.leaderboard()]
    )
    assert found["detected"] == {"a": "model_a", "b": "model_b", "outcome": "winner"}
    assert main(["leaderboard", str(table)]) == 0
    said = "columns recognized by name: model_a (first item), model_b (second item) and winner (outcome)"
    assert said in capsys.readouterr().out
    frame.to_parquet(tmp_path / "votes.parquet")
    assert run(capsys, tmp_path / "votes.parquet")["leaderboard"] == found["leaderboard"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    assert run(capsys, "-")["leaderboard"] == found["leaderboard"]
    options = ["--order-effect", "--cluster", "user", "--covariates", "length"]
    model = BradleyTerry(order_effect=True).fit(frame, cluster="user", covariates=["length"])
    effects = run(capsys, table, *options)["effects"]
    assert [one["low"] for one in effects] == pytest.approx([one.low for one in model.effects()])


def test_the_command_takes_compact_dates_and_weights_that_it_recognises(capsys, tmp_path):
    days = pd.date_range("2024-01-01", periods=30)
    frame = pd.DataFrame(
        {"chosen": list("xyz") * 10, "rejected": list("yzx") * 10, "weight": np.arange(30) % 3 + 1}
    )
    frame.assign(date=days.strftime("%Y%m%d")).to_csv(tmp_path / "text.csv", index=False)
    frame.assign(date=days.strftime("%Y%m%d").astype(int)).to_parquet(tmp_path / "numbers.parquet")
    frame.assign(date=days.strftime("%Y-%m-%d")).to_csv(tmp_path / "dates.csv", index=False)
    model = BradleyTerry(half_life=7).fit(frame.assign(date=days))
    for name in ("text.csv", "numbers.parquet", "dates.csv"):
        found = run(capsys, tmp_path / name, "--half-life", 7)
        assert found["detected"] == {"a": "chosen", "b": "rejected", "weight": "weight", "date": "date"}
        scores = [row["score"] for row in found["leaderboard"]]
        assert scores == pytest.approx([row.score for row in model.leaderboard()])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needs --a and --b, unless it has the columns winner and loser, chosen and rejected"),
        (["--a", "x"], "needs --a and --b, or neither"),
    ],
)
def test_unknown_columns_of_a_file_are_a_usage_error(capsys, tmp_path, options, message):
    path = tmp_path / "votes.csv"
    path.write_text("x,y\n1,2\n", encoding="utf-8")
    assert main(["leaderboard", str(path), *options]) == 2
    assert message in capsys.readouterr().err


def test_effects_need_outcomes_in_a_recognised_table_too(capsys, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser\nx,y\ny,x\n", encoding="utf-8")
    assert main(["leaderboard", str(path), "--order-effect"]) == 2
    assert "--order-effect needs --outcome" in capsys.readouterr().err
    assert main(["leaderboard", str(path), "--half-life", "3"]) == 2
    assert "--half-life needs --date" in capsys.readouterr().err


def test_items_never_vanish():
    """Items whose only votes have no weight, or are ties of two bad answers, stay in the table."""
    frame = arena()
    lost = pd.DataFrame(
        {"model_a": ["idle"], "model_b": ["m0"], "winner": ["model_a"], "user": [0], "length": [2.0]}
    )
    frame = pd.concat([frame, lost], ignore_index=True)
    weight = np.append(np.ones(200), 0.0)
    with pytest.warns(UserWarning, match="idle") as told:
        model = BradleyTerry().fit(frame, weight=weight, cluster="user", covariates=["length"])
    assert any("All matches of idle have a weight of 0" in str(one.message) for one in told)
    assert "idle" in [row.item for row in model.leaderboard()]
    bad = frame.assign(winner=np.append(frame.winner[:200], "tie (bothbad)"))
    for ties in ("half", "davidson"):
        board = BradleyTerry(ties=ties).fit(bad).leaderboard()
        assert sorted(row.item for row in board) == ["idle", "m0", "m1", "m2", "m3", "m4"]
        assert next(row.matches for row in board if row.item == "idle") == 1.0
    only_bad = pd.DataFrame({"model_a": ["p", "q"], "model_b": ["q", "r"], "winner": ["tie (bothbad)"] * 2})
    assert BradleyTerry().fit(only_bad).items_.tolist() == ["p", "q", "r"]
