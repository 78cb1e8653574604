"""The choice of alpha for curves on Dask: the folds, the bins, the errors and the choice of memory."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from rankwise import CurveRanker, CurveRankerCV, Preferences, load_model, save_model
from rankwise.curves.axis import Axis
from rankwise.curves.screen import memory_cell_sums
from rankwise.data.tally import Tally
from rankwise.distributed import gathered, scatter
from rankwise.distributed.curve_table import CurveTable
from rankwise.model_selection import QueryKFold

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe", reason="needs rankwise[dask]")

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")

N = 180
rng = np.random.default_rng(5)
X = np.round(rng.normal(size=(N, 3)), 2)
Y = np.round(np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N), 1)
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
QID = np.arange(N) // 20
WEIGHT = np.where(np.arange(N) % 5 > 0, 1.0 + np.arange(N) % 3, 0.0)
WHOLE, CUT = (0, 60, 60, N), (0, 70, N)  # queries lie in partitions, or are cut by their borders
ALPHAS = [3e-2, 3e-3]  # at larger ones few pairs have the margin, and many scores are tied


def searching(**options):
    return CurveRankerCV(**{"alphas": ALPHAS, "cv": 2, "n_bins": 12} | options)


def blocks(rows, borders=CUT):
    return [dask.delayed(rows[begin:end]) for begin, end in pairwise(borders)]


def assert_same_choice(there, here):
    np.testing.assert_allclose(there.alphas_, here.alphas_, rtol=1e-9)
    np.testing.assert_allclose(there.cv_errors_, here.cv_errors_)
    assert there.alpha_ == pytest.approx(here.alpha_)
    assert there.scoring_ == here.scoring_
    assert there.pairs_.tolist() == here.pairs_.tolist()
    for left, right in zip(there.knots_, here.knots_, strict=True):
        np.testing.assert_array_equal(left, right)
    assert there.objective_ == pytest.approx(here.objective_, abs=here.tol)


def compare(model, y=Y, borders=CUT, rows=GAPS, **columns):
    here, there = clone(model).fit(rows, y, **columns), clone(model).fit(blocks(rows, borders), y, **columns)
    assert_same_choice(there, here)
    return there


FORMS = {
    "one ranking": {},
    "whole queries": {"qid": QID, "borders": WHOLE},
    "cut queries": {"qid": QID, "sample_weight": WEIGHT},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_choice_is_that_of_memory(loss, form):
    found = compare(searching(loss=loss), **FORMS[form])
    assert found.rounds_.rounds > 0


@pytest.mark.parametrize(
    "options",
    [
        {"interactions": 2, "interaction_bins": 4},
        {"interactions": [(0, 2)], "interaction_bins": 4, "loss": "logistic"},
        {"shape": "lines", "loss": "squared_hinge"},
        {"monotone": {0: 1, 1: -1}},
        {"categorical_features": [2], "scoring": "tau"},
        {"cv": GroupKFold(3), "average": "pairs"},
        {"cv": QueryKFold(2)},
        {"cv": [(np.arange(N) % 3 > 0, np.arange(N) % 3 == 0), (np.arange(100), np.arange(100, N))]},
    ],
)
def test_options_and_folds_are_those_of_memory(options):
    rows = np.round(GAPS) if "categorical_features" in options else GAPS
    compare(searching(**options), rows=rows, qid=QID)


def test_many_rows_descend_as_in_memory():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(9000, 2))
    y = np.round(np.abs(rows[:, 0]) + rows[:, 1] + generator.normal(size=9000))
    compare(searching(), y, (0, 4000, 9000), rows, qid=np.arange(9000) // 30)


def test_explicit_pairs_are_split_as_in_memory():
    pairs = np.random.default_rng(0).integers(0, N, (400, 2))
    pairs = pairs[Y[pairs[:, 0]] > Y[pairs[:, 1]]]
    compare(searching(), Preferences.from_pairs(*pairs.T, n_rows=N))


def test_words_and_gaps_of_a_dask_dataframe(tmp_path):
    frame = pd.DataFrame({"x": GAPS[:, 0], "z": X[:, 1]})
    frame["grape"] = np.array(["merlot", "syrah", None], dtype=object)[np.arange(N) % 7 % 3]
    frame.loc[3, "grape"] = "a rare one"  # in one fold only
    here = searching().fit(frame, Y, qid=QID)
    there = searching().fit(dd.from_pandas(frame, npartitions=3, sort=False), Y, qid=QID)
    assert_same_choice(there, here)
    assert there.categories_ == here.categories_
    save_model(there, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.alpha_ == there.alpha_
    np.testing.assert_array_equal(gathered(loaded.predict(blocks(frame))), there.predict(frame))


@pytest.mark.parametrize("elsewhere", [True, False])
def test_validation_rows_may_be_on_dask_or_in_memory(elsewhere):
    words = np.array(["merlot", "syrah", "unknown"])[np.where(np.arange(N) < 150, np.arange(N) % 2, 2)]
    frame = pd.DataFrame({"x": GAPS[:, 0], "z": X[:, 1], "grape": words})
    train, test = frame[:120], frame[120:]
    fitted = [
        searching().fit(rows, Y[:120], qid=QID[:120], validation=(held_out, Y[120:], QID[120:]))
        for rows, held_out in (
            (train, test),
            (blocks(train, (0, 70, 120)), blocks(test, (0, 20, 60)) if elsewhere else test),
        )
    ]
    assert_same_choice(*fitted)
    assert fitted[1].cv_errors_.shape == (2, 1)


@pytest.mark.parametrize("n_queries", [1, 3, 9])
def test_alpha_auto_is_that_of_memory(n_queries):
    qid = {} if n_queries == 1 else {"qid": QID * n_queries // 9}
    here, there = (CurveRanker(n_bins=4).fit(rows, Y, **qid) for rows in (X, blocks(X)))
    assert_same_choice(there, here)
    assert there.cv_errors_.shape[1] == (3 if n_queries == 3 else 5)
    assert there.alpha == "auto"


def test_few_rows_have_the_alpha_of_memory():
    here, there = (CurveRanker().fit(rows, [0.0, 1.0, 2.0]) for rows in (X[:3], blocks(X[:3], (0, 1, 3))))
    assert there.alpha_ == pytest.approx(here.alpha_)


def test_scattered_rows_choose_as_in_memory(client):
    model = searching(interactions=1, interaction_bins=4, alphas=ALPHAS[:1])
    there = clone(model).fit(scatter(GAPS, n_partitions=2), Y, qid=QID)
    assert_same_choice(there, clone(model).fit(GAPS, Y, qid=QID))
    assert there.rounds_.bytes_moved > 0


# Rounds that fits share


def test_rounds_serve_all_parts_and_give_the_numbers_of_their_rows():
    axes = [Axis("steps", np.array([-0.5, 0.5])) for _ in range(3)]
    weights = np.random.default_rng(1).normal(size=(3, N))
    parts = [np.arange(k, N, 4) for k in range(4)]

    def rounds_of(n_parts):
        table = CurveTable(blocks(GAPS), CurveRanker())
        shared, before = table.passes, table.log.rounds

        def task(rows):
            part = shared.part(rows)
            columns = part.columns(np.arange(len(rows)) % 2 == 0)
            sums = part.cell_sums(axes, list(weights[:, rows]))
            return [columns.tally(j) for j in range(3)], columns.counts(axes), sums

        found = shared.run([lambda rows=rows: task(rows) for rows in parts[:n_parts]])
        return found, table.log.rounds - before

    (alone, few), (together, many) = rounds_of(1), rounds_of(4)
    assert few == many == 1
    assert len(alone) == 1
    for rows, (tallies, counts, sums) in zip(parts, together, strict=True):
        chosen = GAPS[rows[::2]]
        for j, tally in enumerate(tallies):
            expected = Tally.of(chosen[:, j])
            np.testing.assert_array_equal(tally.values, expected.values)
            np.testing.assert_array_equal(tally.counts, expected.counts)
            np.testing.assert_array_equal(counts[j], axes[j].counts(chosen[:, j]))
        for found, expected in zip(
            sums, memory_cell_sums(GAPS[rows])(axes, list(weights[:, rows])), strict=True
        ):
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_more_folds_take_hardly_more_rounds():
    rounds = [searching(alphas=[10.0], cv=cv).fit(blocks(X), Y, qid=QID).rounds_.rounds for cv in (2, 6)]
    assert rounds[1] <= 1.5 * rounds[0]


# What is refused


def test_what_needs_rows_in_memory_is_refused():
    with pytest.raises(ValueError, match=r"cv='leave-query-out' needs all rows in one place.*use folds"):
        CurveRankerCV(cv="leave-query-out", loss="logistic").fit(blocks(X), Y, qid=QID)
    with pytest.raises(ValueError, match="A scorer takes rows in memory, but X is on Dask"):
        CurveRankerCV(scoring=lambda model, X, y: 0.0).fit(blocks(X), Y, qid=QID)
    with pytest.raises(ValueError, match="X of validation has 2 features, but X has 3"):
        CurveRankerCV().fit(blocks(X), Y, validation=(blocks(X[:, :2]), Y))
