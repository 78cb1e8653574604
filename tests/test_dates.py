"""Dates are days since 1970-01-01, whatever unit, library or time zone they come with."""

import datetime

import numpy as np
import pandas as pd
import pytest

from rankwise import BoostedRanker, CurveRanker, KernelRanker, RankLogistic, RankRLS, RankSVM
from rankwise.data.frames import with_days
from rankwise.preprocessing import QueryScaler

pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")

UNITS = ("s", "ms", "us", "ns")
DATES = pd.date_range("2020-01-01", periods=8, freq="36h")
DAYS = 18262 + 1.5 * np.arange(8)
RANKERS = (
    RankSVM(),
    RankLogistic(),
    RankRLS(),
    CurveRanker(),
    KernelRanker(),
    BoostedRanker(n_estimators=3, min_child_samples=1),
)


def frames():
    """Return the same dates in every form, by name."""
    for unit in UNITS:
        yield f"numpy [{unit}]", DATES.to_numpy().astype(f"datetime64[{unit}]")[:, None]
        yield f"pandas [{unit}]", pd.DataFrame({"t": DATES.astype(f"datetime64[{unit}]")})
    yield "zoned", pd.DataFrame({"t": DATES.tz_localize("UTC").tz_convert("Asia/Tokyo")})
    yield "objects", pd.DataFrame({"t": pd.Series([date.to_pydatetime() for date in DATES], dtype=object)})
    yield "arrow", pd.DataFrame({"t": pd.Series(DATES).astype("timestamp[us][pyarrow]")})
    for unit in UNITS[1:]:
        yield f"polars [{unit}]", pl.DataFrame({"t": list(DATES.to_pydatetime())}).cast(pl.Datetime(unit))
    yield (
        "polars, zoned",
        pl.DataFrame({"t": list(DATES.to_pydatetime())}).with_columns(
            pl.col("t").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
        ),
    )
    for unit in UNITS:
        yield f"pyarrow [{unit}]", pa.table({"t": pa.array(DATES.to_numpy()).cast(pa.timestamp(unit))})
    yield "pyarrow, zoned", pa.table({"t": pa.array(DATES.tz_localize("UTC").tz_convert("Asia/Tokyo"))})


FORMS = dict(frames())


@pytest.mark.parametrize("form", FORMS)
def test_dates_of_any_form_are_the_same_days(form):
    np.testing.assert_array_equal(np.asarray(with_days(FORMS[form]), dtype=float).ravel(), DAYS)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_scores_do_not_depend_on_the_unit_of_dates(ranker):
    expected = ranker.fit(DAYS[:, None], np.arange(8)).predict(DAYS[:, None])
    for form, X in FORMS.items():
        model = ranker.fit(X, np.arange(8))
        np.testing.assert_array_equal(model.predict(X), expected, err_msg=form)
    by_frame = ranker.fit(FORMS["pandas [us]"], np.arange(8))
    np.testing.assert_array_equal(by_frame.predict(FORMS["pandas [s]"]), expected)


def test_dates_beside_numbers_and_categories():
    X = pd.DataFrame({"t": DATES, "x": np.arange(8.0), "c": pd.Categorical(list("abababab"))})
    plain = X.assign(t=DAYS)
    for ranker in (CurveRanker(), BoostedRanker(n_estimators=3, min_child_samples=1)):
        expected = ranker.fit(plain, np.arange(8)).predict(plain)
        np.testing.assert_array_equal(ranker.fit(X, np.arange(8)).predict(X), expected)
    coef = RankSVM().fit(plain[["t", "x"]], np.arange(8)).coef_
    np.testing.assert_array_equal(RankSVM().fit(X[["t", "x"]], np.arange(8)).coef_, coef)


def test_the_scaler_of_queries_takes_dates():
    qid = [1] * 4 + [2] * 4
    scaled = QueryScaler().fit_transform(FORMS["pandas [s]"], qid=qid)
    np.testing.assert_array_equal(scaled, QueryScaler().fit_transform(DAYS[:, None], qid=qid))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_missing_date_is_missing(frame):
    X = frame({"t": [None, *DATES.to_pydatetime()[1:]]})
    assert np.isnan(np.asarray(with_days(X))[0, 0])
    with pytest.raises(ValueError, match="missing values in 't'"):
        RankSVM().fit(X, np.arange(8))
    plain = np.r_[np.nan, DAYS[1:]][:, None]
    for ranker in (CurveRanker(), BoostedRanker(n_estimators=3, min_child_samples=1)):
        expected = ranker.fit(plain, np.arange(8)).predict(plain)
        np.testing.assert_array_equal(ranker.fit(X, np.arange(8)).predict(X), expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_days_without_a_time_and_durations(frame):
    days = [datetime.date(1970, 1, 2), datetime.date(1969, 12, 31)]
    hours = [datetime.timedelta(hours=12), datetime.timedelta(hours=-6)]
    X = frame({"day": days, "length": hours})
    np.testing.assert_array_equal(np.asarray(with_days(X)), [[1.0, 0.5], [-1.0, -0.25]])


def test_times_of_day_are_refused_by_name():
    X = pd.DataFrame({"closing": [datetime.time(18), datetime.time(19)]})
    with pytest.raises(ValueError, match="'closing'"):
        RankSVM().fit(X, [0, 1])


def test_a_row_with_a_date_is_explained():
    X = pd.DataFrame({"t": DATES, "x": np.arange(8.0) ** 2})
    model = RankSVM(1.0).fit(X, np.arange(8))
    parts = model.explain_pair(X.iloc[3], X.iloc[[1]])
    np.testing.assert_allclose(parts, model.coef_ * [3.0, 8.0])
