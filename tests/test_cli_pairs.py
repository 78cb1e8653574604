"""Tables of chosen and rejected rows: pair_data with groups and margins, and the commands."""

import json

import numpy as np
import pandas as pd
import pytest

from rankwise import RankLogistic, RankLogisticCV, RankRLS, RankSVM, load_model, pair_data
from rankwise.cli.main import main


def answers(n=80, seed=0):
    """Chosen and rejected rows of two features, with their prompts and the sizes of the preferences."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, n, 2))
    margin = (A - B) @ [1.0, -0.5] + 0.5 * rng.normal(size=n)
    swap = margin < 0
    A[swap], B[swap] = B[swap].copy(), A[swap].copy()
    frame = pd.DataFrame(
        {
            "chosen_x": A[:, 0], "rejected_x": B[:, 0], "prompt": np.arange(n) // 4,
            "chosen_y": A[:, 1], "rejected_y": B[:, 1], "strength": np.abs(margin) + 0.01,
        }
    )  # fmt: skip
    return A, B, frame


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "answers.csv"
    answers()[2].to_csv(path, index=False)
    return path


PAIRS = ["--pairs", "chosen_,rejected_"]


def test_margins_are_the_targets_of_least_squares():
    A, B, frame = answers()
    X, pairs = pair_data(A, B, margin=frame.strength, groups=frame.prompt)
    assert pairs.pairs().magnitude.tolist() == frame.strength.tolist()
    alpha, D = 0.01, A - B
    weights = np.linalg.solve(D.T @ D / len(D) + alpha * np.eye(2), D.T @ frame.strength / len(D))
    assert RankRLS(alpha).fit(X, pairs).coef_ == pytest.approx(weights, rel=1e-6)
    plain = RankLogistic(alpha).fit(*pair_data(A, B)).coef_
    assert np.array_equal(RankLogistic(alpha).fit(X, pairs).coef_, plain)
    groups = pairs.groups()
    assert np.array_equal(groups[:80], groups[80:])
    assert np.array_equal(np.unique(groups, return_counts=True)[1], np.full(20, 8))


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        ([1.0, 0.0], "margin must be above 0; pair 1 has 0"),
        ([-2.0, 1.0], "margin must be above 0; pair 0 has -2"),
        ([1.0], "margin has length 1"),
        ([1.0, np.nan], "margin contains NaN"),
    ],
)
def test_bad_margins_are_refused(margin, message):
    with pytest.raises(ValueError, match=message):
        pair_data(np.ones((2, 1)), np.zeros((2, 1)), margin=margin)


def test_the_command_trains_on_pairs(table, tmp_path, capsys):
    A, B, frame = answers()
    assert main(["train", str(table), *PAIRS, "--qid", "prompt", "-o", str(tmp_path / "m.json")]) == 0
    model = load_model(tmp_path / "m.json")
    expected = RankSVM(0.001).fit(*pair_data(A, B, groups=frame.prompt))
    assert model.coef_ == pytest.approx(expected.coef_, rel=1e-6)
    rows = tmp_path / "new.csv"
    pd.DataFrame({"y": [0.0, 1.0], "other": [5, 6], "x": [1.0, 0.0]}).to_csv(rows, index=False)
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "m.json"), str(rows)]) == 0
    scores = np.array(capsys.readouterr().out.split(), dtype=float)
    assert scores == pytest.approx([model.coef_[0], model.coef_[1]], rel=1e-6)
    options = [*PAIRS, "--method", "rank-rls", "--margin", "strength", "--features", "y,x"]
    assert main(["train", str(table), *options, "--alpha", "0.01", "-o", str(tmp_path / "r.json")]) == 0
    expected = RankRLS(0.01).fit(*pair_data(A, B, margin=frame.strength))
    assert load_model(tmp_path / "r.json").coef_[::-1] == pytest.approx(expected.coef_, rel=1e-6)


def test_the_command_tunes_on_whole_prompts(tmp_path, capsys):
    A, B, frame = answers()
    parts = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    frame[:40].to_parquet(parts[0])
    frame[40:].to_parquet(parts[1])
    options = ["--qid", "prompt", "--method", "rank-logistic", "--alphas", "1e-5,1e-3,0.1,1", "--json"]
    capsys.readouterr()
    assert main(["tune", *map(str, parts), *PAIRS, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["queries"]) == (160, 20)
    model = RankLogisticCV([1e-5, 1e-3, 0.1, 1]).fit(*pair_data(A, B, groups=frame.prompt))
    assert found["alphas"][int(np.argmin(found["mean_error"]))] == model.alpha_


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([*PAIRS, "--label", "x"], 2, "--pairs cannot be used with --label, which it replaces"),
        (["--margin", "strength", "--label", "x"], 2, "--margin needs --pairs"),
        ([*PAIRS, "--margin", "strength"], 2, "--margin is for --method rank-rls; rank-svm takes no size"),
        ([*PAIRS, "--method", "hull"], 2, "--pairs cannot be used with --method hull"),
        (["--pairs", "good_,bad_"], 1, "no columns that begin with 'good_'"),
        (["--pairs", "chosen_,reject_"], 1, "with 'chosen_' and with 'reject_'; 'x' is there with one"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(table, tmp_path, capsys, options, code, message):
    assert main(["train", str(table), *options, "-o", str(tmp_path / "m.json")]) == code
    assert message in capsys.readouterr().err
