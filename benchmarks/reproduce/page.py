"""Write docs/reproduction.md from the result files, and check that its numbers come from them."""

import json
import re
from importlib import import_module
from pathlib import Path

from reproduce import inventory, record
from reproduce.text import number, wrapped

OPENING = """# The papers' tables and figures, run again

The first table lists each table and figure of the five papers and its outcome here. Open an experiment to
see its numbers beside those of the paper.
"""
CLOSING = """## How to repeat it

`make reproduce` writes this page from the files in `benchmarks/results/`, and `make race` runs the
comparison with other packages. Both skip results from an idle machine. In a checkout of the repository,
`python -m benchmarks.reproduce --only NAME --force` runs one experiment again, and `--quick` runs all of
them in small, on generated data if the real data are absent. The real data are not part of the repository:
some of their licences do not allow it. They are read from the folder named by the environment variable
`RANKWISE_DATA`.
"""
# Numbers that are names and not results: equations, the level of intervals, codes of labels, scales.
NAMES = re.compile(
    r"\(2[0-8]\)|Section 2\.2|\(12\)|95%|0\.\.1|\^2|labels 0 and 1|labels -1 and 1|labels 1 and 0|\+ 1\)"
    r"|1 - AUC|NDCG@10|TREC 200[34]|200[34], (?:here|paper)"
)
# So are the papers' years and the numbers of their tables, in the table of all of them.
LABELS = re.compile(
    r"(?:19|20)\d\d(?= \|)|TREC 2003 and 2004|(?:figures?|tables?|section) [\d.]+(?: and \d+)?|\b1/"
)
TOKEN = re.compile(r"(?<![\w.,-])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


def write(folder, names, path):
    """Write the page of all results that are in a folder, and draw its figures."""
    records = {name: record.load(Path(folder) / f"{name}.json") for name in names}
    records = {name: found for name, found in records.items() if found}
    draw_figures(records, Path(path).parent / "images")
    Path(path).write_text(render(records))


def render(records):
    """Return the page as text."""
    sections = [section(name, found) for name, found in records.items()]
    return "\n".join([OPENING, *inventory.section(records), *sections, CLOSING])


def section(name, found):
    """Return one experiment's part of the page."""
    module, found = import_module(f"reproduce.{name}"), record.concluded(name, found)
    lines = [f"*{found['source']}.*", "", *module.section(found), ""]
    if hasattr(module, "draw"):
        lines += [f"![{found['title']}](images/reproduction_{name}.png)", ""]
    content = [*wrapped(lines), footnote(name, found)]
    return "\n".join([f"## {found['title']}", "", *folded(content), ""])


def folded(lines):
    """Return lines that a click opens; those with headings stay open, as a heading cannot be folded."""
    if any(line.startswith("#") for line in lines):
        return lines
    return ["<details><summary>Numbers and figures</summary>", "", *lines, "", "</details>"]


def footnote(name, found):
    """Say where and under what the numbers were found."""
    machine, load, clock = found["machine"], found["load"], found["settings"].get("clock")
    parts = [
        f"`benchmarks/results/{name}.json`: {number(found['seconds'], 0)} s on {machine['cores']} cores "
        f"({machine['processor']})"
    ]
    if clock == "processor":
        parts.append(
            "seconds are those of the processor, on one thread; the load of the machine was "
            f"{number(load['before'], 1)} before the run and {number(load['after'], 1)} after it"
        )
    if found.get("generated_data"):
        parts.append("generated data replaced " + ", ".join(found["generated_data"]))
    return "<small>" + "; ".join(parts) + ".</small>"


def draw_figures(records, folder):
    """Draw the figures, where matplotlib is there to do it."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in records.items():
        module = import_module(f"reproduce.{name}")
        if hasattr(module, "draw"):
            module.draw(found, folder / f"reproduction_{name}.png")


def unexplained(text, found):
    """Return the numbers in a text that no number of a result file, rounded alike, accounts for.

    >>> unexplained("error 0.34, paper 0.351, made up 0.7", {"error": 0.3413, "paper": "0.351"})
    ['0.7']
    """
    known = list(numbers_in(found))
    tokens = TOKEN.findall(NAMES.sub(" ", text))
    return [token for token in tokens if not any(agrees(token, value) for value in known)]


def numbers_in(value):
    """Return all numbers of a result file, those inside its words and names included."""
    for token in TOKEN.findall(json.dumps(value).replace('"', " ")):
        yield float(token.replace(",", "").rstrip("."))


def agrees(token, value):
    """Say whether a number, written as in the token, is the token."""
    digits = token.replace(",", "")
    if "e" in digits:
        decimals = len(digits.partition("e")[0].partition(".")[2])
        return float(digits) == float(f"{value:.{decimals}e}")
    decimals = len(digits.partition(".")[2])
    return f"{abs(value):.{decimals}f}" == digits.lstrip("-")
