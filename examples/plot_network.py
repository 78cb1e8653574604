"""
A network on all pairs
======================

Trained on all 200 million pairs of 20,000 rows, a small network ranks new rows better than the same network
trained to predict labels, and as well as one trained to predict ranks. Trained on chosen and rejected
answers, it learns a nonlinear quality that a linear reward head cannot represent.

``objectives.torch`` returns a loss module for PyTorch (`pip install '.[torch]'`). It computes loss and
gradient without enumerating pairs, for any network that returns one number per row.
"""

try:
    import torch
except ImportError:
    raise SystemExit("This example needs PyTorch: pip install 'rankwise[torch]'.") from None
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import rankdata, zscore
from sklearn.datasets import make_friedman1

from rankwise import Preferences, objectives
from rankwise.metrics import ranking_error

torch.set_num_threads(1)

# %%
# The labels are noisy and skewed, as prices and waiting times are. Only their order matters here.

X, y = make_friedman1(25_000, noise=3.0, random_state=0)
y = np.exp(y / 5)
rows = torch.tensor(2 * X - 1, dtype=torch.float32)
train, fresh = slice(20_000), slice(20_000, None)


def network(n_features):
    """Return two hidden layers, the same at each call."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 1),
    )


def fitted(loss, steps=60):
    """Return the share of fresh pairs in the wrong order, every five steps on all rows."""
    model, errors = network(10), []
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(steps):
        optimiser.zero_grad()
        loss(model(rows[train])).backward()
        optimiser.step()
        if step % 5 == 4:
            errors.append(ranking_error(y[fresh], model(rows[fresh]).detach()))
    return errors


def squared_error(target):
    """Return the loss of a network that predicts a target."""
    column = torch.tensor(zscore(target), dtype=torch.float32)[:, None]
    return lambda scores: torch.nn.functional.mse_loss(scores, column)


pairs = objectives.torch(Preferences.from_scores(y[train]))
curves = {
    "all pairs": fitted(pairs),
    "squared error of ranks": fitted(squared_error(rankdata(y[train]))),
    "squared error of labels": fitted(squared_error(y[train])),
}
for name, errors in curves.items():
    print(f"{name}: {errors[-1]:.1%} of fresh pairs in the wrong order")

# %%
# A reward head: each pair is an answer that was chosen and one that was rejected, by annotators who choose
# the better one with a probability that grows with the difference. The quality of an answer is not linear in
# its embedding. Batches are of 250 pairs; ``of_pairs`` takes the scores of both answers.

generator = torch.Generator().manual_seed(0)


def quality(answers):
    """Return one direction of the embedding, and the product of two others."""
    return answers[..., 0] + 1.5 * answers[..., 1] * answers[..., 2]


answers = torch.randn(2, 12_000, 16, generator=generator)
better = torch.sigmoid(1.5 * (quality(answers[0]) - quality(answers[1])))
first = torch.rand(12_000, generator=generator) < better
chosen, rejected = torch.where(first[:, None], *answers), torch.where(first[:, None], *answers.flip(0))
unseen = torch.randn(2, 20_000, 16, generator=generator)
truth = quality(unseen[0]) > quality(unseen[1])


def rewarded(head, epochs=4):
    """Return the share of unseen pairs in their true order, after each epoch."""
    loss, shares = objectives.torch(), []
    optimiser = torch.optim.Adam(head.parameters(), lr=0.005)
    for _ in range(epochs):
        for batch in torch.randperm(12_000, generator=generator).split(250):
            optimiser.zero_grad()
            loss.of_pairs(head(chosen[batch]), head(rejected[batch])).backward()
            optimiser.step()
        order = (head(unseen[0]) > head(unseen[1]))[:, 0]
        shares.append((order == truth).float().mean().item())
    return shares


heads = {"network": rewarded(network(16)), "linear head": rewarded(torch.nn.Linear(16, 1))}
for name, shares in heads.items():
    print(f"{name}: {shares[-1]:.0%} of unseen pairs in their true order")

# %%
# Left, the ranking of new rows during training; right, the ranking of answers.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for (name, errors), colour in zip(curves.items(), ("#c8452f", "#40688c", "#9aa0a6"), strict=True):
    left.plot(np.arange(5, 61, 5), errors, "o-", color=colour, markersize=4, label=name)
left.set(xlabel="steps on 20,000 rows", ylabel="fresh pairs in the wrong order", title="One ranking")
for (name, shares), colour in zip(heads.items(), ("#c8452f", "#9aa0a6"), strict=True):
    right.plot(np.arange(1, 5), shares, "o-", color=colour, markersize=4, label=name)
right.set(
    xlabel="epochs",
    xticks=range(1, 5),
    ylabel="unseen pairs in their true order",
    title="Chosen and rejected answers",
)
for axes in (left, right):
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
