"""TREC 2003 and 2004, whose data cannot be had: the paper's numbers stand alone."""

from reproduce.ohsumed import NAMES
from reproduce.text import number, table

TITLE = "Ranking documents of a query: TREC 2003 and TREC 2004"
SOURCE = "Pahikkala et al. (2009), section 5.3 and table 3"
PAPER = {
    "trec_2003": {
        "rank_rls": 0.145, "rank_rls_all_pairs": 0.141, "rls": 0.153, "rank_svm": 0.150, "rank_boost": 0.138,
    },
    "trec_2004": {
        "rank_rls": 0.034, "rank_rls_all_pairs": 0.048, "rls": 0.044, "rank_svm": 0.041, "rank_boost": 0.034,
    },
    "documents": {"trec_2003": 49_171, "trec_2004": 74_170},
    "features": 44,
}  # fmt: skip


def settings(quick):
    return {"data": "not available"}


def run(settings, data, progress):
    return {"run": False}


def section(record):
    paper = record["paper"]
    names = paper["trec_2003"]
    rows = [
        (NAMES[n].split(", with")[0], "-", number(paper["trec_2003"][n]), "-", number(paper["trec_2004"][n]))
        for n in names
    ]
    documents = paper["documents"]
    return [
        "Not run: the two collections of LETOR are not among the data that can be had here, and nothing",
        "generated would say anything about them. The paper's columns are for",
        f"{number(documents['trec_2003'], 0)} and {number(documents['trec_2004'], 0)} documents of",
        f"{paper['features']} features and two labels; everything else is as for OHSUMED above.",
        "",
        *table(
            ["disagreement error", "2003, here", "2003, paper", "2004, here", "2004, paper"],
            rows,
        ),
    ]
