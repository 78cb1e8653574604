"""`rankwise evaluate`: metrics of rankings, and tests of the difference of two."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.cli import arguments
from rankwise.cli.dask import add_dask_option, dask_client
from rankwise.cli.dask_files import RowsOnDask, use_dask_files
from rankwise.cli.data import check_data_options
from rankwise.cli.output import Console
from rankwise.cli.report import distinct_names
from rankwise.cli.runs import add_run_options, evaluate_runs, model_values, per_query_lines, query_values
from rankwise.cli.scores import ScoreSource, read_for
from rankwise.core.text import plural
from rankwise.evaluation import reliability
from rankwise.evaluation.comparison import comparison_of
from rankwise.evaluation.evaluated import evaluated_rows
from rankwise.evaluation.measures import Choice
from rankwise.evaluation.registry import parsed_measure
from rankwise.evaluation.single import evaluation_of
from rankwise.preferences import NoPairsError

EXAMPLE = """  rankwise evaluate model.json test.txt --at 1,5,10
  rankwise evaluate scores.txt test.txt --per-query
  rankwise evaluate new.json test.txt --compare old.json --json
  rankwise evaluate model.json 'part-*.txt.gz' --dask     (on several processes or machines)
  rankwise evaluate --run new.run old.run --qrels qrels.txt --metric nDCG@10,AP,P(rel=2)@5
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "evaluate",
        "model data [data ...] [--compare model] [options]\n"
        "       rankwise evaluate --run run [run ...] --qrels qrels [--metric names] [options]",
        run,
        "evaluate a ranking, or compare two",
        "Print the ranking error, NDCG, MAP, MRR, precision and Kendall's tau of a model or a file of "
        "scores, each averaged over the queries for which it is defined. With --compare, the differences "
        "between two models are tested for significance. Models with probabilities of pairs also get log "
        "loss and calibration; models that predict grades, accuracy, absolute error, quadratic kappa and the "
        "confusion matrix. With --survival, print the concordance with survival times. With --run and "
        "--qrels, evaluate TREC run files without a model.",
        EXAMPLE,
    )
    positionals = arguments.add_ranking(parser)
    parser.add_argument("--compare", metavar="MODEL", help="second model, or file of scores, to compare with")
    add_measure_options(parser)
    parser.add_argument("--per-query", action="store_true", help="add the metrics of each query")
    arguments.add_survival_option(arguments.add_data_options(parser))
    add_run_options(parser, positionals)
    add_dask_option(parser)


def add_measure_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of NDCG, MAP, MRR and precision."""
    parser.add_argument(
        "--at",
        type=arguments.COUNTS,
        default=[5, 10],
        metavar="K,...",
        help="cutoffs of NDCG and precision (default: 5,10)",
    )
    parser.add_argument(
        "--relevant-at",
        type=arguments.NUMBER,
        metavar="LABEL",
        help="lowest relevant label for MAP, MRR and precision (default: labels above 0 are "
        "relevant, if they are binary or grades)",
    )
    parser.add_argument(
        "--gain",
        choices=("exponential", "linear"),
        default="exponential",
        help="gain of a label in NDCG (default: exponential)",
    )
    parser.add_argument(
        "--undefined",
        type=arguments.value(undefined, "a number or skip"),
        default="skip",
        metavar="VALUE",
        help="value of NDCG, MAP and MRR for a query without relevant rows; 0 is LETOR's convention "
        "(default: skip, which omits the query)",
    )


def undefined(text: str) -> str | float:
    """Read the value of a measure for queries without relevant rows."""
    return text if text == "skip" else arguments.number(text)


def run(options: argparse.Namespace, console: Console) -> None:
    """Evaluate run files, or a model on its data."""
    if options.run_files is None:
        evaluate_model(options, console)
    else:
        evaluate_runs(options, console)


def evaluate_model(options: argparse.Namespace, console: Console) -> None:
    """Read, score, measure, compare."""
    if options.dask is not None:
        use_dask_files(options)
    check_data_options(options)
    start = perf_counter()
    paths = [path for path in (options.model, options.compare) if path is not None]
    rankings = dict(zip(distinct_names(paths), map(ScoreSource, paths), strict=True))
    with nullcontext() if options.dask is None else dask_client(options, console):
        shown = shown_on(rankings, options, console)
    shown.values["seconds"] = perf_counter() - start
    console.result(shown.values, shown.lines)


@dataclass
class Shown:
    """A result for machines and for people."""

    values: dict[str, Any]
    lines: list[str]


def shown_on(rankings: dict[str, Any], options: argparse.Namespace, console: Console) -> Shown:
    """Measure rankings of rows in memory, or of files on Dask."""
    sources = list(rankings.values())
    if options.dask is None:
        rows: Any = RowsInMemory(sources, read_for(sources, options), options)
    else:
        rows = RowsOnDask(sources, options, console)
    scores = {name: rows.scores(number) for number, name in enumerate(rankings)}
    choice = choice_of(options, with_probabilities=all(one.has_probabilities for one in sources))
    found = evaluated_rows(scores, None, rows.y, rows.qid, choice)
    for note in found.collected:
        console.note(note)
    shown = measures_shown(rankings, found, options)
    if options.survival is not None:
        return with_lives(shown, rows.y)
    models = zip(shown.values["models"], rankings.items(), strict=True)
    for number, (model, (name, ranking)) in enumerate(models):
        if (agreement := rows.agreement(number)) is not None:
            model["grades"] = agreement.as_dict()
            shown.lines += ["", f"{name}: predicted grades", *str(agreement).split("\n")]
        if ranking.has_probabilities:
            calibration = reliability_of(rows.y, scores[name], rows.qid)
            model["reliability"] = None if calibration is None else calibration.as_dict()
            shown.lines += [] if calibration is None else ["", f"{name}: probabilities of pairs by bin"]
            shown.lines += [] if calibration is None else str(calibration).split("\n")
    return shown


@dataclass(frozen=True)
class RowsInMemory:
    """Labels, queries, scores and predicted grades of rows in memory."""

    rankings: list[Any]
    data: Any
    options: argparse.Namespace

    @property
    def y(self) -> Any:
        """The labels or survival times."""
        return self.data.y

    @property
    def qid(self) -> Any:
        """The queries, None without any or if survival times have them as strata."""
        return None if self.options.survival is not None else self.data.qid

    def scores(self, number: int) -> Any:
        """Return the scores of a ranking."""
        return self.rankings[number].scores(self.data)

    def agreement(self, number: int) -> Any:
        """Return the agreement of the grades that a model predicts, None if it predicts none."""
        from rankwise.cli.scores import agreement_of

        return agreement_of(self.rankings[number], self.data, self.options)


def choice_of(options: argparse.Namespace, *, with_probabilities: bool) -> Any:
    """Return the choice of measures; refuse unknown names of --metric."""
    for name in options.metric or ():
        parsed_measure(name, "--metric")
    return Choice(
        options.metric,
        options.at,
        arguments.threshold(options.relevant_at),
        options.gain,
        options.undefined,
        detailed=True,
        with_probabilities=with_probabilities,
    )


def measures_shown(rankings: dict[str, Any], found: Any, options: argparse.Namespace) -> Shown:
    """Return the measures of one ranking, or the comparison of two."""
    values: dict[str, Any] = {
        "command": "evaluate",
        "rows": found.n_rows,
        "queries": len(found.queries),
        "equal_labels": found.n_equal_labels,
        "relevant_at": options.relevant_at,
        "gain": options.gain,
        "notes": found.notes,
        "models": [model_values(rankings[name].path, of) for name, of in found.measured.items()],
    }
    if len(rankings) == 2:
        result: Any = comparison_of(found.measured, notes=found.notes)
        values["differences"] = [one.as_dict() for one in result.differences]
    else:
        result = evaluation_of(found, *rankings)
    lines = str(result).split("\n")
    if values["equal_labels"]:
        lines += [
            f"Queries whose rows all have the same label: {values['equal_labels']:,}; any order of their "
            "rows is correct."
        ]
    if options.per_query:
        values["per_query"] = query_values(found.queries, found.measured)
        lines += ["", *per_query_lines(values["per_query"], len(rankings))]
    return Shown(values, lines)


def with_lives(shown: Shown, lives: Any) -> Shown:
    """Add the numbers of events, pairs and strata of survival times."""
    n_strata = len(np.unique(lives.groups()))
    values = {"events": int(lives.event.sum()), "pairs": int(lives.n_pairs), "strata": n_strata}
    strata = "1 stratum" if n_strata == 1 else f"{n_strata:,} strata"
    counts = f"{plural(values['events'], 'event')}, {plural(values['pairs'], 'pair')}, {strata}"
    return Shown(shown.values | values, [*shown.lines, counts])


def reliability_of(y: Any, scores: Any, qid: Any) -> Any:
    """Return stated and observed probabilities by bin, or None if there are no pairs."""
    try:
        return reliability(y, scores, qid)
    except NoPairsError:
        return None
