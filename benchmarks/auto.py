"""AutoRanker compared with boosters that have as much time: errors of rows held out, and mean ranks.

    python benchmarks/auto.py                     # all sets, five splits; writes a record after each fit
    python benchmarks/auto.py --quick             # two small sets, 4 seconds each; writes nothing
    python benchmarks/auto.py --only diabetes wine --budget 30
    python benchmarks/auto.py --table             # the table of docs/benchmarks.md from the record

The sets are those of `benchmarks/suite.py` with labels and dense rows, at most 4,000 of each, and three more
tables of Fung et al. Each program gets the same number of seconds by the clock and one thread. Boosters learn
the labels or, of rows in queries, by their own ranking loss. A random search draws their parameters, and
three folds of queries or rows judge them by the ranking error, until the time is over; the best is fitted to
all training rows. The explainable boosting machine (EBM) is one fit of its defaults with four bags, each of
which stops when its share of the time is over. Programs that are not installed are left out: xgboost,
catboost, interpret. A run continues the record benchmarks/results/auto.json if it has the same budget.
"""

import argparse
import datetime
import importlib.util
import json
import platform
import warnings
from collections import deque
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from records import compact, markdown, with_block
from suite import folder, table, tasks
from threadpoolctl import threadpool_limits

import rankwise
from rankwise import AutoRanker, Preferences
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold

HERE = Path(__file__).parent
RECORD, PAGE = HERE / "results" / "auto.json", HERE.parent / "docs" / "benchmarks.md"
MOST_ROWS, N_FOLDS, N_SPLITS, N_BAGS, SEED = 4000, 3, 5, 4, 7


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


BOOSTERS = {
    "LightGBM": ("lightgbm", lightgbm_model),
    "XGBoost": ("xgboost", xgboost_model),
    "CatBoost": ("catboost", catboost_model),
}


def fitted(model, task):
    """Fit a booster; those with a loss of their own for queries get rows sorted by query."""
    if task.qid is None:
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


def explainable(train, budget):
    """An explainable boosting machine of four bags, each of which stops after its share of the time."""
    from interpret.glassbox import ExplainableBoostingRegressor

    start = perf_counter()

    def is_late(bag, step, progressed, metric):
        return perf_counter() - start > budget * (bag + 1) / N_BAGS

    model = ExplainableBoostingRegressor(outer_bags=N_BAGS, n_jobs=1, random_state=0, callback=is_late)
    return model.fit(train.X, train.y)


def automatic(train, budget):
    return AutoRanker(budget, n_jobs=1).fit(train.X, train.y, **train.arguments())


PROGRAMS = {"AutoRanker": ("rankwise", automatic)}
PROGRAMS |= {name: (package, partial(searched, make)) for name, (package, make) in BOOSTERS.items()}
PROGRAMS["EBM"] = ("interpret", explainable)


def suited(task):
    dense = isinstance(task.X, np.ndarray) and not isinstance(task.y, Preferences)
    return dense and task.X.shape[0] > 100 and task.X.shape[1] <= 300


def sets():
    more = {name: partial(table, name) for name in ("autompg", "machine_cpu", "wisconsin_wpbc")}
    return tasks() | (more if folder().is_dir() else {})


def of_most_rows(task):
    """The task, or as many of its rows as are used: whole queries, or rows drawn at random."""
    if task.X.shape[0] <= MOST_ROWS:
        return task
    if task.qid is not None:
        return task.first(MOST_ROWS)
    return task.taken(np.sort(np.random.default_rng(0).choice(task.X.shape[0], MOST_ROWS, replace=False)))


def measured(program, train, test, budget):
    """The error and the seconds of a program on one split."""
    start = perf_counter()
    model = program(train, budget)
    seconds = perf_counter() - start
    arguments = {"qid": test.qid} if isinstance(model, AutoRanker) else {}
    scores = np.asarray(model.predict(test.X, **arguments)).ravel()
    return [float(ranking_error(test.y, scores, test.qid)), round(seconds, 1)]


def mean_errors(entry):
    return {name: float(np.mean([error for error, _ in runs])) for name, runs in entry["runs"].items()}


def mean_ranks(record):
    """The mean over sets of the place of each program, 1 for the lowest error; equal errors share places."""
    from scipy.stats import rankdata

    errors = [mean_errors(entry) for entry in record.values()]
    places = np.mean([rankdata(list(one.values())) for one in errors], axis=0)
    return dict(zip(errors[0], places, strict=True))


def number(error):
    return f"{error:.4f}".removeprefix("0")


def table_of_page(record):
    programs = list(next(iter(record.values()))["runs"])
    rows = []
    for name, entry in record.items():
        errors = mean_errors(entry)
        best = min(errors.values())
        cells = [f"**{number(one)}**" if one == best else number(one) for one in errors.values()]
        rows.append([name, f"{entry['rows']:,}", *cells])
    errors = [mean_errors(entry) for entry in record.values()]
    rows.append(["mean", "", *(number(np.mean([one[name] for one in errors])) for name in programs)])
    ranks = mean_ranks(record)
    rows.append(["mean rank", "", *(f"{ranks[name]:.1f}" for name in programs)])
    longest = {name: max(run[1] for one in record.values() for run in one["runs"][name]) for name in programs}
    rows.append(["longest, s", "", *(f"{longest[name]:.0f}" for name in programs)])
    return markdown(["", "rows", *programs], rows)


def write_table():
    """Put the table into the page, in place of the one that is there."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))["sets"]
    PAGE.write_text(with_block(PAGE.read_text("utf-8"), "compared", table_of_page(record)), encoding="utf-8")


def run(chosen, splits, budget, record):
    """Yield the record after each run that it did not have."""
    for split in splits:  # all sets have the first split before any has the second
        for name in chosen:
            task = sets()[name]()
            if not suited(task):
                continue
            train, test = of_most_rows(task).split(split)
            entry = record.setdefault(name, {"rows": int(train.X.shape[0]), "runs": {}})
            for label, (package, program) in PROGRAMS.items():
                runs = entry["runs"].setdefault(label, [])
                if len(runs) < split and importlib.util.find_spec(package) is not None:
                    runs.append(measured(program, train, test, budget))
                    print(f"{name:<26}{label:<12}{runs[-1][0]:.4f}{runs[-1][1]:>8.1f}", flush=True)
                    yield record


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two small sets; writes nothing")
    parser.add_argument("--only", nargs="+", help="these sets")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of each program")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        return write_table()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.quick:
            deque(run(["diabetes", "wine"], [1], 4.0, {}), maxlen=0)
            return None
        about = {"date": datetime.date.today().isoformat(), "version": rankwise.__version__}
        about |= {"processor": platform.processor() or platform.machine(), "budget": options.budget}
        known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
        record = known["sets"] if known.get("budget") == options.budget else {}
        for so_far in run(options.only or list(sets()), range(1, N_SPLITS + 1), options.budget, record):
            RECORD.write_text(compact(about | {"sets": so_far}), encoding="utf-8")
    print({name: round(rank, 2) for name, rank in mean_ranks(record).items()})
    return None


if __name__ == "__main__":
    main()
