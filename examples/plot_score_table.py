"""
Models by tasks: who is really first
====================================

Eight models answer 100 questions in each of 24 tasks. Intervals for other tasks like these are five times as
long as those for other questions of the same tasks, because models differ in what they are good at: the first
place, certain over questions, is open over tasks. The usual error bars are those over questions.
"""

# %%
# The answers are generated: models differ in general, and in each task.

import matplotlib.pyplot as plt
import numpy as np

from rankwise import ScoreTable
from rankwise.plotting import CriticalDifferenceDisplay, LeaderboardDisplay

generator = np.random.default_rng(0)
names = np.array(["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Ivy"])
difficulty, talent = generator.normal(size=(24, 1, 1)), 0.4 * generator.normal(size=(24, 1, 8))
logits = np.linspace(1.6, 0.0, 8) + difficulty + talent
right = generator.random((24, 100, 8)) < 1 / (1 + np.exp(-logits))
task, question, model = (axis.ravel() for axis in np.indices(right.shape))
answers = {"model": names[model], "task": task, "question": question, "right": right.ravel()}

# %%
# One table, and two questions to it.

table = ScoreTable(answers, model="model", task="task", value="right", instance="question")
boards = {over: table.leaderboard(over=over) for over in ("instances", "tasks")}
for board in boards.values():
    print(board, "\n")
for over, board in boards.items():
    lengths = [row.high - row.low for row in board]
    places = [row.worst_rank - row.best_rank + 1 for row in board]
    print(f"over {over}: intervals of {np.mean(lengths):.3f}, ranges of {np.mean(places):.1f} places")

# %%
# Neighbors in the order are compared with a correction for their number. Which tasks decide the first place,
# and which disagree with the others?

print(table.differences("neighbors"))
print(table.fragility())
print(table.separation())
print(table.task_agreement()[:3])

# %%
# A benchmark that grows is looked at again and again. These intervals hold at all looks.

best, second = (row.item for row in boards["tasks"][:2])
for kind in ("fixed", "anytime"):
    one = table.difference(best, second, over="instances", intervals=kind)
    print(f"{kind}: {best} is {one.estimate:.3f} ahead of {second} ({one.low:.3f} to {one.high:.3f})")

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True)
for ax, (over, board) in zip(axes, boards.items(), strict=True):
    LeaderboardDisplay(leaderboard=board).plot(ax)
    ax.set_title(f"over {over}")
plt.show()

# %%
# A line joins models that do not differ significantly over tasks.

CriticalDifferenceDisplay(boards["tasks"]).plot()
plt.show()
