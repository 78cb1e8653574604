"""Tables with words, booleans, dates, gaps and an id in the commands: the same as in Python."""

import datetime
import importlib.util

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from commands import run
from rankwise import (
    AutoRanker,
    BoostedRanker,
    CurveRanker,
    CurveRankerCV,
    KernelRanker,
    RankLogistic,
    RankLogisticCV,
    RankSVM,
    save_model,
)
from rankwise.cli.main import main
from rankwise.data.hints import identifiers
from rankwise.datasets import make_ranking
from rankwise.io import table_formats
from rankwise.io.model_file import load_model
from rankwise.io.svmlight import dump_svmlight
from rankwise.metrics import ranking_error
from rankwise.preprocessing import TableEncoder

FEATURES = ["grape", "price", "organic", "tasted", "code"]
OPTIONS = ["--label", "rating", "--features", ",".join(FEATURES), "--categorical", "code"]
METHODS = {
    "boosted": lambda: BoostedRanker(n_estimators=20, random_state=0, n_jobs=1),
    "curve": lambda: CurveRanker(),
    "kernel": lambda: KernelRanker(),
    "rank-logistic": lambda: make_pipeline(TableEncoder(), StandardScaler(), RankLogistic()),
    "rank-svm": lambda: make_pipeline(TableEncoder(), StandardScaler(), RankSVM()),
}


def wines(n_rows=240, seed=0):
    """Rows as Python holds them: numbers, words, booleans and dates, with gaps."""
    rng = np.random.default_rng(seed)
    code = rng.choice(["01", "02", "10"], n_rows)
    grape = rng.choice(["merlot", "syrah", "pinot, noir"], n_rows).astype(object)
    price, organic = rng.lognormal(2.5, 0.5, n_rows).round(2), rng.random(n_rows) < 0.4
    days = rng.integers(0, 700, n_rows)
    utility = (grape == "syrah") + np.log(price) + organic + days / 400 + 2.0 * (code == "02")
    start = datetime.datetime(2023, 1, 1)
    table = {
        "id": [f"W{k:05d}" for k in range(n_rows)],
        "region": rng.choice(list("abcdef"), n_rows).tolist(),
        "grape": grape.tolist(),
        "price": price.tolist(),
        "organic": organic.tolist(),
        "tasted": [start + datetime.timedelta(days=int(day)) for day in days],
        "code": code.tolist(),
        "rating": np.digitize(utility + rng.normal(size=n_rows), [3, 4, 5]).tolist(),
    }
    for name in ("grape", "price", "organic", "tasted"):
        gaps = rng.random(n_rows) < 0.1
        table[name] = [None if gap else value for value, gap in zip(table[name], gaps, strict=True)]
    return table


def framed(table, library="pandas"):
    """The features as a frame, with the codes declared as categories."""
    chosen = {name: table[name] for name in FEATURES}
    if library == "polars":
        return pl.DataFrame(chosen).with_columns(pl.col("code").cast(pl.Categorical))
    frame = pd.DataFrame(chosen)
    return frame.assign(
        code=frame.code.astype("category"),
        grape=frame.grape.astype(object),
        organic=frame.organic.astype("boolean"),
    )


def write(table, path, separator=","):
    words = {None: "", True: "true", False: "false"}

    def text(value):
        value = value.date().isoformat() if isinstance(value, datetime.datetime) else value
        shown = words[value] if value is None or isinstance(value, bool) else str(value)
        return f'"{shown}"' if "," in shown or ";" in shown else shown

    rows = zip(*table.values(), strict=True)
    lines = [separator.join(table), *(separator.join(map(text, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("wines")
    write(wines(), path / "wines.csv")
    write(wines(80, seed=1), path / "later.csv")
    return path


def fails(capsys, code, *arguments):
    capsys.readouterr()
    assert main(list(map(str, arguments))) == code
    return capsys.readouterr().err


def scores(capsys, model, data, *options):
    capsys.readouterr()
    assert main(["predict", str(model), str(data), *options]) == 0, capsys.readouterr().err
    return np.array([float(line) for line in capsys.readouterr().out.splitlines()])


def train(folder, method, output, *more):
    trees = ["--n-estimators", "20"] if method == "boosted" else []
    train = [
        "train",
        str(folder / "wines.csv"),
        "-o",
        str(output),
        "--method",
        method,
        *OPTIONS,
        *trees,
        *more,
    ]
    assert main([*train, "-q"]) == 0


@pytest.mark.parametrize("method", METHODS)
def test_the_commands_equal_python(folder, tmp_path, capsys, method):
    model = tmp_path / "model.json"
    train(folder, method, model, "--qid", "region")
    ours = METHODS[method]()
    table, later = wines(), wines(80, seed=1)
    if hasattr(ours, "steps"):
        X = ours[:-1].fit_transform(framed(table))
        ours[-1].fit(X, table["rating"], qid=table["region"])
    else:
        ours.fit(framed(table), table["rating"], qid=table["region"])
    expected = ours.predict(framed(later))
    np.testing.assert_array_equal(scores(capsys, model, folder / "later.csv"), expected)
    labels = ["--label", "rating", "--qid", "region"]
    found = run(capsys, "evaluate", model, folder / "later.csv", *labels)
    error = np.nanmean(ranking_error(later["rating"], expected, later["region"]))
    np.testing.assert_allclose(found["models"][0]["measures"]["error"]["mean"], error)
    report = run(capsys, "report", model, folder / "later.csv", *labels, "-o", tmp_path / "report.html")
    assert report["rows"] == 80
    page = (tmp_path / "report.html").read_text()
    assert all(name in page for name in FEATURES)
    assert main(["rank", str(model), str(folder / "later.csv"), "--qid", "region"]) == 0
    positions = [int(line) for line in capsys.readouterr().out.splitlines()[1:]]
    order = pd.Series(-expected).groupby(later["region"]).rank(method="first").astype(int)
    assert positions == order.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("method", METHODS)
def test_models_that_python_saved(folder, tmp_path, capsys, method, library):
    model = METHODS[method]().fit(framed(wines(), library), wines()["rating"])
    save_model(model, tmp_path / "model.json")
    expected = model.predict(framed(wines(80, seed=1), library))
    np.testing.assert_array_equal(scores(capsys, tmp_path / "model.json", folder / "later.csv"), expected)


@pytest.mark.parametrize("method", ["boosted", "curve", "rank-logistic"])
def test_only_polars(folder, tmp_path, capsys, method, monkeypatch):
    train(folder, method, tmp_path / "pandas.json")
    expected = scores(capsys, tmp_path / "pandas.json", folder / "later.csv")
    find = table_formats.importlib.util.find_spec
    monkeypatch.setattr(
        table_formats.importlib.util, "find_spec", lambda name: None if name == "pandas" else find(name)
    )
    train(folder, method, tmp_path / "polars.json")
    np.testing.assert_array_equal(scores(capsys, tmp_path / "polars.json", folder / "later.csv"), expected)


@pytest.mark.filterwarnings("ignore:The best alpha")
def test_tune_equals_python(folder, capsys):
    table = wines()
    tune = ["tune", folder / "wines.csv", *OPTIONS, "--qid", "region", "--alphas", "1,0.1,0.01"]
    settings = {"alphas": [1, 0.1, 0.01], "cv": 5}
    found = run(capsys, *tune, "--method", "curve")
    ours = CurveRankerCV(**settings).fit(framed(table), table["rating"], qid=table["region"])
    np.testing.assert_allclose(found["mean"], ours.cv_errors_.mean(axis=1), rtol=1e-6)
    found = run(capsys, *tune, "--method", "rank-logistic", "--scale", "none")
    rows = TableEncoder().fit_transform(framed(table))
    ours = RankLogisticCV(**settings).fit(rows, table["rating"], qid=table["region"])
    np.testing.assert_allclose(found["mean"], ours.cv_errors_.mean(axis=1), rtol=1e-6)


def test_folds_of_trees_hold_categories(folder, capsys):
    """The folds get categories as such: the errors are those of trees that are fitted to frames."""
    from rankwise.model_selection import QueryKFold

    table = wines()
    tune = ["tune", folder / "wines.csv", *OPTIONS, "--qid", "region", "--folds", "3", "--n-estimators", "20"]
    found = run(capsys, *tune, "--method", "boosted")
    frame, y, qid = framed(table), np.array(table["rating"]), np.array(table["region"])
    errors = []
    for rows, held_out in QueryKFold(3, shuffle=True, random_state=0).split(frame, y, qid):
        model = METHODS["boosted"]().fit(frame.iloc[rows], y[rows], qid=qid[rows])
        errors.append(1 - model.score(frame.iloc[held_out], y[held_out], qid=qid[held_out]))
    assert found["trees"] == [20]
    np.testing.assert_allclose(found["errors"][0], errors)


@pytest.mark.parametrize("method", METHODS)
def test_later_rows_with_unknown_words_and_new_gaps(folder, tmp_path, capsys, method):
    train(folder, method, tmp_path / "model.json")
    path = tmp_path / "odd.csv"
    path.write_text(
        "note,code,grape,price,organic,tasted\nx,99,zinfandel,,TRUE,2026-01-01\ny,,,,,\nz,2,01,7,1,2023-02-01T12:00\n"
    )
    if method in ("kernel", "rank-logistic", "rank-svm"):
        path.write_text(path.read_text().replace(",1,2023", ",true,2023"))
    model = load_model(tmp_path / "model.json")
    table = {
        "grape": ["zinfandel", None, "01"],
        "price": [None, None, 7.0],
        "organic": [True, None, True],
        "tasted": [datetime.datetime(2026, 1, 1), None, datetime.datetime(2023, 2, 1, 12)],
        "code": ["99", None, "2"],
    }
    np.testing.assert_array_equal(scores(capsys, tmp_path / "model.json", path), model.predict(framed(table)))
    path.write_text("code,grape,price,organic,tasted\n01,syrah,3,true,\n01,syrah,cheap,true,\n")
    said = fails(capsys, 1, "predict", tmp_path / "model.json", path)
    assert "odd.csv, row 2: column 'price' is not a number (it is 'cheap')" in said


def test_levels_that_are_integers(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "zone": pd.Categorical(rng.integers(1, 4, 90))})
    y = rng.integers(0, 3, 90)
    frame.to_csv(tmp_path / "zones.csv", index=False)
    frame.astype({"zone": float}).to_csv(tmp_path / "floats.csv", index=False)
    frame.to_parquet(tmp_path / "zones.parquet")
    for name, make in METHODS.items():
        model = make().fit(frame, y)
        save_model(model, tmp_path / f"{name}.json")
        for data in ("zones.csv", "floats.csv", "zones.parquet"):
            found = scores(capsys, tmp_path / f"{name}.json", tmp_path / data)
            np.testing.assert_array_equal(found, model.predict(frame))


def test_encoders_of_scikit_learn(tmp_path, capsys):
    table = wines()
    frame = framed(table)[["grape", "price"]].assign(code=table["code"]).fillna({"grape": "none"})
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["grape", "code"]), (SimpleImputer(), ["price"])
    )
    model = make_pipeline(steps, RankSVM()).fit(frame, table["rating"])
    save_model(model, tmp_path / "model.json")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = scores(capsys, tmp_path / "model.json", tmp_path / "rows.csv")
    np.testing.assert_array_equal(found, model.predict(frame))


def test_gaps_in_later_rows_of_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rankwise.cli.data.CHUNK_ROWS", 16)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")).assign(y=rng.integers(0, 3, 60))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    later = frame.drop(columns="y")
    later.iloc[40, 1] = np.nan
    later.to_csv(tmp_path / "later.csv", index=False)
    for method in ("curve", "boosted", "rank-svm"):
        model = tmp_path / f"{method}.json"
        assert (
            main(["train", str(tmp_path / "rows.csv"), "--label", "y", "-o", str(model), "--method", method])
            == 0
        )
        if method == "rank-svm":
            capsys.readouterr()
            assert main(["predict", str(model), str(tmp_path / "later.csv")]) == 1
            assert "later.csv, row 41: column 'b' is missing" in capsys.readouterr().err
        else:
            expected = load_model(model).predict(later.to_numpy())
            np.testing.assert_array_equal(scores(capsys, model, tmp_path / "later.csv"), expected)


def test_two_models_that_read_a_column_differently(folder, tmp_path, capsys):
    train(folder, "boosted", tmp_path / "words.json")
    numbers = [*OPTIONS[:2], "--features", "code,price"]
    data = folder / "wines.csv"
    assert (
        main(["train", str(data), "-o", str(tmp_path / "numbers.json"), *numbers, "--method", "curve", "-q"])
        == 0
    )
    evaluate = [
        "evaluate",
        tmp_path / "words.json",
        folder / "later.csv",
        "--label",
        "rating",
        "--qid",
        "region",
    ]
    found = run(capsys, *evaluate, "--compare", tmp_path / "numbers.json")
    alone = run(capsys, "evaluate", tmp_path / "numbers.json", *evaluate[2:])
    assert found["models"][1]["measures"] == alone["models"][0]["measures"]


def test_further_rows_of_a_training(folder, tmp_path, capsys):
    later = folder / "later.csv"
    more = ["--tune", "--valid", later, "--calibration-data", later, "--tol", "1e-9"]
    train(folder, "rank-logistic", tmp_path / "model.json", *map(str, more))
    table = wines(80, seed=1)
    model = load_model(tmp_path / "model.json")
    assert [name for name, _ in model.steps] == ["encode", "scale", "rank"]
    again = RankLogistic(alpha=model[-1].alpha_, tol=1e-9)
    again.fit(model[:-1].transform(framed(wines())), wines()["rating"])
    again.calibrate(model[:-1].transform(framed(table)), table["rating"])
    np.testing.assert_allclose(model[-1].temperature_, again.temperature_, rtol=1e-5)
    for method in ("curve", "boosted"):
        train(folder, method, tmp_path / "model.json", "--tune", "--valid", str(later))


def test_several_files_and_other_formats(folder, tmp_path, capsys):
    train(folder, "boosted", tmp_path / "one.json")
    expected = scores(capsys, tmp_path / "one.json", folder / "later.csv")
    table = wines()
    halves = [
        {name: values[part] for name, values in table.items()} for part in (slice(100), slice(100, None))
    ]
    options = [
        *OPTIONS,
        "--method",
        "boosted",
        "--n-estimators",
        "20",
        "-q",
        "-o",
        str(tmp_path / "two.json"),
    ]
    for separator, more in ((";", []), (",", []), ("|", ["--sep", "|"])):
        paths = [str(write(half, tmp_path / f"half-{k}.csv", separator)) for k, half in enumerate(halves)]
        assert main(["train", *paths, *options, *more]) == 0, capsys.readouterr().err
        np.testing.assert_array_equal(scores(capsys, tmp_path / "two.json", folder / "later.csv"), expected)
    paths = [str(tmp_path / f"half-{k}.parquet") for k in range(2)]
    for path, half in zip(paths, halves, strict=True):
        pd.DataFrame(half).to_parquet(path)
    assert main(["train", *paths, *options]) == 0, capsys.readouterr().err
    np.testing.assert_array_equal(scores(capsys, tmp_path / "two.json", folder / "later.csv"), expected)


def test_survival_pairs_and_labels_that_are_words(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"months": rng.exponential(10, 80), "died": rng.integers(0, 2, 80), "age": rng.normal(size=80)}
    )
    table["stage"] = rng.choice(["I", "II", "III"], 80)
    table.loc[3, "age"] = np.nan
    table.to_csv(tmp_path / "patients.csv", index=False)
    options = ["--survival", "months,died", "-o", tmp_path / "m.json", "--method", "curve"]
    found = run(capsys, "train", tmp_path / "patients.csv", *options)
    assert found["features"] == 2
    run(capsys, "evaluate", tmp_path / "m.json", tmp_path / "patients.csv", "--survival", "months,died")
    words = table.assign(grade=rng.choice(["poor", "good"], 80)).drop(columns=["months", "died"])
    words.to_csv(tmp_path / "grades.csv", index=False)
    options = ["--label", "grade", "--grades", "poor,good", "-o", tmp_path / "m.json"]
    for method in ("ordinal-svm", "rank-svm", "boosted"):
        assert run(capsys, "train", tmp_path / "grades.csv", *options, "--method", method)["rows"] == 80
    run(capsys, "evaluate", tmp_path / "m.json", tmp_path / "grades.csv", *options[:4])
    halves = {
        f"{side}_{name}": table[name][rows].to_numpy()
        for name in ("age", "stage")
        for side, rows in (("a", slice(40)), ("b", slice(40, 80)))
    }
    pd.DataFrame(halves).to_csv(tmp_path / "pairs.csv", index=False)
    found = run(capsys, "train", tmp_path / "pairs.csv", "--pairs", "a_,b_", "-o", tmp_path / "m.json")
    assert (found["rows"], found["pairs"], found["features"]) == (80, 40, 5)


def test_a_training_continues_from_its_checkpoint(folder, tmp_path, capsys):
    more = ["--resume", "--max-iter", "2"]
    train(folder, "rank-svm", tmp_path / "model.json", *more)
    train(folder, "boosted", tmp_path / "model.json", "--resume")


def test_errors(folder, tmp_path, capsys):
    data, out = folder / "wines.csv", ["-o", tmp_path / "model.json"]
    command = ["train", data, "--label", "rating", *out]
    for more in ([], ["--dask", "threads"]):
        said = fails(capsys, 1, *command, *more)
        assert "Column 'id' has 240 different strings in 240 rows" in said
        assert "Leave it out with --exclude id, or name it in --categorical" in said
    assert "--categorical names 'colour', which is no feature" in fails(
        capsys, 2, *command, "--categorical", "colour"
    )
    assert "--sep cannot be used with --dask" in fails(capsys, 2, *command, "--sep", ";", "--dask", "threads")
    with pytest.raises(SystemExit):
        main(["train", str(data), "--sep", "ab", "-o", "x"])
    assert "must be one character" in capsys.readouterr().err
    bad = tmp_path / "bad.csv"
    bad.write_text(data.read_text().rsplit(",", 1)[0] + ",\n")
    assert "bad.csv, row 240: column 'rating' is missing" in fails(
        capsys, 1, "train", bad, *command[2:], "--features", "grape,price"
    )
    train(folder, "rank-logistic", tmp_path / "m.json")
    bad.write_text(",".join(FEATURES) + "\n")
    assert "The data has no rows." in fails(capsys, 1, "predict", tmp_path / "m.json", bad)
    said = fails(capsys, 1, "export", tmp_path / "m.json", "-o", tmp_path / "m.sql", "--format", "sql")
    assert "got TableEncoder" in said


def test_the_learned_kernel_in_the_commands(folder, tmp_path, capsys):
    model, page = tmp_path / "model.json", tmp_path / "page.html"
    data = [folder / "wines.csv", "-o", model, "--method", "kernel", *OPTIONS]
    found = run(capsys, "train", *data, "--loss", "logistic", "--kernel", "rbf", "--n-components", 40)
    assert 0 < found["alpha"] < 1
    assert found["gap"] < 1e-2
    capsys.readouterr()
    assert main(["report", str(model), str(folder / "later.csv"), "-o", str(page), "--label", "rating"]) == 0
    assert "Which features matter and interact" in page.read_text()
    assert "chooses alpha in its fit" in fails(capsys, 2, "train", *data, "--tune")
    assert "chooses alpha in its fit" in fails(capsys, 2, "tune", *data)
    message = "--kernel must be one of auto, laplacian, exponential, rbf with --method kernel; got poly."
    assert message in fails(capsys, 2, "train", *data, "--kernel", "poly")


def test_the_learned_kernel_of_an_svmlight_file(tmp_path, capsys):
    X, y, qid = make_ranking(60, 4, n_queries=6, n_levels=3, random_state=0)
    dump_svmlight(X, y, tmp_path / "rows.txt", qid=qid)
    data, model = tmp_path / "rows.txt", tmp_path / "model.json"
    assert main(["train", str(data), "-o", str(model), "--method", "kernel"]) == 0
    ours = KernelRanker().fit(X, y, qid=qid)
    np.testing.assert_array_equal(scores(capsys, model, data), ours.predict(X))


LONG_NAME = "title_of_the_employment_as_it_was_stated_in_the_application_of_the_borrower"


@pytest.fixture(params=[".csv", ".parquet", ".arrow"])
def loans(request, tmp_path):
    """Write a table with a number of the row, identifiers and text; return its path and the frame."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.normal(size=300), "debt": rng.normal(size=300)})
    frame = frame.assign(
        grade=(frame["income"] - frame["debt"]).round(), user_id=rng.permutation(300) * 7, row=range(300)
    )
    path = tmp_path / f"loans{request.param}"
    if request.param == ".csv":
        frame.to_csv(path, index=False)
    else:
        {".parquet": frame.to_parquet, ".arrow": frame.to_feather}[request.param](path)
    return path, frame


def saved(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        {".parquet": frame.to_parquet, ".arrow": frame.to_feather}[path.suffix](path)


def test_excluded_columns_are_no_features(loans, tmp_path, capsys):
    path, frame = loans
    train = ["train", path, "--label", "grade", "-o", tmp_path / "m.json"]
    assert run(capsys, *train, "--exclude", "user_id,row")["features"] == 2
    expected = RankSVM().fit(frame[["income", "debt"]], frame["grade"])
    np.testing.assert_allclose(load_model(tmp_path / "m.json").coef_, expected.coef_, rtol=1e-4)
    for command in ("evaluate", "summary"):
        run(capsys, command, tmp_path / "m.json", path, "--label", "grade", "--exclude", "row")
    assert len(scores(capsys, tmp_path / "m.json", path, "--exclude", "row")) == 300
    tuned = run(capsys, "tune", path, "--label", "grade", "--exclude", "user_id,row", "--alphas", "1,0.1")
    assert tuned["rows"] == 300
    learned = fails(capsys, 2, "predict", tmp_path / "m.json", path, "--exclude", "debt")
    assert "--exclude names 'debt', which the model was fitted to" in learned
    assert "has no column 'rows'" in fails(capsys, 1, *train, "--exclude", "rows")
    both = fails(capsys, 2, *train, "--exclude", "row", "--features", "debt")
    assert "--exclude cannot be used with --features" in both
    svmlight = fails(capsys, 2, "train", tmp_path / "a.txt", "-o", tmp_path / "n.json", "--exclude", "row")
    assert "--exclude is for tables (CSV, TSV, Parquet, Arrow), but the data is svmlight" in svmlight


def test_identifiers_are_named_and_never_cut(loans, tmp_path, capsys):
    path, frame = loans
    train = ["train", path, "--label", "grade", "-o", tmp_path / "m.json"]
    assert main(list(map(str, train))) == 0
    said = capsys.readouterr().err
    assert "'user_id', 'row' look like identifiers; leave out with --exclude user_id,row" in said
    saved(frame.assign(**{LONG_NAME: [f"clerk {k // 2}" for k in range(300)]}), path)
    assert f"Leave it out with --exclude {LONG_NAME}, or" in fails(capsys, 1, *train)


def test_identifiers_of_an_array_are_those_of_its_frame():
    rng = np.random.default_rng(0)
    columns = {
        "row": np.arange(5.0, 305.0),
        "user_id": 7.0 * rng.permutation(300),
        "few_id": np.arange(300.0) % 3,
        "part_id": rng.normal(size=300),
        "price": 2.0 * np.arange(300.0),
        "starts by one": np.r_[0.0, 1.0, rng.normal(size=298)],
        "gaps_id": np.where(np.arange(300) % 9, np.arange(300.0), np.nan),
    }
    frame = pd.DataFrame(columns)
    assert identifiers(frame) == identifiers(frame.to_numpy(), list(columns)) == ["row", "user_id"]
    assert identifiers(frame.to_numpy()[:19], list(columns)) == []


def test_the_search_leaves_identifiers_out(loans, tmp_path, capsys):
    path, frame = loans
    frame = frame.assign(url=[f"/{k}" for k in range(300)])
    saved(frame, path)
    train = ["train", path, "--label", "grade", "-o", tmp_path / "m.json", "--method", "auto", "--time", "1"]
    found = run(capsys, *train, "--folds", "2")
    assert found["left_out"] == ["user_id", "row", "url"]
    assert load_model(tmp_path / "m.json").feature_names_in_.tolist() == ["income", "debt"]
    assert len(scores(capsys, tmp_path / "m.json", path)) == 300
    features = frame.drop(columns="grade")
    model = AutoRanker(budget=None, candidates=["linear"], cv=2).fit(features, frame["grade"])
    assert model.left_out_ == ["user_id", "row", "url"]
    np.testing.assert_array_equal(model.predict(features), model.predict(frame[["income", "debt"]]))


def test_a_table_with_strings_names_the_packages_that_it_needs(tmp_path, monkeypatch, capsys):
    find, absent = importlib.util.find_spec, ("pandas", "polars", "pyarrow")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name in absent else find(name, *more)
    )
    data = tmp_path / "rows.csv"
    data.write_text("grade,brand\n" + "1,a\n0,b\n" * 20)
    assert main(["train", str(data), "-o", str(tmp_path / "m.json"), "--label", "grade"]) == 1
    said = capsys.readouterr().err
    assert "a data frame, which needs pandas, polars or pyarrow: pip install pandas" in said
