"""What a new user waits for, by revision: the build, the import and the memory of a first fit.

    python benchmarks/first_contact.py 3248ab7 HEAD --output benchmarks/results/first_contact.json
    python benchmarks/first_contact.py --quick     # HEAD: without the build, by the rankwise of this Python

Each revision is built from the repository in a temporary folder; the file keeps the results of others. Times
are CPU seconds (user and system). Memory is the peak of a fit of one ranking with two features in one thread,
in bytes a row beside the data.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from commands import processor_seconds

HERE = Path(__file__).parent
FIT = """
import sys
import numpy
from rankwise import RankSVM
from timing import peak_memory

loss, n = sys.argv[1], int(sys.argv[2])
X = numpy.random.default_rng(0).standard_normal((n, 2))
y = X[:, 0] + numpy.random.default_rng(1).standard_normal(n)
model = RankSVM(loss=loss, n_jobs=1)
model.fit(X[:100], y[:100])
print(peak_memory(lambda: model.fit(X, y)) / n)
"""


def commit(revision):
    named = subprocess.run(
        ["git", "rev-parse", "--short=7", revision], cwd=HERE, check=True, capture_output=True, text=True
    )
    return named.stdout.strip()


def build(revision, folder):
    """Install a revision below the folder; return the CPU seconds of building its wheel."""
    source, wheels = Path(folder) / "source", Path(folder) / "wheels"
    source.mkdir()
    archive = subprocess.run(["git", "archive", revision], cwd=HERE.parent, check=True, capture_output=True)
    subprocess.run(["tar", "-x"], cwd=source, input=archive.stdout, check=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    seconds = processor_seconds([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, source], folder)
    target = Path(folder) / "installed"
    subprocess.run([*pip, "install", "--no-deps", "--target", target, *wheels.glob("*.whl")], check=True)
    return seconds


def contact(python, rows, repeats):
    """Return the CPU seconds of imports and the bytes a row of fits, each in a process of its own."""
    imports = {"RankSVM": "from rankwise import RankSVM", "scikit-learn": "import sklearn.base"}
    found = {
        f"import of {name}, CPU seconds": min(
            processor_seconds([*python, "-c", code], HERE) for _ in range(repeats)
        )
        for name, code in imports.items()
    }
    for loss in ("hinge", "squared_hinge"):
        fit = subprocess.run(
            [*python, "-c", FIT, loss, str(rows)], cwd=HERE, check=True, capture_output=True, text=True
        )
        found[f"{loss}, {rows:,} rows, bytes a row"] = float(fit.stdout)
    return found


def measured(revision, rows, repeats):
    with tempfile.TemporaryDirectory() as folder:
        found = {"build of a wheel, CPU seconds": build(revision, folder)}
        # -S: an editable install would come first.
        path = os.pathsep.join([f"{folder}/installed", sysconfig.get_path("platlib")])
        os.environ["PYTHONPATH"] = path
        return found | contact([sys.executable, "-S"], rows, repeats)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("revisions", nargs="*", default=["HEAD"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.quick:
        results = {"this one": contact([sys.executable], 100_000, 1)}
    else:
        results = {name: measured(name, 4_000_000, 7) for name in map(commit, options.revisions)}
    for revision, found in results.items():
        print(revision)
        for name, number in found.items():
            print(f"  {name:44}{number:10.2f}")
    if options.output:
        rounded = {r: {name: round(x, 3) for name, x in found.items()} for r, found in results.items()}
        known = json.loads(options.output.read_text()) if options.output.exists() else {}
        options.output.write_text(json.dumps(known | rounded, indent=2) + "\n")


if __name__ == "__main__":
    main()
