"""Whole fits compared with other programs: times ours, keeps the recorded times of the others, draws both.

    python benchmarks/whole_fit.py             # 512,000 rows: a minute, 3 GB; for an idle machine
    python benchmarks/whole_fit.py --search    # 24,000 rows in queries, beside LightGBM and liblinear: 6 GB
    python benchmarks/whole_fit.py --quick     # 32,000 and 4,000 rows; prints, and writes nothing
    python benchmarks/whole_fit.py --draw      # the charts and the table from what is recorded

The figures are in benchmarks/results/whole_fit.json, each with its date and method. SVMrank and
liblinear-ranksvm are not on a package index, so their figures were measured by hand and are kept unchanged.
Ours on the sparse rows are measured again and replaced; those on the dense rows are kept, because they belong
to a run side by side with SVMrank. From the file are drawn docs/images/whole_fit.svg,
docs/images/search_fits.svg (the rows in queries alone) and the tables of docs/benchmarks.md, which also read
the recorded results of the race. liblinear (scikit-learn's LinearSVC) has the difference of each pair as a
row: the objective of our squared hinge.
"""

import argparse
import datetime
import json
import os
import re
from pathlib import Path
from time import perf_counter

import numpy as np
from lightgbm import LGBMRanker
from rank_svm import graded_rows
from reproduce.record import machine
from sklearn.svm import LinearSVC

from rankwise import Preferences, RankSVM
from rankwise.datasets import make_text_ranking

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "whole_fit.json"
DOCS = HERE.parent / "docs"
FIGURE, PAGE = DOCS / "images" / "whole_fit.svg", DOCS / "benchmarks.md"
SEARCH_FIGURE = DOCS / "images" / "search_fits.svg"
ROWS, QUICK_ROWS, ALPHA, REPEATS = 512_000, 32_000, 1e-5, 3
SEARCH_ROWS, QUICK_SEARCH_ROWS, SEARCH_ALPHA, N_TREES = 24_000, 2000, 1e-3, 100
LOSSES = {"hinge": "hinge", "squared hinge": "squared_hinge"}
# Sizes that the page foretells.
BEYOND = (4_000_000, 20_000_000)
OURS, THEIRS = "#c8452f", "#6f8fb0"


def measured(n_rows, repeats):
    """Return the shortest and the longest seconds of each of our fits, by name, and the time of a pass."""
    X, y = make_text_ranking(n_rows, random_state=0)
    found = {"pass": pass_milliseconds(X)}
    print(f"a product with X and one with X' by scipy take {found['pass']} ms")
    for words, loss in LOSSES.items():
        for threads in (2, 1):
            name = f"rankwise, {words}, {threads} thread" + "s" * (threads > 1)
            times = [seconds(RankSVM(ALPHA, loss=loss, n_jobs=threads), X, y) for _ in range(repeats)]
            found[name] = [round(min(times), 2), round(max(times), 2)]
            print(f"{name:<40}{min(times):8.2f} to {max(times):.2f} s")
    return found


def pass_milliseconds(X):
    """Return the time of a product with X and one with its transpose, the unit of time."""
    w, c, times = np.ones(X.shape[1]), np.ones(X.shape[0]), []
    for _ in range(5):
        start = perf_counter()
        X @ w
        X.T @ c
        times.append(perf_counter() - start)
    return round(1000 * min(times))


def seconds(model, X, y):
    start = perf_counter()
    model.fit(X, y)
    return perf_counter() - start


def pair_rows(X, y, query):
    """Return the difference of each pair's rows, and its sign, which alternates: rows of a classifier."""
    better, worse, *_ = Preferences.from_scores(y, query).pairs()
    sign = np.where(np.arange(len(better)) % 2, 1.0, -1.0)
    return sign[:, None] * (X[better] - X[worse]), sign


def search_task(n_rows, repeats):
    """Return the task of rows in queries: whole fits by the clock, with two threads."""
    X, y, query = graded_rows(n_rows)
    n_pairs, sizes = Preferences.from_scores(y, query).n_pairs, np.unique(query, return_counts=True)[1]
    options = {"loss": "squared_hinge", "average": "pairs", "n_jobs": 2}

    def ours(**changes):
        return lambda: RankSVM(SEARCH_ALPHA, **options | changes).fit(X, y, qid=query)

    def liblinear():
        model = LinearSVC(C=1 / (2 * SEARCH_ALPHA * n_pairs), fit_intercept=False, dual=False, tol=1e-3)
        model.fit(*pair_rows(X, y, query))

    def lambdarank():
        LGBMRanker(n_estimators=N_TREES, n_jobs=2, verbose=-1).fit(X, y, group=sizes)

    fits = {
        "rankwise, hinge": ours(loss="hinge"),
        "rankwise, squared hinge": ours(),
        f"LightGBM, lambdarank, {N_TREES} trees": lambdarank,
        "liblinear (LinearSVC), squared hinge, pairs listed": liblinear,
    }
    found = []
    for name, fit in fits.items():
        times = [timed(fit) for _ in range(1 if fit is liblinear else repeats)]
        print(f"{name:<52}{min(times):8.2f} to {max(times):.2f} s", flush=True)
        found.append(
            {
                "name": name,
                "ours": name.startswith("rankwise"),
                "seconds": [round(min(times), 2), round(max(times), 2)],
                "date": datetime.date.today().isoformat(),
                "how": f"side by side; load of the machine before the run {os.getloadavg()[0]:.1f}",
                "machine": "two cores, two threads if the program has them",
            }
        )
    title = (
        f"{n_rows:,} x {X.shape[1]} generated rows in {len(sizes)} queries: {n_pairs / 1e6:.1f} million pairs"
    )
    return {"name": "search", "title": title, "processor": machine()["processor"], "fits": found}


def timed(fit):
    start = perf_counter()
    fit()
    return perf_counter() - start


def with_new_times(record, times):
    """Replace the times of our fits on the sparse rows, with the day and the load of the machine."""
    how = (
        f"to a certified gap of 1e-3; a product with X and one with X' by scipy took {times['pass']} ms; "
        f"load of the machine before the run {os.getloadavg()[0]:.1f}"
    )
    day = datetime.date.today().isoformat()
    for fit in record["tasks"][0]["fits"]:
        if fit["name"] in times:
            fit |= {"seconds": times[fit["name"]], "date": day, "how": how}
    return record | {"machine": machine()}


def spoken(fit):
    """Return the time of a fit in words."""
    if fit["seconds"] is None:
        return f"not done after {fit['limit']:.0f} s"
    low, high = fit["seconds"]
    return f"{low:g} s" if low == high else f"{low:g} to {high:g} s"


def machines(task):
    """Return the fits of a task by the machine on which they ran."""
    found = {}
    for fit in task["fits"]:
        found.setdefault(fit["machine"], []).append(fit)
    return found


def draw(record, path):
    """Draw a bar per fit in one panel per task and machine; the panels of a task share its scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "rankwise", "font.size": 10})
    drawn = [(task, *one) for task in record["tasks"] for one in machines(task).items()]
    figure, panels = pyplot.subplots(
        len(drawn),
        figsize=(8, 6.2),
        layout="constrained",
        height_ratios=[len(fits) + 1.4 for _, _, fits in drawn],
    )
    for axes, (task, place, fits) in zip(panels, drawn, strict=True):
        draw_fits(axes, fits, scale_of(task))
        first = fits[0] is task["fits"][0]
        axes.set_title(place, loc="left", fontsize=9, color="#555555")
        if first:
            axes.annotate(
                task["title"],
                (-0.5, 1),
                (0, 20),
                xycoords="axes fraction",
                textcoords="offset points",
                fontsize=10,
                fontweight="bold",
                annotation_clip=False,
            )
    figure.suptitle("Seconds of a whole fit on the same data; panels of a task share its scale", fontsize=11)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw_search(record, path):
    """Draw the task of rows in queries alone, one bar per program."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "rankwise", "font.size": 11})
    (task,) = [task for task in record["tasks"] if task["name"] == "search"]
    figure, axes = pyplot.subplots(figsize=(8, 2.4), layout="constrained")
    draw_fits(axes, task["fits"], scale_of(task))
    axes.set_title(f"Seconds of a whole fit: {task['title']}", fontsize=11, x=0, ha="center")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def scale_of(task):
    """Return the end of the scale of a task: a quarter beyond its longest finished fit."""
    return 1.25 * max(fit["seconds"][1] for fit in task["fits"] if fit["seconds"])


def draw_fits(axes, fits, limit):
    for place, fit in enumerate(fits):
        unfinished = fit["seconds"] is None
        length = min(limit, fit["limit"]) if unfinished else fit["seconds"][1]
        axes.barh(place, length, 0.66, color=OURS if fit["ours"] else THEIRS, alpha=0.45 if unfinished else 1)
        beside = {"ha": "right", "xytext": (-6, 0)} if unfinished else {"ha": "left", "xytext": (5, 0)}
        axes.annotate(spoken(fit), (length, place), textcoords="offset points", va="center", **beside)
        if unfinished:
            draw_break(axes, 0.3 * limit, place, 0.012 * limit)
    axes.set_yticks(range(len(fits)), [fit["name"] for fit in fits])
    axes.set(xlim=(0, limit), ylim=(len(fits) - 0.5, -0.5))
    axes.xaxis.set_visible(False)
    axes.tick_params(left=False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def draw_break(axes, left, place, width):
    """Cut a bar by two slanted lines: it is longer than the scale."""
    x = [left, left + width, left + 2 * width, left + width]
    axes.fill(x, [place + 0.42, place - 0.42, place - 0.42, place + 0.42], color="white", zorder=3)
    for shift in (0, width):
        ends = [left + shift, left + shift + width], [place + 0.42, place - 0.42]
        axes.plot(*ends, color="#333333", linewidth=1, zorder=4, clip_on=False)


def markdown(record):
    """Return the table of the page: each figure with its date and how it was obtained."""
    lines = ["| whole fit | seconds | machine | measured | how |", "|:--|:--|:--|:--|:--|"]
    for task in record["tasks"]:
        lines.append(f"| **{task['title']}** | | | | |")
        lines += [
            f"| {fit['name']} | {spoken(fit)} | {fit['machine']} | {fit['date']} | {fit['how']} |"
            for fit in task["fits"]
        ]
    return "\n".join(lines)


def recorded(name):
    return json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))


def size_lines(title, bytes_per_row, times, beyond):
    """Return a line for each size; beyond the largest measured one, seconds grow in step with the rows."""
    largest, slowest = max(times.items())
    lines = [f"| **{title}** | | | |"]
    for rows in (*times, *beyond):
        taken = times.get(rows, slowest * rows / largest)
        how = "measured" if rows in times else "in proportion to the rows"
        lines.append(f"| {rows:,} | {memory(bytes_per_row * rows)} | {float(f'{taken:.2g}'):g} s | {how} |")
    return lines


def memory(size):
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{float(f'{size / 1e6:.2g}'):g} MB"


def size_table():
    """Return the table of sizes: rows, what the data take, and seconds of one processor."""
    race = recorded("race")["result"]["tasks"]
    text = {cell["rows"]: cell["seconds"] for cell in race["text"]["ours"]}
    classes = {cell["rows"]: cell["seconds"] for cell in race["classes"]["ours"]}
    return "\n".join(
        [
            "| rows | data in memory | whole fit, CPU seconds | how we know |",
            "|--:|--:|--:|:--|",
            *size_lines("sparse, 47,236 features, 76 used in a row", 76 * 12, text, BEYOND),
            *size_lines("dense, 54 features, two classes", 54 * 8, classes, BEYOND),
        ]
    )


def write_tables(record):
    """Put the tables into the page, in place of those that are there."""
    page = PAGE.read_text(encoding="utf-8")
    for written in (markdown(record), size_table()):
        begin = re.escape(written.partition("\n")[0])
        page, n_tables = re.subn(
            begin + r".*?\n(?=\n|\Z)", lambda _, new=written: new + "\n", page, flags=re.DOTALL
        )
        assert n_tables == 1, "the page has no such table, or several"
    PAGE.write_text(page, encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--search", action="store_true", help="the rows in queries, in place of the sparse ones"
    )
    parser.add_argument("--quick", action="store_true", help="few rows, and nothing is written")
    parser.add_argument("--draw", action="store_true", help="draw from the recorded figures")
    options = parser.parse_args(arguments)
    if options.quick:
        measured(QUICK_ROWS, 1)
        search_task(QUICK_SEARCH_ROWS, 1)
        return
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    if options.search:
        others = [task for task in record["tasks"] if task["name"] != "search"]
        record |= {"tasks": [*others, search_task(SEARCH_ROWS, REPEATS)]}
    elif not options.draw:
        record = with_new_times(record, measured(ROWS, REPEATS))
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    draw(record, FIGURE)
    draw_search(record, SEARCH_FIGURE)
    write_tables(record)
    print(markdown(record))


if __name__ == "__main__":
    main()
