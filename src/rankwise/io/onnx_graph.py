"""An ONNX graph under construction."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

OPSET = 17
IR_VERSION = 8


class Graph:
    """The nodes and constants of a graph, and the type in which it computes."""

    def __init__(self, dtype: str) -> None:
        self.onnx = _onnx()
        self.interface = self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operation: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operation; return the name of its result."""
        result = name or f"value_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [result], **attributes))
        return result

    def constant(self, values: ArrayLike, dtype: str | None = None) -> str:
        """Add a constant; return its name."""
        with np.errstate(over="ignore"):
            array = np.ascontiguousarray(values, dtype=dtype or self.dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"A number of the model overflows {self.dtype}; use dtype='float64'.")
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array.reshape(np.shape(values)), name))
        return name

    def unfused(self, value: str) -> str:
        """Return the same value, as a barrier between a single factor and the next product.

        onnxruntime would fuse the two, and it stores the factor as float32, whatever the type of the model.
        """
        return self.node("Max", value, self.constant(-np.finfo(self.dtype).max))

    def to_float64(self, value: str) -> str:
        """Compute in float64 from here on; return the value in that type."""
        self.dtype = "float64"
        if self.interface == "float64":
            return value
        return self.node("Cast", value, to=self.onnx.TensorProto.DOUBLE)

    def serialised(self, n_features: int, outputs: tuple[int, ...], title: str, names: list[str]) -> bytes:
        """Return the graph as a checked model."""
        helper = self.onnx.helper
        kind = getattr(self.onnx.TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}[self.interface])
        graph = helper.make_graph(
            self.nodes,
            title,
            [helper.make_tensor_value_info("X", kind, ["rows", n_features])],
            [helper.make_tensor_value_info("scores", kind, ["rows", *outputs])],
            self.constants,
        )
        opset = [helper.make_opsetid("", OPSET)]
        proto = helper.make_model(graph, opset_imports=opset, producer_name="rankwise", ir_version=IR_VERSION)
        helper.set_model_props(proto, {"feature_names": json.dumps(names)})
        self.onnx.checker.check_model(proto, full_check=True)
        return bytes(proto.SerializeToString())


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ImportError("Format 'onnx' needs the package onnx: pip install 'rankwise[onnx]'.") from None
    return onnx
