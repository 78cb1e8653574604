"""HullRanker on any graph of classes, against the programme as it is written, solved by Clarabel."""

import independent_hull
from attack.draws import choice
from rankwise import HullRanker


def case(rng):
    """Draw rows with ties and duplicates, edges, weights and slacks."""
    n_classes, m = int(rng.integers(2, 6)), int(rng.integers(4, 25))
    codes = rng.integers(0, n_classes, m)
    X = choice(rng, [rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0], (m, 2)), rng.normal(size=(m, 3))])
    every = [(i, j) for i in range(n_classes) for j in range(i)]
    edges = [edge for edge in every if rng.random() < 0.5]
    weight = choice(rng, [None, rng.choice([0.0, 0.5, 1.0, 5.0], m)])
    counted = set(codes.tolist() if weight is None else codes[weight > 0].tolist())
    present = [edge for edge in edges if set(edge) <= counted]
    if not present:
        return 0
    alpha = float(10.0 ** rng.uniform(-3, 0))
    options = {"slack": choice(rng, ["squared", "absolute"]), "slack_per": choice(rng, ["row", "edge"])}
    model = HullRanker(alpha, order=edges, **options).fit(X, codes, sample_weight=weight)
    low, high = independent_hull.interval(X, codes, present, alpha, weight=weight, **options)
    rounding = 1e-7 * (1 + high)
    assert low - rounding <= model.objective_ <= high + rounding, f"{model.objective_} is not in {low, high}"
    assert model.objective_ - model.gap_ <= high + rounding
    assert 0 <= model.gap_ <= 1e-7 * model.objective_ + 1e-9, f"the gap is {model.gap_}"
    return 3
