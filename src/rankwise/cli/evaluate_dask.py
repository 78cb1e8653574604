"""`rankwise evaluate --dask`: each worker reads, scores and measures its files."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from rankwise.cli.dask import dask_client
from rankwise.cli.dask_files import DaskFiles, use_dask_files
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


def use_dask(options: argparse.Namespace) -> None:
    """Set the data to the files that match the patterns."""
    use_dask_files(options, ["survival"])


def outcome_on_dask(rankings: list[Any], options: argparse.Namespace, console: Console) -> Outcome:
    """Measure rankings of files; if a query is in two files, scores are collected, with a note."""
    from rankwise.evaluation.in_parts import Wanted, measure_in_parts

    with dask_client(options, console):
        files = DaskFiles(rankings, options)
        y, qid, scores = files.y, files.qid, [files.scores(number) for number in range(len(rankings))]
        measures = measures_of(files.lowest_label, options, log_loss=have_probabilities(rankings))
        wanted = Wanted({str(number): None for number in range(len(rankings))}, measures)
        found = measure_in_parts(None, y, qid, wanted, scores)
        if found is None:
            return outcome_of_collected(files, y, qid, scores, measures, console)
        check_queries(rankings, len(found.queries))
        return Outcome(
            found.facts.n_rows,
            int(np.count_nonzero(~found.has_pairs)),
            found.queries.tolist(),
            list(found.values.values()),
            intervals_of_parts(found, measures) if len(rankings) == 1 else None,
            reliabilities(rankings, y, scores, qid),
            [agreement_on_dask(files, number) for number in range(len(rankings))],
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
        [agreement_on_dask(files, number) for number in range(len(found))],
    )


def intervals_of_parts(found: Any, measures: list[Any]) -> dict[str, Any]:
    """Return the 95% interval of each measure over queries, None if it has none."""
    from rankwise.evaluation.bootstrap import CONFIDENCE
    from rankwise.evaluation.in_parts import measured_of

    (own,) = measured_of(found, measures, CONFIDENCE).values()
    return {one.measure.key: [one.low, one.high] if np.isfinite(one.low) else None for one in own}


def agreement_on_dask(files: DaskFiles, number: int) -> Any:
    """Return the agreement of the grades that a model predicts, None if it predicts none."""
    from rankwise.cli.grades import agreement_with
    from rankwise.data.backends import in_memory
    from rankwise.evaluation.predicted_grades import predicts_grades

    model = files.rankings[number].model
    if not predicts_grades(model):
        return None
    y, predicted, qid = map(in_memory, (files.y, files.grades(number), files.qid))
    return agreement_with(model, y, predicted, qid, files.options)
