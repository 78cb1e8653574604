"""Fuzz the svmlight reader: any bytes must give what the slow parser gives, or an error at the same place.

    python tests/fuzz/fuzz_svmlight.py -max_total_time=60

Needs atheris. The coverage that guides it is that of the slow parser, which takes the same turns.
"""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
SEEDS = [
    b"2 qid:10 1:0.5 3:-1.25e-3 25:7 #docid = 1\n0\tqid:10\t2:+4.  \t3:.5\r\n",
    b"# header\n\n+1 1:1 2147483647:5e-324\n-1e5 3:123456789.123456789\n",
    b"\xef\xbb\xbf1 qid:word 1:9007199254740993\n1 qid:7 2:1e-400 # \xff\n",
    b"1 qid:1 1:nan\n1 1:1 1:1 0:1 x:1 1: :1 99999999999:1\n",
]


def check(text: bytes) -> None:
    """Read a text by both parsers, ours once in one piece and once in small blocks."""
    import reference_svmlight as reference
    from rankwise.io.svmlight import SvmlightError, iter_svmlight, load_svmlight

    try:
        labels, rows, qid, _ = reference.parse(text)
    except reference.MalformedError as malformed:
        line, column = malformed.args
        with pytest.raises(SvmlightError, match=f"line {line}, column {column}: "):
            load_svmlight(io.BytesIO(text))
        return
    data = load_svmlight(io.BytesIO(text), n_jobs=2)
    values = np.array([value for row in rows for _, value in row], dtype=np.float64)
    assert data.y.tobytes() == np.array(labels, dtype=np.float64).tobytes()
    assert data.X.data.tobytes() == values.tobytes()
    assert data.X.indices.tolist() == [column for row in rows for column, _ in row]
    assert (None if data.qid is None else data.qid.tolist()) == qid
    assert sum(len(chunk.y) for chunk in iter_svmlight(io.BytesIO(text), chunk_rows=2)) == len(labels)


def main() -> None:
    """Fuzz until the time is over or something is wrong."""
    import atheris

    with atheris.instrument_imports(include=["reference_svmlight", "rankwise.io"]):
        import rankwise.io.svmlight  # noqa: F401
        import reference_svmlight  # noqa: F401
    for seed in SEEDS:
        check(seed)
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
