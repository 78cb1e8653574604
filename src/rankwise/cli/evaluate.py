"""`rankwise evaluate`: measures of rankings, and tests of the difference of two."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from rankwise.cli import arguments
from rankwise.cli.dask import add_dask_option
from rankwise.cli.output import Console
from rankwise.cli.runs import add_run_options, check_run_options, evaluate_runs
from rankwise.core.text import p_value_text, plural, table

EXAMPLE = """  rankwise evaluate model.json test.txt --at 1,5,10
  rankwise evaluate scores.txt test.txt --per-query
  rankwise evaluate new.json test.txt --against old.json --json
  rankwise evaluate model.json 'part-*.txt.gz' --dask     (on several processes or machines)
  rankwise evaluate --run new.run old.run --qrels qrels.txt --metrics nDCG@10,AP,P(rel=2)@5
"""


# The concordances of survival times.
INDICES: dict[Literal["harrell", "uno"], str] = {"harrell": "Harrell", "uno": "Uno"}


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "evaluate",
        "model data [data ...] [--against model] [options]\n"
        "       rankwise evaluate --run run [run ...] --qrels qrels [--metrics names] [options]",
        run,
        "measure rankings and compare two",
        "Print ranking error, NDCG, MAP, MRR, precision and Kendall's tau of a model or of a file of scores, "
        "the mean over the queries for which each is defined. With a second model the differences over the "
        "queries are tested for significance. For models with probabilities of pairs, their log loss and "
        "calibration are printed too; for models that predict grades, accuracy, absolute error, quadratic "
        "kappa and the confusion matrix. With --survival, it is the concordance with survival times. With "
        "--run and --qrels, TREC run files are evaluated without a model.",
        EXAMPLE,
    )
    positionals = arguments.add_ranking(parser)
    parser.add_argument(
        "--against", "--model2", metavar="MODEL", help="second model or scores to compare with"
    )
    parser.add_argument(
        "--test", choices=("permutation", "wilcoxon"), help="deprecated: ignored, as p is of a paired t-test"
    )
    add_measure_options(parser)
    parser.add_argument("--per-query", action="store_true", help="add a row per query")
    parser.add_argument(
        "--seed", type=arguments.WHOLE, default=0, help="deprecated: ignored, as nothing is random"
    )
    arguments.add_survival_option(parser)
    arguments.add_data_options(parser)
    add_run_options(parser, positionals)
    add_dask_option(parser)


def add_measure_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of NDCG, MAP, MRR and precision."""
    parser.add_argument(
        "--at",
        type=arguments.COUNTS,
        default=[5, 10],
        metavar="K,...",
        help="ranks for NDCG and P (default: 5,10)",
    )
    parser.add_argument(
        "--relevant-at",
        type=arguments.NUMBER,
        default=1.0,
        metavar="LABEL",
        help="labels from this one up are relevant for MAP, MRR and P (default: 1)",
    )
    parser.add_argument(
        "--gain", choices=("exponential", "linear"), default="exponential", help="gain of a label in NDCG"
    )
    parser.add_argument(
        "--undefined",
        type=arguments.value(undefined, "a number or the word skip"),
        default="skip",
        metavar="VALUE",
        help="value of ndcg, map and mrr for a query without relevant rows; 0 is LETOR's convention "
        "(default: skip, which omits the query)",
    )


def undefined(text: str) -> str | float:
    """Read the value of a measure for queries without relevant rows."""
    return text if text == "skip" else arguments.number(text)


def run(options: argparse.Namespace, console: Console) -> None:
    """Evaluate run files, or a model on its data."""
    check_run_options(options)
    if options.test is not None:
        console.note(f"--test {options.test} is ignored: p is of a paired t-test of the mean difference.")
    if options.run_files is None:
        evaluate_model(options, console)
    else:
        evaluate_runs(options, console)


@dataclass(frozen=True)
class Outcome:
    """What is measured of one or two rankings.

    Attributes
    ----------
    n_rows, equal_labels : int
        The number of rows, and of queries whose rows all have the same label.
    queries : list
        The queries, or None alone without any.
    measured : list of dict
        The values per query of each measure, one dict per ranking.
    intervals : dict or None
        The intervals of a single ranking.
    reliability, grades : list
        One entry per ranking, None for rankings without probabilities or grades.
    """

    n_rows: int
    equal_labels: int
    queries: list[Any]
    measured: list[dict[str, Any]]
    intervals: dict[str, Any] | None
    reliability: list[dict[str, Any] | None]
    grades: list[Any]


def evaluate_model(options: argparse.Namespace, console: Console) -> None:
    """Read, score, measure, compare."""
    from rankwise.cli.dask_files import use_dask_files
    from rankwise.cli.data import check_data_options
    from rankwise.cli.evaluate_dask import outcome_on_dask, survival_on_dask
    from rankwise.cli.grades import grade_lines
    from rankwise.cli.scores import ScoreSource, read_for

    if options.dask is not None:
        use_dask_files(options)
    check_data_options(options)
    start = perf_counter()
    rankings = [ScoreSource(path) for path in (options.model, options.against) if path is not None]
    if options.survival is not None:
        read = survival_on_dask if options.dask is not None else survival_in_memory
        survival_result(rankings, *read(rankings, options, console), console, start)
        return
    if options.dask is not None:
        outcome = outcome_on_dask(rankings, options, console)
    else:
        outcome = outcome_in_memory(rankings, read_for(rankings, options), options)
    values = values_of(outcome, rankings, options) | {"seconds": perf_counter() - start}
    lines = lines_of(values, len(rankings))
    for ranking, agreement in zip(rankings, outcome.grades, strict=True):
        lines += grade_lines(ranking.path, agreement)
    console.result(values, lines)


def values_of(outcome: Outcome, rankings: list[Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return the result for machines."""
    from rankwise.cli.grades import agreement_values

    values: dict[str, Any] = {
        "command": "evaluate",
        "rows": outcome.n_rows,
        "queries": len(outcome.queries),
        "equal_labels": outcome.equal_labels,
        "relevant_at": options.relevant_at,
        "gain": options.gain,
        "models": [
            summary(ranking.path, found) for ranking, found in zip(rankings, outcome.measured, strict=True)
        ],
    }
    values |= compared(outcome.measured) if len(rankings) == 2 else {}
    for number, model in enumerate(values["models"]):
        if outcome.intervals is not None:
            model["interval"] = outcome.intervals
        if rankings[number].has_probabilities:
            model["reliability"] = outcome.reliability[number]
        if outcome.grades[number] is not None:
            model["grades"] = agreement_values(outcome.grades[number])
    return values | ({"per_query": listed(outcome)} if options.per_query else {})


def outcome_in_memory(rankings: list[Any], data: Any, options: argparse.Namespace) -> Outcome:
    """Measure rankings of rows in memory."""
    import numpy as np

    from rankwise.cli.grades import agreement_of

    check_queries(rankings, data.n_queries)
    scores = [ranking.scores(data) for ranking in rankings]
    measures = measures_of(np.min(data.y), options, log_loss=have_probabilities(rankings))
    return Outcome(
        data.X.shape[0],
        equal_labels(data),
        [None] if data.qid is None else np.unique(data.qid).tolist(),
        [{one.key: one.of(data.y, found, data.qid) for one in measures} for found in scores],
        intervals_of(data, scores[0], measures) if len(rankings) == 1 else None,
        reliabilities(rankings, data.y, scores, data.qid),
        [agreement_of(ranking, data, options) for ranking in rankings],
    )


def have_probabilities(rankings: list[Any]) -> bool:
    """Return whether all rankings have probabilities of pairs."""
    return all(ranking.has_probabilities for ranking in rankings)


def reliabilities(rankings: list[Any], y: Any, scores: list[Any], qid: Any) -> list[dict[str, Any] | None]:
    """Return the reliability of each ranking, None for those without probabilities."""
    return [
        reliability_of(y, found, qid) if ranking.has_probabilities else None
        for ranking, found in zip(rankings, scores, strict=True)
    ]


def check_queries(rankings: list[Any], n_queries: int) -> None:
    """Refuse a comparison of two models on a single query."""
    if len(rankings) == 2 and n_queries < 2:
        raise ValueError("--against tests differences over queries, but the data has a single query.")


def measures_of(lowest: float, options: argparse.Namespace, *, log_loss: bool = False) -> list[Any]:
    """Return the measures; NDCG is omitted if there are negative labels, which have no gain."""
    import numpy as np

    from rankwise.evaluation.measures import named_measure

    ndcg = [*(f"ndcg@{k}" for k in options.at), "ndcg"] if lowest >= 0 else []
    more = ["log_loss"] if log_loss else []
    above = float(np.nextafter(options.relevant_at, -np.inf))
    keys = ["error", "tau", *ndcg, "map", "mrr", *(f"p@{k}" for k in options.at), *more]
    return [
        named_measure(key, relevant_above=above, gain=options.gain, undefined=options.undefined)
        for key in options.metrics or keys
    ]


def intervals_of(data: Any, scores: Any, measures: list[Any]) -> dict[str, Any]:
    """Return the 95% interval of each measure as in reports; None for measures of a single list."""
    import numpy as np

    from rankwise.evaluation.measures import measured

    query = np.zeros(len(data.y), dtype=np.int64)
    if data.qid is not None:
        query = np.unique(data.qid, return_inverse=True)[1]
    known = [one for one in measures if data.n_queries > 1 or one.over_rows is not None]
    found = measured(data.y, {"model": scores}, query, known)["model"]
    ends = {one.measure.key: [one.low, one.high] for one in found if np.isfinite(one.low)}
    return {one.key: ends.get(one.key) for one in measures}


def equal_labels(data: Any) -> int:
    """Return the number of queries whose rows all have the same label, so that any order is correct."""
    import numpy as np

    query = np.zeros(len(data.y)) if data.qid is None else data.qid
    _, codes = np.unique(query, return_inverse=True)
    lowest, highest = np.full(data.n_queries, np.inf), np.full(data.n_queries, -np.inf)
    np.minimum.at(lowest, codes, data.y)
    np.maximum.at(highest, codes, data.y)
    return int(np.sum(lowest == highest))


def reliability_of(y: Any, scores: Any, qid: Any) -> dict[str, Any] | None:
    """Return stated and observed probabilities by bin, or None if there are no pairs."""
    from dataclasses import asdict

    from rankwise.evaluation import reliability
    from rankwise.preferences import NoPairsError

    try:
        found = reliability(y, scores, qid)
    except NoPairsError:
        return None
    summed_up = {"calibration_error": found.calibration_error, "overconfidence": found.overconfidence}
    values = asdict(found)
    del values["notes"]  # the command prints one on all columns
    return values | summed_up


def compared(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """Test the differences of two models."""
    from rankwise.metrics.intervals import mean_estimate

    first, second = measured
    tested = {name: mean_estimate(first[name] - second[name]).p_value() for name in first}
    return {"test": "t", "p_values": tested}


def listed(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the measures of each query, one entry per model."""
    measured = outcome.measured
    return [
        {"qid": qid, **{name: [found[name][k] for found in measured] for name in measured[0]}}
        for k, qid in enumerate(outcome.queries)
    ]


def summary(path: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the mean over the queries for which a measure is defined, and their number."""
    from rankwise.figures.distribution import Distribution

    spread = {name: Distribution.of(values) for name, values in found.items()}
    return {
        "model": path,
        "mean": {name: one.mean if len(one.values) else None for name, one in spread.items()},
        "defined": {name: len(one.values) for name, one in spread.items()},
    }


def lines_of(values: dict[str, Any], n_models: int) -> list[str]:
    """Return the result for people."""
    models = values["models"]
    header = ["measure", *(model["model"] for model in models)]
    header += ["difference", "p"] if n_models == 2 else ["from", "to"]
    rows = [[name, *row_of(values, name), defined_of(values, name)] for name in models[0]["mean"]]
    gains = f"ndcg has {values['gain']} gain, nDCG linear gain"
    lines = [
        f"{plural(values['rows'], 'row')}, {plural(values['queries'], 'query')}; labels from "
        f"{values['relevant_at']:g} up are relevant for map, mrr and p@k; {gains}"
    ]
    lines += ["", *table([*header, "queries"], rows)]
    if values["equal_labels"]:
        lines += [
            "",
            f"queries whose rows all have the same label: {values['equal_labels']:,}; any order of them is "
            "correct, and ndcg, map, mrr and p@k do not depend on the model",
        ]
    if n_models == 2:
        lines += ["", "p: two-sided paired t-test of the mean difference over queries"]
    lines += [line for model in models if model.get("reliability") for line in reliability_lines(model)]
    if "per_query" in values:
        lines += ["", *per_query_lines(values["per_query"], n_models)]
    return lines


def reliability_lines(model: dict[str, Any]) -> list[str]:
    """Return a table of stated and observed probabilities."""
    found = model["reliability"]
    columns = (found["edges"][:-1], found["edges"][1:], found["share"], found["stated"], found["observed"])
    rows = [
        [f"{low:.2f} to {high:.2f}", *map(shown, values)] for low, high, *values in zip(*columns, strict=True)
    ]
    title = f"{model['model']}: pairs by the probability of their more likely order, calibration error "
    return [
        "",
        f"{title}{shown(found['calibration_error'])}",
        *table(["probability", "fraction of pairs", "stated", "observed"], rows),
    ]


def row_of(values: dict[str, Any], name: str) -> list[str]:
    """Return the cells of a measure; for two models, with the difference and its p-value."""
    means = [model["mean"][name] for model in values["models"]]
    cells = [shown(mean) for mean in means]
    if len(means) == 2:
        both = None not in means
        return [
            *cells, f"{means[0] - means[1]:+.4f}" if both else "-", p_value_text(values["p_values"][name])
        ]  # fmt: skip
    return cells + list(map(shown, values["models"][0]["interval"][name] or (None, None)))


def defined_of(values: dict[str, Any], name: str) -> str:
    """Return the number of queries for which a measure is defined."""
    return str(min(model["defined"][name] for model in values["models"]))


def per_query_lines(queries: list[dict[str, Any]], n_models: int) -> list[str]:
    """Return a table with a row per query and, for several models, per model."""
    names = [name for name in queries[0] if name != "qid"]
    rows = [
        [
            str(query["qid"]),
            *([chr(ord("A") + k)] if n_models > 1 else []),
            *(shown(query[name][k]) for name in names),
        ]
        for query in queries
        for k in range(n_models)
    ]
    return table(["query", *(["model"] if n_models > 1 else []), *names], rows)


def shown(value: float | None) -> str:
    """Format a number with four decimals, or a dash if it is None or NaN."""
    return "-" if value is None or value != value else f"{value:.4f}"


def survival_in_memory(
    rankings: list[Any], options: argparse.Namespace, console: Console
) -> tuple[Any, list[Any]]:
    """Return survival times, and the scores of each ranking."""
    from rankwise.cli.scores import read_for

    data = read_for(rankings, options)
    return data.y, [ranking.scores(data) for ranking in rankings]


def survival_result(rankings: list[Any], y: Any, scores: list[Any], console: Console, start: float) -> None:
    """Compute and print the concordance of each model with right-censored survival times."""
    import numpy as np

    models = [
        {"model": one.path} | concordances(y, found) for one, found in zip(rankings, scores, strict=True)
    ]
    values = {
        "command": "evaluate",
        "rows": len(y),
        "events": int(y.event.sum()),
        "strata": len(np.unique(y.groups())),
        "pairs": int(y.n_pairs),
        "models": models,
    }
    if len(rankings) == 2:
        values["difference"] = {
            name: concordance_difference(y, scores[0], scores[1], name) for name in INDICES
        }
    values["seconds"] = perf_counter() - start
    console.result(values, survival_lines(values))


def concordances(y: Any, scores: Any) -> dict[str, Any]:
    """Return Harrell's and Uno's concordance with their intervals."""
    from rankwise.metrics import concordance_interval

    found: dict[str, Any] = {}
    for name in INDICES:
        one = concordance_interval(y, scores, weights=name)
        found[name] = {"index": one.estimate, "low": one.low, "high": one.high}
    return found


def concordance_difference(y: Any, first: Any, second: Any, weights: str) -> dict[str, float]:
    """Return the difference of two concordances with its interval and its two-sided p-value."""
    from rankwise.metrics.concordance import concordance_estimate

    found = concordance_estimate(y, first, weights) - concordance_estimate(y, second, weights)
    low, high = found.difference_interval(0.95, (0.0, 1.0))
    return {"mean": found.value, "low": low, "high": high, "p": found.p_value((0.0, 1.0))}


def survival_lines(values: dict[str, Any]) -> list[str]:
    """Return the result for people."""
    rows = [
        [model["model"], title, *(f"{model[name][key]:.4f}" for key in ("index", "low", "high"))]
        for model in values["models"]
        for name, title in INDICES.items()
    ]
    strata = "1 stratum" if values["strata"] == 1 else f"{values['strata']:,} strata"
    counts = {name: plural(values[f"{name}s"], name) for name in ("row", "event", "pair")}
    title = f"{counts['row']}, {counts['event']}, {strata}, {counts['pair']}"
    lines = [title, "", *table(["model", "concordance", "index", "from", "to"], rows, n_left=2)]
    if "difference" in values:
        apart = [
            [title, *(f"{one[key]:.4f}" for key in ("mean", "low", "high")), p_value_text(one["p"])]
            for one, title in ((values["difference"][name], title) for name, title in INDICES.items())
        ]
        lines += [
            "",
            "First model minus second",
            *table(["concordance", "difference", "from", "to", "p"], apart),
        ]
    return lines
