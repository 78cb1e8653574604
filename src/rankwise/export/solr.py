"""Linear models for Apache Solr's Learning To Rank module."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rankwise.export.linear import linear_scorer
from rankwise.export.normalizers import EngineFeature, engine_features


def solr_model(
    model: Any,
    *,
    format: str = "solr",
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
    feature_store: str | None = None,
) -> str:
    """Return the JSON of an `org.apache.solr.ltr.model.LinearModel`, for `PUT .../schema/model-store`.

    The names of the features are those of Solr's feature store. A scaler becomes the normalizers of the
    features (`MinMaxNormalizer` for MinMaxScaler, `StandardNormalizer` for others that shift) or a part of
    the weights (scalers that do not shift), so that scores are kept, up to the single precision that Solr
    computes in. Only where single precision cannot hold a normalizer, its constant is dropped: this changes
    all scores alike, and no order.
    """
    features = engine_features(linear_scorer(model, format, feature_names, output))
    content: dict[str, Any] = {"class": "org.apache.solr.ltr.model.LinearModel", "name": model_name}
    if feature_store is not None:
        content["store"] = feature_store
    content["features"] = [_described(feature) for feature in features]
    content["params"] = {"weights": {feature.name: feature.weight for feature in features}}
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _described(feature: EngineFeature) -> dict[str, Any]:
    if not feature.has_normalizer:
        return {"name": feature.name}
    kind = "MinMaxNormalizer" if feature.min_max else "StandardNormalizer"
    limits = (
        {"min": feature.shift, "max": feature.maximum}
        if feature.min_max
        else {"avg": feature.shift, "std": feature.scale}
    )
    params = {key: repr(value) for key, value in limits.items()}  # Solr sets them from strings
    return {"name": feature.name, "norm": {"class": f"org.apache.solr.ltr.norm.{kind}", "params": params}}
