"""Pipelines on Dask: the ordinary fitted steps, equal to those of memory."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from rankwise import RankRLS, RankSVM, load_model, save_model
from rankwise.distributed import (
    Partitions,
    fit_pipeline,
    fit_steps,
    gathered,
    lazy_predictions,
    row_blocks,
    scatter,
)
from rankwise.preprocessing import CurveFeatures, QueryScaler, TableEncoder

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
pd = pytest.importorskip("pandas")

BORDERS = (0, 30, 30, 31, 75, 120)  # an empty partition, and one of a single row
rng = np.random.default_rng(5)
X = np.round(rng.normal(size=(120, 4)) * [1.0, 5.0, 0.1, 1.0], 2)
X[:, 1] += 1e3
X[:, 3] = 7.0  # constant
Y = np.round(X[:, 0] + rng.normal(size=120), 1)
QID = np.repeat([0, 1, 2, 3, 4, 5], [30, 1, 14, 30, 25, 20])
GAPS = np.where(rng.random(X.shape) < 0.2, np.nan, X)
GAPS[31:75, 2] = np.nan  # no value in one partition
SPARSE = sp.csr_matrix(np.where(rng.random(X.shape) < 0.5, 0.0, np.abs(X)))


def blocks(rows, borders=BORDERS):
    return [dask.delayed(rows[begin:end]) for begin, end in pairwise(borders)]


def rows_of(partitions):
    found = [block.X for block in dask.compute(*partitions.blocks)]
    return sp.vstack(found).toarray() if sp.issparse(found[0]) else np.concatenate(found)


def assert_same_state(there, here):
    assert set(vars(there)) == set(vars(here))
    for name, value in vars(here).items():
        found = getattr(there, name)
        if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(found, value, rtol=1e-12, atol=0, err_msg=name)
            assert np.asarray(found).dtype == np.asarray(value).dtype
        elif isinstance(value, list | np.ndarray):
            assert len(found) == len(value)
            for left, right in zip(found, value, strict=True):
                same = np.testing.assert_array_equal if name != "counts_" else np.testing.assert_allclose
                same(left, right, err_msg=name)
        elif name not in ("indicator_", "_label_encoder"):
            assert found == value, name


STEPS = {
    "standard": (StandardScaler(), X),
    "standard, gaps": (StandardScaler(), GAPS),
    "standard, float32": (StandardScaler(), X.astype(np.float32)),
    "standard, sparse": (StandardScaler(with_mean=False), SPARSE),
    "no mean, no deviation": (StandardScaler(with_mean=False, with_std=False), X),
    "mean alone": (StandardScaler(with_std=False), GAPS),
    "extremes": (MinMaxScaler((-1, 2)), GAPS),
    "largest": (MaxAbsScaler(), GAPS),
    "largest, sparse": (MaxAbsScaler(), SPARSE),
    "imputed means": (SimpleImputer(), GAPS),
    "imputed medians": (SimpleImputer(strategy="median", add_indicator=True), GAPS),
    "imputed medians, sparse": (SimpleImputer(strategy="median"), SPARSE),
    "imputed modes": (SimpleImputer(strategy="most_frequent"), np.round(GAPS)),
    "imputed constants": (SimpleImputer(strategy="constant", fill_value=3.0), GAPS),
    "another gap": (SimpleImputer(missing_values=7.0, strategy="median", keep_empty_features=True), X),
    "stateless": (Normalizer(), X),
    "one hot": (OneHotEncoder(sparse_output=False), np.round(X[:, [0, 2]])),
    "ordinal": (OrdinalEncoder(), np.round(X[:, [0, 2]])),
    "curves": (CurveFeatures(n_bins=8), GAPS),
    "lines and tables": (CurveFeatures(n_bins=5, shape="lines", pairs=[(0, 1)]), GAPS),
    "levels": (CurveFeatures(n_bins=4, categorical_features=[2]), np.round(GAPS)),
}


@pytest.mark.filterwarnings("ignore:.*Skipping features:UserWarning")
@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_that_of_memory(name):
    step, rows = STEPS[name]
    there, here = clone(step), clone(step).fit(rows)
    found = rows_of(fit_steps([there], blocks(rows)))
    assert_same_state(there, here)
    expected = here.transform(rows)
    expected = expected.toarray() if sp.issparse(expected) else expected
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_means_far_from_zero_keep_their_digits():
    far = np.random.default_rng(0).normal(size=(900, 1)) + 1e9
    there = StandardScaler()
    fit_steps([there], blocks(far, (0, 10, 300, 900)))
    # A mean near 1e9 has an error of about 1e-7, of which a deviation of 1 sees no more.
    assert there.scale_[0] == pytest.approx(np.std(far - 1e9), rel=1e-6)


def test_steps_are_fitted_to_a_sample_that_is_spread_over_all_partitions(monkeypatch):
    monkeypatch.setattr(row_blocks, "SAMPLE_ROWS", 40)
    there = StandardScaler()
    found = rows_of(fit_steps([there], blocks(X)))
    np.testing.assert_allclose(there.mean_, X[::3].mean(axis=0))
    np.testing.assert_allclose(found, there.transform(X))
    both = [StandardScaler(), QueryScaler()]  # a sample of whole queries
    fit_steps(both, blocks(X), qid=QID)
    chosen = np.unique(QID, return_inverse=True)[1] % 3 == 0
    np.testing.assert_allclose(both[0].mean_, X[chosen].mean(axis=0))


@pytest.fixture(scope="module")
def table():
    """Words that are missing in one partition, dates, booleans, and numbers with gaps."""
    grape = np.array(["merlot", "syrah", "riesling"], dtype=object)[rng.integers(0, 3, 120)]
    grape[:30] = "merlot"
    grape[31:75] = None
    return pd.DataFrame(
        {
            "price": GAPS[:, 0],
            "grape": grape,
            "bottled": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, 120), "D"),
            "organic": rng.random(120) < 0.5,
            "size": pd.Categorical(
                rng.choice(["S", "M", "L"], 120), categories=["S", "M", "L"], ordered=True
            ),
        }
    )


@pytest.mark.parametrize("step", [TableEncoder(), CurveFeatures(n_bins=8)])
def test_words_dates_and_gaps(table, step):
    there, here = clone(step), clone(step).fit(table)
    found = rows_of(fit_steps([there], blocks(table)))
    assert_same_state(there, here)
    expected = here.transform(table)
    np.testing.assert_allclose(found, expected.toarray() if sp.issparse(expected) else expected)


def test_column_transformers(table):
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    step = ColumnTransformer(
        [
            ("numbers", numbers, ["price"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), lambda frame: ["grape", "size"]),
            ("flag", "passthrough", [3]),
        ],
        sparse_threshold=0,
    )
    there, here = clone(step), clone(step).fit(table.astype({"size": object}))
    found = rows_of(fit_steps([there], blocks(table.astype({"size": object}))))
    np.testing.assert_allclose(found, here.transform(table.astype({"size": object})), rtol=1e-12)
    assert there.get_feature_names_out().tolist() == here.get_feature_names_out().tolist()


def test_a_fitted_pipeline_is_an_ordinary_one(table, tmp_path):
    words = make_column_transformer((OneHotEncoder(), ["grape"]), (SimpleImputer(), ["price"]))
    pipelines = {
        "encoder": make_pipeline(TableEncoder(), StandardScaler(), RankRLS(1e-2)),
        "columns": make_pipeline(words, MaxAbsScaler(), RankRLS(1e-2)),
    }
    for pipeline in pipelines.values():
        here = clone(pipeline).fit(table, Y)
        there = fit_pipeline(pipeline, blocks(table), Y)
        assert there is pipeline
        save_model(there, tmp_path / "model.json")
        for model in (there, load_model(tmp_path / "model.json")):
            np.testing.assert_allclose(model.predict(table), here.predict(table), rtol=1e-9, atol=1e-9)
            scores = lazy_predictions(model, blocks(table))
            np.testing.assert_array_equal(gathered(scores), model.predict(table))


@pytest.mark.parametrize("method", ["minmax", "standard", "rank"])
def test_queries_are_scaled_where_they_lie(method):
    pipeline = make_pipeline(QueryScaler(method), RankRLS(1e-2))
    there = fit_pipeline(clone(pipeline), blocks(X), Y, qid=QID)
    with sklearn.config_context(enable_metadata_routing=True):
        here = pipeline.fit(X, Y, qid=QID)
        expected = here.predict(X, qid=QID)
    np.testing.assert_allclose(there[-1].coef_, here[-1].coef_, atol=1e-12)
    scores = lazy_predictions(there, blocks(X), qid=QID)
    np.testing.assert_allclose(scores.compute(), expected, atol=1e-12)
    assert scores.chunks == ((30, 1, 44, 45),)


def test_queries_that_are_split_cannot_be_scaled():
    with pytest.raises(ValueError, match="whole in partitions, but query 4 is split over several of them"):
        fit_steps([QueryScaler()], blocks(X, (0, 80, 120)), qid=QID)
    with pytest.raises(ValueError, match="all rows are one query over several"):
        fit_steps([QueryScaler()], blocks(X))
    model = make_pipeline(QueryScaler(), RankRLS(1e-2))
    model = fit_pipeline(model, blocks(X), Y, qid=QID)
    with pytest.raises(ValueError, match="query 4 is split"):
        lazy_predictions(model, blocks(X, (0, 80, 120)), qid=QID)


def test_scattered_rows_and_frames_of_dask():
    frame = pd.DataFrame(X, columns=list("abcd"))
    expected = make_pipeline(StandardScaler(), RankRLS(1e-2)).fit(frame, Y)
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(frame, npartitions=3)
    there = fit_pipeline(make_pipeline(StandardScaler(), RankRLS(1e-2)), parts, Y)
    assert there[0].feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(there.predict(frame), expected.predict(frame), atol=1e-9)
    np.testing.assert_allclose(lazy_predictions(there, parts).compute(), expected.predict(frame), atol=1e-9)
    rows = scatter(X, n_partitions=3)
    there = fit_pipeline(make_pipeline("passthrough", StandardScaler(), RankRLS(1e-2)), rows, Y)
    np.testing.assert_allclose(there[-1].coef_, expected[-1].coef_, atol=1e-9)


def test_copies_in_the_driver_are_transformed_if_they_are_needed():
    pieces = [X[begin:end] for begin, end in pairwise(BORDERS)]
    rows = fit_steps([StandardScaler(), QueryScaler()], Partitions(blocks(X), kept=pieces), qid=QID)
    for number, block in enumerate(dask.compute(*rows.blocks)):
        np.testing.assert_array_equal(rows.kept[number], block.X)


def test_what_cannot_be_fitted_is_refused():
    frozen = FrozenEstimator(PCA(2).fit(X))
    np.testing.assert_allclose(rows_of(fit_steps([frozen], blocks(X))), frozen.transform(X))
    with pytest.raises(ValueError, match="X is in memory"):
        fit_pipeline(make_pipeline(StandardScaler(), RankSVM()), X, Y)
    with pytest.raises(ValueError, match="Partition 1 of X has 3 features, but partition 0 has 4"):
        fit_steps([StandardScaler()], [dask.delayed(X), dask.delayed(X[:, :3])])
    with pytest.raises(ValueError, match="X has no rows"):
        fit_steps([StandardScaler()], [dask.delayed(X[:0])])


@pytest.mark.parametrize("step", [TableEncoder(), QueryScaler(), CurveFeatures(), StandardScaler()])
def test_a_pipeline_of_memory_names_the_function_for_partitions(step):
    with pytest.raises((ValueError, TypeError), match="fit_pipeline"):
        make_pipeline(step, RankSVM()).fit(scatter(X, n_partitions=2), Y)
