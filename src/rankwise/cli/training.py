"""Fits of `train` and `tune`: choice of alpha, fit, checkpoints."""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.cli.checkpoint import RunCheckpoint, fingerprint, leftover
from rankwise.cli.dask import read_partitions
from rankwise.cli.data import Data, read_data
from rankwise.cli.interruption import InterruptedRunError, Interruption
from rankwise.cli.mixed import rows_like, take_columns
from rankwise.cli.models import Recipe, fit_ranker, fit_scaled, scales_by_query, with_steps
from rankwise.cli.output import Console, Progress, gap_progress, rounds_in_words, time_left
from rankwise.cli.training_report import TreeChoice
from rankwise.core.text import plural
from rankwise.model_selection.search import Choice
from rankwise.solvers import InterruptedWarning


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
    """

    def __init__(self, recipe: Recipe, data: Data, console: Console, checkpoint: RunCheckpoint | None):
        self.recipe, self.data, self.console, self.checkpoint = recipe, data, console, checkpoint
        self.resumed = False

    def search(self, options: argparse.Namespace, validation: Data | None, progress: Progress) -> Outcome:
        """Choose alpha or trees as the CV class of the method does, and fit.

        A scaler is fitted to all rows, as it is in a pipeline before a CV class.
        """
        return self._fitted(self.recipe.searching(options), validation, progress)

    def fit(self, chosen: dict[str, Any], validation: Data | None, progress: Progress) -> Outcome:
        """Fit to all rows with the given values, from the weights of a checkpoint if there are any."""
        return self._fitted(self.recipe.ranker(**chosen), validation, progress)

    def _fitted(self, ranker: Any, validation: Data | None, progress: Progress) -> Outcome:
        scaler = self.recipe.scaler(self.data.X)
        X, more = fit_scaled(scaler, self.data.X, self.data.qid), {}
        if validation is not None:
            more["validation"] = (scaled_alike(scaler, validation), validation.y, validation.qid)
        start, watch = perf_counter(), Watch(progress, self.console, self.checkpoint, ranker)
        takes_callback = "callback" in ranker.get_params()
        if takes_callback:
            ranker.set_params(callback=watch)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit_ranker(ranker, X, self.data.y, self.data.qid, **more)
        if takes_callback:
            ranker.set_params(callback=None)
        progress.close()
        return Outcome(
            with_steps(self.data.encoder, scaler, ranker),
            ranker,
            getattr(ranker, "alpha_", getattr(ranker, "alpha", None)),
            self._converged(caught),
            int(getattr(ranker, "n_iter_", 1)) + watch.iterations_before,
            perf_counter() - start + watch.seconds_before,
            self.resumed,
            choice_of(ranker, watch),
        )

    def _converged(self, caught: list[warnings.WarningMessage]) -> bool:
        """Print the warnings of a fit, except of its interruption; return whether it converged."""
        kinds = [warning.category for warning in caught]
        for warning in caught:
            if issubclass(warning.category, UserWarning) and warning.category is not InterruptedWarning:
                self.console.note(f"warning: {warning.message}")
        return not any(issubclass(kind, ConvergenceWarning) for kind in kinds)


class Watch:
    """The callback of a fit: it draws the progress bar and writes checkpoints."""

    def __init__(self, progress: Progress, console: Console, checkpoint: RunCheckpoint | None, ranker: Any):
        self.progress, self.console, self.checkpoint, self.ranker = progress, console, checkpoint, ranker
        if checkpoint is not None:
            checkpoint.note = self._note
        self.iterations_before = 0 if checkpoint is None else checkpoint.saved.iteration
        self.seconds_before = 0.0 if checkpoint is None else checkpoint.saved.seconds
        self._first_gap: float | None = None
        self.compared: Any = None  # the search, once it is over
        self._searched = ""  # the candidate of a search, in words
        self._share, self._start = 0.0, perf_counter()

    def resumed(self, progress: Any) -> None:
        """Continue a search from the checkpoint."""
        if self.checkpoint is not None:
            self.checkpoint.resumed(progress)
        self._show_candidate(progress)

    def searched(self, progress: Any) -> None:
        """Show and keep what a search has found."""
        self._show_candidate(progress)
        if self.checkpoint is not None:
            self.checkpoint.searched(progress)

    def starting_weights(self, n_weights: int) -> Any:
        """Return the weights of the checkpoint, if there are as many."""
        return None if self.checkpoint is None else self.checkpoint.starting_weights(n_weights)

    def __call__(self, state: Any) -> None:
        """Record an iteration."""
        gap = float(np.max(state.gap))
        rounds = rounds_in_words(getattr(self.ranker, "rounds_", None))
        if self._searched:
            text = f"{self._searched}, iteration {state.iteration}, gap {gap:.2e} of {state.goal:.0e}"
            self.progress.show(self._share, f"{text}{rounds}, {perf_counter() - self._start:.1f} s")
            return
        self._first_gap = gap if self._first_gap is None else self._first_gap
        iteration, seconds = self.iterations_before + state.iteration, self.seconds_before + state.seconds
        fraction = gap_progress(self._first_gap, gap, state.goal)
        left = time_left(fraction, state.seconds)
        self.progress.show(
            fraction,
            f"iteration {iteration}{rounds}, gap {gap:.2e} of {state.goal:.0e}, {seconds:.1f} s{left}",
        )
        if self.checkpoint is not None:
            self.checkpoint.record(state)
            if self.checkpoint.is_due(state):
                self.checkpoint.write()

    def _note(self, message: str) -> None:
        self.progress.close()
        self.console.note(message)

    def _show_candidate(self, progress: Any) -> None:
        number, n_values = len(progress.errors), len(progress.grid)
        self._share = number / n_values
        if progress.is_over:
            self.compared, self._searched = progress, ""
            return
        self._searched = f"candidate {min(number + 1, n_values)} of {n_values}"
        self.progress.show(self._share, f"{self._searched}, {perf_counter() - self._start:.1f} s")


def learn(options: argparse.Namespace, console: Console, recipe: Recipe, data: Data, tune: bool) -> Outcome:
    """Fit a model by the options of `train` and `tune`; an interruption writes a checkpoint."""
    without_queries(recipe, data, console)
    recipe = take_columns(recipe, data, options, console)
    alpha = getattr(options, "alpha", None)
    validation = validation_rows(options, recipe, data)
    checkpoint = make_checkpoint(options, recipe, data, alpha, tune)
    training = Training(recipe, data, console, checkpoint)
    training.resumed = take_up(checkpoint, options, console)
    with Interruption() as interruption, console.progress() as progress:
        try:
            if tune:
                outcome = training.search(options, validation, progress)
            else:
                outcome = training.fit({} if alpha is None else {recipe.tuned: alpha}, validation, progress)
        except KeyboardInterrupt:
            if interruption.number is None:
                raise
    if interruption.number is not None:
        raise InterruptedRunError(what_is_kept(checkpoint), interruption.number)
    return outcome


def choice_of(ranker: Any, watch: Watch) -> Choice | None:
    """Return the candidates that a fit has compared, and their errors; None if it has compared none."""
    if hasattr(ranker, "candidates_"):
        found = {"alphas": ranker.n_trees_, "errors": ranker.cv_errors_, "scoring": ranker.scoring_}
        is_size = any(ranker.candidates_)
        return TreeChoice(**found, candidates=ranker.candidates_) if is_size else Choice(**found)
    if watch.compared is None:
        return None
    choice = watch.compared.choice(ranker.scoring_)
    if np.ndim(getattr(ranker, "l1_ratio", 0.0)) > 0:  # the last search was that of the last ratio
        choice = Choice(ranker.alphas_, ranker.cv_errors_, ranker.scoring_)
    return replace(choice, one_standard_error=getattr(ranker, "one_standard_error", False))


def scaled_alike(scaler: Any, rows: Data) -> Any:
    """Return other rows as a fitted scaler scales them."""
    if scaler is None or scales_by_query(scaler):
        return fit_scaled(scaler, rows.X, rows.qid)
    return scaler.transform(rows.X)


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
    if recipe.ranker().learns_classes:
        rows.qid = None
    return rows


def without_queries(recipe: Recipe, data: Data, console: Console) -> None:
    """Remove the queries if the method compares all rows."""
    if data.qid is not None and recipe.ranker().learns_classes:
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


def what_is_kept(checkpoint: RunCheckpoint | None) -> str:
    """Write the last checkpoint and return a message about it."""
    if checkpoint is None or (checkpoint.saved.coef is None and not checkpoint.saved.n_compared):
        return "Interrupted before there was anything to save."
    checkpoint.write()
    saved = checkpoint.saved
    found = (
        f"{plural(saved.n_compared, 'candidate')} of the search"
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
