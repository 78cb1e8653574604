"""Linear models as SVMrank's model.dat, in both directions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from rankwise.estimators import RankSVM
from rankwise.export.linear import linear_scorer
from rankwise.io.svmrank_file import read_svmrank_weights, svmrank_text


def svmrank_model(
    model: Any,
    *,
    format: str = "svmrank",
    feature_names: Sequence[str] | None = None,
    model_name: str = "",
    output: int | None = None,
    n_documents: int = 0,
) -> str:
    """Return a linear model as the text that svm_rank_learn writes and svm_rank_classify reads.

    Feature k of the model has index k + 1. Scaling is folded into the weights, and the constant that it adds
    into the threshold b, so that scores are kept. The numbers are exact; SVMrank itself rounds them to
    single precision when it reads them. Names of features have no place in this format.
    """
    weights, constant = linear_scorer(model, format, feature_names, output).folded()
    return svmrank_text(weights, constant, n_documents)


def read_svmrank_model(path: str | os.PathLike[str]) -> RankSVM:
    """Return the linear model of a file that SVMrank, SVM-light or `export_model` wrote.

    The model has `coef_`; several support vectors, as SVM-light writes, are added up. The threshold b, which
    SVMrank subtracts from every score, changes no order: it is kept as `threshold_`, and `predict` leaves it
    out. SVMrank itself always writes 0.

    Raises
    ------
    ModelFileError
        The file has another form, or a kernel that is not linear.
    """
    model = RankSVM()
    model.coef_, model.threshold_ = read_svmrank_weights(path)
    model.n_features_in_ = len(model.coef_)
    return model
