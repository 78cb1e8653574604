"""The price of choosing alpha in fits: CPU time of a search over that of a fit with the alpha it chooses.

    python benchmarks/tuning.py                   # 240,000 x 136 rows in 2,000 queries: a minute, 1 GB
    python benchmarks/tuning.py --quick           # 24,000 rows

"certified" is the search with a solver by name, which certifies the fit of every fold. Real data are added
where RANKWISE_DATA names a folder that has them (OHSUMED, California housing). One thread.
"""

import argparse
import gzip
import os
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from rank_svm import graded_rows
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from rankwise import RankRLS, RankRLSCV, RankSVM, RankSVMCV

SEARCHES = {
    "hinge": (RankSVMCV(), RankSVM()),
    "hinge, certified": (RankSVMCV(solver="bundle"), RankSVM()),
    "squared hinge": (RankSVMCV(loss="squared_hinge"), RankSVM(loss="squared_hinge")),
    "squared hinge, certified": (
        RankSVMCV(loss="squared_hinge", solver="newton"),
        RankSVM(loss="squared_hinge"),
    ),
    "least squares, folds": (RankRLSCV(cv=5), RankRLS()),
}


def read(path):
    with gzip.open(path) as file:
        return load_svmlight_file(file, query_id=True)


def real_data(folder):
    """Yield the sets at hand: name, rows, labels and queries."""
    ohsumed = [read(path) for path in sorted(folder.glob("letor2_ohsumed/S*.txt.gz"))]
    if ohsumed:
        X, y, qid = zip(*ohsumed, strict=True)
        yield "OHSUMED", np.vstack([part.toarray() for part in X]), np.concatenate(y), np.concatenate(qid)
    for path in folder.glob("cadata/cadata.svm.gz"):
        X, y, _ = read(path)
        yield "California housing", StandardScaler().fit_transform(X.toarray()), y, None


def cpu_seconds(model, X, y, qid):
    start = process_time()
    model.fit(X, y, qid=qid)
    return process_time() - start


def table(name, X, y, qid):
    queries = 1 if qid is None else len(np.unique(qid))
    print(f"\n{name}: {X.shape[0]:,} x {X.shape[1]} rows, queries: {queries:,}")
    print(f"{'':<26}{'a fit, s':>10}{'search, s':>11}{'in fits':>9}{'alpha':>10}{'error':>10}")
    for label, (search, fit) in SEARCHES.items():
        seconds = cpu_seconds(search, X, y, qid)
        one = cpu_seconds(fit.set_params(alpha=search.alpha_), X, y, qid)
        error = search.cv_errors_.reshape(len(search.alphas_), -1).mean(axis=1).min()
        times = f"{one:>10.2f}{seconds:>11.2f}{seconds / one:>9.1f}"
        print(f"{label:<26}{times}{search.alpha_:>10.1e}{error:>10.5f}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="24,000 rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        table("Made", *graded_rows(24_000 if options.quick else 240_000))
        for name, *rows in real_data(Path(os.environ.get("RANKWISE_DATA", "no folder"))):
            table(name, *rows)


if __name__ == "__main__":
    main()
