"""What several kinds draw: small problems, in any form."""

import numpy as np
from scipy import sparse


def choice(rng, options):
    """One of the options, as it is."""
    return options[int(rng.integers(len(options)))]


def labels(rng, n):
    """Labels with many, few or no ties; the first two differ."""
    y = choice(rng, [rng.normal(size=n), rng.integers(0, 4, n) * 1.0, np.round(rng.normal(size=n), 1)])
    y[:2] = 0.0, 1.0
    return y


def queries(rng, n):
    """None, or queries of any size whose rows need not be together; the first two rows are of one."""
    if rng.random() < 0.3:
        return None
    qid = rng.integers(0, max(2, n // 4), n)
    qid[1] = qid[0]
    return qid


def problem(rng, most_rows=30, most_features=5):
    """Rows, labels that they explain in part, and queries."""
    n, p = int(rng.integers(4, most_rows)), int(rng.integers(1, most_features))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-2, 3) + choice(rng, [0.0, 1.0, 100.0])
    if rng.random() < 0.3:
        X = np.round(X)
    if rng.random() < 0.3:
        X = X.astype(np.float32).astype(float)
    return X, labels(rng, n), queries(rng, n)


def forms(rng, X):
    """The same rows as another type, order or container, of those that hold them exactly."""
    names = [f"c{k}" for k in range(X.shape[1])]
    form = choice(
        rng, ["same", "fortran", "strided", "csr", "csc", "coo", "list", "pandas", "polars", "exact"]
    )
    if form == "pandas":
        import pandas

        return pandas.DataFrame(X, columns=names)
    if form == "polars":
        import polars

        return polars.DataFrame(dict(zip(names, X.T.copy(), strict=True)))
    wide = np.empty((2 * len(X), X.shape[1]))
    wide[::2] = X
    return {
        "same": lambda: X,
        "fortran": lambda: np.asfortranarray(X),
        "strided": lambda: wide[::2],
        "csr": lambda: sparse.csr_array(X),
        "csc": lambda: sparse.csc_matrix(X),
        "coo": lambda: sparse.coo_array(X),
        "list": lambda: X.tolist(),
        "exact": lambda: X.astype(choice(rng, exact_types(X))),
    }[form]()


def exact_types(X):
    """The types that hold the numbers as they are."""
    types = [float, np.longdouble, np.float32, np.float16, np.int64, np.int32, np.int16]
    with np.errstate(all="ignore"):
        return [kind for kind in types if np.array_equal(X.astype(kind).astype(float), X)]
