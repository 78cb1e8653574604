"""Fuzz the reader of CSV tables: any bytes are read alike whole and by rows, or refused with a sentence.

    python tests/fuzz/fuzz_table.py -max_total_time=60 tests/fuzz/corpus/table

Needs atheris. The first byte chooses the separator and which columns are asked for.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
from fuzzing import run

from rankwise.io import chunks, table_formats, tables
from rankwise.io.tables import TableError, iter_table, read_table

COLUMNS = [{"label": "y"}, {"label": "y", "qid": "q"}, {"label": None}, {"label": "y", "features": ["f"]}]


def check(data: bytes) -> None:
    """Read the bytes as a table: finite numbers in the announced shape, or a TableError."""
    choice = data[0] if data else 0
    options = COLUMNS[choice // 2 % len(COLUMNS)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / ("table.csv" if choice % 2 == 0 else "table.tsv")
        path.write_bytes(data[1:])
        try:
            table = read_table(path, **options)
        except TableError:
            return
        assert np.isfinite(table.X).all()
        assert table.X.shape[1] == len(table.feature_names)
        assert sum(len(piece.X) for piece in iter_table(path, chunk_rows=2, **options)) == len(table.X)


if __name__ == "__main__":
    run(check, tables, table_formats, chunks)
