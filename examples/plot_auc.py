"""
AUC on breast cancer: a draw
============================

On scikit-learn's breast cancer data, RankSVM optimizes the order itself but does not beat LogisticRegression
and LinearSVC: all three reach an AUC of 0.995, and RankRLS is last with 0.992.

With two classes, the fraction of pairs in the right order *is* the area under the ROC curve, so a pairwise
loss is a natural choice. On easy data, however, a good classification loss also gives a good order. The
regularization of every model is chosen on training rows only, and all models are evaluated on the same
held-out rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rankwise import RankRLSCV, RankSVMCV

X, y = load_breast_cancer(return_X_y=True)
strengths = {"C": np.logspace(-3, 1, 5)}
models = {
    "RankSVM": RankSVMCV(alphas=np.logspace(-3, 1, 5)),
    "RankRLS": RankRLSCV(),
    "LogisticRegression": GridSearchCV(LogisticRegression(), strengths, scoring="roc_auc"),
    "LinearSVC": GridSearchCV(LinearSVC(dual=False), strengths, scoring="roc_auc"),
}


def held_out_scores(model, train, test):
    """Fit to the training rows and give the scores of the others."""
    pipeline = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
    return (
        pipeline.decision_function(X[test])
        if hasattr(pipeline, "decision_function")
        else pipeline.predict(X[test])
    )


splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
auc = {
    name: np.array([roc_auc_score(y[test], held_out_scores(model, train, test)) for train, test in splits])
    for name, model in models.items()
}
for name, values in auc.items():
    print(f"{name:<20} AUC {values.mean():.4f} +/- {values.std():.4f}")

# %%
# Each line is one fold of held-out rows. The lines cross: no model is better on all folds.

figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
table = np.array(list(auc.values()))
axes.plot(table, color="0.8", linewidth=1, zorder=1)
for place, values in enumerate(table):
    axes.scatter(np.full(len(values), place), values, s=20, color="#c8452f" if place < 2 else "#40688c")
    axes.hlines(values.mean(), place - 0.18, place + 0.18, color="black", linewidth=2.5, zorder=3)
    axes.annotate(f"{values.mean():.4f}", (place + 0.21, values.mean()), va="center")
axes.set_xticks(range(len(auc)), auc)
axes.set(xlim=(-0.4, 3.6), ylabel="AUC on held-out rows", title="569 tumours, 5 folds")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
