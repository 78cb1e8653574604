"""
The probability that one is above the other
===========================================

On held-out pairs of patients, the probabilities of RankLogistic are close to the observed frequencies. With
almost no penalty they are overconfident: among pairs with a probability of 0.93, the frequency is 0.88. The
alpha that RankLogisticCV chooses by the log loss nearly halves this difference.

RankLogistic minimizes the logistic loss over all pairs, so differences of its scores are log odds, and
``predict_pair_proba`` is the probability that the first of two patients will be worse off in a year. The
model is calibrated if among the pairs with a probability near 0.7, seven in ten are in that order. The model
and its alpha are fitted to one half of the patients; the pairs are those of the other half.
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
# The patient who is more likely to be worse off comes first in each pair, so probabilities are from 0.5 to 1.
# All pairs of held-out patients count. They are not listed: a bin is a range of differences of scores.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
found = ReliabilityDisplay.from_estimator(bold, X_test, y_test, name="alpha 1e-06", ax=axes[0]).reliability
print(found)

# %%
# The smallest penalty overfits the training pairs, hence the overconfidence. ``RankLogisticCV`` chooses the
# alpha with the lowest log loss on held-out pairs, which is better calibrated.

chosen = RankLogisticCV(cv=5).fit(X_train, y_train)
name = f"chosen alpha {chosen.alpha_:.0e}"
print(ReliabilityDisplay.from_estimator(chosen, X_test, y_test, name=name, ax=axes[1]).reliability)
plt.show()
