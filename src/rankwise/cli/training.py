"""Fits of `train` and `tune`: choice of alpha, fit, checkpoints."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.cli.checkpoint import RunCheckpoint, fingerprint, leftover
from rankwise.cli.dask import read_partitions
from rankwise.cli.data import Data, read_data
from rankwise.cli.interruption import InterruptedRunError, Interruption
from rankwise.cli.mixed import rows_like, take_columns
from rankwise.cli.models import Recipe, fit_ranker, takes_queries
from rankwise.cli.output import Console, Progress, gap_progress, sentence, time_left
from rankwise.cli.scaling import fit_scaled, scales_by_query, with_steps
from rankwise.cli.search_progress import SearchProgress, rounds_in_words
from rankwise.core.text import plural
from rankwise.core.threads import with_one_blas_thread

if TYPE_CHECKING:
    from rankwise.model_selection.search import AlphaSearch, Choice, Fold


@dataclass
class Outcome:
    """A fitted model and the course of its fit."""

    model: Any
    ranker: Any
    alpha: float | None
    converged: bool
    iterations: int
    seconds: float
    resumed: bool = False
    choice: Choice | None = None


class Training:
    """Fit a recipe to data.

    Parameters
    ----------
    recipe : Recipe
    data : Data
    console : Console
    checkpoint : RunCheckpoint or None
    validation : Data, optional
        Rows for the choice of alpha, in place of folds.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: Data,
        console: Console,
        checkpoint: RunCheckpoint | None,
        validation: Data | None = None,
    ):
        self.recipe = recipe
        self.data = data
        self.console = console
        self.checkpoint = checkpoint
        self.validation = validation
        self.resumed = False
        self.step = "fold"  # of the cross-validation, after which a checkpoint is written

    @with_one_blas_thread
    def choose(self, options: argparse.Namespace, progress: Progress) -> Choice:
        """Cross-validate over queries; folds or candidates of a checkpoint are not repeated."""
        from rankwise.cli.tree_choice import choose_trees, chooses_size
        from rankwise.model_selection.search import Choice

        if chooses_size(self.recipe):
            progress.show(0.0, "sizes of trees")
            return choose_trees(options, self.recipe, self.data, self.validation)
        search = self._search()
        tried, folds = search.candidates(options.alphas), self._folds(search, options)
        may_stop = options.alphas is None and not search.model.fits_all_at_once
        if may_stop:
            self.step = "alpha"
            choice = search.choice(tried, self._visits(search, tried, folds, progress), folds)
        else:
            choice = Choice(tried, self._fold_by_fold(search, tried, folds, progress), search.scoring)
        progress.close()
        if self.recipe.tuned == "alpha":
            choice.warn_at_edge()
        elif choice.best == 0:
            self.console.note("the largest number of trees is the best; consider raising --n-estimators.")
        return choice

    def _search(self) -> AlphaSearch:
        """Return the search over alpha."""
        from rankwise.estimators.inputs import read_rows
        from rankwise.model_selection.search import AlphaSearch
        from rankwise.model_selection.tunable import Problem

        ranker, rows = self.recipe.ranker(), self.data.X
        if on_dask := hasattr(rows, "blocks"):  # all rows are scaled at once, not those of each fold
            rows = fit_scaled(self.recipe.scaler(rows), rows, self.data.qid)
        if hasattr(self.data.qid, "blocks") and self.validation is None:
            return self._dask_search(ranker, rows)
        X = read_rows(ranker, rows)
        if found := getattr(ranker, "categories_", None):  # folds hold categories as numbers
            ranker.set_params(categorical_features=sorted(found))
        outputs = ranker.outputs(self.data.y, self.data.qid)
        scoring, labels = self._criterion(ranker)
        scaler = None if on_dask else self.recipe.scaler(X)
        if scales_by_query(scaler):  # folds consist of whole queries, so all rows are scaled at once
            scaler, X = None, fit_scaled(scaler, X, self.data.qid)
        return AlphaSearch(ranker, Problem(X, outputs), scaler, scoring, labels)

    def _dask_search(self, ranker: Any, rows: Any) -> AlphaSearch:
        """Return the search over alpha for labels on the workers of Dask, which stay there if possible."""
        from rankwise.model_selection.remote_search import PAIR_MEASURES, RemoteSearch
        from rankwise.model_selection.search import AlphaSearch

        scoring, _ = self._criterion(ranker)
        may_stay = scoring.key in PAIR_MEASURES
        problem = ranker.problem(rows, self.data.y, self.data.qid, None, may_stay)
        kind = RemoteSearch if problem.preferences.stays_with_rows else AlphaSearch
        return kind(ranker, problem, None, scoring)

    def _criterion(self, ranker: Any) -> tuple[Any, Any]:
        """Return the criterion for alpha, and the labels if it compares these; set the ranker's classes."""
        from rankwise.model_selection.scoring import as_scoring

        if self.recipe.scoring != "distance":
            return as_scoring(self.recipe.scoring, self.recipe.undefined), None
        from rankwise.calibration.thresholds import ordered_classes
        from rankwise.estimators.ordinal_svm_cv import distance_scoring

        ranker.classes_ = ordered_classes(self.data.y, ranker.categories, None)[0]
        return distance_scoring(self.recipe.ranker()), self.data.y

    def _folds(self, search: AlphaSearch, options: argparse.Namespace) -> list[Fold]:
        """Return folds of queries, or the validation rows."""
        from rankwise.estimators.inputs import read_held_out
        from rankwise.model_selection.search import Validation
        from rankwise.preferences import as_preferences

        if self.validation is None:
            return search.folds(options.folds, seed=options.seed)
        rows = self.validation
        model: Any = search.model
        X = read_held_out(model, rows.X)
        scaler = self.recipe.scaler(X)
        if scales_by_query(scaler):
            X = fit_scaled(scaler, X, rows.qid)
        outputs = [as_preferences(output) for output in search.model.outputs(rows.y, rows.qid)]
        outputs[0].require_pairs()
        return [Validation(X, outputs, None if search.y is None else rows.y)]

    def _visits(
        self, search: AlphaSearch, tried: Any, folds: list[Fold], progress: Progress
    ) -> Iterator[Any]:
        """Yield the errors of all folds for one candidate after the other."""
        errors = self._saved_errors()
        yield from map(np.array, list(errors))
        visits = search.visits(tried[len(errors) :], folds)
        shown = SearchProgress(progress, search.model, getattr(search.problem.X, "log", None))
        shown.begin(len(errors) / len(tried))
        for number in range(len(errors), len(tried)):
            shown.step(number / len(tried), f"alpha {number + 1} of {len(tried)}")
            found = next(visits)
            self._save(errors, found)
            yield found

    def _fold_by_fold(self, search: AlphaSearch, tried: Any, folds: list[Fold], progress: Progress) -> Any:
        """Return the errors of all candidates: shape (n_alphas, n_folds)."""
        errors = self._saved_errors()
        shown = SearchProgress(progress, search.model, getattr(search.problem.X, "log", None))
        for fold in search.errors(tried, self._drawn(folds, len(errors), shown)):
            self._save(errors, fold[:, 0])
        return np.array(errors).T

    def _saved_errors(self) -> list[list[float]]:
        return [] if self.checkpoint is None else list(self.checkpoint.state.fold_errors)

    def _save(self, errors: list[list[float]], found: Any) -> None:
        """Append the errors of a fold or of a candidate, and keep all of them."""
        errors.append(found.tolist())
        if self.checkpoint is not None:
            self.checkpoint.state.fold_errors = errors
            self.checkpoint.write()

    def _drawn(self, folds: list[Fold], done: int, shown: SearchProgress) -> Iterator[Fold]:
        """Yield the remaining folds, with progress by fold and iteration."""
        shown.begin(done / len(folds))
        for number in range(done, len(folds)):
            if shown.folds_share_passes:
                shown.step(done / len(folds), f"{len(folds) - done} folds at once")
            else:
                shown.step(number / len(folds), f"fold {number + 1} of {len(folds)}")
            yield folds[number]

    def fit(self, chosen: dict[str, Any], progress: Progress) -> Outcome:
        """Fit to all rows with the chosen values, from the weights of a checkpoint if there are any."""
        start = perf_counter()
        ranker = self.recipe.ranker(**chosen)
        watch = self._watch(ranker, progress)
        scaler = self.recipe.scaler(self.data.X)
        X = fit_scaled(scaler, self.data.X, self.data.qid)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            fit_ranker(ranker, X, self.data.y, self.data.qid)
        watch.leave(ranker)
        progress.close()
        return Outcome(
            with_steps(self.data.encoder, scaler, ranker),
            ranker,
            getattr(ranker, "alpha_", getattr(ranker, "alpha", None)),
            self._converged([caution for caution in caught if issubclass(caution.category, UserWarning)]),
            int(getattr(ranker, "n_iter_", 1)) + watch.iterations_before,
            perf_counter() - start + watch.seconds_before,
            self.resumed,
        )

    def _converged(self, caught: list[warnings.WarningMessage]) -> bool:
        """Print the warnings of a fit, except of its interruption; return whether it converged."""
        if not caught:
            return True
        from sklearn.exceptions import ConvergenceWarning

        from rankwise.solvers import InterruptedWarning

        for warning in caught:
            if not issubclass(warning.category, InterruptedWarning):
                self.console.note(f"warning: {warning.message}")
        return not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)

    def _watch(self, ranker: Any, progress: Progress) -> Watch:
        """Attach a callback to the ranker, which starts it from the checkpoint."""
        parameters = ranker.get_params()
        resumable = {"callback", "warm_start"} <= set(parameters)
        watch = Watch(progress, self.console, self.checkpoint if resumable else None, ranker)
        if "callback" in parameters:
            ranker.set_params(callback=watch)
        return watch


class Watch:
    """The callback of a fit: it draws the progress bar and writes checkpoints."""

    def __init__(self, progress: Progress, console: Console, checkpoint: RunCheckpoint | None, ranker: Any):
        self.progress = progress
        self.ranker = ranker
        self.console = console
        self.checkpoint = checkpoint
        self.iterations_before = 0 if checkpoint is None else checkpoint.state.iteration
        self.seconds_before = 0.0 if checkpoint is None else checkpoint.state.seconds
        self._first_gap: float | None = None

    def leave(self, ranker: Any) -> None:
        """Remove the callback."""
        if "callback" in ranker.get_params():
            ranker.set_params(callback=None)

    def starting_weights(self, n_weights: int) -> Any:
        """Return the weights of the checkpoint, if there are as many."""
        coef = None if self.checkpoint is None else self.checkpoint.state.coef
        return None if coef is None or coef.shape != (n_weights,) else coef

    def __call__(self, state: Any) -> None:
        """Record an iteration."""
        gap, seconds = float(np.max(state.gap)), self.seconds_before + state.seconds
        self._first_gap = gap if self._first_gap is None else self._first_gap
        iteration = self.iterations_before + state.iteration
        fraction = gap_progress(self._first_gap, gap, state.goal)
        left = time_left(fraction, state.seconds)
        rounds = rounds_in_words(getattr(self.ranker, "rounds_", None))
        self.progress.show(
            fraction,
            f"iteration {iteration}{rounds}, gap {gap:.2e} of {state.goal:.0e}, {seconds:.1f} s{left}",
        )
        if self.checkpoint is not None:
            saved = self.checkpoint.state
            saved.coef, saved.iteration, saved.seconds = state.coef, iteration, seconds
            saved.objective, saved.gap = float(np.max(state.objective)), gap
            if self.checkpoint.due():
                self._write(self.checkpoint)

    def _write(self, checkpoint: RunCheckpoint) -> None:
        """Write the checkpoint; an error, such as a full disk, does not end the training."""
        try:
            checkpoint.write()
        except OSError as error:
            self.progress.close()
            self.console.note(f"warning: the checkpoint could not be written. {sentence(error)}")
            checkpoint.put_off()


def learn(options: argparse.Namespace, console: Console, recipe: Recipe, data: Data, tune: bool) -> Outcome:
    """Fit a model by the options of `train` and `tune`; an interruption writes a checkpoint."""
    without_queries(recipe, data, console)
    recipe = take_columns(recipe, data, options)
    alpha = getattr(options, "alpha", None)
    validation = validation_rows(options, recipe, data) if tune else None
    checkpoint = make_checkpoint(options, recipe, data, alpha, tune)
    training = Training(recipe, data, console, checkpoint, validation)
    training.resumed = take_up(checkpoint, options, console)
    with Interruption() as interruption, console.progress() as progress:
        try:
            choice = training.choose(options, progress) if tune else None
            given = {} if alpha is None else {recipe.tuned: alpha}
            chosen = given if choice is None else chosen_parameters(choice, recipe)
            outcome = training.fit(chosen, progress)
            outcome.choice = choice
        except KeyboardInterrupt:
            if interruption.number is None:
                raise
    if interruption.number is not None:
        raise InterruptedRunError(what_is_kept(checkpoint, training.step), interruption.number)
    return outcome


def chosen_parameters(choice: Choice, recipe: Recipe) -> dict[str, Any]:
    """Return the parameters of the best candidate; a number of trees is an integer."""
    if hasattr(choice, "parameters"):
        return dict(choice.parameters)
    return {recipe.tuned: choice.alpha if recipe.tuned == "alpha" else int(choice.alpha)}


def choose(options: argparse.Namespace, console: Console, recipe: Recipe, data: Data) -> Choice:
    """Cross-validate without a final fit."""
    without_queries(recipe, data, console)
    recipe = take_columns(recipe, data, options)
    training = Training(recipe, data, console, None, validation_rows(options, recipe, data))
    with Interruption() as interruption, console.progress() as progress:
        try:
            return training.choose(options, progress)
        except KeyboardInterrupt:
            raise InterruptedRunError(what_is_kept(None), interruption.number) from None


def validation_rows(options: argparse.Namespace, recipe: Recipe, data: Data) -> Data | None:
    """Read the rows of --valid like the training rows."""
    if options.valid is None:
        return None
    given = {"data": options.valid, "features": data.feature_names or options.features}
    given["as_text"] = data.kinds is not None
    if getattr(options, "dask", None) is not None:
        return read_partitions(argparse.Namespace(**(vars(options) | given)))
    rows = read_data(argparse.Namespace(**(vars(options) | given)), known=data.X.shape[1])
    rows.X = rows_like(data, rows)
    if data.encoder is not None:
        rows.X = data.encoder.transform(rows.X)
    if not takes_queries(recipe.ranker()):
        rows.qid = None
    return rows


def without_queries(recipe: Recipe, data: Data, console: Console) -> None:
    """Remove the queries if the method compares all rows."""
    if data.qid is not None and not takes_queries(recipe.ranker()):
        console.note(f"{recipe.method} compares all rows; the queries of the data are not used.")
        data.qid = None


def make_checkpoint(
    options: argparse.Namespace, recipe: Recipe, data: Data, alpha: float | None, tune: bool
) -> RunCheckpoint | None:
    """Return the checkpoint beside the model, None without an output file."""
    if options.output is None:
        return None
    settings: dict[str, Any] = {"method": recipe.method, "scale": recipe.scale, "alpha": alpha}
    if tune:
        settings |= {"alphas": options.alphas, "folds": options.folds, "seed": options.seed}
        settings |= {"scoring": recipe.scoring, "undefined": recipe.undefined, "valid": options.valid}
    mark = fingerprint(data, settings | recipe.parameters)
    return RunCheckpoint(options.output, mark, options.checkpoint_every)


def take_up(checkpoint: RunCheckpoint | None, options: argparse.Namespace, console: Console) -> bool:
    """Load the checkpoint with --resume; return whether there was one."""
    if checkpoint is None:
        return False
    if not options.resume:
        if leftover(options.output):
            console.note(
                f"found a checkpoint of an interrupted run, {checkpoint.path}; use --resume to continue it."
            )
        return False
    if not checkpoint.load():
        console.note(f"there is no checkpoint {checkpoint.path}; starting from the beginning.")
        return False
    return True


def what_is_kept(checkpoint: RunCheckpoint | None, step: str = "fold") -> str:
    """Write the last checkpoint and return a message about it."""
    if checkpoint is None or (checkpoint.state.coef is None and not checkpoint.state.fold_errors):
        return "Interrupted before there was anything to save."
    checkpoint.write()
    saved = checkpoint.state
    found = (
        f"{plural(len(saved.fold_errors), step)} of the cross-validation"
        if saved.coef is None
        else f"iteration {saved.iteration} (objective {saved.objective:.6g}, gap {saved.gap:.2g})"
    )
    return f"Interrupted; {checkpoint.path} has {found}. Use --resume to continue."


def check_output(path: str | None) -> None:
    """Refuse an output that cannot be written, before the work."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"The folder {folder!r} of the output does not exist.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"The output {path!r} is a folder; it must be a file.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"The folder {folder!r} of the output is not writable.")


def require_rows(data: Data) -> None:
    """Refuse data without rows."""
    if len(data.y) == 0:
        raise ValueError("The data has no rows.")
