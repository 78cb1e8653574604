"""Tables with words, booleans, dates and gaps: what a training or a model makes of their columns."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer

from rankwise.cli.arguments import UsageError
from rankwise.core.pipelines import last_step
from rankwise.core.text import listing
from rankwise.data.columns import MOST_WORDS, category_values, is_frame
from rankwise.data.frames import framed, words_and_categories
from rankwise.data.hints import identifiers
from rankwise.data.table_encoder import TableEncoder
from rankwise.distributed import fit_steps
from rankwise.estimators.model_scores import ModelScores
from rankwise.io.table_columns import ANY_NUMBER
from rankwise.io.tables import Table

if TYPE_CHECKING:
    from rankwise.cli.data import Data
    from rankwise.cli.models import Recipe
    from rankwise.cli.output import Console


def is_mixed(X: Any) -> bool:
    """Return whether rows are a `Table`."""
    return isinstance(X, Table)


def take_columns(recipe: Recipe, data: Data, options: argparse.Namespace, console: Console) -> Recipe:
    """Find out what the columns of a table are, for a training; return the recipe with a scale for them.

    Curves, trees and the learned kernel get a frame, other methods the numbers of a `TableEncoder`. It learns
    levels and medians from all rows, also for cross-validation: they do not depend on the labels.
    """
    if is_mixed(data.X):
        check_categorical(data, options)
        data.X, data.kinds = data.X.inferred(options.categorical or ())
        check_words(data.X)
        note_identifiers(data, console)
        if not recipe.takes_tables or recipe.scale not in ("auto", "none"):
            data.encoder = TableEncoder().fit(data.X)
            data.X = data.encoder.transform(data.X)
    elif data.kinds is None:
        note_identifiers(data, console)
    else:
        encode_partitions(data)
    if recipe.scale != "auto":
        return recipe
    return replace(recipe, scale="none" if data.encoder is None else "standard")


def encode_partitions(data: Data) -> None:
    """Encode rows on Dask with strings or missing values as numbers, on the workers."""
    data.encoder = TableEncoder()
    try:
        data.X = fit_steps([data.encoder], data.X)
    except ValueError as error:
        names = data.feature_names or []
        raise next((advised(error, name) for name in names if _is_about(error, name)), error) from None


def _is_about(error: ValueError, name: str) -> bool:
    return str(error).startswith(f"Column {name!r} has") and "names or text" in str(error)


def check_categorical(data: Data, options: argparse.Namespace) -> None:
    """Refuse names of --categorical that are no features."""
    unknown = [name for name in options.categorical or () if name not in data.X.columns]
    if unknown:
        raise UsageError(f"--categorical names {listing(unknown)}, which is no feature of the data.")


def check_words(frame: Any, left_out: Sequence[str] = ()) -> None:
    """Refuse columns of names or text but for some, and say how to leave them out."""
    for column in words_and_categories(frame):
        if column.name in left_out:
            continue
        try:
            category_values(column, MOST_WORDS)
        except ValueError as error:
            raise advised(error, column.name) from None


def advised(error: ValueError, name: str) -> ValueError:
    """Return the error about a column of names or text with the options that help."""
    return ValueError(
        f"{str(error).partition(' Leave')[0]} Leave it out with --exclude {name}, or name it in "
        "--categorical if its values are categories."
    )


def note_identifiers(data: Data, console: Console) -> None:
    """Name the columns that look like identifiers."""
    if data.feature_names is None or not hasattr(data.X, "shape"):
        return
    names = identifiers(data.X, None if is_frame(data.X) else data.feature_names)
    if names:
        what = "looks like an identifier" if len(names) == 1 else "look like identifiers"
        console.note(f"{', '.join(map(repr, names))} {what}; leave out with --exclude {','.join(names)}")


def rows_like(data: Data, rows: Data) -> Any:
    """Return further rows of a training as a frame with the columns of its table, or as numbers."""
    if not is_mixed(rows.X):
        return rows.X
    return rows.X.numbers() if data.kinds is None else rows.X.known(data.kinds)


def mixed_rows(table: Table, model: Any) -> Any:
    """Return the rows of a table as a model takes them: a frame if it was fitted to one, else an array."""
    kinds = column_kinds(model)
    named = hasattr(model, "feature_names_in_")
    if kinds is None:
        return framed(table.numbers(), list(table.columns)) if named else table.numbers()
    frame = table.known(kinds)
    return frame if named else frame.to_numpy()


def has_levels(model: Any) -> bool:
    """Return whether a column of a model is a category, so that tables are to be read as text."""
    return any(isinstance(kind, list) for kind in column_kinds(model) or [])


def column_kinds(model: Any) -> list[Any] | None:
    """Return the kind, or the levels, of each column of a model; None if it needs complete numbers."""
    front = model.steps[0][1] if hasattr(model, "steps") else model
    front = getattr(front, "encoder_", front)
    if isinstance(front, ModelScores):
        found = [column_kinds(one) for _, one in front.models]
        return max(found, key=lambda kinds: sum(kind != ANY_NUMBER for kind in kinds or []))
    if isinstance(front, TableEncoder):
        return [front.categories_.get(place, kind) for place, kind in enumerate(front.kinds_)]
    if isinstance(front, ColumnTransformer):
        levels = transformer_levels(front)
    elif front is last_step(model) and hasattr(front, "categories_"):  # curves and trees
        levels = front.categories_
    elif isinstance(front, SimpleImputer):
        levels = {}
    else:
        return None
    return [levels.get(place, ANY_NUMBER) for place in range(front.n_features_in_)]


def transformer_levels(transformer: Any) -> dict[int, list[Any]]:
    """Return the levels of the columns of a ColumnTransformer that its encoders learned, by place."""
    names = list(getattr(transformer, "feature_names_in_", []))
    found: dict[int, list[Any]] = {}
    for _, step, columns in transformer.transformers_:
        steps = [part for _, part in step.steps] if hasattr(step, "steps") else [step]
        learned = next((part.categories_ for part in steps if hasattr(part, "categories_")), None)
        if learned is None:
            continue
        given = [columns] if isinstance(columns, str) else columns
        places = [names.index(one) if isinstance(one, str) else int(one) for one in given]
        found |= {place: np.asarray(one).tolist() for place, one in zip(places, learned, strict=True)}
    return found
