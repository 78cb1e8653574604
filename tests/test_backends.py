"""A new backend of rows is one package: nothing in the library names it."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rankwise import OrdinalSVM, RankRLS, RankSVM
from rankwise.core import backends
from rankwise.core.backends import Backend, backend_of, in_memory, register
from rankwise.data.design import Design, as_design

generator = np.random.default_rng(5)
X = generator.normal(size=(60, 3))
y = X @ [1.0, -2.0, 0.5] + generator.normal(size=60)


class Shelf:
    """Rows, or a column, in several pieces."""

    def __init__(self, values, n_pieces=3):
        self.pieces = np.array_split(np.asarray(values), n_pieces)


class ShelfDesign(Design):
    location = "on the shelf"

    def __init__(self, shelf):
        super().__init__((sum(map(len, shelf.pieces)), shelf.pieces[0].shape[1]))
        self.pieces = [as_design(piece) for piece in shelf.pieces]
        self.borders = np.cumsum([piece.shape[0] for piece in self.pieces])[:-1]
        self.log = ["loaded"]

    @property
    def stored(self):
        return self.shape[0] * self.shape[1]

    def _matvec(self, w):
        return np.concatenate([piece.matvec(w) for piece in self.pieces])

    def _rmatvec(self, c):
        parts = np.split(c, self.borders)
        return sum(piece.rmatvec(part) for piece, part in zip(self.pieces, parts, strict=True))

    def weighted_squares(self, c):
        parts = np.split(c, self.borders)
        return sum(piece.weighted_squares(part) for piece, part in zip(self.pieces, parts, strict=True))

    def column_scale(self):
        return np.max([piece.column_scale() for piece in self.pieces], axis=0)


class ShelfBackend(Backend):
    name = "on the shelf"

    def holds(self, values):
        return isinstance(values, Shelf)

    def design(self, X):
        return ShelfDesign(X)

    def column(self, values):
        return np.concatenate(values.pieces)

    def mapped(self, function, X, qid=None, shape=()):
        return Shelf(function(np.concatenate(X.pieces)))


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    monkeypatch.setattr(backends, "_backends", list(backends._backends))
    register(ShelfBackend())


@pytest.mark.parametrize(
    "model",
    [RankSVM(1e-2, tol=1e-9), RankSVM(1e-2, loss="squared_hinge", tol=1e-9), RankRLS(1e-2, solver="cg")],
    ids=repr,
)
def test_rows_of_a_backend_give_the_same_model(model):
    expected = model.fit(X, y)
    coef, score = expected.coef_, expected.score(X, y)
    model.fit(Shelf(X), Shelf(y))
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-5, atol=1e-8)
    assert model.rounds_ == ["loaded"]
    assert isinstance(model.predict(Shelf(X)), Shelf)
    assert model.score(Shelf(X), Shelf(y)) == pytest.approx(score, abs=1e-12)
    np.testing.assert_array_equal(model.rank(Shelf(X)), model.rank(X))


def test_what_a_backend_cannot_do_is_refused_by_its_name():
    with pytest.raises(ValueError, match="kernel='rbf' needs all rows in one place, but X is on the shelf"):
        RankSVM(kernel="rbf").fit(Shelf(X), y)
    with pytest.raises(ValueError, match="solver='dual' needs all rows in one place, but X is on the shelf"):
        RankRLS(solver="dual").fit(Shelf(X), y)
    with pytest.raises(NotFittedError):
        RankSVM().predict(Shelf(X))


def test_a_backend_is_registered_once():
    register(ShelfBackend())
    assert sum(backend.name == "on the shelf" for backend in backends._backends) == 1
    assert backend_of(Shelf(X)).name == "on the shelf"
    assert backend_of(X) is None
    assert in_memory(y) is y
    np.testing.assert_array_equal(in_memory(Shelf(y)), y)


def test_ordinal_labels_may_be_in_a_backend():
    labels = np.digitize(y, [-1.0, 1.0])
    assert OrdinalSVM().fit(Shelf(X), Shelf(labels)).score(X, Shelf(labels)) > 0.6
