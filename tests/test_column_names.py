"""Names decide columns: in tables, frames, pipelines, on Dask, in model files and in comparisons."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from commands import run
from rankwise import BoostedRanker, CurveRanker, Preferences, RankLogistic, RankSVM, load_model, save_model
from rankwise.cli.main import main
from rankwise.metrics import concordance_index, ranking_error
from rankwise.preprocessing import QueryScaler

COLUMNS = list("abcde")
MODELS = {
    "linear": RankSVM(),
    "curves": CurveRanker(n_bins=8),
    "trees": BoostedRanker(n_estimators=5, min_child_samples=1),
    "pipeline": make_pipeline(StandardScaler(), RankSVM()),
    "logistic": RankLogistic(),
}
ROLES = ["--label", "y", "--qid", "q"]


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(300, 5)), columns=COLUMNS)
    weights = [2.0, -1.0, 0.5, 0.0, 0.0]
    return frame.assign(y=(frame @ weights + generator.normal(size=300)).round(), q=np.arange(300) // 10)


@pytest.fixture
def folder(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("plain.csv", index=False)
    table[["q", "e", "d", "y", "c", "b", "a"]].to_csv("turned.csv", index=False)
    table.assign(surplus=7.0, word="x").to_csv("more.csv", index=False)
    return tmp_path


def fitted(model, table, columns=COLUMNS):
    name = f"{model.steps[-1][0]}__qid" if hasattr(model, "steps") else "qid"
    return model.fit(table[columns], table["y"], **{name: table["q"]})


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("data", ["plain.csv", "turned.csv", "more.csv"])
def test_a_model_of_a_frame_takes_the_columns_of_a_table_by_name(folder, table, capsys, kind, data):
    model = fitted(MODELS[kind], table)
    save_model(model, "model.json")
    expected = ranking_error(table["y"], model.predict(table[COLUMNS]), table["q"])
    found = run(capsys, "evaluate", "model.json", data, *ROLES)
    assert found["models"][0]["measures"]["error"]["mean"] == pytest.approx(expected, abs=1e-12)
    assert run(capsys, "predict", "model.json", data, "-o", "scores.txt")["rows"] == 300
    np.testing.assert_array_equal(np.loadtxt("scores.txt"), model.predict(table[COLUMNS]))
    report = run(capsys, "report", "model.json", data, "-o", "report.html", *ROLES)
    assert report["measures"]["error"]["mean"] == pytest.approx(expected, abs=1e-12)


def test_a_model_that_scales_queries_takes_columns_by_name(folder, table, capsys):
    qid = table["q"]
    scaler = QueryScaler().fit(table[COLUMNS], qid=qid)
    model = RankSVM().fit(scaler.transform(table[COLUMNS], qid=qid), table["y"], qid=qid)
    pipeline = make_pipeline(scaler, model)
    save_model(pipeline, "model.json")
    run(capsys, "predict", "model.json", "turned.csv", "--qid", "q", "-o", "scores.txt")
    expected = model.predict(scaler.transform(table[COLUMNS], qid=qid))
    np.testing.assert_array_equal(np.loadtxt("scores.txt"), expected)


def test_missing_and_surplus_columns_are_named(folder, table, capsys):
    save_model(fitted(RankSVM(), table), "model.json")
    table.drop(columns=["b", "d"]).to_csv("less.csv", index=False)
    assert main(["evaluate", "model.json", "less.csv", *ROLES]) != 0
    assert "has no column 'b', 'd'" in capsys.readouterr().err
    assert main(["evaluate", "model.json", "plain.csv", *ROLES, "--features", "a,b,c"]) != 0
    assert "--features lacks 'd', 'e', which the model was fitted to" in capsys.readouterr().err
    assert main(["predict", "model.json", "more.csv", "--features", "a,b,c,d,e,surplus"]) != 0
    assert "--features names 'surplus', which the model was not fitted to" in capsys.readouterr().err
    turned = run(capsys, "evaluate", "model.json", "plain.csv", *ROLES, "--features", "e,d,c,b,a")
    plain = run(capsys, "evaluate", "model.json", "plain.csv", *ROLES)
    assert turned["models"] == plain["models"]


def test_a_model_without_names_takes_columns_in_their_order(folder, table, capsys):
    model = RankSVM().fit(table[COLUMNS].to_numpy(), table["y"], qid=table["q"])
    save_model(model, "model.json")
    run(capsys, "predict", "model.json", "plain.csv", *ROLES, "-o", "scores.txt")
    np.testing.assert_array_equal(np.loadtxt("scores.txt"), model.predict(table[COLUMNS].to_numpy()))
    assert main(["predict", "model.json", "plain.csv"]) != 0
    error = capsys.readouterr().err
    assert "fitted to 5 columns without names, but the table has 7 besides label and query" in error
    run(capsys, "predict", "model.json", "more.csv", "--features", ",".join(COLUMNS), "-o", "scores.txt")
    np.testing.assert_array_equal(np.loadtxt("scores.txt"), model.predict(table[COLUMNS].to_numpy()))


def test_a_model_that_was_trained_on_dask_reads_by_name(folder, table, capsys):
    pytest.importorskip("dask")
    assert main(["train", "plain.csv", "-o", "model.json", *ROLES, "--dask", "threads", "-q"]) == 0
    model = load_model("model.json")
    assert model.feature_names_in_.tolist() == COLUMNS
    run(capsys, "predict", "model.json", "turned.csv", "-o", "scores.txt")
    np.testing.assert_array_equal(np.loadtxt("scores.txt"), model.predict(table[COLUMNS]))


@pytest.mark.parametrize("columns", [["e", "d", "c", "b", "a"], ["c", "a"], COLUMNS])
def test_each_of_two_models_reads_its_own_columns(folder, table, capsys, columns):
    first, second = fitted(RankSVM(), table), fitted(RankSVM(), table, columns)
    second_scores = second.predict(table[columns])
    save_model(first, "first.json")
    save_model(second, "second.json")
    expected = [
        ranking_error(table["y"], scores, table["q"])
        for scores in (fitted(RankSVM(), table).predict(table[COLUMNS]), second_scores)
    ]
    found = run(capsys, "evaluate", "first.json", "turned.csv", *ROLES, "--compare", "second.json")
    np.testing.assert_allclose([model["measures"]["error"]["mean"] for model in found["models"]], expected)
    report = ["report", "first.json", "turned.csv", *ROLES, "-o", "report.html", "--compare", "second.json"]
    assert run(capsys, *report)["measures"]["error"]["mean"] == pytest.approx(expected[0])


def test_does_the_marker_help(folder, table, capsys):
    """Two survival models with different columns: each has its own index, and they have a difference."""
    generator = np.random.default_rng(1)
    months, died = np.exp(-table["a"] + table["b"] + generator.normal(size=300)), generator.random(300) < 0.7
    frame = table[COLUMNS].assign(months=months, died=died.astype(int))
    frame.to_csv("patients.csv", index=False)
    lives = Preferences.from_survival(died, months)
    columns = {"with": ["b", "a"], "without": ["a"]}
    indices = []
    for name, chosen in columns.items():
        model = RankSVM().fit(frame[chosen], lives)
        save_model(model, f"{name}.json")
        indices.append(concordance_index(lives, model.predict(frame[chosen])))
    survival = ["--survival", "months,died"]
    found = run(capsys, "evaluate", "with.json", "patients.csv", *survival, "--compare", "without.json")
    means = [model["measures"]["concordance"]["mean"] for model in found["models"]]
    np.testing.assert_allclose(means, indices)
    difference = next(one for one in found["differences"] if one["measure"] == "concordance")
    assert difference["mean"] == pytest.approx(indices[0] - indices[1])
    assert difference["low"] < difference["mean"] < difference["high"]
    assert difference["p"] < 0.001
    assert main(["evaluate", "with.json", "patients.csv", *survival, "--compare", "without.json"]) == 0
    assert "with.json minus each other model" in capsys.readouterr().out
