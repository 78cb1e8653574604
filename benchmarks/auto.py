"""AutoRanker compared with boosters that are tuned for as long: errors of rows held out, and mean ranks.

    python benchmarks/auto.py                     # all sets that can be read; writes a record
    python benchmarks/auto.py --quick             # two small sets, 4 seconds each; writes nothing
    python benchmarks/auto.py --only diabetes wine --budget 30
    python benchmarks/auto.py --table             # the table of docs/benchmarks.md from the record

The sets are those of `benchmarks/suite.py` with labels and dense rows, at most 4,000 of each.
Each program gets the same number of seconds by the clock and one thread. The boosters learn the labels or, of
rows in queries, by their own ranking loss. A random search draws their parameters, and three folds of queries
or rows judge them by the ranking error, until the time is over; the best is fitted to all training rows.
Programs that are not installed are left out: xgboost, catboost, interpret (explainable boosting machine).
The record is benchmarks/results/auto.json.
"""

import argparse
import datetime
import importlib.util
import json
import re
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from records import compact
from suite import Task, tasks
from threadpoolctl import threadpool_limits

import rankwise
from rankwise import AutoRanker, Preferences
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold

HERE = Path(__file__).parent
RECORD, PAGE = HERE / "results" / "auto.json", HERE.parent / "docs" / "benchmarks.md"
MOST_ROWS, N_FOLDS, SEED = 4000, 3, 7


def learning_rate(generator):
    return float(10 ** generator.uniform(-2, -0.5))


def lightgbm_model(generator, ranks):
    import lightgbm

    kind = lightgbm.LGBMRanker if ranks else lightgbm.LGBMRegressor
    return kind(
        n_estimators=int(generator.choice([50, 100, 200, 400, 800])),
        learning_rate=learning_rate(generator),
        num_leaves=int(generator.choice([4, 8, 15, 31, 63])),
        min_child_samples=int(generator.choice([5, 10, 20, 50])),
        reg_lambda=float(generator.choice([0.0, 1.0, 10.0])),
        colsample_bytree=float(generator.choice([0.5, 0.8, 1.0])),
        subsample=float(generator.choice([0.6, 0.8, 1.0])),
        subsample_freq=1,
        n_jobs=1,
        verbose=-1,
        random_state=0,
    )


def xgboost_model(generator, ranks):
    import xgboost

    kind = xgboost.XGBRanker if ranks else xgboost.XGBRegressor
    return kind(
        n_estimators=int(generator.choice([50, 100, 200, 400, 800])),
        learning_rate=learning_rate(generator),
        max_depth=int(generator.choice([2, 3, 4, 6, 8])),
        min_child_weight=float(generator.choice([1, 5, 20])),
        reg_lambda=float(generator.choice([0.1, 1.0, 10.0])),
        colsample_bytree=float(generator.choice([0.5, 0.8, 1.0])),
        subsample=float(generator.choice([0.6, 0.8, 1.0])),
        n_jobs=1,
        random_state=0,
    )


def catboost_model(generator, ranks):
    import catboost

    return catboost.CatBoost(
        {
            "loss_function": "YetiRank" if ranks else "RMSE",
            "iterations": int(generator.choice([50, 100, 200, 400, 800])),
            "learning_rate": learning_rate(generator),
            "depth": int(generator.choice([2, 3, 4, 6])),
            "l2_leaf_reg": float(generator.choice([1.0, 3.0, 10.0])),
            "thread_count": 1,
            "random_seed": 0,
            "verbose": False,
            "allow_writing_files": False,
        }
    )


def ebm_model(generator, ranks):
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(
        interactions=int(generator.choice([0, 5, 10])),
        learning_rate=float(generator.choice([0.01, 0.02, 0.05])),
        max_bins=int(generator.choice([64, 256, 1024])),
        outer_bags=int(generator.choice([2, 4, 8])),
        n_jobs=1,
        random_state=0,
    )


BOOSTERS = {
    "LightGBM": ("lightgbm", lightgbm_model),
    "XGBoost": ("xgboost", xgboost_model),
    "CatBoost": ("catboost", catboost_model),
    "EBM": ("interpret", ebm_model),
}


def fitted(model, task):
    """Fit a booster; those with a loss of their own for queries get rows sorted by query."""
    ranks = task.qid is not None
    if not ranks or type(model).__name__ == "ExplainableBoostingRegressor":
        return model.fit(task.X, task.y)
    order = np.argsort(task.qid, kind="stable")
    X, y, qid = task.X[order], task.y[order], task.qid[order]
    kind = type(model).__name__
    if kind == "LGBMRanker":
        return model.fit(X, y.astype(int), group=np.unique(qid, return_counts=True)[1])
    if kind == "XGBRanker":
        return model.fit(X, y, qid=np.unique(qid, return_inverse=True)[1])
    return model.fit(X, y, group_id=qid)


def error(model, task):
    return float(ranking_error(task.y, np.asarray(model.predict(task.X)).ravel(), task.qid))


def searched(make, train, budget):
    """The best of randomly drawn parameters within a time, fitted to all rows."""
    generator, start = np.random.default_rng(SEED), perf_counter()
    preferences = Preferences.from_scores(train.y, train.qid)
    folds = list(QueryKFold(N_FOLDS, shuffle=True, random_state=0).split(train.X, preferences))
    best, longest = (np.inf, None), 0.0
    while best[1] is None or perf_counter() - start + 1.5 * longest < budget:
        begin, state = perf_counter(), generator.bit_generator.state
        errors = []
        for rows, others in folds:
            model = fitted(make(generator, train.qid is not None), train.taken(rows))
            errors.append(error(model, train.taken(others)))
            generator.bit_generator.state, after = state, generator.bit_generator.state
        generator.bit_generator.state = after
        best = min(best, (float(np.mean(errors)), state), key=lambda one: one[0])
        longest = max(longest, perf_counter() - begin)
    generator.bit_generator.state = best[1]
    return fitted(make(generator, train.qid is not None), train)


def auto(prefer):
    def run(train, budget):
        model = AutoRanker(budget, prefer=prefer, n_jobs=1).fit(train.X, train.y, **train.arguments())
        return AutoModel(model)

    return run


class AutoModel:
    """Score rows with their queries."""

    def __init__(self, model):
        self.model, self.name = model, model.best_name_


def auto_error(found, task):
    scores = found.model.predict(task.X, qid=task.qid)
    return float(ranking_error(task.y, scores, task.qid))


def suited(task):
    dense = isinstance(task.X, np.ndarray) and not isinstance(task.y, Preferences)
    return dense and task.X.shape[0] > 100 and task.X.shape[1] <= 300


def measured(name, task, budget):
    """Errors of each program on one set."""
    task = task.first(MOST_ROWS) if task.X.shape[0] > MOST_ROWS and task.qid is not None else task
    if task.X.shape[0] > MOST_ROWS:
        task = task.taken(np.sort(np.random.default_rng(0).choice(task.X.shape[0], MOST_ROWS, replace=False)))
        task = Task(task.X, task.y, task.qid)
    train, test = task.split(SEED)
    found, seconds = {}, {}
    for prefer in ("simple", "best", "blend"):
        start = perf_counter()
        model = auto(prefer)(train, budget)
        seconds[prefer] = round(perf_counter() - start, 1)
        found[f"AutoRanker, {prefer}"] = round(auto_error(model, test), 5)
        print(
            f"{name:<26}{'AutoRanker, ' + prefer:<22}{found[f'AutoRanker, {prefer}']:.4f}  {model.name}",
            flush=True,
        )
    for label, (package, make) in BOOSTERS.items():
        if importlib.util.find_spec(package) is not None:
            start = perf_counter()
            found[label] = round(error(searched(make, train, budget), test), 5)
            seconds[label] = round(perf_counter() - start, 1)
            print(f"{name:<26}{label:<22}{found[label]:.4f}", flush=True)
    return {"rows": int(train.X.shape[0]), "errors": found, "seconds": seconds}


def mean_ranks(sets):
    """The mean over sets of the place of each program, 1 for the lowest error; equal errors share places."""
    from scipy.stats import rankdata

    programs = list(next(iter(sets.values()))["errors"])
    places = np.array([rankdata([one["errors"][name] for name in programs]) for one in sets.values()])
    return dict(zip(programs, places.mean(axis=0), strict=True))


def markdown():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    sets = record["sets"]
    programs = list(next(iter(sets.values()))["errors"])
    lines = ["| | rows | " + " | ".join(programs) + " |", "|---|--:|" + "--:|" * len(programs)]
    for name, one in sets.items():
        best = min(one["errors"].values())
        cells = (f"{error:.4f}".removeprefix("0") for error in one["errors"].values())
        bold = (
            f"**{cell}**" if error == best else cell
            for cell, error in zip(cells, one["errors"].values(), strict=True)
        )
        lines.append(f"| {name} | {one['rows']:,} | " + " | ".join(bold) + " |")
    ranks = mean_ranks(sets)
    lines.append("| mean rank | | " + " | ".join(f"{ranks[name]:.1f}" for name in programs) + " |")
    return "\n".join(lines)


def write_table():
    """Put the table into the page, in place of the one that is there."""
    page = PAGE.read_text(encoding="utf-8")
    block = f"<!-- compared -->\n\n{markdown()}\n\n<!-- end -->"
    page, n_tables = re.subn(r"<!-- compared -->.*?<!-- end -->", lambda _: block, page, flags=re.DOTALL)
    assert n_tables == 1, "the page has no place for the table, or several"
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two small sets; writes nothing")
    parser.add_argument("--only", nargs="+", help="these sets")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of each program")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        return write_table()
    warnings.simplefilter("ignore")
    chosen = ["diabetes", "wine"] if options.quick else options.only or list(tasks())
    budget = 4.0 if options.quick else options.budget
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() and not options.quick else {}
    sets = known.get("sets", {})
    with threadpool_limits(1):
        for name in chosen:
            task = tasks()[name]()
            if suited(task):
                sets[name] = measured(name, task, budget)
                if not options.quick:
                    about = {"date": datetime.date.today().isoformat(), "version": rankwise.__version__}
                    record = about | {"budget": budget, "sets": sets}
                    RECORD.write_text(compact(record), encoding="utf-8")
    print({name: round(rank, 2) for name, rank in mean_ranks(sets).items()})
    return None


if __name__ == "__main__":
    main()
