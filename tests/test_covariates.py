"""Covariates of votes: effects, intervals, scales, and everything that they are combined with."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from scipy.stats import t

import reference
from html_page import Page
from rankwise import BradleyTerry, load_model, save_model
from rankwise.cli.main import main
from rankwise.io.model_file import ModelFileError
from rankwise.leaderboard.comparisons import Comparisons, count_votes
from rankwise.leaderboard.links import link_of
from rankwise.leaderboard.pair_model import PairModel
from rankwise.report.leaderboard import leaderboard_page
from test_leaderboard_intervals import firth_scores, textbook_clusters

N_ITEMS = 6
GAMMA = np.array([0.8, -0.5])


def drawn(n=600, ties=0.0, seed=0):
    """Votes with covariates: a length, correlated with the items, and a side of -1 or 1."""
    rng = np.random.default_rng(seed)
    scores, a = np.linspace(-1, 1, N_ITEMS), rng.integers(N_ITEMS, size=n)
    b = (a + 1 + rng.integers(N_ITEMS - 1, size=n)) % N_ITEMS
    length = 0.6 * (scores[a] - scores[b]) + rng.normal(size=n)
    Z = np.stack([length, rng.choice([-1.0, 1.0], size=n)], axis=1)
    won = rng.random(n) < 1 / (1 + np.exp(scores[b] - scores[a] - Z @ GAMMA))
    return a, b, np.where(rng.random(n) < ties, 0.5, won.astype(float)), Z


def rms_of(Z, weight=None):
    return np.sqrt(np.average(Z**2, axis=0, weights=weight))


@pytest.mark.parametrize("order_effect", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.003])
def test_scores_and_effects_are_those_of_a_logistic_regression(order_effect, weighted, alpha):
    a, b, result, Z = drawn(ties=0.2)
    weight = np.random.default_rng(1).integers(0, 4, size=len(a)).astype(float) if weighted else None
    model = BradleyTerry(alpha, order_effect=order_effect, tol=1e-20)
    model.fit(a, b, weight, outcome=result, covariates=Z)
    columns = np.hstack([Z, np.ones((len(a), int(order_effect)))])
    units = np.concatenate([np.ones(N_ITEMS), rms_of(Z, weight), np.ones(int(order_effect))])
    found, _ = reference.vote_regression(a, b, result, columns, alpha * units**2, weight)
    assert model.scores_ == pytest.approx(found[:N_ITEMS] - found[:N_ITEMS].mean(), abs=1e-8)
    assert model.covariate_effects_ == pytest.approx(found[N_ITEMS : N_ITEMS + 2], abs=1e-8)
    assert model.order_effect_ == pytest.approx(found[-1] if order_effect else 0.0, abs=1e-8)
    assert model.gap_ <= 1e-12
    # Intervals do not depend on alpha.
    X = np.hstack([np.eye(N_ITEMS)[a] - np.eye(N_ITEMS)[b], columns])
    *_, covariance = firth_scores(X, result, np.ones(len(a)) if weight is None else weight)
    errors = [one.standard_error for one in model.effects()]
    assert errors == pytest.approx(np.sqrt(np.diag(covariance))[N_ITEMS:], rel=1e-5)
    centred = np.eye(N_ITEMS) - 1 / N_ITEMS
    of_scores = centred @ covariance[:N_ITEMS, :N_ITEMS] @ centred
    assert model.standard_errors() == pytest.approx(np.sqrt(np.diag(of_scores)), rel=1e-5)


def test_effects_are_those_of_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.api")
    a, b, result, Z = drawn()
    X = np.hstack([(np.eye(N_ITEMS)[a] - np.eye(N_ITEMS)[b])[:, 1:], Z])  # the score of the first is 0
    found = statsmodels.Logit(result, X).fit(disp=0, tol=1e-12)
    effects = BradleyTerry(0, tol=1e-20).fit(a, b, outcome=result, covariates=Z).effects()
    assert [one.value for one in effects] == pytest.approx(found.params[-2:], rel=1e-6)
    assert [one.standard_error for one in effects] == pytest.approx(found.bse[-2:], rel=0.05)


@pytest.mark.parametrize("order_effect", [False, True])
def test_ties_of_davidson_have_the_optimum_of_the_formula(order_effect):
    a, b, result, Z = drawn(150, ties=0.3)
    alpha = 0.01
    model = BradleyTerry(alpha, ties="davidson", order_effect=order_effect)
    model.fit(a, b, outcome=result, covariates=Z)
    scaled = Z / rms_of(Z)

    def objective(p):
        scores, gamma, h, log_nu = p[:N_ITEMS], p[N_ITEMS : N_ITEMS + 2], p[-2] * order_effect, p[-1]
        d = scores[a] - scores[b] + scaled @ gamma + h
        chances = np.array([np.exp(0.5 * d), np.exp(-0.5 * d), np.full(len(d), np.exp(log_nu))])
        picked = chances[(result == 0) + 2 * (result == 0.5), np.arange(len(d))]
        return -np.log(picked / chances.sum(axis=0)).mean() + alpha * p @ p

    found = minimize(objective, np.zeros(N_ITEMS + 4), tol=1e-12)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)
    assert model.covariate_effects_ == pytest.approx(found.x[N_ITEMS : N_ITEMS + 2] / rms_of(Z), abs=1e-4)
    assert model.tie_effect_ == pytest.approx(np.exp(found.x[-1]), abs=1e-4)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_derivatives_are_those_of_differences(ties):
    a, b, result, Z = drawn(80, ties=0.3)
    counted = Comparisons.count(N_ITEMS, a, b, result, None, ordered=True, covariates=Z.T)
    loss = PairModel(counted, link_of("logistic", ties), order_effect=True)
    p = np.random.default_rng(0).normal(size=loss.n_parameters)
    at, steps = loss.at(p), 1e-6 * np.eye(len(p))
    slopes = [(loss.at(p + step).value - loss.at(p - step).value) / 2e-6 for step in steps]
    assert at.gradient == pytest.approx(slopes, abs=1e-8)
    curvature = [(loss.at(p + step).gradient - loss.at(p - step).gradient) / 2e-6 for step in steps]
    product = at.hessian(np.zeros(len(p))).product(np.eye(len(p)))
    assert product == pytest.approx(np.array(curvature), abs=1e-8)


@pytest.mark.parametrize("order_effect", [False, True])
def test_clusters_have_the_errors_of_the_textbook(order_effect):
    a, b, result, Z = drawn(120)
    cluster = np.random.default_rng(2).integers(14, size=len(a))
    model = BradleyTerry(0, order_effect=order_effect, tol=1e-20)
    model.fit(a, b, outcome=result, covariates=Z, cluster=cluster)
    X = np.hstack([np.eye(N_ITEMS)[a] - np.eye(N_ITEMS)[b], Z, np.ones((len(a), 1))[:, : int(order_effect)]])
    _, chance, bread = firth_scores(X, result, np.ones(len(a)))
    contrast = np.eye(X.shape[1])[N_ITEMS]
    meat, freedom = textbook_clusters(X, result, chance, bread, cluster, contrast)
    error = np.sqrt(contrast @ bread @ meat @ bread @ contrast)
    effect = model.effects()[0]
    assert effect.standard_error == pytest.approx(error, rel=1e-5)
    assert effect.high - effect.low == pytest.approx(2 * t.isf(0.025, freedom) * error, rel=1e-5)


def test_weights_that_are_not_counts_have_a_sandwich():
    a, b, result, Z = drawn(300)
    weight = np.random.default_rng(3).lognormal(size=len(a))
    model = BradleyTerry(0, tol=1e-20).fit(a, b, weight, outcome=result, covariates=Z)
    X = np.hstack([np.eye(N_ITEMS)[a] - np.eye(N_ITEMS)[b], Z])
    weight *= weight.sum() / (weight @ weight)  # their sum is the effective number of votes
    _, chance, bread = firth_scores(X, result, weight)
    covariance = bread @ ((X.T * (weight**2 * chance * (1 - chance))) @ X) @ bread
    errors = [one.standard_error for one in model.effects()]
    assert errors == pytest.approx(np.sqrt(np.diag(covariance))[N_ITEMS:], rel=1e-5)


def test_a_covariate_of_ones_is_the_order_effect():
    a, b, result, _ = drawn(ties=0.2)
    for ties in ("half", "davidson"):
        ones = BradleyTerry(ties=ties).fit(a, b, outcome=result, covariates={"first": np.ones(len(a))})
        order = BradleyTerry(ties=ties, order_effect=True).fit(a, b, outcome=result)
        assert ones.prior_sd_ == pytest.approx(order.prior_sd_, rel=1e-6)
        assert ones.covariate_effects_ == pytest.approx([order.order_effect_], rel=1e-6)
        assert ones.scores_ == pytest.approx(order.scores_, abs=1e-7)
        assert ones.standard_errors() == pytest.approx(order.standard_errors(), rel=1e-6)
        assert ones.effects()[0][1:] == pytest.approx(order.effects()[0][1:], rel=1e-6)


def test_units_and_the_order_of_the_items_do_not_matter():
    a, b, result, Z = drawn()
    model = BradleyTerry().fit(a, b, outcome=result, covariates=Z)
    units = np.array([1e9, 1e-9])
    scaled = BradleyTerry().fit(a, b, outcome=result, covariates=Z * units)
    assert scaled.scores_ == pytest.approx(model.scores_, abs=1e-7)
    assert scaled.covariate_effects_ * units == pytest.approx(model.covariate_effects_, abs=1e-7)
    for one, other, unit in zip(scaled.effects(), model.effects(), units, strict=True):
        assert np.array(one[1:]) * unit == pytest.approx(other[1:], rel=1e-5)
    swap = np.random.default_rng(1).random(len(a)) < 0.5
    swapped = BradleyTerry().fit(
        np.where(swap, b, a), np.where(swap, a, b),
        outcome=np.where(swap, 1 - result, result), covariates=np.where(swap[:, None], -Z, Z),
    )  # fmt: skip
    assert swapped.scores_ == pytest.approx(model.scores_, abs=1e-7)
    assert swapped.standard_errors() == pytest.approx(model.standard_errors(), rel=1e-6)
    won = result == 1
    differences = np.where(won[:, None], Z, -Z)
    by_winner = BradleyTerry().fit(np.where(won, a, b), np.where(won, b, a), covariates=differences)
    assert by_winner.scores_ == pytest.approx(model.scores_, abs=1e-7)
    assert by_winner.covariate_effects_ == pytest.approx(model.covariate_effects_, abs=1e-7)


def test_a_confounder_is_removed_from_the_scores():
    """Items that write more win more; with the same quality, style control finds them equal."""
    rng, n = np.random.default_rng(5), 20_000
    a = rng.integers(4, size=n)
    b = (a + rng.integers(1, 4, size=n)) % 4
    length = (a - b) + rng.normal(size=n)
    result = rng.random(n) < 1 / (1 + np.exp(-0.7 * length))
    plain = BradleyTerry().fit(a, b, outcome=result)
    controlled = BradleyTerry().fit(a, b, outcome=result, covariates={"length": length})
    assert np.ptp(plain.scores_) > 1.5
    assert np.ptp(controlled.scores_) < 0.2
    (effect,) = controlled.effects()
    assert effect.low < 0.7 < effect.high
    assert controlled.predict_pair_proba(3, 0) == pytest.approx(0.5, abs=0.05)


def test_every_form_has_the_same_effects_and_its_names():
    a, b, result, Z = drawn(ties=0.1)
    columns = {"length": Z[:, 0], "side": Z[:, 1].astype(int)}
    given = [columns, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]
    models = [BradleyTerry().fit(a, b, outcome=result, covariates=one) for one in given]
    names = ["covariate length", "covariate side"]
    for model in models:
        assert [one.name for one in model.effects()] == names
        assert model.covariate_names_ == ["length", "side"]
        assert np.array_equal(model.covariate_effects_, models[0].covariate_effects_)
    numbered = BradleyTerry().fit(a, b, outcome=result, covariates=Z.tolist())
    assert [one.name for one in numbered.effects()] == ["covariate 0", "covariate 1"]
    assert np.array_equal(numbered.covariate_effects_, models[0].covariate_effects_)
    one = BradleyTerry().fit(a, b, outcome=result, covariates=pd.Series(Z[:, 0], name="length"))
    assert [effect.name for effect in one.effects()] == ["covariate length"]
    again = models[0].fit(a, b, outcome=result)
    assert again.effects() == []
    assert again.covariate_names_ == []


def test_equal_votes_are_counted():
    a, b, result, Z = drawn(3000)
    side = {"side": Z[:, 1]}
    model = BradleyTerry().fit(a, b, outcome=result, covariates=side)
    assert len(model._entries[0]) == 2 * N_ITEMS * (N_ITEMS - 1)
    assert len(BradleyTerry().fit(a, b, outcome=result, covariates=Z)._entries[0]) == 3000
    keys = a * N_ITEMS + b
    z = np.round(Z.T)
    found = count_votes(keys, z, result, np.arange(3000.0))
    expected = {}
    for key, row, won, weight in zip(keys, z.T, result, np.arange(3000.0), strict=True):
        sums = expected.setdefault((key, *row), [0.0, 0.0, 0.0])
        sums[0 if won == 1 else 1] += weight
    assert {
        (key, *row): list(sums)
        for key, row, *sums in zip(found[0], found[4].T, *found[1:4], strict=True)
    } == expected  # fmt: skip


def test_keys_of_many_clusters_are_sorted_exactly():
    rng = np.random.default_rng(0)
    keys, z = 2**60 + rng.integers(40, size=500), rng.integers(3, size=(1, 500)).astype(float)
    large, small = (count_votes(shifted, z, None, None) for shifted in (keys, keys - 2**60))
    assert np.array_equal(large[0] - 2**60, small[0])
    assert all(np.array_equal(*pair) for pair in zip(large[1:], small[1:], strict=True))
    assert (np.diff(large[0]) >= 0).all()


def test_features_half_lives_and_weights_of_zero_go_with_covariates():
    a, b, result, Z = drawn(400)
    features = {k: [float(k)] for k in range(N_ITEMS + 1)}
    model = BradleyTerry().fit(a, b, outcome=result, covariates=Z, features=features)
    assert [one.name for one in model.effects()] == ["feature 0", "covariate 0", "covariate 1"]
    assert model.covariate_effects_ == pytest.approx(GAMMA, abs=0.4)
    date = np.arange(400.0)
    faded = BradleyTerry(half_life=100).fit(a, b, outcome=result, covariates=Z, date=date)
    weighted = BradleyTerry().fit(a, b, 0.5 ** ((399 - date) / 100), outcome=result, covariates=Z)
    assert faded.effects() == weighted.effects()
    kept = np.arange(400) % 3 > 0
    dropped = BradleyTerry().fit(a, b, kept.astype(float), outcome=result, covariates=Z)
    alone = BradleyTerry().fit(a[kept], b[kept], outcome=result[kept], covariates=Z[kept])
    assert dropped.effects() == alone.effects()


def test_a_model_file_keeps_covariates(tmp_path):
    a, b, result, Z = drawn(200, ties=0.2)
    for options in ({}, {"cluster": np.arange(200) % 9}, {"weight": np.linspace(0.1, 2, 200)}):
        model = BradleyTerry(ties="davidson", order_effect=True)
        model.fit(a, b, outcome=result, covariates={"length": Z[:, 0], "side": Z[:, 1]}, **options)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert loaded.leaderboard() == model.leaderboard()
        assert loaded.effects() == model.effects()
        assert loaded.covariate_names_ == ["length", "side"]


@pytest.mark.parametrize(
    "change",
    [
        {"covariate_names_": ["length"]},
        {"covariate_names_": []},
        {"covariate_effects_": np.zeros(2)},
        {"covariate_effects_": np.zeros(1)},
        {"_covariate_scale": np.zeros(2)},
        {"_covariate_scale": None},
        {"_covariates": None},
        {"_covariates": np.zeros((2, 3))},
    ],
)
def test_a_model_file_with_wrong_covariates_is_refused(change, tmp_path):
    a, b, result, Z = drawn(50)
    model = BradleyTerry().fit(a, b, outcome=result, covariates=Z, cluster=np.arange(50) % 5)
    for name, value in change.items():
        setattr(model, name, value)
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        ({"x": [1.0, None, 2.0]}, "Covariate 'x' is missing in row 1; fill it in or leave the vote out"),
        (pd.DataFrame({"x": [1.0, 2.0, np.nan]}), "Covariate 'x' is missing in row 2"),
        ({"x": [1.0, np.inf, 2.0]}, "Covariate 'x' is infinite in row 1"),
        ({"x": ["en", "de", "en"]}, "must hold numbers; got 'en' in row 0. Of categories, make columns"),
        ({"x": [0, 0, 0]}, "Covariate 'x' is 0 in every vote of positive weight"),
        ({"x": [1, 2]}, "Covariate 'x' has 2 entries for 3 matches"),
        ({}, "covariates has no columns"),
        (np.zeros((3, 1, 1)), "one row per vote; got ndarray of shape"),
        (pd.DataFrame([[1, 2], [2, 3], [3, 4]], columns=["x", "x"]), "columns of different names"),
    ],
)
def test_bad_covariates_are_refused(covariates, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry().fit(["a", "b", "a"], ["b", "c", "c"], outcome=[1, 0, 1], covariates=covariates)


def test_winners_and_losers_take_differences_only():
    with pytest.raises(ValueError, match="'language' has one sign in all votes"):
        BradleyTerry().fit(["a", "b", "a"], ["b", "c", "c"], covariates={"language": [1, 0, 1]})
    BradleyTerry().fit(["a", "b", "a"], ["b", "c", "c"], covariates={"length": [1, -2, 1]})


def test_covariates_that_cannot_be_distinguished_are_named():
    a, b, result, Z = drawn(200)
    price = np.arange(N_ITEMS)[a] - np.arange(N_ITEMS)[b]
    given = {"length": Z[:, 0], "price": price}
    with pytest.warns(UserWarning, match="The effects of price cannot be distinguished from scores or each"):
        model = BradleyTerry().fit(a, b, outcome=result, covariates=given)
    assert model.effects()[1].standard_error < 10
    with pytest.raises(
        ValueError, match=r"effects of price cannot be distinguished .* give a positive alpha"
    ):
        BradleyTerry(alpha=0).fit(a, b, outcome=result, covariates=given)
    with pytest.warns(UserWarning, match="The effects of x and y cannot be distinguished"):
        BradleyTerry().fit(a, b, outcome=result, covariates={"x": Z[:, 0], "y": -3 * Z[:, 0], "z": Z[:, 1]})
    model = BradleyTerry(order_effect=True)
    with pytest.warns(UserWarning, match=r"effects of first .* the order effect or each other"):
        model.fit(a, b, outcome=result, covariates={"first": np.full(200, 2.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BradleyTerry(order_effect=True).fit(a, b, outcome=result, covariates=Z)


def test_perfect_prediction_without_a_penalty_is_refused():
    a, b, result, _ = drawn(200)
    with pytest.raises(ValueError, match="scores or effects are unbounded"):
        BradleyTerry(alpha=0).fit(a, b, outcome=result, covariates={"x": 2 * result - 1})


@pytest.fixture
def votes(tmp_path):
    a, b, result, Z = drawn(300)
    names = np.array(["NA", "two", "3", "x", "y", "z"])
    frame = pd.DataFrame({"a": names[a], "b": names[b], "won": result, "length": Z[:, 0], "side": Z[:, 1]})
    frame.to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path / "votes.csv", frame


def test_the_command_and_the_page_show_the_effects(votes, capsys, tmp_path):
    path, frame = votes
    columns = ["--a", "a", "--b", "b", "--outcome", "won", "--covariates", "length", "side"]
    page = tmp_path / "page.html"
    model = BradleyTerry().fit(
        frame["a"], frame["b"], outcome=frame.won, covariates=frame[["length", "side"]]
    )
    assert main(["leaderboard", str(path), *columns, "-o", str(page)]) == 0
    length, _ = model.effects()
    printed = capsys.readouterr().out
    assert f"covariate length {length.value:.3g} ({length.low:.3g} to {length.high:.3g})" in printed
    found = Page(page.read_text(encoding="utf-8"))
    assert found.names("covariates") == ["length", "side"]
    assert found.column("covariates", "Effect") == pytest.approx(model.covariate_effects_)
    plain = BradleyTerry().fit(["x"], ["y"])
    assert "Covariates of matches" not in leaderboard_page(plain, plain.leaderboard())
    assert main(["leaderboard", str(path), *columns, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in values["effects"]] == ["covariate length", "covariate side"]
    frame.assign(side="left").to_csv(path, index=False)
    assert main(["leaderboard", str(path), *columns]) == 1
    assert "Covariate 'side' must hold numbers; got 'left' in row 0" in capsys.readouterr().err
    frame.assign(length=frame.length.where(frame.index != 7)).to_csv(path, index=False)
    assert main(["leaderboard", str(path), *columns]) == 1
    assert "Covariate 'length' is missing in row 7" in capsys.readouterr().err
