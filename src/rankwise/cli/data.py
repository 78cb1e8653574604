"""Read rows, labels and queries from svmlight files or tables, by suffix."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.cli.arguments import UsageError, flag, is_given
from rankwise.cli.clicks import click_columns, click_preferences
from rankwise.cli.mixed import has_levels, is_mixed, mixed_rows
from rankwise.cli.model_options import methods
from rankwise.cli.row_names import document_ids, has_row_names, id_column, names_of_rows
from rankwise.core.pipelines import fitted_columns, last_step, require_same_columns
from rankwise.core.text import listing, plural
from rankwise.data.frames import framed
from rankwise.data.scores import kept_entries
from rankwise.io.chunks import join_queries
from rankwise.io.large_labels import warn_of_large_ties
from rankwise.io.svmlight import iter_svmlight, load_svmlight
from rankwise.io.table_formats import TABLES, NotNumbersError, is_table
from rankwise.io.tables import (
    Roles,
    Table,
    check_present,
    feature_columns,
    iter_table,
    read_columns,
    stacked,
    table_columns,
)
from rankwise.preferences import Preferences, pair_data

# The number of rows that are scored at a time.
CHUNK_ROWS = 65_536


@dataclass
class Data:
    """Rows with their labels and queries.

    The rows of a table with words or gaps are a `Table` until a model or a training decides what its
    columns are. In a training, `kinds` is what they are, and `encoder` what made numbers of them. `names` are
    the names of the rows, if a command uses them and the data has them.
    """

    X: Any
    y: Any
    qid: Any = None
    feature_names: list[str] | None = None
    kinds: list[Any] | None = None
    encoder: Any = None
    names: list[str] | None = None

    def rows_for(self, model: Any) -> Any:
        """Return the rows with the columns of a model: by name or, if either has no names, by their order."""
        names = fitted_columns(model)
        n_features = int(getattr(model, "n_features_in_", last_step(model).n_features_in_))
        if self.feature_names is None:
            return of_width(self.X, n_features)
        if names is None:
            self._check_width(n_features)
            return mixed_rows(self.X, model) if is_mixed(self.X) else self.X
        missing = [name for name in names if name not in self.feature_names]
        if missing:
            raise ValueError(f"The data has no column {listing(missing)}, which the model was fitted to.")
        if is_mixed(self.X):
            return mixed_rows(self.X.chosen(names), model)
        places = [self.feature_names.index(name) for name in names]
        X = self.X if names == self.feature_names else self.X[:, places]
        return framed(X, names) if hasattr(model, "feature_names_in_") else X

    def _check_width(self, n_features: int) -> None:
        names = self.feature_names or []
        if len(names) != n_features:
            raise ValueError(
                f"The model was fitted to {plural(n_features, 'column')} without names, but the table has "
                f"{len(names)} besides label and query: {listing(names)}. Name the right ones by --features."
            )

    @property
    def n_queries(self) -> int:
        """The number of distinct queries, 1 if there are none."""
        if hasattr(self.y, "groups"):
            return len(np.unique(self.y.groups()))
        if hasattr(self.qid, "n_distinct"):  # on the workers of Dask
            return self.qid.n_distinct()
        return 1 if self.qid is None else len(np.unique(self.qid))


# What stands for the labels of a table, and the options of each kind of data.
LABELS = ("label", "survival", "pairs", "clicked")
OF_TABLES = (*LABELS, "qid", "features", "exclude", "grades", "categorical", "sep", "id", "cluster")
OF_SVMLIGHT = ("n_features", "zero_based")


def check_data_options(options: argparse.Namespace, label_needed: bool = True) -> None:
    """Refuse options of tables for svmlight files, and the other way round."""
    on_dask = getattr(options, "dask", None) is not None  # where a folder stands for its tables
    tables = [is_table(path) or (on_dask and os.path.isdir(path)) for path in options.data]
    if any(tables) != all(tables):
        raise UsageError(f"The data files must be all tables ({TABLES}) or all svmlight files.")
    refused = OF_SVMLIGHT if any(tables) else OF_TABLES
    for name in refused:
        if is_given(options, name):
            kinds = f"tables ({TABLES}), but the data is svmlight"
            kinds = "svmlight files, but the data is a table" if any(tables) else kinds
            raise UsageError(f"{flag(name)} is for {kinds}.")
    if any(tables):
        if label_needed and not any(is_given(options, name) for name in LABELS):
            raise UsageError("--label must name the column of the labels, as the data is a table.")
        return
    if options.data.count("-") > 1:
        raise UsageError("Standard input (-) can be read only once.")


def take_columns_of(models: list[Any], options: argparse.Namespace) -> None:
    """Set the features of a table to the columns that models were fitted to.

    The features that the options name must be these. All columns are read for a model without names, which
    takes them by their order.
    """
    if not is_table(options.data[0]) or not models:
        return
    options.as_text = any(has_levels(model) for model in models)
    named = [fitted_columns(model) for model in models]
    needed = list(dict.fromkeys(name for names in named for name in names or []))
    if learned := [name for name in options.exclude or () if name in needed]:
        raise UsageError(f"--exclude names {listing(learned)}, which the model was fitted to.")
    if options.features is not None:
        check_named_features(options.features, needed, all(named))
    elif all(named):
        options.features = needed
    else:
        options.features = default_features(options, options.data[0])


def check_named_features(features: list[str], needed: list[str], all_named: bool) -> None:
    """Refuse features that are not those of the models."""
    missing = [name for name in needed if name not in features]
    if missing:
        raise UsageError(f"--features lacks {listing(missing)}, which the model was fitted to.")
    surplus = [name for name in features if name not in needed]
    if surplus and all_named:
        raise UsageError(f"--features names {listing(surplus)}, which the model was not fitted to.")


def read_data(
    options: argparse.Namespace,
    n_features: int | None = None,
    known: int | None = None,
) -> Data:
    """Read all data of a command into memory; `known` is the number of features of a model."""
    if getattr(options, "survival", None) is not None:
        return _read_survival(options)
    if getattr(options, "pairs", None) is not None:
        return _read_pairs(options)
    if getattr(options, "clicked", None) is not None:
        return _read_clicks(options)
    if is_table(options.data[0]):
        return _read_tables(options)
    source = options.data[0] if len(options.data) == 1 else options.data
    settings = {"zero_based": options.zero_based, "n_jobs": getattr(options, "jobs", None)}
    settings["comments"] = has_row_names(options)
    loaded = load_svmlight(source, n_features=n_features, **settings)
    names = document_ids(loaded.comments)
    return Data(dense_if_smaller(of_width(loaded.X, known)), loaded.y, loaded.qid, names=names)


def of_width(X: Any, known: int | None, tell: bool = True) -> Any:
    """Return svmlight rows with the number of features of a model; further features are dropped."""
    if known is None or X.shape[1] == known:
        return X
    if X.shape[1] > known and tell:
        warnings.warn(
            f"The model has n_features_in_={known}; features with higher numbers are ignored.",
            stacklevel=2,
        )
    if not hasattr(X, "nnz"):
        return np.pad(X[:, :known], ((0, 0), (0, max(0, known - X.shape[1]))))
    if X.shape[1] > known:
        X = kept_entries(X, X.indices[: X.nnz] < known)
    return type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], known))


def iterate_data(options: argparse.Namespace) -> Iterator[Data]:
    """Yield the rows of svmlight files or tables chunk by chunk."""
    for path in options.data:
        if is_table(path):
            features = options.features or default_features(options, path)
            columns = {"label": None, "qid": options.qid, "features": features}
            for chunk in iter_table(path, chunk_rows=CHUNK_ROWS, separator=separator_of(options), **columns):
                yield Data(chunk.X, None, chunk.qid, list(chunk.feature_names))
        else:
            for rows in iter_svmlight(path, chunk_rows=CHUNK_ROWS, zero_based=options.zero_based):
                yield Data(rows.X, None)


def dense_if_smaller(X: Any) -> Any:
    """Return a sparse matrix as an array if that is smaller; a stored entry takes 12 bytes rather than 8."""
    return X.toarray() if hasattr(X, "nnz") and 12 * X.nnz >= 8 * X.shape[0] * X.shape[1] else X


def separator_of(options: argparse.Namespace) -> str | None:
    """Return the separator of --sep, None if it is to be found by the header."""
    separator: str | None = getattr(options, "sep", None)
    return separator


def has_words(options: argparse.Namespace) -> bool:
    """Return whether the labels of a table are words."""
    return getattr(options, "grades", None) is not None and options.label is not None


def word_labels(table: Table, options: argparse.Namespace) -> Any:
    """Return labels that are words as ranks or, for methods of classes, as they are."""
    words = table.columns[options.label].values()
    rank = {category: number for number, category in enumerate(options.grades)}
    for row, word in enumerate(words):
        if word is None or str(word) not in rank:
            problem = "is missing" if word is None else f"is {str(word)[:40]!r}"
            raise ValueError(
                f"{table.place(row)}: the label {problem}; it must be one of the grades "
                f"{', '.join(options.grades)}."
            )
    kind = methods().get(getattr(options, "method", ""))
    learns_classes = kind is not None and kind.learns_classes
    return np.array([str(word) if learns_classes else float(rank[str(word)]) for word in words])


def _read_survival(options: argparse.Namespace) -> Data:
    """Return preferences of survival times."""
    data, events = read_lives(options)
    y = Preferences.from_survival(events, data.y, qid=data.qid)
    return Data(data.X, y, None, data.feature_names, names=data.names)


def read_lives(options: argparse.Namespace) -> tuple[Data, Any]:
    """Return rows with survival times as labels and strata as queries, and the events, read as a feature."""
    time, event = options.survival
    features = None if options.features is None else [*options.features, event]
    given = argparse.Namespace(**(vars(options) | {"label": time, "features": features, "survival": None}))
    data = _read_tables(given)
    columns = list(data.feature_names or [])
    if event not in columns:
        raise ValueError(f"--survival names the column {event!r}, which is not in the data.")
    index = columns.index(event)
    others = columns[:index] + columns[index + 1 :]
    if is_mixed(data.X):
        events = data.X.numbers([event])[:, 0]
        return replace(data, X=data.X.chosen(others), feature_names=others), events
    X = np.asarray(data.X)
    return replace(data, X=np.delete(X, index, axis=1), feature_names=others), X[:, index]


def _read_pairs(options: argparse.Namespace) -> Data:
    """Return the chosen rows, then the rejected, and the preferences; margins are read as labels."""
    names = options.features or _paired_features(options)
    columns = [prefix + name for prefix in options.pairs for name in names]
    given = argparse.Namespace(**(vars(options) | {"label": options.margin, "features": columns}))
    data = _read_tables(given)
    if is_mixed(data.X):
        nothing = np.zeros((data.X.shape[0], 1))
        _, preferences = pair_data(nothing, nothing, groups=data.qid, margin=data.y)
        return Data(data.X.paired(options.pairs, names), preferences, None, list(names))
    chosen, rejected = data.X[:, : len(names)], data.X[:, len(names) :]
    X, preferences = pair_data(chosen, rejected, groups=data.qid, margin=data.y)
    return Data(X, preferences, None, list(names))


def _read_clicks(options: argparse.Namespace) -> Data:
    """Return the rows that were shown, and the preferences of their clicks."""
    data = _read_tables(options)
    y = click_preferences(options, data.qid, None if is_mixed(data.X) else data.X)
    return Data(data.X, y, None, data.feature_names)


def _paired_features(options: argparse.Namespace) -> list[str]:
    """Return the features that a table has with both prefixes; refuse those with one of them."""
    path, (chosen, rejected) = options.data[0], options.pairs
    excluded = [prefix + name for prefix in options.pairs for name in options.exclude or ()]
    present = table_columns(path, separator_of(options))
    found, others = (
        [name.removeprefix(prefix) for name in present if name.startswith(prefix) and name not in excluded]
        for prefix in (chosen, rejected)
    )
    if not found:
        raise ValueError(f"{path} has no columns that begin with {chosen!r}; it has {listing(present)}.")
    single = sorted(set(found) ^ set(others))
    if single:
        raise ValueError(
            f"{path} must have each feature with {chosen!r} and with {rejected!r}; {single[0]!r} is there "
            "with one of them."
        )
    return found


def _read_tables(options: argparse.Namespace) -> Data:
    """Read each table once: numbers if all features are, else columns as they stand in the files."""
    features = features_of_tables(options) or default_features(options, options.data[0])
    label = None if has_words(options) else options.label
    roles, outcomes = Roles(label, options.qid, features), Roles(label, options.qid, [])
    names = [*roles.wanted, id_column(options), options.label if has_words(options) else None]
    wanted = list(dict.fromkeys(name for name in names if name is not None))
    roles.check(options.data[0], table_columns(options.data[0], separator_of(options)))
    tables = [read_columns(path, wanted, separator_of(options)) for path in options.data]
    X: Any = None
    if not getattr(options, "as_text", False) and getattr(options, "categorical", None) is None:
        with suppress(NotNumbersError):
            parts = [roles.read(table) for table in tables]
            X = np.concatenate([part.X for part in parts]) if len(parts) > 1 else parts[0].X
    if X is None:
        parts = [outcomes.read(table) for table in tables]
        X = stacked([table.chosen(features) for table in tables])
    y = None if label is None else np.concatenate([part.y for part in parts])
    if y is not None and len(parts) > 1:
        warn_of_large_ties(y)  # between files
    if has_words(options):
        y = np.concatenate([word_labels(table, options) for table in tables])
    qid = join_queries([part.qid for part in parts])
    return Data(X, y, qid, list(features), names=names_of_rows(tables, id_column(options)))


def default_features(options: argparse.Namespace, path: str) -> list[str]:
    """Return the columns of a table that have no other role."""
    excluded, separator = options.exclude or [], separator_of(options)
    check_present(path, excluded, table_columns(path, separator))
    others = [options.label, options.qid, id_column(options), *(getattr(options, "survival", None) or ())]
    return feature_columns(path, [*others, *excluded, *click_columns(options)], separator)


def features_of_tables(options: argparse.Namespace) -> list[str] | None:
    """Return the features to read of each table, by default those of the first, which all must have."""
    if options.features is not None:
        return options.features
    first, *others = ((path, default_features(options, path)) for path in options.data)
    for path, features in others:
        require_same_columns(first[1], features, path, first[0], ordered=False)
    return first[1]
