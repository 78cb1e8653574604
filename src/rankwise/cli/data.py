"""Read rows, labels and queries from svmlight files or tables, by suffix."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from rankwise.cli.arguments import UsageError
from rankwise.core.pipelines import last_step

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
TABLES = (".csv", ".tsv", ".parquet", ".pq")
# The number of rows that are scored at a time.
CHUNK_ROWS = 65_536


@dataclass
class Data:
    """Rows with their labels and queries, and a digest of the rows if reading computed one."""

    X: Any
    y: Any
    qid: Any = None
    feature_names: list[str] | None = None
    digest: bytes | None = None

    @property
    def n_queries(self) -> int:
        """The number of distinct queries, 1 if there are none."""
        import numpy as np

        if hasattr(self.y, "groups"):
            return len(np.unique(self.y.groups()))
        return 1 if self.qid is None else len(np.unique(self.qid))


def is_table(path: str) -> bool:
    """Tell whether a file is a table, by its suffix.

    Examples
    --------
    >>> is_table("rows.csv.gz"), is_table("train.txt"), is_table("-")
    (True, False, False)
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in TABLES


def check_data_options(options: argparse.Namespace, label_needed: bool = True) -> None:
    """Refuse options of tables for svmlight files, and the other way round."""
    tables = [is_table(path) for path in options.data]
    if any(tables) != all(tables):
        raise UsageError("The data files must be all tables (CSV, Parquet) or all svmlight files.")
    survival = getattr(options, "survival", None)
    if survival is not None and (options.label is not None or not all(tables)):
        raise UsageError("--survival replaces --label, for tables (CSV, Parquet).")
    if any(tables):
        if label_needed and options.label is None and survival is None:
            raise UsageError("--label must name the column of the labels, as the data is a table.")
        for name in ("n_features", "zero_based"):
            if getattr(options, name, None):
                raise UsageError(
                    f"--{name.replace('_', '-')} is for svmlight files, but the data is a table."
                )
        return
    for name in ("label", "qid", "features", "categories"):
        if getattr(options, name, None) is not None:
            raise UsageError(f"--{name} is for tables (CSV, Parquet), but the data is svmlight.")
    if options.data.count("-") > 1:
        raise UsageError("Standard input (-) can be read only once.")


def take_columns_of(model: Any, options: argparse.Namespace) -> None:
    """Set the features of a table to those of the model, unless the options name them."""
    if options.features is None and is_table(options.data[0]):
        options.features = getattr(last_step(model), "feature_names_", None)


def read_data(
    options: argparse.Namespace,
    n_features: int | None = None,
    known: int | None = None,
    *,
    light: bool = False,
) -> Data:
    """Read all data of a command into memory; `known` is the number of features of a model.

    With `light` the rows of svmlight files are `SparseRows`, for a command that needs no scipy.
    """
    if getattr(options, "survival", None) is not None:
        return _read_survival(options)
    if is_table(options.data[0]):
        return _joined([_read_table(path, options) for path in options.data])
    from rankwise.io.svmlight import load_svmlight, read_svmlight

    source = options.data[0] if len(options.data) == 1 else options.data
    settings = {"zero_based": options.zero_based, "n_jobs": getattr(options, "jobs", None)}
    loaded = (read_svmlight if light else load_svmlight)(source, n_features=n_features, **settings)
    return Data(dense_if_smaller(of_width(loaded.X, known)), loaded.y, loaded.qid)


def of_width(X: Any, known: int | None, tell: bool = True) -> Any:
    """Return svmlight rows with the number of features of a model; further features are dropped."""
    from rankwise.data.sparse_rows import kept_entries

    if known is None or X.shape[1] == known:
        return X
    if X.shape[1] > known:
        if tell:
            warnings.warn(
                f"The model has n_features_in_={known}; features with higher numbers are ignored.",
                stacklevel=2,
            )
        X = kept_entries(X, X.indices[: X.nnz] < known)
    return type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], known))


def iterate_data(options: argparse.Namespace, known: int, *, light: bool = False) -> Iterator[Any]:
    """Yield the rows of svmlight files or tables chunk by chunk; `light` is that of `read_data`."""
    for path in options.data:
        if is_table(path):
            from rankwise.io.frames import feature_columns, iter_table

            features = options.features or feature_columns(path, [options.label, options.qid])
            columns = {"label": None, "qid": options.qid, "features": features}  # labels are not read
            chunks: Any = iter_table(path, chunk_rows=CHUNK_ROWS, **columns)
        else:
            from rankwise.io.svmlight import iter_svmlight, read_svmlight_chunks

            iterate = read_svmlight_chunks if light else iter_svmlight
            chunks = iterate(path, chunk_rows=CHUNK_ROWS, zero_based=options.zero_based)
        for chunk in chunks:
            yield chunk.X if is_table(path) else dense_if_smaller(of_width(chunk.X, known))


def dense_if_smaller(X: Any) -> Any:
    """Return a sparse matrix as an array if that is smaller; a stored entry takes 12 bytes rather than 8."""
    return X.toarray() if hasattr(X, "nnz") and 12 * X.nnz >= 8 * X.shape[0] * X.shape[1] else X


def _read_table(path: str, options: argparse.Namespace) -> Data:
    from rankwise.io.frames import read_table

    if getattr(options, "categories", None) is not None and options.label is not None:
        return _read_words(path, options)
    read = read_table(path, label=options.label, qid=options.qid, features=options.features)
    names = None if read.feature_names is None else list(read.feature_names)
    return Data(read.X, read.y, read.qid, names)


def _read_words(path: str, options: argparse.Namespace) -> Data:
    """Read a table whose labels are words, which become ranks except for methods of classes."""
    import numpy as np

    from rankwise.io.frames import feature_columns, read_table, read_text_columns

    features = options.features or feature_columns(path, [options.label, options.qid])
    read = read_table(path, label=None, qid=options.qid, features=features)
    words = read_text_columns(path, [options.label])[options.label]
    rank = {category: number for number, category in enumerate(options.categories)}
    for row, word in enumerate(words, 1):
        if word is None or str(word) not in rank:
            problem = "is missing" if word is None else f"is {str(word)[:40]!r}"
            raise ValueError(
                f"{path}, row {row}: the label {problem}; it must be one of the categories "
                f"{', '.join(options.categories)}."
            )
    learns_classes = getattr(options, "method", None) in ("ordinal-svm", "hull")
    y = np.array([str(word) if learns_classes else float(rank[str(word)]) for word in words])
    return Data(read.X, y, read.qid, list(features))


def _read_survival(options: argparse.Namespace) -> Data:
    """Return preferences of survival times, read as labels, and events, read as a feature."""
    import numpy as np

    from rankwise.preferences import Preferences

    time, event = options.survival
    features = None if options.features is None else [*options.features, event]
    given = argparse.Namespace(**(vars(options) | {"label": time, "features": features}))
    data = _joined([_read_table(path, given) for path in options.data])
    columns = list(data.feature_names or [])
    if event not in columns:
        raise ValueError(f"--survival names the column {event!r}, which is not in the data.")
    index = columns.index(event)
    X = np.asarray(data.X)
    y = Preferences.from_survival(X[:, index], data.y, qid=data.qid)
    return Data(np.delete(X, index, axis=1), y, None, columns[:index] + columns[index + 1 :])


def require_same_columns(first: list[str] | None, other: list[str] | None) -> None:
    """Refuse tables with different features; the error names columns that only some have."""
    if first == other:
        return
    alone = ", ".join(repr(name) for name in sorted(set(first or ()) ^ set(other or ()))[:5])
    found = f"only some of them have {alone}" if alone else "the order differs"
    raise ValueError(f"The tables must have the same feature columns in the same order; {found}.")


def _joined(parts: list[Data]) -> Data:
    import numpy as np

    from rankwise.io.large_labels import warn_of_large_ties

    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts[1:]:
        require_same_columns(first.feature_names, part.feature_names)
    qid = None if first.qid is None else np.concatenate([np.asarray(part.qid) for part in parts])
    X, y = (np.concatenate([np.asarray(getattr(part, name)) for part in parts]) for name in ("X", "y"))
    if y.dtype == np.float64:
        warn_of_large_ties(y)  # between files
    return Data(X, y, qid, first.feature_names)
