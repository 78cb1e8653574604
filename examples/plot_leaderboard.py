"""
A leaderboard from matches alone
================================

Nine models are ranked by 2,700 votes on pairs of answers. The leader is clear, third place is not, and
without the order effect one model would be two places too high because its answers were usually shown first.

There are no features here, only names: ``BradleyTerry`` learns one score per name. The difference of two
scores is the log odds that one is preferred.
"""

# %%
# The votes are generated. The better answer is preferred with a probability that grows with the difference,
# and the answer shown first has a small advantage. A fifth of the votes are ties. The answers of Juniper are
# shown first in nine votes of ten.

import matplotlib.pyplot as plt
import numpy as np

from rankwise import BradleyTerry
from rankwise.plotting import LeaderboardDisplay

names = np.array(["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Ivy", "Juniper"])
strength = np.array([1.3, 0.7, 0.5, 0.45, 0.2, 0.0, -0.3, -1.2, 0.0])
shown_first = 0.6

generator = np.random.default_rng(3)
a = generator.integers(9, size=2700)
b = (a + 1 + generator.integers(8, size=2700)) % 9
swap = (b == 8) & (generator.random(2700) < 0.8)
a, b = np.where(swap, b, a), np.where(swap, a, b)
odds = np.exp(strength[a] - strength[b] + shown_first)
vote = np.where(generator.random(2700) < odds / (1 + odds), "win", "loss")
vote[generator.random(2700) < 0.2] = "tie"

# %%
# One call. ``outcome`` is that of the first item; Davidson's model includes the probability of ties.

model = BradleyTerry(ties="davidson", order_effect=True).fit(names[a], names[b], outcome=vote)
print(model.leaderboard())
print(f"\nBeing shown first is worth {model.order_effect_:.2f}; it was made to be {shown_first}")

# %%
# The column of ranks shows the uncertainty of each position. For two models, the probabilities of a win, a
# tie and a loss can be predicted.

apart = model.difference("Birch", "Cedar")
print(f"Birch is {apart.difference:.2f} ahead of Cedar ({apart.low:.2f} to {apart.high:.2f})")
win, tie, loss = model.predict_match_proba("Birch", "Cedar")
print(f"Birch, shown first, against Cedar: {win:.0%} win, {tie:.0%} tie, {loss:.0%} loss")

# %%
# Without the order effect, Juniper's score includes the advantage of being shown first.

naive = BradleyTerry(ties="davidson").fit(names[a], names[b], outcome=vote)
for name, fitted in (("with", model), ("without", naive)):
    (row,) = [row for row in fitted.leaderboard() if row.item == "Juniper"]
    print(f"{name} the order effect, Juniper is number {row.rank} (ranks {row.ranks})")

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True)
for ax, fitted, title in zip(axes, (model, naive), ("with an order effect", "without"), strict=True):
    board = fitted.leaderboard()
    LeaderboardDisplay(leaderboard=board).plot(ax)
    truth = dict(zip(names.tolist(), strength - strength.mean(), strict=True))
    ax.plot([truth[row.item] for row in board], range(9), "x", color="#c8452f", label="truth")
    ax.set_title(title, loc="left")
axes[0].legend(frameon=False, loc="lower right")
plt.show()
