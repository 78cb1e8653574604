"""
Survival times: what to do with patients who left the study
===========================================================

If most times are censored, a ranking of patients loses little accuracy if only comparable pairs are used, and
much if censored rows are dropped or treated as events.

In a study, some patients are still alive at their last visit. Their time is *censored*: they lived at least
that long. ``Preferences.from_survival`` uses exactly the pairs whose order is known with certainty.
"""

# %%
# The data
# --------
# Times until an event follow an exponential law whose rate depends on six of twelve measurements. Censoring
# depends on a seventh: patients with a high value of it leave early.

import matplotlib.pyplot as plt
import numpy as np

from rankwise import Preferences, RankSVM
from rankwise.metrics import ranking_error

RISK = np.array([0.8, -0.6, 0.5, 0.4, -0.3, 0.3, 0, 0, 0, 0, 0, 0])


def patients(n_rows, log_rate, generator):
    """Return measurements, whether the event was seen, the time seen, and the true time."""
    X = generator.normal(size=(n_rows, 12))
    survival = generator.exponential(np.exp(-X @ RISK))
    leaving = generator.exponential(np.exp(-log_rate - 1.5 * X[:, 6]))
    return X, survival <= leaving, np.minimum(survival, leaving), survival


# %%
# Three ways to read the same table
# ---------------------------------
# Each model is evaluated on the true times of 2,000 other patients, which are known because the data are
# generated: the fraction of pairs in the right order is the concordance index without censoring.

WAYS = ("pairs known for sure", "censored rows dropped", "censoring ignored")
COLOURS = ("#c8452f", "#40688c", "#9aa0a6")
generator = np.random.default_rng(0)
X_test, _, _, true_time = patients(2000, 0.0, generator)
rates = np.linspace(-4, 3.5, 6)
censored, concordance = np.empty(len(rates)), np.empty((len(rates), len(WAYS), 10))
for row, rate in enumerate(rates):
    seen = []
    for draw in range(concordance.shape[2]):
        X, event, time, _ = patients(300, rate, generator)
        data = (
            (X, Preferences.from_survival(event, time)),
            (X[event], time[event]),
            (X, time),
        )
        for way, (rows, y) in enumerate(data):
            scores = RankSVM(alpha=1e-2).fit(rows, y).predict(X_test)
            concordance[row, way, draw] = 1 - ranking_error(true_time, scores)
        seen.append(event.mean())
    censored[row] = 1 - np.mean(seen)
    shares = "  ".join(
        f"{way}: {value:.3f}" for way, value in zip(WAYS, concordance[row].mean(1), strict=True)
    )
    print(f"{censored[row]:.0%} censored  {shares}")

# %%
# Bands are the middle half of 10 draws of 300 patients. The dashed line is the concordance of the true
# risks, the best possible ranking.

figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
best = 1 - ranking_error(true_time, -X_test @ RISK)
axes.axhline(best, color="0.3", linestyle="--", linewidth=1)
axes.annotate("the true risks", (censored[0], best), (0, 4), textcoords="offset points")
for way, (name, colour) in enumerate(zip(WAYS, COLOURS, strict=True)):
    middle, low, high = (np.quantile(concordance[:, way], q, axis=1) for q in (0.5, 0.25, 0.75))
    axes.fill_between(censored, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(censored, middle, "o-", color=colour)
    axes.annotate(
        name, (censored[-1], middle[-1]), (8, 0), textcoords="offset points", va="center", color=colour
    )
axes.xaxis.set_major_formatter("{x:.0%}")
axes.set(xlim=(None, 1.15), xlabel="patients whose time is censored", ylabel="concordance on true times")
axes.set_xticks(np.arange(0.2, 1.0, 0.2))
axes.spines[["top", "right"]].set_visible(False)
plt.show()
