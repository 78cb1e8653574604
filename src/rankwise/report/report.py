"""The report: an evaluation of models, and the HTML page that presents it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.backends import require_in_memory
from rankwise.core.pipelines import has_probabilities
from rankwise.core.text import escaped, listed, plural, share, short
from rankwise.estimators.through_pipeline import fitted_model
from rankwise.estimators.weights import Weights, weights_of, weights_of_table
from rankwise.evaluation import Difference, Measured
from rankwise.evaluation.comparison import comparison_of
from rankwise.evaluation.data import named_models
from rankwise.evaluation.evaluated import evaluated_rows
from rankwise.evaluation.measures import RANKS, Choice, named_measure
from rankwise.evaluation.names import row_names_of
from rankwise.evaluation.single_feature import SingleFeature, best_single_feature
from rankwise.evaluation.slices import slices_of
from rankwise.io.atomic import atomic_write
from rankwise.preferences import Preferences
from rankwise.report.about import about, cautions
from rankwise.report.curves import curves_section, interactions_section
from rankwise.report.learned import learned_section, tried_section
from rankwise.report.page import page, paragraph
from rankwise.report.quality import quality_section
from rankwise.report.queries import slices_section
from rankwise.report.ranking import ranking_section
from rankwise.report.reasons import contributions_of, reasons_section
from rankwise.report.reliability import reliability_section
from rankwise.report.shapes import DIRECTION, has_two_classes, shapes_section, survival_section
from rankwise.report.versus import versus_section
from rankwise.report.what_if import what_if_section

if TYPE_CHECKING:
    from rankwise.evaluation.inference import Inference

FRAME_HEIGHT = 700
# The number of models that a sentence names; it counts the others.
LISTED = 3


class Report:
    """A report on a model as one HTML page: quality on the given rows, effects of features, and fit.

    The page is self-contained and makes no requests. Long tables are cut, with a note, so that it stays below
    3 MB. Pass rows that the model was not fitted to: measures of training rows are optimistic.

    Cost: that of scoring the rows, O(m log m) for the measures, and 1,000 resamples of the queries. With one
    query of at most 50,000 rows, the measures of up to 1,000 resamples of the rows instead.

    Parameters
    ----------
    model : estimator, Pipeline, fitted search, or array of shape (n_rows,)
        A fitted ranker of this library, a scikit-learn estimator with one score per row, or the scores.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,), or Preferences
        Labels, higher is better; for `OrdinalSVM` and `HullRanker` their classes. A `Preferences` of any kind
        has its own queries, weights and censored rows: the fraction of pairs in the right order equals
        `score`. Measures that its pairs do not define, such as the NDCG of explicit pairs, are left out, with
        a note on the page.
    qid : array of shape (n_rows,), optional
        The query of each row.
    models : dict of name to model, optional
        Models, or arrays of scores, to compare with.
    name : str, optional
        The name of `model`; by default its class.
    feature_names : sequence of str, optional
        By default those of the frame or of the fit.
    title : str, optional
        The heading.
    pair : pair of int, optional
        The numbers of two rows of one query, whose order is explained first; by default the worst pair of the
        worst query.
    at : sequence of int
        Ranks for NDCG.
    relevant_above : float
        Labels above this are relevant for MAP, which is shown for binary labels, grades, or a threshold other
        than 0.
    random_state : int
        The seed of the resamples.
    about : dict of str to str, optional
        Facts to list at the top beside data, version and date, such as ``{"Data file": "test.txt"}``.
    inference : Inference, optional
        From `model.inference` or `rankwise.inference` and the training data: the weights get standard errors,
        intervals and p-values, and the explanation of a pair states whether its order is sure.
    selection : array of shape (n_features,), optional
        From `selection_frequencies` and the training data: how often each feature is selected.
    tried : sequence of dict, optional
        What a search has tried, as in the metadata of a saved `AutoRanker`; by default that of the model.
    row_names : sequence of str, optional
        The names of the rows, such as document ids, by which the page calls them; by default the index of a
        frame if it has text, and else the numbers of the rows.
    slices : dict of name to array of shape (n_rows,), or names of columns of X, optional
        Columns such as the topic of a query or the age of a row: the first measure is shown for each value,
        or for quartiles of numbers. A column that varies within a query divides the rows, of which pairs
        within a group count. The number of rows per query is always one of the slices.

    Attributes
    ----------
    measures : dict of name to list of Measured
        Each measure of each model: ``values`` per query, ``mean``, ``low``, ``high``.
    differences : list of Difference
        For each other model and measure: ``mean``, ``low``, ``high``, ``wins``, ``ties``, ``losses``, ``p``.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.report import Report
    >>> X, y, qid = make_ranking(300, 5, n_queries=20, n_levels=3, random_state=0)
    >>> report = Report(RankSVM().fit(X, y, qid=qid), X, y, qid, title="Search results")
    >>> [measured.measure.key for measured in report.measures["RankSVM"]]
    ['error', 'ndcg@5', 'ndcg@10', 'map', 'tau']
    >>> report.to_html().startswith("<!DOCTYPE html>")
    True
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        *,
        models: Mapping[str, Any] | None = None,
        name: str | None = None,
        feature_names: Sequence[str] | None = None,
        title: str | None = None,
        pair: tuple[int, int] | None = None,
        at: Sequence[int] = RANKS,
        relevant_above: float = 0.0,
        random_state: int = 0,
        about: Mapping[str, str] | None = None,
        inference: Inference | None = None,
        selection: ArrayLike | None = None,
        tried: Sequence[Mapping[str, Any]] | None = None,
        slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        self.tried = model.tried_.as_dicts() if tried is None and hasattr(model, "tried_") else tried or []
        model, others = fitted_model(model), {key: fitted_model(one) for key, one in (models or {}).items()}
        require_in_memory(X, "A report", "take a sample of whole queries")
        found = evaluated_rows(
            named_models(model, others, name), X, y, qid, Choice(at=at, relevant_above=relevant_above),
            more=[named_measure("log_loss")] if has_probabilities(model) else [],
            seed=random_state, feature_names=feature_names,
        )  # fmt: skip
        assert found.data is not None, "rows are in memory"
        self.data, self.notes = found.data, found.notes
        self.data.row_names = row_names_of(row_names, self.data)
        self.title = f"{self.data.name}: how well it ranks, and why" if title is None else title
        self.pair, self.about, self.inference, self.selection = pair, dict(about or {}), inference, selection
        self.slices = slices_of(self.data, slices or {})
        comparison = comparison_of(found.measured)
        comparison.measures[self.data.name] += found.more
        self.measures: dict[str, list[Measured]] = comparison.measures
        self.differences: list[Difference] = comparison.differences

    def headline(self) -> str:
        """Summarise the results in a few sentences.

        Returns
        -------
        text : str
        """
        return " ".join([self._own_finding(), *self._comparisons()])

    def baseline(self) -> str:
        """State what chance and the best single feature of these rows give.

        The feature is chosen by the labels of the same rows, which favours it.

        Returns
        -------
        text : str
        """
        single = self._single_feature
        if single is None or single.found.mean != single.found.mean:
            return "50% is chance."
        way = " (the lowest first)" if single.is_reversed else ""
        return (
            f"50% is chance. The best single feature, {single.name}{way}, orders "
            f"{share(single.found.in_order[0])}; it was chosen on these rows, which is optimistic."
        )

    @cached_property
    def _single_feature(self) -> SingleFeature | None:
        return best_single_feature(self.data)

    def to_html(self) -> str:
        """Return the whole page.

        Returns
        -------
        html : str
        """
        data, ours = self.data, self.measures[self.data.name]
        effects, errors = self._effects(), self._query_errors()
        sections = [
            versus_section(data, self.measures, self.differences),
            quality_section(data, ours, self.notes),
            ranking_section(data),
            slices_section(data, self.measures, self.slices),
            survival_section(data),
            shapes_section(data),
            reliability_section(data),
            curves_section(data),
            interactions_section(data),
            reasons_section(data, effects, errors, self.pair),
            what_if_section(data, effects, errors),
            learned_section(data),
            tried_section(self.tried),
        ]
        return page(self.title, self._lead(), sections, self._footer())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file atomically."""
        html = self.to_html()
        with atomic_write(path, "w") as file:
            file.write(html)

    def _repr_html_(self) -> str:
        """Show the page in a frame in a notebook."""
        return (
            f'<iframe title="{escaped(self.title)}" style="width:100%;height:{FRAME_HEIGHT}px;border:0" '
            f'srcdoc="{escape(self.to_html())}"></iframe>'
        )

    def _query_errors(self) -> Any:
        data = self.data
        first = self.measures[data.name][0]
        if len(first.values) == data.n_queries:
            return first.values
        return named_measure("error").of(data.scored(), data.name)

    def _effects(self) -> Weights | None:
        data = self.data
        given = data.models[data.name], data.X, data.feature_names, data.qid
        parts = contributions_of(*given)
        weights = weights_of(*given) if parts is None else None
        if weights is None and self.inference is not None:
            raise ValueError(f"inference is for linear models, but the score of {data.name} is not linear.")
        if weights is None:
            return parts
        weights = weights.with_selection(self.selection)
        if self.inference is not None:
            of_table = weights_of_table(data.models[data.name], data.X, self.inference)
            if of_table is not None:
                return of_table
        return weights.with_inference(self.inference)

    def _own_finding(self) -> str:
        first = self.measures[self.data.name][0]
        if first.mean != first.mean:
            return "There is no pair of rows to order: the labels within each query are equal."
        fraction, low, high = first.in_order
        between = f" (95% interval {share(low)} to {share(high)})" if low == low else ""
        over = (
            f"on average over {plural(first.n_defined, 'query')}"
            if len(first.values) > 1
            else f"among {self._counted()}"
        )
        one_curve = self.data.n_queries == 1 and has_two_classes(self.data)
        area = f", an AUC of {short(fraction)}" if one_curve else ""
        pairs = "pairs"
        if self.data.event is not None:
            area, pairs = f", a concordance of {short(fraction)}", "comparable pairs"
            over += f" with {plural(int(np.count_nonzero(self.data.event)), 'event')}"
        right = f"puts {share(fraction)} of {pairs} in the right order{area}{between}"
        return f"{self.data.name} {right}, {over}."

    def _counted(self) -> str:
        """Count the rows, or the pairs if rows have no labels."""
        preferences = self.data.preferences
        if preferences is not None and preferences.values is None:
            return plural(preferences.n_pairs, "pair")
        return plural(self.data.n_labelled, "row")

    def _comparisons(self) -> list[str]:
        found = [one for one in self.differences if one.measure.key in ("error", "concordance")]
        groups = {
            "It is ahead of": [_apart(one) for one in found if one.is_clear and one.gain > 0],
            "It is behind": [_apart(one) for one in found if one.is_clear and one.gain < 0],
            "There is no clear difference from": [one.other for one in found if not one.is_clear],
        }
        return [f"{words} {listed(names, LISTED)}." for words, names in groups.items() if names]

    def _lead(self) -> str:
        ours = self.measures[self.data.name]
        tiles = "".join(_tile(found) for found in ours)
        baseline = paragraph(self.baseline() if ours[0].mean == ours[0].mean else "")
        return (
            f'{cautions(self.data, ours[0])}<p class="lead">{escaped(self.headline())}</p>\n{baseline}'
            f'<dl class="tiles">{tiles}</dl>\n{about(self.data, ours[0], self.about)}\n'
        )

    def _footer(self) -> str:
        plus = "" if self.data.event is None else f" A plus marks a censored time. {DIRECTION}"
        return (
            f"Pairs are {pairs_in_words(self.data.preferences)}; equal "
            f"scores count 1/2.{plus} If the model was fitted to these rows, the measures are optimistic."
        )


def pairs_in_words(preferences: Preferences | None) -> str:
    """Define the pairs and their weights.

    Examples
    --------
    >>> pairs_in_words(Preferences.from_survival([True, False], [1.0, 2.0]))
    'the 1 pair of the given preferences, with its weight'
    """
    if preferences is None or (preferences.orders_labels and preferences.counts_pairs):
        return "rows of one query with different labels"
    given = f"the {plural(preferences.n_pairs, 'pair')} of the given preferences"
    return f"{given}, with {'its weight' if preferences.n_pairs == 1 else 'their weights'}"


def _tile(found: Measured) -> str:
    """Write a measure with its interval, its direction, and the number of queries if it is not all."""
    between = f"{short(found.low)} to {short(found.high)}" if found.low == found.low else "no interval"
    better = "higher is better" if found.measure.higher_is_better else "lower is better"
    partly = found.n_defined < len(found.values)
    over = f", {plural(found.n_defined, 'query')}" if partly else ""
    return (
        f'<div><dt>{escaped(found.measure.name)}</dt><dd data-measure="{escaped(found.measure.key)}" '
        f'data-value="{found.mean!r}">{escaped(short(found.mean))}</dd>'
        f'<dd class="range">{between}</dd><dd class="range">{better}{over}</dd></div>'
    )


def _apart(found: Difference) -> str:
    """Name the other model, with the difference and its p-value."""
    certain = f", p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{found.p:.2g}" if found.p == found.p else ""
    return f"{found.other} ({abs(100 * found.mean):.1f} points{certain})"
