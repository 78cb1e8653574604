"""The names that completion offers of an estimator."""

from __future__ import annotations

from typing import Any

# What searches, the shell, model files and Dask ask of an estimator; users need none of it.
INTERNAL = frozenset(
    [
        "check_parameters",
        "command",
        "conflicts",
        "counts_of_rows",
        "default_folds",
        "default_scoring",
        "finish",
        "fits",
        "fits_all_at_once",
        "fold_descents",
        "fold_equations",
        "formula",
        "function",
        "functions",
        "grid",
        "has_certified_path",
        "labels_may_stay",
        "learns_classes",
        "may_be_unpenalised",
        "mean_loss",
        "outputs",
        "place_boundaries",
        "placed",
        "plain",
        "problem",
        "scores_of_first",
        "searching",
        "set_function",
        "space",
        "store",
        "stored",
        "takes_backends",
        "takes_margins",
        "takes_tables",
        "terms",
        "tuned",
        "validated",
        "with_alpha",
    ]
)
# What estimators have as an attribute of the class if it is no parameter of theirs.
FIXED = frozenset(["average", "l1_ratio", "one_standard_error", "penalty_weights", "pooled"])


class Completion:
    """Complete parameters, methods and results."""

    def __dir__(self: Any) -> list[str]:
        """Return the names that users need."""
        names = set(object.__dir__(self)) - INTERNAL - (FIXED - self.get_params(deep=False).keys())
        return sorted(name for name in names if hasattr(self, name))
