"""What became of every table and figure of the papers: the table at the top of the page."""

import numpy as np

from reproduce.convergence import SIMILAR
from reproduce.convergence import apart as losses_apart
from reproduce.record import concluded
from reproduce.text import joined, number, p_value, significant, table

REPRODUCED, IN_PART, IN_FORM = "reproduced", "in part", "in form only"
NO_DATA, DRAWN = "data not available", "an illustration"


def entries():
    """Return (paper, table or figure, experiment or None, what became of it, what was found).

    What was found is a sentence, or a function from the result file to one.
    """
    return [
        ("Airola 2010", "figure 1", "cost", REPRODUCED, subgradients_of_cadata),
        ("Airola 2010", "section 5, covtype", "covtype", REPRODUCED, covtype),
        ("Airola 2011", "figure 1", "cost", IN_PART, subgradients),
        ("Airola 2011", "figure 2", "convergence", IN_PART, convergence),
        ("Airola 2011", "figure 3", "convergence", IN_PART, memory),
        ("Airola 2011", "figure 4", "convergence", IN_PART, test_errors),
        ("Fung 2005", "figures 1 and 2", None, DRAWN, "Order graphs and hulls, without data."),
        ("Fung 2005", "table 1, figure 3a", "hull_bins", REPRODUCED, hulls),
        ("Fung 2005", "figure 3b", "hull_time", IN_PART, hull_times),
        ("Fung 2005", "program (27), any regularizer", "hull_l1", IN_PART, hulls_l1),
        ("Herbrich 1999", "figure 1", None, DRAWN, "Ranks on the axis of utility, without data."),
        ("Herbrich 1999", "figure 2", "ordinal_curves", REPRODUCED, ordinal),
        ("Herbrich 1999", "figure 3", "document_ranks", IN_FORM, documents),
        ("Pahikkala 2009", "figure 1", None, DRAWN, "The three costs as curves, without data."),
        ("Pahikkala 2009", "figure 2", "irrelevant_pairs", REPRODUCED, four_points),
        ("Pahikkala 2009", "table 1", "kernel_time", REPRODUCED, kernel_time),
        ("Pahikkala 2009", "section 4.3", "conjugate_gradients", REPRODUCED, iterations),
        ("Pahikkala 2009", "table 2", "parses", IN_FORM, parses),
        ("Pahikkala 2009", "table 3, OHSUMED", "ohsumed", REPRODUCED, ohsumed),
        ("Pahikkala 2009", "table 3, TREC 2003 and 2004", "trec", NO_DATA, "The paper's numbers alone."),
        ("Pahikkala 2009", "tables 4 and 5", "reuters", IN_PART, reuters),
        ("Pahikkala 2009", "table 6", "jester", IN_PART, jester),
    ]  # fmt: skip


def section(records):
    """Return the lines of the table, from the result files alone."""
    rows = [
        (paper, item, status if name is None or name in records else "not run", found(name, finding, records))
        for paper, item, name, status, finding in entries()
    ]
    header, _, *lines = table(["paper", "item", "outcome", "found"], rows)
    return ["## What became of each table and figure", "", header, "| --- | --- | --- | --- |", *lines, ""]


def found(name, finding, records):
    if name is not None and name not in records:
        return "-"
    return finding if isinstance(finding, str) else finding(concluded(name, records[name]))


def subgradients(record):
    largest, pairs = record["result"].get("at_largest"), record["conclusions"]
    if not largest:
        return "The tree and the counting of rankwise grow alike, all pairs much faster."
    return (
        f"The counting of rankwise takes 1/{number(largest['tree_over_merge'], 0)} of the tree's time at "
        f"{number(largest['rows'], 0)} rows, and every pair of {number(pairs['rows'], 0)} rows "
        f"{significant(pairs['minutes'])} minutes."
    )


def subgradients_of_cadata(record):
    found = record["result"]["cadata"]
    seconds = {name: cells[-1] for name, cells in found["seconds"].items()}
    tree, pairs = (significant(seconds[name]) for name in ("tree", "pairs"))
    return f"At {number(found['rows'][-1], 0)} rows of cadata the tree takes {tree} s, all pairs {pairs} s."


def covtype(record):
    result = record["result"]
    subgradient, fit = (significant(result[key]) for key in ("subgradient_seconds", "fit_seconds"))
    return f"One subgradient takes {subgradient} s, a whole fit {fit} s."


def convergence(record):
    cells = record["result"]["generated"]
    last = [fit for fit in cells["bundle"] if "seconds" in fit][-1]
    tree = [fit for fit in cells.get("tree", []) if fit.get("rows") == last["rows"] and "seconds" in fit]
    own = f", by TreeRSVM {significant(tree[0]['seconds'])} s" if tree else ""
    return (
        f"A fit to {number(last['rows'], 0)} rows takes {significant(last['seconds'])} s{own}; the paper's "
        f"took {record['paper']['tree_minutes']} minutes."
    )


def test_errors(record):
    result = record["result"]
    if "bmrm" not in result["generated"]:
        return "-"
    pairs = zip(result["generated"]["bundle"], result["generated"]["bmrm"], strict=True)
    apart = max(abs(a["error"] - b["error"]) for a, b in pairs if "error" in a and "error" in b)
    real = max(losses_apart(result[name]) for name in ("cadata", "rcv1"))
    return (
        f"The two optimizers {'hardly differ' if apart < SIMILAR else 'differ'} in test error. "
        f"The squared hinge and the hinge differ by at most {number(real[0], 4)} on real rows, at "
        f"{number(real[1], 0)}; they are similar in the paper."
    )


def memory(record):
    last = [fit for fit in record["result"]["generated"]["bundle"] if "seconds" in fit][-1]
    return f"At most {number(last['memory_over_data'], 2)} times the data at {number(last['rows'], 0)} rows."


def hulls(record):
    result, p = record["result"], record["conclusions"]["compared"]["chain, full"]["p"]
    return (
        f"The chain is better than the full graph on {result['chain_better']} of {result['n_sets']} sets and "
        f"worse on {result['full_better']} (p = {p_value(p)}); the paper finds it better on every set."
    )


def hull_times(record):
    found = record["conclusions"]
    least, most = (significant(found["pairs_over_chain"][end]) for end in ("least", "most"))
    return (
        f"Every pair takes {least} to {most} times as long as the chain; RankSVM is faster than the chain on "
        f"{found['chain_over_rank_svm']['n_above']} of {found['n_sets']} sets."
    )


def hulls_l1(record):
    p, sets = record["result"]["p"]["row"], list(record["result"]["sets"].values())
    ahead = np.mean([cells["full_row"]["share"] - cells["chain_row"]["share"] for cells in sets]) > 0
    return (
        f"With the l1 norm the {'full graph' if ahead else 'chain'} orders more pairs on average over "
        f"{len(sets)} sets (p = {p_value(p)})."
    )


def ordinal(record):
    below = next(iter(record["result"]["disjoint_from_classes"].values()))
    if not below:
        return "The ordinal machine is not clearly ahead of the classifiers."
    return f"The ordinal machine is clearly ahead of the classifiers at {joined(below)} points."


def documents(record):
    every = record["result"]["all_queries"]
    p = every["p"]["weston_watkins"]
    ahead = every["risk"]["ordinal"]["mean"] < every["risk"]["weston_watkins"]["mean"] and p <= 0.05
    return (
        f"With other features than the paper's, over {every['queries']} queries ordinal regression is "
        f"{'ahead' if ahead else 'not ahead'} of the classifier (p = {p_value(p)})."
    )


def four_points(record):
    result = record["result"]
    as_there = result["relevant_pairs"]["error"] == 0 and result["all_pairs"]["error"] == 1
    return f"Pairs that do not matter {'reverse' if as_there else 'do not reverse'} those that do."


def kernel_time(record):
    result, settings, paper = record["result"], record["settings"], record["paper"]
    k = len(settings["rows"]) - 1
    reported = dict(zip(paper["rows"], paper["rank_rls"], strict=True)).get(settings["rows"][k])
    there = "" if reported is None else f"; the paper's took {number(reported, 0)} s"
    return (
        f"RankRLS on {number(settings['rows'][k], 0)} rows takes "
        f"{significant(result['seconds']['rank_rls'][k])} s{there}."
    )


def iterations(record):
    counts = [fit["iterations"] for fit in record["result"]["fits"]]
    return (
        f"{number(min(counts), 0)} to {number(max(counts), 0)} iterations, by lambda and residual, "
        "which the paper "
        "does not state."
    )


def parses(record):
    harm = record["result"]["coarse"]["harm_of_all_pairs"]
    every = all(value > 0 for value in harm.values())
    return (
        f"On generated queries, pairs across queries do harm with {'every' if every else 'not every'} cost."
    )


def ohsumed(record):
    difference = record["result"]["difference"]["rank_rls"]
    return (
        f"RankRLS is {number(abs(difference), 4)} {'above' if difference > 0 else 'below'} the paper's error."
    )


def reuters(record):
    result, paper = record["result"], record["paper"]
    margins = result["margin_over"]
    readings = [margins[name]["mean"] for name in margins if name.startswith("rls")]
    return (
        f"RankRLS is ahead of the regressor by {number(min(readings))} to {number(max(readings))}, "
        f"by its reading; by {number(paper['margin'])} in the paper."
    )


def jester(record):
    rounds = record["result"]["rounds"].values()
    worse = all(each["error"]["relative"] > each["error"]["magnitude"] for each in rounds)
    return (
        f"On a third of the users, the cost (22) is worse {'in every round' if worse else 'in some rounds'}."
    )
