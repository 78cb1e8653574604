"""
Grades of wine: order without distance
======================================

OrdinalSVM has a smaller error of the grade of a wine than a classifier, which ignores the order of grades,
and than a regression, which assumes equal steps between grades.

The data are generated to resemble the well-known wine quality tables: eleven measurements and a grade between
3 and 8, with most wines in the middle. The steps between grades are uneven: grade 5 covers a wide range,
grade 6 a narrow one. (If all steps are about equal, as with ``CUTS = [-4.4, -2.6, -0.1, 1.5, 3.2]``, the
rounded regression is as good as OrdinalSVM.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import OrdinalSVM
from rankwise.plotting import UtilityDisplay

GRADES = np.arange(3, 9)
CUTS = [-4.4, -2.6, -0.1, 0.9, 3.0]


def wines(n_rows, generator):
    """Eleven skewed measurements; the quality is linear in their logarithms, but for noise."""
    weights = np.array([1.0, -0.9, 0.8, 0.5, -0.4, 0.3, 0.2, -0.2, 0.1, 0.0, 0.0])
    logarithms = generator.normal(size=(n_rows, 11))
    quality = logarithms @ weights + generator.standard_t(4, size=n_rows) * 0.5
    return np.exp(logarithms / 4), GRADES[np.digitize(quality, CUTS)]


def rounded(ridge, X):
    """The nearest grade to what a regression says."""
    return np.clip(np.rint(ridge.predict(X)), GRADES[0], GRADES[-1])


# %%
# Twenty samples of 300 wines, each model evaluated on 2,000 others. The thresholds are those of the least
# training error.

generator = np.random.default_rng(0)
X_test, y_test = wines(2000, generator)
misses = {"OrdinalSVM": [], "LogisticRegression": [], "Ridge, rounded": []}
for _ in range(20):
    X, y = wines(300, generator)
    ordinal = make_pipeline(StandardScaler(), OrdinalSVM(1e-3, thresholds="min_error")).fit(X, y)
    classes = make_pipeline(StandardScaler(), LogisticRegression(C=10, max_iter=1000)).fit(X, y)
    ridge = make_pipeline(StandardScaler(), RidgeCV()).fit(X, y)
    predicted = (ordinal.predict(X_test), classes.predict(X_test), rounded(ridge, X_test))
    for values, grades in zip(misses.values(), predicted, strict=True):
        values.append(np.mean(np.abs(grades - y_test)))
for name, values in misses.items():
    print(f"{name:<20} missed by {np.mean(values):.3f} grades, sd {np.std(values):.3f}")

# %%
# On the left, the utility learned from the last sample: one lane per grade, shaded where the grade is
# predicted, with the fraction of wines inside at its end. On the right, each line is a sample.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[3, 2], layout="constrained")
UtilityDisplay.from_estimator(ordinal, X_test[:500], y_test[:500], ax=left)
left.set_title("500 of the wines that were held out", pad=22)
table = np.array(list(misses.values()))
right.plot(table, color="0.85", linewidth=1, zorder=1)
for place, values in enumerate(table):
    right.scatter(np.full(len(values), place), values, s=18, color=["#c8452f", "#40688c", "#40688c"][place])
    right.hlines(values.mean(), place - 0.15, place + 0.15, color="black", linewidth=2.5, zorder=3)
    right.annotate(f"{values.mean():.3f}", (place + 0.19, values.mean()), va="center")
right.set_xticks(range(3), ["OrdinalSVM", "Logistic\nRegression", "Ridge,\nrounded"])
right.set(xlim=(-0.4, 2.7), ylabel="mean distance to the true grade", title="20 samples of 300 wines")
right.spines[["top", "right"]].set_visible(False)
plt.show()
