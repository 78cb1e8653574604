"""`rankwise predict`: score rows, chunk by chunk in constant memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from time import perf_counter
from typing import IO, Any

from rankwise.cli import arguments
from rankwise.cli.dask import add_dask_option
from rankwise.cli.data import check_data_options, dense_if_smaller, iterate_data, read_data, take_columns_of
from rankwise.cli.models import load_any_model
from rankwise.cli.output import Console, for_stream, standard_output, time_left
from rankwise.cli.row_names import add_id_option
from rankwise.cli.scores import model_scores, probability_lines, require_probabilities
from rankwise.core.pipelines import scales_queries
from rankwise.core.text import plural
from rankwise.io.atomic import atomic_write
from rankwise.io.streams import open_output
from rankwise.io.table_formats import NotNumbersError
from rankwise.io.trec import write_run

EXAMPLE = """  rankwise predict model.json test.txt -o scores.txt
  rankwise predict ordinal.json test.csv --proba -o probabilities.csv
  rankwise predict model.json test.txt --format trec --run-name svm -o svm.run
  zcat test.txt.gz | rankwise predict model.json - | head
  rankwise predict model.json 'part-*.txt.gz' -o scores.txt --dask    (on several processes or machines)
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser of `rankwise`."""
    parser = arguments.add_command(
        commands,
        "predict",
        "model data [data ...] [-o scores] [options]",
        run,
        "score rows with a model",
        "Write the score of each row, one per line with all digits; a higher score ranks higher. Ordinal "
        "models predict labels, and with --proba their probabilities as CSV. Memory does not grow with the "
        "data, unless the model scales features within queries or the table contains strings or missing "
        "values. The model may be a model.dat of SVMrank.",
        EXAMPLE,
    )
    parser.set_defaults(reads=("model", "data"), writes=("output",), to_standard_output=True)
    parser.add_argument("model", help="file of the model")
    parser.add_argument("data", nargs="+", help="files with the rows; - is standard input")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="file of the scores (default: standard output)"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--utility", action="store_true", help="write scores rather than labels of an ordinal model"
    )
    kind.add_argument(
        "--proba",
        action="store_true",
        help="write a CSV file with the label that an ordinal model predicts, the expected label and the "
        "probability of each label; the model must be trained with --calibrated",
    )
    arguments.add_data_options(parser)
    add_id_option(parser)
    parser.add_argument(
        "--format",
        choices=("scores", "trec"),
        default="scores",
        help="scores, one per line (default), or trec: a run file whose documents are the names of the rows "
        "or, without names, their numbers from 0",
    )
    parser.add_argument("--run-name", metavar="NAME", help="last field of a run file (default: rankwise)")
    add_dask_option(parser)


def run(options: argparse.Namespace, console: Console) -> None:
    """Load, read, score, and write scores or a run file; with --dask, one file after the other."""
    is_run = options.format == "trec"
    if is_run and (options.proba or options.utility):
        raise arguments.UsageError("--format trec writes scores; omit --proba and --utility.")
    if options.run_name is not None and not is_run:
        raise arguments.UsageError("--run-name is for run files; use --format trec.")
    if not is_run:
        options.row_names = False  # scores have no names
    if options.dask is not None:
        dask_files().use_dask_files(options)
    check_data_options(options, label_needed=False)
    start, rows = perf_counter(), 0
    model = load_any_model(options.model)
    take_columns_of([model], options)
    if options.proba:
        require_probabilities(model)
    console.taken = options.output == "-"
    opening: Any = open_output if is_run else opened
    with opening(options.output) as file, console.progress() as progress:
        for number, (text, n_rows) in enumerate(written(model, options, console), 1):
            file.write(text if isinstance(text, bytes) else for_stream(file, text))
            rows += n_rows
            show_rows(progress, rows, number, options, start)
        if rows == 0:
            raise ValueError("The data has no rows.")
    if console.as_json or not console.taken:
        values = {"command": "predict", "rows": rows, "seconds": perf_counter() - start}
        line = f"{plural(rows, 'row' if is_run or options.proba else 'score')} written to {options.output}"
        values["run" if is_run else "scores"] = options.output
        console.result(values, [f"{line} in {values['seconds']:.2f} s"])


def written(model: Any, options: argparse.Namespace, console: Console) -> Iterator[tuple[str | bytes, int]]:
    """Return the output, piece by piece, and the number of rows of each."""
    if options.format == "trec":
        return run_pieces(model, options, console)
    on_dask = options.dask is not None
    return (
        dask_files().predicted_files(model, options, console) if on_dask else written_chunks(model, options)
    )


def dask_files() -> Any:
    """Return the module for files on Dask, which imports this one."""
    from rankwise.cli import dask_files

    return dask_files


def run_pieces(
    model: Any, options: argparse.Namespace, console: Console
) -> Iterator[tuple[str | bytes, int]]:
    """Yield a run file, in one piece or in a piece per file."""
    is_here = options.dask is None
    pieces = [scored_run(model, options)] if is_here else dask_files().scored_runs(model, options, console)
    n_before = 0
    for qid, names, scores in pieces:
        text, n_rows = BytesIO(), len(scores)
        documents = list(range(n_before, n_before + n_rows)) if names is None else names
        write_run(text, qid, documents, scores, run_name=options.run_name or "rankwise")
        n_before += n_rows
        yield text.getvalue(), n_rows


def scored_run(model: Any, options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return the query of each row, the names of the rows if they have some, and their scores."""
    data = read_data(argparse.Namespace(**(vars(options) | {"label": None})))
    if data.qid is None and data.X.shape[0]:
        raise ValueError("A run file needs the query of each row, but the data has none; use --qid.")
    if not data.X.shape[0]:
        return [], None, []
    return data.qid, data.names, model_scores(model, data.rows_for(model), data.qid)


def show_rows(progress: Any, rows: int, number: int, options: argparse.Namespace, start: float) -> None:
    """Draw the number of rows; with --dask, the files and the time that is left, too."""
    seconds = perf_counter() - start
    if options.dask is None:
        progress.show(None, f"{plural(rows, 'row')}, {seconds:.1f} s")
        return
    fraction = number / len(options.data)
    text = f"file {number} of {len(options.data)}, {plural(rows, 'row')}, {seconds:.1f} s"
    progress.show(fraction, text + time_left(fraction, seconds))


def written_chunks(model: Any, options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Yield scores, labels or probabilities as text, chunk by chunk, and the number of rows."""
    write = probability_lines(model) if options.proba else score_lines(model, labels=not options.utility)
    for X, qid in chunks_for(model, options):
        if X.shape[0]:
            yield write(X, qid), X.shape[0]


def chunks_for(model: Any, options: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    """Yield rows and their queries, in chunks or, if the model scales queries or has categories, all at once.

    From the first gap on, the rows of a table are read all at once, too.
    """
    if scales_queries(model):
        data = read_data(options)
        yield data.rows_for(model), data.qid
        return
    unlabelled = argparse.Namespace(**(vars(options) | {"label": None}))
    if getattr(options, "as_text", False):
        data = read_data(unlabelled)
        if data.X.shape[0]:
            yield data.rows_for(model), None
        return
    n_rows = 0
    try:
        for chunk in iterate_data(options):
            yield dense_if_smaller(chunk.rows_for(model)), None
            n_rows += chunk.X.shape[0]
    except NotNumbersError:
        yield read_data(unlabelled).rows_for(model)[n_rows:], None


@contextmanager
def opened(path: str) -> Iterator[IO[str]]:
    """Open the file of the scores, written atomically, or standard output."""
    with nullcontext(standard_output()) if path == "-" else atomic_write(path, "w") as file:
        yield file


def score_lines(model: Any, *, labels: bool) -> Callable[[Any, Any], str]:
    """Return a function of rows and queries that formats their scores, or their labels."""
    return lambda X, qid: lines_of(model_scores(model, X, qid, labels=labels))


def lines_of(scores: Any) -> str:
    """Format one score per line, as the shortest text of the same number.

    Examples
    --------
    >>> lines_of([0.1, 2.0])
    '0.1\\n2.0\\n'
    """
    values = scores.tolist() if hasattr(scores, "tolist") else scores
    return "".join(f"{value}\n" if isinstance(value, str) else f"{value!r}\n" for value in values)
