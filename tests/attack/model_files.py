"""Model files that somebody changed and signed again: refused, or models that score rows with numbers."""

import io
import json
import re
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from fuzz_model_file import write_signed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attack.draws import choice
from rankwise import (
    BoostedRanker,
    BradleyTerry,
    CurveRanker,
    HullRanker,
    ModelFileError,
    OrdinalSVM,
    RankLogistic,
    RankRLS,
    RankSVM,
    load_model,
    save_model,
)
from rankwise.io.model_layout import read_layout

ROWS = np.random.default_rng(0).normal(size=(30, 3))
LABELS = np.arange(30) % 4
# What models say of rows that do not fit them.
REFUSALS = r"X has 3 features, but \w+ is expecting \d+ features|.*(feature names|column|categor)"
VALUES = (
    None, True, False, -1, 0, 1, 2, 3, 10**6, 2**63, 1e300, -1e300, 5e-324, 0.5, "", "linear", "rbf", "poly",
    "learned", [], {}, [0], {"array": 0}, {"array": 99}, {"tuple": []},
)  # fmt: skip
# Larger numbers would rightly give infinite scores.
NUMBERS = (np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, -1.0, 5e-324)


@cache
def valid():
    """Header, arrays and behaviour of one file for each class of models."""
    models = [
        RankSVM(),
        RankSVM(kernel="rbf", n_components=5, random_state=0),
        RankRLS(kernel="poly", degree=2),
        RankLogistic(),
        OrdinalSVM(),
        HullRanker(1e-1),
        CurveRanker(n_bins=4, interactions=1),
        BoostedRanker(n_estimators=2, min_child_samples=2),
        make_pipeline(StandardScaler(), RankSVM()),
    ]
    fitted = [model.fit(ROWS, LABELS) for model in models]
    return [parts(model) for model in [*fitted, BradleyTerry().fit(list("abcab"), list("bcaca"))]]


def parts(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_model(model, path)
        with open(path, "rb") as file:
            return *read_layout(file), behaviour(model)


def behaviour(model):
    """What the model does with rows, or with its items."""
    if isinstance(model, BradleyTerry):
        first = model.items_[0]
        return np.append(model.scores_, [model.predict_pair_proba(item, first) for item in model.items_])
    return model.predict(ROWS.copy())


def case(rng):
    """Change one or two nodes of a header, or entries of an array."""
    header, arrays, expected = choice(rng, valid())
    header, arrays = json.loads(json.dumps(header)), [array.copy() for array in arrays]
    changed = rng.random() < 0.9
    for _ in range(int(rng.integers(1, 3)) if changed else 0):
        if rng.random() < 0.3 and arrays:
            change_array(rng, choice(rng, arrays))
        else:
            change_node(rng, header)
    buffer = io.BytesIO()
    try:
        write_signed(buffer, header, arrays)
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0
    return check(buffer.getvalue(), None if changed else expected)


def change_array(rng, array):
    """Overwrite an entry of numbers."""
    if array.size == 0:
        return
    value = choice(rng, NUMBERS if array.dtype.kind == "f" else (0, 1, 100))
    array.reshape(-1)[int(rng.integers(array.size))] = value


def change_node(rng, node):
    """Go down the tree at random and replace, remove, rename or add what is there."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = choice(rng, keys)
        if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.1:
            break
        node = node[key]
    action = int(rng.integers(5))
    if action == 0:
        del node[key]
    elif action == 1 and isinstance(node, dict):
        node[choice(rng, ["coef_", "x", "__class__", "kernel", "gamma_"])] = node.pop(key)
    elif action == 2 and isinstance(node[key], int | float) and not isinstance(node[key], bool):
        node[key] = node[key] * choice(rng, [-1, 2, 1e290]) + choice(rng, [0, 1])
    else:
        node[key] = choice(rng, VALUES)


def has_powers(model):
    """Whether scores may be too large for a number."""
    return getattr(model, "kernel", "linear") == "poly"


def check(content, expected):
    """Load and use the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_bytes(content)
        try:
            model = load_model(path)
        except ModelFileError:
            assert expected is None, "an unchanged model was refused"
            return 1
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(behaviour(model))
    except ValueError as error:
        if re.match(REFUSALS, str(error)):
            return 1
        raise
    if expected is not None:
        np.testing.assert_array_equal(found, expected)
    numbers = found.dtype.kind not in "OUi" and not has_powers(model)
    assert not numbers or np.isfinite(found).all(), f"{type(model).__name__}: {found[:3]}"
    return 1
