"""The losses for networks, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankwise._checks import check_choice, check_count
from rankwise.losses import LOSSES, LeastSquares, PairwiseLoss
from rankwise.losses.least_squares import COSTS
from rankwise.preferences.base import AVERAGES, Preferences

NAMES = (*LOSSES, "least_squares")


@dataclass(frozen=True)
class NamedLoss:
    """A loss that waits for its preferences, its options checked."""

    name: str
    average: str
    cost: str
    n_threads: int

    def __post_init__(self) -> None:
        check_choice(self.name, "loss", NAMES)
        check_choice(self.average, "average", AVERAGES)
        check_choice(self.cost, "cost", COSTS)
        check_count("n_threads", self.n_threads)

    def of(self, preferences: Preferences) -> PairwiseLoss:
        """Return the mean loss over the pairs of `preferences`."""
        options: dict[str, Any] = {"average": self.average, "n_threads": self.n_threads}
        if self.name == "least_squares":
            return LeastSquares(preferences, cost=self.cost, **options)
        return LOSSES[self.name](preferences, **options)


def torch(
    preferences: Preferences | None = None,
    *,
    loss: str = "logistic",
    average: str = "queries",
    cost: str = "magnitude",
    n_threads: int = 1,
) -> Any:
    """Return the mean of a pairwise loss over all pairs of a batch, as a module of PyTorch.

    `module(scores, y, qid=None, sample_weight=None)` is the loss of the scores of a batch: one query, several,
    or all rows. It costs O(m) for m scores with the logistic loss or least squares and O(m log m) with the
    hinge losses; no pair is visited or sampled. `module.of_pairs(chosen, rejected, weight=None)` is the loss of
    pairs whose two scores are at the same place of two tensors.

    Parameters
    ----------
    preferences : Preferences, optional
        Those of all calls, for scores of the same rows each time: then `module(scores)` does not sort the labels
        again. A `y` that is a `Preferences` (such as a slice of one) serves a single call.
    loss : "logistic", "squared_hinge", "hinge" or "least_squares"
        See `rankwise.losses`.
    average : "queries" or "pairs"
        The mean over the queries of the batch of each query's mean, or the mean over all its pairs.
    cost : "magnitude", "unit" or "relative"
        What `loss="least_squares"` asks of the difference of two scores: see `LeastSquares`.
    n_threads : int
        Has no influence on the result.

    Returns
    -------
    module : torch.nn.Module
        It has no parameters of its own.

    Notes
    -----
    Scores have the shape (n_rows,) or (n_rows, 1) and any floating-point type, on any device. The loss is computed
    on the CPU in float64; the gradient comes back on the device and in the type of the scores, and so does the
    value, except that it is in float32 where scores have half precision. Labels, queries and weights may be tensors,
    arrays or lists.

    Both derivatives are exact. The second, for gradients of gradients, is that of Newton's method where the
    squared hinge has a kink, and zero for the hinge.

    A batch without pairs (one row, equal labels, weights of zero) has the loss 0 and a gradient of zeros, so that
    it does not end an epoch; `preferences` without pairs are refused. Queries without pairs are left out of the mean.

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
    return PairLoss(NamedLoss(loss, average, cost, n_threads), preferences)
