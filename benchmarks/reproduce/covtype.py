"""Half a million rows of covtype with an order over its classes."""

import numpy as np

from rankwise import Preferences, RankSVM
from rankwise.losses import Hinge
from rankwise.metrics import ranking_error
from reproduce.isolated import timed
from reproduce.shared import processor_seconds
from reproduce.text import number, table

TITLE = "Half a million rows of covtype"
SOURCE = "Airola et al. (2010), section 5"
PAPER = {"rows": 500_000, "seconds_per_iteration": 6}


def settings(quick):
    return {
        "rows": 10_000 if quick else 500_000,
        "alpha": 1e-3,
        "epsilon": 1e-3,
        "clock": "processor",
        "threads": 1,
        "seed": 0,
    }


def run(settings, data, progress):
    X, y = data.covtype()
    order = np.random.default_rng(settings["seed"]).permutation(len(y))
    train, test = order[: settings["rows"]], order[settings["rows"] :]
    X_train, y_train = X[train], y[train]
    loss = Hinge(Preferences.from_scores(y_train))
    w = np.random.default_rng(settings["seed"]).standard_normal(X.shape[1]) / np.sqrt(X.shape[1])
    one = processor_seconds(lambda: X_train.T @ loss.value_and_coefficients(X_train @ w)[1], 5)
    progress(0.2, "fit")
    model = RankSVM(settings["alpha"], tol=settings["epsilon"], n_jobs=settings["threads"])
    model, cost = timed(lambda: model.fit(X_train, y_train))
    return {
        "rows": len(train),
        "features": X.shape[1],
        "pairs": int(model.n_pairs_),
        "test_rows": len(test),
        "subgradient_seconds": one,
        "times_faster": PAPER["seconds_per_iteration"] / one,
        "fit_seconds": cost["processor_seconds"],
        "iterations": int(model.n_iter_),
        "seconds_per_iteration": cost["processor_seconds"] / model.n_iter_,
        "error": float(ranking_error(y[test], model.predict(X[test]), ties="correct")),
    }


def section(record):
    result, paper = record["result"], record["paper"]
    rows = [
        (
            "one loss and subgradient, s",
            number(result["subgradient_seconds"], 3),
            f"less than {paper['seconds_per_iteration']}",
        ),
        ("an iteration of the fit, s", number(result["seconds_per_iteration"], 3), "-"),
        ("whole fit, s", number(result["fit_seconds"], 1), "-"),
        ("iterations", result["iterations"], "-"),
        ("test error", number(result["error"], 4), "-"),
    ]
    return [
        f"{number(result['rows'], 0)} rows, {result['features']} standardized features, the classes",
        "ordered by their number,",
        f"{number(result['pairs'], 0)} pairs. The other {number(result['test_rows'], 0)} rows test. The",
        "paper gives the time of an iteration only:",
        f"{number(result['times_faster'], 0)} times that of a subgradient here.",
        "",
        *table(["covtype", "here", "paper"], rows),
    ]
