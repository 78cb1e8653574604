"""Linear models for the Learning to Rank plugins of Elasticsearch and OpenSearch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rankwise.export.linear import linear_scorer
from rankwise.export.normalizers import EngineFeature, engine_features


def elasticsearch_model(
    model: Any,
    *,
    format: str = "elasticsearch",
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
) -> str:
    """Return the body of `POST _ltr/_featureset/<feature set>/_createmodel`, a `model/linear` definition.

    The names of the features are those of the feature set. A scaler becomes `feature_normalizers` (`min_max`
    for MinMaxScaler, `standard` for others that shift) or a part of the weights (scalers that do not shift),
    so that scores are kept, up to the single precision that the plugin computes in. Only where single
    precision cannot hold a normalizer, its constant is dropped: this changes all scores alike, and no order.
    """
    features = engine_features(linear_scorer(model, format, feature_names, output))
    content: dict[str, Any] = {
        "type": "model/linear",
        "definition": {feature.name: feature.weight for feature in features},
    }
    normalizers = {feature.name: _normalizer(feature) for feature in features if feature.has_normalizer}
    if normalizers:
        content["feature_normalizers"] = normalizers
    body = {"model": {"name": model_name, "model": content}}
    return json.dumps(body, indent=2, allow_nan=False) + "\n"


def _normalizer(feature: EngineFeature) -> dict[str, Any]:
    if feature.min_max:
        return {"min_max": {"minimum": feature.shift, "maximum": feature.maximum}}
    return {"standard": {"mean": feature.shift, "standard_deviation": feature.scale}}
