"""
A ranking that can be read
==========================

Here, a sum of curves and one table of two features has less than a third of the error of a linear ranker, and
the whole model fits on a page: each panel shows the contribution of one feature to the score.

The labels are generated: the effect of one feature saturates, one is best in the middle, one has a step, and
two matter only in combination. More of the feature with the step is never worse, so its curve is constrained
to be increasing. The search for interactions finds the pair of features that interact.
"""

import numpy as np

from rankwise import CurveRanker, RankSVM
from rankwise.plotting import CurveDisplay

random = np.random.default_rng(0)
names = ["income", "age", "rooms", "north", "east", "noise"]
X = random.normal(size=(4000, 6))
signal = np.minimum(X[:, 0], 0.5) * 2 - np.abs(X[:, 1]) + 1.5 * (X[:, 2] > 0) + 1.5 * X[:, 3] * X[:, 4]
y = signal + 0.3 * random.standard_normal(4000)
X[::10, 1] = np.nan  # every tenth age is missing
train, test = np.arange(3000), np.arange(3000, 4000)

# %%
# Curves have a separate value for missing data; for a linear ranker, missing values must be imputed.

filled = np.nan_to_num(X)
linear = RankSVM(1e-4).fit(filled[train], y[train])
curves = CurveRanker(monotone={2: 1}).fit(X[train], y[train])
pairs = CurveRanker(monotone={2: 1}, interactions=1).fit(X[train], y[train])
print(f"error of a line for each feature:  {1 - linear.score(filled[test], y[test]):.3f}")
print(f"error of a curve for each feature: {1 - curves.score(X[test], y[test]):.3f}")
print(f"and of one table of two features:  {1 - pairs.score(X[test], y[test]):.3f}")
print(f"the two features: {names[pairs.pairs_[0, 0]]} and {names[pairs.pairs_[0, 1]]}")
print(f"the objective is within {pairs.gap_:.1g} of the optimum")

# %%
# The curves, the widest first. Gray is the density of the rows; the dotted line is the contribution of a
# missing age.

CurveDisplay.from_estimator(pairs, feature_names=names)
