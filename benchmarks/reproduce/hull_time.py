"""Time of a fit on the nine sets of five bins, and of a method that goes through every pair."""

from statistics import median

import hull

from rankwise import RankSVM
from reproduce.data import FUNG
from reproduce.hull_bins import METHODS, PAIR_ITERATIONS, quietly
from reproduce.shared import processor_seconds
from reproduce.text import number, significant, table

TITLE = "Convex hulls: run time"
SOURCE = "Fung et al. (2005), section 3 and figure 3b"
PAPER = {"finding": "an order of magnitude faster than methods that list pairs"}


def settings(quick):
    return {
        "sets": ["pyrimidines", "machine_cpu"] if quick else list(FUNG),
        "methods": list(METHODS[:5]) if quick else list(METHODS),
        "pair_iterations": PAIR_ITERATIONS,
        "folds": 10,
        "repeats": 1 if quick else 3,
        "clock": "processor",
        "threads": 1,
        "seed": 0,
    }


@quietly()
def run(settings, data, progress):
    found = {}
    for done, name in enumerate(settings["sets"]):
        progress(done / len(settings["sets"]), name)
        X, target = data.fung(name)
        A, a, *_ = next(hull.folds(X, hull.bins(target), settings["folds"]))
        found[name] = {"rows": len(a)} | seconds(A, a, settings)
    return {"sets": found}


def seconds(X, y, settings):
    """Return the processor seconds of a fit to the training rows of the first fold, for each method."""
    known, found = hull.methods(), {}
    for name in settings["methods"]:
        alpha = None if known[name] is None else hull.chosen_alpha(known[name], X, y)
        fit = hull.gaussian_process if alpha is None else known[name](alpha)
        repeats = 1 if name == "gp" else settings["repeats"]
        found[name] = processor_seconds(lambda fit=fit: fit(X, y), repeats)
        if name == "rank_svm":
            model = RankSVM(alpha, solver="pair-rsvm", max_iter=settings["pair_iterations"])
            found["every_pair"] = processor_seconds(lambda model=model: model.fit(X, y), 1)
            found |= {"pairs": int(model.n_pairs_), "iterations": int(model.n_iter_)}
    return found


def conclusions(record):
    """Return the ratios that the claims are about."""
    sets = record["result"]["sets"].values()
    largest = max(sets, key=lambda cells: cells["rows"])
    ratios = {
        "pairs_over_chain": [cells["every_pair"] / cells["chain"] for cells in sets],
        "pairs_over_default": [cells["every_pair"] / cells["chain_edge"] for cells in sets],
        "chain_over_rank_svm": [cells["chain"] / cells["rank_svm"] for cells in sets],
    }
    spread = {
        name: {
            "least": min(values),
            "median": median(values),
            "most": max(values),
            "n_above": sum(value > 1 for value in values),
        }
        for name, values in ratios.items()
    }
    return spread | {
        "at_largest": {
            "rows": largest["rows"],
            "pairs_over_chain": largest["every_pair"] / largest["chain"],
            "chain_over_rank_svm": largest["chain"] / largest["rank_svm"],
        },
        "n_sets": len(sets),
        "n_faster_by_pairs": len(sets) - spread["pairs_over_chain"]["n_above"],
        "rows_of_gaussian_process": hull.GP_ROWS,
    }


def section(record):
    result, found, settings = record["result"], record["conclusions"], record["settings"]
    names = [*settings["methods"], "every_pair"]
    rows = [
        (name, number(cells["rows"], 0), number(cells["pairs"], 0), *(significant(cells[m]) for m in names))
        for name, cells in result["sets"].items()
    ]
    header = [*(hull.NAMES[m] for m in settings["methods"]), "every pair"]
    by_pairs, by_svm, largest = found["pairs_over_chain"], found["chain_over_rank_svm"], found["at_largest"]
    return [
        "Seconds of a fit to the training rows of the first fold, at the `alpha` that a fifth of them",
        f"chooses. The last method goes through all pairs in each of at most {settings['pair_iterations']}",
        "iterations, as programs do that list pairs (`RankSVM(solver='pair-rsvm')`). The paper's own",
        "baselines, SVM-light and the informative vector machine, are not run.",
        "",
        *table(["set", "rows", "pairs", *header], rows),
        "",
        f"Going through every pair takes {significant(by_pairs['least'])} to {significant(by_pairs['most'])}",
        f"times as long as the chain, {significant(largest['pairs_over_chain'])} times on the largest set,",
        f"{number(largest['rows'], 0)} rows. The paper's orders of magnitude are those of large sets: on",
        f"{found['n_faster_by_pairs']} small ones the pairs take less time. `RankSVM`, which",
        f"compares the same pairs without listing them, is faster than the chain on {by_svm['n_above']} of",
        f"{found['n_sets']} sets, {significant(largest['chain_over_rank_svm'])} times on the largest.",
    ]
