"""`rankwise evaluate --dask`: each worker reads and scores its files."""

from __future__ import annotations

import argparse
from functools import cached_property
from typing import Any

from rankwise.cli.dask_files import DaskFiles
from rankwise.cli.output import Console
from rankwise.core.memory import human_bytes
from rankwise.data.backends import in_memory


class RowsOnDask:
    """Labels, queries, scores and predicted grades of files; see `RowsInMemory`."""

    def __init__(self, rankings: list[Any], options: argparse.Namespace, console: Console) -> None:
        self._files, self._console = DaskFiles(rankings, options), console
        self._survival = options.survival is not None

    @cached_property
    def y(self) -> Any:
        """The labels on the workers, or the survival times, which are collected."""
        return self._files.survival(self._console) if self._survival else self._files.y

    @cached_property
    def qid(self) -> Any:
        """The queries, None without any or if survival times have them as strata."""
        return None if self._survival else self._files.qid

    def scores(self, number: int) -> Any:
        """Return the scores of a ranking."""
        scores = self._files.scores(number)
        return in_memory(scores) if self._survival else scores

    def agreement(self, number: int) -> Any:
        """Return the agreement of the grades that a model predicts, None if it predicts none.

        Labels, grades and queries are collected, with a note.
        """
        from rankwise.cli.grades import agreement_with
        from rankwise.evaluation.predicted_grades import predicts_grades

        files = self._files
        model = files.rankings[number].model
        if not predicts_grades(model):
            return None
        columns = files.y, files.grades(number), files.qid
        n_bytes = 8 * sum(column is not None for column in columns)
        total = human_bytes(n_bytes * files.n_rows)
        self._console.note(f"for the agreement of grades, {n_bytes} bytes per row are collected, {total}.")
        y, predicted, qid = map(in_memory, columns)
        return agreement_with(model, y, predicted, qid, files.options)
