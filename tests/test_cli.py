"""The commands of `rankwise`, called in this process."""

import gc
import gzip
import json
import re
import shlex
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import reference
import reference_metrics
from commands import run
from rankwise import HullRanker, OrdinalSVM, RankRLS, RankSVM, RankSVMCV
from rankwise.cli import main as cli_main
from rankwise.cli.main import COMMANDS, build_parser, main, named
from rankwise.cli.model_options import declared_options, methods
from rankwise.cli.output import Progress
from rankwise.cli.svm_rank import classify, learn
from rankwise.datasets import make_ranking, make_search
from rankwise.evaluation import compare_values
from rankwise.io.model_file import load_model, model_info
from rankwise.io.svmlight import dump_svmlight
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold
from rankwise.model_selection.folds import Folds


@pytest.fixture(scope="module")
def rows():
    X, y, qid = make_ranking(240, 5, n_queries=15, n_levels=4, noise=0.8, random_state=0)
    return X, y.astype(float), qid + 1


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    """Training and test files, and a model."""
    X, y, qid = rows
    path = tmp_path_factory.mktemp("cli")
    train = qid <= 10
    dump_svmlight(X[train], y[train], path / "train.txt", qid=qid[train])
    dump_svmlight(X[~train], y[~train], path / "test.txt", qid=qid[~train])
    assert main(["train", str(path / "train.txt"), "-o", str(path / "model.json"), "-q"]) == 0
    return path


@pytest.fixture
def parts(rows):
    X, y, qid = rows
    train = qid <= 10
    return X[train], y[train], qid[train], X[~train], y[~train], qid[~train]


def fails(capsys, code, *arguments):
    """Run a command that must end with that exit code; give what it says."""
    capsys.readouterr()
    try:
        given = main(list(map(str, arguments)))
    except SystemExit as exit:
        given = exit.code
    said = capsys.readouterr()
    assert given == code, said.err
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err


def test_the_demo_shows_what_queries_change(tmp_path, capsys):
    values = run(capsys, "demo", "--output", tmp_path)
    X, grade, query = make_search(random_state=0)
    train, test = query < 30, query >= 30
    errors = values["search"]["errors"]
    for name, qid in (("RankSVM with qid", query[train]), ("RankSVM without qid", None)):
        model = RankSVMCV().fit(X[train], grade[train], qid=qid)
        expected = np.nanmean(ranking_error(grade[test], model.predict(X[test]), query[test], per_query=True))
        assert errors[name] == pytest.approx(expected, abs=1e-3)
    knowing, others = list(errors.values())[:2], list(errors.values())[2:]
    assert max(knowing) < 0.1 < 0.5 < min(others)
    assert abs(knowing[0] - knowing[1]) < 0.005  # ridge regression that knows the queries does as well
    board = values["leaderboard"]["leaderboard"]
    assert [row["rank"] for row in board] == list(range(1, 13))
    assert sum(row["matches"] for row in board) == 2 * 2000
    assert 0.8 < values["patients"]["coverage"] <= 1
    assert values["pages"] == [
        str(tmp_path / f"{name}.html") for name in ("search", "leaderboard", "patients")
    ]
    (tmp_path / "file").write_text("")
    assert "file" in fails(capsys, 1, "demo", "--output", tmp_path / "file" / "report")


def test_training_prints_the_results_of_the_fit(folder, parts, tmp_path, capsys):
    X, y, qid, *_ = parts
    values = run(capsys, "train", folder / "train.txt", "-o", tmp_path / "m.json", "--alpha", "0.01")
    expected = RankSVM(0.01, random_state=0).fit(X, y, qid=qid)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    assert (values["rows"], values["features"], values["queries"]) == (len(y), 5, 10)
    assert values["pairs"] == len(pairs)
    assert values["objective"] == expected.objective_
    loaded = load_model(tmp_path / "m.json")
    objective = reference.hinge(pairs, X @ loaded.coef_)[0] + 0.01 * loaded.coef_ @ loaded.coef_
    assert values["objective"] == pytest.approx(objective, abs=1e-12)
    assert 0 <= values["gap"] <= 1e-3
    assert values["converged"]
    assert loaded.callback is None
    assert not loaded.warm_start
    assert model_info(tmp_path / "m.json").metadata == {"method": "rank-svm", "alpha": 0.01, "rows": len(y)}
    assert not list(tmp_path.glob("*.checkpoint"))
    assert main(["train", str(folder / "train.txt"), "-o", str(tmp_path / "m.json"), "--alpha", "0.01"]) == 0
    said = capsys.readouterr()
    assert f"{len(y)} rows, 5 features, 10 queries, {len(pairs):,} pairs" in said.out
    assert f"objective {objective:.6g}" in said.out
    assert said.err == ""


SETTINGS = {
    "squared hinge": (["--loss", "squared-hinge"], lambda: RankSVM(loss="squared_hinge")),
    "pairs": (["--average", "pairs", "--tol", "1e-5"], lambda: RankSVM(average="pairs", tol=1e-5)),
    "weights": (["--pair-weight", "difference"], lambda: RankSVM(pair_weight="difference")),
    "kernel": (
        ["--kernel", "rbf", "--gamma", "0.3", "--n-components", "30", "--seed", "4"],
        lambda: RankSVM(kernel="rbf", gamma=0.3, n_components=30, random_state=4),
    ),
    "polynomial": (
        ["--method", "rank-rls", "--kernel", "poly", "--degree", "2", "--coef0", "0.5", "--gamma", "scale"],
        lambda: RankRLS(kernel="poly", degree=2, coef0=0.5, gamma="scale"),
    ),
    "least squares": (["--method", "rank-rls", "--cost", "unit"], lambda: RankRLS(cost="unit")),
    "standard": (["--scale", "standard"], lambda: make_pipeline(StandardScaler(), RankSVM())),
    "minmax": (["--scale", "minmax"], lambda: make_pipeline(MinMaxScaler(), RankSVM())),
    "maxabs": (
        ["--scale", "maxabs", "--method", "rank-rls"],
        lambda: make_pipeline(MaxAbsScaler(), RankRLS()),
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_options_reach_the_estimator_and_scores_are_exact(name, folder, parts, tmp_path, capsys):
    options, make = SETTINGS[name]
    X, y, qid, X_test, *_ = parts
    run(capsys, "train", folder / "train.txt", "-o", tmp_path / "m.json", *options)
    values = run(capsys, "predict", tmp_path / "m.json", folder / "test.txt", "-o", tmp_path / "s.txt")
    model = make()
    steps = getattr(model, "steps", [("", model)])
    ranker = steps[-1][1].set_params(random_state=getattr(steps[-1][1], "random_state", None) or 0)
    model.fit(X, y, **{f"{steps[-1][0]}__qid" if len(steps) > 1 else "qid": qid})
    assert values["rows"] == len(X_test)
    scores = [float(line) for line in (tmp_path / "s.txt").read_text().splitlines()]
    np.testing.assert_allclose(scores, model.predict(X_test), rtol=0, atol=1e-12)
    assert scores == load_model(tmp_path / "m.json").predict(X_test).tolist()
    assert type(ranker) is type(load_model(tmp_path / "m.json")[-1] if len(steps) > 1 else ranker)


def test_sparse_data_stays_sparse(tmp_path, capsys):
    X, y, qid = make_ranking(200, 30, n_queries=10, n_levels=3, density=0.2, noise=0.3, random_state=0)
    dump_svmlight(X, y, tmp_path / "train.txt", qid=qid)
    train = ["train", tmp_path / "train.txt", "-o", tmp_path / "m.json", "--tol", "1e-9"]
    for scale, scaler in (
        ("none", None),
        ("maxabs", MaxAbsScaler()),
        ("standard", StandardScaler(with_mean=False)),
    ):
        values = run(capsys, *train, "--scale", scale)
        scaled = X if scaler is None else scaler.fit_transform(X)
        expected = RankSVM(tol=1e-9).fit(scaled, y, qid=qid)
        assert values["objective"] == pytest.approx(expected.objective_, abs=1e-9)
        assert main(["predict", str(tmp_path / "m.json"), str(tmp_path / "train.txt")]) == 0
        scores = [float(line) for line in capsys.readouterr().out.splitlines()]
        np.testing.assert_allclose(scores, expected.predict(scaled), atol=1e-3)
    centred = RankSVM(tol=1e-9).fit(StandardScaler().fit_transform(X.toarray()), y, qid=qid)
    assert values["objective"] == pytest.approx(centred.objective_, abs=2e-9)
    assert "use maxabs" in fails(capsys, 1, *train, "--scale", "minmax")
    assert (
        run(capsys, "tune", tmp_path / "train.txt", "--scale", "standard", "--folds", "2")["best_alpha"] > 0
    )


def test_a_scaler_that_shifts_takes_sparse_rows(folder, parts, tmp_path, capsys):
    X, y, qid, *_ = parts
    (tmp_path / "sparse.txt").write_text("0 qid:1 2:1\n1 qid:1 5:-2\n")
    for scale, scaler in ("standard", StandardScaler()), ("minmax", MinMaxScaler()):
        main(["train", str(folder / "train.txt"), "-o", str(tmp_path / "m.json"), "--scale", scale, "-q"])
        assert main(["predict", str(tmp_path / "m.json"), str(tmp_path / "sparse.txt")]) == 0
        scores = [float(line) for line in capsys.readouterr().out.splitlines()]
        model = RankSVM().fit(scaler.fit_transform(X), y, qid=qid)
        rows = scaler.transform([[0, 1, 0, 0, 0], [0, 0, 0, 0, -2]])
        np.testing.assert_allclose(scores, model.predict(rows), atol=1e-12)


def test_ordinal_models_give_labels_or_utilities(folder, parts, tmp_path, capsys):
    X, y, _, X_test, y_test, _ = parts
    train = ["train", folder / "train.txt", "-o", tmp_path / "m.json", "--method", "ordinal-svm"]
    assert main([*map(str, train), "--scale", "standard"]) == 0
    assert "the queries of the data are not used" in capsys.readouterr().err
    scaler = StandardScaler().fit(X)
    model = OrdinalSVM(random_state=0).fit(scaler.transform(X), y)
    for options, expected in ([], model.predict), (["--utility"], model.utility):
        main(["predict", str(tmp_path / "m.json"), str(folder / "test.txt"), *options])
        scores = [float(line) for line in capsys.readouterr().out.splitlines()]
        np.testing.assert_allclose(scores, expected(scaler.transform(X_test)), atol=1e-12)
    values = run(capsys, "evaluate", tmp_path / "m.json", folder / "test.txt")
    found = values["models"][0]["measures"]["error"]["mean"]
    utility = model.utility(scaler.transform(X_test))
    assert found == pytest.approx(ranking_error(y_test, utility, parts[5]), abs=1e-12)


def test_hulls_are_separated(folder, parts, tmp_path, capsys):
    X, y, _, X_test, *_ = parts
    options = ["--method", "hull", "--slack-per", "edge", "--order", "full", "--alpha", "0.01"]
    values = run(capsys, "train", folder / "train.txt", "-o", tmp_path / "m.json", *options)
    model = HullRanker(0.01, slack_per="edge", order="full").fit(X, y)
    assert values["objective"] == pytest.approx(model.objective_, rel=1e-5)
    assert values["queries"] == 1
    assert main(["predict", str(tmp_path / "m.json"), str(folder / "test.txt")]) == 0
    scores = [float(line) for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose(scores, model.predict(X_test), atol=1e-6)
    tuned = run(capsys, "tune", folder / "train.txt", *options[:4], "--alphas", "0.1,0.01", "--folds", "2")
    assert np.shape(tuned["errors"]) == (2, 2)


def test_tuning_gives_the_errors_of_the_class_that_searches(folder, parts, tmp_path, capsys):
    X, y, qid, *_ = parts
    tune = [
        "tune",
        folder / "train.txt",
        "--loss",
        "squared-hinge",
        "--alphas",
        "0.001,1,0.1",
        "--folds",
        "3",
    ]
    tune += ["--scale", "standard", "--tol", "1e-9", "--seed", "7"]
    values = run(capsys, *tune)
    folds = QueryKFold(3, shuffle=True, random_state=7)
    expected = RankSVMCV([1, 0.1, 0.001], loss="squared_hinge", tol=1e-9, cv=folds)
    expected.fit(StandardScaler().fit_transform(X), y, qid=qid)
    assert (values["alphas"], values["best_alpha"]) == ([1, 0.1, 0.001], expected.alpha_)
    np.testing.assert_allclose(values["errors"], expected.cv_errors_, atol=1e-12)
    np.testing.assert_allclose(values["mean_error"], expected.cv_errors_.mean(axis=1))
    np.testing.assert_allclose(values["std_error"], expected.cv_errors_.std(axis=1))
    written = run(capsys, *tune, "-o", tmp_path / "m.json")
    assert written["errors"] == values["errors"]
    assert load_model(tmp_path / "m.json")[-1].alpha_ == expected.alpha_
    trained = run(capsys, "train", *tune[1:], "--tune", "-o", tmp_path / "m.json")
    assert trained["alpha"] == expected.alpha_
    assert trained["cross_validation"]["errors"] == values["errors"]


def test_tuning_marks_the_best_of_its_own_candidates(folder, capsys):
    assert main(["tune", str(folder / "train.txt"), "--folds", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 4 <= len(lines) <= 12  # until the error has risen
    errors = [float(line.split()[1]) for line in lines[1:]]
    assert [line.endswith("best") for line in lines[1:]].index(True) == int(np.argmin(errors))
    kernel = run(
        capsys, "tune", folder / "train.txt", "--folds", "2", "--kernel", "rbf", "--n-components", "9"
    )
    visited = kernel["alphas"]  # in powers of ten, until the error has risen
    np.testing.assert_allclose(np.divide(visited, visited[0]), [10.0**-k for k in range(len(visited))])


def test_tuning_holds_blas_to_one_thread(folder, capsys, monkeypatch):
    seen, judged = [], Folds.judged

    def watched(search, *arguments):
        seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return judged(search, *arguments)

    monkeypatch.setattr(Folds, "judged", watched)
    with threadpool_limits(2, user_api="blas"):
        run(capsys, "tune", folder / "train.txt", "--method", "rank-rls", "--folds", 2)
    assert set(seen) == {1}


def test_evaluation_equals_the_textbook_measures(folder, parts, tmp_path, capsys):
    *_, X, y, qid = parts
    scores = load_model(folder / "model.json").predict(X)
    options = ["--at", "2,3", "--relevant-at", "2", "--gain", "linear", "--per-query"]
    values = run(capsys, "evaluate", folder / "model.json", folder / "test.txt", *options)
    expected = {
        "error": reference_metrics.ranking_error(y, scores, qid),
        "tau": reference_metrics.kendall_tau(y.tolist(), scores.tolist(), qid),
        "ndcg@2": reference_metrics.ndcg(y, scores, qid, k=2, gain="linear"),
        "ndcg@3": reference_metrics.ndcg(y, scores, qid, k=3, gain="linear"),
        "ndcg": reference_metrics.ndcg(y, scores, qid, gain="linear"),
        "map": reference_metrics.average_precision(y, scores, qid, relevant_above=1.5),
        "mrr": reference_metrics.reciprocal_rank(y, scores, qid, relevant_above=1.5),
        "p@2": reference_metrics.precision(y, scores, qid, k=2, relevant_above=1.5),
        "p@3": reference_metrics.precision(y, scores, qid, k=3, relevant_above=1.5),
    }
    found = values["models"][0]["measures"]
    assert set(found) == set(expected)
    assert [row["qid"] for row in values["per_query"]] == [11, 12, 13, 14, 15]
    for name, per_query in expected.items():
        listed = [np.nan if row[name][0] is None else row[name][0] for row in values["per_query"]]
        np.testing.assert_allclose(listed, per_query, atol=1e-12, err_msg=name)
        assert found[name]["mean"] == pytest.approx(np.nanmean(per_query), abs=1e-12)
        assert values["models"][0]["measures"][name]["defined"] == np.count_nonzero(~np.isnan(per_query))
    main(
        ["predict", str(folder / "model.json"), str(folder / "test.txt"), "-o", str(tmp_path / "scores.txt")]
    )
    assert (
        run(capsys, "evaluate", tmp_path / "scores.txt", folder / "test.txt", *options)["models"][0][
            "measures"
        ]
        == found
    )
    assert main(["evaluate", str(folder / "model.json"), str(folder / "test.txt"), *options]) == 0
    text = capsys.readouterr().out
    assert "labels of at least 2 are relevant" in text
    assert f"{found['error']['mean']:.4f}" in text


def test_two_models_are_compared_by_paired_tests(folder, parts, tmp_path, capsys):
    *_, X, y, qid = parts
    noise = np.random.default_rng(0).normal(size=len(y))
    (tmp_path / "b.txt").write_text("".join(f"{score}\n" for score in noise))
    scores = load_model(folder / "model.json").predict(X)
    a, b = (reference_metrics.ranking_error(y, s, qid) for s in (scores, noise))
    evaluate = ["evaluate", folder / "model.json", folder / "test.txt", "--compare", tmp_path / "b.txt"]
    first = run(capsys, *evaluate)["differences"][0]
    assert first["measure"] == "error"
    assert first["p"] == pytest.approx(compare_values({"a": a, "b": b}).differences[0].p)
    assert main([*map(str, evaluate), "--per-query"]) == 0
    assert f"{np.mean(a) - np.mean(b):+.4f}" in capsys.readouterr().out
    same = run(capsys, *evaluate[:-1], folder / "model.json")
    assert {one["p"] for one in same["differences"]} == {1.0}


def test_negative_labels_have_no_ndcg_and_undefined_is_null(tmp_path, capsys):
    (tmp_path / "data.txt").write_text("-1 qid:1 1:1\n0 qid:1 1:2\n0 qid:2 1:1\n0 qid:2 1:2\n")
    (tmp_path / "scores.txt").write_text("1\n2\n3\n4\n")
    values = run(capsys, "evaluate", tmp_path / "scores.txt", tmp_path / "data.txt", "--per-query")
    assert values["models"][0]["measures"]["error"]["mean"] == 0
    assert list(values["models"][0]["measures"]) == ["error", "tau"]
    assert values["notes"] == [
        "NDCG is left out: it needs grades (nonnegative integers), and these labels are not grades.",
        "MAP, MRR and Precision are left out: all rows are relevant, or none.",
    ]
    assert values["per_query"][1]["error"] == [None]


def oddly_written(text, rows):
    """The same rows with string queries in another order, comments, blank lines, CRLF and more."""
    lines = []
    for k in rows:
        label, qid, *entries = text.splitlines()[k].split()
        lines += [f"{float(label):+.1f}\tqid:query-{qid[4:]}  " + "   ".join(entries) + f" # row {k}: 1:2"]
    return "# LETOR\r\n\r\n" + "\r\n".join(lines) + "\r\n   # the end"


def test_odd_files_are_read_as_the_plain_one(folder, tmp_path, capsys, monkeypatch):
    text = (folder / "train.txt").read_text()
    rows = np.random.default_rng(1).permutation(text.count("\n"))
    with gzip.open(tmp_path / "odd.txt.gz", "wb") as file:
        file.write(oddly_written(text, rows).encode())
    plain = run(capsys, "train", folder / "train.txt", "-o", tmp_path / "a.json", "--tol", "1e-9")
    odd = run(capsys, "train", tmp_path / "odd.txt.gz", "-o", tmp_path / "b.json", "--tol", "1e-9")
    for name in ("rows", "features", "queries", "pairs"):
        assert odd[name] == plain[name]
    assert odd["objective"] == pytest.approx(plain["objective"], abs=1e-8)
    a, b = (load_model(tmp_path / name).coef_ for name in ("a.json", "b.json"))
    np.testing.assert_allclose(a, b, atol=1e-3)
    half = text.count("\n") // 2
    for name, part in ("1.txt", text.splitlines()[:half]), ("2.txt", text.splitlines()[half:]):
        (tmp_path / name).write_text("\n".join(part))
    parts = [tmp_path / "1.txt", tmp_path / "2.txt"]
    both = run(capsys, "train", *parts, "-o", tmp_path / "c.json", "--tol", "1e-9")
    assert both["objective"] == plain["objective"]
    zero_based = tmp_path / "zero.txt"
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    dump_svmlight(X, [0, 1], zero_based, zero_based=True)
    values = run(capsys, "train", zero_based, "-o", tmp_path / "z.json", "--zero-based", "--n-features", "4")
    assert (values["features"], values["queries"], values["pairs"]) == (4, 1, 1)


def test_tables_are_read_by_column_names(rows, folder, tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("rankwise.io.tables")
    assert frames is not None
    X, y, qid = rows
    train = qid <= 10
    frame = pandas.DataFrame(X, columns=list("abcde")).assign(grade=y, query=[f"q{q:02}" for q in qid])
    frame[train].to_csv(tmp_path / "train.csv", index=False)
    frame[~train].to_csv(tmp_path / "test.csv", index=False)
    columns = ["--label", "grade", "--qid", "query"]
    values = run(capsys, "train", tmp_path / "train.csv", "-o", tmp_path / "m.json", *columns)
    expected = RankSVM(random_state=0).fit(X[train], y[train], qid=qid[train])
    assert values["objective"] == pytest.approx(expected.objective_, abs=1e-9)
    assert model_info(tmp_path / "m.json").feature_names == list("abcde")
    frame[~train][list("deacb")].to_csv(tmp_path / "bare.csv", index=False)
    run(capsys, "predict", tmp_path / "m.json", tmp_path / "bare.csv", "-o", tmp_path / "s.txt")
    scores = np.loadtxt(tmp_path / "s.txt")
    np.testing.assert_allclose(scores, expected.predict(X[~train]), atol=1e-9)
    found = run(capsys, "evaluate", tmp_path / "m.json", tmp_path / "test.csv", *columns)
    error = np.nanmean(reference_metrics.ranking_error(y[~train], scores, qid[~train]))
    assert found["models"][0]["measures"]["error"]["mean"] == pytest.approx(error)
    some = ["--features", "b,d", "--label", "grade", "--qid", "query"]
    assert run(capsys, "train", tmp_path / "train.csv", "-o", tmp_path / "n.json", *some)["features"] == 2
    assert "--label" in fails(capsys, 2, "train", tmp_path / "train.csv", "-o", tmp_path / "m.json")
    assert "all tables" in fails(
        capsys, 2, "train", tmp_path / "train.csv", folder / "train.txt", "-o", tmp_path / "m.json", *columns
    )
    assert "zero-based" in fails(
        capsys, 2, "train", tmp_path / "train.csv", "-o", tmp_path / "m.json", *columns, "--zero-based"
    )


@pytest.mark.parametrize("format", ["svmrank", "solr", "elasticsearch", "opensearch", "c", "sql"])
def test_models_are_exported(format, folder, tmp_path, capsys):
    from rankwise.io.export import export_model

    names = ["v", "w", "x", "y", "z"]
    options = ["--format", format, "--features", ",".join(names)]
    values = run(capsys, "export", folder / "model.json", "-o", tmp_path / "out", *options)
    assert values["format"] == format
    expected = export_model(load_model(folder / "model.json"), None, format, feature_names=names)
    assert (tmp_path / "out").read_text() == expected


def test_models_of_svmrank_keep_the_shift_of_a_scaler(folder, tmp_path, capsys):
    model, copy = tmp_path / "m.json", tmp_path / "m.dat"
    main(["train", str(folder / "train.txt"), "-o", str(model), "--scale", "minmax", "-q"])
    main(["export", str(model), "-o", str(copy), "--format", "svmrank", "-q"])
    scores = []
    for path in model, copy:
        assert main(["predict", str(path), str(folder / "test.txt")]) == 0
        scores.append([float(line) for line in capsys.readouterr().out.splitlines()])
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)


WRONG_USAGE = {
    "no command": [],
    "unknown command": ["rank"],
    "unknown option": ["train", "TRAIN", "-o", "OUT", "--speed", "9"],
    "no output": ["train", "TRAIN"],
    "alpha is zero": ["train", "TRAIN", "-o", "OUT", "--alpha", "0"],
    "alpha is not a number": ["train", "TRAIN", "-o", "OUT", "--alpha", "nan"],
    "alpha and tune": ["train", "TRAIN", "-o", "OUT", "--alpha", "1", "--tune"],
    "alphas without tune": ["train", "TRAIN", "-o", "OUT", "--alphas", "1,2"],
    "empty alphas": ["tune", "TRAIN", "--alphas", ","],
    "one fold": ["tune", "TRAIN", "--folds", "1"],
    "method": ["train", "TRAIN", "-o", "OUT", "--method", "forest"],
    "option of another method": ["train", "TRAIN", "-o", "OUT", "--cost", "unit"],
    "loss of another method": ["train", "TRAIN", "-o", "OUT", "--method", "rank-rls", "--loss", "hinge"],
    "unknown kernel": ["train", "TRAIN", "-o", "OUT", "--kernel", "cubist"],
    "precomputed": ["train", "TRAIN", "-o", "OUT", "--kernel", "precomputed"],
    "columns of no table": ["train", "TRAIN", "-o", "OUT", "--label", "grade"],
    "standard input twice": ["train", "-", "-", "-o", "OUT"],
    "resume without a model": ["tune", "TRAIN", "--resume"],
    "at": ["evaluate", "MODEL", "TRAIN", "--at", "0"],
    "format": ["export", "MODEL", "-o", "OUT", "--format", "pickle"],
    "jobs": ["train", "TRAIN", "-o", "OUT", "--jobs", "0"],
}
FAILURES = {
    "no such data": (["train", "nowhere.txt", "-o", "OUT"], "nowhere.txt"),
    "no such model": (["predict", "nowhere.json", "TRAIN"], "nowhere.json"),
    "no such folder": (["train", "TRAIN", "-o", "nowhere/model.json"], "folder"),
    "output is a folder": (["train", "TRAIN", "-o", "FOLDER"], "is a folder"),
    "malformed": (["train", "MALFORMED", "-o", "OUT"], "line 2"),
    "empty": (["train", "EMPTY", "-o", "OUT"], "no rows"),
    "nothing to predict": (["predict", "MODEL", "EMPTY", "-o", "OUT"], "no rows"),
    "nothing to evaluate": (["evaluate", "MODEL", "EMPTY"], "no rows"),
    "no pairs": (["train", "CONSTANT", "-o", "OUT"], "nothing to rank"),
    "no pairs to tune": (["tune", "CONSTANT"], "nothing to rank"),
    "more folds than queries": (["tune", "TRAIN", "--folds", "11"], "11 folds"),
    "corrupt model": (["predict", "CORRUPT", "TRAIN"], "CORRUPT"),
    "model cut short": (["evaluate", "SHORT", "TRAIN"], "SHORT"),
    "data for a model": (["predict", "TRAIN", "TRAIN"], "cannot be loaded"),
    "too few scores": (["evaluate", "SCORES", "TRAIN"], "2 scores"),
    "bad scores": (["evaluate", "BAD_SCORES", "TRAIN"], "line 2"),
    "kernel to solr": (["export", "KERNEL", "-o", "OUT", "--format", "solr"], "linear"),
    "wrong features": (["export", "MODEL", "-o", "OUT", "--format", "sql", "--features", "a"], "features"),
}


def test_features_that_the_model_does_not_know_are_left_out(folder, tmp_path, capsys):
    narrow, wide = tmp_path / "narrow.txt", tmp_path / "wide.txt"
    narrow.write_text("1 qid:1 1:2\n0 qid:1 3:1\n")
    wide.write_text("1 qid:1 1:2 6:1\n0 qid:1 3:1 900:4\n")
    printed = []
    for data in (narrow, wide):
        assert main(["predict", str(folder / "model.json"), str(data), "-o", "-"]) == 0
        printed.append(capsys.readouterr())
    assert printed[0].out == printed[1].out
    assert "The model has n_features_in_=5" in printed[1].err
    assert printed[0].err == ""


@pytest.fixture(scope="module")
def odd_files(folder):
    model = (folder / "model.json").read_text()
    texts = {
        "MALFORMED": "1 qid:1 1:2\n1 qid:1 1:two\n",
        "EMPTY": "# nothing\n",
        "CONSTANT": "".join(f"1 qid:{k // 4} 1:{k}\n" for k in range(20)),
        "CORRUPT": model.replace("RankSVM", "RankSVN", 1),
        "SHORT": model[: len(model) // 2],
        "SCORES": "1\n2\n",
        "BAD_SCORES": "1\ntwo\n",
        "SINGLE": "1 1:2\n2 1:1\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    options = ["--kernel", "rbf", "--n-components", "5", "-q"]
    assert main(["train", str(folder / "train.txt"), "-o", str(folder / "KERNEL"), *options]) == 0
    return {name: str(folder / name) for name in (*texts, "KERNEL")} | {
        "TRAIN": str(folder / "train.txt"),
        "MODEL": str(folder / "model.json"),
        "OUT": str(folder / "out"),
        "FOLDER": str(folder),
    }


@pytest.mark.parametrize("name", WRONG_USAGE)
def test_wrong_usage_has_exit_code_2(name, odd_files, capsys):
    said = fails(capsys, 2, *(odd_files.get(word, word) for word in WRONG_USAGE[name]))
    assert said.startswith(("usage: rankwise", "rankwise "))


def test_queries_with_one_label_are_counted_separately(folder, tmp_path, capsys):
    (tmp_path / "data.txt").write_text("1 qid:1 1:2\n1 qid:1 1:1\n0 qid:2 1:3\n1 qid:2 1:4\n1 qid:3 1:4\n")
    command = ["evaluate", str(folder / "model.json"), str(tmp_path / "data.txt")]
    assert main(command) == 0
    assert "Queries whose rows all have the same label: 2" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["equal_labels"] == 2


@pytest.mark.parametrize("program", [learn, classify])
def test_svmrank_commands_find_an_output_that_cannot_be_written_before_they_work(program, odd_files, capsys):
    files = [odd_files["MALFORMED"], odd_files["MODEL"]][: 1 + (program is classify)]
    assert program([*files, "nowhere/output"]) == 1
    assert "The folder" in capsys.readouterr().err  # not what is wrong with the data, which is not read


@pytest.mark.parametrize("name", FAILURES)
def test_failures_have_exit_code_1_and_a_sentence(name, odd_files, capsys):
    arguments, part = FAILURES[name]
    said = fails(capsys, 1, *(odd_files.get(word, word) for word in arguments))
    assert said.startswith("rankwise: ")
    assert part in said
    assert said.count("\n") == 1
    assert not Path(odd_files["OUT"]).exists()


def test_a_failed_run_leaves_the_old_model_whole(folder, odd_files, capsys, tmp_path):
    old = (folder / "model.json").read_bytes()
    (tmp_path / "model.json").write_bytes(old)
    fails(capsys, 1, "train", odd_files["CONSTANT"], "-o", tmp_path / "model.json")
    assert (tmp_path / "model.json").read_bytes() == old
    (tmp_path / "scores.txt").write_text("old")
    (tmp_path / "data.txt").write_text("1 1:1\n" * 70_000 + "1 1:x\n")
    fails(capsys, 1, "predict", tmp_path / "model.json", tmp_path / "data.txt", "-o", tmp_path / "scores.txt")
    assert (tmp_path / "scores.txt").read_text() == "old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_prediction_leaves_the_old_scores(number, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rankwise.cli.predict.lines_of", lambda scores: signal.raise_signal(number))
    (tmp_path / "scores.txt").write_text("old")
    predict = ["predict", folder / "model.json", folder / "test.txt", "-o", tmp_path / "scores.txt"]
    assert fails(capsys, 128 + number, *predict) == "rankwise: Interrupted.\n"
    assert (tmp_path / "scores.txt").read_text() == "old"


def test_quiet_commands_print_nothing_and_warnings_are_notes(folder, tmp_path, capsys):
    train = [
        "train",
        str(folder / "train.txt"),
        "-o",
        str(tmp_path / "m.json"),
        "--max-iter",
        "1",
        "--tol",
        "1e-9",
    ]
    assert main(train) == 0
    assert capsys.readouterr().err.startswith("rankwise: warning: Stopped by max_iter after ")
    assert run(capsys, *train)["converged"] is False
    for command in (
        train,
        ["predict", str(tmp_path / "m.json"), str(folder / "test.txt"), "-o", str(tmp_path / "s.txt")],
        ["evaluate", str(tmp_path / "s.txt"), str(folder / "test.txt")],
        ["tune", str(folder / "train.txt"), "--folds", "2", "--alphas", "1"],
        ["export", str(tmp_path / "m.json"), "-o", str(tmp_path / "m.sql"), "--format", "sql"],
    ):
        assert main([*command, "-q"]) == 0
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", "")


def test_a_hint_at_scales_names_the_option_in_the_shell(tmp_path, capsys):
    rows = "".join(f"{k % 3} qid:{k // 6} 1:{1e6 * (k % 5)} 2:{k % 7}\n" for k in range(60))
    (tmp_path / "train.txt").write_text(rows)
    train = ["train", str(tmp_path / "train.txt"), "-o", str(tmp_path / "m.json"), "--alpha", "1"]
    assert main(train) == 0
    said = capsys.readouterr().err
    assert "--scale standard, or --scale query-minmax" in said
    assert "make_pipeline" not in said
    assert main([*train, "--scale", "query-minmax"]) == 0
    assert "differ in scale" not in capsys.readouterr().err


def test_the_bar_shows_on_a_terminal_and_is_wiped_out(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rankwise.cli.output.SECONDS_BETWEEN_DRAWINGS", 0.0)
    train = ["train", str(folder / "train.txt"), "-o", str(tmp_path / "m.json"), "--tune", "--folds", "2"]
    assert main(train) == 0
    drawn = capsys.readouterr().err
    assert "candidate 1 of 8" in drawn
    assert "iteration 1, gap" in drawn
    assert f"[{'#' * 24}]" in drawn
    assert drawn.split("\r")[-1] == ""
    assert set(drawn.split("\r")[-2]) == {" "}
    assert main([*train, "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_a_bar_off_the_terminal_draws_nothing(capsys):
    with Progress(enabled=False) as progress:
        progress.show(0.5, "half")
    assert capsys.readouterr().err == ""


def test_every_help_has_an_example(capsys):
    for command in ("train", "predict", "evaluate", "tune", "export", "report", "rank", "wins", "demo"):
        with pytest.raises(SystemExit) as exit:
            build_parser().parse_args([command, "--help"])
        assert exit.value.code == 0
        assert f"examples:\n  rankwise {command} " in capsys.readouterr().out


def test_only_the_command_that_is_named_is_built(capsys):
    assert named(["train", "evaluate"]) == ["train"]
    for arguments in ([], ["--help"], ["--version", "train"]):
        assert named(arguments) == COMMANDS
    (parsers,) = [action for action in build_parser()._actions if isinstance(action.choices, dict)]
    assert list(parsers.choices) == list(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "usage", "message"),
    [
        (["trian"], "[-h] [--version]", "rankwise: error: 'trian' is no command; did you mean 'train'?"),
        (
            ["fit"],
            "[-h] [--version]",
            "rankwise: error: 'fit' is no command; the commands are train, predict,",
        ),
        (
            ["predict", "m.json", "rows.txt", "--at", "3"],
            "predict model data",
            "rankwise predict: error: '--at' is no option of rankwise predict\n",
        ),
        (
            ["train", "rows.txt", "-o", "m.json", "--lable=grade"],
            "train data",
            "rankwise train: error: '--lable' is no option of rankwise train; did you mean '--label'?",
        ),
        (["train", "rows.txt", "--outptu", "m.json"], "train data", "; did you mean '--output'?"),
        (["predict", "m.json", "rows.txt", "-k"], "predict model data", "error: unexpected argument '-k'\n"),
        (
            ["export", "m.json", "more.json", "-o", "m.sql", "--format", "sql"],
            "export model",
            "rankwise export: error: unexpected argument 'more.json'\n",
        ),
        (["train", "--help", "tree"], "train data", "error: --help takes auto, boosted, curve,"),
    ],
)
def test_a_wrong_word_is_refused_with_a_suggestion_and_the_usage_of_its_command(
    arguments, usage, message, capsys
):
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: rankwise {usage}")
    assert message in said


def help_of(capsys, *arguments):
    with pytest.raises(SystemExit) as exit:
        main([*arguments])
    assert exit.value.code == 0
    return capsys.readouterr().out


def options_in(text):
    return set(re.findall(r"^  (?:-\w.*, )?(--[\w-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("command", ["train", "tune", "leaderboard"])
def test_help_has_levels(command, capsys):
    short, full = help_of(capsys, command, "--help"), help_of(capsys, command, "--help", "all")
    assert short.index("examples:") < short.index("options:")
    assert 12 <= len(options_in(short)) <= 20
    assert options_in(short) < options_in(full)
    assert f"all options: rankwise {command} --help all" in short
    (parsers,) = [action for action in build_parser([command])._actions if isinstance(action.choices, dict)]
    names = {name for action in parsers.choices[command]._actions for name in action.option_strings}
    assert options_in(full) == {name for name in names if name.startswith("--")}


def test_every_option_of_a_method_is_in_its_help(capsys):
    for method, kind in methods().items():
        shown = options_in(help_of(capsys, "train", "--help", method))
        own = {f"--{name.replace('_', '-')}" for name, of in declared_options().items() if method in of}
        assert own <= shown
        assert ("--alpha" in shown) == hasattr(kind(), "alpha")
    assert options_in(help_of(capsys, "train", "--help", "auto")) >= {"--time", "--prefer"}
    assert "(default: 0.05)" in help_of(capsys, "train", "--help", "boosted")


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_left_as_it_was(collects, monkeypatch):
    built = []
    monkeypatch.setattr(cli_main, "build_parser", lambda names: built.append(gc.isenabled()) or 1 / 0)
    (gc.enable if collects else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError):
            main(["train"])
        assert (built, gc.isenabled()) == ([False], collects)
    finally:
        gc.enable()


def commands_of_the_page():
    text = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text()
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def test_the_commands_of_the_page_run(rows, tmp_path, monkeypatch, capsys):
    pandas = pytest.importorskip("pandas")
    X, y, qid = rows
    monkeypatch.chdir(tmp_path)
    for name in ("train.txt", "train.dat", "train.txt.gz", "more.txt", "test.txt", "test.dat"):
        dump_svmlight(X, y, name, qid=qid)
    columns = ["bm25", "age", "length", "links", "clicks"]
    for name in ("train.csv", "test.csv"):
        pandas.DataFrame(X, columns=columns).assign(grade=y, query=qid).to_csv(name, index=False)
    grapes = pandas.Series(["merlot", "syrah", None]).sample(len(y), replace=True, random_state=0)
    wines = pandas.DataFrame(
        {"rating": y, "grape": grapes.to_numpy(), "price": X[:, 0], "organic": X[:, 1] > 0}
    )
    wines["tasted"] = pandas.date_range("2024-01-01", periods=len(y)).where(X[:, 2] > -1)
    wines.assign(region="0" + pandas.Series(qid % 3).astype(str)).to_csv("wines.csv", index=False)
    Path("votes.csv").write_text("model_a,model_b,winner\nx,y,model_a\ny,z,tie\nz,x,model_b\n")
    Path("matches.csv").write_text("better,worse\nx,y\ny,z\nz,x\n")
    Path("games.csv").write_text("home,away,result\nx,y,win\ny,z,tie\nz,x,loss\n")
    for name in ("new.run", "old.run"):
        Path(name).write_text("1 Q0 a 1 2.0 run\n1 Q0 b 2 1.0 run\n2 Q0 a 1 1.0 run\n")
    Path("qrels.txt").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 b 0\n")
    programs = {"rankwise": main, "svm_rank_learn": learn, "svm_rank_classify": classify}
    lines = commands_of_the_page()
    assert len(lines) > 15
    for line in lines:
        program, *arguments = shlex.split(line)
        assert programs[program](arguments) == 0, (line, capsys.readouterr().err)


def test_labels_beyond_float_precision_are_never_tied_silently(tmp_path, capsys):
    labels = [2**53 + 1, 2**53, 2**53 + 2]
    table, text = tmp_path / "rows.csv", tmp_path / "rows.txt"
    table.write_text("grade,x,z\n" + "".join(f"{label},{k},1\n" for k, label in enumerate(labels)))
    text.write_text("".join(f"{label} 1:{k}\n" for k, label in enumerate(labels)))
    train = ["train", "--label", "grade", "-o", tmp_path / "model.json", table]
    said = fails(capsys, 1, *train)
    assert "column 'grade' has distinct integers above 2^53 that are equal as float64" in said
    assert main(["train", str(text), "-o", str(tmp_path / "model.json")]) == 0
    assert "warning: Labels such as 9007199254740992.0 are read as float64" in capsys.readouterr().err
    parts = [tmp_path / f"part-{k}.csv" for k in range(3)]
    for part, line in zip(parts, table.read_text().splitlines()[1:], strict=True):
        part.write_text(f"grade,x,z\n{line}\n")
    assert main(list(map(str, [*train[:-1], *parts]))) == 0
    assert "warning: Labels such as 9007199254740992.0 are read as float64" in capsys.readouterr().err
    assert main(["predict", str(tmp_path / "model.json"), str(table), "--label", "grade"]) == 0
