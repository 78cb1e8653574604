"""Check that the version is ready for a release, and tag it.

    python tools/release.py             # print what is missing, exit with 1 if anything is
    python tools/release.py --tag       # then tag, with the section of the changelog as notes

`make release` builds and tests the distributions between the two. Nothing is pushed.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BRANCH = "main"


def git(root: Path, *arguments: str, text: str | None = None) -> str:
    """Run git in a folder and return its output."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, input=text, stdout=subprocess.PIPE, text=True).stdout.strip()


def found(root: Path, path: str, pattern: str) -> str | None:
    """Return the first group of a pattern in a file, or None."""
    match = re.search(pattern, (root / path).read_text(encoding="utf-8"), re.MULTILINE)
    return match and match[1]


def changelog_sections(root: Path) -> dict[str, tuple[str | None, str]]:
    """Return the date and the text of each section of the changelog, by version."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## \[(.+?)\](?: - (\S+))?[ \t]*$", text, flags=re.MULTILINE)
    return {
        name: (date, body.strip())
        for name, date, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


def version_of(root: Path) -> str:
    """Return the version of the package."""
    version = found(root, "src/rankwise/__init__.py", r'^__version__ = "(.+)"$')
    assert version, "src/rankwise/__init__.py has no __version__"
    return version


def file_problems(root: Path) -> list[str]:
    """Compare the version and its date in the package, the changelog and the citation."""
    version, sections = version_of(root), changelog_sections(root)
    date, notes = sections.get(version, (None, ""))
    cited, cited_date = (
        found(root, "CITATION.cff", rf"^{key}: (\S+)$") for key in ("version", "date-released")
    )
    checks = {
        f"The version {version} is not of the form X.Y.Z.": re.fullmatch(r"\d+\.\d+\.\d+", version),
        f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'.": re.fullmatch(
            r"\d{4}-\d{2}-\d{2}", date or ""
        ),
        f"The section {version} of CHANGELOG.md is empty.": notes,
        "CHANGELOG.md has entries under Unreleased.": not sections.get("Unreleased", (None, ""))[1],
        f"CITATION.cff has version {cited}, the package {version}.": cited == version,
        f"CITATION.cff has date-released {cited_date}, CHANGELOG.md {date}.": cited_date == date,
    }
    return [problem for problem, passed in checks.items() if not passed]


def git_problems(root: Path) -> list[str]:
    """Check branch and tree, and that the tag is new."""
    branch, tag = git(root, "branch", "--show-current"), f"v{version_of(root)}"
    checks = {
        f"The branch is {branch or 'detached'}, not {BRANCH}.": branch == BRANCH,
        "The tree has changes that are not committed.": not git(root, "status", "--porcelain"),
        f"The tag {tag} exists.": not git(root, "tag", "--list", tag),
    }
    return [problem for problem, passed in checks.items() if not passed]


def build_problems(root: Path) -> list[str]:
    """Check that dist/ holds an sdist and a wheel of this version, and nothing else."""
    version = version_of(root)
    files = sorted(path.name for path in (root / "dist").glob("*"))
    wanted = [rf"rankwise-{re.escape(version)}-\S+\.whl", rf"rankwise-{re.escape(version)}\.tar\.gz"]
    if len(files) == 2 and all(re.fullmatch(*pair) for pair in zip(wanted, files, strict=True)):
        return []
    return [
        f"dist/ should hold one wheel and one sdist of {version}; it holds {', '.join(files) or 'nothing'}."
    ]


def tag(root: Path) -> str:
    """Make the annotated tag and return its name."""
    version = version_of(root)
    notes = f"rankwise {version}\n\n{changelog_sections(root)[version][1]}\n"
    # Headings begin with #, which git would take for comments.
    git(root, "tag", "--annotate", f"v{version}", "--cleanup=whitespace", "--file=-", text=notes)
    return f"v{version}"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the checks, and tag if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--built", action="store_true", help="check the distributions in dist/, too")
    parser.add_argument(
        "--tag", action="store_true", help="tag the version after all checks (implies --built)"
    )
    options = parser.parse_args(arguments)
    problems = [*file_problems(root), *git_problems(root)]
    if options.built or options.tag:
        problems += build_problems(root)
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    if options.tag:
        print(f"Tagged {tag(root)}; `git push origin v{version_of(root)}` publishes it.")
    else:
        print(f"rankwise {version_of(root)} is ready.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
