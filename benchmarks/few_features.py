"""The cost of paths of models that select features, in CPU seconds of one thread.

    python benchmarks/few_features.py            # 2,000 x 20,000 and 240,000 x 136: a few minutes, 2 GB
    python benchmarks/few_features.py --wide     # 2,000 x 100,000 too: 3 GB more
    python benchmarks/few_features.py --quick    # 500 x 5,000 and 24,000 x 136; writes nothing
    python benchmarks/few_features.py --table    # the table of docs/benchmarks.md from the record

A path has 100 alphas (50 for graded rows in queries) from the largest down, with a ratio of .9, certified to
1e-4 of the attainable improvement (1e-3). "products" counts those with X' per alpha, and a fit is that of
`RankLogistic` at the alpha in the middle of the path without absolute weights. Coxnet of scikit-survival, if
it is installed, has the loss of Cox on the same rows and grid: its violation is the largest slope of the
objective by a feature beyond what optimality allows, relative to the penalty. The record is
benchmarks/results/few_features.json.
"""

import argparse
import json
from pathlib import Path
from time import process_time
from unittest import mock

import numpy as np
from rank_svm import graded_rows
from records import compact, markdown, with_block
from threadpoolctl import threadpool_limits

from rankwise import Preferences, RankLogistic, RankPlackettLuce, RankSVM
from rankwise.data.design import DenseDesign
from rankwise.model_selection import alpha_path

RATIO, LEAST = 0.9, 0.05
RECORD = Path(__file__).parent / "results" / "few_features.json"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
LOSSES = {
    "Cox": RankPlackettLuce(),
    "logistic": RankLogistic(),
    "squared hinge": RankSVM(loss="squared_hinge"),
}


def survival(m, p, seed=0):
    """Correlated features, 30 of which matter, and censored times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p))
    X += rng.normal(size=(m, 20)) @ rng.normal(size=(20, p)) * 0.3
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.zeros(p)
    weights[rng.choice(p, 30, replace=False)] = 0.4 * rng.normal(size=30)
    time = rng.exponential(np.exp(-X @ weights))
    censored = rng.exponential(2 * np.median(time), size=m)
    return X, time <= censored, np.minimum(time, censored)


def seconds(task):
    start = process_time()
    found = task()
    return found, process_time() - start


def path_of(model, X, y, n_alphas, tol, least, **options):
    """The path, its CPU time, and what its points show."""
    calls, product = [], DenseDesign.rmatvec
    counted = mock.patch.object(DenseDesign, "rmatvec", lambda self, c: calls.append(1) or product(self, c))
    model = model.set_params(l1_ratio=RATIO)
    problem = model.problem(X, y, options.get("qid"))
    top = model.grid(problem)[0]
    with counted:
        path, cost = seconds(
            lambda: alpha_path(model, X, y, (top, least * top), n_alphas=n_alphas, tol=tol, **options)
        )
    shares = path.gaps[1:] / (path.at_zero - path.objectives[1:] + path.gaps[1:])
    return path, {
        "rows": X.shape[0],
        "features": X.shape[1],
        "alphas": n_alphas,
        "seconds": cost,
        "products": len(calls) / n_alphas,
        "selected": int(path.n_selected[-1]),
        "worst gap": float(shares.max()),
    }


def coxnet(X, event, time):
    """The CPU time of Coxnet, and how far its last point violates the conditions of optimality."""
    try:
        from sksurv.linear_model import CoxnetSurvivalAnalysis
    except ImportError:
        return {}
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    options = {"l1_ratio": RATIO, "n_alphas": 100, "alpha_min_ratio": LEAST, "tol": 1e-7}
    model, cost = seconds(lambda: CoxnetSurvivalAnalysis(**options).fit(X, y))
    coef, alpha = model.coef_[:, -1], model.alphas_[-1]
    order = np.argsort(-time, kind="stable")
    chances = np.exp(X[order] @ coef)
    at_risk = np.cumsum(chances)
    pull = event[order] / at_risk
    residuals = chances * np.cumsum(pull[::-1])[::-1] - event[order]
    slopes = X[order].T @ residuals / len(time) + alpha * (1 - RATIO) * coef
    on = coef != 0
    off = max(
        np.abs(slopes[on] + alpha * RATIO * np.sign(coef[on])).max(),
        np.maximum(np.abs(slopes[~on]) - alpha * RATIO, 0.0).max(),
    )
    return {"coxnet seconds": cost, "coxnet selected": int(on.sum()), "coxnet violation": float(off / alpha)}


def graded(n_rows):
    """A path over rows in queries, and one fit without absolute weights."""
    X, y, qid = graded_rows(n_rows)
    path, found = path_of(RankLogistic(), X, y, 50, 1e-3, 1e-3, qid=qid)
    middle = float(path.alphas[len(path.alphas) // 2])
    _, cost = seconds(lambda: RankLogistic(middle).fit(X, y, qid=qid))
    return found | {"fit": cost, "fits": found["seconds"] / cost}


def row(name, found):
    """A row of the table of the page."""
    if "coxnet seconds" in found:
        values = f"{found['coxnet seconds']:.1f}", "", str(found["coxnet selected"]), ""
        return [name, *values, f"{found['coxnet violation']:.2g}"]
    values = f"{found['seconds']:.1f}", f"{found['products']:.2f}", str(found["selected"])
    return [name, *values, f"{found['worst gap']:.1g}", ""]


def write_table():
    """Write the record as a table of the page."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    header = [
        "path",
        "CPU s",
        "products with X' per alpha",
        "features at the end",
        "largest gap",
        "violation",
    ]
    text = markdown(header, [row(name, found) for name, found in record.items() if found])
    PAGE.write_text(with_block(PAGE.read_text(encoding="utf-8"), "few_features", text), encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args(arguments)
    if options.table:
        return write_table()
    sizes = [(500, 5_000)] if options.quick else [(500, 5_000), (2_000, 20_000)]
    sizes += [(2_000, 100_000)] if options.wide else []
    record = {}
    with threadpool_limits(1):
        for m, p in sizes:
            X, event, time = survival(m, p)
            preferences = Preferences.from_survival(event, time)
            for name, model in LOSSES.items():
                record[f"{name}, {m:,} x {p:,}"] = path_of(model, X, preferences, 100, 1e-4, LEAST)[1]
            if p <= 20_000:
                record[f"Coxnet, {m:,} x {p:,}"] = coxnet(X, event, time)
        record["logistic, graded rows"] = graded(24_000 if options.quick else 240_000)
    for name, found in record.items():
        print(name, json.dumps(found))
    if not options.quick:
        RECORD.write_text(compact(record), encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
