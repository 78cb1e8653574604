"""
Search results: why the query matters
=====================================

With queries, RankSVM puts 92% of held-out pairs in the right order. Without them, it learns the wrong sign
for the most informative feature and is worse than chance.

Grades of search results can be compared within a query only. Here a match in the title makes a document
better than the others of its query. But people who type in a long query, which has many matches, are also
harder to please, so over all rows more matches go with lower grades.

Regression can respect queries as well: ridge regression on features and grades less their means per query
orders as many pairs here. Pairs need no common scale of grades, and no grades at all.
"""

# %%
# The data
# --------
# Sixty queries of thirty documents, with three features. Each query has its own number of words, which
# raises the matches of all its documents and lowers all their grades.

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankSVM
from rankwise.datasets import make_search
from rankwise.metrics import ndcg, ranking_error

X, grade, qid = make_search(random_state=0)
train, test = qid < 30, qid >= 30

# %%
# With and without queries
# ------------------------
# ``qid`` is the only difference between the two models.

models = {
    "without qid": RankSVM(alpha=1e-3).fit(X[train], grade[train]),
    "with qid": RankSVM(alpha=1e-3).fit(X[train], grade[train], qid=qid[train]),
}
errors, gains = {}, {}
for name, model in models.items():
    scores = model.predict(X[test])
    errors[name] = ranking_error(grade[test], scores, qid[test], per_query=True)
    gains[name] = ndcg(grade[test], scores, qid[test], k=5)
    right = 1 - np.nanmean(errors[name])
    print(f"{name:<12} {right:.1%} of pairs right, NDCG@5 {gains[name]:.3f}, weights {model.coef_.round(2)}")

# %%
# On the left, four queries: the line rises within each query and falls over all rows. On the right, each dot
# is a held-out query.

generator = np.random.default_rng(0)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
matches = [X[qid == query, 0].mean() for query in range(60)]
for query in np.argsort(matches)[[14, 26, 36, 47]]:
    rows = qid == query
    jitter = generator.uniform(-0.15, 0.15, rows.sum())
    points = left.scatter(X[rows, 0] + jitter[::-1], grade[rows] + jitter, s=16)
    slope, offset = np.polyfit(X[rows, 0], grade[rows], 1)
    ends = np.array([X[rows, 0].min(), X[rows, 0].max()])
    left.plot(ends, slope * ends + offset, color=points.get_facecolor()[0], linewidth=2.5)
slope, offset = np.polyfit(X[:, 0], grade, 1)
ends = np.array([0.0, 8.0])
left.plot(ends, slope * ends + offset, color="black", linestyle="--")
left.annotate("all rows", (ends[1], slope * ends[1] + offset), (6, -4), textcoords="offset points")
left.set(xlabel="matches in the title", ylabel="grade", title="Four queries, one color each")

for place, error in enumerate(errors.values()):
    share = 1 - error[~np.isnan(error)]
    jitter = generator.uniform(-0.12, 0.12, len(share))
    right.scatter(place + jitter, share, s=22, alpha=0.7, color=["#9aa0a6", "#c8452f"][place])
    right.hlines(share.mean(), place - 0.25, place + 0.25, color="black", linewidth=2)
    right.annotate(f"{share.mean():.0%}", (place + 0.28, share.mean()), va="center")
right.axhline(0.5, color="0.6", linewidth=0.8, linestyle=":")
right.set_xticks([0, 1], errors)
right.set(xlim=(-0.5, 1.6), ylabel="pairs in the right order", title="30 queries that were held out")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
