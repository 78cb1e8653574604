"""The measures of rankings: one entry each, from which names, options, bounds and defaults follow.

An entry is all that a new measure needs: evaluations and comparisons, runs of search engines, searches of
parameters, the shell, reports and rows on Dask read it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.evaluation import list_measures as lists
from rankwise.evaluation import pair_measures as pairs
from rankwise.evaluation.intervals import Estimate, error_estimate
from rankwise.evaluation.ranked_rows import require_labels, share
from rankwise.evaluation.scored import Scored
from rankwise.preferences import NoPairsError, Preferences

# Labels above this are not grades: gains of 2^label would be meaningless.
LARGEST_GRADE = 31


@dataclass(frozen=True)
class LabelFacts:
    """What the choice of measures needs to know of the labels.

    Attributes
    ----------
    are_grades : bool
        Whether all labels are nonnegative integers up to 31.
    are_binary : bool
        Whether there are at most two distinct labels.
    n_rows, n_relevant : int
        The number of labels, and of those above the threshold of relevance.
    lowest, lowest_relevant, highest : float
        The lowest label, the lowest one above the threshold, infinite if there is none, and the highest.
    has_threshold : bool
        Whether a threshold of relevance other than 0 was given.
    """

    are_grades: bool
    are_binary: bool
    n_rows: int
    n_relevant: int
    lowest: float
    lowest_relevant: float
    highest: float
    has_threshold: bool

    @classmethod
    def of(cls, y: FloatArray, relevant_above: float) -> LabelFacts:
        """Return the facts about some labels.

        Examples
        --------
        >>> first, second = (LabelFacts.of(np.array(y), 0.0) for y in ([0.0, 2.0], [1.0, 1.0]))
        >>> both = first + second
        >>> both.are_grades, both.are_binary, both.n_relevant, both.lowest_relevant
        (True, False, 3, 1.0)
        """
        relevant, lowest, highest = y > relevant_above, float(y.min()), float(y.max())
        return cls(
            bool(lowest >= 0 and highest <= LARGEST_GRADE and (y == np.round(y)).all()),
            bool(((y == lowest) | (y == highest)).all()),
            len(y),
            int(relevant.sum()),
            lowest,
            float(y[relevant].min(initial=np.inf)),
            highest,
            relevant_above != 0,
        )

    def __add__(self, other: LabelFacts) -> LabelFacts:
        """Return the facts about the labels of both."""
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        ends = {self.lowest, self.highest, other.lowest, other.highest}
        return LabelFacts(
            self.are_grades and other.are_grades,
            self.are_binary and other.are_binary and ends <= {lowest, highest},
            self.n_rows + other.n_rows,
            self.n_relevant + other.n_relevant,
            lowest,
            min(self.lowest_relevant, other.lowest_relevant),
            highest,
            self.has_threshold or other.has_threshold,
        )


_PATTERN = re.compile(r"(\w+)(?:\(rel=(\d+)\))?(?:@([1-9]\d*))?")
Need = Literal["grades", "relevant", "probabilities"]


@dataclass(frozen=True)
class Kind:
    """A family of measures, such as NDCG at any cutoff. One of the two functions is given.

    Attributes
    ----------
    key, title : str
        Such as "ndcg" and "NDCG".
    of_lists : callable or None
        ``of_lists(labels, ranked, **options)`` returns the value of each query from its ranked list, NaN if
        it is undefined; `ranked` is a `RankedRows`.
    of_scored : callable or None
        ``of_scored(scored, name)`` returns the value of each query from `Scored` rows, for the scores of the
        model with that name.
    options : tuple of str
        The options of `of_lists` beside the cutoff `k`, among "gain" and "relevant_above".
    cutoff : {"none", "may", "must"}
        Whether the name ends with a number of ranks, as in "p@5".
    names : dict of str to dict
        The names in ir-measures, with the options that they stand for.
    higher_is_better : bool
    bounds : (float, float) or None
        The range of the measure.
    shown : {"", "details", "summary"}
        Where it is shown by default: nowhere; in `rankwise evaluate`; or in every evaluation, comparison and
        report, too.
    needs : tuple of {"grades", "relevant", "probabilities"}
        It is shown by default for labels that are grades; if some rows are relevant and others are not, by
        binary labels, grades or a given threshold; and for models with probabilities of pairs.
    undefined_because : str
        What a query without a value lacks.
    title_of_one : str
        The title for a single query, if it differs.
    over_rows : callable or None
        ``over_rows(preferences, scores)`` returns the `Estimate` whose units are rows. Other measures of a
        single query have intervals of resampled rows.
    """

    key: str
    title: str
    of_lists: Callable[..., FloatArray] | None = None
    of_scored: Callable[[Scored, str], FloatArray] | None = None
    options: tuple[str, ...] = ()
    cutoff: Literal["none", "may", "must"] = "none"
    names: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    shown: Literal["", "details", "summary"] = ""
    needs: tuple[Need, ...] = ()
    undefined_because: str = "a query needs a row with a label above relevant_above"
    title_of_one: str = ""
    over_rows: Callable[[Preferences, FloatArray], Estimate] | None = None

    def keys(self, at: Any, detailed: bool = False) -> list[str]:
        """Return the keys at some cutoffs; details have the key without a cutoff, too."""
        ranked = [f"{self.key}@{k}" for k in at] if self.cutoff != "none" else []
        alone = self.cutoff == "none" or (self.cutoff == "may" and (detailed or not ranked))
        return ranked + ([self.key] if alone else [])

    def is_possible(self, facts: LabelFacts) -> bool:
        """Return whether labels of some of the rows allow that it is shown for all rows."""
        return "grades" not in self.needs or facts.are_grades

    def left_out(self, facts: LabelFacts) -> str:
        """Return why it is left out by default for such labels, "" if it is not."""
        if not self.is_possible(facts):
            return "it needs grades (nonnegative integers), and these labels are not grades"
        if "relevant" not in self.needs:
            return ""
        if not (facts.are_grades or facts.are_binary or facts.has_threshold):
            return "labels that are neither grades nor binary need a threshold of relevance"
        return "" if 0 < facts.n_relevant < facts.n_rows else "all rows are relevant, or none"

    def title_at(self, key: str, options: Mapping[str, Any]) -> str:
        """Return the title of the measure with a key, with its cutoff and its gain."""
        base, at, rank = key.partition("@")
        title = self.title + at + rank if base == self.key else key
        return f"{title}, {options.get('gain', 'exponential')} gain" if "gain" in self.options else title

    def measure(self, key: str, chosen: Mapping[str, Any], **options: Any) -> Metric:
        """Return the measure with a key, of which `chosen` are the options; `options` are the others."""
        known = (*self.options, "undefined") if self.of_lists is not None else ()
        options = {name: value for name, value in options.items() if name in known} | dict(chosen)
        return Metric(
            key,
            self.title_at(key, options),
            self.higher_is_better,
            partial(self.values, options),
            self.over_rows,
            bounds=self.bounds,
            undefined_because=self.undefined_because,
        )

    def values(self, options: Mapping[str, Any], scored: Scored, name: str) -> FloatArray:
        """Return the value of each query for the scores of a model."""
        if self.of_scored is not None:
            return self.of_scored(scored, name)
        assert self.of_lists is not None
        options = dict(options)
        undefined = options.pop("undefined", "skip")
        labels = require_labels(scored.labels, scored.target, self.key)
        values = self.of_lists(labels, scored.ranked(name), **options)
        return values if isinstance(undefined, str) else np.where(np.isnan(values), float(undefined), values)


@dataclass(frozen=True)
class Measure:
    """A measure: its key, its name for display, whether higher values are better, and its bounds if any.

    The mean over queries of a measure that `is_total`, such as a number of documents, is replaced by the sum.
    """

    key: str
    name: str
    higher_is_better: bool
    bounds: tuple[float, float] | None = field(default=None, kw_only=True)
    is_total: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Metric(Measure):
    """A measure of scores; `of(scored, name)` returns the value of each query for the scores of a model.

    If the independent units are rows, `over_rows(preferences, scores)` estimates a measure of pairs.
    """

    of: Callable[[Scored, str], FloatArray] = field(repr=False)
    over_rows: Callable[[Preferences, FloatArray], Estimate] | None = field(default=None, repr=False)
    undefined_because: str = field(default="", repr=False, kw_only=True)


def _errors(scored: Scored, name: str) -> FloatArray:
    """Return the fraction of the pairs of each query in the wrong order."""
    if isinstance(scored.target, Preferences):
        try:
            return np.asarray(pairs.ranking_error(scored.target, scored.scores[name], per_query=True))
        except NoPairsError:
            return np.full(scored.n_queries, np.nan)
    violations = scored.label_violations(name)
    return share(violations.errors("half"), violations.total)


def _tau(scored: Scored, name: str) -> FloatArray:
    require_labels(scored.labels, scored.target, "kendall_tau")
    return pairs.tau_of(scored.label_violations(name), scored.ranked(name))


def _log_losses(scored: Scored, name: str) -> FloatArray:
    query = None if isinstance(scored.target, Preferences) else scored.query
    try:
        return np.asarray(pairs.pair_log_loss(scored.target, scored.scores[name], query, per_query=True))
    except NoPairsError:
        return np.full(scored.n_queries, np.nan)


_DIFFERENT_LABELS = "a query needs two rows with different labels and weights above 0"
# Evaluations show the measures in this order.
KINDS = {
    kind.key: kind
    for kind in (
        Kind(
            "error",
            "Ranking error",
            of_scored=_errors,
            higher_is_better=False,
            shown="summary",
            undefined_because=_DIFFERENT_LABELS,
            over_rows=error_estimate,
        ),
        Kind(
            "ndcg",
            "NDCG",
            lists.ndcg_of_lists,
            options=("gain",),
            cutoff="may",
            names={"nDCG": {"gain": "linear"}},
            shown="summary",
            needs=("grades",),
            undefined_because="a query needs a label above 0",
        ),
        Kind(
            "map",
            "MAP",
            lists.average_precision_of_lists,
            options=("relevant_above",),
            names={"AP": {}, "MAP": {}},
            shown="summary",
            needs=("relevant",),
            title_of_one="Average precision",
        ),
        Kind(
            "mrr",
            "MRR",
            lists.reciprocal_rank_of_lists,
            options=("relevant_above",),
            names={"RR": {}, "MRR": {}},
            shown="details",
            needs=("relevant",),
        ),
        Kind(
            "p",
            "Precision",
            lists.precision_of_lists,
            options=("relevant_above",),
            cutoff="must",
            names={"P": {}, "Precision": {}},
            shown="details",
            needs=("relevant",),
        ),
        Kind(
            "tau",
            "Kendall's tau",
            of_scored=_tau,
            bounds=(-1.0, 1.0),
            shown="summary",
            undefined_because="a query needs two different labels and two different scores",
        ),
        Kind(
            "log_loss",
            "Pair log loss",
            of_scored=_log_losses,
            higher_is_better=False,
            bounds=None,
            shown="details",
            needs=("probabilities",),
            undefined_because=_DIFFERENT_LABELS,
        ),
    )
}


def parsed_name(name: str) -> tuple[Kind, dict[str, Any]] | None:
    """Return the kind of a measure and the options in its name; None if it is not computed here.

    The names of ir-measures, such as "nDCG@10", "AP" or "P(rel=2)@5", have the gain or the lowest relevant
    grade in them.

    Examples
    --------
    >>> kind, options = parsed_name("nDCG@10")
    >>> kind.key, options, parsed_name("Bpref")
    ('ndcg', {'gain': 'linear', 'k': 10}, None)
    """
    if re.match(r"NDCG\b", name):
        other = name[4:]
        raise ValueError(
            f"{name!r} is ambiguous: write 'nDCG{other}' for the linear gain of trec_eval, or "
            f"'ndcg{other}' for the exponential gain 2^grade - 1."
        )
    found = _PATTERN.fullmatch(name.replace(" ", ""))
    if found is None:
        return None
    word, grade, k = found.groups()
    kind = KINDS.get(word) or next((one for one in KINDS.values() if word in one.names), None)
    if kind is None or not {"none": not k, "may": True, "must": bool(k)}[kind.cutoff]:
        return None
    has_grade = "relevant_above" in kind.options
    if grade and not has_grade:
        return None
    options = dict(kind.names.get(word, {})) | ({"k": int(k)} if k else {})
    if has_grade and (grade or word in kind.names):
        options["relevant_above"] = float(np.nextafter(int(grade or 1), -np.inf))
    return kind, options


def parsed_measure(key: str, argument: str = "measures") -> tuple[Kind, dict[str, Any]]:
    """Return the kind of a measure and the options in its name; refuse unknown names.

    Examples
    --------
    >>> kind, options = parsed_measure("p@5")
    >>> kind.title, options
    ('Precision', {'k': 5})
    """
    if (found := parsed_name(key)) is not None:
        return found
    kinds = KINDS.values()
    accepted = [kind.key for kind in kinds if kind.cutoff != "must"]
    accepted += [f"{kind.key}@K" for kind in kinds if kind.cutoff != "none"]
    raise ValueError(f"{argument} must be among {', '.join(accepted)}; got {key!r}.")


def measure_title(key: str) -> str:
    """Return the name of a measure for display; NDCG with its gain.

    Examples
    --------
    >>> [measure_title(key) for key in ("ndcg@10", "nDCG@10", "error", "P(rel=2)@5")]
    ['NDCG@10, exponential gain', 'nDCG@10, linear gain', 'Ranking error', 'P(rel=2)@5']
    """
    found = parsed_name(key)
    if found is None:
        return key
    kind, chosen = found
    return kind.title_at(key, chosen)


def named_measure(key: str, argument: str = "measures", **options: Any) -> Metric:
    """Return the measure with a key such as "error", "tau", "map", "mrr", "ndcg@10", "p@5" or "log_loss".

    `options` are `relevant_above` (of map, mrr and p), `gain` (of ndcg) and `undefined` (of measures of
    ranked lists); other measures ignore them. Names of ir-measures, such as "nDCG@10" or "P(rel=2)@5", have
    the first two in them.

    Examples
    --------
    >>> ndcg = named_measure("ndcg@1")
    >>> rows = Scored(np.array([1.0, 0.0]), {"a": np.array([2.0, 1.0])})
    >>> ndcg.name, ndcg.of(rows, "a")
    ('NDCG@1, exponential gain', array([1.]))
    """
    kind, chosen = parsed_measure(key, argument)
    # The gain or the grade of a name of ir-measures is part of it.
    return kind.measure(key, chosen, **options)
