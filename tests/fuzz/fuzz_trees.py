"""Fuzz the check of LightGBM's trees: what it lets pass, LightGBM reads and predicts with.

    python tests/fuzz/fuzz_trees.py -max_total_time=60 tests/fuzz/corpus/trees

Needs atheris and LightGBM. The input overwrites bytes of the trees of a valid model, whose header is then
made right again.
"""

import re

import numpy as np
from fuzzing import overwritten, run

from rankwise import BoostedRanker
from rankwise.estimators import boosted_ranker, tree_text
from rankwise.estimators.tree_text import TreeTextError

GENERATOR = np.random.default_rng(0)
ROWS = np.column_stack([GENERATOR.normal(size=(80, 2)), GENERATOR.integers(0, 9, 80)])
ROWS[::7, 0] = np.nan
OPTIONS = {"max_cat_to_onehot": 2, "cat_smooth": 1, "min_data_per_group": 2}


def valid_model():
    """Return a model with missing values and a split by categories."""
    model = BoostedRanker(
        n_estimators=2,
        num_leaves=4,
        min_child_samples=3,
        categorical_features=[2],
        lightgbm_parameters=OPTIONS,
        random_state=0,
    )
    return model.fit(ROWS, np.nan_to_num(ROWS[:, 0]) + np.sin(ROWS[:, 2]))


MODEL = valid_model()


def damaged(text, patches):
    """Overwrite bytes of the trees, and write the header that belongs to them."""
    body = "Tree=0" + text.partition("Tree=0")[2].removesuffix("end of trees\n\n")
    changed = overwritten(body.encode(), patches).decode("latin-1")
    return tree_text.whole(re.split(r"(?<=\n\n\n)(?=Tree)", changed), 3)


def check(data: bytes) -> None:
    """Predict with damaged trees, where they are let pass."""
    text = damaged(MODEL.trees_, data)
    try:
        tree_text.check(text, 3)
    except TreeTextError:
        return
    model = BoostedRanker()
    model.trees_, model.n_features_in_, model.categories_ = text, 3, {}
    assert np.isfinite(model.predict(ROWS)).all()
    assert model.contributions(ROWS).shape == ROWS.shape


if __name__ == "__main__":
    run(check, tree_text, boosted_ranker)
