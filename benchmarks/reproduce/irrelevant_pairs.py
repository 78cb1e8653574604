"""Four rows of two objects: pairs that do not matter overrule those that do."""

import numpy as np

from rankwise import RankRLS
from rankwise.metrics import ranking_error
from reproduce.text import number, table

TITLE = "Pairs that do not matter can hurt"
SOURCE = "Pahikkala et al. (2009), section 5.1 and figure 2"
PAPER = {"relevant_pairs": "correct", "all_pairs": "reversed"}


def settings(quick):
    return {
        "positions": [4.0, 3.0, 2.0, 1.0],
        "scores": [2.0, 1.0, 4.0, 3.0],
        "object": [1, 1, 2, 2],
        "alpha": 0.001,
    }


def run(settings, data, progress):
    X, y = np.array(settings["positions"])[:, None], settings["scores"]
    qid = settings["object"]
    models = {
        "relevant_pairs": RankRLS(settings["alpha"]).fit(X, y, qid=qid),
        "all_pairs": RankRLS(settings["alpha"]).fit(X, y),
    }
    return {
        name: {
            "slope": float(model.coef_[0]),
            "error": ranking_error(y, model.predict(X), qid, ties="error"),
            "pairs": int(model.n_pairs_),
        }
        for name, model in models.items()
    }


def section(record):
    rows = [
        (
            name.replace("_", " "),
            found["pairs"],
            number(found["slope"], 3),
            number(found["error"], 0),
            record["paper"][name],
        )
        for name, found in record["result"].items()
    ]
    return [
        "Four rows on a line belong to two objects, and only the pair within each object matters. Trained on",
        "these, the function rises to the right and orders both pairs correctly. Trained on all pairs, the",
        "others overrule them and it falls, so that both pairs that matter are in the wrong order.",
        "",
        *table(["trained on", "pairs", "slope", "share of pairs that matter in error", "paper"], rows),
    ]
