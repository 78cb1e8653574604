"""
A ranking that can be read
==========================

A sum of curves and one table of two features have less than a third of a linear ranker's error here, and what
they learned fits on a page: each picture shows what a feature adds to the score.

The labels are made: one feature matters up to a point, one is best in the middle, one goes up in a step, and
two count only together. The step is a feature of which it is known that more is never worse, so its curve is
told to be monotone. The search for interactions finds the two that belong together.
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
# Missing values have a part of their own, so a linear ranker needs them filled in, and curves do not.

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
# The curves, the widest first. Grey is the density of the rows; the dotted line is what a missing age adds.

CurveDisplay.from_estimator(pairs, feature_names=names)
