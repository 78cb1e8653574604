"""Folds that keep the rows of a query together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold
from sklearn.utils import check_random_state

from rankwise.core.checks import as_codes
from rankwise.core.types import FloatVector
from rankwise.preferences import FewRowsError, Preferences


class QueryKFold(GroupKFold):
    """K folds of queries: the rows of a query are all in the same fold.

    With metadata routing, scikit-learn passes `qid` to it; without the query of each row it refuses to split,
    as that could split queries. A `Preferences` has its own queries; the rows of a single ranking are
    stratified by label.

    Parameters
    ----------
    n_splits : int
        The number of folds.
    shuffle : bool
        Assign queries at random instead of by size.
    random_state : int, optional
        The seed.

    Examples
    --------
    >>> import numpy as np
    >>> folds = QueryKFold(n_splits=2).split(np.zeros((4, 1)), groups=["a", "b", "a", "c"])
    >>> [test.tolist() for _, test in folds]
    [[0, 2], [1, 3]]
    """

    __metadata_request__split = {"groups": "qid"}  # noqa: RUF012

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None):
        super().__init__(n_splits=n_splits, shuffle=shuffle, random_state=random_state)

    def split(
        self, X: Any, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the row numbers of training and test rows, fold by fold.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        y : array or Preferences, optional
            A `Preferences` brings its own groups.
        groups : array of shape (n_rows,)
            The query of each row; not needed with a `Preferences`.
        """
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if groups is not None:
            codes = as_codes(groups, "groups", n_rows)[1]
        elif not isinstance(y, Preferences):
            raise ValueError(
                "QueryKFold needs the query of each row, or it would cut queries: "
                "split(X, y, groups=qid). With scikit-learn's searches, switch routing on by "
                "sklearn.set_config(enable_metadata_routing=True) and pass qid: "
                "GridSearchCV(..., cv=QueryKFold()).fit(X, y, qid=qid), "
                "cross_val_score(..., cv=QueryKFold(), params={'qid': qid}). "
                "Rows without queries are for KFold."
            )
        elif len(np.unique(y.groups())) > 1:
            codes = y.groups()
        else:
            yield from self._split_rows(n_rows, y.labels)
            return
        n_groups = len(np.unique(codes))
        if n_groups < self.n_splits:
            raise FewRowsError(f"{self.n_splits} folds need as many queries; got {n_groups}.")
        yield from super().split(np.zeros(n_rows), groups=codes)

    def _split_rows(
        self, n_rows: int, labels: FloatVector | None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Assign the rows to the folds in turn, from the lowest label to the highest."""
        if n_rows < self.n_splits:
            raise FewRowsError(f"{self.n_splits} folds need as many rows; got {n_rows}.")
        generator = check_random_state(self.random_state if self.shuffle else 0)
        tie_break = generator.permutation(n_rows) if self.shuffle else np.arange(n_rows)
        values = np.zeros(n_rows) if labels is None else labels
        order = np.lexsort((tie_break, values))
        rounds = [generator.permutation(self.n_splits) for _ in range(-(-n_rows // self.n_splits))]
        fold = np.empty(n_rows, dtype=np.int64)
        fold[order] = np.concatenate(rounds)[:n_rows] if self.shuffle else np.arange(n_rows) % self.n_splits
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
