"""The number of rows of a table, if its file has it."""

from __future__ import annotations

import os
from pathlib import Path

from rankwise.io.table_readers import PARQUET, explained


def known_rows(path: str | os.PathLike[str]) -> int | None:
    """Return the number of rows in the metadata of a Parquet file; None for other formats."""
    location = Path(path)
    if location.suffix.lower() not in PARQUET:
        return None
    try:
        from pyarrow import parquet
    except ImportError:
        import polars as pl

        return int(explained(location, pl.scan_parquet(location).select(pl.len()).collect).item())
    return int(explained(location, parquet.read_metadata, location).num_rows)
