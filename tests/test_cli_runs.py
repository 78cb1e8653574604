"""`rankwise evaluate --run`: the measures of `evaluate_run`, and options that do not go together."""

import gzip
import json

import pytest

from rankwise.cli.main import main
from rankwise.evaluation import compare_runs
from rankwise.io.trec import read_qrels, read_run

QRELS = "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 d 1\n3 0 e 1\n"
NEW = "1 Q0 a 1 3 new\n1 Q0 b 2 2 new\n1 Q0 c 3 1 new\n2 Q0 a 1 1 new\n3 Q0 e 1 1 new\n"
OLD = "1 Q0 b 1 3 old\n1 Q0 a 2 2 old\n2 Q0 z 2 2 old\n2 Q0 d 1 1 old\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "new.run.gz").write_bytes(gzip.compress(NEW.encode()))
    (tmp_path / "old.run").write_text(OLD)
    return tmp_path


def test_runs_are_compared_as_in_python(folder, capsys):
    names = ["nDCG@10", "P(rel=2)@5", "Bpref"]
    files = ["--run", "new.run.gz", "old.run", "--qrels", "qrels.txt"]
    assert main(["evaluate", *files, "--metric", ", ".join(names), "--per-query", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    runs = {name: read_run(name) for name in ("new.run.gz", "old.run")}
    expected = compare_runs(read_qrels("qrels.txt"), runs, measures=names)
    for run in values["models"]:
        for one in expected.measures[run["model"]]:
            found = run["measures"][one.measure.key]
            assert (found["mean"], found["low"], found["high"]) == (one.mean, one.low, one.high)
    assert [one["p"] for one in values["differences"]] == [one.p for one in expected.differences]
    assert values["per_query"][2]["nDCG@10"] == [1.0, 0.0]
    assert values["notes"] == ["old.run: 1 judged query not retrieved, counted as 0."]


def test_the_gain_and_the_rules_are_printed(folder, capsys):
    assert main(["evaluate", "--run", "old.run", "--qrels", "qrels.txt"]) == 0
    out = capsys.readouterr().out
    assert "nDCG@10, linear gain  0.2888  0.0246" in out
    assert "missing ones count 0; equal scores in order of document ids, descending" in out


def test_a_single_query_has_no_interval(folder, capsys):
    (folder / "one.txt").write_text("1 0 a 2\n")
    assert main(["evaluate", "--qrels", "one.txt", "--run", "old.run", "--metric", "RR", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["models"][0]["measures"]["RR"] == {"mean": 0.5, "low": None, "high": None, "defined": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "old.run"], "--run needs --qrels, the file of the judgments"),
        (["m.json", "d.txt", "--qrels", "qrels.txt"], "--qrels needs --run"),
        (["m.json", "--run", "old.run", "--qrels", "qrels.txt"], "--run cannot be used with a model"),
        (
            ["--run", "old.run", "--qrels", "qrels.txt", "--gain", "linear"],
            "--run cannot be used with --gain",
        ),
        (["--run", "-", "--qrels", "-"], "can be read only once"),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder, capsys, arguments, message):
    assert main(["evaluate", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_malformed_line_is_named(folder, capsys):
    (folder / "bad.run").write_text(OLD + "2 Q0 x 3 low old\n")
    assert main(["evaluate", "--run", "bad.run", "--qrels", "qrels.txt"]) == 1
    assert "bad.run, line 5: the score must be a finite number; got 'low'" in capsys.readouterr().err


def test_model_and_data_are_still_required(capsys):
    with pytest.raises(SystemExit):
        main(["evaluate", "--per-query"])
    assert "the following arguments are required: model, data" in capsys.readouterr().err


def test_scores_of_rows_are_measured_by_the_names_of_ir_measures(folder, capsys):
    (folder / "rows.txt").write_text("2 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:1\n0 qid:2 1:0\n")
    (folder / "scores.txt").write_text("0.5\n0.9\n0.1\n0.0\n")
    command = ["evaluate", "scores.txt", "rows.txt", "--metric", "nDCG@10,P(rel=2)@1", "--json"]
    assert main(command) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["models"][0]["measures"]["P(rel=2)@1"]["mean"] == 0.0
    assert values["models"][0]["measures"]["nDCG@10"]["mean"] == pytest.approx((0.6309297535714575 + 1) / 2)
    assert main([*command[:3], "--metric", "nDGC@10"]) == 1
    assert "--metric must be among error, ndcg" in capsys.readouterr().err
