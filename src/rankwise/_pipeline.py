"""What models share with a pipeline of scikit-learn that ends in one."""

from __future__ import annotations

from typing import Any


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model
