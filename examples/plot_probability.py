"""
The probability that one is above the other
===========================================

On held-out pairs of patients the probabilities of RankLogistic come close to what happens. With next to no
penalty they are too sure of themselves: of the pairs that get 0.93, 0.88 turn out that way. The alpha that
RankLogisticCV chooses by the log loss nearly halves the gap.

RankLogistic minimises the logistic loss over all pairs, so that differences of its scores are log odds and
``predict_pair_proba`` is the probability that the first of two patients will be worse off in a year. A
probability is a promise that can be checked: among the pairs with a probability near 0.7, seven in ten should
turn out that way. The model and its alpha see one half of the patients, and the pairs are those of the other.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from rankwise import RankLogistic, RankLogisticCV
from rankwise.datasets import load_diabetes_ranking
from rankwise.plotting import ReliabilityDisplay

X, y = load_diabetes_ranking(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
bold = RankLogistic(alpha=1e-6).fit(X_train, y_train)
print(f"P(the first above the second) = {bold.predict_pair_proba(X_test[:1], X_test[1:2])[0]:.2f}")

# %%
# Every pair is looked at from the side of the patient who is more likely to be worse off, so that
# probabilities run from one half to 1. All pairs of held-out patients count; none is listed, as the pairs of
# a bin are those whose scores differ by so much.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
found = ReliabilityDisplay.from_estimator(bold, X_test, y_test, name="alpha 1e-06", ax=axes[0]).reliability
print(found)

# %%
# Why too sure? The smallest penalty puts the training pairs in the best order and believes in it.
# ``RankLogisticCV`` takes the alpha with the lowest log loss on pairs that a fold holds out, and so one that
# keeps its promises better.

chosen = RankLogisticCV(cv=5).fit(X_train, y_train)
name = f"chosen alpha {chosen.alpha_:.0e}"
print(ReliabilityDisplay.from_estimator(chosen, X_test, y_test, name=name, ax=axes[1]).reliability)
plt.show()
