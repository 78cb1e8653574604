"""Text from data on a terminal: nothing in it may control the terminal."""

import io
import json
import os
import sys
import warnings
from contextlib import suppress

import numpy as np
import pytest

from rankwise import BradleyTerry, OrdinalSVM
from rankwise.cli.main import main
from rankwise.cli.svm_rank import learn
from rankwise.core.text import printable, table
from rankwise.io.model_file import load_model, save_model

EVIL = "\x1b[2Jevil\r\x9b\u202e"
SHOWN = "\\x1b[2Jevil\\r\\x9b\\u202e"


@pytest.fixture
def matches(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f'"{EVIL}",bob', f'cid,"{EVIL}"', "bob,cid", "dan,eve"]
    (tmp_path / "m.csv").write_text("\n".join(["winner,loser", *lines]), newline="")
    return ["leaderboard", "m.csv", "--a", "winner", "--b", "loser"]


def is_safe(text):
    return all(printable(line) == line for line in text.split("\n"))


def test_printable_characters_stay_and_others_are_escaped():
    name = "Zoë 東京\u3000\xa0👩\u200d👧 नमस्ते"
    assert printable(name) == name
    assert printable(EVIL) == SHOWN
    assert printable(printable(EVIL)) == SHOWN
    assert printable("\udc80\u2028\n\x7f\x00") == "\\udc80\\u2028\\n\\x7f\\x00"


def test_cells_of_tables_are_escaped_before_they_are_laid_out():
    lines = table(["name", "n"], [["a\nb", "1"], ["long name", "22"]])
    assert lines == ["name        n", "a\\nb        1", "long name  22"]


def test_a_leaderboard_shows_hostile_names_escaped(matches, capsys):
    assert main([*matches, "--match", EVIL, "bob"]) == 0
    printed = capsys.readouterr()
    assert is_safe(printed.out)
    assert is_safe(printed.err)
    assert SHOWN in printed.out
    assert f"{SHOWN} against bob" in printed.out
    assert SHOWN in printed.err  # the warning about groups


def test_json_and_files_hold_names_as_they_are(matches, capsys):
    assert main([*matches, "--json", "--model", "m.json", "-o", "page.html"]) == 0
    printed = capsys.readouterr().out
    assert is_safe(printed)
    assert EVIL in [row["item"] for row in json.loads(printed)["leaderboard"]]
    assert EVIL in load_model("m.json").items_.tolist()


def test_warnings_and_tables_of_the_library_are_escaped():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = BradleyTerry().fit([EVIL, "a"], ["b", "c"])
    assert SHOWN in str(caught[0].message)
    assert EVIL not in str(caught[0].message)
    assert is_safe(str(model.leaderboard()))


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", f"{EVIL}.json", "m.csv", "--label", "y"],
        ["train", f"{EVIL}.txt", "-o", "x.json"],
        ["leaderboard", f"{EVIL}.csv", "--a", "a", "--b", "b"],
        ["leaderboard", "m.csv", "--a", EVIL, "--b", "loser"],
        ["predict", "a", "b", f"--{EVIL}"],
    ],
)
def test_errors_show_names_of_files_and_columns_escaped(arguments, matches, capsys):
    with suppress(SystemExit):  # of argparse
        assert main(arguments) in (1, 2)
    told = capsys.readouterr().err
    assert is_safe(told)
    assert "evil" in told


def test_errors_in_contents_name_hostile_files_escaped(matches, capsys):
    with open(f"{EVIL}.csv", "w") as file:
        file.write("a,b\n1\n")
    assert main(["leaderboard", f"{EVIL}.csv", "--a", "a", "--b", "b"]) == 1
    told = capsys.readouterr().err
    assert is_safe(told)
    assert SHOWN in told
    with open(f"{EVIL}.txt", "w") as file:
        file.write("1 qid:1 oops\n")
    assert learn(["-v", "0", f"{EVIL}.txt", "x"]) == 1
    assert is_safe(capsys.readouterr().err)


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_labels_are_escaped_on_a_terminal_and_nowhere_else(tmp_path, monkeypatch):
    X = np.arange(8.0)[:, None]
    y = np.array([EVIL, "b"] * 4)
    save_model(OrdinalSVM(categories=[EVIL, "b"]).fit(X, y), tmp_path / "m.json")
    (tmp_path / "d.txt").write_text("0 1:1\n0 1:2\n", newline="")
    arguments = ["predict", str(tmp_path / "m.json"), str(tmp_path / "d.txt")]
    expected = load_model(tmp_path / "m.json").predict([[1.0], [2.0]]).tolist()
    for stream, form in ((Screen(), printable), (io.StringIO(), str)):
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(arguments) == 0
        assert stream.getvalue() == "".join(f"{form(label)}\n" for label in expected)
    assert main([*arguments, "-q", "-o", str(tmp_path / "scores.txt")]) == 0
    assert (tmp_path / "scores.txt").read_bytes().decode() == "".join(f"{label}\n" for label in expected)


def test_a_file_whose_name_is_no_text_can_be_named(matches, capsys):
    name = os.fsdecode(b"\x80.html")
    assert main([*matches, "-o", name]) == 0
    assert "\\udc80.html" in capsys.readouterr().out
