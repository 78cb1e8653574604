"""How sure is it: standard errors of weights, influence of rows and queries, and ranges of ranks."""

from rankwise.core.lazy import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.uncertainty.inference": [
            "Differences",
            "Inference",
            "Influential",
            "RankRanges",
            "WaldTest",
        ],
        "rankwise.uncertainty.influence": ["Influence"],
    },
)
