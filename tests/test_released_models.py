"""Model files of released versions, in `tests/models/`, load and predict what they did at the time."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import load_model

FOLDER = Path(__file__).parent / "models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def test_every_file_has_its_predictions():
    names = {f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.json")}
    assert names == set(EXPECTED["predictions"])


@pytest.mark.parametrize("name", EXPECTED["predictions"])
def test_predictions_are_those_of_the_version_that_wrote_the_file(name):
    if "boosted" in name:
        pytest.importorskip("lightgbm")
    model = load_model(FOLDER / f"{name}.json")
    found = model.scores_ if "bradley_terry" in name else model.predict(np.array(EXPECTED["rows"]))
    np.testing.assert_allclose(found, EXPECTED["predictions"][name], rtol=1e-12, atol=1e-12)
    clone(model)  # every parameter in the file is one that the class still takes
