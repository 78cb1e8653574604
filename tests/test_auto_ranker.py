"""AutoRanker: candidates, folds, the choice, its estimate, the budget, files, the shell and the report."""

import json
import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from rankwise import (
    AutoRanker,
    BoostedRanker,
    BoostedRankerCV,
    CurveRanker,
    KernelRanker,
    NoPairsError,
    Preferences,
    RankLogistic,
    RankSVM,
    load_model,
    save_model,
)
from rankwise.cli.main import main
from rankwise.core.time_limit import OutOfTimeError, check_time, time_limit
from rankwise.datasets import make_ranking
from rankwise.estimators.auto_candidates import Candidate, candidates_for
from rankwise.estimators.auto_choice import chosen, combined, difference, estimate_of_choice, table_of
from rankwise.estimators.auto_race import Race, Trial
from rankwise.estimators.auto_task import Task, folds_of
from rankwise.evaluation.measures import Scored, evaluated, named_measure
from rankwise.io.model_file import model_info
from rankwise.metrics import ranking_error
from rankwise.preprocessing import QueryScaler
from rankwise.report import Report

ERROR = named_measure("error")
SMALL = {"budget": None, "cv": 2, "candidates": ["linear", "curves"]}


def rows(n_rows=240, random_state=0):
    X, y, qid = make_ranking(n_rows, 4, n_queries=12, n_levels=4, noise=0.5, random_state=random_state)
    return X, y, qid


def bent(n_rows=300):
    """Rows whose order no linear function has."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 3))
    return X, np.abs(X[:, 0]) + 0.5 * np.abs(X[:, 1]) + 0.1 * generator.normal(size=n_rows)


def wines(n_rows=120):
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "price": np.where(generator.random(n_rows) < 0.1, np.nan, generator.normal(10, 2, n_rows)),
            "grape": generator.choice(["merlot", "syrah"], n_rows),
            "organic": generator.random(n_rows) < 0.5,
        }
    )
    y = frame["price"].fillna(9) + 2 * (frame["grape"] == "syrah") + generator.normal(size=n_rows)
    return frame, y.to_numpy()


# The choice


class FakeMeasured:
    """A fold of a trial: an error per row of one ranking."""

    def __init__(self, errors):
        from rankwise.evaluation.intervals import mean_estimate

        self.estimate = mean_estimate(np.asarray(errors, dtype=float))
        self.mean, self.values, self.units = self.estimate.value, np.asarray(errors), "queries"
        self.measure = named_measure("error")
        self.n_defined = len(errors)


class FakeCandidate:
    """A candidate with a name and a place in the order of simplicity."""

    def __init__(self, name, complexity):
        self.name, self.family, self.complexity, self.is_last = (
            name,
            f"family {complexity}",
            complexity,
            False,
        )


def fake(name, complexity, *folds):
    trial = Trial(FakeCandidate(name, complexity), [FakeMeasured(errors) for errors in folds])
    trial.seconds = [1.0] * len(folds)
    return trial


FOLDS = np.random.default_rng(0).uniform(0.2, 0.4, size=(3, 40))


def test_the_simplest_model_that_is_not_clearly_worse_is_chosen():
    noise = 0.05 * np.random.default_rng(1).normal(size=FOLDS.shape)
    noise -= noise.mean()
    simple, complex_ = fake("simple", 0, *(FOLDS + noise)), fake("complex", 3, *(FOLDS - 0.001))
    bad = fake("bad", 0, *(FOLDS + 0.1 + noise))
    assert chosen([bad, simple, complex_], "simple") is simple
    assert chosen([bad, simple, complex_], "best") is complex_
    assert chosen([bad, complex_], "simple") is complex_


def test_the_lowest_error_counts_within_a_family():
    noise = 0.05 * np.random.default_rng(1).normal(size=FOLDS.shape)
    first, second = fake("first", 0, *(FOLDS + 0.002 + noise)), fake("second", 0, *(FOLDS + 0.001 + noise))
    assert chosen([first, second, fake("trees", 3, *FOLDS)], "simple") is second


def test_a_mean_over_folds_is_that_over_queries():
    parts = [FakeMeasured(FOLDS[0]), FakeMeasured(FOLDS[1][:10])]
    found = combined(parts)
    assert found.value == pytest.approx(np.concatenate([FOLDS[0], FOLDS[1][:10]]).mean())
    within = np.concatenate([FOLDS[0] - FOLDS[0].mean(), FOLDS[1][:10] - FOLDS[1][:10].mean()]) / 50
    np.testing.assert_allclose(found.influence, within)


def test_a_mean_over_folds_of_one_ranking_is_that_over_folds_as_queries():
    generator = np.random.default_rng(2)
    fold = np.repeat(np.arange(3), [30, 50, 20])
    y, scores = generator.normal(size=(2, 100))
    scores += y
    parts = [
        evaluated(Scored(Preferences.from_scores(y[fold == one]), {"": scores[fold == one]}, None), [ERROR])[
            ""
        ][0]
        for one in range(3)
    ]
    found = combined(parts)
    errors = [ranking_error(y[fold == number], scores[fold == number]) for number in range(3)]
    assert found.value == pytest.approx(np.mean(errors))
    # The folds are independent, and the variance of their mean is that of a sum of three over nine.
    variances = [part.estimate.standard_error**2 for part in parts]
    assert found.standard_error == pytest.approx(np.sqrt(np.sum(variances)) / 3, rel=0.03)


def test_differences_take_the_folds_that_both_have():
    first, second = fake("a", 0, *FOLDS), fake("b", 1, FOLDS[0] - 0.1)
    assert difference(first.results, second.results).value == pytest.approx(0.1)


def test_the_estimate_of_the_choice_judges_each_fold_by_the_choice_of_the_others():
    # On each fold another one is lucky: the best mean is optimistic, its choice by other folds is not.
    lucky = [0.3 * np.ones((2, 20)), 0.3 * np.ones((2, 20))]
    lucky[0][0], lucky[1][1] = 0.2, 0.19
    trials = [fake("a", 0, *lucky[0]), fake("b", 0, *lucky[1])]
    assert min(combined(trial.results).value for trial in trials) == pytest.approx(0.245)
    assert estimate_of_choice(trials, "best").value == pytest.approx(0.3)


def test_the_table_lists_what_was_not_tried():
    late = fake("late", 3)
    late.reason = "out of time"
    found = table_of([fake("a", 0, *FOLDS), late], [])
    assert [(row.model, row.folds, row.note) for row in found] == [("a", 3, ""), ("late", 0, "out of time")]
    assert json.dumps(found.as_dicts(), allow_nan=False)
    assert "out of time" in str(found)


# Fits


def test_a_fit_keeps_the_simplest_good_model_and_says_what_was_tried():
    X, y, qid = rows()
    model = AutoRanker(**SMALL).fit(X, y, qid=qid)
    assert model.best_name_.startswith("linear")
    assert list(model.leaderboard_.columns[:3]) == ["model", "family", "mean"]
    assert len(model.tried_) == 6  # linear and logistic, curves, each with features scaled within queries
    assert [row.model for row in model.tried_ if row.chosen] == [model.best_name_]
    assert model.estimate_interval_[0] < model.estimate_ < model.estimate_interval_[1]
    assert model.score(X, y, qid=qid) == pytest.approx(1 - ranking_error(y, model.predict(X, qid=qid), qid))
    again = clone(model).fit(X, y, qid=qid)
    np.testing.assert_array_equal(again.predict(X, qid=qid), model.predict(X, qid=qid))
    assert model.rank(X, qid).max() < 240


def test_curves_win_if_no_line_is_good():
    X, y = bent()
    model = AutoRanker(**SMALL).fit(X, y)
    assert model.best_name_ == "curves"
    assert model.n_features_in_ == 3
    worse = {row.model: row.p for row in model.tried_}
    assert worse["linear"] < 0.001


def test_errors_of_folds_are_those_of_plain_fits():
    """The measure of a candidate equals that of fits to the folds by hand."""
    X, y = bent(100)
    y = y + X[:, 0]
    task = Task(X, y)
    folds = folds_of(task, 3, 0)
    (linear, *_) = candidates_for(task, ["linear"], 0, None)
    race = Race(task, 3, 0, [linear], named_measure("error"), None, lambda step: None)
    (trial,) = race.run()
    for fold, found in zip(folds, trial.results, strict=True):
        mean, scale = fold.train.X.mean(axis=0), fold.train.X.std(axis=0)
        plain = RankSVM("auto", loss="squared_hinge").fit((fold.train.X - mean) / scale, fold.train.y)
        expected = ranking_error(fold.test.y, plain.predict((fold.test.X - mean) / scale))
        assert found.mean == pytest.approx(expected, abs=1e-12)


def test_a_blend_weighs_models_by_the_rows_held_out(tmp_path):
    X, y = bent()
    y = y + X[:, 2]  # a line for linear models, and bends for curves
    model = AutoRanker(**SMALL, prefer="blend").fit(X, y)
    assert sum(model.weights_.values()) == pytest.approx(1)
    assert all(weight > 0 for weight in model.weights_.values())
    assert model.predict_pair_proba(X[:5], X[5:10]).shape == (5,)
    save_model(model, tmp_path / "blend.json")
    loaded = load_model(tmp_path / "blend.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert Report(model, X, y).to_html().count("What was tried") == 2  # in the contents, and as a heading


@pytest.mark.parametrize("kind", ["survival", "pairs", "weights"])
def test_preferences_of_all_kinds(kind):
    X, y = bent(90)
    generator = np.random.default_rng(0)
    arguments = {}
    if kind == "survival":
        y = Preferences.from_survival(generator.random(90) < 0.7, np.exp(y))
    elif kind == "pairs":
        better, worse = generator.integers(90, size=(2, 200))
        keep = y[better] > y[worse]
        y = Preferences.from_pairs(better[keep], worse[keep], n_rows=90)
    else:
        arguments = {"sample_weight": generator.random(90)}
    for prefer in ("simple", "blend"):
        model = AutoRanker(**SMALL, prefer=prefer).fit(X, y, **arguments)
        assert model.score(X, y) > 0.55  # of the simplest that is not clearly worse


def test_mixed_tables_and_files(tmp_path):
    frame, y = wines()
    model = AutoRanker(**SMALL).fit(frame, y)
    save_model(model, tmp_path / "wines.json", metadata={"data": "wines"})
    loaded = load_model(tmp_path / "wines.json")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    stored = model_info(tmp_path / "wines.json").metadata
    assert stored["data"] == "wines"
    assert [one["model"] for one in stored["tried"]] == [row.model for row in model.tried_]
    assert list(model.feature_names_in_) == list(frame.columns)
    names, parts = model.explain_pair(frame.iloc[[0]], frame.iloc[[1]])
    assert len(names) == 3
    scores = model.predict(frame.iloc[:2])
    assert parts.sum() == pytest.approx(scores[0] - scores[1])


def test_sparse_rows():
    X, y = bent(200)
    X[np.abs(X) < 1.5] = 0.0
    few = sp.csr_matrix(X)
    model = AutoRanker(**SMALL).fit(few, y)
    assert {row.family for row in model.tried_} == {"linear"}
    dense = sp.csr_matrix(bent(200)[0])  # full of entries: a table
    model = AutoRanker(**SMALL).fit(dense, y)
    assert {row.family for row in model.tried_} == {"linear", "curves"}
    np.testing.assert_array_equal(model.predict(dense), model.predict(dense.toarray()))


# Time


class Clock:
    """A clock that advances at each reading."""

    def __init__(self, step=1.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def race_of(budget, callback=lambda step: None, cv=4, n_rows=100, clock=None):
    X, y = bent(n_rows)
    task = Task(X, y)
    candidates = candidates_for(task, ["linear", "curves"], 0, 1)
    return Race(task, cv, 0, candidates, named_measure("error"), budget, callback, clock or Clock())


def test_a_budget_ends_the_search():
    steps = []
    race = race_of(300.0, steps.append)
    trials = race.run()
    assert [trial.reason for trial in trials].count("out of time") > 0
    assert 1 <= len(steps) < 12
    assert len(trials[0].results) >= 1
    assert steps[0].fold == 1
    assert steps[0].best == steps[0].candidate == "linear"
    assert race.seconds < 300.0 + 20.0  # a fit reads the clock every few rounds


def test_each_family_has_one_answer_before_any_has_two():
    steps = []
    race_of(1e6, steps.append).run()
    assert [step.candidate for step in steps[:3]] == ["linear", "curves", "linear, logistic"]
    assert [step.fold for step in steps[:4]] == [1, 1, 1, 2]


def test_samples_come_first_and_their_times_predict_those_of_folds(seconds_per_row):
    steps = []
    race = race_of(1e6, steps.append, n_rows=2500, clock=seconds_per_row)
    linear, *_ = race.run()
    assert [(step.candidate, step.fold, step.n_rows) for step in steps[:2]] == [
        ("linear", 0, 400),
        ("curves", 0, 400),
    ]
    assert linear.pilot.n_rows == 400
    assert linear.predicted == pytest.approx(linear.pilot.seconds * 5**0.6)


@pytest.fixture
def seconds_per_row(monkeypatch):
    """Fits that take a hundredth of a second per row, those of curves three times as long."""
    clock = Clock(0.0)

    def fit(candidate, task):
        for _ in range(task.n_rows):
            clock.now += 0.01 if candidate.family == "linear" else 0.03
            check_time()
        return RankSVM().fit(task.X, task.y)

    monkeypatch.setattr("rankwise.estimators.auto_candidates.Candidate.fit", fit)
    return clock


@pytest.mark.parametrize("budget", [10.0, 30.0, 100.0, 300.0, 900.0, 3000.0])
def test_a_budget_is_kept_and_used(seconds_per_row, budget):
    """All candidates on all rows take some 1,100 seconds."""
    race = race_of(budget, n_rows=4000, clock=seconds_per_row)
    tried = [trial for trial in race.run() if trial.results]
    ((model, n_rows),) = race.fitted(tried[:1])
    assert race.seconds <= (1.1 if budget > 10 else 1.2) * budget
    assert len(model.predict(race.task.X)) == 4000
    if budget <= 30:
        assert race.folds[0].task.n_rows < 4000
    if budget >= 900:
        assert n_rows == 4000
        assert {trial.candidate.family for trial in tried} == {"linear", "curves"}
    if budget == 3000:
        assert all(len(trial.results) >= 2 for trial in tried)


def test_a_fit_that_exceeds_its_share_is_given_up(seconds_per_row):
    """The sample is misleading: on more rows, curves take for ever."""
    race = race_of(120.0, n_rows=2500, clock=seconds_per_row)
    fit, curves = Candidate.fit, race.trials[2]

    def slow(candidate, task):
        while candidate is curves.candidate and task.n_rows > 500:
            seconds_per_row.now += 0.1
            check_time()
        return fit(candidate, task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Candidate, "fit", slow)
        race.run()
    assert curves.reason == "out of time"
    assert curves.pilot.n_rows == 400
    assert not curves.results
    assert race.trials[0].results
    assert race.seconds <= 1.1 * 120.0
    table = {row.model: row.note for row in table_of(race.trials, race.trials[:1])}
    assert table["curves"].startswith("out of time; 0.")
    assert table["curves"].endswith("by 400 rows")


def test_the_model_of_a_fold_stays_if_the_last_fit_is_given_up(monkeypatch):
    race = race_of(1e5)
    (linear, *_) = race.run()
    first = linear.model
    race.budget = race.seconds + 1e4
    assert race.fitted([linear])[0][0] is not first
    race.budget = race.seconds
    assert race.fitted([linear])[0] == (first, race.folds[0].train.n_rows)


def test_means_of_fewer_folds_are_comparable():
    """The mean of a candidate with one fold is that of the best and the difference on this fold."""
    best, late = fake("best", 0, *FOLDS), fake("late", 1, FOLDS[0] + 0.01)
    late.reason = "out of time"
    found = {row.model: row for row in table_of([best, late], [best])}
    assert found["late"].mean - found["best"].mean == pytest.approx(0.01)
    assert found["late"].difference == pytest.approx(0.01)


def test_features_that_are_scaled_within_queries_have_no_twins():
    X, y, qid = rows()
    twins = [one.name for one in candidates_for(Task(X, y, qid), ["linear"], 0, None)]
    assert "linear, scaled within queries" in twins
    scaled = QueryScaler().fit_transform(X, qid=qid)
    names = [one.name for one in candidates_for(Task(scaled, y, qid), ["linear"], 0, None)]
    assert names == ["linear", "linear, logistic"]


def test_the_first_fit_is_made_however_short_the_time():
    trials = race_of(0.5).run()
    assert [len(trial.results) for trial in trials] == [1, 0, 0]
    race = race_of(0.5, n_rows=2500)  # one on a sample
    assert [len(trial.results) for trial in race.run()] == [1, 0, 0]
    assert race.fitted(race.trials[:1])[0][1] == 400


def test_models_that_are_clearly_worse_are_dropped_in_a_search_with_a_budget():
    trials = race_of(1e6).run()
    assert [trial.reason for trial in trials] == ["clearly worse", "clearly worse", None]
    assert all(len(trial.results) < 4 for trial in trials[:2])
    assert all(trial.reason is None for trial in race_of(None).run())


def test_ctrl_c_keeps_what_was_tried(caplog):
    X, y = bent(100)

    def interrupt(step):
        if step.fold == 2:
            raise KeyboardInterrupt

    model = AutoRanker(**(SMALL | {"cv": 3}), callback=interrupt)
    with caplog.at_level(logging.WARNING, logger="rankwise"):
        model.fit(X, y)
    assert "interrupted" in caplog.text
    assert len(model.predict(X)) == 100

    def at_once(*_):
        raise KeyboardInterrupt

    race = race_of(None)
    race.fit = at_once  # nothing has been tried yet
    with pytest.raises(KeyboardInterrupt):
        race.run()


@pytest.mark.parametrize(
    "model",
    [RankSVM(), RankSVM("auto", loss="squared_hinge"), RankLogistic("auto"), CurveRanker(), KernelRanker()],
    ids=lambda model: type(model).__name__,
)
def test_every_fit_of_a_candidate_checks_the_time(model):
    X, y = bent(300)
    with time_limit(0.0), pytest.raises(OutOfTimeError):
        clone(model).fit(X, y)
    clone(model).fit(X, y)


def test_trees_check_the_time():
    pytest.importorskip("lightgbm")
    X, y = bent(300)
    for model in (BoostedRanker(n_estimators=5), BoostedRanker(), BoostedRankerCV(cv=2)):
        with time_limit(0.0), pytest.raises(OutOfTimeError):
            clone(model).fit(X, y)


# Mistakes


def test_a_candidate_that_fails_is_named(monkeypatch):
    X, y = bent(80)
    monkeypatch.setattr("rankwise.estimators.curve_ranker.CurveRanker.fit", lambda *_, **__: 1 / 0)
    model = AutoRanker(**SMALL).fit(X, y)
    assert {row.model: row.note for row in model.tried_}["curves"] == "failed: division by zero"
    with pytest.raises(ZeroDivisionError):
        AutoRanker(None, candidates=["curves"], cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prefer": "fast"}, "prefer must be one of"),
        ({"budget": 0}, "budget must be a positive number"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"candidates": ["forest"]}, "candidates must be one of"),
        ({"candidates": []}, "at least one family"),
        ({"scoring": "auc"}, "must be among"),
    ],
)
def test_parameters_are_checked(parameters, message):
    X, y = bent(60)
    with pytest.raises(ValueError, match=message):
        AutoRanker(**(SMALL | parameters)).fit(X, y)


def test_rows_without_pairs():
    with pytest.raises(NoPairsError):
        AutoRanker(**SMALL).fit(np.eye(4), np.ones(4))
    with pytest.raises(ValueError, match="X has 4 rows, but y has 3"):
        AutoRanker(**SMALL).fit(np.eye(4), np.arange(3))


def test_probabilities_need_a_logistic_model():
    X, y = bent(60)
    model = AutoRanker(None, candidates=["curves"], cv=2).fit(X, y)
    assert not hasattr(model, "predict_pair_proba")


# The shell and the report


def test_the_command_equals_python(tmp_path, capsys):
    frame, y = wines()
    frame["rating"] = y
    frame.to_csv(tmp_path / "wines.csv", index=False)
    table, model = str(tmp_path / "wines.csv"), str(tmp_path / "model.json")
    train = ["train", table, "--label", "rating", "-o", model, "--method", "auto", "--folds", "2"]
    assert main([*train, "--time", "1000"]) == 0
    printed = capsys.readouterr().out
    assert "Chosen: " in printed
    assert "linear, logistic" in printed
    expected = AutoRanker(1000, cv=2, random_state=0, n_jobs=1).fit(frame.drop(columns="rating"), y)
    loaded = load_model(model)
    np.testing.assert_allclose(
        loaded.predict(frame.drop(columns="rating")), expected.predict(frame.iloc[:, :3])
    )
    assert main(["evaluate", model, table, "--label", "rating"]) == 0
    assert main(["report", model, table, "--label", "rating", "-o", str(tmp_path / "report.html")]) == 0
    assert "What was tried" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "auto", "--alpha", "1"], "--alpha cannot be used with --method auto"),
        (["--method", "auto", "--kernel", "rbf"], "--kernel cannot be used with --method auto"),
        (["--method", "auto", "--tune"], "cannot be used with --method auto"),
        (["--time", "5"], "--time is for --method auto"),
        (["--prefer", "best"], "--prefer is for --method auto"),
    ],
)
def test_options_that_do_not_belong_together(tmp_path, capsys, options, message):
    (tmp_path / "data.txt").write_text("1 qid:1 1:2\n0 qid:1 1:1\n")
    assert main(["train", str(tmp_path / "data.txt"), "-o", str(tmp_path / "m.json"), *options]) == 2
    assert message in capsys.readouterr().err
