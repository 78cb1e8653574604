"""
The path over alpha
===================

On 442 diabetes patients, every alpha below 1 ranks equally well, so alpha can be chosen for interpretable
weights: below 0.1, the weights of two correlated serum values (s1 and s2) grow with opposite signs, without
any improvement of the ranking.

All 81 models of the path, and the leave-pair-out error of each, come from one decomposition: ``RankRLS.path``
returns the weights, ``RankRLSCV`` the errors. For losses without a closed form, ``alpha_path`` returns a few
fits with a certificate: for every alpha in a range, one of them is within the tolerance.
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
# Top: the weights. Bottom: the fraction of held-out pairs in the right order.

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
# The path of the hinge loss has no closed form. At every alpha, the certified suboptimality of one of these
# fits is at most a thousandth of the attainable improvement. For small alphas, one fit covers a decade or
# more.

path = alpha_path(RankSVM(), X, y, (10.0, 1e-5), tol=1e-3)
print(f"{len(path.alphas)} fits for every alpha from 0.00001 to 10")
CertifiedPathDisplay(path=path).plot()
plt.show()
