"""Runs kinds in turn, each case with a seed of its own, and keeps what was found."""

import random
import warnings
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

# A kind that has found so much finds the same again.
MOST_FINDS = 20
# Seconds of a turn. A kind whose cases take longer waits for its next one.
SLICE = 1.0


@dataclass
class Find:
    """A case that failed."""

    kind: str
    seed: int
    error: Exception

    @property
    def command(self):
        return f"PYTHONPATH=tests:tests/fuzz .venv/bin/python -m attack {self.kind} --case {self.seed}"

    def __str__(self):
        lines = str(self.error).strip().splitlines() or [""]
        words = " ".join(line.strip() for line in lines[:6])
        return f"FIND {self.kind} {self.seed}: {type(self.error).__name__}: {words[:400]}\n  {self.command}"


@dataclass
class Count:
    """What one kind has done."""

    cases: int = 0
    comparisons: int = 0
    finds: int = 0
    seconds: float = 0.0


@dataclass
class Attack:
    """Kinds by name, and the seed from which the seeds of cases are drawn."""

    kinds: dict
    seed: int
    finds: list = field(default_factory=list)

    def __post_init__(self):
        self.counts = {name: Count() for name in self.kinds}

    def run_for(self, seconds):
        """Run kinds in turn, each until it has had as many slices as there were turns."""
        end, given = monotonic() + seconds, 0.0
        while monotonic() < end and (names := self.unfinished()):
            given += SLICE
            for name in names:
                while self.counts[name].seconds < given and name in self.unfinished() and monotonic() < end:
                    self.run_case(name)

    def unfinished(self):
        """Return the kinds that have not found the most that is printed."""
        return [name for name in self.kinds if self.counts[name].finds < MOST_FINDS]

    def run_cases(self, number):
        """Run this number of cases of each kind."""
        for name in self.kinds:
            for _ in range(number):
                self.run_case(name)

    def run_case(self, name):
        """Run the next case of a kind; print its find."""
        count, begin = self.counts[name], monotonic()
        seed = random.Random(f"{self.seed} {name} {count.cases}").getrandbits(32)
        count.cases += 1
        try:
            count.comparisons += repeat(self.kinds[name], seed)
        except Exception as error:
            count.finds += 1
            self.finds.append(Find(name, seed, error))
            print(self.finds[-1], flush=True)
        count.seconds += monotonic() - begin

    def summary(self):
        """Return a line for each kind, and one for all."""
        lines = [f"{'kind':14}{'cases':>8}{'comparisons':>13}{'finds':>7}{'seconds':>9}"]
        for name, count in self.counts.items():
            lines.append(f"{name:14}{count.cases:8}{count.comparisons:13}{count.finds:7}{count.seconds:9.1f}")
        total = sum(count.cases for count in self.counts.values())
        lines.append(f"{total} cases with seed {self.seed}, {len(self.finds)} finds")
        return "\n".join(lines)


def repeat(case, seed):
    """Run one case; warnings are not finds, unless the case listens to them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case(np.random.default_rng(seed))
