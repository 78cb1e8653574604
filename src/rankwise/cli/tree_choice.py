"""The choice of the size and the number of boosted trees in `tune` and `train --tune`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

from rankwise.cli.data import Data
from rankwise.cli.models import Recipe
from rankwise.cli.scaling import fit_scaled, scales_by_query
from rankwise.model_selection.scoring import as_scoring
from rankwise.model_selection.search import Choice


@dataclass
class TreeChoice(Choice):
    """Candidates for the size of trees; `alphas` has the best number of trees of each."""

    candidates: list[dict[str, Any]] = field(default_factory=list)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the best candidate."""
        return self.candidates[self.best] | {"n_estimators": int(self.alpha)}


def chooses_size(recipe: Recipe) -> bool:
    """Return whether a search compares sizes of trees: with a given number of trees, it compares numbers."""
    return recipe.method == "boosted" and "n_estimators" not in recipe.parameters


def choose_trees(
    options: argparse.Namespace, recipe: Recipe, data: Data, validation: Data | None
) -> TreeChoice:
    """Cross-validate as `BoostedRankerCV` does; the scaler of features is that of all rows."""
    from rankwise.estimators import BoostedRankerCV

    known = BoostedRankerCV().get_params(deep=False)
    shared = {name: value for name, value in recipe.parameters.items() if name in known}
    scoring = as_scoring(recipe.scoring, recipe.undefined)
    search: Any = BoostedRankerCV(**shared | {"scoring": scoring, "cv": options.folds})
    scaler = recipe.scaler(data.X)
    rows = fit_scaled(scaler, data.X, data.qid)
    held_out = None
    if validation is not None:
        held_out = (_scaled_alike(scaler, validation), validation.y, validation.qid)
    search.fit(rows, data.y, qid=data.qid, validation=held_out)
    return TreeChoice(search.n_trees_, search.cv_errors_, search.scoring_, search.candidates_)


def _scaled_alike(scaler: Any, rows: Data) -> Any:
    """Return other rows as a fitted scaler scales them."""
    if scaler is None or scales_by_query(scaler):
        return fit_scaled(scaler, rows.X, rows.qid)
    return scaler.transform(rows.X)


def candidate_text(candidate: dict[str, Any]) -> str:
    """Return a candidate in words.

    Examples
    --------
    >>> candidate_text({"num_leaves": 15, "min_child_samples": 5})
    'num leaves 15, min child samples 5'
    """
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in candidate.items())
