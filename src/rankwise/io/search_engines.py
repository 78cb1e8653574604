"""Linear models for the learning-to-rank modules of Apache Solr, Elasticsearch and OpenSearch.

These normalize a feature by (x - shift) / scale, in single precision.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.estimators.scaling import composed
from rankwise.io.terms import Terms

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).tiny)


def solr_model(terms: Terms, model_name: str, *, feature_store: str | None = None) -> str:
    """Return the JSON of an `org.apache.solr.ltr.model.LinearModel`, for `PUT .../schema/model-store`.

    The names of the features are those of Solr's feature store. A scaler becomes normalizers of the features
    (`MinMaxNormalizer` for MinMaxScaler, `StandardNormalizer` for others that shift) or a part of the weights
    (scalers that do not shift), so that scores agree up to Solr's single precision. If a normalizer is out of
    the range of single precision, its constant is dropped: all scores shift alike and the order stays.
    """
    features = _features(terms)
    content: dict[str, Any] = {"class": "org.apache.solr.ltr.model.LinearModel", "name": model_name}
    if feature_store is not None:
        content["store"] = feature_store
    content["features"] = [_solr_feature(feature) for feature in features]
    content["params"] = {"weights": {feature.name: feature.weight for feature in features}}
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def elasticsearch_model(terms: Terms, model_name: str) -> str:
    """Return the body of `POST _ltr/_featureset/<feature set>/_createmodel`, a `model/linear` definition.

    The names of the features are those of the feature set. A scaler becomes `feature_normalizers` (`min_max`
    for MinMaxScaler, `standard` for others that shift) or a part of the weights, as for Solr.
    """
    features = _features(terms)
    content: dict[str, Any] = {
        "type": "model/linear",
        "definition": {feature.name: feature.weight for feature in features},
    }
    normalizers = {
        feature.name: _elasticsearch_normalizer(feature) for feature in features if feature.has_normalizer
    }
    if normalizers:
        content["feature_normalizers"] = normalizers
    body = {"model": {"name": model_name, "model": content}}
    return json.dumps(body, indent=2, allow_nan=False) + "\n"


@dataclass(frozen=True)
class _Feature:
    """A feature as a search engine stores it: its weight, and its normalizer if it has one."""

    name: str
    weight: float
    shift: float = 0.0
    scale: float = 1.0
    min_max: bool = False

    @property
    def has_normalizer(self) -> bool:
        return self.shift != 0.0 or self.scale != 1.0

    @property
    def maximum(self) -> float:
        """The value that a min-max normalizer maps to 1; it maps `shift` to 0."""
        return self.shift + self.scale


def _solr_feature(feature: _Feature) -> dict[str, Any]:
    if not feature.has_normalizer:
        return {"name": feature.name}
    kind = "MinMaxNormalizer" if feature.min_max else "StandardNormalizer"
    limits = (
        {"min": feature.shift, "max": feature.maximum}
        if feature.min_max
        else {"avg": feature.shift, "std": feature.scale}
    )
    params = {key: repr(value) for key, value in limits.items()}  # Solr reads them from strings
    return {"name": feature.name, "norm": {"class": f"org.apache.solr.ltr.norm.{kind}", "params": params}}


def _elasticsearch_normalizer(feature: _Feature) -> dict[str, Any]:
    if feature.min_max:
        return {"min_max": {"minimum": feature.shift, "maximum": feature.maximum}}
    return {"standard": {"mean": feature.shift, "standard_deviation": feature.scale}}


def _features(terms: Terms) -> list[_Feature]:
    """Return each feature with its weight and normalizer; a scaling without shift goes into the weight."""
    slopes, offsets = composed(terms.scalings, len(terms.coef))
    min_max = len(terms.scalings) == 1 and terms.scalings[0].min_max
    columns = zip(terms.names, terms.coef.tolist(), slopes.tolist(), offsets.tolist(), strict=True)
    return [_feature(*column, min_max) for column in columns]


def _feature(name: str, weight: float, slope: float, offset: float, min_max: bool) -> _Feature:
    with np.errstate(all="ignore"):
        shift, scale = float(np.divide(-offset, slope)), float(np.divide(1.0, slope))
    feature = _Feature(name, weight, shift, scale, min_max and _keeps_spread(shift, scale))
    representable = abs(shift) <= LARGEST and SMALLEST <= scale <= LARGEST and abs(weight) <= LARGEST
    if offset == 0.0 or not representable:
        feature = _Feature(name, weight * slope)
    if not abs(feature.weight) <= LARGEST:
        raise ValueError(
            f"The weight of feature {name!r} is {feature.weight:g}, but search engines compute in single "
            f"precision, whose largest number is {LARGEST:.2g}; scale the features before fitting."
        )
    return feature


def _keeps_spread(minimum: float, spread: float) -> bool:
    """Tell whether the difference of maximum and minimum is accurate in single precision."""
    with np.errstate(all="ignore"):
        rounded = np.float32(minimum + spread) - np.float32(minimum)
    return bool(abs(float(rounded) - spread) < 1e-6 * spread)
