"""`rankwise evaluate --dask`: each worker reads, scores and measures its files."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from rankwise.cli.dask import dask_client
from rankwise.cli.dask_files import DaskFiles
from rankwise.cli.evaluate import (
    Outcome,
    check_queries,
    equal_labels,
    have_probabilities,
    intervals_of,
    measures_of,
    reliabilities,
)
from rankwise.cli.output import Console
from rankwise.core.memory import human_bytes


def outcome_on_dask(rankings: list[Any], options: argparse.Namespace, console: Console) -> Outcome:
    """Measure rankings of files; a note states what is collected, such as rows of a query in two files."""
    from rankwise.evaluation.in_parts import Wanted, measure_in_parts

    with dask_client(options, console):
        files = DaskFiles(rankings, options)
        y, qid, scores = files.y, files.qid, [files.scores(number) for number in range(len(rankings))]
        measures = measures_of(files.lowest_label, options, log_loss=have_probabilities(rankings))
        wanted = Wanted({str(number): None for number in range(len(rankings))}, measures)
        found = measure_in_parts(None, y, qid, wanted, scores)
        if found is None:
            return outcome_of_ranking(files, y, qid, scores, wanted, console)
        check_queries(rankings, len(found.queries))
        note_cut(found.cut, len(found.queries), 2 + len(rankings), console)
        return Outcome(
            found.facts.n_rows,
            int(np.count_nonzero(~found.has_pairs)),
            found.queries.tolist(),
            list(found.values.values()),
            intervals_of_parts(found, measures) if len(rankings) == 1 else None,
            reliabilities(rankings, y, scores, qid),
            [agreement_on_dask(files, number, console) for number in range(len(rankings))],
        )


def outcome_of_ranking(
    files: DaskFiles, y: Any, qid: Any, scores: list[Any], wanted: Any, console: Console
) -> Outcome:
    """Measure rows that are one ranking; if a measure needs all scores, they are collected."""
    from rankwise.evaluation.bootstrap import CONFIDENCE
    from rankwise.evaluation.ranking_in_parts import measure_ranking

    found = measure_ranking(None, y, qid, wanted, scores, CONFIDENCE, resamples=False)
    if found is None:
        return outcome_of_collected(files, y, qid, scores, wanted.metrics, console)
    check_queries(files.rankings, 1)
    (own,) = found.measured.values()
    return Outcome(
        found.facts.n_rows,
        int(found.facts.lowest == found.facts.highest),
        [found.query],
        [{one.measure.key: one.values for one in own}],
        intervals_of_measured(own),
        [None],  # of models without probabilities, as their log loss needs all scores
        [agreement_on_dask(files, 0, console)],
    )


def outcome_of_collected(
    files: DaskFiles, y: Any, qid: Any, scores: list[Any], measures: list[Any], console: Console
) -> Outcome:
    """Measure rankings whose queries are in several files: labels, queries and scores are collected."""
    from rankwise.cli.data import Data
    from rankwise.data.backends import in_memory

    n_bytes = 8 * (1 + (qid is not None) + sum(ranking.model is not None for ranking in files.rankings))
    why = "all rows are one ranking" if qid is None else "a query is in several files, or the only one"
    total = human_bytes(n_bytes * files.n_rows)
    console.note(f"{why}: {n_bytes} bytes per row are collected, {total}.")
    data = Data(np.empty((files.n_rows, 0)), in_memory(y), in_memory(qid))
    found = [in_memory(one) for one in scores]
    check_queries(files.rankings, data.n_queries)
    return Outcome(
        files.n_rows,
        equal_labels(data),
        [None] if data.qid is None else np.unique(data.qid).tolist(),
        [{one.key: one.of(data.y, column, data.qid) for one in measures} for column in found],
        intervals_of(data, found[0], measures) if len(found) == 1 else None,
        reliabilities(files.rankings, data.y, found, data.qid),
        [agreement_on_dask(files, number, console) for number in range(len(found))],
    )


def note_cut(cut: Any, n_queries: int, n_columns: int, console: Console) -> None:
    """Print what is collected of queries in several files."""
    if cut.queries:
        total = human_bytes(8 * n_columns * cut.n_rows)
        console.note(
            f"queries in several files: {len(cut.queries):,} of {n_queries:,}; of their rows, "
            f"{8 * n_columns} bytes per row are collected, {total}."
        )


def intervals_of_parts(found: Any, measures: list[Any]) -> dict[str, Any]:
    """Return the 95% interval of each measure over queries, None if it has none."""
    from rankwise.evaluation.bootstrap import CONFIDENCE
    from rankwise.evaluation.in_parts import measured_of

    (own,) = measured_of(found, measures, CONFIDENCE).values()
    return intervals_of_measured(own)


def intervals_of_measured(measured: list[Any]) -> dict[str, Any]:
    """Return the ends of the interval of each measure, None if it has none."""
    return {one.measure.key: [one.low, one.high] if np.isfinite(one.low) else None for one in measured}


def survival_on_dask(
    rankings: list[Any], options: argparse.Namespace, console: Console
) -> tuple[Any, list[Any]]:
    """Collect survival times, and the scores of each ranking, with a note."""
    from rankwise.data.backends import in_memory

    with dask_client(options, console):
        files = DaskFiles(rankings, options)
        y = files.survival(console)
        return y, [in_memory(files.scores(number)) for number in range(len(rankings))]


def agreement_on_dask(files: DaskFiles, number: int, console: Console) -> Any:
    """Return the agreement of the grades that a model predicts, None if it predicts none.

    Labels, grades and queries are collected, with a note.
    """
    from rankwise.cli.grades import agreement_with
    from rankwise.data.backends import in_memory
    from rankwise.evaluation.predicted_grades import predicts_grades

    model = files.rankings[number].model
    if not predicts_grades(model):
        return None
    columns = files.y, files.grades(number), files.qid
    n_bytes = 8 * sum(column is not None for column in columns)
    total = human_bytes(n_bytes * files.n_rows)
    console.note(f"for the agreement of grades, {n_bytes} bytes per row are collected, {total}.")
    y, predicted, qid = map(in_memory, columns)
    return agreement_with(model, y, predicted, qid, files.options)
