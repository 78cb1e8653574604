"""The recipe of docs/survival.md that hands scores to scikit-survival."""

import doctest
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "survival.md"


def test_the_recipe_for_scikit_survival_runs():
    pytest.importorskip("sksurv", exc_type=ImportError)
    found: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        if "Display" not in example.source:
            exec(example.source, found)
    event, time, scores = (found[name] for name in ("event", "time", "scores"))
    years, event, time = found["years"], event[200:], time[200:]
    for k, year in enumerate(years):
        # Without weights for censoring: rows with an event until then against rows that are followed longer.
        before, after = event & (time <= year), time > year
        plain = np.mean(scores[before][:, None] < scores[after])
        assert found["auc"][k] == pytest.approx(plain, abs=0.1)
    assert 0 < found["brier"] < 0.2
    assert found["probability"].shape == (100, 4)
    assert (np.diff(found["probability"], axis=1) <= 0).all()
    assert 0.7 < found["mean_auc"] < 0.95
