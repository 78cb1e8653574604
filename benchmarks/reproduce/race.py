"""The race: the same task and machine, one process at a time, against what installs from PyPI."""

import warnings

import numpy as np

from rankwise import Preferences
from rankwise.datasets import make_text_ranking
from rankwise.losses import Hinge
from rankwise.metrics import ndcg, ranking_error
from reproduce import contestants, isolated
from reproduce.data import Data
from reproduce.text import joined, number, significant, table

TITLE = "The race: against what people use today"
SOURCE = "The same task, machine and number of threads, one process at a time"
PAPER = {}
PACKAGES = ("lightgbm", "xgboost", "catboost", "mord", "statsmodels", "vowpalwabbit")
OURS = ("ours", "squared_hinge", "rank_rls")
NAMES = {
    "ours": "rankwise",
    "squared_hinge": "rankwise, squared hinge",
    "rank_rls": "rankwise, RankRLS",
    "pairs_svc": "LinearSVC on explicit pairs",
    "ridge": "Ridge",
    "logistic": "LogisticRegression",
    "vowpal_wabbit": "Vowpal Wabbit, regression",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "mord": "mord, LogisticAT",
    "ordered_model": "statsmodels, OrderedModel",
}
COLOURS = {
    "ours": "#c8452f",
    "squared_hinge": "#e08a6d",
    "rank_rls": "#e0a83c",
    "pairs_svc": "#40688c",
    "ridge": "#2f8f6b",
    "logistic": "#2f8f6b",
    "vowpal_wabbit": "#8a6fb0",
    "lightgbm": "#6f8fb0",
    "xgboost": "#8a6fb0",
    "catboost": "#8c6d5a",
    "mord": "#2f8f6b",
    "ordered_model": "#8a6fb0",
}
TITLES = {
    "text": "One ranking of sparse text by real scores (generated, like RCV1)",
    "queries": "Graded documents within queries (OHSUMED, first official fold)",
    "classes": "Two classes, ranked by the more frequent (covtype): the error is 1 - AUC",
    "ordinal": "Five ordered grades (California housing in bins)",
}


def settings(quick):
    return {
        "sizes": {"text": [500], "queries": [1000], "classes": [1000], "ordinal": [500]} if quick else {
            "text": [1000, 8000, 64_000, 256_000],
            "queries": [2000, 10_000],
            "classes": [1000, 10_000, 100_000],
            "ordinal": [1000, 16_000],
        },
        "test_rows": {"text": 5000, "queries": 5000, "classes": 50_000, "ordinal": 4000},
        "time_limit": 60,
        "full_time_limit": 600,
        "memory_limit_gigabytes": 8,
        "threads": contestants.THREADS,
        "alpha": contestants.ALPHA,
        "trees": contestants.TREES,
        "depth": contestants.DEPTH,
        "rate": contestants.RATE,
        "seed": 0,
        "may_generate": quick,
    }  # fmt: skip


def run(settings, data, progress):
    data.path("letor2_ohsumed")  # the children read it: say here and now when it is missing
    found = {}
    for task, sizes in settings["sizes"].items():
        found[task] = {name: [] for name in contestants.TASKS[task]}
        for name, cells in found[task].items():
            for size in sizes:
                progress(None, f"{task}: {NAMES[name]}, {size:,} rows")
                arguments = {"task": task, "name": name, "size": size, "settings": settings}
                cells.append(
                    isolated.run(
                        "reproduce.race:contest",
                        arguments,
                        time_limit=settings["full_time_limit"],
                        threads=settings["threads"],
                        processor_limit=settings["time_limit"],
                        memory_limit=1e9 * settings["memory_limit_gigabytes"],
                    )
                )
                if cells[-1]["status"] != "done":
                    break  # larger sizes would give up as well
    return {"tasks": {task: with_ratios(cells) for task, cells in found.items()}}


def with_ratios(found):
    """Set time, memory, error and objective beside those of ours."""
    for name, cells in found.items():
        for ours, cell in zip(found["ours"], cells, strict=False):
            if name != "ours" and cell["status"] == ours["status"] == "done":
                cell["ratio"] = {
                    key: cell[key] / ours[key]
                    for key in ("seconds", "memory", "error", "objective")
                    if cell.get(key) and ours.get(key)
                }
    return found


def rows_of(task, size, settings):
    """Return training and test rows: features, labels and queries or None."""
    data, test = Data(may_generate=settings["may_generate"]), settings["test_rows"][task]
    if task == "queries":
        return query_rows(data.ohsumed(), size)
    if task == "text":
        X, y = make_text_ranking(size + test, random_state=settings["seed"])
    elif task == "classes":
        X, y = data.covtype()
        y = (y == np.bincount(y.astype(int)).argmax()).astype(float)
    else:
        X, y = data.fung("cal_housing")
        y = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(settings["seed"]).permutation(len(y))
    train, rest = order[:size], order[size : size + test]
    return (X[train], y[train], None), (X[rest], y[rest], None)


def query_rows(parts, size):
    """Return whole queries of the first three parts, as many as fit, and the fifth part."""
    X, y, qid = (np.concatenate(columns) for columns in zip(*parts[:3], strict=True))
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    last = min(size, len(y))
    while last < len(y) and last > 0 and qid[last - 1] == qid[last]:
        last -= 1
    return (X[:last], y[:last], qid[:last]), parts[4]


def contest(task, name, size, settings):
    """Fit one contestant in a process of its own and judge it."""
    warnings.simplefilter("ignore")
    train, (X_test, y_test, qid_test) = rows_of(task, size, settings)
    model, cost = isolated.timed(lambda: contestants.TASKS[task][name](task, *train))
    found = contestants.scores(model, X_test)
    cost["wall_seconds"], cost["seconds"] = cost["seconds"], cost.pop("processor_seconds")
    cost["memory_mb"] = None if cost["memory"] is None else cost["memory"] / 1e6
    judged = {"rows": len(train[1]), **cost, "error": float(ranking_error(y_test, found, qid_test))}
    if task == "queries":
        values = ndcg(y_test, found, qid_test, k=10, per_query=True)
        judged["ndcg_at_10"] = float(np.nanmean(values))
    if name in ("ours", "pairs_svc") and task in ("text", "classes"):
        judged["objective"] = objective(task, train, np.ravel(model.coef_))
    return judged


def objective(task, train, w):
    """Return the mean hinge over all pairs + alpha ||w||^2."""
    X, y, qid = train
    loss = Hinge(Preferences.from_scores(y, qid=qid))
    return float(loss.value_and_coefficients(X @ w)[0] + contestants.ALPHA[task] * w @ w)


def section(record):
    settings, tasks = record["settings"], record["result"]["tasks"]
    lines = [
        f"Each run is a process of its own on {settings['threads']} thread; sizes grow until a",
        f"contestant fails, passes {settings['time_limit']} s or asks for more than",
        f"{settings['memory_limit_gigabytes']} GB. A limit of {settings['full_time_limit']} s would let",
        "slow contestants go on, but the race should stay short. Seconds are the processor's, so",
        "that other work on the machine counts little. Memory is the growth during the fit.",
        f"Boosted trees: {settings['trees']} trees of depth {settings['depth']}, rate",
        f"{settings['rate']}. Nothing is tuned, on either side. Time, memory and error are given with",
        "their ratio to `rankwise` in brackets: above one is slower, larger, worse; below one, better",
        "than ours.",
        "",
        "scikit-survival's FastSurvivalSVM is the nearest relative, but its license is the GPL, and",
        "this project neither",
        "uses nor installs GPL packages, so it does not race here.",
    ]
    for task, found in tasks.items():
        lines += ["", f"### {TITLES[task]}", "", *task_table(found, task)]
        lines += gave_up(found, settings["sizes"][task])
    return [*lines, "", "### What to choose", "", *advice(tasks)]


def task_table(found, task):
    header = ["rows", "contestant", "seconds", "memory, MB", "test error"]
    header += ["NDCG@10"] if task == "queries" else ["objective"] if task in ("text", "classes") else []
    rows = []
    for k in range(len(found["ours"])):
        for name, cells in found.items():
            if k < len(cells) and cells[k]["status"] == "done":
                rows.append(line(NAMES[name], cells[k], task))
    return table(header, rows)


def line(name, cell, task):
    ratio = cell.get("ratio", {})

    def beside(text, key, digits=1):
        return f"{text} ({number(ratio[key], digits)})" if key in ratio else text

    cells = [
        number(cell["rows"], 0),
        name,
        beside(significant(cell["seconds"]), "seconds"),
        beside(number(None if cell["memory"] is None else cell["memory_mb"], 0), "memory"),
        beside(number(cell["error"], 4), "error", 2),
    ]
    if task == "queries":
        cells.append(number(cell["ndcg_at_10"], 4))
    elif task in ("text", "classes"):
        cells.append(beside(number(cell.get("objective"), 4), "objective", 3))
    return cells


def gave_up(found, sizes):
    """Say where contestants stopped."""
    ended = [
        f"{NAMES[name]} at {number(sizes[len(cells) - 1], 0)} rows ({cells[-1]['status']})"
        for name, cells in found.items()
        if cells and cells[-1]["status"] != "done"
    ]
    return ["", "Gave up: " + joined(ended, str) + "."] if ended else []


def advice(tasks):
    """Say who is better, from the numbers at every size that both finished."""
    lines = []
    for task, found in tasks.items():
        lower = ahead(found, "error", "of our error", 0.995)
        faster = ahead(found, "seconds", "of our time", 0.95)
        title = TITLES[task].split(" (")[0]
        lines.append(f"- {title}. Lower test error than ours: {lower}. Faster than ours: {faster}.")
    return [
        *lines,
        "",
        "Where features interact and rows are many, boosted trees learn what a linear function cannot:",
        "choose them when only accuracy on tabular data counts. They are not tuned here, and with fewer or",
        "smaller trees they might do better on few rows, so that a lead of ours on OHSUMED is no verdict on",
        "them. Choose Ridge or LogisticRegression where their error above is as low or lower: they do not",
        "look at pairs, and need not. The scores of the text task are a linear function of its features,",
        "which is the best case for regression; the penalty there is the paper's at every size, and",
        "whether another would close the gap was not tried. Choose `rankwise` where queries part the rows,",
        "where only the order of the scores is to be trusted, where a linear function has to be read or put",
        "into a database, where the pairs and their weights matter, or where a certified optimum is wanted.",
    ]


def ahead(found, key, words, limit):
    """Name the rivals whose ratio to ours is below a limit, in bold, with each size at which it is."""
    named = []
    for name in (name for name in found if name not in OURS):
        done = [cell for cell in found[name] if cell["status"] == "done" and key in cell.get("ratio", {})]
        shares = [
            f"{number(cell['ratio'][key], 2)} {words} at {number(cell['rows'], 0)} rows"
            for cell in done
            if cell["ratio"][key] < limit
        ]
        if shares:
            named.append(f"**{NAMES[name]}** ({joined(shares, str)})")
    return joined(named, str) if named else "none"


def draw(record, path):
    """Draw seconds against rows, a panel for each task; lines end where a contestant gave up."""
    from matplotlib import pyplot

    tasks = record["result"]["tasks"]
    figure, panels = pyplot.subplots(2, 2, figsize=(12, 6.5), layout="constrained")
    for axes, (task, found) in zip(panels.flat, tasks.items(), strict=True):
        for name, cells in found.items():
            done = [(cell["rows"], cell["seconds"]) for cell in cells if cell["status"] == "done"]
            if not done:
                continue
            width = 2.5 if name == "ours" else 1.2
            axes.loglog(
                *zip(*done, strict=True),
                "o-",
                label=NAMES[name],
                color=COLOURS[name],
                linewidth=width,
                markersize=4,
            )
        rows = [cell["rows"] for cell in found["ours"]]
        axes.set_xticks(rows, [number(row, 0) for row in rows])
        axes.set_xticks([], minor=True)
        axes.set_title(TITLES[task].split(" (")[0], fontsize=10)
        axes.set(xlabel="rows", ylabel="seconds of one processor")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
