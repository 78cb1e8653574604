"""What search engines can say of scaling: (x - shift) / scale for each feature, in single precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.export.linear import LinearScorer

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class EngineFeature:
    """A feature as a search engine stores it: its weight, and its normalizer where one is needed."""

    name: str
    weight: float
    shift: float = 0.0
    scale: float = 1.0
    min_max: bool = False

    @property
    def has_normalizer(self) -> bool:
        """Return whether there is more than a weight."""
        return self.shift != 0.0 or self.scale != 1.0

    @property
    def maximum(self) -> float:
        """The value that a min-max normalizer takes to 1; `shift` is the one that it takes to 0."""
        return self.shift + self.scale


def engine_features(scorer: LinearScorer) -> list[EngineFeature]:
    """Return each feature with its weight and normalizer.

    A scaling that does not shift goes into the weight. Where single precision cannot hold a normalizer, the
    scaling goes into the weight too and its constant, which is the same for all rows, is dropped: scores
    change, orders do not.
    """
    slopes, offsets = scorer.composed()
    min_max = len(scorer.scalings) == 1 and scorer.scalings[0].min_max
    columns = zip(scorer.names, scorer.weights.tolist(), slopes.tolist(), offsets.tolist(), strict=True)
    return [_feature(*column, min_max) for column in columns]


def _feature(name: str, weight: float, slope: float, offset: float, min_max: bool) -> EngineFeature:
    with np.errstate(all="ignore"):
        shift, scale = float(np.divide(-offset, slope)), float(np.divide(1.0, slope))
    feature = EngineFeature(name, weight, shift, scale, min_max and _keeps_spread(shift, scale))
    representable = abs(shift) <= LARGEST and SMALLEST <= scale <= LARGEST and abs(weight) <= LARGEST
    if offset == 0.0 or not representable:
        feature = EngineFeature(name, weight * slope)
    if not abs(feature.weight) <= LARGEST:
        raise ValueError(
            f"The weight of feature {name!r} is {feature.weight:g}, and search engines compute in single "
            f"precision, where numbers end at {LARGEST:.2g}: scale the features before fitting."
        )
    return feature


def _keeps_spread(minimum: float, spread: float) -> bool:
    """Return whether minimum and maximum are far enough apart for their difference in single precision."""
    with np.errstate(all="ignore"):
        rounded = np.float32(minimum + spread) - np.float32(minimum)
    return bool(abs(float(rounded) - spread) < 1e-6 * spread)
