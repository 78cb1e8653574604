"""Model files with one value changed and a right checksum: refused, or models that can be used."""

import tempfile
from functools import cache
from pathlib import Path

from attack.draws import choice
from test_mutated_models import complaint, mutated, read_originals, signed


@cache
def originals():
    with tempfile.TemporaryDirectory() as folder:
        return list(read_originals(Path(folder)).values())


def case(rng):
    """Change one file."""
    content = signed(*mutated(*choice(rng, originals()), rng))
    with tempfile.TemporaryDirectory() as folder:
        error = complaint(content, Path(folder) / "model.json")
    assert error is None, error
    return 1
