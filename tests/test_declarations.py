"""What estimators declare: what their fits leave, and their options in the shell."""

import dataclasses
import warnings

import numpy as np
import pytest

from rankwise import estimators
from rankwise.cli.model_options import OPTIONS, methods
from rankwise.core.stored import Array, Numbers, Value, declared, undeclared
from rankwise.estimators.base import BaseRanker

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


def test_every_option_is_a_parameter():
    parameters = {field.name for kind in methods().values() for field in dataclasses.fields(kind)}
    assert set(OPTIONS) <= parameters


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
