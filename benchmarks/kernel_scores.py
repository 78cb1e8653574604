"""Scores of a kernel model against scikit-learn's kernel matrix times the coefficients, one thread each.

Run it with rankwise installed:

    python benchmarks/kernel_scores.py             # 2,000 rows and 2,000 basis rows: about a minute
    python benchmarks/kernel_scores.py --quick     # 500 of each

Each figure is the minimum of nine runs, interleaved with those of the other, so that noise on the machine
affects both alike. Below 1 is faster than scikit-learn, whose scores of equal rows may differ. The last lines
compare the fit of a kernel model with one and with two BLAS threads.
"""

import argparse

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from threadpoolctl import threadpool_limits
from timing import best_times

from rankwise import RankRLS
from rankwise.functions.kernel_map import KernelMap
from rankwise.functions.kernel_values import kernel_scores


def score_tasks(kernel, X, basis):
    gamma, a = 1 / X.shape[1], np.random.default_rng(1).normal(size=len(basis))
    return {
        "scikit-learn": lambda: pairwise_kernels(X, basis, metric=kernel, gamma=gamma) @ a,
        "rankwise": lambda: kernel_scores(X, basis, a, kernel, gamma=gamma),
    }


def report_scores(n_rows):
    print(f"{'kernel':<10}{'features':>10}{'scikit-learn, ms':>20}{'ratio':>10}")
    random = np.random.default_rng(0)
    for kernel in ("rbf", "poly"):
        for n_features in (8, 50, 500):
            X, basis = random.normal(size=(2, n_rows, n_features))
            with threadpool_limits(1):
                best = best_times(score_tasks(kernel, X, basis))
            ratio = best["rankwise"] / best["scikit-learn"]
            print(f"{kernel:<10}{n_features:>10}{1e3 * best['scikit-learn']:>20.1f}{ratio:>10.2f}")


def report_threads(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 50))

    def decompose(n_threads):
        with threadpool_limits(n_threads):
            KernelMap("rbf").fit(X)

    best = best_times({n: lambda n=n: decompose(n) for n in (1, 2)}, repeats=3)
    fit = best_times({"fit": lambda: RankRLS(kernel="rbf").fit(X, X[:, 0])}, repeats=3)["fit"]
    print(f"kernel map of {n_rows} rows: one BLAS thread takes {best[1] / best[2]:.2f} of the time of two")
    print(f"RankRLS(kernel='rbf') fit of {n_rows} rows, one BLAS thread: {fit:.2f} s")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="500 rows")
    options = parser.parse_args(arguments)
    n_rows = 500 if options.quick else 2000
    report_scores(n_rows)
    report_threads(n_rows)


if __name__ == "__main__":
    main()
