"""Labels that are words, and orders of classes, from the shell."""

import json

import numpy as np
import pandas as pd
import pytest

from rankwise import HullRanker, OrdinalSVM, RankSVM, load_model
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.io.svmlight import dump_svmlight

WORDS = ["poor", "fair", "good"]  # not in the order of the alphabet


@pytest.fixture
def table(tmp_path):
    X, y = make_ranking(150, 3, n_levels=3, noise=0.4, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["grade"] = np.array(WORDS)[y]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return X, y, str(tmp_path / "rows.csv"), str(tmp_path / "model.json")


def train(data, model, *options):
    return main(["train", data, "-o", model, "--label", "grade", "--alpha", "0.01", "-q", *options])


def test_words_are_ranks_for_rankers(table, capsys):
    X, y, data, path = table
    assert train(data, path, "--grades", "poor,fair,good") == 0
    expected = RankSVM(0.01, random_state=0, n_jobs=1).fit(X, y)
    np.testing.assert_allclose(load_model(path).coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    capsys.readouterr()
    assert main(["evaluate", path, data, "--label", "grade", "--grades", "poor,fair,good", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["models"][0]["measures"]["error"]["mean"]
    assert found == pytest.approx(1 - expected.score(X, y), abs=1e-6)


def test_words_are_classes_for_ordinal_models(table, tmp_path):
    X, y, data, path = table
    assert train(data, path, "--method", "ordinal-svm", "--grades", "poor,fair,good") == 0
    expected = OrdinalSVM(0.01, categories=WORDS, random_state=0, n_jobs=1).fit(X, np.array(WORDS)[y])
    assert load_model(path).classes_.tolist() == WORDS
    scores = tmp_path / "labels.txt"
    assert main(["predict", path, data, "--label", "grade", "-o", str(scores), "-q"]) == 0
    assert scores.read_text().split() == expected.predict(X).tolist()
    report = str(tmp_path / "report.html")
    shown = ["report", path, data, "--label", "grade", "--grades", "poor,fair,good", "-o", report, "-q"]
    assert main(shown) == 0


@pytest.mark.parametrize(
    ("options", "order"),
    [
        (["--grades", "poor,fair,good"], [("fair", "poor"), ("good", "fair")]),
        (
            ["--grades", "poor,fair,good", "--order", "full"],
            [("fair", "poor"), ("good", "poor"), ("good", "fair")],
        ),
        (["--order", "good>poor,fair>poor"], [("good", "poor"), ("fair", "poor")]),
        (["--grades", "poor,fair,good", "--order", "good > fair"], [("good", "fair")]),
    ],
)
def test_edges_between_words(table, options, order):
    X, y, data, path = table
    assert train(data, path, "--method", "hull", *options) == 0
    expected = HullRanker(0.01, order=order).fit(X, np.array(WORDS)[y])
    loaded = load_model(path)
    assert sorted(map(tuple, loaded.edges_)) == sorted(order)
    np.testing.assert_allclose(loaded.predict(X), expected.predict(X), atol=1e-6)


def test_edges_between_numbers(table, tmp_path):
    X, y, _, path = table
    data = str(tmp_path / "rows.txt")
    dump_svmlight(X, y, data)
    assert main(["train", data, "-o", path, "--method", "hull", "--order", "2>0,1>0", "-q"]) == 0
    assert sorted(map(tuple, load_model(path).edges_)) == [(1.0, 0.0), (2.0, 0.0)]


def test_what_does_not_fit_is_refused(table, capsys, tmp_path):
    X, y, data, path = table
    assert train(data, path, "--grades", "poor,good") == 1
    assert "the label is 'fair'; it must be one of the grades poor, good" in capsys.readouterr().err
    assert train(data, path, "--grades", "poor,poor") == 2
    assert train(data, path, "--method", "hull", "--grades", "poor,fair,good", "--order", "best>poor") == 2
    assert "--order has the class best" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        train(data, path, "--method", "hull", "--order", "good>")
    assert ended.value.code == 2
    lines = str(tmp_path / "rows.txt")
    dump_svmlight(X, y, lines)
    assert main(["train", lines, "-o", path, "--grades", "poor,fair"]) == 2
