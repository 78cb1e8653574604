"""`rankwise evaluate --run`: measures of TREC run files, and tests of their differences, without a model."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from time import perf_counter
from typing import Any

from rankwise.cli import arguments
from rankwise.cli.output import Console
from rankwise.core.text import table
from rankwise.evaluation.measures import Measured


def model_values(name: str, measured: Iterable[Measured]) -> dict[str, Any]:
    """Return the measures of a model for machines."""
    return {"model": name, "measures": {one.measure.key: one.as_dict() for one in measured}}


def query_values(queries: list[Any], measured: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the measures of each query, one entry per model."""
    columns = {
        of[0].measure.key: [one.values.tolist() for one in of] for of in zip(*measured.values(), strict=True)
    }
    return [
        {"qid": qid, **{key: [values[k] for values in of] for key, of in columns.items()}}
        for k, qid in enumerate(queries)
    ]


def per_query_lines(queries: list[dict[str, Any]], n_models: int) -> list[str]:
    """Return a table with a row per query and, for several models, per model."""
    names = [name for name in queries[0] if name != "qid"]
    rows = [
        [
            str(query["qid"]),
            *([chr(ord("A") + k)] if n_models > 1 else []),
            *("-" if query[name][k] != query[name][k] else f"{query[name][k]:.4f}" for name in names),
        ]
        for query in queries
        for k in range(n_models)
    ]
    return table(["query", *(["model"] if n_models > 1 else []), *names], rows)


RULES = (
    "means over all judged queries, of which missing ones count 0; equal scores in order of document ids, "
    "descending"
)


def metric_names(text: str) -> list[str]:
    """Read names of measures separated by commas, except for commas within parentheses.

    Examples
    --------
    >>> metric_names("nDCG@10, P(rel=2,judged_only=True)@5")
    ['nDCG@10', 'P(rel=2,judged_only=True)@5']
    """
    found = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not found:
        raise ValueError
    return found


class ReplacesModel(argparse.Action):
    """An option with files that are evaluated in place of a model and its data."""

    positionals: tuple[argparse.Action, ...] = ()

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Store the files; the arguments of a model are then not required."""
        setattr(namespace, self.dest, values)
        for action, nargs in zip(self.positionals, ("?", "*"), strict=True):
            action.nargs, action.required = nargs, False


def add_run_options(parser: argparse.ArgumentParser, positionals: tuple[argparse.Action, ...]) -> None:
    """Add the options of run files, which replace the positional arguments, and of named measures."""
    group = parser.add_argument_group("runs of search engines")
    run = group.add_argument(
        "--run",
        nargs="+",
        action=ReplacesModel,
        dest="run_files",
        metavar="RUN",
        help="TREC run files to evaluate instead of a model; the first is compared with each of the others",
    )
    run.positionals = positionals  # type: ignore[attr-defined]
    group.add_argument(
        "--qrels", metavar="FILE", help="TREC qrels file with the relevance judgments for --run"
    )
    group.add_argument(
        "--metric",
        type=arguments.value(metric_names, "names of metrics separated by commas"),
        metavar="NAME,...",
        help="metrics to print, by their names in ir-measures, such as nDCG@10 (linear gain), AP, RR or "
        "P(rel=2)@5, or here, such as ndcg@10; with --run also R@100, Bpref and all others, which need "
        "ir-measures (default with --run: nDCG@10,AP,RR,P@10)",
    )


def evaluate_runs(options: argparse.Namespace, console: Console) -> None:
    """Read, measure, compare."""
    from rankwise.cli.report import distinct_names
    from rankwise.evaluation.runs import (
        RUN_MEASURES,
        JudgedRuns,
        compare_judged,
        evaluation_of_run,
        search_measures,
    )
    from rankwise.io.trec import read_qrels, read_run

    if [options.qrels, *options.run_files].count("-") > 1:
        raise arguments.UsageError("Standard input (-) can be read only once.")
    start = perf_counter()
    measures = search_measures(options.metric or RUN_MEASURES)
    qrels = read_qrels(options.qrels)
    paths = distinct_names(options.run_files)
    rows = JudgedRuns(
        qrels, {path: read_run(file) for path, file in zip(paths, options.run_files, strict=True)}
    )
    found = compare_judged(rows, measures)
    values: dict[str, Any] = {
        "command": "evaluate",
        "qrels": options.qrels,
        "queries": rows.n_queries,
        "rules": RULES,
        "models": [model_values(name, of) for name, of in found.measures.items()],
        "notes": rows.notes(),
    }
    result: Any = evaluation_of_run(rows, paths[0], found.measures) if len(paths) == 1 else found
    lines = [*str(result).split("\n"), f"Rules: {RULES}."]
    if len(paths) > 1:
        values["test"], values["correction"] = "t", found.correction
        values["differences"] = [one.as_dict() for one in found.differences]
    if options.per_query:
        values["per_query"] = query_values(rows.query_names, found.measures)
        lines += ["", *per_query_lines(values["per_query"], len(paths))]
    values["seconds"] = perf_counter() - start
    console.result(values, lines)
