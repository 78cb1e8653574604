"""What several experiments share: intervals of a mean, choice of a penalty."""

from time import process_time

import numpy as np
from scipy.stats import t as student
from scipy.stats import wilcoxon

# The scale from which Pahikkala et al. (2009) choose lambda and kernel widths, section 5.
EXPONENTS = tuple(range(-15, 16))


def powers(exponents=EXPONENTS):
    return 2.0 ** np.asarray(exponents, dtype=float)


def mean_interval(values):
    """Return the mean and half the width of its 95% interval over repetitions."""
    values = np.asarray(values, dtype=float)
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return {"mean": float(values.mean()), "half_width": float(half)}


def p_values(values, reference):
    """Return the p-value of each difference from a reference, by Wilcoxon's signed ranks as in the paper."""
    return {
        name: float(wilcoxon(apart).pvalue)
        if (apart := defined_differences(column, values[reference])).any()
        else 1.0
        for name, column in values.items()
        if name != reference
    }


def holm(p):
    """Return p-values by name as they are after Holm's correction for their number.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    found, largest = {}, 0.0
    for place, name in enumerate(sorted(p, key=p.get)):
        largest = max(largest, min(1.0, (len(p) - place) * p[name]))
        found[name] = largest
    return found


def defined_differences(first, second):
    """Return the differences of two columns where both are defined."""
    apart = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    return apart[~np.isnan(apart)]


def processor_seconds(task, repeats):
    """Return the shortest time that the processor worked on a task: other work counts little."""
    best = np.inf
    for _ in range(repeats):
        start = process_time()
        task()
        best = min(best, process_time() - start)
    return best


def slope(sizes, seconds, from_size):
    """Return the slope of a cost, log against log, from a size on."""
    points = [(n, t) for n, t in zip(sizes, seconds, strict=True) if n >= from_size]
    if len(points) < 2:
        return None
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])
