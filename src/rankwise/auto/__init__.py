"""A search over models: linear, curves, learned kernel and boosted trees."""

from rankwise.auto.ranker import AutoRanker

__all__ = ["AutoRanker"]
