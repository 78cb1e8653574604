"""Standard errors, intervals and tests of the weights of a linear ranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, fdtrc, fdtri, stdtr, stdtrit

from rankwise.core.checks import as_array, check_count
from rankwise.core.pipelines import require_same_columns
from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.text import listing, plural
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.columns import column_names
from rankwise.data.frames import one_row, with_columns
from rankwise.evaluation.degrees import Degrees, degrees_of_masses
from rankwise.evaluation.influence import Influence, Units, influence_of, require_units, with_scales
from rankwise.losses import Logistic
from rankwise.losses.base import PairwiseLoss
from rankwise.losses.pair_sums import misordered_weight


def p_text(p: float) -> str:
    """Write a p-value with three digits, or that it is smaller."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


class Weight(NamedTuple):
    """A weight with its standard error and its interval."""

    name: str
    weight: float
    standard_error: float
    z: float
    p_value: float
    low: float
    high: float


COLUMNS = (
    Column("name", title=""),
    Column("weight", format=".4g"),
    Column("standard_error", format=".3g", title="std. error"),
    Column("z", format=".2f"),
    Column("p_value", format=p_text, title="p"),
    Column("low", format=".4g", title="from"),
    Column("high", format=".4g", title="to"),
)
# The smallest eigenvalue of a scaled Hessian that is not rounding, relative to the largest.
COLLINEAR = 1e-10
# A combination of weights with a larger part along a direction of no curvature is not determined.
OPEN = 1e-6
# Draws of the largest studentised difference, and the number of rows up to which all differences are drawn.
N_DRAWS, MOST_DRAWN = 4000, 400
# Fewer degrees of freedom than this fraction of the units are stated.
UNEQUAL = 0.25
# Errors of scales that raise a variance by more than this factor are most of what an interval depends on.
SCALES_MATTER = 1.5
# More features would need a covariance of this many rows and columns.
MOST_FEATURES = 5000


class Differences(NamedTuple):
    """Score differences f(a) - f(b), with their standard errors, intervals and p-values."""

    estimate: FloatVector
    standard_error: FloatVector
    low: FloatVector
    high: FloatVector
    p_value: FloatVector


class WaldTest(NamedTuple):
    """A joint test that several contrasts of the weights are zero.

    `statistic` has an F distribution with (`n_contrasts`, `degrees`) degrees of freedom if they are.
    """

    statistic: float
    n_contrasts: int
    degrees: float
    p_value: float


class RankRanges(NamedTuple):
    """The best and the worst position that each row may have, 0 for the first; all hold together."""

    best: NDArray[np.int64]
    worst: NDArray[np.int64]


class Influential(NamedTuple):
    """The most influential units: their names, and the change of each weight if the unit leaves."""

    units: NDArray[Any]
    changes: FloatArray
    distance: FloatVector


@dataclass(frozen=True, repr=False)
class Inference(HasTable):
    """The weights of a linear ranker with their sampling errors, from `model.inference(X, y)`.

    The errors are those of the weights as an estimate of what the same model would learn from all data of
    this kind. The covariance is that of the jackknife over independent units: V = (1 - 1 / n) times the sum
    of d_a d_a', with the change d_a of the weights if unit a leaves. Intervals use Student's t, with fewer
    degrees of freedom the more unequal units are: see `Degrees`.

    The weights of a penalized fit are drawn to zero, and so are the centers of the intervals. With `debias`
    the weights are moved by one Newton step of the loss without the penalty.

    Attributes
    ----------
    coef, standard_errors, z, p_values : arrays of shape (n_features,)
        A p-value is that of the hypothesis that the weight is 0.
    covariance : array of shape (n_features, n_features)
    names : list of str
        The names of the features.
    unit : "row", "query", "pair" or "cluster"
        What is taken as independent.
    n_units : int
    degrees : array of shape (n_features,)
        The degrees of freedom of Student's t for each weight.
    alpha : float
        The strength of the penalty.
    is_debiased : bool
    given : tuple of str
        The steps of a pipeline whose errors are not counted.
    notes : list of str
        What the errors leave out, in sentences.

    Examples
    --------
    >>> from rankwise import RankRLS
    >>> X = [[1.0], [2.0], [3.0], [5.0], [7.0], [8.0], [9.0], [9.5]]
    >>> y = [1.0, 3.0, 2.0, 6.0, 6.5, 8.0, 7.0, 10.0]
    >>> print(RankRLS(alpha=1e-3).fit(X, y).inference(X, y).summary().cells()[0][:3])
    ['f1', '0.905', '0.138']
    """

    coef: FloatVector
    covariance: FloatArray
    names: list[str]
    unit: str
    n_units: int
    degrees: FloatVector
    alpha: float
    loss: str
    n_pairs: int
    is_debiased: bool = False
    has_probabilities: bool = False
    labels: NDArray[Any] = field(repr=False, default_factory=lambda: np.empty(0))
    changes: FloatArray = field(repr=False, default_factory=lambda: np.empty((0, 0)))
    # The degrees of freedom of combinations of weights; without it, these are the same for all.
    freedom: Degrees | None = field(repr=False, default=None)
    # Maps rows to the features of the weights.
    features: Callable[[Any], Any] | None = field(repr=False, default=None)
    # Whether the error of a weight is in large part that of the scales of its columns; the steps of a
    # pipeline whose errors are not counted.
    by_scales: NDArray[np.bool_] = field(repr=False, default_factory=lambda: np.empty(0, dtype=np.bool_))
    given: tuple[str, ...] = ()
    # The covariance if the likelihood of a loss of whole lists is the law of the data.
    of_model: FloatArray | None = field(repr=False, default=None)

    @property
    def table(self) -> ResultTable[Weight]:
        """The weights with 95% intervals."""
        return self.summary()

    @property
    def model_errors(self) -> FloatVector:
        """The standard errors if the model is true: of Cox regression, those of the inverse information.

        `standard_errors` are robust: they hold if the model is not true, and within clusters.
        """
        if self.of_model is None:
            raise AttributeError(
                "model_errors are for likelihoods, such as RankPlackettLuce of one list or with "
                "average='pairs'; no mean loss over pairs that share rows is one."
            )
        return np.sqrt(np.diag(self.of_model))

    @property
    def standard_errors(self) -> FloatVector:
        """The standard error of each weight."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def z(self) -> FloatVector:
        """Each weight divided by its standard error."""
        return self.coef / self.standard_errors

    @property
    def p_values(self) -> FloatVector:
        """The two-sided p-value of each weight."""
        return 2.0 * stdtr(self.degrees, -np.abs(self.z))

    def quantile(self, level: float = 0.95, contrasts: ArrayLike | None = None) -> FloatVector:
        """Return half the width of intervals in standard errors, quantiles of Student's t.

        They are those of the weights or, with `contrasts` of shape (n_contrasts, n_features), of combinations
        of weights.
        """
        check_level(level)
        degrees = self.degrees
        if contrasts is not None:
            degrees = self._degrees_along(as_contrasts(contrasts, len(self.coef)))
        return np.asarray(stdtrit(degrees, (1.0 + level) / 2), np.float64)

    def _degrees_along(self, contrasts: FloatArray) -> FloatVector:
        if self.freedom is None:
            return np.full(len(contrasts), self.degrees.min())
        return self.freedom(contrasts)

    def confidence_intervals(self, level: float = 0.95) -> FloatArray:
        """Return the interval of each weight: shape (n_features, 2)."""
        half = self.quantile(level) * self.standard_errors
        return np.column_stack([self.coef - half, self.coef + half])

    def difference(self, A: Any, B: Any, level: float = 0.95) -> Differences:
        """Return f(a) - f(b) for each row of A and of B, with intervals.

        Parameters
        ----------
        A, B : arrays or frames of shape (n_rows, n_features), or single rows
        level : float
        """
        apart = self._rows(A, "A") - self._rows(B, "B")
        estimate, error = apart @ self.coef, np.sqrt(_squares(apart, self.covariance))
        half = self.quantile(level, apart) * error
        ratio = np.divide(np.abs(estimate), error, out=np.zeros_like(error), where=error > 0)
        p_value = 2.0 * stdtr(self._degrees_along(apart), -ratio)  # 1 for rows that do not differ
        return Differences(estimate, error, estimate - half, estimate + half, p_value)

    def part_errors(self, a: Any, b: Any) -> FloatVector:
        """Return the standard error of the contribution of each feature to f(a) - f(b), for two rows."""
        apart = self._rows(a, "a") - self._rows(b, "b")
        return np.abs(apart[0]) * self.standard_errors

    def pair_proba_interval(self, A: Any, B: Any, level: float = 0.95) -> FloatArray:
        """Return the interval of the probability that each row of A is above that of B: shape (n_rows, 2).

        It is that of the log odds f(a) - f(b), so it needs `RankLogistic`.
        """
        if not self.has_probabilities:
            raise ValueError("pair_proba_interval needs RankLogistic, whose scores are log odds.")
        found = self.difference(A, B, level)
        return expit(np.column_stack([found.low, found.high]))

    def wald_test(self, contrasts: Any) -> WaldTest:
        """Test whether several weights, or linear combinations of them, are all zero.

        Parameters
        ----------
        contrasts : str, int, list of them, mask of shape (n_features,), or array of (n_contrasts, n_features)
            Features by name or number or as a mask, or combinations of weights.
        """
        R = self._contrasts(contrasts)
        n_contrasts = len(R)
        freedom = float(n_contrasts / np.sum(1.0 / self._degrees_along(R)))
        degrees = freedom - n_contrasts + 1.0
        covariance = R @ self.covariance @ R.T
        scale = np.sqrt(np.diag(covariance))
        if degrees <= 0 or not _is_regular(covariance / np.where(scale > 0, np.outer(scale, scale), 1.0)):
            raise ValueError(
                f"{plural(self.n_units, self.unit)} with {freedom:.3g} degrees of freedom cannot test "
                f"together the {plural(n_contrasts, 'combination')} of weights in contrasts; leave out those "
                "that depend on others, or test fewer at a time."
            )
        estimate = R @ self.coef
        square = float(estimate @ np.linalg.solve(covariance, estimate))
        statistic = square * degrees / (freedom * n_contrasts)  # as for Hotelling's T^2
        return WaldTest(statistic, n_contrasts, degrees, float(fdtrc(n_contrasts, degrees, statistic)))

    def rank_ranges(self, X: Any, level: float = 0.95, random_state: int = 0) -> RankRanges:
        """Return the positions that each of several rows may have among them.

        A row is surely above another if their score difference exceeds c standard errors. The value c is
        that of the largest studentised difference of all pairs of rows, by simulation, so that all ranges
        hold together with probability `level`; for more than 400 rows it is Scheffé's bound. It has the
        fewest degrees of freedom of a difference of a row from the mean row.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        level : float
        random_state : int
            Draws the simulation.

        Examples
        --------
        >>> import numpy as np
        >>> from rankwise import RankLogistic
        >>> x = np.arange(50.0)[:, None]
        >>> y = x[:, 0] + 10 * np.sin(7 * x[:, 0])
        >>> found = RankLogistic().fit(x, y).inference(x, y)
        >>> found.rank_ranges([[0.0], [25.0], [25.0]])
        RankRanges(best=array([2, 0, 0]), worst=array([2, 1, 1]))
        """
        rows = self._rows(X, "X")
        scores, c = rows @ self.coef, self._simultaneous(rows, level, random_state)
        best, worst = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        for k, row in enumerate(rows):
            margin = c * np.sqrt(_squares(rows - row, self.covariance))
            best[k] = np.sum(scores - scores[k] > margin)
            worst[k] = len(rows) - 1 - np.sum(scores[k] - scores > margin)
        return RankRanges(best, worst)

    def influential(self, k: int = 10) -> Influential:
        """Return the k units that the weights depend on most.

        The distance is that of Cook, divided by the number of weights: d'V^-1 d / n for the change d.
        """
        check_count("k", k)
        distance = np.sum(self.changes * np.linalg.solve(self.covariance, self.changes.T).T, axis=1)
        first = np.argsort(-distance, kind="stable")[:k]
        return Influential(self.labels[first], self.changes[first], distance[first] / len(self.coef))

    def summary(self, level: float = 0.95) -> ResultTable[Weight]:
        """Return the table of weights with intervals; it prints as text, and as HTML in notebooks."""
        ends = self.confidence_intervals(level).T.tolist()
        numbers = (one.tolist() for one in (self.coef, self.standard_errors, self.z, self.p_values))
        rows = map(Weight, self.names, *numbers, *ends)
        debiased = ", debiased" if self.is_debiased else ""
        least = self.degrees.min()
        few = f", as few as {least:.1f} degrees of freedom" if least < UNEQUAL * self.n_units else ""
        title = (
            f"{self.loss}, alpha={self.alpha:g}{debiased}: {plural(self.n_pairs, 'pair')}, "
            f"{plural(self.n_units, 'independent ' + self.unit)}{few}, {100 * level:g}% intervals"
        )
        return ResultTable(rows, COLUMNS, title=title, note=" ".join(self.notes))

    @property
    def notes(self) -> list[str]:
        """What the errors leave out, in sentences."""
        found, heavy = [], [name for name, is_so in zip(self.names, self.by_scales, strict=False) if is_so]
        if self.given:
            found.append(f"What {listing(self.given)} learned is taken as given: its errors are left out.")
        if heavy:
            found.append(
                f"The error of {listing(heavy)} is in large part that of the scale of the column. If its "
                "values have heavy tails, a sample shows this error in part, and the interval is too short."
            )
        return found

    def to_frame(self, level: float = 0.95) -> Any:
        """Return the table as a pandas frame, with a row per feature."""
        import pandas as pd

        return pd.DataFrame(list(self.summary(level))).set_index("name").rename_axis("feature")

    def in_units(
        self, factors: FloatVector, names: list[str], features: Callable[[Any], Any] | None = None
    ) -> Inference:
        """Return the inference of the weights times these factors: those of rescaled features."""
        covariance = self.covariance * np.outer(factors, factors)
        return replace(
            self, coef=self.coef * factors, covariance=covariance, names=names,
            changes=self.changes * factors, features=features,
            freedom=None if self.freedom is None else self.freedom.scaled(factors),
        )  # fmt: skip

    def _rows(self, rows: Any, name: str) -> FloatArray:
        """Return rows as an array with the features of the weights."""
        if getattr(rows, "ndim", None) == 1 or np.ndim(rows) == 1:
            rows = one_row(rows, name)
        rows = rows if self.features is None else self.features(rows)
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        array = np.asarray(as_array(self._ordered(rows, name)), dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.coef):
            raise ValueError(f"{name} must have {plural(len(self.coef), 'column')}; got shape {array.shape}.")
        if not np.isfinite(array).all():
            row, column = np.argwhere(~np.isfinite(array))[0]
            feature, value = self.names[column], array[row, column]
            raise ValueError(f"{name} must have finite numbers; row {row} has {value} as {feature!r}.")
        return array

    def _ordered(self, rows: Any, name: str) -> Any:
        """Return the columns of a frame in the order of the weights; unnamed weights take any names."""
        columns = column_names(rows)
        if columns is None or not all(isinstance(column, str) for column in columns):
            return rows
        numbered = [f"f{number}" for number in range(1, len(self.names) + 1)]
        if self.names == numbered and set(columns).isdisjoint(numbered):
            return rows
        if not set(columns) >= set(self.names):
            require_same_columns(self.names, list(columns), name, "the training data", ordered=False)
        return with_columns(rows, self.names)

    def _contrasts(self, contrasts: Any) -> FloatArray:
        given = [contrasts] if np.ndim(contrasts) == 0 else contrasts
        array = np.asarray(given)
        if array.dtype.kind == "b" and array.ndim == 1:
            if len(array) != len(self.coef) or not array.any():
                raise ValueError(
                    f"contrasts as a mask must have one entry per weight, {len(self.coef)}, and select some; "
                    f"got {array.tolist()}."
                )
            return np.eye(len(self.coef))[array]
        if array.dtype.kind == "f" or array.ndim == 2:
            return as_contrasts(np.atleast_2d(array), len(self.coef))
        numbers = [self._number_of(one) for one in given]
        return np.eye(len(self.coef))[numbers]

    def _number_of(self, feature: Any) -> int:
        if isinstance(feature, str):
            if feature not in self.names:
                raise ValueError(f"contrasts names {feature!r}; the features are {listing(self.names)}.")
            return self.names.index(feature)
        if not isinstance(feature, Integral) or isinstance(feature, bool):
            raise ValueError(f"contrasts must have names or numbers of features; got {feature!r}.")
        if not 0 <= int(feature) < len(self.coef):
            raise ValueError(f"contrasts names feature {feature}; there are {len(self.coef)}, from 0.")
        return int(feature)

    def _simultaneous(self, rows: FloatArray, level: float, random_state: int) -> float:
        """Return the quantile of the largest studentised difference of all pairs of rows."""
        check_level(level)
        n, degrees = len(self.coef), float(self._degrees_along(rows - rows.mean(axis=0)).min())
        bound = float(np.sqrt(n * fdtri(n, degrees, level)))
        if len(rows) > MOST_DRAWN:
            return bound
        errors = np.sqrt(np.maximum([_squares(rows - row, self.covariance) for row in rows], 0.0))
        generator = np.random.default_rng(random_state)
        root = np.linalg.cholesky(self.covariance + 1e-14 * np.diag(np.diag(self.covariance)))
        drawn = rows @ root @ generator.normal(size=(n, N_DRAWS))
        largest = np.zeros(N_DRAWS)
        for k in range(len(rows)):
            differs = errors[k] > 0
            if differs.any():
                ratio = np.abs(drawn[differs] - drawn[k]) / errors[k][differs, None]
                np.maximum(largest, ratio.max(axis=0), out=largest)
        scale = np.sqrt(generator.chisquare(degrees, N_DRAWS) / degrees)
        return min(float(np.quantile(largest / scale, level)), bound)


def infer(
    loss: PairwiseLoss,
    X: FloatArray,
    coef: FloatVector,
    alpha: float,
    units: Units,
    names: Sequence[str],
    *,
    debias: bool = False,
    contrasts: ArrayLike | None = None,
    scaled: bool = False,
) -> Inference:
    """Return the inference of weights that minimize the mean loss over pairs of X w plus alpha ||w||^2.

    O(n) products with the slopes and the Hessian of the loss for n features: see `influence_of`. `contrasts`
    has combinations of weights to estimate in place of the weights. With `scaled`, columns were divided by
    their deviations over these rows.
    """
    check_few(X.shape[1])
    names = list(names)
    check_not_separated(loss, X @ coef)
    deviation = X.std(axis=0)
    check_varies(deviation, X, names)
    # Columns of unit deviation, so that no unit of measurement affects rounding.
    rows = (X - X.mean(axis=0)) / deviation
    penalty = np.full(len(coef), 2.0 * alpha) / deviation**2
    R = np.eye(len(coef)) if contrasts is None else as_contrasts(contrasts, len(coef))
    combined = R / deviation
    found = influence_of(loss, rows, coef * deviation, penalty, units)
    require_units(found.units, len(R))
    check_determined(found.hessian, combined, names)
    weights = coef * deviation
    if debias:
        weights, found = without_penalty(found, loss, rows, weights, units)
    if not found.penalty.any():
        found = replace(found, hessian=completed(found.hessian))
    leaving = with_scales(found, units, loss.preferences, rows, weights) if scaled else found
    weights, changes = combined @ weights, leaving.changes() @ combined.T
    degrees, freedom = degrees_of(found, combined)
    n_units = len(changes)
    covariance = (1.0 - 1.0 / n_units) * (changes.T @ changes)
    return Inference(
        coef=weights, covariance=(covariance + covariance.T) / 2,
        names=names if contrasts is None else [f"contrast {k + 1}" for k in range(len(R))],
        unit=units.kind, n_units=n_units, degrees=degrees, alpha=alpha, loss=loss.title,
        n_pairs=loss.preferences.n_pairs, is_debiased=debias, has_probabilities=isinstance(loss, Logistic),
        labels=found.units.labels, changes=changes, freedom=freedom, of_model=by_model(loss, found, combined),
        by_scales=changes_by_scales(leaving, found, combined),
    )  # fmt: skip


def by_model(loss: Any, found: Influence, combined: FloatArray) -> FloatArray | None:
    """Return the covariance by the inverse information if the loss is a mean log likelihood."""
    n_choices = None if loss.is_of_pairs else loss.n_choices
    if n_choices is None:
        return None
    inverse = np.linalg.inv(found.hessian + np.diag(found.penalty))
    return combined @ (inverse @ found.hessian @ inverse / n_choices) @ combined.T


def changes_by_scales(leaving: Influence, found: Influence, combined: FloatArray) -> NDArray[np.bool_]:
    """Return which combinations of weights have errors that scales raise by much."""
    if leaving is found:
        return np.zeros(len(combined), dtype=np.bool_)
    with_them, own = (np.square(one.changes() @ combined.T).sum(axis=0) for one in (leaving, found))
    return np.asarray(with_them > SCALES_MATTER * own)


def check_few(n_features: int) -> None:
    """Refuse more features than a covariance of all weights is computed for."""
    if n_features > MOST_FEATURES:
        raise ValueError(
            f"Inference needs a covariance of all weights, and there are {n_features}; select at most "
            f"{MOST_FEATURES} features."
        )


def as_contrasts(contrasts: Any, n_features: int) -> FloatArray:
    """Return combinations of weights as an array with a row per combination."""
    R = np.asarray(contrasts, dtype=np.float64)
    if R.ndim != 2 or R.shape[1] != n_features:
        raise ValueError(f"contrasts must have one column per weight, {n_features}; got shape {R.shape}.")
    return R


def without_penalty(
    found: Influence, loss: PairwiseLoss, X: FloatArray, weights: FloatVector, units: Units
) -> tuple[FloatVector, Influence]:
    """Return the weights after a Newton step of the loss without the penalty, and the influence there."""
    moved = weights + np.linalg.solve(completed(found.hessian), found.penalty * weights)
    return moved, influence_of(loss, X, moved, np.zeros_like(found.penalty), units)


def degrees_of(found: Influence, combinations: FloatArray) -> tuple[FloatVector, Degrees | None]:
    """Return the degrees of freedom of each weight and those of any combination, if they differ.

    Rows and pairs have the number of them less that of weights, or fewer if their weights are unequal: the
    standard deviation of their gradients is in proportion to their weights, as for two means in Welch's test.
    """
    n_units, n, mass = len(found.mass), len(combinations), found.mass
    if found.units.kind in ("row", "pair"):
        return np.full(n, min(float(n_units - n), degrees_of_masses(mass, mass**2))), None
    freedom = Degrees.of(found, combinations)
    if freedom is None:
        return np.full(n, degrees_of_masses(mass, mass)), None
    return freedom(np.eye(n)), freedom


def check_level(level: float) -> None:
    """Refuse a confidence level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")


def check_varies(deviation: FloatVector, X: FloatArray, names: list[str]) -> None:
    """Refuse constant columns, whose weights are arbitrary."""
    size = np.abs(X).max(axis=0)
    constant = [
        name for name, spread, top in zip(names, deviation, size, strict=True) if spread <= 1e-12 * top
    ]
    if constant:
        raise ValueError(
            f"The data cannot determine the weight of {listing(constant)}: the column is constant. Leave it "
            "out."
        )


def null_directions(hessian: FloatArray) -> FloatArray:
    """Return directions of the weights, as columns, along which the loss is constant."""
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    return vectors[:, values <= COLLINEAR * values[-1]] / scale[:, None]


def completed(hessian: FloatArray) -> FloatArray:
    """Return a regular Hessian with the same solutions, except along directions of no curvature."""
    flat = null_directions(hessian)
    size = np.sqrt(np.sum(flat**2, axis=0))
    return hessian + np.max(np.diag(hessian)) * (flat / size) @ (flat / size).T if flat.size else hessian


def check_determined(hessian: FloatArray, contrasts: FloatArray, names: list[str]) -> None:
    """Refuse weights, or combinations of them, that columns which are combinations of others leave open."""
    flat = null_directions(hessian)
    flat = flat / np.sqrt(np.sum(flat**2, axis=0))
    length = np.sqrt(np.sum(contrasts**2, axis=1))
    if not (np.abs(contrasts @ flat) > OPEN * length[:, None]).any():
        return
    involved = np.flatnonzero(np.abs(flat[:, 0]) > 1e-3)
    raise ValueError(
        f"The data cannot determine the weights of {listing([names[k] for k in involved])}: within pairs, "
        "one of these columns is a combination of the others, or constant. Leave one of them out."
    )


def check_not_separated(loss: PairwiseLoss, scores: FloatVector) -> None:
    """Refuse log odds if every pair is in the right order: without the penalty they would be infinite."""
    if isinstance(loss, Logistic) and not any(
        part.any() for part in misordered_weight(loss.preferences, scores)
    ):
        raise ValueError(
            "The weights put every pair in the right order, so that the data set no upper limit to them and "
            "their standard errors are undefined; use more rows, or fewer features."
        )


def _is_regular(matrix: FloatArray) -> bool:
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > COLLINEAR * max(values[-1], 0.0))


def _squares(rows: FloatArray, covariance: FloatArray) -> FloatVector:
    return np.maximum(np.sum((rows @ covariance) * rows, axis=1), 0.0)
