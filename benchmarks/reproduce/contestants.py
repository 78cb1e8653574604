"""What races: for each task, learners by name; each takes training rows and gives a function to scores."""

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from rankwise import OrdinalSVM, Preferences, RankRLS, RankSVM

ALPHA = {"text": 1e-5, "queries": 1e-3, "classes": 1e-3, "ordinal": 1e-3}
TREES, DEPTH, RATE = 200, 6, 0.1
THREADS = 1  # on a machine that others use as well, more threads wait for each other


def rank_svm(task, X, y, qid):
    return RankSVM(ALPHA[task], n_jobs=THREADS).fit(X, y, qid=qid)


def squared_hinge(task, X, y, qid):
    return RankSVM(ALPHA[task], loss="squared_hinge", n_jobs=THREADS).fit(X, y, qid=qid)


def rank_rls(task, X, y, qid):
    return RankRLS(ALPHA[task], n_jobs=THREADS).fit(X, y, qid=qid)


def pairs_svc(task, X, y, qid):
    """The same objective as RankSVM's, for one query, over explicit differences of rows."""
    better, worse = (np.asarray(side) for side in Preferences.from_scores(y, qid=qid).pairs()[:2])
    sign = np.where(np.arange(len(better)) % 2 == 0, 1.0, -1.0)  # LinearSVC wants two classes
    C = 1 / (2 * ALPHA[task] * len(better))
    differences = X[better] - X[worse]
    differences = (
        differences.multiply(sign[:, None]).tocsr() if task == "text" else differences * sign[:, None]
    )
    return LinearSVC(C=C, loss="hinge", fit_intercept=False, max_iter=10_000).fit(differences, sign)


def ridge(task, X, y, qid):
    return Ridge(alpha=1.0).fit(X, y)


def logistic(task, X, y, qid):
    return LogisticRegression(max_iter=1000).fit(X, y)


def vowpal_wabbit(task, X, y, qid):
    """Its regression of the scores, twenty passes; it has no loss over pairs in the Python package."""
    from vowpalwabbit.sklearn import VWRegressor

    return VWRegressor(passes=20, bit_precision=20).fit(X, y)


def lightgbm_ranker(task, X, y, qid):
    from lightgbm import LGBMRanker

    model = LGBMRanker(n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, n_jobs=THREADS, verbose=-1)
    return model.fit(X, y.astype(int), group=group_sizes(qid))


def lightgbm_classifier(task, X, y, qid):
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, n_jobs=THREADS, verbose=-1
    )
    return model.fit(X, y)


def lightgbm_regressor(task, X, y, qid):
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, n_jobs=THREADS, verbose=-1)
    return model.fit(X, y)


def xgboost_ranker(task, X, y, qid):
    from xgboost import XGBRanker

    model = XGBRanker(n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, n_jobs=THREADS)
    return model.fit(X, y.astype(int), qid=qid)


def catboost_ranker(task, X, y, qid):
    from catboost import CatBoostRanker

    model = CatBoostRanker(
        iterations=TREES,
        depth=DEPTH,
        learning_rate=RATE,
        thread_count=THREADS,
        verbose=False,
        allow_writing_files=False,
    )
    return model.fit(X, y, group_id=qid)


def ordinal_svm(task, X, y, qid):
    return OrdinalSVM(ALPHA[task], thresholds="midpoint", n_jobs=THREADS).fit(X, y)


def mord(task, X, y, qid):
    from mord import LogisticAT

    return LogisticAT(alpha=1.0).fit(X, y)


def ordered_model(task, X, y, qid):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    fitted = OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=False, maxiter=500)
    return Linear(np.asarray(fitted.params)[: X.shape[1]])


class Linear:
    def __init__(self, coef):
        self.coef_ = coef


def group_sizes(qid):
    return np.diff(np.flatnonzero(np.r_[True, qid[1:] != qid[:-1], True]))


TASKS = {
    "text": {"ours": rank_svm, "squared_hinge": squared_hinge, "rank_rls": rank_rls, "pairs_svc": pairs_svc,
             "ridge": ridge, "vowpal_wabbit": vowpal_wabbit},
    "queries": {"ours": rank_svm, "rank_rls": rank_rls, "pairs_svc": pairs_svc, "ridge": ridge,
                "lightgbm": lightgbm_ranker, "xgboost": xgboost_ranker, "catboost": catboost_ranker},
    "classes": {"ours": rank_svm, "rank_rls": rank_rls, "logistic": logistic, "pairs_svc": pairs_svc,
                "lightgbm": lightgbm_classifier},
    "ordinal": {"ours": ordinal_svm, "mord": mord, "ordered_model": ordered_model,
                "lightgbm": lightgbm_regressor},
}  # fmt: skip


def scores(model, X):
    """Return the scores of a model."""
    coef = getattr(model, "coef_", None)
    if coef is not None:
        return np.asarray(X @ np.ravel(coef))
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)[:, 1]
    return np.asarray(model.predict(X))
