"""The hint at queries without pairs, and folds in which labels are constant."""

import logging

import numpy as np
import pytest

from rankwise import CurveRanker, RankLogisticCV, RankRLS, RankSVM, RankSVMCV
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.io.svmlight import dump_svmlight
from rankwise.preferences import NoPairsError

HINT = "13 of 20 queries have no pairs"


@pytest.fixture(scope="module")
def mostly_constant():
    X, y, qid = make_ranking(400, 3, n_queries=20, n_levels=3, noise=0.5, random_state=0)
    return X, np.where(qid < 13, 0, y), qid


@pytest.mark.parametrize(
    "model", [RankSVM(), RankRLS(), CurveRanker(), RankSVMCV(cv=3), RankLogisticCV(cv=3)], ids=repr
)
@pytest.mark.filterwarnings("ignore:The best alpha")
def test_most_queries_without_pairs_are_counted_once_per_fit(model, mostly_constant, caplog):
    X, y, qid = mostly_constant
    with caplog.at_level(logging.WARNING, "rankwise"):
        model.fit(X, y, qid=qid)
    assert [HINT in record.getMessage() for record in caplog.records] == [True]


def test_few_queries_without_pairs_and_one_ranking_give_no_hint(mostly_constant, caplog):
    X, y, qid = mostly_constant
    with caplog.at_level(logging.WARNING, "rankwise"):
        RankSVM().fit(X[qid > 5], y[qid > 5], qid=qid[qid > 5])  # 7 of 14
        RankSVM().fit(X, y)
    assert not caplog.records


@pytest.mark.parametrize("options", [[], ["--method", "rank-rls"], ["--tune", "--folds", "3"]])
def test_the_shell_counts_queries_without_pairs_once(options, mostly_constant, tmp_path, capsys):
    X, y, qid = mostly_constant
    dump_svmlight(X, y, tmp_path / "rows.txt", qid=qid)
    assert main(["train", str(tmp_path / "rows.txt"), "-o", str(tmp_path / "m.json"), *options]) == 0
    assert capsys.readouterr().err.count(HINT) == 1


def test_folds_with_constant_labels_are_left_out(mostly_constant):
    X, y, qid = mostly_constant
    half = np.arange(len(y)) < 200
    constant = [(half, qid < 3), (~half, qid >= 13), (qid < 17, qid >= 17)]
    model = RankSVMCV([1e-3, 1e-2, 1e-1], cv=constant)
    model.fit(X, y, qid=qid)
    assert model.cv_errors_.shape == (3, 2)
    with pytest.raises(NoPairsError, match="No fold has pairs both in its training and in its test rows"):
        RankSVMCV(cv=constant[:1]).fit(X, y, qid=qid)
