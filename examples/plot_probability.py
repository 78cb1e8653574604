"""
The probability that one is above the other
===========================================

On held-out pairs of patients the probabilities of RankLogistic come close to what happens, and are a little
too sure of themselves: of the pairs that it gives 0.95, 0.91 turn out as it says.

RankLogistic minimises the logistic loss over all pairs, so that differences of its scores are log odds and
``predict_pair_proba`` is the probability that the first of two patients will be worse off in a year. A
probability is a promise that can be checked: among the pairs with a probability near 0.7, seven in ten should
turn out that way. The model and its alpha see one half of the patients, and the pairs are those of the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from rankwise import Preferences, RankLogistic
from rankwise.datasets import load_diabetes_ranking

X, y = load_diabetes_ranking(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = RankLogistic(alpha=1e-6).fit(X_train, y_train)

better, worse, _, _ = Preferences.from_scores(y_test).pairs()
probability = model.predict_pair_proba(X_test[better], X_test[worse])
print(f"log loss of a held-out pair {-np.log(probability).mean():.3f} (0.693 for a coin)")

# %%
# Every pair is looked at from both sides: where "a above b" has probability p and came true, "b above a" has
# probability 1 - p and did not.

stated = np.concatenate([probability, 1 - probability])
came_true = np.repeat([1.0, 0.0], len(probability))
tenth = np.minimum((10 * stated).astype(int), 9)
count = np.bincount(tenth, minlength=10)
mean_stated, share_true = (np.bincount(tenth, values, 10) / count for values in (stated, came_true))
for values in zip(mean_stated[5:], share_true[5:], strict=True):
    print("stated {:.2f}   came true {:.2f}".format(*values))

figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
axes.plot([0, 1], [0, 1], color="0.8", label="as stated")
axes.plot(mean_stated, share_true, "o-", color="#1f5f99", label="RankLogistic, held-out pairs")
axes.set(xlabel="stated probability", ylabel="share of pairs that came true", aspect="equal")
axes.legend(frameon=False)
plt.show()
