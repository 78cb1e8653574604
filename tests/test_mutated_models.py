"""Model files with one value changed and a right checksum: refused when they are loaded, or of use."""

import copy
import io
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rankwise import (
    BoostedRanker,
    BradleyTerry,
    CrowdBradleyTerry,
    CurveRanker,
    HullRanker,
    KernelRanker,
    ModelFileError,
    OrdinalSVM,
    PredictionPoweredBradleyTerry,
    RankLogistic,
    RankRLS,
    RankSVM,
    load_model,
    save_model,
)
from rankwise.io.model_layout import read_layout, write_layout
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.preprocessing import QueryScaler

FOLDER = Path(__file__).parent / "models"
N_MUTATIONS = 1000
ROWS = np.random.default_rng(0).normal(size=(12, 3))
LABELS = np.array([0, 1, 2] * 4)
# Values that are put in place of others.
ODD = [None, True, False, 0, 1, -1, 3, 10**30, 0.5, -0.5, 1e308, -1e308, 1e-308, "", "x", [], {}]
ODD += [{"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"map": []}, {"array": 0}, {"array": 1}]
ODD_NUMBERS = [0.0, 1.0, -1.0, 1e308, -1e308, 1e200, 1e-308, math.nan, math.inf]


def fitted():
    """Yield fitted models of all kinds."""
    qid = np.repeat([0, 1, 2], 4)
    for kind in (RankSVM, RankLogistic, RankRLS):
        yield kind().fit(ROWS, LABELS, qid=qid)
        for kernel in ("poly", "rbf", "laplacian"):
            yield kind(kernel=kernel).fit(ROWS, LABELS)
    yield RankSVM(kernel="poly").fit(sparse.csr_matrix(ROWS), LABELS)
    yield RankSVM(kernel="rbf", gamma="learned", random_state=0).fit(ROWS, LABELS)
    yield RankRLS(kernel="poly", n_components=4, random_state=0).fit(ROWS, LABELS)
    yield OrdinalSVM().fit(ROWS, LABELS)
    yield OrdinalSVM(kernel="poly", categories=["a", "b", "c"]).fit(ROWS, np.array(["a", "b", "c"])[LABELS])
    yield HullRanker().fit(ROWS, LABELS)
    yield HullRanker(kernel="poly").fit(ROWS, LABELS)
    yield CurveRanker().fit(ROWS, LABELS)
    yield CurveRanker(interactions=1).fit(ROWS, LABELS)
    yield KernelRanker().fit(ROWS, LABELS)
    yield KernelRanker("logistic").fit(np.where(ROWS > 1, np.nan, ROWS), LABELS)
    yield BoostedRanker(n_estimators=3, min_child_samples=1).fit(ROWS, LABELS)
    yield make_pipeline(StandardScaler(), RankSVM(kernel="poly")).fit(ROWS, LABELS)
    yield make_pipeline(QueryScaler("minmax"), RankSVM()).fit(ROWS, LABELS)
    frame = pd.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1], "c": list("xyz") * 4})
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    yield make_pipeline(columns, RankSVM()).fit(frame, LABELS)
    names = np.array(list("pqrs"))
    winner, loser = names[LABELS], names[LABELS + 1]
    yield BradleyTerry().fit(winner, loser)
    outcome = ["win", "tie", "loss", "win"] * 3
    yield BradleyTerry(ties="davidson", order_effect=True).fit(winner, loser, outcome=outcome)
    clusters = np.arange(len(LABELS)) % 4, np.arange(len(LABELS)) % 5
    yield BradleyTerry().fit(winner, loser, outcome=outcome, cluster=clusters)
    yield BradleyTerry().fit(winner, loser, np.linspace(0.5, 1.9, len(LABELS)))
    yield BradleyTerry().fit(winner, loser, features={name: [k, k * k / 2] for k, name in enumerate("pqrs")})
    yield BradleyTerry(link="probit").fit(winner, loser, covariates={"z": np.cos(np.arange(len(LABELS)))})
    yield CrowdBradleyTerry().fit(winner, loser, judge=np.arange(len(LABELS)) % 2)
    some = {"outcome": [1, 0, None] * 4, "judge_outcome": [1, 0, 0, 1] * 3}
    yield PredictionPoweredBradleyTerry().fit(winner, loser, **some)


def signed(header, arrays):
    """Return the bytes of a file with a right checksum."""
    buffer = io.BytesIO()
    write_layout(buffer, {key: value for key, value in header.items() if key != "arrays"}, arrays)
    return buffer.getvalue()


def places(tree):
    """Yield each container of a tree with each of its keys."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield tree, key
        yield from places(value)


def mutated(header, arrays, random):
    """Return a copy with one value exchanged, removed or copied, or one number of an array changed."""
    header, arrays = copy.deepcopy(header), [array.copy() for array in arrays]
    if arrays and random.random() < 0.4:
        array = arrays[random.integers(len(arrays))]
        number = ODD_NUMBERS[random.integers(len(ODD_NUMBERS))]
        if array.size:
            with np.errstate(invalid="ignore", over="ignore"):
                array.flat[random.integers(array.size)] = np.array(number).astype(array.dtype)
        return header, arrays
    found = list(places(header["model"]))
    container, key = found[random.integers(len(found))]
    action = random.integers(4)
    if action == 0 and isinstance(container, dict):
        del container[key]
    elif action == 1:
        other, name = found[random.integers(len(found))]
        container[key] = copy.deepcopy(other[name])
    else:
        container[key] = copy.deepcopy(ODD[random.integers(len(ODD))])
    return header, arrays


def used(model):
    """Use a model in all ways that it has; return the numbers."""
    if isinstance(model, BaseLeaderboard):
        return used_leaderboard(model)
    ranker = model.steps[-1][1] if hasattr(model, "steps") else model
    n_features = getattr(model, "n_features_in_", ranker.n_features_in_)
    rows = np.resize(ROWS, (len(ROWS), n_features))
    if getattr(getattr(model, "steps", [[0, 0]])[0][1], "transformers_", None) is not None:
        rows = pd.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1], "c": list("xyz") * 4})
    found = [model.predict(rows)]
    if model is ranker:
        for name in ("utility", "predict_proba", "predict_class"):
            if hasattr(ranker, name):
                found.append(getattr(ranker, name)(rows))
        for name in ("predict_pair_proba", "explain_pair"):
            if hasattr(ranker, name) and not (name == "explain_pair" and hasattr(ranker, "basis_")):
                found.append(getattr(ranker, name)(rows[0], rows[1]))
        found.append(ranker.rank(rows))
    repr(model)
    return [values for values in map(np.asarray, found) if values.dtype.kind in "fiu"]


def used_leaderboard(model):
    names = model.items_.tolist()
    board = model.leaderboard()
    found = [[row.score, row.low, row.high, row.standard_error, row.best_rank, row.matches] for row in board]
    found += [model.predict_match_proba(names[0], names[-1]), model.standard_errors()]
    found += [model.difference(names[0], names[-1]), model.predict_pair_proba(names, names)]
    if hasattr(model, "coef_"):
        found.append(model.predict(np.ones((2, len(model.coef_)))))
    str(board)
    return [np.asarray(values, dtype=float) for values in found]


# What rows are refused with that do not fit the model, of which names or categories were changed.
REFUSALS = (
    "feature names", "unknown categories", "features, but", "columns are missing", "is not fitted yet",
    "Input X contains infinity", "is singular to double precision", "QueryScaler was fitted with qid",
)  # fmt: skip


def complaint(content, path):
    """Return what is wrong with the use of a file, or None; files that are refused are right."""
    path.write_bytes(content)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = load_model(path)
        except ModelFileError:
            return None
        try:
            found = used(model)
        except Exception as error:
            if isinstance(error, ValueError) and any(words in str(error) for words in REFUSALS):
                return None
            return f"{type(model).__name__}: {type(error).__name__}: {error}"
    # Ends of intervals are infinite if the votes do not bound them.
    is_number = np.isfinite if not isinstance(model, BaseLeaderboard) else lambda values: ~np.isnan(values)
    is_finite = all(is_number(np.asarray(values, dtype=np.float64)).all() for values in found)
    return None if is_finite or takes_roots(model) else f"{type(model).__name__}: not finite"


def takes_roots(model):
    """Whether a kernel has a fractional power, which is not defined for some rows outside of the basis."""
    arguments = getattr(model, "_kernel_arguments", {})
    return arguments.get("kernel") == "poly" and arguments["degree"] % 1 != 0


def read_originals(folder):
    """Return the header and the arrays of files of released versions and of new ones, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of the few rows are hard to learn
        for number, model in enumerate(fitted()):
            save_model(model, folder / f"{number}-{type(model).__name__}.json")
    contents = {}
    for path in sorted([*FOLDER.glob("*/*.json"), *folder.glob("*.json")]):
        with open(path, "rb") as file:
            contents[path.stem] = read_layout(file)
    return contents


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return read_originals(tmp_path_factory.mktemp("originals"))


def test_the_originals_are_of_use(originals, tmp_path):
    for name, (header, arrays) in originals.items():
        assert complaint(signed(header, arrays), tmp_path / "model.json") is None, name


def test_mutated_files_are_refused_or_of_use(originals, tmp_path):
    random, names = np.random.default_rng(20261117), list(originals)
    for number in range(N_MUTATIONS):
        name = names[random.integers(len(names))]
        header, arrays = mutated(*originals[name], random)
        found = complaint(signed(header, arrays), tmp_path / "model.json")
        assert found is None, f"mutation {number} of {name}: {found}"


def test_kernels_whose_scores_overflow_are_refused(tmp_path):
    for change in ({"degree": 10**30}, {"degree": 0.5}, {"coef0": -1e308}, {"gamma": 1e300}):
        model = RankLogistic(kernel="poly").fit(ROWS, LABELS)
        model._kernel_arguments = model._kernel_arguments | change
        save_model(model, tmp_path / "model.json")
        with pytest.raises(ModelFileError, match="not finite"):
            load_model(tmp_path / "model.json")


def test_a_learned_gamma_that_no_fit_finds_is_refused(tmp_path):
    model = KernelRanker().fit(ROWS, LABELS)
    model.ranker_.gamma_ = 1e308
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="its gamma_ is invalid"):
        load_model(tmp_path / "model.json")


def test_a_scaler_that_contradicts_itself_is_refused(tmp_path):
    model = make_pipeline(StandardScaler(), RankSVM()).fit(ROWS, LABELS)
    model[0].scale_[1] = 1e-308
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="scale_ of its StandardScaler is inconsistent"):
        load_model(tmp_path / "model.json")


def test_trees_have_no_more_threads_than_there_are_cores(tmp_path):
    model = BoostedRanker(n_estimators=3, min_child_samples=1).fit(ROWS, LABELS)
    save_model(model.set_params(n_jobs=10**8), tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").predict(ROWS).tolist() == model.predict(ROWS).tolist()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_single_basis_row_that_overflows_is_found(form, tmp_path):
    rows = np.random.default_rng(1).normal(size=(300, 3))
    model = RankRLS(kernel="poly").fit(form(rows), rows[:, 0])
    place = np.flatnonzero(np.ravel(abs(model.basis_).sum(axis=1)))[7]
    model.basis_[place, 1] = -1e200
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="not finite"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("coef_", np.array([1e308, 0.0, 0.0]), "coef_"),
        ("_weights", np.array([1e200, 0.0, 0.0]), "_weights"),
    ],
)
def test_weights_without_a_norm_are_refused(name, value, words, tmp_path):
    model = RankSVM().fit(ROWS, LABELS)
    setattr(model, name, value)
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match=f"its {words} is invalid"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tie_effect_", -0.5),
        ("order_effect_", 2.0),
        ("alpha_", -1.0),
        ("alpha_", 1e308),
        ("scores_", np.ones(4)),
    ],
)
def test_a_leaderboard_that_contradicts_itself_is_refused(name, value, tmp_path):
    names = np.array(list("pqrs"))
    model = BradleyTerry().fit(names[LABELS], names[LABELS + 1])
    setattr(model, name, value)
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match=r"its (alpha_|tie_effect_|_parameters) is invalid"):
        load_model(tmp_path / "model.json")


def test_a_singular_covariance_is_a_sentence():
    names = np.array(list("pqrs"))
    model = BradleyTerry(0.5 / len(LABELS), ties="davidson", order_effect=True)
    model.fit(names[LABELS], names[LABELS + 1], outcome=["win", "tie", "loss", "win"] * 3)
    model.alpha_ = 1e-308
    with pytest.raises(ValueError, match="is singular to double precision"):
        model.leaderboard()


def test_counts_of_clusters_of_unequal_lengths_are_refused(tmp_path):
    model = BradleyTerry().fit(list("abc") * 8, list("bca") * 8, cluster=np.arange(24) % 12)
    ((cluster, *counts),) = model._clusters
    model._clusters = ((cluster[1:], *counts),)
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="_clusters is invalid or inconsistent"):
        load_model(tmp_path / "model.json")
