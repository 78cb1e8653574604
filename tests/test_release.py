"""`tools/release.py`: which trees are refused, and what the tag of a good one holds."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import release

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.0] - 2030-01-31

### Added

- Everything.

## [1.1.0] - 2029-01-31
"""
FILES = {
    "src/rankwise/__init__.py": '__version__ = "1.2.0"\n',
    "CHANGELOG.md": CHANGELOG,
    "CITATION.cff": "version: 1.2.0\ndate-released: 2030-01-31\n",
    ".gitignore": "dist/\n",
    "dist/rankwise-1.2.0.tar.gz": "",
    "dist/rankwise-1.2.0-cp312-abi3-linux_x86_64.whl": "",
}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed.")


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository that is ready for release 1.2.0."""
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ann@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    write(tmp_path, FILES)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commit(tmp_path)
    return tmp_path


def git(root, *arguments):
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def commit(root):
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message=Change")


@needs_git
def test_a_ready_tree_is_tagged_with_its_section_of_the_changelog(tree, capsys):
    assert release.main(["--built"], tree) == 0
    assert git(tree, "tag") == ""
    assert release.main(["--tag"], tree) == 0
    assert "git push origin v1.2.0" in capsys.readouterr().out
    assert git(tree, "cat-file", "-t", "v1.2.0").strip() == "tag"
    assert git(tree, "tag", "--list", "--format=%(contents)").strip() == (
        "rankwise 1.2.0\n\n### Added\n\n- Everything."
    )


@needs_git
@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("src/rankwise/__init__.py", '__version__ = "1.2.0.dev1"\n', "not of the form"),
        ("src/rankwise/__init__.py", '__version__ = "1.3.0"\n', "no section '## [1.3.0]"),
        ("CHANGELOG.md", CHANGELOG.replace(" - 2030-01-31", ""), "no section"),
        ("CHANGELOG.md", CHANGELOG.replace("### Added\n\n- Everything.\n", ""), "is empty"),
        ("CHANGELOG.md", CHANGELOG.replace("d]\n", "d]\n\n- More.\n"), "under Unreleased"),
        ("CITATION.cff", "version: 1.1.0\ndate-released: 2030-01-31\n", "has version 1.1.0"),
        ("CITATION.cff", "version: 1.2.0\ndate-released: 2030-01-30\n", "date-released 2030-01-30"),
        ("dist/rankwise-1.1.0.tar.gz", "", "should hold one wheel and one sdist"),
    ],
)
def test_what_disagrees_is_named_and_nothing_tagged(tree, capsys, name, text, problem):
    write(tree, {name: text})
    commit(tree)
    assert release.main(["--tag"], tree) == 1
    assert problem in capsys.readouterr().err
    assert git(tree, "tag") == ""


@needs_git
def test_other_branches_uncommitted_changes_and_old_tags_are_refused(tree, capsys):
    git(tree, "tag", "v1.2.0")
    git(tree, "switch", "--quiet", "--create", "topic")
    write(tree, {"new.txt": ""})
    assert release.main([], tree) == 1
    assert capsys.readouterr().err.splitlines() == [
        "The branch is topic, not main.",
        "The tree has changes that are not committed.",
        "The tag v1.2.0 exists.",
    ]


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="The sources are not here.")
def test_version_and_citation_agree():
    version = release.version_of(ROOT)
    assert version in release.changelog_sections(ROOT)
    assert release.found(ROOT, "CITATION.cff", r"^version: (\S+)$") == version
