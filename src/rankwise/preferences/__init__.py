"""Preference structures: which row should be above which."""

from rankwise.preferences.base import NoPairsError, Pairs, PartnerSums, Preferences, pair_data

__all__ = ["NoPairsError", "Pairs", "PartnerSums", "Preferences", "pair_data"]
