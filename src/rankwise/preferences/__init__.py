"""Preference structures: which row should be above which."""

from rankwise.preferences.base import FewRowsError, NoPairsError, Pairs, Preferences
from rankwise.preferences.click_pairs import estimate_propensities, from_clicks
from rankwise.preferences.hierarchy import Outcome, from_hierarchy
from rankwise.preferences.order_graph import from_order
from rankwise.preferences.pair_list import from_pairs, pair_data
from rankwise.preferences.propensities import Propensities
from rankwise.preferences.scores import as_preferences, from_scores, qid_from_sizes
from rankwise.preferences.survival import from_survival

__all__ = [
    "FewRowsError",
    "NoPairsError",
    "Outcome",
    "Pairs",
    "Preferences",
    "Propensities",
    "as_preferences",
    "estimate_propensities",
    "pair_data",
    "qid_from_sizes",
]

# A constructor makes a subclass, so it is defined after the base class and put on it here.
for constructor in (from_scores, from_survival, from_pairs, from_order, from_clicks, from_hierarchy):
    setattr(Preferences, constructor.__name__, staticmethod(constructor))
