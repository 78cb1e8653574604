"""
Keep the trees, change the loss
===============================

With a loss over all pairs, boosted trees rank rows equally well however long the tail of the labels is. With
a regression loss, the same trees put up to two thirds more pairs in the wrong order.

The labels are generated: a nonlinear function of six features, transformed so that a few rows have very large
labels, as is usual for prices and incomes. Regression fits mainly those few rows; without a tail it is as
good. The pairwise losses depend on the order only, so monotone transformations of the labels do not change
their trees. Everything else is equal: LightGBM, its learning rate, its leaves, and early stopping by the
ranking error of validation rows.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

from rankwise import BoostedRanker, Preferences, objectives

random = np.random.default_rng(0)
X = random.uniform(-1, 1, size=(4000, 6))
signal = np.sin(4 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + np.abs(X[:, 3])
order = signal + 0.5 * random.standard_normal(4000)
train, valid, test = np.split(np.arange(4000), [1600, 2400])
strengths = [0.0, 1.0, 2.0, 3.0]


def stretched(strength):
    """Labels with the same order: as drawn, or with an ever longer tail."""
    return order if strength == 0 else np.exp(strength * order)


def regression(y):
    """LightGBM's own objective, stopped by the ranking error."""
    metric = objectives.lightgbm(
        Preferences.from_scores(y[train]), validation=Preferences.from_scores(y[valid])
    ).metric
    data = lgb.Dataset(X[train], y[train])
    return lgb.train(
        {"objective": "regression", "metric": "None", "verbose": -1, "num_threads": 1},
        data,
        300,
        valid_sets=[data.create_valid(X[valid], y[valid])],
        feval=metric,
        callbacks=[lgb.early_stopping(20, verbose=False)],
    )


def boosted(loss, y):
    """The same trees over all pairs, with LightGBM's defaults."""
    model = BoostedRanker(
        loss,
        n_estimators=300,
        learning_rate=0.1,
        num_leaves=31,
        subsample=1.0,
        colsample_bynode=1.0,
        early_stopping_rounds=20,
    )
    return model.fit(X[train], y[train], validation=(X[valid], y[valid]))


# %%
# The fraction of test pairs in the wrong order, for labels with increasingly long tails.


def error(scores):
    """The share of test pairs in the wrong order."""
    better, worse, _, _ = Preferences.from_scores(order[test]).pairs()
    return np.mean(scores[better] < scores[worse])


errors = {"regression": [error(regression(stretched(k)).predict(X[test])) for k in strengths]}
for loss in ("squared_hinge", "logistic"):
    errors[f"all pairs, {loss}"] = [error(boosted(loss, stretched(k)).predict(X[test])) for k in strengths]
for name, values in errors.items():
    print(f"{name:<26}", " ".join(f"{value:.3f}" for value in values))

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (name, values), color in zip(errors.items(), ("0.5", "#1f5f99", "#c2571a"), strict=True):
    axes.plot(strengths, values, "o-", color=color, label=name)
axes.set(xlabel="stretch of the labels: none, or exp of 1, 2 and 3 times them", ylabel="ranking error")
axes.set_xticks(strengths)
axes.legend(frameon=False)
plt.show()
