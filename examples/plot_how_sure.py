"""
Which effects and which positions are sure
==========================================

Three hundred patients determine the signs of seven of ten effects, but the ranges of a new patient's position
contain 45% of all positions by the errors of the weights, and 78% by the differences between patients.

`RankLogistic` learns from the diabetes data who will be worse off after a year, and ranks other patients. Two
questions are often confused:

- *Which weights and positions do the data determine?* Other patients would give other weights. The left panel
  shows the effect of each measurement with a 95% interval, paler if it contains zero. The dark bars on the
  right are the positions that the model may give a patient within these errors; all of them hold together
  with a confidence of 95%.
- *Where will a patient stand?* Patients with the same measurements differ. The light bars are conformal
  ranges from 130 further patients: the true position is within a bar with a probability of 90%, for any
  model.

More patients make the dark bars shorter, but not the light ones: these need better measurements.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import ConformalRanks, RankLogistic
from rankwise.datasets import load_diabetes_ranking
from rankwise.plotting import WeightsDisplay

NAMES = ["age", "sex", "body mass", "blood pressure", "s1", "s2", "s3", "s4", "s5", "s6"]
N_TRAIN, N_NEW = 300, 12
BLUE = "#0b62a3"


def plot_ranges(axes, by_model, true, position):
    """Draw the range of each patient: light for the true position, dark for the position by the model."""
    order = np.argsort(position)
    lines = np.arange(len(order))
    axes.hlines(lines, *true[:, order], color=BLUE, alpha=0.25, linewidth=9, label="true position, 90%")
    axes.hlines(lines, *by_model[:, order], color=BLUE, linewidth=4, label="position by the model, 95%")
    axes.plot(position[order], lines, "o", color="white", markeredgecolor=BLUE, markersize=5)
    axes.set(
        yticks=[], ylim=(len(order) - 0.4, -1.6), xlabel="position among all patients, the worst off first"
    )
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_title("ranges of the positions of twelve new patients", fontsize="medium", loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, ncols=2, loc="upper center", fontsize="small")


X, y = load_diabetes_ranking(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
train, calibration, new = np.split(np.arange(len(y)), [N_TRAIN, len(y) - N_NEW])

model = RankLogistic(alpha=1e-4).fit(X[train], y[train])
found = model.inference(X[train], y[train])
is_sure = (found.confidence_intervals() > 0).all(axis=1) | (found.confidence_intervals() < 0).all(axis=1)
print(f"sure effects: {', '.join(name for name, sure in zip(NAMES, is_sure, strict=True) if sure)}")

held_out = np.r_[calibration, new]
by_model = np.array(found.rank_ranges(X[held_out]))[:, -N_NEW:] / (len(held_out) - 1)
true = np.array(ConformalRanks(model, level=0.9).calibrate(X[calibration], y[calibration]).rank_sets(X[new]))
true = true / len(calibration)
position = model.rank(X[held_out])[-N_NEW:] / (len(held_out) - 1)
for name, ends in (("by the model", by_model), ("true position", true)):
    print(f"{name:<14} mean length of the ranges {np.mean(ends[1] - ends[0]):.0%} of all positions")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
WeightsDisplay.from_estimator(model, X[train], inference=found, feature_names=NAMES, ax=left)
left.set_title("effects of the measurements", fontsize="medium", loc="left")
plot_ranges(right, by_model, true, position)
plt.show()
