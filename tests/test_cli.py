import subprocess
import sys

import pytest

from rankwise import __version__
from rankwise.cli.main import main


def test_the_demo_trains_evaluates_and_reports(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["demo", "--splits", "2", "--output", str(tmp_path / "report")]) == 0
    text = (tmp_path / "report" / "report.md").read_text()
    assert text in capsys.readouterr().out
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ") and "model" not in line]
    right = [float(row[2]) for row in rows]
    assert len(right) == 6
    assert all(0.65 < value < 0.8 for value in right[:3])
    assert all(0.97 < value <= 1.0 for value in right[3:])
    for number in (1, 2):
        assert (tmp_path / "report" / f"task-{number}.png").read_bytes().startswith(b"\x89PNG")


def test_exit_codes(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--splits", "0"]) == 1
    assert "--splits must be at least 1" in capsys.readouterr().err
    assert main(["demo", "--splits", "1", "--output", str(tmp_path / "file" / "report")]) == 1
    assert capsys.readouterr().err.startswith("rankwise: ")
    with pytest.raises(SystemExit) as wrong:
        main(["unknown"])
    assert wrong.value.code == 2


def test_the_module_runs():
    run = subprocess.run(
        [sys.executable, "-m", "rankwise.cli.main", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"rankwise {__version__}\n"
