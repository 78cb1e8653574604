"""Write and read linear models as SVMrank's model.dat."""

from __future__ import annotations

import os

from rankwise.estimators import RankSVM
from rankwise.estimators.scaling import folded
from rankwise.io.svmrank_file import read_svmrank_weights, svmrank_text
from rankwise.io.terms import Terms


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
