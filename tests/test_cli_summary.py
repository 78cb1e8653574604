"""`rankwise summary` and `rankwise rank`."""

import numpy as np
import pandas as pd
import pytest

import rankwise
from commands import run
from rankwise import load_model
from rankwise.cli.main import main
from rankwise.io.svmlight import dump_svmlight
from rankwise.model_selection import selection_frequencies


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("summary")
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    latent = X @ [1.0, 0.5, 0.0] + rng.gumbel(size=200)
    table = pd.DataFrame(X * [10, 1, 1] + [50, 0, 0], columns=["age", "dose", "noise"])
    table["grade"], table["query"], table["patient"] = np.digitize(latent, [0, 1]), qid, qid // 2
    table["time"], table["event"] = latent - latent.min() + 0.1, rng.integers(2, size=200)
    table.to_csv(path / "data.csv", index=False)
    dump_svmlight(X, table["grade"].to_numpy(float), path / "data.txt", qid=qid + 1)
    return path


TRAIN = ("--features", "age,dose,noise", "--method", "rank-logistic", "--scale", "standard", "-q")


def trained(folder, name, *options):
    model = folder / f"{name}.json"
    assert main(["train", str(folder / "data.csv"), "-o", str(model), *TRAIN, *options]) == 0
    return model


def test_the_summary_is_that_of_python(folder, capsys):
    labels = ("--label", "grade", "--qid", "query")
    model = trained(folder, "queries", *labels)
    found = run(capsys, "summary", model, folder / "data.csv", *labels)
    data = pd.read_csv(folder / "data.csv")
    X = data[["age", "dose", "noise"]].to_numpy()
    expected = rankwise.inference(load_model(model), X, data["grade"], qid=data["query"])
    assert (found["unit"], found["units"]) == ("query", 20)
    weights = pd.DataFrame(found["weights"])
    assert weights["name"].tolist() == ["age", "dose", "noise"]
    np.testing.assert_allclose(weights["weight"], expected.coef)
    np.testing.assert_allclose(weights["standard_error"], expected.standard_errors)
    np.testing.assert_allclose(weights[["low", "high"]], expected.confidence_intervals())
    np.testing.assert_allclose(weights["p_value"], expected.p_values)
    assert main(["summary", str(model), str(folder / "data.csv"), *labels]) == 0
    text = capsys.readouterr().out
    assert "20 independent queries, 95% intervals" in text
    assert "dose" in text


def test_clusters_levels_and_survival(folder, capsys):
    model = trained(folder, "rows", "--label", "grade")
    data = folder / "data.csv"
    plain = run(capsys, "summary", model, data, "--label", "grade")
    of_patients = ["--cluster", "patient", "--confidence", "0.8"]
    found = run(capsys, "summary", model, data, "--label", "grade", *of_patients)
    assert (plain["units"], found["unit"], found["units"]) == (200, "cluster", 10)
    assert found["confidence"] == 0.8
    debiased = run(capsys, "summary", model, data, "--label", "grade", "--debias")
    assert abs(debiased["weights"][0]["weight"]) > abs(plain["weights"][0]["weight"])
    lives = trained(folder, "lives", "--survival", "time,event")
    assert run(capsys, "summary", lives, data, "--survival", "time,event")["unit"] == "row"


def test_svmlight_rows_have_numbered_features(folder, capsys):
    model = folder / "svm.json"
    assert main(["train", str(folder / "data.txt"), "-o", str(model), "-q"]) == 0
    found = run(capsys, "summary", model, folder / "data.txt")
    assert [weight["name"] for weight in found["weights"]] == ["f1", "f2", "f3"]
    assert main(["summary", str(model), str(folder / "data.txt"), "--cluster", "patient"]) == 2
    assert "--cluster is for tables" in capsys.readouterr().err


def test_other_data_and_other_models_are_refused(folder, capsys):
    model = trained(folder, "other", "--label", "grade", "--qid", "query")
    assert main(["summary", str(model), str(folder / "data.csv"), "--label", "grade"]) == 1
    assert "needs the data that the model was fitted to" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["summary", str(model), str(folder / "data.csv"), "--label", "grade", "--confidence", "95"])
    assert "must be a number between 0 and 1" in capsys.readouterr().err


def test_positions_and_ranges(folder, capsys, tmp_path):
    labels = ("--label", "grade", "--qid", "query")
    model = trained(folder, "ranked", *labels)
    data = folder / "data.csv"
    assert main(["rank", str(model), str(data), "--qid", "query", "-o", str(tmp_path / "a.csv"), "-q"]) == 0
    plain = pd.read_csv(tmp_path / "a.csv")
    table = pd.read_csv(data)
    X = table[["age", "dose", "noise"]].to_numpy()
    np.testing.assert_array_equal(plain["position"] - 1, rankwise.rank(load_model(model), X, table["query"]))
    capsys.readouterr()
    assert main(["rank", str(model), str(data), *labels, "--ranges", str(data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    ranges = np.array([line.split(",") for line in lines[1:]], dtype=int)
    assert lines[0] == "position,best,worst"
    assert (ranges[:, 1] <= ranges[:, 0]).all()
    assert (ranges[:, 0] <= ranges[:, 2]).all()
    assert ranges.min() == 1
    assert ranges.max() == 10
    found = rankwise.inference(load_model(model), X, table["grade"], qid=table["query"])
    expected = found.rank_ranges(X[:10])
    np.testing.assert_array_equal(ranges[:10, 1] - 1, expected.best)


def test_intervals_of_evaluate_are_those_of_reports(folder, capsys):
    from rankwise.report import Report

    labels = ("--label", "grade", "--qid", "query")
    model = trained(folder, "evaluated", *labels)
    found = run(capsys, "evaluate", model, folder / "data.csv", *labels)["models"][0]["measures"]
    table = pd.read_csv(folder / "data.csv")
    X = table[["age", "dose", "noise"]].to_numpy()
    report = Report(load_model(model), X, table["grade"].to_numpy(), table["query"].to_numpy())
    expected = {one.measure.key: (one.low, one.high) for one in report.measures["RankLogistic"]}
    for key in ("error", "ndcg@10", "map"):
        np.testing.assert_allclose([found[key]["low"], found[key]["high"]], expected[key])
    one = run(capsys, "evaluate", model, folder / "data.csv", "--label", "grade")["models"][0]["measures"]
    assert one["error"]["low"] is not None
    assert one["ndcg"]["low"] < one["ndcg"]["high"]


def test_features_that_are_selected_have_frequencies(folder, capsys):
    labels = ("--label", "grade", "--qid", "query")
    model = trained(folder, "few", *labels, "--l1-ratio", "0.5,0.9", "--tune")
    found = pd.DataFrame(run(capsys, "summary", model, folder / "data.csv", *labels)["selected"])
    data, pipeline = pd.read_csv(folder / "data.csv"), load_model(model)
    X = pipeline[:-1].transform(data[["age", "dose", "noise"]].to_numpy())
    ranker = rankwise.RankLogistic(pipeline[-1].alpha_, l1_ratio=pipeline[-1].l1_ratio_)
    expected = selection_frequencies(ranker, X, data["grade"], qid=data["query"])
    by_name = dict(zip(found["name"], found["selected"], strict=True))
    np.testing.assert_array_equal([by_name.get(name, 0.0) for name in ("age", "dose", "noise")], expected)
    assert found["selected"].is_monotonic_decreasing
    page = folder / "few.html"
    report = ["report", str(model), str(folder / "data.csv"), *labels, "-o", str(page), "-q"]
    assert main([*report, "--training", str(folder / "data.csv")]) == 0
    assert "Selected: by that part of the fits" in page.read_text(encoding="utf-8")
    assert main(["summary", str(model), str(folder / "data.csv"), *labels, "--cluster", "patient"]) == 2
    assert "has an l1_ratio" in capsys.readouterr().err
