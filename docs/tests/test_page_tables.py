"""The cells of tables that pages keep in one line."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="Sphinx is not installed: no page is built.")
sys.path.append(str(Path(__file__).parents[1]))

from extensions import NUMBER


@pytest.mark.parametrize(
    "cell",
    [
        "12",
        "1,070",
        ".3422 ± .0454",
        "+.0041 ± .0021",
        "0.88 GB",
        "3.9 s",
        "2026-11-17",
        "12 to 40",
        "94%",
        "1e-5",
    ],
)
def test_numbers_are_not_wrapped(cell):
    assert NUMBER.fullmatch(cell)


@pytest.mark.parametrize(
    "cell", ["", "figure 1", "200 trees", "at most 1,000 trees", "5 labels, 3 queries", "abalone"]
)
def test_words_are_wrapped(cell):
    assert not NUMBER.fullmatch(cell)
