"""The words of the source, the messages and the pages: phrases that read like a translation stay out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# A pattern, and what to write instead.
PHRASES = {
    r"what can be won": "the attainable improvement",
    r"\boff by\b": "the error of",
    r"\bReturn what\b": "a noun",
    r"\bso many\b": "n, or this many",
    r"\btells? of\b|\btold of\b": "report, warn of",
    r"\bis told\b|\bare told\b|\btold to stop\b": "an active verb",
    r"\bsays? nothing\b": "vacuous",
    r"\bfor ever\b": "without limit",
    r"\bmay be gone\b": "the largest feasible step",
    r"\bwhere there (is|are)\b": "if there is",
    r"\bto blame for\b": "explains",
    r"\bis heard\b": "is handled",
    r"\bprogrammes?\b": "program",
    r"\b(cut|cuts) short\b": "censored, or stopped early",
    r"\b(T|t)ell of\b": "warn of, report",
    r"\bfor the price of\b": "at the cost of",
    r"\bhand(s|ed)? over\b": "pass",
    r"\btear\b": "split",
    r"\btold apart\b": "separated, distinguished",
    r"\b(T|t)he begins\b": "the lower edges, the first indices",
    r"\bface value\b": "name the assumption",
    r"\bha(s|ve) no influence\b": "has no effect",
    r"\btakes? turns\b": "alternate",
    r"\bneither strays nor races\b": "has no memory errors and no data races",
    r"\b1 (queries|rows|pairs|strata|iterations|folds|items|edges|classes)\b": "agreement in number",
}
# Tests quote old messages.
FOLDERS = ("src", "docs", "native", "examples", "benchmarks")
SUFFIXES = (".py", ".md", ".rst", ".hpp", ".cpp")


def texts():
    """The files that people read."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    files += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
    kept = [path for path in files if not {"_build", "generated", "gallery", "tests"} & set(path.parts)]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in kept if path.is_file()}


@pytest.mark.parametrize("phrase", PHRASES)
def test_old_phrases_stay_out(phrase):
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(phrase, line)
    ]
    assert not found, f"write {PHRASES[phrase]!r}:\n" + "\n".join(found)
