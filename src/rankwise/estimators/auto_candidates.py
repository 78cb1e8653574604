"""The models that a search tries, from the simplest family to the most complex."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from rankwise.core.checks import as_codes, check_choice
from rankwise.data.columns import NUMBER
from rankwise.data.query_scaler import QueryScaler
from rankwise.data.table_encoder import TableEncoder
from rankwise.estimators import (
    BoostedRanker,
    BoostedRankerCV,
    CurveRanker,
    KernelRanker,
    RankLogistic,
    RankSVM,
)
from rankwise.estimators.auto_task import Task
from rankwise.estimators.tree_growth import import_lightgbm
from rankwise.model_selection.search import EdgeOfGridWarning

# From the simplest to the most complex.
FAMILIES = ("linear", "curves", "kernel", "trees")
OWN = "own"
# A curve per column, and a kernel of all columns, suit tables rather than long vectors.
MOST_CURVES, MOST_KERNEL_COLUMNS = 1000, 1000
# A hundred trees learn more with larger steps than a number that is chosen.
QUICK_TREES: dict[str, Any] = {"learning_rate": 0.15, "num_leaves": 31}
# How long it takes to choose the number of trees, and all of their parameters, in fits of 100 trees.
COST_OF_STOPPING, COST_OF_TUNING = 8.0, 150.0
# Trees of fewer entries are grown by one thread: others gain little, and wait for each other if busy.
FEW_ENTRIES = 1_000_000
# Rows by which it is decided whether features are scaled within queries already.
SEEN_ROWS = 2000


@dataclass(frozen=True)
class Candidate:
    """A model that chooses its own alpha, and the steps before it.

    Attributes
    ----------
    name : str
    family : str
        One of `FAMILIES`, or "own" for a model of the user, which is taken for more complex than all others.
    steps : tuple of transformers
    ranker : estimator
    is_last : bool
        Whether it takes long and waits until the others are done.
    cost : float
        How long its fit takes, relative to that of the first candidate of its family.
    """

    name: str
    family: str
    steps: tuple[Any, ...]
    ranker: Any
    is_last: bool = False
    cost: float = 1.0

    @property
    def complexity(self) -> int:
        """The place of the family, 0 for the simplest."""
        return (*FAMILIES, OWN).index(self.family)

    def fit(self, task: Task) -> Any:
        """Return a fitted model: a pipeline, or the ranker if there are no steps before it."""
        X, fitted = task.X, []
        for step in map(clone, self.steps):
            queries = {"qid": task.qid} if isinstance(step, QueryScaler) else {}
            X = step.fit_transform(X, **queries)
            fitted.append(step)
        with warnings.catch_warnings():
            # Their advice is for a user who sets the parameters of this estimator.
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker = clone(self.ranker).fit(X, task.y, **task.arguments(self.ranker))
        return make_pipeline(*fitted, ranker) if fitted else ranker


def candidates_for(task: Task, given: Sequence[Any] | None, seed: int, n_jobs: int | None) -> list[Candidate]:
    """Return the candidates that suit the rows, the simplest first: those of families, and models as given.

    Sparse rows have linear models and trees. Columns that are no plain numbers are encoded for linear models
    and kernels. If rows have queries and all columns are numbers, there are candidates with features scaled
    within queries.
    """
    families = FAMILIES if given is None else [one for one in given if isinstance(one, str)]
    for family in families:
        check_choice(family, "candidates", FAMILIES)
    own = [_own(one) for one in given or () if not isinstance(one, str)]
    is_sparse, encoder = sp.issparse(task.X), _encoder_of(task.X)
    n_columns = task.X.shape[1] if encoder is None else len(encoder.source_columns_)
    shared = {"random_state": seed, "n_jobs": n_jobs}
    scaled = (MaxAbsScaler() if is_sparse else StandardScaler(),)
    plain = scaled if encoder is None else (TableEncoder(), *scaled)
    found = [
        Candidate("linear", "linear", plain, RankSVM("auto", loss="squared_hinge")),
        Candidate("linear, logistic", "linear", plain, RankLogistic("auto")),
    ]
    if not is_sparse and n_columns <= MOST_CURVES:
        found.append(Candidate("curves", "curves", (), CurveRanker()))
    if not is_sparse and n_columns <= MOST_KERNEL_COLUMNS:
        found.append(Candidate("learned kernel", "kernel", (), KernelRanker()))
    if importlib.util.find_spec("lightgbm") is not None:
        import_lightgbm()  # now, so that the time of the first fit is that of a fit
        found += [
            Candidate("100 trees", "trees", (), BoostedRanker(n_estimators=100, **QUICK_TREES)),
            Candidate("trees", "trees", (), BoostedRanker(), cost=COST_OF_STOPPING),
            Candidate("trees, logistic", "trees", (), BoostedRanker("logistic"), cost=COST_OF_STOPPING),
            Candidate("trees, tuned", "trees", (), BoostedRankerCV(), is_last=True, cost=COST_OF_TUNING),
        ]
    if task.qid is not None and encoder is None and not is_sparse and not _is_scaled(task):
        found += [_within_queries(one) for one in found if not one.is_last]
    found = [one for one in found if one.family in families]
    for one in found:
        known = one.ranker.get_params()
        if one.family == "trees" and n_jobs is None and task.n_rows * n_columns < FEW_ENTRIES:
            shared = shared | {"n_jobs": 1}
        one.ranker.set_params(**{name: value for name, value in shared.items() if name in known})
    return sorted(found, key=lambda one: one.complexity) + own


def _own(given: Any) -> Candidate:
    """Return a candidate of the user: an estimator, or a name and an estimator."""
    name, model = given if isinstance(given, tuple) else (None, given)
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise ValueError(
            f"candidates must hold names of families ({', '.join(FAMILIES)}), estimators, or tuples of a "
            f"name and an estimator; got {given!r}."
        )
    return Candidate(name or type(getattr(model, "estimator", model)).__name__, OWN, (), model)


def _within_queries(candidate: Candidate) -> Candidate:
    """Return a candidate with features scaled within queries in place of its own scaler."""
    name = f"{candidate.name}, scaled within queries"
    return Candidate(name, candidate.family, (QueryScaler(),), clone(candidate.ranker))


def _is_scaled(task: Task) -> bool:
    """Return whether the features are scaled within queries already."""
    query = as_codes(task.qid, "qid", task.n_rows)[1]
    seen = task.take(np.flatnonzero(query <= np.sort(query)[min(SEEN_ROWS, task.n_rows) - 1]))
    rows = np.asarray(seen.X, dtype=np.float64)
    return bool(np.allclose(QueryScaler().fit_transform(rows, qid=seen.qid), rows))


def _encoder_of(X: Any) -> TableEncoder | None:
    """Return an encoder of the columns, or None if all of them are numbers without missing values."""
    if sp.issparse(X):
        return None
    encoder = TableEncoder().fit(X)
    is_plain = set(encoder.kinds_) == {NUMBER} and not encoder.has_missing_.any()
    return None if is_plain else encoder
