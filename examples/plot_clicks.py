"""
Clicks: undoing the position
============================

If users mostly look at the first results, a model of raw clicks learns the order of the old ranking.
Weighting each click by the inverse of the probability that its position was examined recovers the quality.

Clicks are cheap and biased. A document in tenth place is clicked if it is relevant *and* the user examines
that position. The inverse of the probability of examination, the *propensity*, is the weight of a click.
:func:`Preferences.from_clicks <rankwise.Preferences>` places each clicked row above every other row of its
list with this weight. Here the propensities are known; ``propensity="estimate"`` finds them if documents were
shown at several positions.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import Preferences, RankSVM
from rankwise.metrics import ndcg

generator = np.random.default_rng(0)
n_queries, n_documents, n_features = 600, 10, 8
quality = generator.normal(size=n_features) / np.sqrt(n_features)
# The old ranking weighs the features at random.
old_ranking = quality + generator.normal(size=n_features) / np.sqrt(n_features)


def impressions(bias):
    """Show documents in the old order and collect clicks; position k is looked at with chance 1 / k^bias."""
    X = generator.normal(size=(n_queries, n_documents, n_features))
    relevant = generator.random((n_queries, n_documents)) < 1 / (1 + np.exp(-4 * X @ quality + 2))
    position = 1 + np.argsort(np.argsort(-X @ old_ranking, axis=1), axis=1)
    propensity = 1 / position**bias
    click = relevant & (generator.random(relevant.shape) < propensity)
    flat = (values.ravel() for values in (click, propensity, position, relevant))
    return X.reshape(-1, n_features), *flat


qid = np.repeat(np.arange(n_queries), n_documents)
X_test = generator.normal(size=(len(qid), n_features))
grade = np.digitize(X_test @ quality, [0.0, 0.5, 1.0])

# %%
# The benefit of the weights grows with the position bias.

biases = [0.0, 0.5, 1.0, 1.5, 2.0]
gains = np.empty((len(biases), 2, 5))
for row, bias in enumerate(biases):
    for draw in range(gains.shape[2]):
        X, click, known, position, _ = impressions(bias)
        for column, propensity in enumerate((None, known)):
            clicks = Preferences.from_clicks(click, position, qid, propensity=propensity)
            model = RankSVM(alpha=1e-3).fit(X, clicks)
            gains[row, column, draw] = ndcg(grade, model.predict(X_test), qid, k=5)
    raw, weighted = gains[row].mean(axis=1)
    print(f"bias {bias}: NDCG@5 {raw:.3f} from raw clicks, {weighted:.3f} from weighted clicks")

# %%
# On the left, clicks at a bias of 1: the weighted clicks match the fraction of relevant documents, which is
# the click rate if all positions were examined.

X, click, propensity, position, relevant = impressions(1.0)
# sphinx_gallery_thumbnail_panel = 1
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
places = np.arange(1, n_documents + 1)
rate = np.array([click[position == k].mean() for k in places])
corrected = np.array([(click / propensity)[position == k].mean() for k in places])
left.bar(places - 0.2, rate, 0.4, color="#9aa0a6", label="clicked")
left.bar(places + 0.2, corrected, 0.4, color="#c8452f", label="clicks, weighted")
truth = np.array([relevant[position == k].mean() for k in places])
left.plot(places, truth, "_", color="black", markersize=16, markeredgewidth=2, label="truly relevant")
left.set_xticks(places)
left.set(xlabel="position in the old ranking", ylabel="share of documents", title="What is clicked")
left.legend(frameon=False)
for column, (name, colour) in enumerate((("raw clicks", "#9aa0a6"), ("weighted clicks", "#c8452f"))):
    values = gains[:, column]
    right.plot(biases, values.mean(axis=1), "o-", color=colour)
    right.fill_between(biases, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.18, linewidth=0)
    right.annotate(name, (biases[-1], values[-1].mean()), (8, 0), textcoords="offset points", va="center",
                   color=colour)  # fmt: skip
right.axhline(ndcg(grade, X_test @ old_ranking, qid, k=5), color="0.3", linestyle="--", linewidth=1)
right.annotate("the old ranking", (0, ndcg(grade, X_test @ old_ranking, qid, k=5)), (0, 4),
               textcoords="offset points")  # fmt: skip
right.set(xlim=(None, 2.75), xlabel="strength of the position bias", ylabel="NDCG@5 on true grades",
          title="What is learned")  # fmt: skip
right.set_xticks(biases)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
