"""
A reward head from chosen and rejected answers
==============================================

A linear head on frozen embeddings, fitted to 2,000 choices of noisy annotators, puts nine in ten new pairs of
answers in their true order, although one choice in five was wrong, and its probabilities are nearly
calibrated.

Preference data of language models come as pairs: this answer was chosen, that one rejected. Each answer is a
row, its embedding; ``pair_data`` stacks the rows and returns them with their pairs. There are no queries and
no grades.
"""

# %%
# Embeddings are generated here: 64 correlated directions, of which the quality of an answer is one. The
# annotators choose the better answer with a probability that grows with the difference (Bradley and Terry).

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankLogistic, RankSVM, fit_temperature, pair_data
from rankwise.metrics import disagreement_error, pair_log_loss
from rankwise.plotting import ReliabilityDisplay

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
# Fitting is one call. ``weight`` has the weight of each pair, such as the confidence of the annotator. The
# annotators follow the model of ``RankLogistic``, so the difference of two rewards is the log odds of a
# choice.

chosen, rejected, correct = choices(2000)
X, preferences = pair_data(chosen, rejected)
reward = RankLogistic(alpha=1e-3).fit(X, preferences)
print(f"{correct:.0%} of the choices are right")
print(f"{1 - disagreement_error(preferences, reward.predict(X)):.0%} of them agree with the reward")
print(f"{orders_well(reward.coef_):.0%} of fresh pairs are in their true order")
first, second = fresh[:, :1]
print(
    f"the first of two answers is chosen with probability {reward.predict_pair_proba(first, second)[0]:.2f}"
)

# %%
# On 20,000 held-out choices, these probabilities are nearly calibrated without any adjustment. The margins of
# ``RankSVM`` are not log odds: a temperature, fitted to other choices, turns them into probabilities of about
# the same quality. It does not change the order.

held_out, judged = (pair_data(*choices(size)[:2]) for size in (2000, 20_000))
margins = RankSVM(alpha=1e-2).fit(X, preferences)
temperature = fit_temperature(margins.predict(held_out[0]), held_out[1])
log_odds = {
    "RankLogistic": reward.predict(judged[0]),
    f"RankSVM, temperature {temperature:.2f}": margins.predict(judged[0]) / temperature,
}
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, (name, scores) in zip(axes, log_odds.items(), strict=True):
    found = ReliabilityDisplay.from_predictions(judged[1], scores, name=name, ax=ax).reliability
    print(f"{name}: log loss {found.log_loss:.3f}, calibration error {found.calibration_error:.3f}")
print(f"RankSVM without: log loss {pair_log_loss(judged[1], margins.predict(judged[0])):.3f}")

# %%
# Accuracy by the number of choices. ``RankLogistic`` is slightly ahead. Its weights are those of a logistic
# regression of the differences, but it needs no copy of the data with flipped signs.

sizes = [60, 125, 250, 500, 1000, 2000, 4000]
kinds = {"RankLogistic": RankLogistic(alpha=1e-2), "RankSVM": RankSVM(alpha=1e-2)}
shares = {name: [] for name in kinds}
for size in sizes:
    drawn = [pair_data(*choices(size)[:2]) for _ in range(5)]
    for name, model in kinds.items():
        shares[name].append([orders_well(model.fit(*pairs).coef_) for pairs in drawn])
    print(size, *(f"{name} {np.mean(found[-1]):.3f}" for name, found in shares.items()))

# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
for (name, values), colour, mark in zip(shares.items(), ("#c8452f", "#40688c"), "os", strict=True):
    table = np.array(values)
    axes.semilogx(sizes, table.mean(axis=1), mark + "-", color=colour, label=name)
    axes.fill_between(sizes, table.min(axis=1), table.max(axis=1), color=colour, alpha=0.15, linewidth=0)
axes.axhline(correct, color="0.4", linestyle="--", linewidth=1)
axes.annotate(
    "the annotators themselves",
    (sizes[-1], correct),
    (0, -5),
    textcoords="offset points",
    ha="right",
    va="top",
)
axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
axes.minorticks_off()
axes.yaxis.set_major_formatter("{x:.0%}")
axes.set(xlabel="pairs of answers to learn from", ylabel="fresh pairs in their true order")
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
