"""Pairwise losses for PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankwise.core.checks import check_choice, check_count
from rankwise.losses import OBJECTIVES, PairwiseLoss, loss_class, loss_over
from rankwise.losses.least_squares import COSTS
from rankwise.preferences.base import AVERAGES, Preferences

# Losses in operations of PyTorch.
ON_DEVICE = ("logistic", "squared_hinge", "hinge", "least_squares", "plackett-luce")


@dataclass(frozen=True)
class NamedLoss:
    """A loss, by name or as an object, with checked options, to be applied to preferences."""

    loss: Any
    average: str
    cost: str
    n_threads: int

    def __post_init__(self) -> None:
        loss_class(self.loss, OBJECTIVES)
        check_choice(self.average, "average", AVERAGES)
        check_choice(self.cost, "cost", COSTS)
        check_count("n_threads", self.n_threads)

    def of(self, preferences: Preferences) -> PairwiseLoss:
        """Return the mean loss over the pairs of `preferences`."""
        options: dict[str, Any] = {"average": self.average, "n_threads": self.n_threads}
        if isinstance(self.loss, str) and self.loss == "least_squares":
            options["cost"] = self.cost
        return loss_over(self.loss, preferences, OBJECTIVES, **options)


def torch(
    preferences: Preferences | None = None,
    *,
    loss: str | PairwiseLoss = "logistic",
    average: str = "queries",
    cost: str = "magnitude",
    n_threads: int = 1,
    on_device: bool = False,
) -> Any:
    """Return the mean of a pairwise loss over all pairs of a batch, as a module of PyTorch.

    `module(scores, y, qid=None, sample_weight=None)` is the loss of the scores of a batch: one query,
    several, or all rows. For m scores it costs O(m) with the logistic loss and O(m log m) with the hinge
    losses, plus a sort of the labels; pairs are neither enumerated nor sampled. `module.of_pairs(chosen,
    rejected, weight=None)` is the loss of pairs whose scores have the same index in two tensors.

    Parameters
    ----------
    preferences : Preferences, optional
        Used by every call `module(scores)`, if the rows are always the same; labels are then sorted once.
        For a single call, pass a `Preferences`, such as a slice of one, as `y`.
    loss : "logistic", "squared_hinge", "hinge", "huber_hinge", "least_squares", "plackett-luce" or an object
        See `rankwise.losses`.
    average : "queries" or "pairs"
        The mean over the queries of the batch of each query's mean, or the mean over all its pairs.
    cost : "magnitude", "unit" or "relative"
        The target of `loss="least_squares"` for the difference of two scores: see `LeastSquares`.
    n_threads : int
        The result does not depend on it.
    on_device : bool
        Compute the loss in operations of PyTorch on the device of the scores, without copying them to the
        CPU: "hinge" and "squared_hinge" in O(m log m) for each bit of the number of labels,
        "least_squares" and "plackett-luce" in O(m log m), and "logistic" pair by pair in pieces, with O(m)
        memory. `preferences` must be None then. Sums are in float64, or float32 if the device has no other.

    Returns
    -------
    module : torch.nn.Module
        It has no trainable parameters.

    Notes
    -----
    Scores have the shape (n_rows,) or (n_rows, 1) and any floating-point type, on any device. Unless
    `on_device` is true, the loss is computed on the CPU in float64. Value and gradient have the device and
    the type of the scores, except that the value of half-precision scores is float32. Labels, queries and
    weights may be tensors, arrays or lists.

    The gradient is differentiable once more, except for "logistic" and "plackett-luce" with `on_device`. The
    second derivative of the squared hinge is piecewise constant, and that of the hinge is zero. Third
    derivatives are not available.

    A batch without pairs (one row, equal labels, zero weights) has loss 0 and a zero gradient, so it does not
    interrupt an epoch; `preferences` without pairs raise an error. Queries without pairs are excluded from
    the mean.

    Examples
    --------
    >>> import torch
    >>> from rankwise import objectives
    >>> loss = objectives.torch(loss="squared_hinge")
    >>> scores = torch.tensor([0.5, 0.0, 0.0], requires_grad=True)
    >>> value = loss(scores, [1, 0, 1], qid=["a", "a", "b"])
    >>> value.backward()
    >>> value.item(), scores.grad.tolist()
    (0.25, [-1.0, 1.0, 0.0])
    >>> loss.of_pairs(chosen=scores[:1], rejected=scores[1:2]).item()
    0.25
    """
    try:
        from rankwise.objectives.pytorch import PairLoss
    except ModuleNotFoundError:
        raise ImportError("objectives.torch needs PyTorch: pip install 'rankwise[torch]'.") from None
    named = NamedLoss(loss, average, cost, n_threads)
    if not on_device:
        return PairLoss(named, preferences)
    if preferences is not None:
        raise ValueError("preferences must be None with on_device=True: pass labels with the scores.")
    check_choice(loss, "loss, with on_device=True,", ON_DEVICE)
    check_choice(cost, "cost, with on_device=True,", ("magnitude", "unit"))
    from rankwise.objectives.on_device import DeviceLoss

    return DeviceLoss(str(loss), average, cost)
