"""
A clinical trial: the most important outcome first
==================================================

A treatment that saves lives but sends patients to the hospital more often has no clear effect on the time to
the first event, but wins 1.4 times as many pairs of patients as it loses, because deaths count most.

The time to the first event takes all events as equal. Here each treated patient is compared with each
control: the longer life wins; if it is not known who lived longer, fewer visits win; and then the longer
walk, if the difference is more than 30 m.
"""

# %%
# The trial
# ---------
# Two years of 600 generated patients. The treatment halves the rate of deaths, and raises that of visits.

import matplotlib.pyplot as plt
import numpy as np

from rankwise import Preferences, RankLogistic, RankPlackettLuce, win_statistics
from rankwise.plotting import WinsDisplay
from rankwise.preferences import Outcome

generator = np.random.default_rng(0)
n, years = 600, 2.0
arm, frailty = np.arange(n) % 2, generator.normal(size=n)
death = generator.exponential(2.5 * np.exp(0.7 * arm - 0.5 * frailty))
first_visit = generator.exponential(2.0 * np.exp(-0.3 * arm - 0.5 * frailty))
lived = np.minimum(death, years)
visits = (first_visit < lived) * (1 + generator.poisson(0.5 * lived))
walk = generator.normal(300 + 15 * arm - 40 * frailty, 60)

# %%
# The time to the first event, by Cox regression: the interval of the hazard ratio contains 1.

first = np.minimum(lived, first_visit)
preferences = Preferences.from_survival(first < years, first)
X = np.column_stack([arm, frailty])
cox = RankPlackettLuce(alpha=0).fit(X, preferences)
low, high = np.exp(-cox.inference(X, preferences).confidence_intervals()[0])[::-1]
print(f"hazard ratio of the first event: {np.exp(-cox.coef_[0]):.2f}, from {low:.2f} to {high:.2f}")

# %%
# Win statistics
# --------------

trial = [
    Outcome(lived, event=death < years, name="death"),
    Outcome(visits, higher_is_better=False, name="visits"),
    Outcome(walk, margin=30, name="walk"),
]
found = win_statistics(arm, trial)
print(found)

# %%
# Adjusted for frailty, by a regression on the same pairs: log odds that a patient does better than another.

regression = RankLogistic(alpha=0).fit(X, Preferences.from_hierarchy(trial))
print("log odds of treatment and frailty:", regression.coef_.round(2))

# %%
# Left, the outcome that decides each pair. Right, the win ratio up to each outcome with its interval: the
# last one is that of the trial.

rows = list(found.by_outcome)
wins, losses = (100 * np.array([row[k] for row in rows]) / (n / 2) ** 2 for k in (1, 2))
places = np.arange(len(rows))[::-1]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.barh(places + 0.19, wins, 0.36, color="#0b62a3", label="the treated patient does better")
left.barh(places - 0.19, losses, 0.36, color="#b84a00", label="the control does better")
left.set_yticks(places, [f"by {row.outcome}" for row in rows])
left.set(xlabel="% of all pairs of a treated patient and a control", title="Which outcome decides a pair?")
left.legend(frameon=False, loc="lower right")
left.spines[["top", "right"]].set_visible(False)
WinsDisplay(found).plot(right)
right.set_title("Win ratio up to each outcome")
plt.show()
