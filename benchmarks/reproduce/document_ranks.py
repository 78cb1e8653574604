"""Ranks of the documents of one query from 6 to 24 of them, and of all queries from 24."""

import numpy as np
import ordinal

from rankwise.metrics import ranking_error
from reproduce.shared import mean_interval, p_values
from reproduce.text import interval, p_value, table

TITLE = "Ranks of the documents of one query"
SOURCE = "Herbrich et al. (1999), section 4.2 and figure 3"
PAPER = {"documents": 107, "ordinal_against_classes": "lower at all sizes"}
NAMES = {
    "ordinal": "OrdinalSVM, predicted ranks",
    "utility": "OrdinalSVM, utilities",
    "weston_watkins": "Weston and Watkins",
    "classes": "SVC, one against one",
}


def settings(quick):
    return {
        "query": 1,
        "sizes": [6, 24] if quick else [6, 9, 12, 15, 18, 21, 24],
        "draws": 5 if quick else 100,
        "documents_of_each_query": 12 if quick else 24,
        "draws_of_each_query": 1 if quick else 20,
        "fewest_of_each_rank": 2 if quick else 6,
        "C": ordinal.C,
        "kernel": ordinal.KERNEL,
        "seed": 0,
        "ties": "error",
    }


def run(settings, data, progress):
    X, y, qid = documents(data)
    rows = qid == settings["query"]
    generator = np.random.default_rng(settings["seed"])
    by_size = {}
    for done, size in enumerate(settings["sizes"]):
        progress(done / len(settings["sizes"]), f"{size} documents")
        by_size[str(size)] = drawn(X[rows], y[rows], size, settings["draws"], generator)
    return {
        "documents": int(rows.sum()),
        "features": X.shape[1],
        "risk": {
            name: {size: mean_interval(found[name]) for size, found in by_size.items()} for name in NAMES
        },
        "p": {size: p_values(found, "ordinal") for size, found in by_size.items()},
        "all_queries": all_queries(X, y, qid, settings, progress),
    }


def all_queries(X, y, qid, settings, progress):
    """Return the mean over queries for each learner, p-values over queries, and in how many ours is lower."""
    generator, by_query = np.random.default_rng(settings["seed"]), []
    size, draws = settings["documents_of_each_query"], settings["draws_of_each_query"]
    for query in np.unique(qid):
        rows = qid == query
        in_rank = np.bincount(y[rows], minlength=y.max() + 1)
        if in_rank.min() < settings["fewest_of_each_rank"]:
            continue
        progress(None, f"query {query}")
        found = drawn(X[rows], y[rows], size, draws, generator)
        by_query.append({name: np.mean(risks) for name, risks in found.items()})
    values = {name: [each[name] for each in by_query] for name in NAMES}
    return {
        "queries": len(by_query),
        "risk": {name: mean_interval(found) for name, found in values.items()},
        "p": p_values(values, "ordinal"),
        "lower": {
            name: int(sum(ours < theirs for ours, theirs in zip(values["ordinal"], found, strict=True)))
            for name, found in values.items()
        },
    }


def documents(data):
    """Return the documents with features of unit length, their ranks and their queries."""
    X, y, qid = (np.concatenate(columns) for columns in zip(*data.ohsumed(), strict=True))
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norm > 0, norm, 1), y.astype(int), qid


def drawn(X, y, size, draws, generator):
    """Return the risks of each learner after training on documents that are drawn several times."""
    found = [risks(X, y, ordinal.draw_sample(generator, y, size)) for _ in range(draws)]
    return {name: [each[name] for each in found] for name in NAMES}


def risks(X, y, train):
    """Return the share of pairs of different rank among the other documents that are not in order."""
    test = np.setdiff1d(np.arange(len(y)), train)
    codes = np.unique(y[train], return_inverse=True)[1]
    model = ordinal.ordinal("midpoint")(X[train], codes).__self__  # the model whose predict it gives
    scores = {
        "ordinal": model.predict(X[test]),
        "utility": model.utility(X[test]),
        "weston_watkins": ordinal.weston_watkins(X[train], codes)(X[test]),
        "classes": ordinal.multi_class(X[train], codes)(X[test]),
    }
    return {name: ranking_error(y[test], values, ties="error") for name, values in scores.items()}


def section(record):
    result, paper, settings = record["result"], record["paper"], record["settings"]
    sizes = [str(size) for size in settings["sizes"]]
    rows = [(NAMES[name], *map(interval, cells.values())) for name, cells in result["risk"].items()]
    rows += [
        (f"p, {NAMES[name]}", *(p_value(result["p"][size][name]) for size in sizes))
        for name in ("weston_watkins", "classes")
    ]
    every = result["all_queries"]
    lines = [
        (NAMES[name], interval(cell), p_value(every["p"].get(name))) for name, cell in every["risk"].items()
    ]
    return [
        f"Query {settings['query']} of OHSUMED: {result['documents']} documents here,",
        f"{paper['documents']} in the paper, three ranks. The words of the documents are not available;",
        f"the {result['features']} query features of LETOR, scaled to unit length, replace them, so only",
        "the form can be compared. Fraction of pairs of different rank that are not in order, mean of",
        f"{settings['draws']} draws with its 95% interval; p-values, here and below, are those of Wilcoxon's",
        "signed-rank test against the predicted ranks of OrdinalSVM, over draws:",
        "",
        *table(["training documents", *sizes], rows),
        "",
        "One query is little to conclude from, and these draws are of the same documents. So the same was",
        f"done for all {every['queries']} queries with at least {settings['fewest_of_each_rank']} documents",
        f"of each rank: {settings['documents_of_each_query']} documents train, mean of",
        f"{settings['draws_of_each_query']} draws, intervals and p-values over queries:",
        "",
        *table(["all queries", "not in order", "p"], lines),
        "",
        *verdict(every),
        "Equal predicted ranks are errors, so errors of one half and more are usual. Utilities are hardly",
        "ever equal and have fewer errors, but not many fewer than random scores: these features hardly",
        "depend on the relevance for a single query.",
    ]


def verdict(every):
    """Say of which classifiers ordinal regression is ahead over queries."""
    ours, n_queries = every["risk"]["ordinal"]["mean"], every["queries"]

    def told(name):
        ahead = ours < every["risk"][name]["mean"] and every["p"][name] <= 0.05
        words = "significantly fewer" if ahead else "not significantly fewer"
        return f"{words} errors than {NAMES[name]} (lower in {every['lower'][name]} of {n_queries} queries)"

    return [
        "In the paper, ordinal regression is below the machine of Weston and Watkins at all sizes. Over",
        f"queries, its predicted ranks have {told('weston_watkins')} here, and {told('classes')}.",
    ]
