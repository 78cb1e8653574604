"""RankRLS compared with the factorizations that it uses, each timed in the same run.

    python benchmarks/rank_rls.py                 # a few minutes, 1 GB
    python benchmarks/rank_rls.py --quick         # smaller matrices; records nothing
    python benchmarks/rank_rls.py --linear-pairs  # leave-pair-out of linear models alone, anew in the record
    python benchmarks/rank_rls.py --table         # write the tables of the pages from the record

The last column is the ratio that the design allows. Reuters word counts are used if RANKWISE_DATA names a
folder that has them (reuters21578/reuters21578_counts.npz), generated text-like counts otherwise.
"""

import argparse
import datetime
import json
import os
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import scipy.sparse as sp
from records import compact, markdown, with_block
from scipy.linalg import cho_factor
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits
from timing import best_times

from rankwise import RankRLS
from rankwise.datasets import make_ranking, make_text_ranking
from rankwise.model_selection import leave_pair_out, leave_query_out

ALPHAS = 2.0 ** np.arange(-15, 16)
LINEAR_OUTPUTS = [(20_000, 50), (100_000, 20), (100_000, 100)]
LINEAR_PAIRS = [(1000, 20), (2000, 20), (4000, 20), (4000, 100)]


ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "rank_rls.json"
PAGE = ROOT / "docs" / "benchmarks.md"
RECORD = {}


def report(name, ours, base_name, base, target=None):
    RECORD[name] = {"seconds": ours, "base": base_name, "base_seconds": base, "ratio": ours / base}
    allowed = "" if target is None else f" (<= {target})" + "   TOO SLOW" * (ours > target * base)
    print(f"{name:<42}{ours:>8.3f} s   {base_name:<18}{base:>8.3f} s   ratio {ours / base:>5.2f}{allowed}")


def kernel_data(m):
    """Rows, a positive definite kernel matrix of theirs and labels."""
    X, y = make_ranking(m, 20, noise=0.5, random_state=0)
    return X, rbf_kernel(X, gamma=0.02), y


def dual_fit(m, repeats):
    _, K, y = kernel_data(m)
    shifted = K + 1e-3 * np.eye(m)
    for ties in ("keep", "drop"):
        model = RankRLS(1e-3, kernel="precomputed", ties=ties)
        best = best_times(
            {"fit": partial(model.fit, K, y), "cho_factor": partial(cho_factor, shifted)}, repeats
        )
        name = f"dual fit, m = {m:,}, ties={ties!r}"
        report(name, best["fit"], "scipy cho_factor", best["cho_factor"], 3)


def alpha_path(m, repeats):
    _, K, y = kernel_data(m)
    tasks = {
        "dual": partial(RankRLS(kernel="precomputed").path, K, y, ALPHAS),
        "eigh": partial(np.linalg.eigh, K),
    }
    best = best_times(tasks, repeats)
    report(f"path of 31 alphas, dual, m = {m:,}", best["dual"], "numpy eigh", best["eigh"], 1.3)


def many_outputs(m, repeats, n_outputs=25):
    _, K, y = kernel_data(m)
    generator = np.random.default_rng(0)
    Y = np.stack([generator.permutation(y) for _ in range(n_outputs)], axis=1)
    model = RankRLS(1e-3, kernel="precomputed")
    best = best_times({"many": partial(model.fit, K, Y), "one": partial(model.fit, K, y)}, repeats)
    report(f"{n_outputs} outputs, dual, m = {m:,}", best["many"], "one output", best["one"], 1.3)


def many_linear_outputs(m, n, repeats, n_outputs=25):
    """Time a linear fit of several outputs against that of one."""
    X, y = make_ranking(m, n, noise=0.5, random_state=0)
    generator = np.random.default_rng(0)
    Y = np.stack([generator.permutation(y) for _ in range(n_outputs)], axis=1)
    best = best_times({"many": partial(RankRLS().fit, X, Y), "one": partial(RankRLS().fit, X, y)}, repeats)
    report(f"{n_outputs} outputs, {m:,} x {n}", best["many"], "one output", best["one"])


def linear_leave_pair_out(m, n, repeats):
    """Time leaving every pair out at one alpha, without a kernel: m^2 n where a fit is m n^2.

    Seconds are those of the processor, on one thread.
    """
    X, y = make_ranking(m, n, noise=0.5, random_state=0)
    M, model = np.eye(n), RankRLS(1e-3)
    tasks = {
        "pairs": partial(leave_pair_out, model, X, y),
        "fit": partial(model.fit, X, y),
        "X M X'": lambda: X @ M @ X.T,
    }
    with threadpool_limits(1, user_api="blas"):  # as a fit has
        best = best_times(tasks, repeats, process_time)
    report(f"leave-pair-out, {m:,} x {n}", best["pairs"], "numpy X M X'", best["X M X'"], 4)
    report(f"leave-pair-out in fits, {m:,} x {n}", best["pairs"], "one fit", best["fit"])


def primal_fit(m, n, repeats):
    X, y = make_ranking(m, n, noise=0.5, n_levels=5, random_state=0)
    qid = np.random.default_rng(0).integers(m // 100, size=m)
    model = RankRLS(1e-3, solver="primal")
    tasks = {
        "fit": partial(model.fit, X, y),
        "drop": partial(RankRLS(1e-3, solver="primal", ties="drop").fit, X, y),
        "queries": partial(model.fit, X, y, qid=qid),
        "X'X": lambda: X.T @ X,
    }
    best = best_times(tasks, repeats)
    cases = {"fit": ("", 3), "drop": (", ties='drop'", None), "queries": (f", {m // 100:,} queries", None)}
    for key, (name, target) in cases.items():
        report(f"primal, {m:,} x {n}{name}", best[key], "numpy X'X", best["X'X"], target)


def reuters(n_documents_with_word=3):
    """Word counts of the documents that have a topic, and whether the topic is "acq"."""
    path = Path(os.environ.get("RANKWISE_DATA", "")) / "reuters21578" / "reuters21578_counts.npz"
    if not path.is_file():
        print("RANKWISE_DATA names no folder with reuters21578: generated counts of the same shape stand in.")
        X, y = make_text_ranking(12_000, 12_000, random_state=0)
        return sp.csr_array((10 * X).ceil()), (y > np.quantile(y, 0.8)).astype(float)
    with np.load(path) as archive:
        arrays = tuple(archive[name] for name in ("data", "indices", "indptr"))
        X = sp.csr_array(tuple(a.astype(t) for a, t in zip(arrays, (float, int, int), strict=True)))
        topics = np.split(archive["topic_indices"], archive["topic_indptr"][1:-1])
        acq = int(np.flatnonzero(archive["topics"] == "acq")[0])
    labelled = np.array([len(topic) > 0 for topic in topics])
    y = np.array([float(acq in topic) for topic in topics])[labelled]
    X = X[labelled]
    frequent = np.bincount(X.indices, minlength=X.shape[1]) >= n_documents_with_word
    return X[:, frequent], y


def conjugate_gradients(alphas=(1.0, 1e-1, 1e-2, 1e-3)):
    """Count iterations, and the time in passes: X @ w and X.T @ c by scipy."""
    X, y = reuters()
    w, c = np.ones(X.shape[1]), np.ones(X.shape[0])
    unit = sum(best_times({"X w": lambda: X @ w, "X' c": lambda: X.T @ c}, 9).values())
    pairs = int(y.sum() * (1 - y).sum())
    print(f"\nconjugate gradients, {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} nonzeros, {pairs:,} pairs")
    for alpha in alphas:
        start = perf_counter()
        model = RankRLS(alpha, ties="drop", solver="cg", tol=1e-6).fit(X, y)
        seconds = perf_counter() - start
        print(
            f"  alpha {alpha:<7g}{model.n_iter_:>5} iterations to a relative residual of 1e-6   gap "
            f"{model.gap_:.1e}   {seconds:.2f} s = {seconds / unit:.0f} passes (<= 300)"
            f"   AUC {model.score(X, y):.4f}"
        )


def leave_pair_out_time(m, repeats):
    """Time leave-pair-out over all pairs and alphas against as many products K @ K."""
    X, K, y = kernel_data(m)
    two = (y > np.median(y)).astype(float)
    products = f"{len(ALPHAS)} x K @ K"
    cases = {
        f"leave-pair-out, kernel, m = {m:,}": (RankRLS(kernel="precomputed"), K, y, 3),
        "  two classes": (RankRLS(kernel="precomputed"), K, two, 3),
        "  two classes, ties='drop'": (RankRLS(kernel="precomputed", ties="drop"), K, two, 3),
        "  primal, 20 features": (RankRLS(), X, y, None),
    }
    tasks = {
        name: partial(leave_pair_out, model, rows, labels, alphas=ALPHAS)
        for name, (model, rows, labels, _) in cases.items()
    }
    best = best_times(tasks | {products: lambda: [K @ K for _ in ALPHAS]}, repeats)
    for name, (*_, target) in cases.items():
        report(name, best[name], products, best[products], target)


def leaving_out_once(m, repeats, rows_of_query=10):
    """Time leaving every query or pair out at one alpha, Gaussian kernel, against one fit."""
    X, _, y = kernel_data(m)
    qid, model = np.arange(m) // rows_of_query, RankRLS(1e-3, kernel="rbf", gamma=0.02)
    tasks = {
        "queries": partial(leave_query_out, model, X, y, qid),
        "fit of queries": partial(model.fit, X, y, qid=qid),
        "pairs": partial(leave_pair_out, model, X, y),
        "fit of pairs": partial(model.fit, X, y),
    }
    with threadpool_limits(1, user_api="blas"):  # as a fit has
        best = best_times(tasks, repeats)
    for what, target in (("queries", 3), ("pairs", 5)):
        name = f"leaving out {what} at one alpha, m = {m:,}"
        report(name, best[what], "one fit", best[f"fit of {what}"], target)


def six_thousand_rows():
    """Time kernel RankRLS on 6,000 rows, which took 841 s in table 1 of Pahikkala et al. (2009)."""
    X, K, y = kernel_data(6000)
    tasks = {
        "fit": partial(RankRLS(1e-3, kernel="rbf", gamma=0.02).fit, X, y),
        "path": partial(RankRLS(kernel="rbf", gamma=0.02).path, X, y, ALPHAS),
        "eigh": partial(np.linalg.eigh, K),
    }
    best = best_times(tasks, 1)
    report("kernel fit, m = 6,000 (841 s in 2008)", best["fit"], "numpy eigh", best["eigh"])
    report("path of 31 alphas, m = 6,000", best["path"], "numpy eigh", best["eigh"])


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true", help="write the tables of the pages, nothing else")
    parser.add_argument(
        "--linear-pairs", action="store_true", help="measure leave-pair-out of linear models alone"
    )
    options = parser.parse_args(arguments)
    if options.table:
        return write_tables()
    if options.linear_pairs:
        for shape in LINEAR_PAIRS:
            linear_leave_pair_out(*shape, 15)
        RESULTS.write_text(compact(json.loads(RESULTS.read_text()) | RECORD))
        return None
    m, repeats = (1000, 3) if options.quick else (3000, 5)
    dual_fit(m, repeats)
    alpha_path(m // 2 if not options.quick else m, repeats)
    many_outputs(m, repeats)
    for shape in LINEAR_OUTPUTS:
        many_linear_outputs(*shape, repeats)
    for shape in LINEAR_PAIRS:
        linear_leave_pair_out(*shape, repeats)
    primal_fit(*((50_000, 50) if options.quick else (500_000, 50)), repeats)
    leave_pair_out_time(1000, repeats)
    for n_rows in (1000,) if options.quick else (1000, 2000, 4000):
        leaving_out_once(n_rows, repeats)
    conjugate_gradients()
    if not options.quick:
        six_thousand_rows()
        RESULTS.write_text(compact({"date": datetime.datetime.now(datetime.UTC).date().isoformat()} | RECORD))


def tables():
    """Return the tables of the page: name and text."""
    known = json.loads(RESULTS.read_text())

    def ratio(name):
        return f"{known[name]['ratio']:.2g}"

    outputs = [[f"{m:,} x {n}", ratio(f"25 outputs, {m:,} x {n}")] for m, n in LINEAR_OUTPUTS]
    outputs.append(["3,000, a kernel", ratio("25 outputs, dual, m = 3,000")])
    kernels = [
        [f"{m:,}", *(ratio(f"leaving out {what} at one alpha, m = {m:,}") for what in ("queries", "pairs"))]
        for m in (1000, 2000, 4000)
    ]
    linear = [
        [
            f"{m:,} x {n}",
            ratio(f"leave-pair-out in fits, {m:,} x {n}"),
            ratio(f"leave-pair-out, {m:,} x {n}"),
            f"{known[f'leave-pair-out, {m:,} x {n}']['seconds']:.2g} s",
        ]
        for m, n in LINEAR_PAIRS
    ]
    return [
        ("outputs", markdown(["rows", "25 outputs, in fits of one"], outputs)),
        ("kernels", markdown(["rows", "leave-query-out", "leave-pair-out"], kernels)),
        ("linear", markdown(["rows", "in fits", "in products of m x m numbers", "time"], linear)),
    ]


def write_tables():
    """Put the tables into the page."""
    page = PAGE.read_text(encoding="utf-8")
    for name, text in tables():
        page = with_block(page, name, text)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
