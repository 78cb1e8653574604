"""Rows on Dask: the same solutions as in memory, wherever the borders of the partitions lie."""

import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from rankwise import HullRanker, Preferences, RankLogistic, RankRLS, RankSVM
from rankwise.distributed import DaskDesign, gathered, is_distributed, scatter, whole_queries
from rankwise.distributed import client as client_module
from rankwise.distributed.codec import decode_counts, decode_scores, encode_counts, encode_scores
from rankwise.distributed.groups import split_groups
from rankwise.losses import Hinge
from rankwise.metrics import ndcg, ranking_error
from rankwise.model_selection import alpha_path

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")

N_ROWS, N_FEATURES, CHUNK = 480, 5, 120

MODELS = {
    "hinge": RankSVM(1e-1, tol=1e-3),
    "squared hinge": RankSVM(1e-1, tol=1e-10, loss="squared_hinge"),
    "logistic": RankLogistic(1e-1, tol=1e-10),
    "least squares, cg": RankRLS(1e-2, solver="cg", tol=1e-10),
    "least squares, primal": RankRLS(1e-2, solver="primal"),
    "least squares, no ties": RankRLS(1e-2, solver="primal", ties="drop"),
}


def make_data():
    generator = np.random.default_rng(7)
    X = generator.standard_normal((N_ROWS, N_FEATURES)) + 3.0
    y = np.round(2 * X @ generator.standard_normal(N_FEATURES) + generator.standard_normal(N_ROWS))
    return X, y


X, Y = make_data()


def pairs_anywhere():
    pairs = np.random.default_rng(1).integers(0, N_ROWS, (300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return Preferences.from_pairs(*pairs.T, n_rows=N_ROWS)


def pairs_inside():
    generator = np.random.default_rng(2)
    better = generator.integers(0, N_ROWS, 300)
    worse = better // CHUNK * CHUNK + (better + generator.integers(1, CHUNK, 300)) % CHUNK
    return Preferences.from_pairs(better, worse, n_rows=N_ROWS)


def classes_inside():
    """Two orders of two classes each: the classes of one are in the first two partitions."""
    labels = np.where(np.arange(N_ROWS) < 2 * CHUNK, 0, 2) + (np.median(Y) < Y)
    return Preferences.from_order(labels, [(1, 0), (3, 2)], sample_weight=1.0 + np.arange(N_ROWS) % 3)


WEIGHTS = np.random.default_rng(3).random(N_ROWS) * (np.arange(N_ROWS) % 7 > 0)
PROBLEMS = {
    "global": (Y, {}),
    "queries inside": (Y, {"qid": np.arange(N_ROWS) // 20}),
    "queries split": (Y, {"qid": np.arange(N_ROWS) // 50}),
    "queries mixed": (Y, {"qid": np.arange(N_ROWS) % 9}),
    "queries of one row": (
        Y,
        {"qid": np.where(np.arange(N_ROWS) % 40 < 20, np.arange(N_ROWS) // 20, -np.arange(N_ROWS))},
    ),
    "weights": (Y, {"qid": np.arange(N_ROWS) // 20, "sample_weight": WEIGHTS}),
    "pairs anywhere": (pairs_anywhere(), {}),
    "pairs inside": (pairs_inside(), {}),
    "classes inside": (classes_inside(), {}),
    "survival": (Preferences.from_survival(WEIGHTS > 0.3, np.abs(Y)), {}),
}


def clone(model):
    return type(model)(**model.get_params())


def assert_same_fit(model, data, y, **columns):
    there, here = (
        clone(model).fit(data, y, **columns),
        clone(model).fit(X, gathered(y), **gathered_all(columns)),
    )
    if getattr(model, "loss", "") == "hinge":
        assert there.objective_ == pytest.approx(here.objective_, abs=model.tol)
        assert there.gap_ <= model.tol
    else:
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-8 * np.abs(here.coef_).max())
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-8)
    assert there.n_pairs_ == here.n_pairs_
    return there


def gathered_all(columns):
    return {name: gathered(column) for name, column in columns.items()}


def dask_rows(chunk=CHUNK):
    return da.from_array(X, chunks=(chunk, 3))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", MODELS)
def test_threads_find_the_solution_in_memory(name, problem):
    y, columns = PROBLEMS[problem]
    assert_same_fit(MODELS[name], dask_rows(), y, **columns)


@pytest.mark.parametrize("solver", ["primal", "cg"])
def test_queries_of_one_row_do_not_count(solver):
    y, columns = PROBLEMS["queries of one row"]
    model, others = RankRLS(1e-2, solver=solver, tol=1e-10), np.arange(N_ROWS) % 40 < 20
    there = clone(model).fit(dask_rows(), y, **columns)
    here = clone(model).fit(X[others], y[others], qid=columns["qid"][others])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-8 * np.abs(here.coef_).max())


WORKER_CASES = [
    ("least squares, cg", "queries of one row"),
    *((name, problem) for name in ("hinge", "squared hinge") for problem in ("global", "queries inside")),
    ("hinge", "weights"),
    ("hinge", "queries split"),
    ("squared hinge", "pairs anywhere"),
    ("least squares, cg", "queries inside"),
    ("least squares, cg", "global"),
    ("least squares, primal", "queries split"),
    ("least squares, primal", "pairs anywhere"),
]


@pytest.mark.parametrize(("name", "problem"), WORKER_CASES)
def test_workers_find_the_solution_in_memory(client, name, problem):
    y, columns = PROBLEMS[problem]
    model = assert_same_fit(MODELS[name], dask_rows(), y, **columns)
    if "cg" not in name:
        assert model.rounds_.mode == "scores"  # there are far too few rows for anything else


@pytest.mark.parametrize(
    ("problem", "average"), [("queries inside", "queries"), ("weights", "pairs"), ("pairs inside", "pairs")]
)
@pytest.mark.parametrize("name", ["hinge", "logistic", "least squares, cg"])
def test_workers_that_count_find_the_solution_in_memory(client, monkeypatch, name, problem, average):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0)
    y, columns = PROBLEMS[problem]
    model = clone(MODELS[name]).set_params(average=average)
    assert assert_same_fit(model, dask_rows(), y, **columns).rounds_.mode == "whole queries"


@pytest.mark.parametrize("name", ["hinge", "squared hinge", "logistic"])
def test_workers_that_count_prove_the_bounds_of_memory(client, monkeypatch, name):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0)
    y, columns = PROBLEMS["queries inside"]
    bounds = [clone(MODELS[name]).fit(rows, y, **columns).history_["bound"] for rows in (X, dask_rows())]
    n = min(map(len, bounds))
    assert n >= 3
    np.testing.assert_allclose(bounds[1][:n], bounds[0][:n], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["squared hinge", "least squares, cg"])
def test_workers_count_an_order_graph_that_no_border_cuts(client, monkeypatch, name):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0)
    graph, _ = PROBLEMS["classes inside"]
    fitted = assert_same_fit(MODELS[name], dask_rows(2 * CHUNK), graph)
    assert fitted.rounds_.mode == "whole queries"


@pytest.mark.parametrize("problem", ["queries split", "global", "pairs anywhere"])
def test_workers_do_not_count_queries_that_are_cut(client, monkeypatch, problem):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0)
    y, columns = PROBLEMS[problem]
    loss = Hinge(Preferences.from_scores(y, **columns) if isinstance(y, np.ndarray) else y)
    assert whole_queries.whole_queries(DaskDesign.of(dask_rows()), loss) is None


def test_composed_coefficients_are_the_pinned_ones(client, monkeypatch):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**9))
    y, columns = PROBLEMS["queries inside"]
    loss = Hinge(Preferences.from_scores(y, **columns))
    design, worker_loss = whole_queries.whole_queries(DaskDesign.of(dask_rows()), loss)
    w = np.random.default_rng(0).normal(size=design.shape[1])
    _, coefficients, _ = worker_loss.plane(design.matvec(w))
    composed = design.rmatvec(coefficients)
    assert not coefficients.is_current
    assert len(coefficients.handles) == design.n_partitions
    assert coefficients.is_current
    np.testing.assert_array_equal(design.rmatvec(coefficients), composed)
    rows = dask_rows().compute()
    np.testing.assert_allclose(composed, rows.T @ loss.plane(rows @ w)[1], rtol=1e-9, atol=1e-12)


def sparse_rows(chunk=CHUNK):
    matrix = sp.csr_matrix(np.where(np.abs(X) > 2.5, X, 0.0))
    pieces = [dask.delayed(matrix[begin : begin + chunk]) for begin in range(0, N_ROWS, chunk)]
    return matrix, pieces


@pytest.mark.parametrize("name", ["hinge", "squared hinge", "least squares, cg", "least squares, primal"])
def test_sparse_blocks(name):
    matrix, pieces = sparse_rows()
    for data in (pieces, da.from_array(X, chunks=(CHUNK, -1)).map_blocks(sparse_of, dtype=float)):
        there, here = clone(MODELS[name]).fit(data, Y), clone(MODELS[name]).fit(matrix, Y)
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)
        np.testing.assert_allclose(there.predict(data).compute(), here.predict(matrix), atol=1e-7)


def sparse_of(block):
    return sp.csr_matrix(np.where(np.abs(block) > 2.5, block, 0.0))


@pytest.mark.parametrize("name", ["hinge", "squared hinge", "least squares, primal"])
@pytest.mark.parametrize("columns", [{}, {"qid": np.arange(40) // 8}])
def test_one_row_a_partition(name, columns):
    data = da.from_array(X[:40], chunks=(1, -1))
    there, here = (
        clone(MODELS[name]).fit(data, Y[:40], **columns),
        clone(MODELS[name]).fit(X[:40], Y[:40], **columns),
    )
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)


@pytest.mark.parametrize("counting", ["driver", "workers"])
def test_empty_partitions(client, monkeypatch, counting):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0 if counting == "workers" else 10**9)
    borders = [0, 0, 120, 120, 360, 480, 480]
    pieces = [dask.delayed(X[a:b]) for a, b in pairwise(borders)]
    for name in ("squared hinge", "least squares, primal"):
        assert_same_fit(MODELS[name], pieces, Y, qid=np.arange(N_ROWS) // 20)


def test_frames_keep_their_names():
    pandas = pytest.importorskip("pandas")
    dataframe = pytest.importorskip("dask.dataframe")
    names = [f"feature {k}" for k in range(N_FEATURES)]
    frame = pandas.DataFrame(X, columns=names)
    table = dataframe.from_pandas(frame.assign(label=Y, query=np.arange(N_ROWS) // 50), npartitions=5)
    model = RankRLS(1e-2).fit(table[names], table["label"], qid=table["query"])
    here = RankRLS(1e-2).fit(frame, Y, qid=np.arange(N_ROWS) // 50)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-8)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_allclose(gathered(model.predict(table[names])), here.predict(frame), atol=1e-7)
    score = model.score(table[names], table["label"], qid=table["query"])
    assert score == pytest.approx(here.score(frame, Y, qid=np.arange(N_ROWS) // 50))


def test_chunks_of_unknown_size_are_measured():
    data = da.from_array(X, chunks=(100, -1))
    unknown = data[da.from_array(np.ones(N_ROWS, dtype=bool), chunks=100)]
    assert np.isnan(unknown.shape[0])
    assert_same_fit(MODELS["squared hinge"], unknown, da.from_array(Y, chunks=33))


def test_columns_may_be_on_dask_too():
    columns = {
        "qid": da.from_array(np.arange(N_ROWS) // 50, chunks=70),
        "sample_weight": da.from_array(WEIGHTS),
    }
    assert_same_fit(MODELS["squared hinge"], dask_rows(), da.from_array(Y, chunks=90), **columns)
    assert_same_fit(MODELS["hinge"], dask_rows(), [dask.delayed(Y[:7]), dask.delayed(Y[7:])])


def test_several_outputs():
    labels = np.stack([Y, -Y + X[:, 0]], axis=1)
    for options in (
        {"solver": "cg", "tol": 1e-10},
        {"solver": "primal"},
        {"solver": "primal", "ties": "drop"},
    ):
        there = RankRLS(1e-2, **options).fit(dask_rows(), da.from_array(labels, chunks=(100, 1)))
        here = RankRLS(1e-2, **options).fit(X, labels)
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)
        np.testing.assert_allclose(there.predict(dask_rows()).compute(), here.predict(X), atol=1e-6)


def test_predictions_are_lazy_and_ranks_are_those_in_memory():
    model = RankSVM(1e-2).fit(X, Y)
    scores = model.predict(dask_rows())
    assert scores.chunks == ((CHUNK,) * 4,)
    np.testing.assert_allclose(scores.compute(), model.predict(X), rtol=1e-12)
    qid = np.arange(N_ROWS) // 50
    assert (model.rank(dask_rows(), da.from_array(qid)) == model.rank(X, qid)).all()
    assert model.score(dask_rows(), Y) == pytest.approx(model.score(X, Y))
    assert ranking_error(Y, scores) == pytest.approx(ranking_error(Y, model.predict(X)))
    assert ndcg(da.from_array(np.abs(Y)), scores) == pytest.approx(ndcg(np.abs(Y), model.predict(X)))


def test_predict_refuses_rows_of_another_width():
    model = RankSVM(1e-2).fit(X, Y)
    with pytest.raises(ValueError, match="X has 4 features, but RankSVM is expecting 5"):
        model.predict(da.from_array(X[:, :4])).compute()


def test_small_features_are_learned_from_scores_of_four_bytes(client):
    """What scores lose on the way is relative to their size, as is what can be won."""
    for scale in (1e-3, 1e-5):
        model = RankSVM(1e-3).fit(da.from_array(X * scale, chunks=(CHUNK, 3)), Y)
        here = RankSVM(1e-3).fit(X * scale, Y)
        assert model.gap_ <= 1e-3 * (1 - model.objective_ + model.gap_) + 1e-12
        np.testing.assert_allclose(model.coef_, here.coef_, rtol=0, atol=0.05 * np.abs(here.coef_).max())


def test_warm_start_continues():
    model = RankSVM(1e-3, tol=1e-6, warm_start=True).fit(dask_rows(), Y)
    assert model.n_iter_ > 3
    assert model.fit(dask_rows(), Y).n_iter_ <= model.n_iter_ + 1


def test_a_start_from_a_sample_leads_to_the_same_solution(monkeypatch):
    monkeypatch.setattr("rankwise.solvers.registry.MIN_ROWS", 100)
    for problem in ("global", "queries split"):
        y, columns = PROBLEMS[problem]
        for name in ("hinge", "squared hinge"):
            assert_same_fit(MODELS[name], dask_rows(), y, **columns)


def test_workers_take_a_sample_themselves(client, monkeypatch):
    monkeypatch.setattr("rankwise.solvers.registry.MIN_ROWS", 100)
    assert_same_fit(MODELS["hinge"], dask_rows(), Y)


def test_large_arguments_are_scattered(client, monkeypatch, recwarn):
    monkeypatch.setattr(client_module, "TASK_BYTES", 1000)
    monkeypatch.setattr(client_module, "EMBEDDED_BYTES", 20)
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0)
    for problem in ("global", "queries inside"):
        y, columns = PROBLEMS[problem]
        for name in ("hinge", "least squares, primal"):
            assert_same_fit(MODELS[name], dask_rows(), y, **columns)


def test_unsupported_input_raises_an_error():
    bad = X.copy()
    bad[130, 2] = np.nan
    with pytest.raises(ValueError, match=r"Partition 1 of X contains NaN or infinity"):
        RankSVM().fit(da.from_array(bad, chunks=(CHUNK, -1)), Y)
    with pytest.raises(ValueError, match=r"kernel='rbf' needs all rows in one place, but X is on Dask"):
        RankSVM(kernel="rbf").fit(dask_rows(), Y)
    with pytest.raises(ValueError, match=r"HullRanker needs all rows in one place, but X is on Dask"):
        HullRanker().fit(dask_rows(), Y)
    with pytest.raises(ValueError, match=r"solver='dual' needs all rows in one place"):
        RankRLS(solver="dual").fit(dask_rows(), Y)
    with pytest.raises(ValueError, match=r"X has 480 rows, but y has 479"):
        RankSVM().fit(dask_rows(), Y[1:])
    with pytest.raises(ValueError, match=r"Partition 1 of X has 4 features, but partition 0 has 5"):
        RankSVM().fit([dask.delayed(X[:9]), dask.delayed(X[9:, :4])], Y)
    with pytest.raises(ValueError, match=r"X must be two-dimensional"):
        RankSVM().fit(da.from_array(Y), Y)


def test_products_are_those_of_the_matrix():
    design, generator = DaskDesign.of(dask_rows(70)), np.random.default_rng(0)
    w, c = generator.standard_normal(N_FEATURES), generator.random(N_ROWS)
    np.testing.assert_allclose(design.matvec(w), X @ w)
    np.testing.assert_allclose(design.rmatvec(c), X.T @ c)
    np.testing.assert_allclose(design.weighted_squares(c), (X**2).T @ c)
    spread = c @ (X - c @ X / c.sum()) ** 2
    np.testing.assert_allclose(design.weighted_spread(c), spread)
    np.testing.assert_allclose(design.column_scale(), np.abs(X).max(axis=0))
    rows = np.sort(generator.choice(N_ROWS, 50, replace=False))
    np.testing.assert_allclose(design.take(rows).matvec(w), X[rows] @ w)


def test_scores_and_counts_travel_in_four_bytes(client):
    design, loss = DaskDesign.of(scatter(X, n_partitions=3)), Hinge(Preferences.from_scores(Y))
    narrow, _ = design.placed_for(loss, 1e-3)
    w = np.random.default_rng(0).standard_normal(N_FEATURES)
    scores = narrow.matvec(w)
    error = np.abs(scores - X @ w).max()
    assert 0 < error <= 1e-6
    _, coefficients, _ = loss.plane(scores)
    assert encode_counts(coefficients, loss.factor).dtype == np.int32
    np.testing.assert_allclose(narrow.rmatvec(coefficients), X.T @ coefficients, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 1e5])
def test_fixed_point_keeps_its_promise(scale):
    scores = scale * np.random.default_rng(0).standard_normal(1000) - 17.0
    for error in (1e-6, 1e-9, 1e-300):
        assert (
            np.abs(decode_scores(encode_scores(scores, error)) - scores).max() <= error * (1 + 1e-9) + 4e-15
        )


def test_counts_come_back_to_the_bit():
    generator = np.random.default_rng(0)
    counts, unit = generator.integers(-(2**31) + 1, 2**31, 1000).astype(float), generator.random(1000)
    unit[::10] = 0.0
    sent = encode_counts(counts * unit, unit)
    assert sent.dtype == np.int32
    assert (decode_counts(sent, unit) == counts * unit).all()


def test_groups_that_are_cut():
    generator = np.random.default_rng(0)
    group, borders = generator.integers(0, 30, 40), np.array([0, 0, 11, 25, 40, 40])
    parts = [set(group[a:b]) for a, b in pairwise(borders)]
    expected = [sum(g in part for part in parts) > 1 for g in range(group.max() + 1)]
    assert split_groups(group, borders).tolist() == expected


def test_blocks_tell_dask_their_size_and_can_be_pickled():
    from dask.sizeof import sizeof

    from rankwise.distributed.blocks import as_block

    for matrix in (X, sp.csr_matrix(X)):
        block = as_block(matrix)
        assert sizeof(block) >= X.nbytes
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(block)).matvec(np.ones(5)), block.matvec(np.ones(5))
        )


def test_what_is_on_dask_is_recognised():
    assert is_distributed(dask_rows())
    assert is_distributed([dask.delayed(X)])
    assert not any(is_distributed(value) for value in (X, [], [[1.0]], None, Y.tolist(), sp.csr_matrix(X)))


def test_dask_is_not_imported_without_need():
    code = "import sys, rankwise; sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["hinge", "logistic", "least squares, primal"])
def test_a_path_over_alpha_has_the_same_proof(name):
    model, qid = MODELS[name], np.arange(N_ROWS) // 20
    there, here = (alpha_path(model, rows, Y, qid=qid, tol=1e-2) for rows in (dask_rows(), X))
    alphas = np.geomspace(there.alphas[0], there.alphas[-1], 50)[1:-1]
    assert there.alphas[[0, -1]].tolist() == pytest.approx(here.alphas[[0, -1]].tolist())
    assert (there.share(alphas) <= 1e-2).all()
    assert (there.bound(alphas) <= here.objective(alphas)).all()
    assert (here.bound(alphas) <= there.objective(alphas)).all()
