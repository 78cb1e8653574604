"""A measure that is registered by one entry is known to evaluations, runs, searches, the shell and Dask."""

import io
import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from rankwise import RankSVM, RankSVMCV
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.evaluation import compare, compare_runs, evaluate
from rankwise.evaluation.ranked_rows import share
from rankwise.evaluation.registry import KINDS, Kind
from rankwise.io.model_file import save_model
from rankwise.io.trec import read_qrels, read_run
from rankwise.report import Report

K = 4


def recall_of_lists(labels, ranked, *, k, relevant_above=0.0):
    """Recall at a cutoff; tied rows have the expected value over their random orders."""
    hits = ranked.run_total(labels > relevant_above)
    within = np.clip(k - ranked.run_above, 0, ranked.run_size) / ranked.run_size
    found, relevant = (np.bincount(ranked.run_query, weights=part) for part in (within * hits, hits))
    return share(found, relevant)


RECALL = Kind(
    "recall",
    "Recall",
    recall_of_lists,
    options=("relevant_above",),
    cutoff="must",
    names={"R": {}},
    shown="summary",
    needs=("relevant",),
)


def textbook(y, scores, qid):
    """The fraction of the relevant rows of each query that are among the first k."""
    return np.array([
        np.mean(np.isin(np.flatnonzero(y[qid == q] > 0), np.argsort(-scores[qid == q])[:K]))
        for q in np.unique(qid)
    ])  # fmt: skip


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setitem(KINDS, RECALL.key, RECALL)
    X, y, qid = make_ranking(240, 3, n_queries=16, n_levels=3, noise=0.5, random_state=0)
    model = RankSVM().fit(X[:120], y[:120], qid=qid[:120])
    return model, X[120:], y[120:], qid[120:]


def test_evaluations_comparisons_and_reports_have_it(rows):
    model, X, y, qid = rows
    expected = textbook(y, model.predict(X), qid)
    found = evaluate(model, X, y, qid=qid, measures=["recall@4"])["recall@4"]
    np.testing.assert_allclose(found.values, expected)
    assert found.measure.name == "Recall@4"
    assert 0 <= found.low < found.mean < found.high <= 1
    assert "recall@5" in [one.measure.key for one in evaluate(model, X, y, qid=qid).measures]
    assert evaluate(model, X, y, measures="recall@4")["recall@4"].units == "resamples"
    (one,) = compare(y, {"a": model.predict(X), "b": X[:, 0]}, qid, measures="recall@4").differences
    assert one.mean == pytest.approx(np.mean(expected - textbook(y, X[:, 0], qid)))
    report = Report(model, X, y, qid, at=[4])
    np.testing.assert_allclose(report.measures["RankSVM"][-1].values, expected)
    assert "Recall@4" in report.to_html()


@pytest.mark.filterwarnings("ignore:The best alpha")
def test_a_search_chooses_by_it(rows):
    _, X, y, qid = rows
    X = X * [1.0, 5.0, 0.1] + np.random.default_rng(0).normal(size=X.shape)
    search = RankSVMCV([100.0, 1e-4], cv=[(np.arange(60), np.arange(60, len(y)))], scoring="recall@4")
    search.fit(X, y, qid=qid)
    fits = [RankSVM(alpha).fit(X[:60], y[:60], qid=qid[:60]) for alpha in search.alphas_]
    expected = [1 - textbook(y[60:], fit.predict(X[60:]), qid[60:]).mean() for fit in fits]
    np.testing.assert_allclose(search.cv_errors_.ravel(), expected, atol=1e-3)


def test_run_files_have_it_by_its_name_in_ir_measures(rows):
    qrels = read_qrels(io.BytesIO(b"1 0 a 1\n1 0 b 2\n1 0 c 0\n2 0 a 1\n"))
    runs = {
        "one": read_run(io.BytesIO(b"1 Q0 c 1 3 x\n1 Q0 b 2 2 x\n1 Q0 z 3 1 x\n2 Q0 a 1 1 x\n")),
        "two": read_run(io.BytesIO(b"1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n")),
    }
    found = compare_runs(qrels, runs, measures=["R@2", "R(rel=2)@2"]).measures
    assert [one.values.tolist() for one in found["one"]] == [[0.5, 1.0], [1.0, 0.0]]
    assert [one.values.tolist() for one in found["two"]] == [[1.0, 0.0], [1.0, 0.0]]


def test_the_shell_shows_it(rows, tmp_path, capsys):
    model, X, y, qid = rows
    save_model(model, tmp_path / "model.json")
    dump_svmlight_file(X, y, str(tmp_path / "test.txt"), zero_based=False, query_id=qid)
    files = [str(tmp_path / name) for name in ("model.json", "test.txt")]
    assert main(["evaluate", *files, "--at", "4", "--json"]) == 0
    measures = json.loads(capsys.readouterr().out)["models"][0]["measures"]
    assert measures["recall@4"]["mean"] == pytest.approx(textbook(y, model.predict(X), qid).mean())
    assert main(["evaluate", *files, "--at", "4"]) == 0
    assert "\nRecall@4 " in capsys.readouterr().out


def test_rows_on_dask_have_it(rows):
    da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")
    model, X, y, qid = rows
    there = (da.from_array(column, chunks=(50, *column.shape[1:])) for column in (X, y, qid))
    columns = dict(zip(("X", "y", "qid"), there, strict=True))
    found = evaluate(model, **columns)
    np.testing.assert_array_equal(found["recall@5"].values, evaluate(model, X, y, qid=qid)["recall@5"].values)


# The measures by default


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0.0, 1.0, 1.0, 0.0], ["error", "ndcg@5", "ndcg@10", "map", "tau"]),
        ([0.0, 3.0, 1.0, 2.0], ["error", "ndcg@5", "ndcg@10", "map", "tau"]),
        ([-1.0, 1.0, 1.0, -1.0], ["error", "map", "tau"]),
        ([215_000.0, 99_500.0, 0.0, 310_250.0], ["error", "tau"]),
        ([0.5, -0.5, 0.25, 2.0], ["error", "tau"]),
    ],
    ids=["binary", "grades", "signs", "prices", "differences"],
)
@pytest.mark.parametrize("where", ["memory", "dask"])
def test_the_measures_by_default_suit_the_labels(labels, expected, where):
    y, qid, scores = (
        np.array(labels * 4),
        np.repeat(np.arange(8), 2),
        np.random.default_rng(0).normal(size=16),
    )
    columns = [y, scores, qid]
    if where == "dask":
        da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")
        columns = [da.from_array(column, chunks=6) for column in columns]
    found = compare(columns[0], {"a": columns[1], "b": scores}, columns[2])
    assert [one.measure.key for one in found.measures["a"]] == expected
    above = compare(y, {"a": scores, "b": -scores}, qid, relevant_above=0.3).measures["a"]
    assert "map" in [one.measure.key for one in above]  # a threshold was given


def test_a_report_on_prices_states_why_measures_are_left_out(tmp_path, capsys):
    y, scores = [215_000, 99_500, 310_250, 120_000] * 3, range(12)
    lines = (f"{label} qid:{row // 4} 1:{row}\n" for row, label in enumerate(y))
    (tmp_path / "prices.txt").write_text("".join(lines))
    (tmp_path / "scores.txt").write_text("".join(f"{score}\n" for score in scores))
    page = tmp_path / "page.html"
    command = [
        "report",
        str(tmp_path / "scores.txt"),
        str(tmp_path / "prices.txt"),
        "-o",
        str(page),
        "--json",
    ]
    assert main(command) == 0
    assert list(json.loads(capsys.readouterr().out)["measures"]) == ["error", "tau"]
    assert "MAP is left out" in page.read_text(encoding="utf-8")


def test_the_shell_shows_no_gains_of_prices(tmp_path, capsys):
    y, scores = [215_000, 99_500, 310_250, 120_000], [3, 1, 2, 0]
    (tmp_path / "prices.txt").write_text("".join(f"{label} 1:0\n" for label in y))
    (tmp_path / "scores.txt").write_text("".join(f"{score}\n" for score in scores))
    assert main(["evaluate", str(tmp_path / "scores.txt"), str(tmp_path / "prices.txt")]) == 0
    out = capsys.readouterr().out
    assert "gain" not in out
    assert [line.split("  ")[0] for line in out.splitlines()[1:4]] == [
        "measure",
        "Ranking error",
        "Kendall's tau",
    ]
    assert "MAP, MRR and Precision are left out: labels that are neither grades nor binary" in out
