"""`svm_rank_learn` and `svm_rank_classify`: SVMrank's commands, with its options, output and model files.

SVMrank minimises 1/2 ||w||^2 + c xi, where xi is 1/n times the sum over its n queries of the hinge losses of
each query's pairs (`-l 1`) or of their mean (`-l 2`). With N pairs in all, R queries with pairs and the mean
losses of `RankSVM`, that is c N / n (or c R / n) times the objective of `RankSVM` with

    alpha = n / (2 c N)  and  average="pairs"      (-l 1),
    alpha = n / (2 c R)  and  average="queries"    (-l 2),

and the tolerance -e of xi is a gap of e (`-l 1`, where SVMrank itself multiplies it by N / n) or e n / R
(`-l 2`). Unlike `tol`, it is not relative to the attainable improvement.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from rankwise.cli.arguments import UsageError
from rankwise.cli.data import dense_if_smaller, of_width
from rankwise.cli.files import check_files
from rankwise.cli.interruption import InterruptedRunError, Interruption, exit_code
from rankwise.cli.models import load_any_model, ranker_class, save_any_model
from rankwise.cli.output import Console, complain, leave_output, sentence, standard_output
from rankwise.cli.scores import model_scores
from rankwise.cli.svm_rank_options import CLASSIFY, LEARN, Options, Program, RefusedError, parse, tell
from rankwise.cli.training import check_output
from rankwise.core.pipelines import last_step
from rankwise.core.threads import available_cores
from rankwise.evaluation.pair_measures import ranking_error
from rankwise.io.atomic import atomic_write
from rankwise.io.svmlight import load_svmlight
from rankwise.io.svmrank import svmrank_text
from rankwise.preferences import NoPairsError, Preferences

KERNELS = {0: "linear", 1: "poly", 2: "rbf", 3: "sigmoid"}


def learn(arguments: Sequence[str] | None = None) -> int:
    """Run `svm_rank_learn` and return its exit code: 0 done, 1 failed, 2 wrong usage."""
    return _run(LEARN, _learn, arguments)


def classify(arguments: Sequence[str] | None = None) -> int:
    """Run `svm_rank_classify` and return its exit code: 0 done, 1 failed, 2 wrong usage."""
    return _run(CLASSIFY, _classify, arguments)


def _run(program: Program, work: Callable[[Options], None], arguments: Sequence[str] | None) -> int:
    try:
        options = parse(program, list(sys.argv[1:] if arguments is None else arguments))
        if options is None:
            print(program.help, end="")
            return 0
        *reads, output = options.files
        check_files(reads, [output], to_standard_output=program is CLASSIFY)
        work(options)
        print(end="", flush=True)  # without effect if standard output is closed
    except (RefusedError, UsageError) as refusal:
        complain(program.name, str(refusal))
        return 2
    except InterruptedRunError as interruption:
        complain(program.name, str(interruption))
        return interruption.exit_code
    except KeyboardInterrupt:
        complain(program.name, "Interrupted.")
        return exit_code(None)
    except BrokenPipeError:  # the reader of the scores has closed its end
        leave_output()
        return 1
    except (OSError, ValueError, ImportError, MemoryError) as error:
        complain(program.name, sentence(error))
        return 1
    return 0


@dataclass
class _Units:
    """The conversion between the numbers of SVMrank and of `RankSVM`."""

    n_queries: int
    n_pairs: int
    n_ranked: int  # queries with pairs
    c: float
    loss: int

    @property
    def slack(self) -> float:
        """SVMrank's xi for a mean loss of 1."""
        return (self.n_pairs if self.loss == 1 else self.n_ranked) / self.n_queries

    @property
    def alpha(self) -> float:
        return 1 / (2 * self.c * self.slack)

    def tol(self, epsilon: float) -> float:
        return epsilon if self.loss == 1 else epsilon / self.slack

    @property
    def average(self) -> str:
        return "pairs" if self.loss == 1 else "queries"

    @classmethod
    def of(cls, y: Any, qid: Any, c: float, loss: int) -> _Units:
        preferences = Preferences.from_scores(y, qid)
        preferences.require_pairs()
        n_queries = 1 if qid is None else len(np.unique(qid))
        n_ranked = int(np.count_nonzero(preferences.total_weight()))
        return cls(n_queries, preferences.n_pairs, n_ranked, c, loss)


def _learn(options: Options) -> None:
    check_output(options.files[1])
    say = options.say
    say(1, "Reading training examples...", end="")
    X, y, qid = _read(options.files[0], None)
    say(1, "done")
    units = _Units.of(y, qid, options["c"], options["l"])
    say(
        0,
        f"Training set properties: {X.shape[1]} features, {units.n_queries} rankings, {X.shape[0]} examples",
    )
    if units.loss == 1:
        eps = options["e"] * units.slack
        say(0, f"NOTE: Adjusted stopping criterion relative to maximum loss: eps={eps:.6f}")
    start = process_time()
    model = _fit(options, units, X, y, qid)
    _print_fit(options, units, model, process_time() - start)
    _write_model(options, model, X.shape[0])


def _fit(options: Options, units: _Units, X: Any, y: Any, qid: Any) -> Any:
    tol = units.tol(options["e"])

    def tell(state: Any) -> bool:
        k, gap = state.iteration, state.gap * units.slack
        options.say(1, f"Iter {k}: *(NumConst={k}, SV={k}, CEps={gap:.4f}, QPEps=0.0000)")
        return state.gap <= tol  # SVMrank's epsilon is not relative to the attainable improvement

    model = ranker_class("rank-svm")(
        units.alpha,
        average=units.average,
        tol=tol,
        max_iter=100_000,
        callback=tell,
        **_kernel(options),
    )
    with Interruption() as interruption, Console(quiet=options.verbosity < 1).warnings_as_notes():
        model.fit(X, y, qid=qid)
    if interruption.number is not None:
        raise InterruptedRunError("Interrupted; no model was written.", interruption.number)
    return model.set_params(callback=None)


def _is_linear(options: Options) -> bool:
    return KERNELS[options["t"]] == "linear"


def _kernel(options: Options) -> dict[str, Any]:
    if _is_linear(options):
        return {}
    kernel = KERNELS[options["t"]]
    if kernel == "rbf":
        return {"kernel": kernel, "gamma": options["g"]}
    return {"kernel": kernel, "gamma": options["s"], "coef0": options["r"], "degree": options["d"]}


def _print_fit(options: Options, units: _Units, model: Any, seconds: float) -> None:
    scale = units.c * units.slack
    primal, gap = scale * model.objective_, scale * model.gap_
    penalty = _squared_norm(model)
    slack = units.slack * (model.objective_ - model.alpha * penalty)
    vectors = 1 if hasattr(model, "coef_") else len(model.dual_coef_)
    for line in (
        f"Final epsilon on KKT-Conditions: {max(model.gap_ * units.slack, 0.0):.5f}",
        f"Upper bound on duality gap: {gap:.5f}",
        f"Dual objective value: dval={primal - gap:.5f}",
        f"Primal objective value: pval={primal:.5f}",
        f"Total number of constraints in final working set: {model.n_iter_} (of {model.n_iter_})",
        f"Number of iterations: {model.n_iter_}",
        f"Number of calls to 'find_most_violated_constraint': {model.n_iter_ * units.n_queries}",
        f"Number of SV: {vectors} ",
        f"Norm of weight vector: |w|={penalty**0.5:.5f}",
        f"Value of slack variable (on working set): xi={slack:.5f}",
        f"Value of slack variable (global): xi={slack:.5f}",
        f"Runtime in cpu-seconds: {seconds:.2f}",
    ):
        options.say(1, line)
    if hasattr(model, "coef_"):
        options.say(1, "Compacting linear model...done")


def _squared_norm(model: Any) -> float:
    """Return ||w||^2, or the squared norm of a kernel's function."""
    return float(model._weights @ model._weights)


def _write_model(options: Options, model: Any, n_rows: int) -> None:
    options.say(1, "Writing learned model...", end="")
    if hasattr(model, "coef_"):
        with atomic_write(options.files[1], "w") as file:
            file.write(svmrank_text(model.coef_, n_documents=n_rows))
    else:
        save_any_model(model, options.files[1])
    options.say(1, "done")


def _classify(options: Options) -> None:
    alone = options.files[2] == "-"  # scores on standard output, all other output on standard error
    check_output(None if alone else options.files[2])
    output = standard_output() if alone else sys.stdout
    with redirect_stdout(sys.stderr if alone else output):
        scores, y, qid, seconds = _scored(options)
        with nullcontext(output) if alone else atomic_write(options.files[2], "w") as file:
            file.writelines(f"{line}\n" for line in map(decimal, scores.tolist()))
        options.say(1, "done")
        options.say(1, f"Runtime (without IO) in cpu-seconds: {seconds:.2f}")
        for line in error_lines(_Errors.of(y, scores, qid), options.verbosity):
            tell(line)


def _scored(options: Options) -> tuple[Any, Any, Any, float]:
    """Return the scores, the labels, the queries and the time of scoring in seconds."""
    options.say(1, "Reading model...", end="")
    model = load_any_model(options.files[1])
    options.say(1, "done.")
    options.say(1, "Reading test examples...", end="")
    X, y, qid = _read(options.files[0], last_step(model).n_features_in_)
    options.say(1, "done.")
    options.say(1, "Classifying test examples...", end="")
    start = process_time()
    scores = model_scores(model, X)
    return scores, y, qid, process_time() - start


@dataclass
class _Errors:
    """The number and the fraction of swapped or tied pairs of each query."""

    swapped: Any
    fraction: Any

    @classmethod
    def of(cls, y: Any, scores: Any, qid: Any) -> _Errors:
        # SVMrank counts a query without pairs as correct.
        fraction = np.nan_to_num(ranking_error(y, scores, qid, ties="error", per_query=True))
        try:
            pairs = Preferences.from_scores(y, qid).total_weight()
        except NoPairsError:
            pairs = np.zeros(len(fraction))
        return cls(fraction * pairs, fraction)


def error_lines(errors: _Errors, verbosity: int) -> list[str]:
    """Return the statistics of a test set in the format of SVMrank."""
    n_queries, wrong = len(errors.fraction), int((errors.fraction > 0).sum())
    lines = []
    if verbosity >= 1:
        lines = [
            f"Average loss on test set: {errors.fraction.mean():.4f}",
            f"Zero/one-error on test set: {100 * wrong / n_queries:.2f}% ({n_queries - wrong} correct, "
            f"{wrong} incorrect, {n_queries} total)",
        ]
    return [
        *lines,
        f"Total Num Swappedpairs  : {errors.swapped.sum():6.0f}",
        f"Avg Swappedpairs Percent: {100 * errors.fraction.mean():6.2f}",
    ]


def decimal(score: float) -> str:
    """Format a score exactly, without an exponent, with at least 8 decimals as SVMrank does.

    Examples
    --------
    >>> decimal(0.5), decimal(1e-12)
    ('0.50000000', '0.000000000001')
    """
    return np.format_float_positional(score, min_digits=8)


def _read(path: str, n_features: int | None) -> tuple[Any, Any, Any]:
    """Read a file; features beyond those of a model are dropped, as in SVMrank."""
    read = load_svmlight(path, n_jobs=available_cores())
    if read.X.shape[0] == 0:
        raise ValueError(f"{path!r} has no examples.")
    return dense_if_smaller(of_width(read.X, n_features, tell=False)), read.y, read.qid


if __name__ == "__main__":  # python -m rankwise.cli.svm_rank learn ...
    PROGRAMS = {"learn": learn, "classify": classify}
    if sys.argv[1:2] and sys.argv[1] in PROGRAMS:
        sys.exit(PROGRAMS[sys.argv[1]](sys.argv[2:]))
    sys.exit("The first argument must be learn or classify.")
