"""Grades from the shell: the choice of alpha, labels, probabilities and measures of grades."""

import numpy as np
import pandas as pd
import pytest

from commands import run
from rankwise import OrdinalSVM, OrdinalSVMCV, load_model, save_model
from rankwise.cli.main import main
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.evaluation import evaluate, grade_agreement
from rankwise.io.svmlight import dump_svmlight
from rankwise.metrics import ndcg

WORDS = ["bad", "poor", "fair", "good", "best"]  # not in the order of the alphabet
OF_WORDS = ["--label", "grade", "--grades", ",".join(WORDS)]
KERNEL = ["--method", "ordinal-svm", "--kernel", "poly", "--degree", "2"]


@pytest.fixture(scope="module")
def rows():
    return make_ordinal(160, random_state=0)


@pytest.fixture(scope="module")
def data(rows, tmp_path_factory):
    """Return a table with grades that are words, and one with numbers."""
    X, y = rows
    folder = tmp_path_factory.mktemp("ordinal")
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(grade=np.array(WORDS)[y]).to_csv(folder / "words.csv", index=False)
    frame.assign(grade=y).to_csv(folder / "numbers.csv", index=False)
    return folder


def refusal(capsys, *arguments):
    """Run a command that must be refused; return its exit code and its message."""
    capsys.readouterr()
    return main(list(map(str, arguments))), capsys.readouterr().err


def test_tuning_chooses_the_alpha_of_the_cv_class(rows, data, tmp_path, capsys):
    X, y = rows
    expected = OrdinalSVMCV(kernel="poly", degree=2, categories=WORDS).fit(X, np.array(WORDS)[y])
    found = run(capsys, "tune", data / "words.csv", *OF_WORDS, *KERNEL, "-o", tmp_path / "model.json")
    assert found["scoring"] == "distance"
    assert found["best_alpha"] == pytest.approx(expected.alpha_)
    np.testing.assert_allclose(found["errors"], expected.cv_errors_, atol=1e-12)
    np.testing.assert_array_equal(found["mean"], found["mean_error"])
    assert load_model(tmp_path / "model.json").alpha_ == found["best_alpha"]


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")
def test_tuning_compares_given_alphas_and_validation_rows_by_labels(rows, data, capsys):
    X, y = rows
    alphas = [1e-3, 1e-5]
    tune = ["tune", data / "numbers.csv", "--label", "grade", *KERNEL, "--alphas", "1e-3,1e-5"]
    expected = OrdinalSVMCV(alphas, kernel="poly", degree=2).fit(X, y)
    np.testing.assert_allclose(run(capsys, *tune)["errors"], expected.cv_errors_, atol=1e-12)
    expected.fit(X, y, validation=(X, y))
    found = run(capsys, *tune, "--valid", data / "numbers.csv")
    np.testing.assert_allclose(found["errors"], expected.cv_errors_, atol=1e-12)


def test_the_distance_is_of_ranks_alone(data, capsys):
    tune = ["tune", data / "numbers.csv", "--label", "grade", "--metric", "distance"]
    code, message = refusal(capsys, *tune)
    assert (code, "--metric distance cannot be used with --method rank-svm" in message) == (2, True)
    assert run(capsys, *tune, *KERNEL, "--alphas", "1e-4")["scoring"] == "distance"
    found = run(capsys, *tune[:4], *KERNEL, "--metric", "error", "--alphas", "1e-4")
    assert found["scoring"] == "error"


def calibrated(X, labels, **parameters):
    return OrdinalSVM(1e-4, kernel="poly", degree=2, calibrated=True, **parameters).fit(X, labels)


def test_the_expected_label_is_the_mean_by_the_probabilities(rows, tmp_path):
    X, y = rows
    model = calibrated(X, y + 1)
    expected = model.predict_proba(X) @ [1, 2, 3, 4, 5]
    np.testing.assert_allclose(model.predict_expected(X), expected, rtol=1e-12)
    assert np.mean((model.predict_expected(X) - y - 1) ** 2) < np.mean((model.predict(X) - y - 1) ** 2)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_expected(X), model.predict_expected(X))
    words = calibrated(X, np.array(WORDS)[y], categories=WORDS)  # 0 is the lowest rank
    np.testing.assert_allclose(words.predict_expected(X), expected - 1, atol=1e-9)
    assert not hasattr(OrdinalSVM(), "predict_expected")


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_probabilities_are_columns(scale, rows, data, tmp_path, capsys):
    X, y = rows
    options = [*OF_WORDS, *KERNEL, "--scale", scale, "--alpha", "1e-4", "--calibrated"]
    model = tmp_path / "model.json"
    assert main(["train", str(data / "words.csv"), "-o", str(model), *options, "-q"]) == 0
    out = tmp_path / "out.csv"
    assert run(capsys, "predict", model, data / "words.csv", "--proba", "-o", out)["rows"] == len(y)
    found = pd.read_csv(out)
    assert found.columns.tolist() == ["predicted", "expected", *(f"P({word})" for word in WORDS)]
    loaded = load_model(model)
    assert found["predicted"].tolist() == loaded.predict(X).tolist()
    np.testing.assert_allclose(found.iloc[:, 2:], loaded.predict_proba(X), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found["expected"], loaded.predict_proba(X) @ np.arange(5), rtol=1e-12)


def test_probabilities_go_to_standard_output_once_with_a_header(rows, data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rankwise.cli.data.CHUNK_ROWS", 50)
    X, y = rows
    save_model(calibrated(X, y), tmp_path / "model.json", feature_names=["a", "b"])
    assert main(["predict", str(tmp_path / "model.json"), str(data / "numbers.csv"), "--proba"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "predicted,expected,P(0),P(1),P(2),P(3),P(4)"
    assert len(lines) == 1 + len(y)


def test_models_without_probabilities_are_refused(rows, data, tmp_path, capsys):
    X, y = rows
    save_model(OrdinalSVM().fit(X, y), tmp_path / "model.json", feature_names=["a", "b"])
    code, message = refusal(capsys, "predict", tmp_path / "model.json", data / "numbers.csv", "--proba")
    assert (code, "train it with --method ordinal-svm --calibrated" in message) == (1, True)
    train = ["train", data / "numbers.csv", "-o", tmp_path / "m.json", "--label", "grade", "--calibrated"]
    code, message = refusal(capsys, *train)
    assert (code, "--calibrated cannot be used with --method rank-svm" in message) == (2, True)


def test_grades_are_evaluated(rows, data, tmp_path, capsys):
    X, y = rows
    model = OrdinalSVM(1e-4, kernel="poly", degree=2, categories=WORDS).fit(X[:100], np.array(WORDS)[y[:100]])
    save_model(model, tmp_path / "model.json", feature_names=["a", "b"])
    found = run(capsys, "evaluate", tmp_path / "model.json", data / "words.csv", "--label", "grade")
    expected = grade_agreement(np.array(WORDS)[y], model.predict(X), categories=WORDS)
    grades = found["models"][0]["grades"]
    for name, (low, high) in expected.intervals.items():
        assert grades[name] == pytest.approx({"value": getattr(expected, name), "low": low, "high": high})
    assert grades["confusion"] == expected.confusion.tolist()
    assert grades["classes"] == WORDS
    python = evaluate(model, X, np.array(WORDS)[y])
    assert python.grades.intervals == expected.intervals
    assert main(["evaluate", str(tmp_path / "model.json"), str(data / "words.csv"), "--label", "grade"]) == 0
    shown = capsys.readouterr().out
    assert "Quadratic kappa" in shown
    assert "label \\ predicted  bad" in shown


def test_grades_that_the_model_does_not_know_are_counted(rows, data, tmp_path, capsys):
    X, y = rows
    model = OrdinalSVM(1e-4, kernel="poly", degree=2).fit(X[y < 4], y[y < 4])
    save_model(model, tmp_path / "model.json", feature_names=["a", "b"])
    found = run(capsys, "evaluate", tmp_path / "model.json", data / "numbers.csv", "--label", "grade")
    assert np.shape(found["models"][0]["grades"]["confusion"]) == (5, 5)


def test_undefined_queries_count_as_asked(tmp_path, capsys):
    X, y, qid = make_ranking(200, 3, n_queries=10, n_levels=3, random_state=0)
    y = np.where(qid < 3, 0, y)
    dump_svmlight(X, y, tmp_path / "rows.txt", qid=qid)
    (tmp_path / "scores.txt").write_text("".join(f"{score}\n" for score in X[:, 0].tolist()))
    command = ["evaluate", tmp_path / "scores.txt", tmp_path / "rows.txt"]
    for option, value in ((["--undefined", "0"], 0), (["--undefined", "skip"], "skip"), ([], "skip")):
        found = run(capsys, *command, *option)["models"][0]
        expected = ndcg(y, X[:, 0], qid, k=5, undefined=value, per_query=True)
        assert found["measures"]["ndcg@5"]["mean"] == pytest.approx(np.nanmean(expected))
        assert found["measures"]["ndcg@5"]["defined"] == np.sum(~np.isnan(expected))
    with pytest.raises(SystemExit) as ended:
        main([*map(str, command), "--undefined", "none"])
    assert ended.value.code == 2
    assert "must be a number or skip" in capsys.readouterr().err
