"""Measures of runs: equal to ir-measures, which calls trec_eval's code, for ties and partial judgements."""

import io
import shutil
import sys

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import Preferences, metrics
from rankwise.evaluation import compare_runs, compare_values, evaluate, evaluate_run
from rankwise.io.trec import Qrels, Run, read_qrels, read_run
from rankwise.model_selection.scoring import as_scoring

OWN = [
    "nDCG",
    "nDCG@1",
    "nDCG@3",
    "nDCG@10",
    "AP",
    "AP(rel=2)",
    "RR",
    "RR(rel=2)",
    "P@1",
    "P(rel=2)@5",
    "P@10",
]
DOCUMENTS = ["a", "B", "b", "Z9", "doc-10", "doc-9", "é", "x", "y"]


def as_run(nested):
    lines = [(query, one, score) for query, found in nested.items() for one, score in found.items()]
    queries, documents, scores = zip(*lines, strict=True)
    return Run(np.array(queries, object), np.array(documents, object), np.array(scores, float), "test")


def as_qrels(nested):
    run = as_run(nested)
    return Qrels(run.qid, run.docid, run.score.astype(int))


def documents_with(values):
    return st.dictionaries(st.sampled_from(DOCUMENTS), values, min_size=1, max_size=9)


# Few levels, so that there are ties; two of them are equal in single precision alone.
SCORES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.0 + 1e-12, 1.0 + 1e-6, 3e38, 1e39])


@st.composite
def judged_runs(draw):
    qrels = draw(
        st.dictionaries(
            st.sampled_from(["1", "2", "q3"]), documents_with(st.integers(0, 3)), min_size=1, max_size=3
        )
    )
    run = draw(
        st.dictionaries(
            st.sampled_from(["1", "2", "q3", "4"]), documents_with(SCORES), min_size=1, max_size=4
        )
    )
    # One query is in both.
    run.setdefault(next(iter(qrels)), draw(documents_with(SCORES)))
    return qrels, run


def assert_as_in_ir_measures(names, qrels, run):
    measures = [ir_measures.parse_measure(name) for name in names]
    expected = {
        (str(one.measure), one.query_id): one.value for one in ir_measures.iter_calc(measures, qrels, run)
    }
    found = evaluate_run(as_qrels(qrels), as_run(run), measures=names)
    for measure, one in zip(measures, found.measures, strict=True):
        values = [expected[str(measure), query] for query in qrels]
        np.testing.assert_allclose(one.values, values, rtol=0, atol=1e-9, err_msg=str(measure))


@settings(max_examples=200, deadline=None)
@given(judged_runs())
def test_the_measures_of_this_library_equal_those_of_ir_measures(drawn):
    assert_as_in_ir_measures(OWN, *drawn)


@settings(max_examples=30, deadline=None)
@given(judged_runs())
def test_all_other_measures_are_those_of_ir_measures(drawn):
    # RR@2 is that of MS MARCO, which has another rule for equal scores.
    names = ["R@3", "Bpref", "Rprec", "Success@2", "AP@2", "P(judged_only=True)@2"]
    assert_as_in_ir_measures(names, *drawn)


def test_negative_grades_are_not_judgements():
    run, names = as_run({"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}), [*OWN, "Bpref", "Judged@3"]
    with_negative = as_qrels({"q1": {"a": -1, "b": 2, "c": 1}, "q2": {"a": -1}})
    without = as_qrels({"q1": {"b": 2, "c": 1}})
    found, expected = (evaluate_run(one, run, measures=names) for one in (with_negative, without))
    for name in names:
        assert found[name].values.tolist() == [*expected[name].values.tolist(), 0.0]


# ir-measures computes some measures by gdeval, a Perl program.
needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="there is no perl")

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 1}, "q3": {"e": 1, "f": 0}}
NEW = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0, "z": 0.5}, "q3": {"e": 1.0, "f": 0.0}}
OLD = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"z": 2.0, "d": 1.0}, "q9": {"e": 1.0}}


@needs_perl
def test_a_measure_of_topic_numbers_takes_queries_of_any_name():
    (found,) = evaluate_run(as_qrels(QRELS), as_run(NEW), measures="ERR@20").measures
    numbered = [{str(k): one for k, one in enumerate(nested.values())} for nested in (QRELS, NEW)]
    expected = {one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.ERR @ 20], *numbered)}
    np.testing.assert_allclose(found.values, [expected[query] for query in "012"], atol=1e-9)


def test_equal_scores_are_ordered_by_document_descending():
    run = {"q1": {"a": 1.0, "b": 1.0}}
    found = evaluate_run(as_qrels({"q1": {"a": 1, "b": 0}}), as_run(run), measures="RR")
    assert found["RR"].values.tolist() == [0.5]


def test_the_rank_of_a_line_does_not_count():
    run = read_run(io.BytesIO(b"q1 Q0 b 1 1.5 x\nq1 Q0 a 2 2.5 x\n"))
    assert evaluate_run(as_qrels({"q1": {"a": 1}}), run, measures="RR")["RR"].mean == 1.0


def test_missing_queries_count_0_and_unjudged_ones_are_left_out():
    found = evaluate_run(as_qrels(QRELS), as_run(OLD), measures="RR")
    assert found["RR"].values.tolist() == [0.5, 0.5, 0.0]
    assert found.notes == [
        "run: 1 judged query not retrieved, counted as 0.",
        "run: 1 query without judgements left out.",
    ]


def test_runs_are_compared_over_queries():
    found = compare_runs(as_qrels(QRELS), {"new": as_run(NEW), "old": as_run(OLD)}, measures=["AP", "Bpref"])
    values = {name: of[0].values for name, of in found.measures.items()}
    (expected,) = compare_values(values, measure="AP").differences
    first = found.differences[0]
    assert (first.mean, first.p) == (expected.mean, expected.p)
    # The differences of a measure between 0 and 1 are between -1 and 1.
    assert (first.low, first.high) == (max(expected.low, -1.0), min(expected.high, 1.0))
    assert [one.measure.key for one in found.differences] == ["AP", "Bpref"]


def test_a_single_query_has_values_without_intervals():
    found = evaluate_run(as_qrels({"q1": {"a": 1}}), as_run({"q1": {"a": 1.0}}), measures="nDCG@10")
    assert found["nDCG@10"].mean == 1.0
    assert np.isnan([found["nDCG@10"].low, found["nDCG@10"].high]).all()


def test_differences_that_are_all_equal_have_no_interval():
    runs = {name: as_run({"q1": {"a": 1.0}, "q2": {"a": 1.0}}) for name in ("new", "old")}
    found = compare_runs(as_qrels({"q1": {"a": 1}, "q2": {"a": 1}}), runs, measures=["NumQ"])
    assert str(found).split("\n")[3].split()[:5] == ["NumQ", "old", "2.0000", "+0.0000", "nan"]


@needs_perl
def test_the_gain_is_printed():
    found = evaluate_run(as_qrels(QRELS), as_run(NEW), measures=["nDCG", "nDCG(dcg='exp-log2')@5", "AP"])
    names = [one.measure.name for one in found.measures]
    assert names == ["nDCG, linear gain", "nDCG(dcg='exp-log2')@5, exponential gain", "AP"]


def test_a_run_of_other_queries_is_refused():
    with pytest.raises(
        ValueError, match="none of the queries of the qrels: it has '7', and the qrels have 'q1'"
    ):
        evaluate_run(as_qrels(QRELS), as_run({"7": {"a": 1.0}}))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NDCG@10", "'NDCG@10' is ambiguous: write 'nDCG@10' for the linear gain .* 'ndcg@10' for the exp"),
        ("nothing", "'nothing' is not the name of a measure of ir-measures"),
        ("P@5@6", "'P@5@6' is not the name of a measure"),
        ("P", "ir-measures cannot compute P"),
    ],
)
def test_wrong_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        evaluate_run(as_qrels(QRELS), as_run(NEW), measures=[name])


def test_without_ir_measures_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert evaluate_run(as_qrels(QRELS), as_run(NEW), measures=OWN)["AP"].mean > 0
    with pytest.raises(ImportError, match=r"'Bpref' needs the package ir-measures.*rankwise\[search\]"):
        evaluate_run(as_qrels(QRELS), as_run(NEW), measures=["AP", "Bpref"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare_runs(as_qrels(QRELS), {}), "runs must be a dict"),
        (lambda: evaluate_run(as_qrels(QRELS), as_run(NEW), confidence=2), "confidence must be between"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_files_and_arrays_give_the_same():
    text = b"q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq2 0 d 1\nq3 0 e 1\nq3 0 f 0\n"
    assert repr(evaluate_run(read_qrels(io.BytesIO(text)), as_run(NEW))) == repr(
        evaluate_run(as_qrels(QRELS), as_run(NEW))
    )


def test_the_names_of_this_library_are_measures_of_runs():
    names = ["ndcg@2", "map", "mrr", "p@2"]
    found = evaluate_run(as_qrels(QRELS), as_run(NEW), measures=names)
    assert found.measures[0].measure.name == "ndcg@2, exponential gain"
    gains = {query: {one: 2**grade - 1 for one, grade in of.items()} for query, of in QRELS.items()}
    same = evaluate_run(as_qrels(gains), as_run(NEW), measures=["nDCG@2", "AP", "RR", "P@2"])
    for one, other in zip(found.measures, same.measures, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "function", "options"),
    [
        ("nDCG@2", metrics.ndcg, {"k": 2, "gain": "linear"}),
        ("AP(rel=2)", metrics.average_precision, {"relevant_above": 1.0}),
        ("RR", metrics.reciprocal_rank, {}),
        ("P(rel=2)@3", metrics.precision, {"k": 3, "relevant_above": 1.0}),
    ],
)
def test_models_are_measured_by_these_names(name, function, options):
    y, qid = np.array([2, 0, 1, 3, 2, 0]), np.array([0, 0, 0, 1, 1, 1])
    scores = np.array([0.1, 0.5, 0.3, 0.3, 0.6, 0.2])
    found = evaluate(scores, np.zeros((6, 1)), y, qid=qid, measures=[name])
    assert found[name].mean == function(y, scores, qid, **options)
    assert as_scoring(name).error(Preferences.from_scores(y, qid=qid), scores) == 1 - found[name].mean


@pytest.mark.parametrize("name", ["NumRet", "NumRelRet", "NumRel", "NumQ"])
def test_counts_are_summed_as_by_ir_measures(name):
    qrels = {"1": {"a": 1, "b": 0}, "2": {"b": 1, "c": 2}}
    new, old = {"1": {"a": 9.0}, "2": {"b": 8.0, "c": 7.0}}, {"1": {"a": 9.0}, "2": {"b": 8.0}}
    found = compare_runs(as_qrels(qrels), {"new": as_run(new), "old": as_run(old)}, measures=name)
    measure = ir_measures.parse_measure(name)
    for run, nested in (("new", new), ("old", old)):
        assert found.measures[run][0].mean == ir_measures.calc_aggregate([measure], qrels, nested)[measure]
    totals = [found.measures[run][0].mean for run in ("new", "old")]
    assert found.differences[0].mean == totals[0] - totals[1]


def test_what_ir_measures_cannot_compute_is_refused():
    qrels, run = {"1": {"a": 1, "b": 1}}, {"1": {"a": 9.0, "b": 8.0}}
    with pytest.raises(ValueError, match=r"ir-measures cannot compute Accuracy@5: .*division by zero"):
        evaluate_run(as_qrels(qrels), as_run(run), measures="Accuracy@5")
