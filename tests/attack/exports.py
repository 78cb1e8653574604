"""Exported models evaluated by other programs, row by row, against `predict`."""

import json
import tempfile
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from attack.draws import choice, problem
from rankwise import CurveRanker, RankLogistic, RankRLS, RankSVM, export_model
from test_curve_ranker import plain_score
from test_export import in_c, in_onnxruntime, in_sqlite

NAMES = ['a "quoted" name', "SELECT", "b*/ + 1; --", "größe ∑ /* x", "e"]
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
RANKERS = (RankSVM, RankLogistic, RankRLS)


def case(rng):
    """Export one model in one format."""
    X, y, _ = problem(rng, most_rows=60)
    if rng.random() < 0.5:
        return curves(rng, X, y)
    steps = [choice(rng, SCALERS)()] if rng.random() < 0.5 else []
    model = make_pipeline(*steps, choice(rng, RANKERS)()).fit(X, y)
    new = np.vstack([X, X.mean(axis=0) + X.std(axis=0) * rng.normal(size=(20, X.shape[1]))])
    return compare(rng, model, new, ["c", "sql", "onnx"])


def curves(rng, X, y):
    """Rows of curves may miss values, lie outside of the fit or exactly on a knot."""
    X = np.round(X, 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = CurveRanker(n_bins=int(rng.integers(2, 20)), shape=choice(rng, ["steps", "lines"]))
    model.set_params(interactions=int(rng.integers(0, 2)) if X.shape[1] > 1 else 0).fit(X, y)
    outside = np.full((2, X.shape[1]), np.nan)
    outside[0] = choice(rng, [-1e6, 1e6, 0.0])
    return compare(rng, model, np.vstack([X, outside]), ["c", "sql", "onnx", "json"])


def compare(rng, model, rows, formats):
    """Every row has the score of `predict`."""
    names, format = NAMES[: rows.shape[1]], choice(rng, formats)
    options = {"dtype": "float64"} if format == "onnx" else {}
    content = export_model(model, None, format, feature_names=names, **options)
    expected = model.predict(rows)
    scores = EVALUATORS[format](content, rows, names)
    size = 1 + np.abs(expected).max() + terms(model, rows)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-13 * size, err_msg=format)
    return len(rows)


def terms(model, rows):
    """The size of the products that are added up to a score: scaled features far from zero cancel."""
    if isinstance(model, CurveRanker):
        return 1.0
    scale = getattr(model[0], "scale_", 1.0) if len(model) > 1 else 1.0
    factor = 1.0 / scale if not isinstance(model[0], MinMaxScaler) else scale
    return float(np.abs(rows * factor * model[-1].coef_).sum(axis=1).max())


def by_c(source, rows, names):
    with tempfile.TemporaryDirectory() as folder:
        return in_c(source, rows, Path(folder))


def by_sql(expression, rows, names):
    return in_sqlite(expression, np.where(np.isnan(rows), None, rows), names)


def by_json(text, rows, names):
    tables = json.loads(text)["tables"]
    return np.array([plain_score(tables, dict(zip(names, row, strict=True))) for row in rows])


def by_onnx(content, rows, names):
    return in_onnxruntime(content, rows, "float64")


EVALUATORS = {"c": by_c, "sql": by_sql, "json": by_json, "onnx": by_onnx}
