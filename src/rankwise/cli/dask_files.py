"""Files as partitions on Dask, each read and scored by a worker, for `predict` and `evaluate`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rankwise.cli.arguments import UsageError
from rankwise.cli.dask import check_dask_address, dask_client
from rankwise.cli.data import Data, features_of_tables, read_data, take_columns_of
from rankwise.cli.output import Console
from rankwise.cli.predict import scored_run, written_chunks
from rankwise.cli.scores import agreement_with, model_scores, take_categories
from rankwise.core.backends import in_memory
from rankwise.core.checks import as_array
from rankwise.core.memory import human_bytes
from rankwise.core.pipelines import scales_queries
from rankwise.distributed.client import current_engine
from rankwise.distributed.file_parts import file_parts
from rankwise.distributed.row_parts import pickled_size
from rankwise.evaluation.models import predicts_grades
from rankwise.io.table_formats import is_table

# Why some models need each query in one file.
SCALED = "The model scales features within queries"


def use_dask_files(options: argparse.Namespace) -> None:
    """Set the data to the files that match the patterns; refuse what needs all rows in one place."""
    check_dask_address(options)
    if getattr(options, "survival", None) is not None:
        raise UsageError("--survival cannot be used with --dask: survival times are compared in one place.")
    if "-" in options.data:
        raise UsageError("Standard input (-) cannot be used with --dask; name files that workers can read.")
    options.data = [part.path for part in file_parts(options.data)]


@dataclass(frozen=True)
class ScoredFile:
    """The columns of one file: labels, queries, and for each ranking its scores and predicted grades."""

    y: Any
    qid: Any
    scores: list[Any]
    grades: list[Any]


class FileHead(NamedTuple):
    """The number of rows of a file, and whether they have queries, and queries that are words."""

    n_rows: int
    has_queries: bool
    has_words: bool


class RowsOnDask:
    """Labels, queries, scores and predicted grades of files, one partition each; see `RowsInMemory`.

    They stay on the workers or, without a client, in the memory of this machine; the features do not.

    Parameters
    ----------
    rankings : list of ScoreSource
    options : argparse.Namespace
    console : Console
    """

    def __init__(self, rankings: list[Any], options: argparse.Namespace, console: Console) -> None:
        take_columns_of_models(rankings, options)
        take_categories(rankings, options)
        self.rankings, self.options, self.console = rankings, options, console
        engine = self.engine = current_engine()
        given = Given(options, [one if one.model is not None else None for one in rankings])
        files = [options.data, [engine.broadcast(given)] * len(options.data)]
        reads = engine.persist(engine.map(scored_file, *files))
        heads: list[FileHead] = engine.execute(lambda: engine.map(head_of, reads))
        # An empty file has no queries and no width.
        kept = [k for k, head in enumerate(heads) if head.n_rows]
        if not kept:
            raise ValueError("The data has no rows.")
        heads = [heads[k] for k in kept]
        self._reads, options.data = [reads[k] for k in kept], [options.data[k] for k in kept]
        self.n_rows = sum(head.n_rows for head in heads)
        if len({head.has_queries for head in heads}) > 1:
            raise ValueError("Some of the files have queries, others have not.")
        has_words = any(head.has_words for head in heads)
        self.y = self._column(column_of, "y")
        self.qid = self._column(queries_of, has_words) if heads[0].has_queries else None

    def _column(self, function: Any, *arguments: Any) -> list[Any]:
        """Return a handle of a function of the columns of each file."""
        return self.engine.map(function, self._reads, *([value] * len(self._reads) for value in arguments))

    def scores(self, number: int) -> Any:
        """Return the scores of a ranking: on the workers or, of a file of scores, in memory."""
        model = self.rankings[number].model
        if model is None:
            return self.rankings[number].given_scores(self.n_rows)
        if scales_queries(model) and self.qid is not None:
            seen, columns = set[Any](), self.qid
            for queries in self.engine.execute(lambda: self.engine.map(query_set, columns)):
                check_queries(queries, seen, SCALED)
        return self._column(column_of, "scores", number)

    def agreement(self, number: int) -> Any:
        """Return the agreement of the grades that a model predicts, None if it predicts none.

        Labels, grades and queries are collected, with a note.
        """
        model = self.rankings[number].model
        if not predicts_grades(model):
            return None
        columns = self.y, self._column(column_of, "grades", number), self.qid
        n_bytes = 8 * sum(column is not None for column in columns)
        total = human_bytes(n_bytes * self.n_rows)
        self.console.note(f"for the agreement of grades, {n_bytes} bytes per row are collected, {total}.")
        y, predicted, qid = map(in_memory, columns)
        return agreement_with(model, y, predicted, qid, self.options)


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
        """Read one file as a command reads all of its files in memory."""
        return read_data(argparse.Namespace(**(vars(self.options) | {"data": [path]})))


def take_columns_of_models(rankings: list[Any], options: argparse.Namespace) -> None:
    """Set the columns to read to those of the models, or to those of the first table."""
    take_columns_of([ranking.model for ranking in rankings if ranking.model is not None], options)
    if is_table(options.data[0]) and options.features is None:
        options.features = features_of_tables(options)


def scored_file(path: str, given: Given) -> ScoredFile:
    """Read one file and score its rows."""
    data = given.read(path)
    if len(data.y) == 0:
        nothing = [np.empty(0) for _ in given.rankings]
        return ScoredFile(data.y, data.qid, nothing, nothing)
    scores = [None if ranking is None else ranking.scores(data) for ranking in given.rankings]
    return ScoredFile(data.y, data.qid, scores, [predicted_of(ranking, data) for ranking in given.rankings])


def predicted_of(ranking: Any, data: Data) -> Any:
    """Return the grades that a model predicts, None for other models."""
    if ranking is None or not predicts_grades(ranking.model):
        return None
    return model_scores(ranking.model, data.rows_for(ranking.model), data.qid, labels=True)


def head_of(read: ScoredFile) -> FileHead:
    """Return the size of a file and the type of its queries, for the driver."""
    has_words = read.qid is not None and np.asarray(read.qid).dtype.kind in "OSU"
    return FileHead(len(read.y), read.qid is not None, has_words)


def column_of(read: ScoredFile, name: str, number: int | None = None) -> Any:
    """Return a column of a file, or that of one of the rankings."""
    column = getattr(read, name)
    return column if number is None else column[number]


def queries_of(read: ScoredFile, as_words: bool) -> Any:
    """Return the queries of a file; as words, if those of another file are."""
    return as_array([str(query) for query in np.asarray(read.qid).tolist()]) if as_words else read.qid


def query_set(qid: Any) -> set[Any]:
    """Return the distinct queries of a column."""
    return set(np.asarray(qid).tolist())


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
        None if queries is None else query_set(queries),
    )


def check_queries(queries: set[Any], seen: set[Any], why: str) -> None:
    """Refuse a query in two files, if queries must be whole; add the queries to those seen."""
    if both := seen & queries:
        raise ValueError(
            f"{why}, but the query {min(both, key=str)} is in two files; omit --dask, or keep each query in "
            "one file."
        )
    seen |= queries
