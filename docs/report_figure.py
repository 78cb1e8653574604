"""Draw docs/images/report.png: the top of a report on search results, with queries and without.

`python docs/report_figure.py` needs chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rankwise import RankSVM
from rankwise.datasets import make_search
from rankwise.report import Report

TARGET = Path(__file__).parent / "images" / "report.png"
WIDTH, HEIGHT = 1120, 826


def search_report() -> Report:
    """Return a report on held-out queries."""
    X, grade, qid = make_search(random_state=0)
    train, test = qid < 30, qid >= 30
    model = RankSVM(alpha=1e-3).fit(X[train], grade[train], qid=qid[train])
    other = RankSVM(alpha=1e-3).fit(X[train], grade[train])
    names = ["matches in the title", "matches in the text", "length of the address"]
    return Report(
        model, X[test], grade[test], qid[test], models={"RankSVM without qid": other}, name="RankSVM",
        feature_names=names, title="Search results: 30 queries held out",
    )  # fmt: skip


def draw(browser: str) -> None:
    """Save the picture."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        search_report().save(page)
        flags = f"--headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size={WIDTH},{HEIGHT}"
        subprocess.run([browser, *flags.split(), f"--screenshot={TARGET}", page.as_uri()], check=True)


if __name__ == "__main__":
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        sys.exit("Install chromium.")
    draw(found)
