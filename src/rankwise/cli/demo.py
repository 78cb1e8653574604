"""`rankwise demo`: rank search results, chat models and patients, and write a page of each."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.cli import arguments
from rankwise.cli.demo_tasks import leaderboard, patients, search
from rankwise.cli.output import Console

if TYPE_CHECKING:
    from rankwise.cli.demo_tasks import Task

EXAMPLE = """  rankwise demo --output demo-report
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "demo",
        "[options]",
        run,
        "rank search results, chat models and patients, and write a page of each",
        "Learn three rankings: search results with and without queries, a leaderboard from votes, and "
        "patients with probabilities. Print a summary, and write a page of each (figures need matplotlib).",
        EXAMPLE,
    )
    parser.add_argument("--output", default="demo-report", help="folder of the report (default: %(default)s)")


def run(options: argparse.Namespace, console: Console) -> None:
    """Learn, print, write."""
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    tasks = [search(), leaderboard(), patients()]
    printed, written = ["# Three rankings"], ["# Three rankings"]
    for number, task in enumerate(tasks, 1):
        lines = ["", f"## {number}. {task.title}", "", *task.lines]
        printed += lines
        written += [*lines, "", *write(task, folder)]
    report, pages = folder / "report.md", [str(folder / f"{task.name}.html") for task in tasks]
    report.write_text("\n".join(written) + "\n")
    values = {"command": "demo", "report": str(report), "pages": pages}
    console.result(
        values | {task.name: task.values for task in tasks},
        [*printed, "", f"Written to {report}. Open in a browser:", *(f"  {page}" for page in pages)],
    )


def write(task: Task, folder: Path) -> list[str]:
    """Write the page of a task, and its figure if matplotlib is installed; return the links to them."""
    (folder / f"{task.name}.html").write_text(task.page)
    links = [f"[The page]({task.name}.html)"]
    if draw(task, folder / f"{task.name}.png"):
        links += ["", f"![{task.title}]({task.name}.png)"]
    return links


def draw(task: Task, path: Path) -> bool:
    """Draw the figure of a task; return False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    task.draw(figure.subplots())
    figure.savefig(path, dpi=120)
    return True
