"""A pairwise loss as a module of PyTorch, with its first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.losses import PairwiseLoss, Smooth
from rankwise.objectives.networks import NamedLoss
from rankwise.preferences import NoPairsError, Preferences


class PairLoss(torch.nn.Module):
    """Mean of a pairwise loss over all pairs of a batch; created by `rankwise.objectives.torch`."""

    def __init__(self, named: NamedLoss, preferences: Preferences | None = None):
        super().__init__()
        if preferences is not None and not isinstance(preferences, Preferences):
            raise TypeError(
                f"preferences must be a Preferences or None; got {preferences!r}. Name the loss with "
                "loss=..., and pass labels with the scores."
            )
        self.named = named
        self.loss = None if preferences is None else named.of(preferences)

    def extra_repr(self) -> str:
        """Return the options for the repr of the module."""
        options = f"loss={self.named.loss!r}, average={self.named.average!r}"
        return options if self.loss is None else f"{self.loss.preferences!r}, {options}"

    def forward(self, scores: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Any:
        """Return the mean loss over the pairs of a batch, a tensor without dimensions.

        Parameters
        ----------
        scores : tensor of shape (n_rows,) or (n_rows, 1)
        y : tensor, array or list of shape (n_rows,), or Preferences
            Labels; higher is better. None if the module was created with preferences.
        qid : tensor, array or list of shape (n_rows,), optional
            The query of each row.
        sample_weight : tensor, array or list of shape (n_rows,), optional
            The weight of a pair is the product of its rows' weights. Give padding the weight 0.
        """
        column = _as_column(scores, "scores")
        if self.loss is None:
            return self._mean(column, lambda: _preferences(len(column), y, qid, sample_weight))
        if not (y is None and qid is None and sample_weight is None):
            raise ValueError("y, qid and sample_weight must be None: this loss was created with preferences.")
        return _Value.apply(column, self.loss)[0]

    def of_pairs(self, chosen: Any, rejected: Any, weight: Any = None) -> Any:
        """Return the mean loss over pairs: `chosen[k]` and `rejected[k]` are the scores of pair k.

        Parameters
        ----------
        chosen, rejected : tensors of shape (n_pairs,) or (n_pairs, 1)
        weight : tensor, array or list of shape (n_pairs,), optional
        """
        if self.loss is not None:
            raise ValueError("of_pairs needs a loss that was created without preferences.")
        above, below = _as_column(chosen, "chosen"), _as_column(rejected, "rejected")
        if len(above) != len(below):
            raise ValueError(f"chosen has {len(above)} scores and rejected {len(below)}; they must match.")
        first, second = np.arange(2 * len(above)).reshape(2, -1)
        return self._mean(
            torch.cat([above, below]),
            lambda: Preferences.from_pairs(first, second, weight=_weights(weight, "weight", len(above))),
        )

    def _mean(self, scores: Any, preferences: Callable[[], Preferences]) -> Any:
        try:
            loss: Any = self.named.of(preferences())
        except NoPairsError:
            loss = None
        return _Value.apply(scores, loss)[0]


class _Value(torch.autograd.Function):
    """The loss and its derivative with respect to each score; None as the loss means no pairs."""

    @staticmethod
    def forward(scores: Any, loss: PairwiseLoss | None) -> Any:
        value, coefficients = 0.0, np.zeros(len(scores))
        if loss is not None:
            value, coefficients = loss.value_and_coefficients(_as_numbers(scores))
        # Half precision would overflow if a gradient scaler multiplies the loss.
        kind = torch.promote_types(scores.dtype, torch.float32)
        return scores.new_tensor(value, dtype=kind), torch.from_numpy(coefficients)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.loss = inputs[1]
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx: Any, slope: Any, _: Any) -> Any:
        scores, coefficients = ctx.saved_tensors
        return _Gradient.apply(scores, slope, coefficients, ctx.loss), None


class _Gradient(torch.autograd.Function):
    """The gradient of the loss times a slope, in float64: in half precision it would underflow."""

    @staticmethod
    def forward(scores: Any, slope: Any, coefficients: Any, loss: PairwiseLoss | None) -> Any:
        return _back(_as_double(slope) * coefficients, scores)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        *tensors, ctx.loss = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, direction: Any) -> Any:
        return *_Curvature.apply(*ctx.saved_tensors, direction, ctx.loss), None, None


class _Curvature(torch.autograd.Function):
    """The derivatives of gradient times direction with respect to the scores and the slope."""

    @staticmethod
    def forward(scores: Any, slope: Any, coefficients: Any, direction: Any, loss: PairwiseLoss | None) -> Any:
        by_scores = torch.zeros_like(scores)
        if isinstance(loss, Smooth):
            product = loss.hessian(_as_numbers(scores)).product(_as_numbers(direction))
            by_scores = _back(_as_double(slope) * torch.from_numpy(product), scores)
        return by_scores, _back(_as_double(direction) @ coefficients, slope)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Store nothing: there is no backward pass."""

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        raise NotImplementedError(
            "Pairwise losses have first and second derivatives, but a third was requested."
        )


def _as_column(scores: Any, name: str) -> Any:
    """Return scores as a one-dimensional tensor that is tracked by autograd."""
    if not isinstance(scores, torch.Tensor) or not scores.is_floating_point():
        kind = scores.dtype if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise TypeError(f"{name} must be a tensor of floating-point numbers; got {kind}.")
    if scores.ndim == 2 and scores.shape[1] == 1:
        return scores[:, 0]
    if scores.ndim != 1:
        raise ValueError(
            f"{name} must have the shape (n_rows,) or (n_rows, 1); got {tuple(scores.shape)}. Flatten a "
            "batch of lists, name the list of each score by qid, and give padding the sample_weight 0."
        )
    return scores


# Types are converted on the CPU: some devices do not support float64.
def _as_double(tensor: Any) -> Any:
    return tensor.detach().cpu().double()


def _back(tensor: Any, like: Any) -> Any:
    return tensor.to(like.dtype).to(like.device)


def _as_numbers(tensor: Any) -> FloatVector:
    return _as_double(tensor).numpy()


def _on_cpu(values: Any) -> Any:
    """Return a tensor as an array, and other values unchanged."""
    if not isinstance(values, torch.Tensor):
        return values
    return _as_numbers(values) if values.is_floating_point() else values.detach().cpu().numpy()


def _weights(values: Any, name: str, length: int) -> Any:
    """Return weights as an array; raise NoPairsError if all are 0."""
    if values is None:
        return None
    weights = as_vector(_on_cpu(values), name, length)
    if not weights.any():
        raise NoPairsError(f"{name} is zero for every row.")
    return weights


def _preferences(n_rows: int, y: Any, qid: Any, sample_weight: Any) -> Preferences:
    if y is None:
        raise ValueError(
            "y is missing: pass labels or a Preferences with the scores, or create the loss with preferences."
        )
    weight = _weights(sample_weight, "sample_weight", n_rows)
    if not isinstance(y, Preferences):
        return Preferences.from_scores(as_vector(_on_cpu(y), "y", n_rows), _on_cpu(qid), weight)
    if qid is not None:
        raise ValueError("qid must be None when y is a Preferences: pass the queries to from_scores.")
    return y if weight is None else y.weighted(weight)
