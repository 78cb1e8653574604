"""The evaluation of a single model, and the agreement of grades."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix, mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import HullRanker, OrdinalSVM, Preferences, RankSVM, metrics
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.evaluation import bootstrap, compare, evaluate, grade_agreement
from rankwise.evaluation.intervals import Estimate

LEVELS = np.arange(4)


@pytest.fixture(scope="module")
def grades():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=60)
    return y, np.clip(y + rng.integers(-1, 2, size=60), 0, 3)


@pytest.fixture(scope="module")
def rows():
    return make_ranking(300, 3, n_queries=20, n_levels=3, noise=0.8, random_state=1)


def kappa_by_definition(y, predicted, weight):
    """Quadratic kappa of weighted rows, from the tables of observed and expected fractions."""
    observed = np.zeros((4, 4))
    np.add.at(observed, (y, predicted), weight / weight.sum())
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    distance = (LEVELS[:, None] - LEVELS) ** 2
    return 1 - (distance * observed).sum() / (distance * expected).sum()


def influence_by_definition(measure, n_rows, unit):
    """The infinitesimal jackknife, by finite differences of the weights of units."""
    step, n_units = 1e-6, unit.max() + 1
    return np.array(
        [
            (measure(1 + step * (unit == k)) - measure(1 - step * (unit == k))) / (2 * step)
            for k in range(n_units)
        ]
    )


def test_grades_agree_as_scikit_learn_computes(grades):
    y, predicted = grades
    found = grade_agreement(y, predicted)
    assert found.accuracy == pytest.approx(np.mean(y == predicted))
    assert found.absolute_error == pytest.approx(mean_absolute_error(y, predicted))
    assert found.quadratic_kappa == pytest.approx(cohen_kappa_score(y, predicted, weights="quadratic"))
    np.testing.assert_array_equal(found.confusion, confusion_matrix(y, predicted))
    words = np.array(["d", "c", "b", "a"])
    named = grade_agreement(words[y], words[predicted], categories=list(words))
    assert named.quadratic_kappa == pytest.approx(found.quadratic_kappa)
    assert named.classes == list(words)
    declared = pd.Series(pd.Categorical(words[y], categories=words, ordered=True))
    assert grade_agreement(declared, words[predicted]).confusion.tolist() == found.confusion.tolist()


@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_of_grades_are_those_of_the_infinitesimal_jackknife(grades, clustered):
    y, predicted = grades
    unit = np.arange(60) // 3 if clustered else np.arange(60)
    found = grade_agreement(y, predicted, cluster=unit if clustered else None, confidence=0.9)
    by_weight = {
        "accuracy": lambda weight: np.average(y == predicted, weights=weight),
        "absolute_error": lambda weight: np.average(np.abs(y - predicted), weights=weight),
        "quadratic_kappa": lambda weight: kappa_by_definition(y, predicted, weight),
    }
    bounds = {"accuracy": (0, 1), "absolute_error": (0, 3), "quadratic_kappa": (-1, 1)}
    for name, measure in by_weight.items():
        expected = Estimate(getattr(found, name), influence_by_definition(measure, 60, unit))
        np.testing.assert_allclose(found.intervals[name], expected.interval(0.9, bounds[name]), rtol=1e-4)


def test_kappa_of_one_grade_is_undefined():
    found = grade_agreement([1, 1, 1], [1, 1, 1])
    assert np.isnan(found.quadratic_kappa)
    assert np.isnan(found.intervals["quadratic_kappa"]).all()
    assert found.accuracy == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2, 1]), "predicted has length 3, but must have length 2"),
        (([], []), "y has no rows"),
        ((["a", "b"], ["a", "b"]), "give the order of the grades by categories"),
        (([1.0, np.nan], [1.0, 1.0]), "missing"),
    ],
)
def test_wrong_grades_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        grade_agreement(*arguments)


def test_options_of_grades_are_checked(grades):
    with pytest.raises(ValueError, match="predicted contains 3, which is not among the classes"):
        grade_agreement([0, 1], [3, 1], categories=[0, 1])
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        grade_agreement(*grades, confidence=95)


def test_one_model_has_the_measures_of_a_comparison(rows):
    X, y, qid = rows
    model = RankSVM().fit(X, y, qid=qid)
    expected = compare(y, {"model": model.predict(X), "other": X[:, 0]}, qid).measures["model"]
    found = evaluate(model, X, y, qid=qid)
    for one, other in zip(found.measures, expected, strict=True):
        assert (one.measure.key, one.mean, one.low, one.high) == (
            other.measure.key, other.mean, other.low, other.high
        )  # fmt: skip
    assert found["ndcg@10"].mean == pytest.approx(metrics.ndcg(y, model.predict(X), qid, k=10))
    assert found.grades is None
    assert evaluate(model.predict(X), X, y, qid=qid)["error"].mean == found["error"].mean
    with pytest.raises(KeyError, match="'mrr' was not measured"):
        found["mrr"]


def test_queries_without_relevant_rows_count_as_asked(rows):
    X, y, qid = rows
    y = np.where(qid < 5, 0, y)
    keys = ["ndcg@5", "map", "mrr"]
    found = evaluate(X[:, 0], X, y, qid=qid, measures=keys, undefined=0)
    functions = (metrics.ndcg, metrics.average_precision, metrics.reciprocal_rank)
    for key, metric, options in zip(keys, functions, ({"k": 5}, {}, {}), strict=True):
        expected = metric(y, X[:, 0], qid, undefined=0, **options)
        assert found[key].mean == pytest.approx(expected)
        assert found[key].n_defined == 20
    assert evaluate(X[:, 0], X, y, qid=qid, measures="map")["map"].n_defined < 20
    compared = compare(y, {"a": X[:, 0], "b": X[:, 1]}, qid, measures="map", undefined=0)
    assert compared.measures["a"][0].mean == found["map"].mean
    for value in ("zero", np.nan, True, None):
        with pytest.raises(ValueError, match="undefined must be 'skip' or a number"):
            evaluate(X[:, 0], X, y, qid=qid, undefined=value)


@pytest.mark.parametrize("words", [False, True])
def test_models_of_grades_have_an_agreement(words):
    X, y = make_ordinal(200, random_state=0)
    names = np.array(["bad", "poor", "fair", "good", "best"]) if words else np.arange(5)
    labels = names[y]
    ranker = OrdinalSVM(kernel="poly", degree=2, categories=list(names) if words else None)
    model = make_pipeline(StandardScaler(), ranker).fit(X[:150], labels[:150])
    found = evaluate(model, X[150:], labels[150:])
    predicted = model.predict(X[150:])
    assert found.grades.accuracy == pytest.approx(np.mean(predicted == labels[150:]))
    assert found.grades.classes == list(names)
    assert found["error"].mean == pytest.approx(
        metrics.ranking_error(y[150:], ranker.utility(model[:-1].transform(X[150:])))
    )
    assert "Quadratic kappa" in repr(found)


def test_graphs_survival_times_and_bad_levels(rows, monkeypatch):
    monkeypatch.setattr(bootstrap, "RESAMPLES", 20)
    X, y, _ = rows
    model = HullRanker(1e-2, order=[(2, 0), (1, 0)]).fit(X[:40], y[:40])
    assert [one.measure.key for one in evaluate(model, X[:40], y[:40]).measures] == ["error", "wmw"]
    times = Preferences.from_survival(y > 0, np.arange(300.0))
    found = evaluate(X[:, 0], X, times)
    interval = metrics.concordance_interval(times, X[:, 0])
    assert (found["concordance"].low, found["concordance"].high) == pytest.approx(interval[2:])
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        evaluate(X[:, 0], X, y, confidence=1)


def test_results_are_text_html_and_records(rows):
    X, y, qid = rows
    found = evaluate(X[:, 0], X, y, qid=qid, measures=["error", "ndcg@5"])
    records = found.as_dicts()
    assert [record["measure"] for record in records] == ["Ranking error", "NDCG@5, exponential gain"]
    assert records[0]["mean"] == found["error"].mean
    assert json.loads(json.dumps(records)) == records
    assert pd.DataFrame(found.table.as_dicts())["high"].tolist() == [one.high for one in found.measures]
    assert f"<td>{found['error'].mean:.4f}</td>" in found._repr_html_()
    compared = compare(y, {"<a>": X[:, 0], "b": X[:, 1]}, qid, measures="error")
    first, second = compared.as_dicts()
    assert (first["model"], first["difference"]) == ("<a>", None)
    assert second["p"] == compared.differences[0].p
    assert "<td>&lt;a&gt;</td>" in compared._repr_html_()
