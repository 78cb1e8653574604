"""Losses of pairs and of lists in operations of PyTorch: sorts and cumulative sums on any device."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

# The most pairs whose logistic losses are in memory at once.
PAIRS_AT_ONCE = 1 << 22
# Rows of other queries weigh less than exp(-this) in the sums of a query.
APART = 60.0


class Batch(NamedTuple):
    """The rows of a batch.

    Attributes
    ----------
    scores : tensor of shape (n_rows,)
        In double precision, if the device has it.
    labels, weight : tensors of shape (n_rows,)
    query, level : tensors of shape (n_rows,)
        The number of each row's query, and of its label among all labels.
    n_queries : int
    """

    scores: Any
    labels: Any
    weight: Any
    query: Any
    level: Any
    n_queries: int

    @classmethod
    def of(cls, scores: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> Batch:
        """Return a batch on the device of the scores."""
        device = scores.device
        kind = torch.float32 if device.type == "mps" else torch.float64
        labels = torch.as_tensor(y, device=device).reshape(-1).to(kind)
        query = torch.zeros_like(labels, dtype=torch.int64)
        if qid is not None:
            query = torch.unique(torch.as_tensor(qid, device=device).reshape(-1), return_inverse=True)[1]
        weight = torch.ones_like(labels)
        if sample_weight is not None:
            weight = torch.as_tensor(sample_weight, device=device).reshape(-1).to(kind)
        for name, column in (("y", labels), ("qid", query), ("sample_weight", weight)):
            if len(column) != len(scores):
                raise ValueError(f"{name} has {len(column)} entries, but there are {len(scores)} scores.")
        level = torch.unique(labels, return_inverse=True)[1]
        n_queries = int(query.max()) + 1 if len(query) else 0
        return cls(scores.to(kind), labels, weight, query, level, n_queries)

    def by_query(self, values: Any) -> Any:
        """Sum values of rows per query."""
        return torch.zeros(self.n_queries, dtype=values.dtype, device=values.device).index_add(
            0, self.query, values
        )

    def by_level(self, values: Any) -> Any:
        """Return for each row the sum of values over the rows of its query with its label."""
        key = torch.unique(self.query * (self.level.max() + 1) + self.level, return_inverse=True)[1]
        n_keys = int(key.max()) + 1
        sums = torch.zeros(n_keys, dtype=values.dtype, device=values.device).index_add(0, key, values)
        return sums[key]

    def centred(self) -> Batch:
        """Return the batch with the mean score of each query 0: it cancels in all pairs."""
        sizes = self.by_query(torch.ones_like(self.scores)).clamp(min=1)
        mean = self.by_query(self.scores.detach()) / sizes
        return self._replace(scores=self.scores - mean[self.query])

    def pair_weight(self) -> Any:
        """Return the weight of the pairs of each query."""
        total = self.by_query(self.weight)
        return 0.5 * (total**2 - self.by_query(self.weight * self.by_level(self.weight)))

    def mean(self, sums: Any, total: Any, average: str) -> Any:
        """Return the mean from the sums of queries and their weights; 0 of none."""
        known = total > 0
        if average == "pairs":
            return sums.sum() / total.sum() if bool(known.any()) else sums.sum() * 0.0
        means = torch.where(known, sums / torch.where(known, total, torch.ones_like(total)), 0.0 * sums)
        return means.sum() / known.sum().clamp(min=1)


def violated(batch: Batch, power: int) -> Any:
    """Return the sum over the pairs of each query of max(0, 1 - d)^power, d = s_better - s_worse.

    The numbers of two labels differ first in one of their bits. For each bit, rows that agree in the bits
    before it are sorted by the score, less 1 for the rows above: cumulative sums are over the violated
    partners. O(m log m) per bit, and as many bits as the number of labels has.
    """
    rows, total = batch.centred(), 0.0
    n_bits = max(1, int(batch.level.max()).bit_length())
    for bit in range(n_bits):
        is_above = ((rows.level >> bit) & 1).bool()
        key = (rows.query << (n_bits + 1)) + (rows.level >> (bit + 1))
        total = total + _of_bit(rows, key, is_above, power)
    return rows.by_query(total)


def _of_bit(rows: Batch, key: Any, is_above: Any, power: int) -> Any:
    """Return for each row above the sum over the violated rows below of its key."""
    limit = rows.scores.detach() - is_above.to(rows.scores.dtype)
    order = torch.argsort(limit, stable=True)
    order = order[torch.argsort(key[order], stable=True)]
    s, above, group = rows.scores[order], is_above[order], key[order]
    below = torch.where(above, 0.0, rows.weight[order])
    last = torch.searchsorted(group.contiguous(), group.contiguous(), right=True) - 1
    found = []
    for moment in range(power + 1):
        sums = torch.cumsum(below * s**moment, 0)
        found.append(sums[last] - sums)  # over the rows of the key with a higher limit
    margin = 1.0 - s
    value = found[0] * margin + found[1]
    if power == 2:
        value = found[0] * margin**2 + 2.0 * margin * found[1] + found[2]
    value = torch.where(above, rows.weight[order] * value, 0.0)
    return torch.zeros_like(value).index_add(0, order, value)


def squares(batch: Batch, cost: str) -> Any:
    """Return the sum over the pairs of each query of (d - t)^2, with t the difference of labels or 1."""
    rows = batch.centred()
    residual = rows.scores - rows.labels if cost == "magnitude" else rows.scores
    weight = rows.weight
    total, first, second = (rows.by_query(weight * residual**k) for k in range(3))
    of_level, level_first = rows.by_level(weight), rows.by_level(weight * residual)
    tied = rows.by_query(weight * (of_level * residual**2 - residual * level_first))
    apart = total * second - first**2 - tied
    if cost == "magnitude":
        return apart
    # The sum of d: each score times what is below it less what is above it.
    order = torch.argsort(rows.level, stable=True)
    order = order[torch.argsort(rows.query[order], stable=True)]
    sums = torch.cumsum(weight[order], 0)
    key = (rows.query * (rows.level.max() + 1) + rows.level)[order].contiguous()
    query = rows.query[order].contiguous()
    padded = torch.cat([torch.zeros_like(sums[:1]), sums])
    below = padded[torch.searchsorted(key, key)] - padded[torch.searchsorted(query, query)]
    above = (
        padded[torch.searchsorted(query, query, right=True)]
        - padded[torch.searchsorted(key, key, right=True)]
    )
    net = torch.zeros_like(sums).index_add(0, order, below - above)
    return apart - 2.0 * rows.by_query(weight * rows.scores * net) + rows.pair_weight()


class _Logistic(torch.autograd.Function):
    """The sum over the pairs of each query of log(1 + exp(-d)), pair by pair in pieces."""

    @staticmethod
    def forward(ctx: Any, scores: Any, rows: Batch) -> Any:
        order = torch.argsort(rows.query, stable=True)
        s, weight, level, query = (
            column[order] for column in (scores, rows.weight, rows.level, rows.query.contiguous())
        )
        begin = torch.searchsorted(query.contiguous(), query.contiguous()).tolist()
        end = torch.searchsorted(query.contiguous(), query.contiguous(), right=True).tolist()
        losses, slopes, start = torch.zeros_like(s), torch.zeros_like(s), 0
        while start < len(s):
            first, stop = begin[start], start + 1
            while stop < len(s) and (stop + 1 - start) * (end[stop] - first) <= PAIRS_AT_ONCE:
                stop += 1
            mine, others = slice(start, stop), slice(first, end[stop - 1])
            pairs = weight[mine, None] * weight[None, others]
            pairs = pairs * (query[mine, None] == query[None, others])
            pairs = pairs * (level[mine, None] > level[None, others])
            d = s[mine, None] - s[None, others]
            losses[mine] = (pairs * torch.nn.functional.softplus(-d)).sum(1)
            push = pairs * torch.sigmoid(-d)
            slopes[mine] -= push.sum(1)
            slopes[others] += push.sum(0)
            start = stop
        by_row = torch.zeros_like(losses).index_add(0, order, losses)
        ctx.save_for_backward(torch.zeros_like(slopes).index_add(0, order, slopes), rows.query)
        return rows.by_query(by_row)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Any) -> Any:
        slopes, query = ctx.saved_tensors
        return slopes * slope[query], None


def chosen(batch: Batch) -> tuple[Any, Any]:
    """Return the sums over the choices of each query of the Plackett-Luce loss, and their weights.

    One cumulative sum of exponentials serves all queries: each is lifted far above the one before.
    """
    known = batch.weight > 0
    columns = ("scores", "labels", "weight", "query", "level")
    rows = batch._replace(**{name: getattr(batch, name)[known] for name in columns})
    order = torch.argsort(rows.level, stable=True)
    order = order[torch.argsort(rows.query[order], stable=True)]
    s, weight, query = rows.scores[order], rows.weight[order], rows.query[order].contiguous()
    unit = weight.min().clamp(max=1.0) if len(weight) else 1.0
    size = s + torch.log(weight / unit)
    spread = (size.max() - size.min()).detach() + APART if len(size) else 0.0
    lift = spread * query
    key = (query * (rows.level.max() + 1 if len(query) else 1) + rows.level[order]).contiguous()
    risk = torch.logcumsumexp(size + lift, 0)[torch.searchsorted(key, key, right=True) - 1] - lift
    lowest = key[torch.searchsorted(query, query)]
    event = torch.where(key > lowest, weight, 0.0)
    sums = torch.zeros(batch.n_queries, dtype=s.dtype, device=s.device)
    return sums.index_add(0, query, event * (risk - s)), sums.index_add(0, query, event)


class DeviceLoss(torch.nn.Module):
    """Mean of a loss over all pairs, or choices, of a batch, on the device of the scores.

    Created by `rankwise.objectives.torch(on_device=True)`.
    """

    def __init__(self, loss: str, average: str, cost: str):
        super().__init__()
        self.loss, self.average, self.cost = loss, average, cost

    def extra_repr(self) -> str:
        """Return the options for the repr of the module."""
        return f"loss={self.loss!r}, average={self.average!r}, on_device=True"

    def forward(self, scores: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> Any:
        """Return the mean loss, a tensor without dimensions.

        Parameters
        ----------
        scores : tensor of shape (n_rows,) or (n_rows, 1)
        y : tensor, array or list of shape (n_rows,)
            Labels; higher is better.
        qid : tensor, array or list of numbers of shape (n_rows,), optional
            The query of each row.
        sample_weight : tensor, array or list of shape (n_rows,), optional
            Give padding the weight 0.
        """
        column = scores.reshape(-1)
        batch = Batch.of(column, y, qid, sample_weight)
        if not len(column):
            return column.sum()
        if self.loss == "plackett-luce":
            sums, total = chosen(batch)
        else:
            sums, total = self._sums(batch), batch.pair_weight()
        kind = torch.promote_types(scores.dtype, torch.float32)
        return batch.mean(sums, total, self.average).to(kind)

    def _sums(self, batch: Batch) -> Any:
        if self.loss == "logistic":
            return _Logistic.apply(batch.scores, batch)
        if self.loss == "least_squares":
            return squares(batch, self.cost)
        return violated(batch, 2 if self.loss == "squared_hinge" else 1)

    def of_pairs(self, chosen: Any, rejected: Any, weight: Any = None) -> Any:
        """Return the mean loss over pairs: `chosen[k]` and `rejected[k]` are the scores of pair k.

        Parameters
        ----------
        chosen, rejected : tensors of shape (n_pairs,) or (n_pairs, 1)
        weight : tensor, array or list of shape (n_pairs,), optional
        """
        d = chosen.reshape(-1) - rejected.reshape(-1)
        of_pair = {
            "hinge": lambda d: torch.relu(1.0 - d),
            "squared_hinge": lambda d: torch.relu(1.0 - d) ** 2,
            "least_squares": lambda d: (d - 1.0) ** 2,
        }.get(self.loss, lambda d: torch.nn.functional.softplus(-d))(d)
        if weight is None:
            return of_pair.mean() if len(d) else of_pair.sum()
        weight = torch.as_tensor(weight, device=d.device).reshape(-1).to(d.dtype)
        total = weight.sum()
        return (weight * of_pair).sum() / torch.where(total > 0, total, torch.ones_like(total))
