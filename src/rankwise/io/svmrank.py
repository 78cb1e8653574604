"""Write and read linear models as SVMrank's model.dat."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.estimators import RankSVM
from rankwise.estimators.scaling import folded
from rankwise.io.model_layout import ModelFileError
from rankwise.io.terms import Terms

# The programs of SVMrank refuse files of another version.
VERSION = "V6.20"
HEADER_LINES = 11
# A larger number of features is considered damaged.
MANY_FEATURES = 100_000_000


def svmrank_text(weights: FloatVector, constant: float = 0.0, n_documents: int = 0) -> str:
    """Return the text of the linear model x'w + constant."""
    header = [
        f"SVM-light Version {VERSION}",
        "0 # kernel type",
        "3 # kernel parameter -d ",
        "1 # kernel parameter -g ",
        "1 # kernel parameter -s ",
        "1 # kernel parameter -r ",
        "empty# kernel parameter -u ",
        f"{len(weights)} # highest feature index ",
        f"{n_documents} # number of training documents ",
        "2 # number of support vectors plus 1 ",
        f"{_short(0.0 - constant)} # threshold b, each following line is a SV (starting with alpha*y)",
    ]
    entries = [f"{k + 1}:{_short(weights[k])} " for k in np.flatnonzero(weights).tolist()]
    return "\n".join(header) + "\n1 " + "".join(entries) + "#\n"


def _short(number: float) -> str:
    """Return the shortest text that reads as the same number."""
    return f"{float(number)!r}".removesuffix(".0")


def read_svmrank_weights(path: str | os.PathLike[str]) -> tuple[FloatVector, float]:
    """Return the weights and the threshold of a linear model; several support vectors are summed."""
    with open(path, encoding="latin-1") as file:
        lines = file.read().split("\n")
    try:
        return _weights_of(lines)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} is not a linear SVMrank model: {error}.") from None


def _weights_of(lines: list[str]) -> tuple[FloatVector, float]:
    if not lines[0].startswith("SVM-light Version "):
        raise ModelFileError("line 1 does not begin with 'SVM-light Version'")
    if len(lines) < HEADER_LINES:
        raise ModelFileError(f"it is truncated: it has {len(lines)} of the {HEADER_LINES} lines of a header")
    kernel, n_features, n_vectors = (_integer(lines, number) for number in (2, 8, 10))
    if kernel != 0:
        raise ModelFileError(f"its kernel type is {kernel}, and only 0 is linear")
    if n_features > MANY_FEATURES:
        raise ModelFileError(f"line 8 has {n_features} features, more than the limit of {MANY_FEATURES}")
    coef = np.zeros(n_features)
    for number in range(HEADER_LINES + 1, HEADER_LINES + n_vectors):
        for index, value in _entries(lines, number, n_features):
            coef[index - 1] += value
    if any(line.strip() for line in lines[HEADER_LINES + max(0, n_vectors - 1) :]):
        raise ModelFileError(f"it has more lines than the {n_vectors - 1} vectors of line 10")
    if not np.isfinite(coef).all():
        raise ModelFileError("its weights overflow double precision")
    return coef, _number(lines[10].partition("#")[0], 11)


def _integer(lines: list[str], number: int) -> int:
    text = lines[number - 1].partition("#")[0].strip()
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ModelFileError(f"line {number} must begin with an integer; got {text[:40]!r}")
    return int(text)


def _number(text: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ModelFileError(f"line {line} has {text.strip()[:40]!r} in place of a number")
    return value


def _entries(lines: list[str], number: int, n_features: int) -> Iterator[tuple[int, float]]:
    """Yield index and weight of each entry of a line `alpha*y index:value ... # comment`."""
    if number > len(lines) or not lines[number - 1].strip():
        raise ModelFileError(f"it is truncated: line {number}, a vector, is missing")
    content, mark, _ = lines[number - 1].partition("#")
    if not mark:
        raise ModelFileError(f"it is truncated: line {number} does not end with #")
    factor, *entries = content.split() or [""]
    scale = _number(factor, number)
    for entry in entries:
        index, _, value = entry.partition(":")
        if index == "qid":
            continue
        if not (index.isascii() and index.isdigit() and 0 < int(index[:19]) <= n_features):
            raise ModelFileError(f"line {number} has {entry[:40]!r}; indices go from 1 to {n_features}")
        yield int(index), scale * _number(value, number)


def svmrank_model(terms: Terms, model_name: str = "", *, n_documents: int = 0) -> str:
    """Return a linear model as the text that svm_rank_learn writes and svm_rank_classify reads.

    Feature k of the model has index k + 1. Scaling is folded into the weights and the threshold b, so that
    scores are the same. The numbers are exact; SVMrank itself rounds them to single precision on reading.
    The format has no names of features.
    """
    return svmrank_text(*folded(terms.coef, terms.scalings), n_documents)


def read_svmrank_model(path: str | os.PathLike[str]) -> RankSVM:
    """Return the linear model of a file that SVMrank, SVM-light or `export_model` wrote.

    The model has `coef_`; several support vectors, as SVM-light writes, are summed. The threshold b, which
    SVMrank subtracts from every score, changes no order: it is stored as `threshold_`, and `predict` ignores
    it. SVMrank itself always writes 0.

    Raises
    ------
    ModelFileError
        The file has another form, or a kernel that is not linear.
    """
    model = RankSVM()
    model.coef_, model.threshold_ = read_svmrank_weights(path)
    model.n_features_in_ = len(model.coef_)
    return model
