"""The losses as a module of PyTorch, against the textbook formulas and autograd's own checks."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
import strategies
from rankwise import NoPairsError, Preferences, objectives

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")
DOUBLE = torch.float64

FORMULAS = {
    "hinge": reference.hinge,
    "squared_hinge": reference.squared_hinge,
    "logistic": reference.logistic,
    "least_squares": lambda pairs, s: reference.least_squares(pairs, s, "magnitude"),
}
HESSIANS = {
    "hinge": lambda pairs, s: np.zeros((len(s), len(s))),
    "squared_hinge": reference.squared_hinge_hessian,
    "logistic": reference.logistic_hessian,
    "least_squares": lambda pairs, s: 2 * reference.laplacian(pairs, len(s)),
}
LOSSES = st.sampled_from(list(FORMULAS))
AVERAGES = st.sampled_from(["queries", "pairs"])

# No difference of two scores is near 1, where the hinge losses have their kinks.
SCORES = [0.31, -1.24, 0.05, 2.17, -0.48, 0.93, 1.72, -0.11]
LABELS = [2.5, 1.0, 1.0, 7.0, 0.0, 2.5, 0.0, 1.0]
QUERIES = ["b", "a", "b", "a", "a", "b", "b", "lonely"]


def tensor(values, dtype=DOUBLE):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def value_and_gradient(loss, scores, *arguments):
    value = loss(scores, *arguments)
    return value.item(), torch.autograd.grad(value, scores)[0].tolist()


def expected(name="logistic", average="queries", weight=None, scores=SCORES, labels=LABELS, qid=QUERIES):
    pairs = reference.normalised(reference.ranking_pairs(labels, qid, weight), average)
    value, gradient = FORMULAS[name](pairs, np.array(scores))
    return pytest.approx(value, rel=1e-10), pytest.approx(gradient, rel=1e-9, abs=1e-12)


def drawn(case, average):
    """Normalised pairs and scores of moderate size, no difference of two on a margin, where kinks are."""
    pairs = case.normalised(average)
    scores = case.scores / max(1.0, np.abs(case.scores).max() / 10)
    assume(sum(w for _, _, w, _, _ in pairs) == pytest.approx(1.0))
    assume(all(abs(scores[i] - scores[j] - 1) > 1e-9 for i, j, *_ in pairs))
    return pairs, scores


@settings(max_examples=100, deadline=None)
@given(strategies.cases(), LOSSES, AVERAGES)
def test_every_structure_has_the_textbook_value_and_gradient(case, name, average):
    pairs, scores = drawn(case, average)
    value, gradient = FORMULAS[name](pairs, scores)
    whole = objectives.torch(case.preferences, loss=name, average=average)
    batch = objectives.torch(loss=name, average=average)
    for loss, arguments in ((whole, ()), (batch, (case.preferences,))):
        got = value_and_gradient(loss, tensor(scores), *arguments)
        assert got == (pytest.approx(value, rel=1e-7, abs=1e-7), pytest.approx(gradient, abs=1e-7))


@settings(max_examples=50, deadline=None)
@given(strategies.cases(max_rows=6), LOSSES, AVERAGES)
def test_the_second_derivative_is_the_textbook_hessian(case, name, average):
    pairs, scores = drawn(case, average)
    loss = objectives.torch(case.preferences, loss=name, average=average)
    hessian = torch.autograd.functional.hessian(loss, tensor(scores))
    assert hessian.numpy() == pytest.approx(HESSIANS[name](pairs, scores), abs=1e-7)


@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("name", FORMULAS)
def test_autograd_agrees_with_finite_differences(name, average):
    loss = objectives.torch(loss=name, average=average)

    def function(scores):
        return 3 * loss(scores**2, LABELS, QUERIES, np.arange(1, 9))

    assert torch.autograd.gradcheck(function, tensor(SCORES))
    assert torch.autograd.gradgradcheck(function, tensor(SCORES))


@pytest.mark.parametrize("name", FORMULAS)
def test_a_batch_is_given_as_tensors_arrays_or_lists(name):
    codes, weight = [1, 0, 1, 0, 0, 1, 1, 2], [1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 4.0, 5.0]
    loss, scores = objectives.torch(loss=name), tensor(SCORES)
    forms = (list, np.array, torch.tensor)
    for form in forms:
        got = value_and_gradient(loss, scores, form(LABELS), form(codes), form(weight))
        assert got == expected(name, weight=weight)
    assert value_and_gradient(loss, scores, LABELS, QUERIES) == expected(name)
    assert value_and_gradient(loss, scores, LABELS) == expected(name, qid=None)
    assert value_and_gradient(loss, scores, torch.tensor(LABELS).to(torch.bfloat16)) == expected(
        name, qid=None
    )
    slice_of = Preferences.from_scores([0.0, *LABELS], ["b", *QUERIES])[1:]
    assert value_and_gradient(loss, scores, slice_of, None, weight) == expected(name, weight=weight)


def test_scores_may_be_a_column():
    scores = tensor([[score] for score in SCORES])
    value, gradient = value_and_gradient(objectives.torch(), scores, torch.tensor(LABELS)[:, None], QUERIES)
    assert (value, [entry for (entry,) in gradient]) == expected()


@pytest.mark.parametrize("weight", [None, [1.0, 0.0, 2.0, 3.0]])
@pytest.mark.parametrize("name", FORMULAS)
def test_chosen_and_rejected_scores(name, weight):
    numbers = range(4)
    pairs = reference.explicit_pairs(numbers, range(4, 8), np.ones(4), weight or np.ones(4))
    value, gradient = FORMULAS[name](reference.normalised(pairs), np.array(SCORES))
    chosen, rejected = tensor(SCORES[:4]), tensor([[score] for score in SCORES[4:]])
    loss = objectives.torch(loss=name).of_pairs(chosen, rejected, weight)
    loss.backward()
    assert loss.item() == pytest.approx(value)
    assert chosen.grad.tolist() == pytest.approx(gradient[:4])
    assert rejected.grad[:, 0].tolist() == pytest.approx(gradient[4:])


def test_chosen_and_rejected_scores_have_the_loss_of_pytorch():
    chosen, rejected = tensor(SCORES[:4]), tensor(SCORES[4:])
    usual = -torch.nn.functional.logsigmoid(chosen - rejected).mean()
    assert objectives.torch().of_pairs(chosen, rejected).item() == pytest.approx(usual.item())


@pytest.mark.parametrize(("dtype", "digits"), [("float32", 1e-6), ("float16", 2e-3), ("bfloat16", 1e-2)])
def test_the_type_of_the_scores_is_kept_and_half_precision_does_not_vanish(dtype, digits):
    dtype = getattr(torch, dtype)
    scores = tensor(np.linspace(-1, 1, 1000), dtype)
    labels = np.arange(1000) % 7
    exact = tensor(scores.tolist())
    loss = objectives.torch()
    value = loss(scores, labels)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(loss(exact, labels).item(), rel=1e-6)
    # As a gradient scaler does; without it entries of 1e-6 would be rounded off in half precision.
    (2**16 * value).backward()
    (2**16 * loss(exact, labels)).backward()
    assert scores.grad.dtype == dtype
    assert scores.grad.tolist() == pytest.approx(exact.grad.tolist(), rel=digits, abs=1e-4)


@pytest.mark.parametrize(
    ("scores", "labels", "qid", "weight"),
    [
        (SCORES, [1] * 8, None, None),
        (SCORES, range(8), range(8), None),
        (SCORES, range(8), None, [0] * 8),
        (SCORES, range(8), None, [1] + [0] * 7),
        ([0.5], [3], None, None),
        ([], [], None, None),
    ],
    ids=["equal labels", "queries of one row", "no weight", "one row of weight", "one row", "no rows"],
)
@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_a_batch_without_pairs_costs_nothing_and_ends_no_loop(name, scores, labels, qid, weight):
    scores = tensor(scores)
    value = objectives.torch(loss=name)(scores, list(labels), qid and list(qid), weight)
    (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
    (second,) = torch.autograd.grad((gradient * scores).sum(), scores)
    assert value.item() == 0
    assert gradient.tolist() == second.tolist() == [0.0] * len(scores)


def test_no_chosen_scores_cost_nothing():
    nothing = tensor([])
    assert objectives.torch().of_pairs(nothing, nothing).item() == 0
    assert objectives.torch().of_pairs(tensor([1.0]), tensor([2.0]), [0.0]).item() == 0
    alone = Preferences.from_scores([1, 0, 1])[[0, 2]]
    assert objectives.torch()(tensor([1.0, 2.0]), alone).item() == 0
    with pytest.raises(NoPairsError, match="all 2 labels are equal"):
        objectives.torch(alone)


def test_a_module_among_modules():
    loss = objectives.torch(Preferences.from_scores(LABELS, QUERIES), average="pairs")
    options = "loss='logistic', average='pairs'"
    assert str(loss) == f"PairLoss(<Ranking preferences: 8 pairs of 8 rows>, {options})"
    assert not loss.state_dict()
    scores = tensor(SCORES)
    for same in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), loss.to("cpu").eval()):
        assert value_and_gradient(same, scores) == expected(average="pairs")


def test_functional_gradients_and_a_third_derivative():
    loss, scores = objectives.torch(Preferences.from_scores(LABELS, QUERIES)), tensor(SCORES)
    gradient = torch.func.grad(loss)
    assert gradient(scores.detach()).tolist() == expected()[1]
    second = torch.func.grad(lambda s: gradient(s)[0])
    pairs = reference.normalised(reference.ranking_pairs(LABELS, QUERIES))
    assert second(scores.detach()).tolist() == pytest.approx(
        reference.logistic_hessian(pairs, np.array(SCORES))[0]
    )
    with pytest.raises(NotImplementedError, match="a third was requested"):
        torch.func.grad(lambda s: second(s)[0])(scores.detach())


def test_a_step_along_the_gradient_is_followed_by_a_network():
    """The gradient reaches parameters: a linear model learns the order of its only feature."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(200, 1, generator=generator)
    model = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(model.weight, -1.0)
    loss = objectives.torch(Preferences.from_scores(X[:, 0].numpy()), loss="squared_hinge")
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    values = []
    for _ in range(30):
        optimiser.zero_grad()
        values.append(loss(model(X)))
        values[-1].backward()
        optimiser.step()
    assert values[-1] < values[0] / 4
    assert model.weight.item() > 0


MISTAKES = [
    (lambda loss: loss(SCORES, LABELS), "scores must be a tensor of floating-point numbers; got list"),
    (lambda loss: loss(torch.arange(8), LABELS), "tensor of floating-point numbers; got torch.int64"),
    (lambda loss: loss(tensor([SCORES] * 2), LABELS), r"got \(2, 8\). Flatten a batch of lists"),
    (lambda loss: loss(tensor(SCORES)), "y is missing"),
    (lambda loss: loss(tensor(SCORES), LABELS[1:]), "y has length 7, but must have length 8"),
    (lambda loss: loss(tensor(SCORES), [1] * 7), "y has length 7, but must have length 8"),
    (lambda loss: loss(tensor(SCORES), LABELS, [1, 2]), "qid has length 2, but must have length 8"),
    (lambda loss: loss(tensor(SCORES), LABELS, None, [0]), "sample_weight has length 1"),
    (lambda loss: loss(tensor(SCORES), LABELS, None, [-1] * 8), "sample_weight must not be negative"),
    (lambda loss: loss(tensor([np.nan] * 8), LABELS), "scores contains NaN or infinity"),
    (lambda loss: loss(tensor(SCORES[1:]), Preferences.from_scores(LABELS)), "scores has length 7, but"),
    (
        lambda loss: loss(tensor(SCORES), Preferences.from_scores(LABELS), QUERIES),
        "qid must be None when y is",
    ),
    (lambda loss: loss.of_pairs(tensor(SCORES), tensor(SCORES[1:])), "chosen has 8 scores and rejected 7"),
    (lambda loss: loss.of_pairs(tensor(SCORES), SCORES), "rejected must be a tensor of floating-point"),
    (lambda loss: objectives.torch("hinge"), "got 'hinge'. Name the loss with loss=..."),
    (lambda loss: objectives.torch(loss="huber"), "loss must be one of 'hinge', .* got 'huber'"),
    (lambda loss: objectives.torch(average="rows"), "average must be one of"),
    (lambda loss: objectives.torch(cost="cheap"), "cost must be one of"),
    (lambda loss: objectives.torch(n_threads=0), "n_threads must be an integer of at least 1; got 0"),
    (
        lambda loss: objectives.torch(Preferences.from_scores(LABELS))(tensor(SCORES), LABELS),
        "y, qid and sample_weight must be None",
    ),
    (
        lambda loss: objectives.torch(Preferences.from_scores(LABELS)).of_pairs(tensor([1.0]), tensor([0.0])),
        "of_pairs needs a loss that was created without preferences",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_are_named(mistake, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mistake(objectives.torch())
