"""Logs of clicks through the commands: the same models as in Python, and usage errors."""

import json

import numpy as np
import pandas as pd
import pytest

from rankwise import Preferences, RankSVM, load_model
from rankwise.cli.main import main

FEATURES = ["x", "y"]


def frame(n_impressions=300, seed=0):
    """A log of lists of four documents, in orders that vary."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 4, 2))
    query = rng.integers(20, size=n_impressions)
    order = np.argsort(rng.normal(size=(n_impressions, 4)) - X[query, :, 0], axis=1)
    place = np.arange(1, 5)
    relevance = 1 / (1 + np.exp(-X @ [1.0, -1.0]))
    clicked = rng.random(order.shape) < relevance[query[:, None], order] / place
    rows = X[query[:, None], order].reshape(-1, 2)
    return pd.DataFrame(
        {
            "session": [f"s{k}" for k in np.repeat(np.arange(n_impressions), 4)],
            "query": [f"q{k}" for k in np.repeat(query, 4)],
            "doc": [f"d{k}" for k in order.ravel()],
            "rank": np.tile(place, n_impressions),
            "click": clicked.ravel().astype(int),
            "x": rows[:, 0],
            "y": rows[:, 1],
            "p": 1 / np.tile(place, n_impressions),
        }
    )


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    frame().to_csv(path, index=False)
    return path


CLICKS = ["--clicked", "click", "--position", "rank", "--qid", "query", "--impression", "session"]
FROM_X = [*CLICKS, "--features", "x,y"]
ESTIMATE = [*CLICKS, "--document", "doc", "--features", "x,y"]


def preferences(**options):
    log = frame()
    return Preferences.from_clicks(log.click, log["rank"], log["query"], impression=log.session, **options)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ([*ESTIMATE, "--propensity", "none"], {}),
        ([*CLICKS, "--document", "doc", "--propensity", "p", "--clip", "3"], {"propensity": "p", "clip": 3}),
        (ESTIMATE, {"propensity": "estimate", "document": "doc"}),
        ([*FROM_X, "--propensity", "estimate"], {"propensity": "estimate", "X": FEATURES}),
    ],
)  # fmt: skip
def test_the_command_trains_on_clicks_as_python_does(log, tmp_path, capsys, options, given):
    read = pd.read_csv(log)
    columns = {name: value if value in ("estimate", 3) else read[value] for name, value in given.items()}
    expected = preferences(**columns)
    model = str(tmp_path / "m.json")
    if "p" in options:
        options = [*options, "--features", "x,y"]
    assert main(["train", str(log), *options, "-o", model, "--scale", "none", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["pairs"] == expected.n_pairs
    assert values["click_log"]["clicks"] == expected.n_clicks
    assert values["click_log"]["effective_clicks"] == pytest.approx(expected.effective_sample_size)
    coef = RankSVM(0.001).fit(read[FEATURES], expected).coef_
    np.testing.assert_allclose(load_model(model).coef_, coef, atol=0.05 * np.abs(coef).max())
    assert ("propensities" in values["click_log"]) == (expected.propensities is not None)


def test_the_command_prints_the_curve_and_features_are_the_other_columns(log, tmp_path, capsys):
    assert main(["train", str(log), *ESTIMATE[:-2], "-o", str(tmp_path / "m.json")]) == 0
    out = capsys.readouterr().out
    assert "3 features" in out
    assert "of equal weight" in out
    assert "propensity" in out
    assert main(["tune", str(log), *ESTIMATE, "--folds", "3", "--alphas", "1,0.1,0.01"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--clicked", "click", "--qid", "query"], "--clicked needs --position"),
        (["--label", "click", "--document", "doc"], "--document needs --clicked"),
        ([*CLICKS, "--label", "x"], "--clicked cannot be used with --label, which it replaces"),
        ([*CLICKS, "--method", "auto"], "--clicked cannot be used with --method auto"),
        ([*CLICKS, "--method", "ordinal-svm"], "--clicked cannot be used with --method ordinal-svm"),
        ([*CLICKS, "--propensity", "estimate"], "--propensity estimate needs --document"),
        ([*CLICKS, "--propensity", "doc"], "'doc' of --propensity has 'd"),
        ([*CLICKS[:6], "--features", "x"], "pass impression if queries were shown more often"),
        ([*CLICKS, "--document", "nothing"], "no column 'nothing'"),
    ],
)  # fmt: skip
def test_bad_options_are_refused_with_a_sentence(log, tmp_path, capsys, options, message):
    try:
        code = main(["train", str(log), *options, "-o", str(tmp_path / "m.json")])
    except SystemExit as stop:
        code = stop.code
    assert code in (1, 2)
    assert message in " ".join(capsys.readouterr().err.split())
