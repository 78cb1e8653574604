"""What estimators declare: what their fits leave, and their options in the shell."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from rankwise import estimators
from rankwise.cli.arguments import UsageError
from rankwise.cli.main import build_parser, main
from rankwise.cli.model_options import declared_options, methods
from rankwise.cli.models import recipe_of
from rankwise.core.stored import Array, Numbers, Value, declared, undeclared
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.completion import INTERNAL
from rankwise.estimators.inputs import read_rows
from rankwise.estimators.parameters import Strength, option
from rankwise.io.model_file import load_model, save_model
from rankwise.leaderboard import BradleyTerry

KINDS = [getattr(estimators, name) for name in estimators.__all__]
RANKERS = [kind for kind in KINDS if issubclass(kind, BaseRanker)]
# What a fit leaves that no file holds: LightGBM's object for the trees, and what only the fit itself needs.
TRANSIENT = {"_booster", "_fold_temperature"}
X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 3


@pytest.fixture(scope="module", params=RANKERS, ids=lambda kind: kind.__name__)
def model(request):
    if "Boosted" in request.param.__name__:
        pytest.importorskip("lightgbm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return request.param().fit(X, Y)


def test_what_a_fit_leaves_is_declared(model):
    learned = set(vars(model)) - set(model.get_params(deep=False)) - TRANSIENT
    assert learned <= set(declared(type(model)))
    assert list(undeclared(model)) == []


def test_a_required_attribute_is_missed(model):
    for name, declaration in declared(type(model)).items():
        if declaration.required:
            value = vars(model).pop(name)
            assert name in list(undeclared(model))
            vars(model)[name] = value


def test_the_class_that_searches_has_the_estimator_as_its_plain_one():
    for kind in methods().values():
        if kind.searching and kind.tuned == "alpha":
            assert getattr(estimators, kind.searching).plain is kind


@dataclass(eq=False, repr=False, kw_only=True)
class Shift:
    """A parameter of its own."""

    shift: float = option(2.0, "distance of the classes", reader="number")
    form: str = option("plain", "form of the score", choices=("plain", "fan_out"))


@dataclass(eq=False, repr=False, kw_only=True)
class ShiftedRanker(BaseRanker, Shift, Strength):
    """Ranks by the mean of the features."""

    command = "shifted"
    searching = "ShiftedRankerCV"
    takes_tables = True
    functions = ()
    stored: ClassVar = {"mean_": Value((float,), required=True)}

    def fit(self, X, y, qid=None):
        X = read_rows(self, X)
        self.n_pairs_, self.mean_ = len(y), float(np.nanmean(X)) + self.shift
        return self

    def predict(self, X):
        return np.nan_to_num(self.validated(X, reset=False)).mean(axis=1) - self.mean_


class ShiftedRankerCV(ShiftedRanker):
    """Chooses nothing: it says what it was asked for."""

    command = ""
    default_scoring = "ndcg"
    cv: Any = 5
    scoring: Any = None

    def __init__(self, alpha=1e-3, *, cv=5, scoring=None, shift=2.0, form="plain", alphas=None):
        self.alpha, self.cv, self.scoring, self.shift, self.form = alpha, cv, scoring, shift, form
        self.alphas = alphas


@pytest.fixture
def shifted(monkeypatch):
    """An estimator that is named in the two places: the module of estimators, and its list of names."""
    for kind in (ShiftedRanker, ShiftedRankerCV):
        monkeypatch.setattr(estimators, kind.__name__, kind, raising=False)
    names = [*estimators.__all__, "ShiftedRanker", "ShiftedRankerCV"]
    monkeypatch.setattr(estimators, "__all__", names)


def options_of(*given):
    return build_parser().parse_args(["train", "rows.txt", "-o", "model", "--method", "shifted", *given])


def test_a_new_estimator_is_in_the_shell(shifted, capsys):
    assert methods()["shifted"] is ShiftedRanker
    recipe = recipe_of(options_of("--shift", "-3", "--form", "fan-out"))
    ranker = recipe.ranker(alpha=0.5)
    assert (type(ranker), ranker.shift, ranker.form, ranker.alpha) == (ShiftedRanker, -3.0, "fan_out", 0.5)
    assert recipe.takes_tables
    for given, message in (
        (["--form", "round"], "--form must be one of plain, fan-out with --method shifted; got round"),
        (["--gamma", "1"], "--gamma cannot be used with --method shifted"),
        (["--metric", "log-loss", "--tune"], "--metric log-loss cannot be used with --method shifted"),
    ):
        with pytest.raises(UsageError, match=message):
            recipe_of(options_of(*given))
    with pytest.raises(SystemExit):
        options_of("--help", "all")
    words = " ".join(capsys.readouterr().out.split())
    assert "--shift NUMBER distance of the classes (shifted; default: 2.0)" in words
    assert "--form {plain,fan-out} form of the score (shifted; default: plain)" in words
    with pytest.raises(SystemExit):
        options_of("--help", "shifted")
    words = " ".join(capsys.readouterr().out.split())
    assert "--alpha NUMBER" in words
    assert "--shift NUMBER distance of the classes (default: 2.0)" in words
    assert "--gamma" not in words


def test_a_new_estimator_is_searched_by_the_class_that_it_names(shifted):
    options = options_of("--tune", "--folds", "3")
    recipe = recipe_of(options)
    search = recipe.searching(options)
    assert (type(search), search.cv, search.scoring) == (ShiftedRankerCV, 3, "ndcg")


def test_a_new_estimator_has_a_model_file(shifted, tmp_path):
    model = ShiftedRanker(shift=1.0).fit(X, Y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert vars(loaded) == vars(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    model.mean_ = "far"
    assert "mean_" in list(undeclared(model))


class BiasedBradleyTerry(BradleyTerry):
    """A leaderboard of its own, with one attribute more."""

    stored: ClassVar = {"bias_": Value((float,), required=True)}


def test_a_new_leaderboard_has_a_model_file_that_only_its_command_reads(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(estimators, "BiasedBradleyTerry", BiasedBradleyTerry, raising=False)
    monkeypatch.setattr(estimators, "__all__", [*estimators.__all__, "BiasedBradleyTerry"])
    model, path = BiasedBradleyTerry().fit(["x", "y", "x"], ["y", "z", "z"]), tmp_path / "model.json"
    model.bias_ = 0.5
    save_model(model, path)
    loaded = load_model(path)
    assert (type(loaded), loaded.bias_) == (BiasedBradleyTerry, 0.5)
    assert loaded.leaderboard() == model.leaderboard()
    assert main(["leaderboard", str(path)]) == 0
    assert main(["predict", str(path), "rows.txt"]) != 0
    assert "scores named items, not rows; use `rankwise leaderboard`" in capsys.readouterr().err


def test_a_new_estimator_trains_in_the_shell(shifted, tmp_path):
    rows = "\n".join(f"{label} 1:{first} 2:{second}" for label, (first, second, _) in zip(Y, X, strict=True))
    (tmp_path / "rows.txt").write_text(rows)
    command = ["train", str(tmp_path / "rows.txt"), "-o", str(tmp_path / "model.json"), "--method", "shifted"]
    assert main([*command, "--shift", "5", "-q"]) == 0
    assert load_model(tmp_path / "model.json").shift == 5.0


def test_an_option_is_a_field_with_the_default_of_the_estimator():
    for name, fields in declared_options().items():
        for method, field in fields.items():
            assert getattr(methods()[method](), name) == field.default
        assert any(field.metadata.get("help") for field in fields.values())


@pytest.mark.parametrize(
    ("declaration", "right", "wrong"),
    [
        (Array(("n", 2)), np.zeros((4, 2)), [np.zeros((2, 4)), np.zeros(2), np.zeros((4, 2), int), None]),
        (Array(("k?", "n")), np.zeros((3, 4)), [np.zeros((0, 4)), np.zeros((1, 1, 4)), np.zeros(3)]),
        (Array(("n-1",)), np.zeros(3), [np.zeros(4)]),
        (Array(("n",)), np.zeros(4), [np.full(4, np.nan), np.full(4, np.inf)]),
        (Array(("n",), finite=False), np.full(4, np.inf), [np.full(4, np.nan)]),
        (Array(("n",), has_norm=True), np.full(4, 1e100), [np.full(4, 1e200)]),
        (Array(("n",), low=0, high=1), np.ones(4), [np.full(4, 2.0), np.full(4, -1.0)]),
        (Array(("n",), ascending=True), np.arange(4.0), [-np.arange(4.0)]),
        (
            Array(("n",), "OU", text=True),
            np.array(list("abcd")),
            [np.array(["a", "b", "c", 1], dtype=object)],
        ),
        (Value((int,), low=1), 3, [0, True, 3.0, "3", None]),
        (Value((int,), size="n"), 4, [5]),
        (Value((list,), check=lambda value, sizes: len(value) == sizes["n"]), [0] * 4, [[], (0, 0, 0, 0)]),
        (Numbers(), np.array([np.nan]), ["1", None, True, np.array(["1"])]),
    ],
)
def test_declarations_accept_what_they_state(declaration, right, wrong):
    assert declaration.accepts(right, {"n": 4})
    for value in wrong:
        assert not declaration.accepts(value, {"n": 4}), value


@pytest.mark.parametrize("kind", RANKERS, ids=lambda kind: kind.__name__)
def test_completion_offers_what_users_need(kind):
    names = {name for name in dir(kind()) if not name.startswith("_")}
    assert {"fit", "predict", "rank", "score", *kind().get_params()} <= names
    assert not names & INTERNAL
    assert len(names - kind().get_params().keys()) <= 20
