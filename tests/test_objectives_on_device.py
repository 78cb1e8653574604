"""The losses in operations of PyTorch: equal to the native ones, on any device and for any batch."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankwise import objectives
from rankwise.objectives.networks import ON_DEVICE

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")


@st.composite
def batches(draw):
    n = draw(st.integers(1, 14))
    labels = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0, -3.0]), min_size=n, max_size=n))
    query = draw(st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weight = draw(st.one_of(st.none(), st.lists(st.sampled_from([0.0, 0.5, 1, 3]), min_size=n, max_size=n)))
    scores = draw(st.lists(st.integers(-300, 300), min_size=n, max_size=n))
    return np.array(scores) / 70.1, labels, query, weight


def value_and_gradient(loss, scores, *arguments, kind=torch.float64):
    column = torch.tensor(scores, dtype=kind, requires_grad=True)
    value = loss(column, *arguments)
    (gradient,) = torch.autograd.grad(value, column)
    return value.item(), gradient.double().numpy()


@pytest.mark.parametrize("loss", ON_DEVICE)
@pytest.mark.parametrize("average", ["queries", "pairs"])
@settings(max_examples=100, deadline=None)
@given(batches())
def test_value_and_gradient_are_those_of_the_native_loss(loss, average, batch):
    scores, labels, query, weight = batch
    differences = np.subtract.outer(scores, scores)
    assume(not np.isclose(np.abs(differences), 1.0).any())  # kinks
    native, device = (objectives.torch(loss=loss, average=average, on_device=on) for on in (False, True))
    expected, expected_gradient = value_and_gradient(native, scores, labels, query, weight)
    value, gradient = value_and_gradient(device, scores, labels, query, weight)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", ON_DEVICE)
def test_single_precision_is_good_to_six_digits(loss):
    generator = np.random.default_rng(0)
    scores = generator.normal(size=2000).astype(np.float32)
    labels, query = generator.integers(0, 6, 2000), generator.integers(0, 40, 2000)
    native, device = (objectives.torch(loss=loss, on_device=on) for on in (False, True))
    expected, expected_gradient = value_and_gradient(native, scores, labels, query, kind=torch.float32)
    value, gradient = value_and_gradient(device, scores, labels, query, kind=torch.float32)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-6 * np.abs(expected_gradient).max())


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_second_derivatives(loss):
    generator = np.random.default_rng(0)
    labels, query = generator.integers(0, 4, 12), generator.integers(0, 2, 12)
    column = torch.tensor(generator.normal(size=12), requires_grad=True)
    module = objectives.torch(loss=loss, on_device=True)
    assert torch.autograd.gradcheck(lambda s: module(s, labels, query), column)
    assert torch.autograd.gradgradcheck(lambda s: module(s, labels, query), column)


def test_unit_cost_and_pairs():
    generator = np.random.default_rng(0)
    scores, labels, query = generator.normal(size=30), generator.integers(0, 4, 30), np.arange(30) % 3
    native, device = (
        objectives.torch(loss="least_squares", cost="unit", on_device=on) for on in (False, True)
    )
    for one, other in zip(
        value_and_gradient(native, scores, labels, query),
        value_and_gradient(device, scores, labels, query),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    for loss in ("hinge", "squared_hinge", "logistic"):
        native, device = (objectives.torch(loss=loss, on_device=on) for on in (False, True))
        chosen, rejected = (torch.tensor(one) for one in (scores[:10], scores[10:20]))
        for weight in (None, np.arange(10.0)):
            expected = native.of_pairs(chosen, rejected, weight).item()
            assert device.of_pairs(chosen, rejected, weight).item() == pytest.approx(expected, rel=1e-12)


def test_batches_without_pairs_have_no_loss():
    for loss in ON_DEVICE:
        module = objectives.torch(loss=loss, on_device=True)
        for labels, weight in (([1, 1, 1], None), ([1, 2, 3], [0, 0, 0])):
            scores = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
            value = module(scores, labels, sample_weight=weight)
            value.backward()
            assert value.item() == 0.0
            assert not scores.grad.any()


def test_memory_does_not_grow_with_the_pairs():
    """Pieces of the logistic loss are as large as is set, whatever the batch."""
    from rankwise.objectives import on_device

    generator = np.random.default_rng(0)
    scores, labels = generator.normal(size=300), generator.integers(0, 5, 300)
    module = objectives.torch(on_device=True)
    whole = value_and_gradient(module, scores, labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_device, "PAIRS_AT_ONCE", 1000)
        pieces = value_and_gradient(module, scores, labels)
    assert pieces[0] == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(pieces[1], whole[1], rtol=1e-9, atol=1e-12)


def test_mistakes():
    with pytest.raises(ValueError, match="loss, with on_device=True, must be"):
        objectives.torch(loss="huber_hinge", on_device=True)
    with pytest.raises(ValueError, match="cost, with on_device=True, must be"):
        objectives.torch(loss="least_squares", cost="relative", on_device=True)
    with pytest.raises(ValueError, match="y has 2 entries, but there are 3 scores"):
        objectives.torch(on_device=True)(torch.zeros(3), [1, 2])
