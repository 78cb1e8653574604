"""What boosted trees do once they are grown: scores, explanations, columns and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import check_count, check_positive
from rankwise.core.stored import Array, Declaration, Numbers, Value, are_categories
from rankwise.core.threads import is_forked, openmp_threads
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.frames import one_row, validated_rows
from rankwise.data.scores import canonical_csr
from rankwise.estimators import tree_text
from rankwise.estimators.base import BaseRanker, logger
from rankwise.estimators.pair_probability import PairProbability
from rankwise.estimators.tree_growth import (
    KEEPING_COLUMNS,
    REPRODUCIBLE,
    Grower,
    check_codes,
    check_not_zero,
    import_lightgbm,
)
from rankwise.losses import OBJECTIVES, formula_of, has_log_odds, loss_class
from rankwise.model_selection.scoring import Scoring, as_scoring
from rankwise.model_selection.tunable import Fit

# Parameters of the growth of trees, with their names in LightGBM.
GROWTH = (
    "learning_rate",
    "num_leaves",
    "max_depth",
    "min_child_samples",
    "subsample",
    "colsample_bytree",
    "colsample_bynode",
    "reg_lambda",
)
# The default rows per leaf: fewer if there are few rows.
FEW_ROWS, FEW_IN_LEAF, MANY_IN_LEAF = 500, 10, 20
# Parameters of LightGBM that BoostedRanker sets.
OWN = ("objective", "metric", "num_class", "linear_tree", "data", "valid")


@dataclass(frozen=True)
class Trees:
    """A sum of trees, in the text of LightGBM."""

    trees_: str

    stored: ClassVar[Mapping[str, Declaration]] = {"trees_": Value((str,), required=True)}

    def conflicts(self, n_features: int) -> Iterator[str]:
        """Refuse trees that rows could not be scored with; the error has the reason."""
        tree_text.check(self.trees_, n_features)
        return iter(())


class BaseBoostedRanker(PairProbability, BaseRanker):
    """A sum of trees with a pairwise loss."""

    tuned = "n_estimators"
    takes_tables = True
    functions = (Trees,)
    stored: ClassVar = {
        "categories_": Value((dict,), check=are_categories, required=True),
        "feature_importances_": Array(("features",), required=True),
        "n_iter_": Value((int,), low=0, required=True),
        "candidates_": Value((list,)),
        "best_params_": Value((dict,)),
        "n_trees_": Numbers(),
        "validation_errors_": Numbers(),
    }

    loss: str
    n_estimators: int | None
    learning_rate: float
    early_stopping_rounds: int
    categorical_features: Any
    lightgbm_parameters: dict[str, Any] | None
    pair_weight: str | None
    scoring: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave LightGBM's own object out: it is made from the trees."""
        return {name: value for name, value in super().__getstate__().items() if name != "_booster"}

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return f"{formula_of(self.loss)}, f a sum of trees"

    def predict(self, X: Any) -> FloatVector:
        """Return the score of each row; within a query, sort by it.

        After a fit with `init_score` it is what the trees add to that, and the sum of both is to sort by.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        scores : array of shape (n_rows,)
        """
        check_is_fitted(self)
        return np.asarray(
            self._booster.predict(self._rows(X), num_threads=openmp_threads(self.n_jobs)), np.float64
        )

    def explain_pair(self, a: ArrayLike, b: ArrayLike) -> FloatVector:
        """Return each feature's part in f(a) - f(b); the parts add up to the difference of the scores.

        They are differences of Shapley values (Lundberg et al. 2018), as LightGBM computes them for trees.

        Parameters
        ----------
        a, b : arrays of shape (n_features,), or frames of one row
            Two rows.
        """
        first, second = (self.contributions(one_row(row, name)) for row, name in ((a, "a"), (b, "b")))
        return (first - second)[0]

    def contributions(self, X: Any) -> FloatVector:
        """Return each feature's part in the score of each row, up to a constant: shape (n_rows, n_features).

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        options = {"pred_contrib": True, "num_threads": openmp_threads(self.n_jobs)}
        parts = self._booster.predict(self._rows(X), **options)
        parts = parts.toarray() if hasattr(parts, "toarray") else parts
        return np.asarray(parts, np.float64)[:, :-1]

    def staged_predict(self, X: Any) -> Iterator[FloatVector]:
        """Yield the scores of the rows after 1, 2, ... trees; the last are those of `predict`.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Yields
        ------
        scores : array of shape (n_rows,)
        """
        check_is_fitted(self)
        rows, options = self._rows(X), {"num_threads": openmp_threads(self.n_jobs)}
        return self._stages(rows, options)

    def _stages(self, rows: Any, options: dict[str, Any]) -> Iterator[FloatVector]:
        scores = np.zeros(rows.shape[0])
        for k in range(self.n_iter_):
            tree = self._booster.predict(rows, start_iteration=k, num_iteration=1, **options)
            scores = scores + tree
            yield scores

    def scores_of_first(self, X: Any, counts: list[int]) -> FloatArray:
        """Return the scores by the first trees alone, for each number of them: shape (n_counts, n_rows)."""
        rows, options = self._rows(X), {"num_threads": openmp_threads(self.n_jobs)}
        return np.array([self._booster.predict(rows, num_iteration=count, **options) for count in counts])

    @cached_property
    def _booster(self) -> Any:
        """LightGBM's object for the trees, which are checked first: they may come from a file."""
        tree_text.check(self.trees_, self.n_features_in_)
        lightgbm = import_lightgbm()
        if is_forked():  # LightGBM reads trees with as many threads as it had last
            lightgbm.Dataset(np.zeros((1, 1)), params={"num_threads": 1, "verbose": -1}).construct()
        return lightgbm.Booster(model_str=self.trees_)

    def _check_parameters(self) -> None:
        loss_class(self.loss, OBJECTIVES)
        if self.n_estimators is not None:
            check_count("n_estimators", self.n_estimators)
        check_positive("learning_rate", self.learning_rate)
        check_count("early_stopping_rounds", self.early_stopping_rounds)
        taken = sorted(set(OWN) & set(self.lightgbm_parameters or {}))
        if taken:
            raise ValueError(f"lightgbm_parameters must not hold {taken[0]!r}, which BoostedRanker sets.")

    def _criterion(self) -> Scoring:
        """Return the measure of held-out rows."""
        criterion = as_scoring("error" if self.scoring is None else self.scoring)
        if criterion.error is None:
            raise ValueError(
                f"scoring must be the name of a measure, such as 'ndcg@10', as {type(self).__name__} "
                f"evaluates it after each tree; got {self.scoring!r}."
            )
        if criterion.key == "log_loss" and not has_log_odds(self.loss):
            raise ValueError(
                f"scoring='log_loss' needs loss='logistic', whose scores are log odds; it is {self.loss!r}."
            )
        return criterion

    def _seed(self) -> int:
        """Return the seed of a fit: the same for each, unless `random_state` is a generator."""
        given = 0 if self.random_state is None else self.random_state
        return int(check_random_state(given).randint(2**31 - 1))

    def _grower(self, X: Any, seed: int) -> Grower:
        """Return how trees grow from these rows, which are checked."""
        places = self._categorical_places()
        check_codes(X, places)
        check_not_zero(X)
        return Grower(
            self.loss,
            self.average,
            self._parameters(X.shape[0], seed),
            places,
            self._criterion(),
            openmp_threads(self.n_jobs),
        )

    def _parameters(self, n_rows: int, seed: int, **changes: Any) -> dict[str, Any]:
        """Return LightGBM's parameters; changes replace those of the model."""
        grown = {name: getattr(self, name) for name in GROWTH} | changes
        if grown["min_child_samples"] is None:
            grown["min_child_samples"] = FEW_IN_LEAF if n_rows < FEW_ROWS else MANY_IN_LEAF
        return {
            "metric": "None",
            **grown,
            "subsample_freq": int(grown["subsample"] < 1.0),
            "num_threads": openmp_threads(self.n_jobs),
            "seed": seed,
            "verbose": -1,
            **REPRODUCIBLE,
            **KEEPING_COLUMNS,
            **(self.lightgbm_parameters or {}),
        }

    def _keep(self, booster: Any, n_trees: int, grower: Grower, n_rows: int) -> None:
        """Keep the first trees of LightGBM's object as those of the model."""
        self.__dict__.pop("_booster", None)  # of a previous fit
        text = booster.model_to_string(num_iteration=max(n_trees, 1))
        self.store(Fit(Trees(tree_text.reduced(text, self.n_features_in_))))
        self.n_iter_ = self._booster.num_trees()
        self.feature_importances_ = self._importances()
        if not self.feature_importances_.any():
            logger.warning(
                "No tree has a split, so all scores are equal: a leaf needs min_child_samples=%d rows, and "
                "there are %d.",
                grower.parameters["min_child_samples"],
                n_rows,
            )

    def _goes_on(self) -> bool:
        """Return whether a fit adds trees to those of the last one."""
        return False

    def _rows(self, X: Any) -> Any:
        return self.validated(X, reset=False)

    def validated(self, X: Any, reset: bool) -> Any:
        """Check rows; `reset` remembers their columns, unless trees are added to those of the last fit."""
        X = validated_rows(self, X, reset and not self._goes_on(), accept_sparse="csr")
        # LightGBM knows no sparse arrays, and of an entry that is stored in parts it takes one part.
        return sp.csr_matrix(canonical_csr(X)) if sp.issparse(X) else X

    def _categorical_places(self) -> list[int]:
        """Return the places of categorical columns, those of the frame and those that are named."""
        names = list(getattr(self, "feature_names_in_", ()))
        given = [] if self.categorical_features is None else list(self.categorical_features)
        places = [names.index(entry) if entry in names else entry for entry in given]
        for entry in places:
            if not (isinstance(entry, int | np.integer) and 0 <= entry < self.n_features_in_):
                raise ValueError(f"categorical_features names {entry!r}, which is no column of X.")
        return sorted({*map(int, places), *self.categories_})

    def _importances(self) -> FloatVector:
        gain = self._booster.feature_importance("gain")
        return np.asarray(gain / (gain.sum() or 1.0), np.float64)
