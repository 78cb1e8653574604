"""
The path over alpha
===================

On 442 diabetes patients every alpha below 1 ranks equally well, so the choice of alpha is one between
weights that can be explained and weights that cannot: below 0.1 two correlated serum values (s1 and s2) grow
against each other, and gain nothing.

All 81 models of the path, and the leave-pair-out error of each, come from one decomposition: ``RankRLS.path``
gives the weights, ``RankRLSCV`` the errors. Losses without a closed form have ``alpha_path``: some fits and a
proof that for every alpha between two ends one of them is good enough.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from rankwise import RankRLS, RankRLSCV, RankSVM
from rankwise.datasets import load_diabetes_ranking
from rankwise.model_selection import alpha_path
from rankwise.plotting import CertifiedPathDisplay

diabetes = load_diabetes_ranking()
X, y = StandardScaler().fit_transform(diabetes.data), diabetes.target
alphas = np.logspace(3, -5, 81)
start = perf_counter()
coef = RankRLS().path(X, y, alphas)
chosen = RankRLSCV(alphas, cv="leave-pair-out").fit(X, y)
print(f"81 models, 97,020 pairs left out of each: {perf_counter() - start:.2f} s")
print(f"best alpha {chosen.alpha_:.2g}, {1 - chosen.cv_errors_.min():.1%} of pairs in the right order")

# %%
# Above the weights, below the share of pairs that the model puts in the right order when they are left out.

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 6), sharex=True, height_ratios=[2, 1], layout="constrained"
)
colours = {"bmi": "#40688c", "bp": "#5f9e6e", "s5": "#8a6bb1", "s1": "#c8452f", "s2": "#c8452f"}
for name, weights in zip(diabetes.feature_names, coef.T, strict=True):
    colour = colours.get(name, "0.75")
    top.semilogx(alphas, weights, color=colour, linewidth=2.2 if name in colours else 1)
    if name in colours:
        top.annotate(
            name,
            (alphas[-1], weights[-1]),
            (5, -6 * (name == "s2")),
            textcoords="offset points",
            va="center",
            color=colour,
        )
top.axhline(0, color="black", linewidth=0.6)
top.set(ylabel="weight")
bottom.semilogx(chosen.alphas_, 1 - chosen.cv_errors_, color="#c8452f", linewidth=2)
bottom.yaxis.set_major_formatter("{x:.0%}")
bottom.set(xlabel="alpha, from a strong penalty to a weak one", ylabel="left-out pairs\nin the right order")
bottom.invert_xaxis()
for axes in (top, bottom):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The hinge loss has no formula for its path. At every alpha one of these fits is proven to win all but a
# thousandth of the attainable improvement there. If the penalty is small, a fit serves a decade and more.

path = alpha_path(RankSVM(), X, y, (10.0, 1e-5), tol=1e-3)
print(f"{len(path.alphas)} fits for every alpha from 0.00001 to 10")
CertifiedPathDisplay(path=path).plot()
plt.show()
