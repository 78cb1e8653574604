"""Fuzz the svmlight reader: any bytes must give what the slow parser gives, or an error at the same place.

    python tests/fuzz/fuzz_svmlight.py -max_total_time=60 tests/fuzz/corpus/svmlight

Needs atheris. The coverage that guides it is that of the slow parser, which takes the same turns.
"""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzzing import run

sys.path.insert(0, str(Path(__file__).parents[1]))


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


if __name__ == "__main__":
    import reference_svmlight
    from rankwise.io import chunks, streams, svmlight

    run(check, reference_svmlight, svmlight, streams, chunks)
