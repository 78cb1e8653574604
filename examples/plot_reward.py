"""
A reward head from chosen and rejected answers
==============================================

A linear head on frozen embeddings, learned from 2,000 choices of noisy annotators, puts fresh pairs of
answers in their true order in nine cases of ten, although one choice in five was wrong.

Preference data of language models come as pairs: this answer was chosen, that one rejected. Each answer is a
row, its embedding; ``pair_data`` stacks them and remembers which belong together. There are no queries and no
grades.
"""

# %%
# Embeddings are generated here: 64 correlated directions, of which the quality of an answer is one. The
# annotators choose the better answer with a probability that grows with the difference (Bradley and Terry).

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from rankwise import RankSVM, pair_data
from rankwise.metrics import disagreement_error

generator = np.random.default_rng(0)
n_features = 64
mixing = generator.normal(size=(n_features, n_features)) / np.sqrt(n_features)
direction = generator.normal(size=n_features)
direction /= np.linalg.norm(mixing @ direction)


def choices(n_pairs):
    """Return the embeddings of chosen and rejected answers, and how often the choice was right."""
    answers = generator.normal(size=(2, n_pairs, n_features)) @ mixing
    better = (answers[0] - answers[1]) @ direction
    first = generator.random(n_pairs) < 1 / (1 + np.exp(-1.5 * better))
    chosen, rejected = np.where(first[:, None], *answers), np.where(first[:, None], *answers[::-1])
    return chosen, rejected, np.mean((chosen - rejected) @ direction > 0)


def orders_well(weights):
    """The share of 20,000 fresh pairs that the weights put in the true order."""
    difference = (fresh[0] - fresh[1]) @ np.column_stack([weights, direction])
    return np.mean(np.prod(np.sign(difference), axis=1) > 0)


fresh = generator.normal(size=(2, 20_000, n_features)) @ mixing

# %%
# Fitting is one call. A pair weighs what ``weight`` says, for instance how sure the annotator was.

chosen, rejected, correct = choices(2000)
X, preferences = pair_data(chosen, rejected)
reward = RankSVM(alpha=1e-2).fit(X, preferences)
print(f"{correct:.0%} of the choices are right")
print(f"{1 - disagreement_error(preferences, reward.predict(X)):.0%} of them agree with the reward")
print(f"{orders_well(reward.coef_):.0%} of fresh pairs are in their true order")

# %%
# How many choices does it take? The usual way out is a logistic regression of the differences, which has the
# same form. It is a little ahead where choices are few, and no better from 1,000 on; RankSVM needs no copy of
# the data with the signs flipped.

sizes = [60, 125, 250, 500, 1000, 2000, 4000]
shares = {"RankSVM": [], "LogisticRegression of differences": []}
for size in sizes:
    drawn = [choices(size)[:2] for _ in range(5)]
    ours = [RankSVM(alpha=1e-2).fit(*pair_data(*pair)).coef_ for pair in drawn]
    theirs = []
    for better, worse in drawn:
        difference = np.vstack([better - worse, worse - better])
        sign = np.repeat([1, 0], size)
        theirs.append(LogisticRegression(C=1 / 20, fit_intercept=False).fit(difference, sign).coef_[0])
    for values, weights in zip(shares.values(), (ours, theirs), strict=True):
        values.append([orders_well(w) for w in weights])

figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
for (name, values), colour, mark in zip(shares.items(), ("#c8452f", "#40688c"), "os", strict=True):
    table = np.array(values)
    axes.semilogx(sizes, table.mean(axis=1), mark + "-", color=colour, label=name)
    axes.fill_between(sizes, table.min(axis=1), table.max(axis=1), color=colour, alpha=0.15, linewidth=0)
axes.axhline(correct, color="0.4", linestyle="--", linewidth=1)
axes.annotate("the annotators themselves", (sizes[0], correct), (0, 4), textcoords="offset points")
axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
axes.minorticks_off()
axes.yaxis.set_major_formatter("{x:.0%}")
axes.set(xlabel="pairs of answers to learn from", ylabel="fresh pairs in their true order")
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
