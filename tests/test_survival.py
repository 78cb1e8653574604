"""Right-censored life times: strata, the concordance index with its interval, and the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from html_page import Page
from rankwise import Preferences, RankSVM, load_model
from rankwise.cli.main import main
from rankwise.metrics import concordance_index, concordance_interval, ranking_error
from rankwise.report import Report


def still_seen(event, time, at):
    """Return Kaplan and Meier's P(no censoring before a time), the events of a time before its censorings."""
    seen = 1.0
    for moment in sorted(set(time)):
        if moment >= at:
            break
        cut = sum(1 for e, t in zip(event, time, strict=True) if t == moment and not e)
        ended = sum(1 for e, t in zip(event, time, strict=True) if t == moment and e)
        at_risk = sum(1 for t in time if t >= moment) - ended
        seen *= 1 - cut / at_risk if at_risk else 1.0
    return seen


def reference(event, time, scores, stratum, uno=False, tau=np.inf, weight=None, censoring=None):
    """Add up pair by pair; None where there is none, infinity where G is zero."""
    known = (event, time) if censoring is None else censoring
    n = len(time)
    weight = np.ones(n) if weight is None else weight
    right = total = 0.0
    for i in range(n):
        for j in range(n):
            before = time[i] < time[j] or (time[i] == time[j] and event[i] and not event[j])
            if event[i] and before and stratum[i] == stratum[j] and time[i] < tau:
                seen = still_seen(*known, time[i]) if uno else 1.0
                if seen <= 0:
                    return np.inf
                w = weight[i] * weight[j] / seen**2
                total += w
                right += w * ((scores[i] < scores[j]) + (scores[i] == scores[j]) / 2)
    return right / total if total else None


@st.composite
def lives(draw):
    n = draw(st.integers(2, 12))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    return (
        column(st.booleans()),
        column(st.integers(0, 6)) * 0.5,
        column(st.integers(-3, 3)) * 0.25,
        column(st.integers(0, 1)),
        column(st.sampled_from([0.5, 1.0, 3.0])),
    )


@given(lives(), st.sampled_from([np.inf, 2.0]))
def test_the_index_is_the_share_of_comparable_pairs(life, tau):
    event, time, scores, stratum, weight = life
    expected = reference(event, time, scores, stratum, tau=tau, weight=weight)
    assume(expected is not None)
    y = Preferences.from_survival(event, time, weight, qid=stratum)
    assert concordance_index(y, scores, tau=tau) == pytest.approx(expected, abs=1e-12)
    if len(set(stratum)) == 1 and tau == np.inf:
        assert concordance_index(y, scores) == pytest.approx(1 - ranking_error(y, scores), abs=1e-12)


@given(lives())
def test_the_weights_of_uno_are_those_of_kaplan_and_meier(life):
    event, time, scores, stratum, _ = life
    expected = reference(event, time, scores, stratum, uno=True)
    assume(expected is not None)
    y = Preferences.from_survival(event, time, qid=stratum)
    assert concordance_index(y, scores, weights="uno") == pytest.approx(expected, abs=1e-12)


@given(lives(), lives())
def test_the_weights_of_uno_may_come_from_other_rows(life, other):
    event, time, scores, stratum, _ = life
    expected = reference(event, time, scores, stratum, uno=True, censoring=other[:2])
    assume(expected is not None)
    y = Preferences.from_survival(event, time, qid=stratum)
    given = {"weights": "uno", "censoring": other[:2]}
    if expected < np.inf:
        assert concordance_index(y, scores, **given) == pytest.approx(expected, abs=1e-12)
    else:
        with pytest.raises(ValueError, match="Every subject is censored before"):
            concordance_index(y, scores, **given)


@given(lives())
def test_pairs_are_compared_within_strata(life):
    event, time, _, stratum, _ = life
    assume(reference(event, time, time, stratum) is not None)
    y = Preferences.from_survival(event, time, qid=stratum)
    better, worse, *_ = y.pairs()
    assert (stratum[better] == stratum[worse]).all()
    parts = [Preferences.from_survival(event, time)[stratum == k].n_pairs for k in (0, 1)]
    assert y.n_pairs == sum(parts)


@pytest.mark.parametrize("weights", ["harrell", "uno"])
def test_the_standard_error_is_the_root_of_squared_derivatives_by_weights(weights):
    generator = np.random.default_rng(0)
    event, time = generator.random(25) < 0.7, generator.integers(1, 12, 25) * 1.0
    scores, base = np.round(time + generator.normal(0, 4, 25)), generator.uniform(0.5, 2, 25)
    stratum = np.arange(25) % 2
    fixed = event, time

    def index(weight):
        y = Preferences.from_survival(event, time, weight, qid=stratum)
        return concordance_index(y, scores, weights=weights, censoring=fixed)

    step = 1e-5
    influence = [
        (index(base * (1 + step * np.eye(25)[i])) - index(base * (1 - step * np.eye(25)[i]))) / (2 * step)
        for i in range(25)
    ]
    y = Preferences.from_survival(event, time, base, qid=stratum)
    found = concordance_interval(y, scores, weights=weights, censoring=fixed)
    expected = 0.0
    for part in (event, ~event):
        share = base[part] / base[part].sum()
        away = np.eye(len(share)) - share
        unbiased = np.sum(share**2) / np.trace(away.T @ np.diag(share**2) @ away)
        expected += unbiased * np.sum(np.square(influence)[part])
    assert found.standard_error == pytest.approx(np.sqrt(expected), rel=1e-6)
    assert found.estimate == pytest.approx(index(base), abs=1e-12)
    ratios = [
        abs(found.estimate - end) / np.sqrt(end * (1 - end) / (found.estimate * (1 - found.estimate)))
        for end in (found.low, found.high)
    ]
    assert ratios[0] == pytest.approx(ratios[1])
    assert 2.06 < ratios[0] / found.standard_error < 2.6  # Student's t of 24 degrees of freedom, and fewer


def test_bootstrap_and_analytic_intervals_agree_and_cover():
    generator = np.random.default_rng(1)
    life, cut = generator.exponential(size=300), generator.exponential(2.0, size=300)
    event, time = life <= cut, np.minimum(life, cut)
    scores = np.log(life) + generator.normal(0, 1.5, 300)
    analytic = concordance_interval((event, time), scores)
    drawn = concordance_interval((event, time), scores, method="bootstrap", n_resamples=200)
    assert drawn.standard_error == pytest.approx(analytic.standard_error, rel=0.2)
    np.testing.assert_allclose(drawn[2:], analytic[2:], atol=0.02)


def test_uno_does_not_depend_on_how_many_lives_are_cut_short():
    # With tau both estimate the concordance of all lives up to it; Harrell's C leans with the censoring.
    generator = np.random.default_rng(2)
    n, tau = 4000, 1.5
    risk = generator.normal(size=n)
    life = generator.exponential(size=n) * np.exp(-2 * risk * (generator.random(n) < 0.5))
    whole = concordance_index((np.ones(n, bool), life), -risk, tau=tau)
    cut = generator.exponential(0.6, size=n)
    y = life <= cut, np.minimum(life, cut)
    uno, harrell = (concordance_index(y, -risk, tau=tau, weights=kind) for kind in ("uno", "harrell"))
    assert abs(uno - whole) < 0.02
    assert abs(uno - whole) < abs(harrell - whole)


def test_what_can_be_given_and_what_is_refused():
    event, time, scores = [True, False, True], [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]
    table = np.array(list(zip(event, time, strict=True)), dtype=[("died", bool), ("months", float)])
    assert concordance_index(table, scores) == concordance_index((event, time), scores) == 1.0
    with pytest.raises(TypeError, match=r"censoring must be a Preferences\.from_survival"):
        concordance_index((event, time), scores, censoring=Preferences.from_scores(time))
    assert concordance_index(Preferences.from_scores(time), scores) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="weights must be one of 'harrell', 'uno'; got 'gehan'"):
        concordance_index((event, time), scores, weights="gehan")
    with pytest.raises(ValueError, match="concordance_index is undefined"):
        concordance_index((event, time), scores, tau=0.5)
    cut = [False, False, False], [0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match="nothing to rank"):
        concordance_index(cut, scores)
    seen = Preferences.from_survival([True, False], [0.0, 0.5])
    with pytest.raises(ValueError, match="Every subject is censored before t = 1"):
        concordance_index((event, time), scores, weights="uno", censoring=seen)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        concordance_interval((event, time), scores, confidence=95)


@pytest.fixture
def patients(tmp_path):
    generator = np.random.default_rng(3)
    X = generator.normal(size=(120, 2))
    life, cut = np.exp(X[:, 0] + generator.normal(size=120)), generator.exponential(4.0, size=120)
    frame = pd.DataFrame(X, columns=["age", "dose"])
    frame["months"], frame["died"] = np.minimum(life, cut), life <= cut
    frame["hospital"] = generator.integers(3, size=120)
    frame.to_csv(tmp_path / "patients.csv", index=False)
    return frame, str(tmp_path / "patients.csv"), str(tmp_path / "model.json")


def test_the_command_line_learns_and_measures_survival(patients, capsys):
    frame, data, path = patients
    columns = ["--survival", "months,died", "--qid", "hospital"]
    assert main(["train", data, "-o", path, "--alpha", "0.01", *columns, "-q"]) == 0
    lives = Preferences.from_survival(frame["died"], frame["months"], qid=frame["hospital"])
    X = frame[["age", "dose"]].to_numpy()
    model = RankSVM(0.01, random_state=0, n_jobs=1).fit(X, lives)
    loaded = load_model(path)
    assert loaded.feature_names_ == ["age", "dose"]
    np.testing.assert_allclose(loaded.coef_, model.coef_, rtol=1e-9)
    capsys.readouterr()
    assert main(["evaluate", path, data, *columns, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["pairs"] == lives.n_pairs
    assert printed["strata"] == 3
    for name, key in (("harrell", "concordance"), ("uno", "uno")):
        expected = concordance_interval(lives, model.predict(X), weights=name)
        assert printed["models"][0]["measures"][key]["mean"] == pytest.approx(expected.estimate, abs=1e-9)
        assert printed["models"][0]["measures"][key]["low"] == pytest.approx(expected.low, abs=1e-9)
    assert main(["evaluate", path, data, *columns]) == 0
    assert "Uno's concordance" in capsys.readouterr().out


def test_the_command_line_reports_on_survival(patients, capsys, tmp_path):
    frame, data, path = patients
    columns = ["--survival", "months,died", "--qid", "hospital"]
    assert main(["train", data, "-o", path, *columns, "-q"]) == 0
    capsys.readouterr()
    assert main(["report", path, data, "-o", str(tmp_path / "report.html"), *columns, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed["measures"]) == ["concordance"]
    assert "among 120 rows" in printed["headline"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    seen, cut = (frame["months"][frame["died"] == died].iloc[0] for died in (True, False))
    assert f'"{cut:.6g}+"' in page
    assert f'"{seen:.6g}"' in page
    assert "A plus marks a censored time." in page


def test_the_command_line_tunes_survival_and_refuses_what_does_not_go_with_it(patients, capsys):
    _, data, path = patients
    columns = ["--survival", "months,died"]
    for method in ("rank-svm", "rank-rls"):
        assert (
            main(["train", data, "-o", path, "--tune", "--alphas", "1,0.1", "--method", method, *columns])
            == 0
        )
    assert main(["train", data, "-o", path, "--method", "hull", *columns]) == 2
    assert main(["train", data, "-o", path, "--label", "age", *columns]) == 2
    assert main(["train", data, "-o", path, "--scale", "query-rank", *columns]) == 2
    assert main(["train", data, "-o", path, "--survival", "months,alive"]) == 1
    assert "'alive'" in capsys.readouterr().err


def test_a_report_on_strata_judges_by_the_concordance():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 2))
    time = np.exp(X[:, 0] + generator.normal(size=120))
    lives = Preferences.from_survival(generator.random(120) < 0.7, time, qid=np.arange(120) % 3)
    words = Page(Report(X[:, 0], X, lives, models={"weak": X[:, 1]}).to_html()).words
    assert "3 strata" in words
    assert "better than chance" not in words
    risks = Page(Report(-X[:, 0], X, lives).to_html()).words
    assert (
        "no better than chance on these rows. If the scores are risks, pass them with a minus sign." in risks
    )


def test_a_report_divides_survival_times_by_rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 2))
    event, time = generator.random(120) < 0.7, np.exp(X[:, 0] + generator.normal(size=120))
    stratum, kind = np.arange(120) % 3, np.where(np.arange(120) < 2, "few", np.where(X[:, 1] > 0, "b", "a"))
    event[:2] = False
    lives = Preferences.from_survival(event, time, qid=stratum)
    page = Page(Report(X[:, 0], X, lives, slices={"kind": kind}).to_html())
    assert page.names("slice-0") == ["a", "b", "few"]
    for name, found in zip("ab", page.column("slice-0", "scores"), strict=False):
        rows = kind == name
        expected = Preferences.from_survival(event[rows], time[rows], qid=stratum[rows])
        assert found == pytest.approx(concordance_index(expected, X[rows, 0]))
    assert page.column("slice-0", "scores")[2] is None
