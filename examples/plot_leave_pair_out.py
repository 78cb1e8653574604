"""
Which AUC to report for a small sample
======================================

With thirty rows, pooling the predictions of ten folds underestimates the AUC by three to five points, and
averaging over folds has a larger variance than necessary. Leave-pair-out has neither problem.

With thirty patients there are too few rows for a test set, and the area under the ROC curve is estimated by
cross-validation. Three methods are common:

- *pooled*: predict every row in ten folds, and compute one AUC from all predictions. This compares scores of
  different models. If a fold has more positive rows than average, its model was fitted to fewer of them and
  its scores are lower: the estimate is too low (Parker, Gunter and Bedo 2007).
- *averaged*: average the AUC of the folds. A fold has few pairs, so the variance is larger, and the AUC of a
  fold of one class is undefined.
- *leave-pair-out*: leave each pair of a positive and a negative row out, and count the pairs in the right
  order. Each comparison is made by one model, and every pair counts once. For RankRLS it is exact and takes
  no refit (Pahikkala et al. 2009, sections 3.4 and 4.1).

Many small samples are drawn from a known population, so the true AUC of each model is known as well. The
figure shows the difference between estimate and true AUC.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.model_selection import KFold

from rankwise import RankRLS
from rankwise.model_selection import leave_pair_out

N_ROWS, N_FEATURES, N_SAMPLES = 30, 10, 200
SIGNALS = {"nothing to learn": 0.0, "weak signal": 0.25, "strong signal": 0.6}
# Gray for the common estimates, a color for the recommended one.
COLOURS = {"pooled": "#9aa0a6", "averaged": "#9aa0a6", "leave-pair-out": "#c8452f"}


def draw(generator, n_rows, signal):
    """Rows of two classes whose means differ by the signal in every feature; half are positive."""
    y = generator.permutation(np.arange(n_rows) % 2)
    return generator.normal(size=(n_rows, N_FEATURES)) + signal * y[:, None], y


def auc(y, scores):
    """The fraction of pairs of a positive and a negative row in the right order."""
    difference = np.subtract.outer(scores[y == 1], scores[y == 0])
    return np.mean((np.sign(difference) + 1) / 2)


def true_auc(coef, signal):
    """The probability that a fresh positive row scores above a fresh negative one: both scores are normal."""
    return norm.cdf(signal * coef.sum() / (np.sqrt(2) * np.linalg.norm(coef)))


def ten_folds(X, y, seed):
    """Return the pooled AUC and the mean of the folds' AUC; folds of one class are left out."""
    scores, of_folds = np.empty(len(y)), []
    for train, test in KFold(10, shuffle=True, random_state=seed).split(X):
        scores[test] = ridge_scores(X[train], y[train], X[test])
        if len(np.unique(y[test])) == 2:
            of_folds.append(auc(y[test], scores[test]))
    return auc(y, scores), np.mean(of_folds)


def ridge_scores(X, y, X_test, alpha=1.0):
    """Ridge regression with an intercept, which is RankRLS with ties kept, up to a constant."""
    mean = X.mean(axis=0)
    gram = (X - mean).T @ (X - mean) + alpha * len(y) / 2 * np.eye(X.shape[1])
    return y.mean() + (X_test - mean) @ np.linalg.solve(gram, (X - mean).T @ (y - y.mean()))


def deviations(signal, seed=0):
    """Return each estimate minus the true AUC of the model fitted to the sample, shape (n_samples, 3)."""
    generator = np.random.default_rng(seed)
    found = []
    for sample in range(N_SAMPLES):
        X, y = draw(generator, N_ROWS, signal)
        truth = true_auc(RankRLS(1.0).fit(X, y).coef_, signal)
        pooled, averaged = ten_folds(X, y, sample)
        found.append(np.array([pooled, averaged, leave_pair_out(RankRLS(1.0), X, y).auc]) - truth)
    return np.array(found)


def plot(results):
    """Draw a panel for each signal: the spread of each estimate around the truth, and its mean."""
    figure, panels = plt.subplots(1, len(results), figsize=(10, 3.6), sharey=True, layout="constrained")
    for axes, (name, values) in zip(panels, results.items(), strict=True):
        boxes = axes.boxplot(
            values, whis=(5, 95), showfliers=False, showmeans=True, widths=0.55, patch_artist=True,
            medianprops={"linewidth": 0}, meanprops={"marker": "D", "markerfacecolor": "black",
                                                     "markeredgecolor": "white", "markersize": 6},
        )  # fmt: skip
        for box, colour in zip(boxes["boxes"], COLOURS.values(), strict=True):
            box.set(facecolor=colour, edgecolor="none", alpha=0.75)
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_xticks([1, 2, 3], COLOURS)
        axes.set_title(name)
        axes.spines[["top", "right"]].set_visible(False)
        for place, (mean, deviation) in enumerate(zip(values.mean(0), values.std(0), strict=True), 1):
            axes.annotate(
                f"bias {mean:+.3f}\nsd {deviation:.3f}",
                (place, 0.02),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=8,
            )
    panels[0].set_ylabel("estimated AUC - true AUC")
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low - 0.18 * (high - low), high)
    figure.suptitle(
        f"{N_SAMPLES:,} samples of {N_ROWS} rows: diamonds are means, boxes quartiles, whiskers 5-95%"
    )


results = {name: deviations(signal) for name, signal in SIGNALS.items()}
print(f"{'estimated AUC - true AUC':<26}" + "".join(f"{name:>22}" for name in COLOURS))
for name, values in results.items():
    columns = zip(values.mean(0), values.std(0), strict=True)
    print(f"{name:<26}" + "".join(f"{mean:>+12.3f} +/- {sd:.3f}" for mean, sd in columns))
plot(results)
plt.show()
