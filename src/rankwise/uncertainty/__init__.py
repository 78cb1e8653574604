"""How sure is it: standard errors of weights, influence of rows and queries, and ranges of ranks."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.uncertainty.inference import (
        Differences as Differences,
        Inference as Inference,
        Influential as Influential,
        RankRanges as RankRanges,
        WaldTest as WaldTest,
    )
    from rankwise.uncertainty.influence import Influence as Influence

__getattr__, __dir__, __all__ = lazy_imports(__name__)
