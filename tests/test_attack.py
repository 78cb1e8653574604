"""A few cases of every kind of attack, and that the runner tells of what it finds."""

import logging
import re

import numpy as np
import pytest

from attack import __main__ as command
from attack.kinds import KINDS
from attack.runner import MOST_FINDS, Attack, repeat

CASES = {"leave_out": 4, "tables": 4}
# Kills of processes take long; those of trainings are in `test_cli_scripts.py`.
QUICK = [kind for kind in KINDS if kind != "kills"]


@pytest.fixture(autouse=True)
def level():
    """Keep the level of the logger, which the command raises."""
    logger = logging.getLogger("rankwise")
    before = logger.level
    yield
    logger.setLevel(before)


@pytest.mark.parametrize("kind", QUICK)
def test_every_kind_compares_and_finds_nothing(kind):
    attack = Attack({kind: KINDS[kind]}, seed=0)
    attack.run_cases(CASES.get(kind, 10))
    assert not attack.finds, "\n".join(map(str, attack.finds))
    assert attack.counts[kind].comparisons > 0


def odd(rng):
    """A planted error: some seeds fail."""
    assert rng.integers(3) > 0, "one third is wrong"
    return 1


def test_a_planted_error_is_reported_with_its_reproducer(capsys):
    assert command.main(["--seconds", "600", "--seed", "1"], {"odd": odd}) == 1
    said = capsys.readouterr().out
    seeds = re.findall(r"FIND odd (\d+): AssertionError: one third is wrong", said)
    assert len(seeds) == MOST_FINDS
    assert f"python -m attack odd --case {seeds[0]}\n" in said
    assert said.splitlines()[-1].endswith(f"cases with seed 1, {MOST_FINDS} finds")
    for seed in map(int, seeds):
        with pytest.raises(AssertionError, match="one third"):
            command.main(["odd", "--case", str(seed)], {"odd": odd})


def test_a_case_depends_on_its_seed_alone():
    first, second = [], []
    for draws, kinds in ((first, ["x"]), (second, ["y", "x"])):
        kept = {name: lambda rng, draws=draws: draws.append(rng.random()) or 1 for name in kinds}
        kept |= {"y": lambda rng: 1} if "y" in kinds else {}
        Attack(kept, seed=3).run_cases(4)
    assert first == second
    assert len(set(first)) == 4
    assert repeat(lambda rng: rng.random(), 5) == np.random.default_rng(5).random()


def test_without_a_find_the_exit_code_is_0(capsys):
    assert command.main(["even", "--seconds", "0.01"], {"even": lambda rng: 1}) == 0
    assert re.search(r"even +\d+ +\d+ +0 ", capsys.readouterr().out)
    with pytest.raises(SystemExit):
        command.main(["uneven"], {"even": lambda rng: 1})
    assert "there is no kind uneven" in capsys.readouterr().err
