"""Files as partitions on Dask, each read and scored by a worker, for `predict` and `evaluate`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from rankwise.cli.arguments import UsageError
from rankwise.cli.dask import check_dask_address, dask_client
from rankwise.cli.data import Data, features_of_tables, read_data, read_lives, take_columns_of
from rankwise.cli.output import Console
from rankwise.cli.predict import scored_run, written_chunks
from rankwise.cli.scores import model_scores, take_categories
from rankwise.core.checks import as_array
from rankwise.core.memory import human_bytes
from rankwise.core.pipelines import scales_queries
from rankwise.data.backends import in_memory
from rankwise.distributed.client import current_engine
from rankwise.distributed.file_parts import file_parts
from rankwise.distributed.row_parts import pickled_size
from rankwise.evaluation.predicted_grades import predicts_grades
from rankwise.io.table_formats import is_table
from rankwise.preferences import Preferences

# Why some models need each query in one file.
SCALED = "The model scales features within queries"


def use_dask_files(options: argparse.Namespace, refused: Sequence[str] = ()) -> None:
    """Set the data to the files that match the patterns; refuse options that need all rows in one place."""
    check_dask_address(options)
    for name in refused:
        if getattr(options, name, None) not in (None, False):
            raise UsageError(f"--{name.replace('_', '-')} cannot be used with --dask.")
    if "-" in options.data:
        raise UsageError("Standard input (-) cannot be used with --dask; name files that workers can read.")
    options.data = [part.path for part in file_parts(options.data)]


@dataclass(frozen=True)
class ScoredFile:
    """The columns of one file: labels, queries, and for each ranking its scores and predicted grades.

    Labels may be survival times, which have events.
    """

    y: Any
    qid: Any
    scores: list[Any]
    grades: list[Any]
    events: Any = None


class DaskFiles:
    """Labels, queries and scores of files, one partition each, which stay on the workers.

    Without a client they stay in the memory of this machine; the rows do not.

    Parameters
    ----------
    rankings : list of ScoreSource
    options : argparse.Namespace
    """

    def __init__(self, rankings: list[Any], options: argparse.Namespace) -> None:
        take_columns_of_models(rankings, options)
        take_categories(rankings, options)
        self.rankings, self.options, self.engine = rankings, options, current_engine()
        models = [ranking if ranking.model is not None else None for ranking in rankings]
        self.given = Given(options, models)
        reads = self.engine.persist(self.map(scored_file))
        sizes = self.engine.execute(lambda: self.engine.map(size_of, reads))
        self.n_rows = sum(sizes)
        if not self.n_rows:
            raise ValueError("The data has no rows.")
        # An empty file has no queries and no width.
        self._reads = [read for read, size in zip(reads, sizes, strict=True) if size]
        options.data = [file for file, size in zip(options.data, sizes, strict=True) if size]

    def map(self, function: Any) -> list[Any]:
        """Return a handle of ``function(path, given)`` for each file."""
        files = self.options.data
        return self.engine.map(function, files, [self.engine.broadcast(self.given)] * len(files))

    def column(self, function: Any, *arguments: Any) -> list[Any]:
        """Return a handle of a function of the columns of each file."""
        return self.engine.map(function, self._reads, *([value] * len(self._reads) for value in arguments))

    @property
    def y(self) -> list[Any]:
        """The labels."""
        return self.column(labels_of)

    @property
    def qid(self) -> list[Any] | None:
        """The queries, None without any."""
        has_queries = self.engine.execute(lambda: self.column(has_queries_of))
        if len(set(has_queries)) > 1:
            raise ValueError("Some of the files have queries, others have not.")
        return self.column(queries_of, self._has_words) if has_queries[0] else None

    @cached_property
    def _has_words(self) -> bool:
        """Whether the queries of some file are words; then those of all are."""
        return any(self.engine.execute(lambda: self.column(has_words_of)))

    def survival(self, console: Console) -> Any:
        """Collect survival times, with a note on the bytes of these and of the scores."""
        columns = [self.column(events_of), self.y, self.qid]
        n_columns = sum(column is not None for column in columns) + sum(
            ranking.model is not None for ranking in self.rankings
        )
        total = human_bytes(8 * n_columns * self.n_rows)
        console.note(
            f"survival times are compared in one place: {8 * n_columns} bytes per row are collected, {total}."
        )
        event, time, strata = map(in_memory, columns)
        return Preferences.from_survival(event, time, qid=strata)

    def scores(self, number: int) -> Any:
        """Return the scores of a ranking: on the workers or, of a file of scores, in memory."""
        model = self.rankings[number].model
        if model is None:
            return self.rankings[number].given_scores(self.n_rows)
        if scales_queries(model):
            seen = set[Any]()
            for queries in self.engine.execute(lambda: self.column(query_set_of, self._has_words)):
                check_queries(queries, seen, SCALED)
        return self.column(scores_of_file, number)

    def grades(self, number: int) -> Any:
        """Return the grades that a model predicts."""
        return self.column(grades_of_file, number)


@dataclass(frozen=True)
class Given:
    """What workers need to read and score a file."""

    options: argparse.Namespace
    rankings: list[Any]

    @property
    def nbytes(self) -> int:
        """The size of a message with the models, by which they are embedded in tasks or sent ahead."""
        return pickled_size(self)

    def read(self, path: str) -> Data:
        """Read one file as a command reads all of its files in memory; survival times are labels."""
        return self.read_with_events(path)[0]

    def read_with_events(self, path: str) -> tuple[Data, Any]:
        """Read one file, and the events of survival times, None for labels."""
        options = argparse.Namespace(**(vars(self.options) | {"data": [path]}))
        if getattr(options, "survival", None) is None:
            return read_data(options), None
        return read_lives(options)


def take_columns_of_models(rankings: list[Any], options: argparse.Namespace) -> None:
    """Set the columns to read to those of the models, or to those of the first table."""
    take_columns_of([ranking.model for ranking in rankings if ranking.model is not None], options)
    if is_table(options.data[0]) and options.features is None:
        options.features = features_of_tables(options)


def scored_file(path: str, given: Given) -> ScoredFile:
    """Read one file and score its rows."""
    data, events = given.read_with_events(path)
    if len(data.y) == 0:
        nothing = [np.empty(0) for _ in given.rankings]
        return ScoredFile(data.y, data.qid, nothing, nothing)
    rows = data if events is None else replace(data, qid=None)  # strata are no queries
    scores = [None if ranking is None else ranking.scores(rows) for ranking in given.rankings]
    grades = [predicted_of(ranking, rows) for ranking in given.rankings]
    return ScoredFile(data.y, data.qid, scores, grades, events)


def predicted_of(ranking: Any, data: Data) -> Any:
    """Return the grades that a model predicts, None for other models."""
    if ranking is None or not predicts_grades(ranking.model):
        return None
    return model_scores(ranking.model, data.rows_for(ranking.model), data.qid, labels=True)


def labels_of(read: ScoredFile) -> Any:
    """Return the labels of a file."""
    return read.y


def queries_of(read: ScoredFile, as_words: bool) -> Any:
    """Return the queries of a file; as words, if those of another file are."""
    return as_array([str(query) for query in np.asarray(read.qid).tolist()]) if as_words else read.qid


def has_words_of(read: ScoredFile) -> bool:
    """Return whether the queries of a file are words."""
    return read.qid is not None and np.asarray(read.qid).dtype.kind in "OSU"


def query_set_of(read: ScoredFile, as_words: bool) -> set[Any]:
    """Return the distinct queries of a file."""
    return set(np.asarray(queries_of(read, as_words)).tolist())


def events_of(read: ScoredFile) -> Any:
    """Return the events of a file."""
    return read.events


def has_queries_of(read: ScoredFile) -> bool:
    """Tell whether a file has queries."""
    return read.qid is not None


def size_of(read: ScoredFile) -> int:
    """Return the number of rows of a file."""
    return len(read.y)


def scores_of_file(read: ScoredFile, number: int) -> Any:
    """Return the scores of a ranking."""
    return read.scores[number]


def grades_of_file(read: ScoredFile, number: int) -> Any:
    """Return the grades that a model predicts."""
    return read.grades[number]


@dataclass(frozen=True)
class FileText:
    """The predictions for one file as lines of text, and its queries if the model scales within them."""

    text: str
    n_rows: int
    queries: Any = None


def predicted_files(model: Any, options: argparse.Namespace, console: Console) -> Iterator[tuple[str, int]]:
    """Yield the predictions for one file after the other, as text, and the number of rows."""
    seen, is_first = set[Any](), True
    for found in results_by_file(predicted_file, model, options, console):
        if found.queries is not None:
            check_queries(found.queries, seen, SCALED)
        text = found.text
        if options.proba and not is_first and found.n_rows:
            text = text.partition("\n")[2]  # each file has the header
        is_first = is_first and not found.n_rows
        yield text, found.n_rows


def scored_runs(model: Any, options: argparse.Namespace, console: Console) -> Iterator[tuple[Any, Any, Any]]:
    """Yield queries, names and scores of one file after the other, as `scored_run` returns them."""
    seen, have_names = set[Any](), set[bool]()
    for qid, names, scores in results_by_file(run_of_file, model, options, console):
        check_queries(set(map(str, qid)), seen, "A run file ranks each query as a whole")
        have_names |= {names is not None} if len(scores) else set()
        if len(have_names) > 1:
            raise ValueError("Rows have names in some of the files, but not in all of them.")
        yield qid, names, scores


def results_by_file(
    function: Any, model: Any, options: argparse.Namespace, console: Console
) -> Iterator[Any]:
    """Yield ``function(path, given)`` for one file after the other.

    Workers go on with the next files while one is written.
    """
    with dask_client(options, console):
        engine = current_engine()
        given = engine.broadcast(Given(options, [model]))
        for handle in engine.map(function, options.data, [given] * len(options.data)):
            (found,) = engine.execute(partial(list, [handle]))
            yield found


def run_of_file(path: str, given: Given) -> tuple[Any, Any, Any]:
    """Read and score the rows of one file of a run."""
    (model,) = given.rankings
    return scored_run(model, argparse.Namespace(**(vars(given.options) | {"data": [path]})))


def predicted_file(path: str, given: Given) -> FileText:
    """Read, score and format the rows of one file."""
    (model,) = given.rankings
    options = argparse.Namespace(**(vars(given.options) | {"data": [path]}))
    chunks = list(written_chunks(model, options))
    queries = given.read(path).qid if scales_queries(model) else None
    return FileText(
        "".join(text for text, _ in chunks),
        sum(n_rows for _, n_rows in chunks),
        None if queries is None else set(np.asarray(queries).tolist()),
    )


def check_queries(queries: set[Any], seen: set[Any], why: str) -> None:
    """Refuse a query in two files, if queries must be whole; add the queries to those seen."""
    if both := seen & queries:
        raise ValueError(
            f"{why}, but the query {min(both, key=str)} is in two files; omit --dask, or keep each query in "
            "one file."
        )
    seen |= queries
