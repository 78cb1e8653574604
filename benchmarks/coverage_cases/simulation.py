"""How a case is simulated."""

import numpy as np


def coverage(case, simulations):
    """Return the coverage, the mean length and the number of undefined intervals of each quantity."""
    truth = {name: values[0] for name, values in case(np.random.default_rng(10**6), large=True).items()}
    draws = {name: [] for name in truth}
    for seed in range(simulations):
        for name, values in case(np.random.default_rng(seed)).items():
            # One interval, or several whose coverage is averaged.
            draws[name] += [one[1:] for one in (values if isinstance(values, list) else [values])]
    found = {}
    for name, ends in draws.items():
        low, high = np.array(ends).T
        known = ~np.isnan(low)
        inside = (low <= truth[name]) & (truth[name] <= high)
        closed = np.isfinite(low) & np.isfinite(high)
        found[name] = {
            "truth": rounded(truth[name]),
            "coverage": rounded(inside[known].mean()),
            "length": rounded((high - low)[closed].mean()),
            "undefined": int((~known).sum()),
        }
        if (known & ~closed).any():
            found[name]["open"] = rounded((known & ~closed).sum() / known.sum())
    return found


def rounded(value):
    """Return six significant digits, which keep the file small."""
    return float(f"{value:.6g}")
