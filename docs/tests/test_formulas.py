"""Formulas in docstrings, as the pages set them."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))

from formulas import set_formulas


@pytest.mark.parametrize(
    ("plain", "formula"),
    [
        ("l(f(better)) + alpha ||f||^2", r"\ell(f(\text{better})) + \alpha \lVert f \rVert^{2}"),
        ("P(a above b) = 1 / (1 + exp(f(b) - f(a)))", r"P(\text{a above b}) = 1 / (1 + \exp(f(b) - f(a)))"),
        ("P(rank <= k) = 1", r"P(\text{rank }\le\text{ k}) = 1"),
        ("O(nnz + m log\n    m)", r"O(\text{nnz} + m \log m)"),
        ("max(0, 1 - (s_better - s_worse))^2", r"\max(0, 1 - (s_{\text{better}} - s_{\text{worse}}))^{2}"),
        ("G = K (L K + lambda I)^-1", r"G = K (L K + \lambda I)^{-1}"),
        ("f_1(x_1) + ... + f_n(x_n)", r"f_{1}(x_{1}) + \dots + f_{n}(x_{n})"),
        ("(P - Q) / sqrt(N_y N_s)", r"(P - Q) / \sqrt{N_{y} N_{s}}"),
        ("exp(-gamma sum |s x - s z|)", r"\exp(-\gamma \sum \lvert s x - s z \rvert)"),
        ("log |beta_k|", r"\log \lvert \beta_{k} \rvert"),
        ("||gradient||^2 / (4 alpha)", r"\lVert \text{gradient} \rVert^{2} / (4 \alpha)"),
    ],
)  # fmt: skip
def test_a_formula_in_a_sentence_is_set(plain, formula):
    assert set_formulas(f"It is {plain}, for a row.") == f"It is :math:`{formula}`, for a row."


@pytest.mark.parametrize(
    "prose",
    [
        "A row (of 3) has n_features numbers, see equation (4) of Airola et al. (2011).",
        "alpha : float, default 2^-3\n    Strength of the penalty.",
        "DCG = sum over ranks of g(y at rank r) / log2(r + 1), or log(largest / smallest) / (2 tol)^(1/2).",
        "With `n_components=b` and ``m^2`` numbers.",
        ">>> 2^3\n1\n",
        "The ranks r = 1..k, and a well-known a/b test of 95% - no more.",
    ],
)
def test_prose_and_code_stay_as_they_are(prose):
    assert set_formulas(prose) == prose
