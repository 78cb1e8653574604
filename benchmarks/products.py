"""X w and X' c of sparse and dense rows: rankwise with one and two threads against scipy or BLAS, as ratios.

Run it with rankwise installed:

    python benchmarks/products.py                # 512,000 rows shaped after RCV1: about 2 GB, half a minute
    python benchmarks/products.py --quick        # 50,000 rows
    python benchmarks/products.py --rows 100000

Each figure is the minimum of nine interleaved runs, so that noise on the machine affects all alike. Below 1
is faster than scipy, or than numpy with one thread of BLAS.
"""

import argparse
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits
from timing import best_times

from rankwise.data.design import as_design
from rankwise.datasets import make_text_ranking


def product_tasks(X, peer):
    """Two dicts with the same keys: the tasks for X w and for X' c."""
    generator = np.random.default_rng(0)
    w, c = generator.standard_normal(X.shape[1]), generator.standard_normal(X.shape[0])
    one, two = as_design(X, n_threads=1), as_design(X, n_threads=2)
    return {
        "X w": {
            "peer": lambda: peer @ w,
            "1 thread": lambda: one.matvec(w),
            "2 threads": lambda: two.matvec(w),
        },
        "X' c": {
            "peer": lambda: peer.T @ c,
            "1 thread": lambda: one.rmatvec(c),
            "2 threads": lambda: two.rmatvec(c),
        },
    }


def with_int64_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def report(label, X, peer=None, width=24):
    for name, tasks in product_tasks(X, X if peer is None else peer).items():
        best = best_times(tasks)
        ratios = "".join(f"{best[threads] / best['peer']:>11.2f}" for threads in ("1 thread", "2 threads"))
        print(f"{label:<{width}}{name:<6}{1e3 * best['peer']:>10.1f}{ratios}")


def dense_table(share):
    """Dense rows beside one thread of BLAS on float64 rows of the same order."""
    print(f"\n{'dense rows':<32}{'':<6}{'BLAS ms':>10}{'1 thread':>11}{'2 threads':>11}")
    for rows, columns in ((500_000, 54), (240_000, 136)):
        values = np.random.default_rng(0).standard_normal((int(rows * share), columns))
        for order, dtype in product("CF", (np.float64, np.float32)):
            peer = np.asarray(values, order=order)
            report(f"{len(peer):,} x {columns}, {np.dtype(dtype)}, {order}", peer.astype(dtype), peer, 32)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=512_000)
    parser.add_argument("--quick", action="store_true", help="50,000 rows")
    options = parser.parse_args(arguments)
    X, _ = make_text_ranking(50_000 if options.quick else options.rows, random_state=0)
    print(f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz / X.shape[0]:.1f} nonzeros a row\n")
    print(f"{'data':<24}{'':<6}{'scipy ms':>10}{'1 thread':>11}{'2 threads':>11}")
    report("float64, int32 indices", X)
    report("float64, int64 indices", with_int64_indices(X))
    report("float32, int32 indices", X.astype(np.float32))
    with threadpool_limits(1, "blas"):
        dense_table(0.1 if options.quick else 1.0)


if __name__ == "__main__":
    main()
