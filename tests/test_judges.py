"""Judges who differ: optimum, certificate, slopes against the rest, intervals, files and the command."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from rankwise import BradleyTerry, CrowdBradleyTerry, ModelFileError, load_model, save_model
from rankwise.cli.main import main
from rankwise.leaderboard import judge_table
from rankwise.leaderboard.judge_model import JudgeModel, JudgeSpreads, JudgeVotes
from rankwise.leaderboard.judges import fit_judges, judge_signs
from rankwise.leaderboard.matches import read_matches
from rankwise.leaderboard.newton import minimised
from rankwise.solvers import InterruptedWarning, Monitor
from reference import judge_loss

SLOPES = np.array([2.0, 1.0, 0.4])


def drawn(n_votes=600, n_items=5, slopes=SLOPES, seed=0, ties=0.1, orders=0.5):
    """Votes of judges: a, b, result, judge and the true scores."""
    rng = np.random.default_rng(seed)
    scores, h = rng.normal(size=n_items), orders * rng.normal(size=len(slopes))
    a, judge = rng.integers(n_items, size=n_votes), rng.integers(len(slopes), size=n_votes)
    b = (a + rng.integers(1, n_items, size=n_votes)) % n_items
    p = 1 / (1 + np.exp(-slopes[judge] * (scores[a] - scores[b]) - h[judge]))
    result = np.where(rng.random(n_votes) < ties, 0.5, (rng.random(n_votes) < p).astype(float))
    return a, b, result, judge, scores


def loss_of(a, b, result, judge, n_items, signs=None, has_orders=True, weight=None):
    votes = JudgeVotes.count(read_matches(a, b, weight, outcome=result, judge=judge))
    signs = np.ones(int(judge.max()) + 1) if signs is None else signs
    return JudgeModel(votes, n_items, signs, has_orders=has_orders)


@pytest.mark.parametrize("has_orders", [False, True])
def test_the_objective_is_the_textbook_formula(has_orders):
    a, b, result, judge, _ = drawn()
    signs = np.array([1.0, -1.0, 1.0])
    loss = loss_of(a, b, result, judge, 5, signs, has_orders)
    spreads = JudgeSpreads(0.8, 0.5, 0.3)
    rng = np.random.default_rng(1)
    parameters = 0.4 * rng.normal(size=loss.n_parameters)
    ridge, n_votes = loss.ridge(spreads), len(a)

    def textbook(point):
        scores, logs, orders = loss.split(point)
        slopes, sds = signs * np.exp(logs), (0.8, 0.5, 0.3)
        return judge_loss(scores, slopes, orders, zip(a, b, result, judge, strict=True), sds) / n_votes

    def gradient(point):
        return loss.at(point).gradient + ridge * point

    point = loss.at(parameters)
    assert point.value + 0.5 * ridge @ parameters**2 == pytest.approx(textbook(parameters))
    step, axes = 1e-5, np.eye(len(parameters))
    slope = [(textbook(parameters + step * e) - textbook(parameters - step * e)) / (2 * step) for e in axes]
    assert gradient(parameters) == pytest.approx(slope, abs=1e-7)
    bent = [gradient(parameters + step * e) - gradient(parameters - step * e) for e in axes]
    hessian = point.hessian(ridge)
    dense = hessian.product(axes)
    assert dense == pytest.approx(np.array(bent) / (2 * step), abs=1e-7)
    assert hessian.diagonal == pytest.approx(np.diag(dense))
    information = point.hessian(ridge, exact=False)
    assert np.linalg.eigvalsh(information.product(axes)).min() > 0
    assert information.solve(information.product(axes)) == pytest.approx(axes, abs=1e-9)
    assert information.log_determinant() == pytest.approx(np.linalg.slogdet(information.product(axes))[1])


@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_is_the_best_of_a_general_optimiser_from_many_starts(seed):
    a, b, result, judge, _ = drawn(60, 4, seed=seed)
    found = fit_judges(
        JudgeVotes.count(read_matches(a, b, outcome=result, judge=judge)),
        np.zeros(4), 3, has_orders=True, prior_sd=1.0, max_iter=100, tol=1e-16, monitor=Monitor()
    )  # fmt: skip
    assert found.result.status == "converged"
    ridge, parameters, rng = found.model.ridge(found.spreads), found.result.coef, np.random.default_rng(0)

    def value(parameters):
        at = found.model.at(parameters)
        return at.value + 0.5 * ridge @ parameters**2, at.gradient + ridge * parameters

    assert np.abs(value(parameters)[1]).max() < 1e-8
    np.linalg.cholesky(found.model.at(parameters).hessian(ridge).product(np.eye(len(parameters))))
    starts = rng.normal(size=(25, len(parameters)))
    best = min(minimize(value, start, jac=True, method="BFGS").fun for start in starts)
    assert found.result.objective == pytest.approx(value(parameters)[0])
    assert found.result.objective <= best + 1e-8


def test_equal_judges_are_the_limit_of_no_spread():
    a, b, result, judge, _ = drawn()
    loss = loss_of(a, b, result, judge, 5)
    found = minimised(loss, 0.5 * loss.ridge(JudgeSpreads(1.0, 1e-5, 1e-5)))
    plain = BradleyTerry(alpha=1 / (2 * len(a))).fit(a, b, outcome=result)
    scores = found.coef[:5]
    assert scores - scores.mean() == pytest.approx(plain.scores_, abs=1e-6)


def test_names_of_items_and_judges_and_the_order_of_rows_do_not_matter():
    a, b, result, judge, _ = drawn()
    model = CrowdBradleyTerry().fit(a, b, outcome=result, judge=judge)
    order = np.random.default_rng(2).permutation(len(a))
    items, people = np.array(list("edcba")), np.array(["z", "x", "y"])
    other = CrowdBradleyTerry().fit(
        items[a[order]], items[b[order]], outcome=result[order], judge=people[judge[order]]
    )
    assert other.scores_[::-1] == pytest.approx(model.scores_, abs=1e-4)
    assert other.judge_slopes_[[2, 0, 1]] == pytest.approx(model.judge_slopes_, abs=1e-4)
    low = {row.item: row.low for row in other.leaderboard()}
    assert [low[items[row.item]] for row in model.leaderboard()] == pytest.approx(
        [row.low for row in model.leaderboard()], abs=1e-3
    )


def test_sharp_judges_have_large_slopes_and_scores_are_those_of_an_average_judge():
    a, b, result, judge, scores = drawn(20_000, ties=0.0, orders=0.4)
    model = CrowdBradleyTerry().fit(a, b, outcome=result, judge=judge)
    unit = np.exp(np.log(SLOPES).mean())
    assert model.judge_slopes_ == pytest.approx(SLOPES / unit, rel=0.1)
    assert np.log(model.judge_slopes_).mean() == pytest.approx(0.0, abs=1e-12)
    assert model.scores_ == pytest.approx(unit * (scores - scores.mean()), abs=0.15)
    logit = model.difference(1, 0).difference
    assert model.predict_pair_proba(1, 0) == pytest.approx(1 / (1 + np.exp(-logit)), abs=0.01)
    assert model.judges_.tolist() == [0, 1, 2]
    assert model.judge_votes_.sum() == 20_000
    names = [one.name for one in model.effects()]
    assert names[:2] == ["slope of judge 0", "order effect of judge 0"]
    assert all(one.low < one.value < one.high for one in model.effects())


def test_judges_without_outcomes_have_slopes_alone():
    a, b, result, judge, _ = drawn(ties=0.0, orders=0.0)
    winner, loser = np.where(result == 1, a, b), np.where(result == 1, b, a)
    model = CrowdBradleyTerry().fit(winner, loser, judge=judge)
    assert len(model.effects()) == 3
    assert not model.judge_order_effects_.any()
    assert judge_table(model)[0].order_effect is None
    assert str(judge_table(model)).splitlines()[0].split() == ["judge", "votes", "slope", "from", "to"]


def test_judges_against_the_rest_are_named_and_reversed():
    slopes = np.array([1.0, 1.0, -1.0, 1.5, -0.8, 1.0])
    a, b, result, judge, scores = drawn(3000, 6, slopes, ties=0.0)
    with pytest.warns(UserWarning, match="2 judges vote against the rest, with negative slopes: c and e"):
        model = CrowdBradleyTerry().fit(a, b, outcome=result, judge=np.array(list("abcdef"))[judge])
    assert np.sign(model.judge_slopes_).tolist() == np.sign(slopes).tolist()
    assert np.corrcoef(model.scores_, scores)[0, 1] > 0.95
    row = judge_table(model)[-1]
    assert row.slope.high < 0
    with pytest.warns(UserWarning, match="votes? against the rest"):
        reversed_ = CrowdBradleyTerry().fit(a, b, outcome=1 - result, judge=judge)
    assert reversed_.scores_ == pytest.approx(-model.scores_, abs=1e-4)


def test_judges_who_vote_at_random_are_rarely_taken_for_opponents():
    n_flagged = 0
    for seed in range(40):
        a, b, result, judge, _ = drawn(400, 8, np.array([1.0, 1.0, 1.0, 0.0]), seed, ties=0.0, orders=0.0)
        votes = JudgeVotes.count(read_matches(a, b, outcome=result, judge=judge))
        signs, _ = judge_signs(votes, np.zeros(8), 4, has_orders=True, prior_sd=1.0)
        n_flagged += (signs < 0).any()
    assert n_flagged <= 3


def test_posterior_errors_are_those_of_the_inverse_hessian():
    a, b, result, judge, _ = drawn()
    model = CrowdBradleyTerry(intervals="posterior").fit(a, b, outcome=result, judge=judge)
    loss, at = loss_of(a, b, result, judge, 5), model.judge_slopes_

    def scores_of(parameters):
        scores, logs, _ = loss.split(parameters)
        scores = scores * np.exp(logs.mean())
        return scores - scores.mean()

    ridge = loss.ridge(JudgeSpreads(model.prior_sd_, *model.judge_spreads_))
    # The stored prior is that of the normalised scores, so the minimum is normalised only nearly.
    optimum = minimised(loss, 0.5 * ridge, start=loss.started(model.scores_, np.log(at))).coef
    inverse = np.linalg.inv(len(a) * loss.at(optimum).hessian(ridge).product(np.eye(loss.n_parameters)))
    step = 1e-6
    slope = np.array(
        [
            (scores_of(optimum + step * e) - scores_of(optimum - step * e)) / (2 * step)
            for e in np.eye(loss.n_parameters)
        ]
    )
    errors = np.sqrt(np.diag(slope.T @ inverse @ slope))
    assert model.standard_errors() == pytest.approx(errors, rel=0.02)
    debiased = model.set_params(intervals="debiased").standard_errors()
    assert debiased == pytest.approx(errors, rel=0.3)


def test_weights_that_are_counts_are_copies_and_others_have_a_sandwich():
    a, b, result, judge, _ = drawn()
    weight = np.random.default_rng(3).integers(1, 4, size=len(a))
    copies = [np.repeat(column, weight) for column in (a, b, result, judge)]
    model = CrowdBradleyTerry().fit(a, b, weight, outcome=result, judge=judge)
    twin = CrowdBradleyTerry().fit(*copies[:2], outcome=copies[2], judge=copies[3])
    assert model.leaderboard()[0].high == pytest.approx(twin.leaderboard()[0].high, abs=1e-4)
    uneven = np.random.default_rng(4).lognormal(size=len(a))
    model = CrowdBradleyTerry().fit(a, b, uneven, outcome=result, judge=judge)
    scaled = CrowdBradleyTerry().fit(a, b, 7.3 * uneven, outcome=result, judge=judge)
    assert scaled.standard_errors() == pytest.approx(model.standard_errors(), rel=1e-3)
    even = CrowdBradleyTerry().fit(a, b, outcome=result, judge=judge)
    ratio = (uneven**2).mean() / uneven.mean() ** 2
    assert model.standard_errors().mean() / even.standard_errors().mean() == pytest.approx(
        ratio**0.5, rel=0.25
    )


def test_a_model_file_keeps_judges(tmp_path):
    a, b, result, judge, _ = drawn()
    path = tmp_path / "model.json"
    for options in ({}, {"weight": np.linspace(0.5, 2, len(a))}):
        model = CrowdBradleyTerry().fit(a, b, outcome=result, judge=judge, **options)
        save_model(model, path)
        loaded = load_model(path)
        assert loaded.leaderboard() == model.leaderboard()
        assert loaded.effects() == model.effects()
        assert loaded.predict_pair_proba(0, 1) == model.predict_pair_proba(0, 1)
    votes, signs, spreads, parameters = model._judges
    for broken in (
        (votes[:5], signs, spreads, parameters),
        (votes, 2 * signs, spreads, parameters),
        (votes, signs, -spreads, parameters),
        (votes, signs, spreads, parameters[:-1]),
        (votes, signs, spreads, 2 * parameters),
    ):
        model._judges = broken
        save_model(model, path)
        with pytest.raises(ModelFileError, match="_judges is invalid"):
            load_model(path)


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({"intervals": "sampled"}, {}, "intervals must be"),
        ({"alpha": 0}, {}, "alpha must be"),
        ({"half_life": -1}, {}, "half_life must be"),
        ({}, {"judge": None}, "judge must be a column of labels"),
        ({}, {"judge": [1, 2]}, "judge has 2 entries for 3 matches"),
        ({}, {"judge": [1, None, 2]}, "judge is missing in row 1"),
    ],
)
def test_what_judges_do_not_go_with_is_refused(options, more, message):
    votes = {"outcome": [1, 0, 1], "judge": [1, 2, 1], **more}
    with pytest.raises(ValueError, match=message):
        CrowdBradleyTerry(**options).fit(["x", "y", "x"], ["y", "x", "y"], **votes)


def test_a_given_alpha_and_few_votes_are_fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CrowdBradleyTerry(0.1).fit(
            ["x", "y", "x"], ["y", "x", "z"], outcome=[1, 0, 0.5], judge=[1, 2, 1]
        )
    assert model.alpha_ == 0.1
    assert model.prior_sd_ is None
    assert np.isfinite([(row.low, row.high) for row in model.leaderboard()]).all()


def test_the_command_prints_the_judges(capsys, tmp_path):
    a, b, result, judge, _ = drawn()
    path, people = tmp_path / "votes.csv", np.array(["ann", "bob", "cid"])[judge]
    pd.DataFrame({"a": a, "b": b, "y": result, "who": people}).to_csv(path, index=False)
    columns = ["leaderboard", str(path), "--a", "a", "--b", "b", "--outcome", "y", "--judge", "who"]
    assert main([*columns, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = CrowdBradleyTerry().fit(
        [str(one) for one in a], [str(one) for one in b], outcome=result, judge=people
    )
    assert [row["judge"] for row in found["judges"]] == ["ann", "bob", "cid"]
    assert found["judges"][0]["slope"]["low"] == pytest.approx(judge_table(model)[0].slope.low)
    assert found["leaderboard"][0]["high"] == pytest.approx(model.leaderboard()[0].high)
    assert main(columns) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[6:11] == ["", *str(judge_table(model)).splitlines()][:5]
    assert main([*columns, "--ties", "davidson"]) == 2
    assert "--judge cannot be combined with --ties" in capsys.readouterr().err


@pytest.mark.parametrize(("n_judges", "equal"), [(40, True), (10, False)])
def test_few_votes_per_judge_have_the_intervals_of_the_posterior(n_judges, equal):
    a, b, result, judge, _ = drawn(800, slopes=np.ones(n_judges))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # judges who seem opposed
        boards = [
            CrowdBradleyTerry(intervals=intervals)
            .fit(a, b, outcome=result, judge=judge)
            .leaderboard(ranks=False)
            for intervals in ("debiased", "posterior")
        ]
    assert (boards[0] == boards[1]) == equal


def test_a_callback_sees_the_fit_of_judges_and_may_stop_it(capsys):
    a, b, won, judge, _ = drawn()
    states = []
    full = CrowdBradleyTerry(callback=states.append, verbose=1).fit(a, b, outcome=won, judge=judge)
    assert len(states) == full.n_iter_ == len(full.history_["objective"])
    assert states[-1].objective == pytest.approx(full.objective_)
    assert states[-1].gap == pytest.approx(full.gap_, abs=1e-12)
    assert capsys.readouterr().err.count("iteration") == full.n_iter_
    few = []
    stopped = CrowdBradleyTerry(callback=lambda state: few.append(state) or len(few) == 3)
    stopped.fit(a, b, outcome=won, judge=judge)
    assert len(few) == 3 < full.n_iter_
    assert np.isfinite(stopped.scores_).all()


def test_a_large_tol_ends_the_fit_of_judges_sooner():
    loss = loss_of(*drawn()[:4], 5)
    alpha = 0.5 * loss.ridge(JudgeSpreads(1.0, 0.5, 0.5))
    exact, loose = (minimised(loss, alpha, tol=tol) for tol in (1e-16, 1e-3))
    assert loose.n_iter < exact.n_iter
    assert exact.gap < loose.gap < 1e-3
    assert exact.status == loose.status == "converged"


@pytest.mark.parametrize("is_last", [False, True])
def test_ctrl_c_keeps_the_best_judges_so_far(is_last):
    a, b, won, judge, _ = drawn()
    n_calls = CrowdBradleyTerry().fit(a, b, outcome=won, judge=judge).n_iter_ if is_last else 3
    states = []

    def stop(state):
        states.append(state)
        if len(states) == n_calls:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match=f"Interrupted after {n_calls} iterations"):
        model = CrowdBradleyTerry(callback=stop).fit(a, b, outcome=won, judge=judge)
    assert model.n_iter_ == n_calls
    assert np.isfinite([(row.low, row.high) for row in model.leaderboard()]).all()


def test_max_iter_of_judges_warns_with_the_gap():
    a, b, won, judge, _ = drawn()
    with pytest.warns(ConvergenceWarning, match="Stopped by max_iter after "):
        CrowdBradleyTerry(max_iter=1, tol=1e-300).fit(a, b, outcome=won, judge=judge)


def test_items_whose_intervals_may_be_too_short_are_named():
    a, b, result, judge, _ = drawn(ties=0.0)
    assert CrowdBradleyTerry().fit(a, b, outcome=result, judge=judge).leaderboard().note == ""
    result = np.where(a == 0, 1.0, np.where(b == 0, 0.0, result))
    note = CrowdBradleyTerry().fit(a, b, outcome=result, judge=judge).leaderboard().note
    assert note == "Items with fewer than 5 wins or losses may have too short intervals: 0."
