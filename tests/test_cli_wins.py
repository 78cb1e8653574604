"""`rankwise wins`: the numbers of `win_statistics`, from a table."""

import numpy as np
import pandas as pd
import pytest

from commands import run
from rankwise import win_statistics
from rankwise.cli.main import main
from rankwise.preferences import Outcome

OUTCOMES = (
    "--outcome",
    "death:time/event",
    "--outcome",
    "visits:lower",
    "--outcome",
    "walk:higher:margin=30",
)


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"arm": rng.integers(0, 2, n), "site": rng.choice(["a", "b"], n)})
    frame["time"], frame["event"] = rng.exponential(size=n).round(3), rng.integers(0, 2, n)
    frame["visits"] = rng.poisson(1.0, n)
    frame["walk"] = rng.normal(300, 60, n).round(1)
    frame.loc[::7, "walk"] = np.nan
    frame["group"] = np.where(frame.arm == 1, "drug", "Placebo")
    frame["other"] = np.where(frame.arm == 1, "x", "y")
    path = tmp_path_factory.mktemp("trial") / "trial.csv"
    frame.to_csv(path, index=False)
    return path, frame


def outcomes(frame):
    return [
        Outcome(frame.time, frame.event, name="death"),
        Outcome(frame.visits, higher_is_better=False),
        Outcome(frame.walk, margin=30),
    ]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ((), {}),
        (("--strata", "site"), {"strata": "site"}),
        (("--strata", "site", "--stratum-weights", "mantel-haenszel", "--confidence", "0.9"),
         {"strata": "site", "stratum_weights": "mantel-haenszel", "confidence": 0.9}),
        (("--control", "1"), {"control": 1}),
    ],
)  # fmt: skip
def test_the_numbers_are_those_of_python(trial, capsys, options, arguments):
    path, frame = trial
    arguments = {name: frame[value] if name == "strata" else value for name, value in arguments.items()}
    expected = win_statistics(frame.arm, outcomes(frame), **arguments).as_dict()
    found = run(capsys, "wins", path, "--treatment", "arm", *OUTCOMES, *options)
    assert {name: found[name] for name in expected} == expected


def test_arms_may_have_names(trial, capsys):
    path, _ = trial
    first = run(capsys, "wins", path, "--treatment", "arm", *OUTCOMES)
    for options in (("group",), ("other", "--control", "y")):
        named = run(capsys, "wins", path, "--treatment", *options, *OUTCOMES)
        assert named["win_ratio"] == first["win_ratio"]
    assert main(["wins", str(path), "--treatment", "other", *OUTCOMES]) == 1
    assert "Name the control arm" in capsys.readouterr().err


def test_it_prints_tables(trial, capsys):
    assert main(["wins", str(trial[0]), "--treatment", "arm", *OUTCOMES]) == 0
    printed = capsys.readouterr().out
    assert "win ratio" in printed
    assert "death" in printed


@pytest.mark.parametrize(
    "text", ["", ":lower", "a:b", "a:margin=-1", "a:lower:higher", "a:/b", "a:b/", "a:margin=x"]
)
def test_wrong_outcomes_are_refused(trial, capsys, text):
    with pytest.raises(SystemExit) as ended:
        main(["wins", str(trial[0]), "--treatment", "arm", "--outcome", text])
    assert ended.value.code == 2
    assert "NAME[:TIME/EVENT]" in capsys.readouterr().err


def test_words_are_no_numbers(trial, capsys):
    assert main(["wins", str(trial[0]), "--treatment", "arm", "--outcome", "site"]) == 1
    assert "column 'site' is not a number" in capsys.readouterr().err
