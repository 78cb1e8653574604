"""
Ordinal regression on the axis of its utility
=============================================

On grades that are not linearly separable, OrdinalSVM with a quadratic kernel predicts four grades in five
correctly if its thresholds minimize the training error, and three in four if the margin determines them.

After figure 1 of Herbrich, Graepel and Obermayer (1999): points of the unit square have five grades,
defined by thresholds of a utility, the product of the two coordinates plus noise. The model learns a utility
from 200 points and places thresholds between the grades in two ways:

- ``thresholds="midpoint"``, equation (12): halfway between the closest pairs of neighboring grades that the
  utility puts at least one margin apart;
- ``thresholds="min_error"``: with the fewest training errors.

At this alpha the grade "fair" is narrower than one margin, and equation (12) uses only pairs that are a
margin apart.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import OrdinalSVM
from rankwise.datasets import make_ordinal
from rankwise.plotting import UtilityDisplay

GRADES = ["bad", "poor", "fair", "good", "best"]
WAYS = {"midpoint": "boundaries by equation (12)", "min_error": "boundaries of least training error"}

X, rank = make_ordinal(1000, random_state=0)
y = np.array(GRADES)[rank]

# %%
# 800 new points, one lane per grade. The shaded part of a lane is between the thresholds of its grade, and
# the number at its end is the fraction of points inside.

# sphinx_gallery_thumbnail_panel = 1
figure, panels = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
for axes, (thresholds, title) in zip(panels, WAYS.items(), strict=True):
    model = OrdinalSVM(1e-4, kernel="poly", degree=2, thresholds=thresholds, categories=GRADES)
    model.fit(X[:200], y[:200])
    UtilityDisplay.from_estimator(model, X[200:], y[200:], ax=axes)
    axes.set_title(f"{title}: {model.score(X[200:], y[200:]):.0%} of 800 new points right", pad=22)
panels[0].set_xlabel("")
plt.show()
