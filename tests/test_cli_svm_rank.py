"""The commands of SVMrank, called in this process, against what SVMrank is documented to compute."""

import re
import signal

import numpy as np
import pytest

import independent
import reference
from rankwise import RankSVM
from rankwise.cli.svm_rank import classify, learn
from rankwise.cli.svm_rank_options import Options
from rankwise.datasets import make_ranking
from rankwise.io.model_file import load_model
from rankwise.io.svmlight import dump_svmlight
from rankwise.io.svmrank import read_svmrank_model
from rankwise.metrics import ranking_error

# The example of SVMrank's manual in form: three queries, of which one has no pair.
SMALL = """# small
3 qid:1 1:1 2:1 3:0 4:0.2 5:0 # 1A
2 qid:1 1:0 2:0 3:1 4:0.1 5:1 # 1B
1 qid:1 1:0 2:1 3:0 4:0.4 5:0 # 1C
1 qid:1 1:0 2:0 3:1 4:0.3 5:0 # 1D
1 qid:2 1:0 2:0 3:1 4:0.2 5:0 # 2A
1 qid:2 1:1 2:0 3:1 4:0.4 5:0 # 2B
2 qid:3 1:0 2:0 3:1 4:0.1 5:1 # 3A
3 qid:3 1:1 2:1 3:0 4:0.3 5:0 # 3B
4 qid:3 1:1 2:0 3:0 4:0.4 5:1 # 3C
1 qid:3 1:0 2:1 3:1 4:0.5 5:0 # 3D
"""
X_SMALL = np.array([[float(w.split(":")[1]) for w in line.split()[2:7]] for line in SMALL.splitlines()[1:]])
Y_SMALL = [int(line[0]) for line in SMALL.splitlines()[1:]]
QID_SMALL = [1, 1, 1, 1, 2, 2, 3, 3, 3, 3]


def run(program, capsys, *arguments):
    """Run a command that must end well; give the lines it prints."""
    capsys.readouterr()
    assert program(list(map(str, arguments))) == 0, capsys.readouterr().err
    return capsys.readouterr().out.splitlines()


def number(lines, pattern):
    """Return the number that a line has at the only group of a pattern, as scripts would find it."""
    found = [match for line in lines if (match := re.fullmatch(pattern, line))]
    assert len(found) == 1, (pattern, lines)
    return float(found[0].group(1))


def swapped_pairs(y, scores, qid):
    """SVMrank's losses by its definition: swapped or tied pairs and all pairs, of each query."""
    counts = {query: [0, 0] for query in qid}
    for i in range(len(y)):
        for j in range(len(y)):
            if qid[i] == qid[j] and y[i] > y[j]:
                counts[qid[i]][0] += scores[i] <= scores[j]
                counts[qid[i]][1] += 1
    return np.array(list(counts.values()))


@pytest.fixture
def small(tmp_path):
    (tmp_path / "train.dat").write_text(SMALL)
    return tmp_path


@pytest.mark.parametrize("loss", [1, 2])
@pytest.mark.parametrize("c", [0.01, 3])
def test_c_means_what_it_means_to_svmrank(loss, c, small, capsys):
    options = ["-c", c, "-l", loss, "-e", "1e-7"]
    lines = run(learn, capsys, *options, small / "train.dat", small / "model.dat")
    w = read_svmrank_model(small / "model.dat").coef_

    # 1/2 ||w||^2 + c/n * sum over the n queries of the loss of the query's pairs (their number or share).
    pairs = reference.ranking_pairs(Y_SMALL, QID_SMALL)
    n_pairs = {query: sum(pair[4] == query for pair in pairs) for query in {pair[4] for pair in pairs}}
    weights = [c / 3 / (1 if loss == 1 else n_pairs[pair[4]]) for pair in pairs]
    slack = sum(
        weight / c * max(0, 1 - (X_SMALL[pair[0]] - X_SMALL[pair[1]]) @ w)
        for pair, weight in zip(pairs, weights, strict=True)
    )
    objective = w @ w / 2 + c * slack
    weighted = [(pair[0], pair[1], weight, *pair[3:]) for pair, weight in zip(pairs, weights, strict=True)]
    optimum = independent.solve(X_SMALL, weighted, alpha=0.5)

    assert objective <= optimum.objective + c * (1e-7 if loss == 2 else 1e-7 * len(pairs) / 3) * 1.01 + 1e-9
    np.testing.assert_allclose(w, optimum.coef, atol=1e-3)
    assert number(lines, r"Primal objective value: pval=(\S+)") == pytest.approx(objective, abs=1e-5)
    assert number(lines, r"Value of slack variable \(global\): xi=(\S+)") == pytest.approx(slack, abs=1e-5)
    assert number(lines, r"Norm of weight vector: \|w\|=(\S+)") == pytest.approx(np.linalg.norm(w), abs=1e-5)
    gap = number(lines, r"Upper bound on duality gap: (\S+)")
    assert number(lines, r"Dual objective value: dval=(\S+)") == pytest.approx(objective - gap, abs=2e-5)


def test_learning_prints_the_lines_that_scripts_parse(small, capsys):
    lines = run(learn, capsys, "-c", "3", small / "train.dat", small / "model.dat")
    assert lines[0] == "Reading training examples...done"
    assert lines[1] == "Training set properties: 5 features, 3 rankings, 10 examples"
    n_pairs = len(reference.ranking_pairs(Y_SMALL, QID_SMALL))
    eps = number(lines, r"NOTE: Adjusted stopping criterion relative to maximum loss: eps=(\S+)")
    assert eps == pytest.approx(0.001 * n_pairs / 3, abs=1e-6)
    iterations = [line for line in lines if line.startswith("Iter ")]
    pattern = r"Iter \d+: \*\(NumConst=\d+, SV=\d+, CEps=(\S+), QPEps=\S+\)"
    assert number(iterations[-1:], pattern) <= eps + 1e-4
    assert number(lines, r"Number of iterations: (\d+)") == len(iterations)
    assert number(lines, r"Final epsilon on KKT-Conditions: (\S+)") <= eps + 1e-5
    assert number(lines, r"Number of SV: (\d+) ") == 1
    assert number(lines, r"Runtime in cpu-seconds: (\d+\.\d\d)") >= 0
    assert lines[-2:] == ["Compacting linear model...done", "Writing learned model...done"]
    assert run(learn, capsys, "-v", "0", small / "train.dat", small / "m") == lines[1:3]


def test_model_files_have_the_form_of_svmrank(small, capsys):
    run(learn, capsys, "-c", "3", small / "train.dat", small / "model.dat")
    lines = (small / "model.dat").read_text().splitlines()
    assert lines[0] == "SVM-light Version V6.20"
    assert lines[1].split(" #")[0] == "0"
    assert lines[7].split(" #")[0] == "5"
    assert lines[8].split(" #")[0] == "10"
    assert lines[9].split(" #")[0] == "2"
    assert lines[11].startswith("1 1:")
    assert len(lines) == 12


@pytest.mark.parametrize("tied", [False, True])
def test_classification_equals_the_definition(tied, small, capsys):
    weights = "" if tied else "1:0.5 4:-1e-9 5:0.25 "
    header = (
        "SVM-light Version V6.20\n0 # kernel type\n"
        + "1 # k\n" * 4
        + "empty# u\n5 # f\n10 # d\n2 # sv\n0 # b\n"
    )
    (small / "model.dat").write_text(header.replace("1 # k", "3 # k", 1) + f"1 {weights}#\n")
    with open(small / "train.dat", "a") as file:
        file.write("1 qid:4 9:1\n0 qid:4 1:1\n")  # a feature that the model does not know
    lines = run(classify, capsys, small / "train.dat", small / "model.dat", small / "predictions")
    X = np.vstack([X_SMALL, np.zeros(5), [1, 0, 0, 0, 0]])
    scores = X @ ([0] * 5 if tied else [0.5, 0, 0, -1e-9, 0.25])
    predictions = (small / "predictions").read_text().splitlines()
    np.testing.assert_allclose([float(line) for line in predictions], scores, rtol=1e-15)
    assert all(re.fullmatch(r"-?\d+\.\d{8,}", line) for line in predictions)
    swapped, pairs = swapped_pairs([*Y_SMALL, 1, 0], scores, [*QID_SMALL, 4, 4]).T
    share = swapped / np.maximum(pairs, 1)
    assert lines[:2] == ["Reading model...done.", "Reading test examples...done."]
    assert number(lines, r"Average loss on test set: (\d\.\d{4})") == pytest.approx(share.mean(), abs=5e-5)
    wrong = np.count_nonzero(share)
    counts = f"({4 - wrong} correct, {wrong} incorrect, 4 total)"
    assert f"Zero/one-error on test set: {100 * wrong / 4:.2f}% {counts}" in lines
    assert number(lines, r"Total Num Swappedpairs  : +(\d+)") == swapped.sum()
    assert number(lines, r"Avg Swappedpairs Percent: +(\S+)") == pytest.approx(100 * share.mean(), abs=5e-3)
    assert number(lines, r"Runtime \(without IO\) in cpu-seconds: (\S+)") >= 0
    quiet = run(classify, capsys, "-v", "0", small / "train.dat", small / "model.dat", small / "predictions")
    assert quiet == lines[-2:]


def test_a_test_set_without_pairs_is_all_right(small, capsys):
    run(learn, capsys, small / "train.dat", small / "model.dat")
    (small / "test.dat").write_text("1 1:1\n1 1:2\n")
    lines = run(classify, capsys, small / "test.dat", small / "model.dat", small / "predictions")
    assert "Average loss on test set: 0.0000" in lines
    assert "Zero/one-error on test set: 0.00% (1 correct, 0 incorrect, 1 total)" in lines


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (
            ["-t", "1", "-d", "2", "-s", "0.5", "-r", "2"],
            {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 2},
        ),
        (["-t", "2", "-g", "0.3"], {"kernel": "rbf", "gamma": 0.3}),
    ],
)
def test_kernels_have_svmranks_parameters(options, parameters, tmp_path, capsys):
    X, y, qid = make_ranking(60, 3, n_queries=5, n_levels=3, noise=0.5, random_state=0)
    dump_svmlight(X, y, tmp_path / "train.dat", qid=qid)
    files = [tmp_path / "train.dat", tmp_path / "model.dat"]
    lines = run(learn, capsys, "-c", "2", "-l", "2", "-e", "1e-6", *options, *files)
    n_ranked = np.count_nonzero(swapped_pairs(y, np.zeros(60), qid.tolist())[:, 1])
    model = RankSVM(5 / (2 * 2 * n_ranked), tol=1e-6, **parameters).fit(X, y, qid=qid)
    assert number(lines, r"Number of SV: (\d+) ") == 60
    assert number(lines, r"Primal objective value: pval=(\S+)") == pytest.approx(
        model.objective_ * 2 * n_ranked / 5, abs=1e-4
    )
    np.testing.assert_allclose(load_model(tmp_path / "model.dat").predict(X), model.predict(X), atol=1e-3)
    lines = run(classify, capsys, *files, tmp_path / "predictions")
    error = ranking_error(y, np.loadtxt(tmp_path / "predictions"), qid, ties="error", per_query=True)
    assert number(lines, r"Average loss on test set: (\S+)") == pytest.approx(
        np.nan_to_num(error).mean(), abs=5e-5
    )


def test_epsilon_is_a_gap_of_its_own(tmp_path, capsys):
    """On small features zero is within epsilon, and SVMrank ends there, unlike `tol`."""
    X, y, qid = make_ranking(60, 3, n_queries=5, n_levels=3, noise=0.5, random_state=0)
    dump_svmlight(X * 1e-3, y, tmp_path / "train.dat", qid=qid)
    files = [tmp_path / "train.dat", tmp_path / "model.dat"]
    lines = run(learn, capsys, "-c", "1000", "-l", "2", "-e", "0.01", *files)
    assert number(lines, r"Number of iterations: (\d+)") == 1
    assert 0 < number(lines, r"Final epsilon on KKT-Conditions: (\S+)") <= 0.01


@pytest.mark.parametrize("letter", "kfbnmhuay#")
def test_options_of_svmrank_that_are_not_there_are_refused_by_name(letter, capsys):
    assert learn([f"-{letter}", "1", "train.dat", "model.dat"]) == 2
    said = capsys.readouterr()
    assert f"the option -{letter} of SVMrank is not available" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-p", "2", "a", "b"], "-p must be 1"),
        (["-o", "1", "a", "b"], "-o must be 2"),
        (["-w", "4", "a", "b"], "-w must be 3"),
        (["-t", "4", "a", "b"], "-t must be"),
        (["-l", "0", "a", "b"], "-l must be 1 or 2"),
        (["-c", "-1", "a", "b"], "-c must be a positive number; got '-1'"),
        (["-c"], "-c needs a value"),
        (["-q", "1", "a", "b"], "-q is unknown"),
        (["--b", "1", "a", "b"], "--b is unknown"),
        (["a", "b", "c"], "got 3"),
        ([], "got 0"),
    ],
)
def test_wrong_usage_has_exit_code_2(arguments, word, capsys):
    assert learn(arguments) == 2
    assert word in capsys.readouterr().err


def test_defaults_of_svmrank_are_accepted(small, capsys):
    defaults = [
        "-p",
        "1",
        "-o",
        "2",
        "-w",
        "3",
        "-t",
        "0",
        "-d",
        "3",
        "-g",
        "1",
        "-s",
        "1",
        "-r",
        "1",
        "-v",
        "0",
    ]
    run(learn, capsys, *defaults, small / "train.dat", small / "a.dat")
    run(learn, capsys, small / "train.dat", small / "b.dat")
    assert (small / "a.dat").read_text() == (small / "b.dat").read_text()


def test_an_interrupted_training_writes_no_model(small, capsys, monkeypatch):
    say = Options.say

    def say_and_interrupt(self, verbosity, text, end="\n"):
        say(self, verbosity, text, end)
        if text.startswith("Iter 2:"):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Options, "say", say_and_interrupt)
    assert learn(["-e", "1e-9", str(small / "train.dat"), str(small / "model.dat")]) == 130
    assert "no model was written" in capsys.readouterr().err
    assert not (small / "model.dat").exists()


def test_help_and_failures(small, capsys, monkeypatch):
    monkeypatch.chdir(small)
    assert run(learn, capsys, "-?")[0] == "usage: svm_rank_learn [options] train.dat model.dat"
    assert run(classify, capsys, "-h")[0].startswith("usage: svm_rank_classify")
    (small / "bad.dat").write_text("1 qid:1 1:x\n")
    (small / "empty.dat").write_text("")
    (small / "equal.dat").write_text("1 qid:1 1:1\n1 qid:1 1:2\n")
    for name, word in (
        ("bad", "line 1"),
        ("empty", "no examples"),
        ("equal", "nothing to rank"),
        ("none", "none"),
    ):
        assert learn(["-v", "0", f"{name}.dat", "model.dat"]) == 1
        assert word in capsys.readouterr().err
    assert not (small / "model.dat").exists()
    assert learn(["-t", "3", "-v", "0", "train.dat"]) == 1
    assert "semidefinite" in capsys.readouterr().err
    assert learn(["-v", "0", "train.dat"]) == 0
    assert classify(["-v", "0", "train.dat", "svm_struct_model"]) == 0
    assert len((small / "svm_predictions").read_text().splitlines()) == 10
    assert classify(["train.dat", "bad.dat", "p"]) == 1


def test_a_dash_stands_for_standard_output(small, capsys, monkeypatch):
    monkeypatch.chdir(small)
    run(learn, capsys, "train.dat", "model.dat")
    told = run(classify, capsys, "train.dat", "model.dat", "predictions")
    assert classify(["train.dat", "model.dat", "-"]) == 0
    printed = capsys.readouterr()
    assert printed.out == (small / "predictions").read_text()
    assert printed.err.splitlines()[-4:] == told[-4:]
    assert not (small / "-").exists()
