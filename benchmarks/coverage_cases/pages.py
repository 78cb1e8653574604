"""The tables of the page of benchmarks."""

import json
import re
from pathlib import Path

from coverage_cases.cases import CASES
from coverage_cases.score_tables import SEPARATIONS, TABLES, WORTHS
from coverage_cases.searches import CONFORMAL
from coverage_cases.votes import CLAIMS
from coverage_cases.weights import BESIDE, MODELS, STRUCTURES, UNEQUAL
from rankwise.evaluation.conformal import METHODS
from rankwise.evaluation.grades import NAMES

RESULTS = Path(__file__).parents[1] / "results" / "coverage.json"


PAGES = [Path(__file__).parents[2] / "docs" / name for name in ("benchmarks.md",)]


def tables():
    """Return the tables of the page by name: intervals of weights, and conformal ranges."""
    known = json.loads(RESULTS.read_text())
    weights = {
        structure: [known.get(f"{name}: {structure}", {}).get("quantities") for name in MODELS]
        for structure in STRUCTURES
    }
    return {
        "weights": markdown(
            ["", *MODELS],
            [[name, *map(percent_range, found)] for name, found in weights.items() if any(found)],
        ),
        "unequal": markdown(
            ["", *BESIDE],
            [
                [title, *(percent_range(known[f"unequal, {name}: {title}"]["quantities"]) for name in BESIDE)]
                for title in UNEQUAL
                if all(f"unequal, {name}: {title}" in known for name in BESIDE)
            ],
        ),
        "scaled": markdown(
            ["", "heavy-tailed feature: coverage, length", "other feature: coverage, length"],
            [
                [
                    title.removeprefix("behind a scaler, "),
                    *map(coverage_and_length, one["quantities"].values()),
                ]
                for title, one in known.items()
                if title.startswith("behind a scaler")
            ],
        ),
        "ranges": markdown(
            ["", *(f"`{method}`: coverage, length" for method in METHODS)],
            [
                [title, *map(coverage_and_length, known[f"conformal: {title}"]["quantities"].values())]
                for title in CONFORMAL
                if f"conformal: {title}" in known
            ],
        ),
        "concordances": markdown(
            ["", "index: coverage, length", "difference: coverage, length"],
            [
                [title, *map(coverage_and_length, known[title]["quantities"].values())]
                for title in CASES
                if is_concordance(known.get(title, {}).get("quantities", {}))
            ],
        ),
        "means": markdown(
            ["", "mean: coverage, length", "difference: coverage, length"],
            [
                [title, *means_of(known[title]["quantities"])]
                for title in CASES
                if set(known.get(title, {}).get("quantities", {"": 0})) <= {*OF_MEANS, *OF_DIFFERENCES}
            ],
        ),
        "grades": markdown(
            ["", *(f"{title.lower()}: coverage, length" for title in NAMES.values())],
            [
                [title, *map(coverage_and_length, known[title]["quantities"].values())]
                for title in CASES
                if title.startswith("grades of") and title in known
            ],
        ),
        "claims": markdown(
            ["", "mean of claims of 95% or more", "of which right"],
            [
                [
                    title.split(": ")[1],
                    *(percent(known[title]["quantities"]["claims"][key]) for key in OF_CLAIMS),
                ]
                for title in CLAIMS
                if title in known
            ],
        ),
        "score tables": markdown(
            ["", *(f"{name}: coverage, length" for name in OF_SCORE_TABLES)],
            [
                [name, *cells_of(known[f"score table: {name}"]["quantities"], OF_SCORE_TABLES)]
                for name in TABLES
                if "mean" in known.get(f"score table: {name}", {}).get("quantities", {})
            ],
        ),
        "looks": markdown(
            ["", *(f"{name}: coverage of all looks, length" for name in OF_LOOKS)],
            [
                [name, *cells_of(known[f"score table: {name}"]["quantities"], OF_LOOKS)]
                for name in TABLES
                if "anytime" in known.get(f"score table: {name}", {}).get("quantities", {})
            ],
        ),
        "worths": markdown(
            ["", *(f"{name}: coverage, length" for name in OF_WORTHS)],
            [
                [
                    name.removeprefix("worths, "),
                    *map(coverage_and_length, known[title]["quantities"].values()),
                ]
                for name, title in ((name, f"score table: {name}") for name in WORTHS)
                if title in known
            ],
        ),
        "separations": markdown(
            ["", "mean of the chances", "how often separated"],
            [
                [
                    title.removeprefix("separation, "),
                    *(percent(known[title]["quantities"]["separated"][key]) for key in OF_CLAIMS),
                ]
                for title in SEPARATIONS
                if title in known
            ],
        ),
        "leaderboards": markdown(
            ["", *(f"{name}: coverage, length" for name in OF_LEADERBOARDS)],
            [
                [re.sub("^leaderboard[:,] ", "", title), *cells_of(known[title]["quantities"])]
                for title in CASES
                if title.startswith("leaderboard") and "score" in known.get(title, {}).get("quantities", {})
            ],
        ),
    }


def is_concordance(quantities):
    """Return whether a case has an index and the difference of two."""
    return set(quantities) == {"index", "difference"}


OF_MEANS = ("mean", "error")


OF_DIFFERENCES = ("difference", "all differences")


def means_of(quantities):
    """Return the coverage and the length of a mean and of a difference, where they were recorded."""
    return [
        next((coverage_and_length(quantities[name]) for name in names if name in quantities), "")
        for names in (OF_MEANS, OF_DIFFERENCES)
    ]


OF_LEADERBOARDS = ("score", "best - worst", "rank")


OF_CLAIMS = ("truth", "coverage")


OF_SCORE_TABLES = ("mean", "difference, mean", "wins", "strength", "all ranges, mean")


OF_LOOKS = ("anytime", "fixed")


OF_WORTHS = ("worth", "difference", "all ranges")


def cells_of(quantities, names=OF_LEADERBOARDS):
    """Return the coverage and the length of each quantity of a leaderboard that was recorded."""
    return [coverage_and_length(quantities[name]) if name in quantities else "" for name in names]


def markdown(header, rows):
    """Return a table, or a note if nothing is recorded."""
    if not rows:
        return "Not recorded yet: `python benchmarks/coverage.py`."
    lines = [f"| {' | '.join(row)} |" for row in [header, *rows]]
    return "\n".join([lines[0], "|---" + "|--:" * (len(header) - 1) + "|", *lines[1:]])


def percent(fraction):
    return f"{100 * fraction:.1f}%"


def percent_range(quantities):
    """Return the lowest and the highest coverage of several quantities."""
    if quantities is None:
        return ""
    found = [100 * one["coverage"] for one in quantities.values()]
    return f"{min(found):.1f} to {max(found):.1f}"


def coverage_and_length(found):
    return f"{percent(found['coverage'])}, {found['length']:.2f}"


def write_tables():
    """Put the tables into the pages, between comments with their names."""
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES}
    for name, table in tables().items():
        (path,) = (path for path, page in pages.items() if f"<!-- {name} -->" in page)
        block = f"<!-- {name} -->\n\n{table}\n\n<!-- end -->"
        pages[path] = re.sub(
            rf"<!-- {name} -->.*?<!-- end -->", lambda _, new=block: new, pages[path], flags=re.DOTALL
        )
    for path, page in pages.items():
        path.write_text(page, encoding="utf-8")
