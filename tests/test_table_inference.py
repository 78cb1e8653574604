"""Standard errors behind an encoder of mixed tables: levels are compared with the first of their column."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import RankLogistic, RankRLS, RankSVM
from rankwise.cli.main import main
from rankwise.preprocessing import TableEncoder
from rankwise.report import Report


@pytest.fixture(scope="module")
def wines():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "grape": generator.choice(["merlot", "pinot", "riesling"], 120),
            "price": generator.normal(20, 5, 120).round(1),
            "organic": generator.random(120) < 0.3,
        }
    )
    rating = (frame.grape == "pinot") + 0.1 * frame.price + generator.normal(size=120)
    frame.loc[::11, "price"] = np.nan
    frame.loc[::13, "grape"] = None
    return frame, rating.to_numpy()


def reduced(frame):
    """Return the encoded columns without those of the first level."""
    encoder = TableEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    kept = [k for k, name in enumerate(names) if name != "grape=merlot"]
    return encoder.transform(frame)[:, kept], [names[k] for k in kept]


@pytest.mark.parametrize("debias", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(
    "model", [RankLogistic(alpha=1e-9), RankRLS(alpha=1e-9), RankSVM(1e-9, loss="squared_hinge")], ids=repr
)
def test_levels_have_the_inference_of_a_reference_level(model, scale, debias, wines):
    frame, rating = wines
    X, names = reduced(frame)
    expected = model.fit(X, rating).inference(X, rating, debias=debias)  # almost without a penalty
    steps = [TableEncoder(), StandardScaler()] if scale else [TableEncoder()]
    pipeline = make_pipeline(*steps, model).fit(frame, rating)
    found = rankwise.inference(pipeline, frame, rating, debias=debias)
    assert found.names == names
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(found.degrees, expected.degrees, rtol=1e-3)
    ours, theirs = found.difference(frame[:5], frame[5:10]), expected.difference(X[:5], X[5:10])
    np.testing.assert_allclose(ours.low, theirs.low, rtol=5e-3, atol=1e-3)
    np.testing.assert_array_equal(found.rank_ranges(frame[:9]).best, expected.rank_ranges(X[:9]).best)


def test_the_estimate_is_that_of_the_penalised_model(wines):
    frame, rating = wines
    model = make_pipeline(TableEncoder(), StandardScaler(), RankLogistic(alpha=1e-2, tol=1e-8)).fit(
        frame, rating
    )
    found = rankwise.inference(model, frame, rating)
    apart = found.difference(frame[:60], frame[60:])
    scores = model.predict(frame)
    np.testing.assert_allclose(apart.estimate, scores[:60] - scores[60:], atol=1e-3)


def test_combinations_that_the_data_leave_open_are_refused(wines):
    frame, rating = wines
    encoded = TableEncoder().fit_transform(frame)
    model = RankLogistic(alpha=1e-2, tol=1e-8).fit(encoded, rating)
    with pytest.raises(ValueError, match="cannot determine the weights of 'f1', 'f2', 'f3', 'f4'"):
        model.inference(encoded, rating)
    with pytest.raises(ValueError, match="cannot determine"):
        model.inference(encoded, rating, contrasts=np.eye(encoded.shape[1])[:1])
    with pytest.raises(ValueError, match="contrasts must have one column per weight, 7"):
        model.inference(encoded, rating, contrasts=[1.0, -1.0])
    found = model.inference(encoded, rating, contrasts=[[1.0, -1.0, 0, 0, 0, 0, 0]])
    assert found.coef[0] == pytest.approx(model.coef_[0] - model.coef_[1], abs=1e-3)


def test_new_levels_have_no_errors(wines):
    frame, rating = wines
    model = make_pipeline(TableEncoder(), RankLogistic()).fit(frame, rating)
    found = rankwise.inference(model, frame, rating)
    new = frame[:3].assign(grape=["merlot", "syrah", "pinot"])
    with pytest.raises(ValueError, match="Column 'grape' has a level in row 1"):
        found.rank_ranges(new)


def test_pairs_are_explained_by_column_with_errors(wines):
    frame, rating = wines
    model = make_pipeline(TableEncoder(), StandardScaler(), RankLogistic(tol=1e-8)).fit(frame, rating)
    found = rankwise.inference(model, frame, rating)
    first, second = frame[frame.grape == "pinot"][:1], frame[frame.grape == "riesling"][:1]
    parts = rankwise.explain_pair(model, first, second, inference=found)
    assert parts.names == ["grape", "price", "organic"]
    assert len(parts.standard_errors) == 3
    pinot, riesling = (found.names.index(f"grape={name}") for name in ("pinot", "riesling"))
    cov = found.covariance
    expected = cov[pinot, pinot] + cov[riesling, riesling] - 2 * cov[pinot, riesling]
    assert parts.standard_errors[0] == pytest.approx(np.sqrt(expected))
    assert parts.parts.sum() == pytest.approx(parts.difference.estimate[0], abs=1e-3)


def test_reports_and_commands_take_encoded_tables(wines, tmp_path, capsys):
    frame, rating = wines
    frame.assign(rating=rating).to_csv(tmp_path / "wines.csv", index=False)
    data, model = str(tmp_path / "wines.csv"), str(tmp_path / "model.json")
    columns = ["--label", "rating"]
    assert main(["train", data, "-o", model, *columns, "--method", "rank-logistic", "-q"]) == 0
    assert main(["summary", model, data, *columns, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["weights"]
    assert [one["name"] for one in found] == reduced(frame)[1]
    assert main(["rank", model, data, *columns, "--ranges", data]) == 0
    lines = [list(map(int, line.split(","))) for line in capsys.readouterr().out.splitlines()[1:]]
    assert all(best <= position <= worst for position, best, worst in lines)
    page = tmp_path / "report.html"
    assert main(["report", model, data, *columns, "--training", data, "-o", str(page), "-q"]) == 0
    assert "grape=pinot" in page.read_text()
    loaded = rankwise.load_model(model)
    other = make_pipeline(TableEncoder(), RankLogistic()).fit(frame, -rating)
    wrong = rankwise.inference(other, frame, -rating)
    with pytest.raises(ValueError, match="inference must be that of the model"):
        Report(loaded, frame, rating, inference=wrong).to_html()
