"""The real data of the folder named by RANKWISE_DATA, or generated data where that is allowed."""

import gzip
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer

from rankwise import scale_within_queries
from rankwise.datasets import make_ranking, make_text_ranking

FUNG = (
    "abalone", "stock", "autompg", "cal_housing", "boston", "machine_cpu", "pyrimidines", "triazines",
    "wisconsin_wpbc",
)  # fmt: skip
TOPICS = (
    "acq", "bop", "cocoa", "coffee", "corn", "cpi", "crude", "dlr", "earn", "gnp", "gold", "grain",
    "interest", "livestock", "money-fx", "money-supply", "nat-gas", "oilseed", "reserves", "ship",
    "soybean", "sugar", "trade", "veg-oil", "wheat",
)  # fmt: skip


class MissingDataError(OSError):
    """Real data that an experiment needs are not there."""


class Data:
    """Reads data sets; `generated` names those that were made up because the real ones are absent."""

    def __init__(self, folder=None, may_generate=False):
        self.folder = Path(folder or os.environ.get("RANKWISE_DATA", "no folder"))
        self.may_generate = may_generate
        self.generated = []

    def path(self, *parts):
        """Return the path of a real file, or None where a generated set may stand in."""
        path = self.folder.joinpath(*parts)
        if path.exists():
            return path
        if not self.may_generate:
            raise MissingDataError(
                f"The environment variable RANKWISE_DATA names no folder with {'/'.join(parts)}."
            )
        self.generated.append(parts[0])
        return None

    def cadata(self):
        """California housing: raw features and house values."""
        path = self.path("cadata", "cadata.svm.gz")
        if path is None:
            X, y = make_ranking(20_640, 8, noise=1.0, random_state=0)
            return X * 10.0 ** np.arange(-3, 5), y
        with gzip.open(path) as file:
            X, y = load_svmlight_file(file)
        return X.toarray(), y

    def rcv1(self):
        """Distinct rows of RCV1 and how near each is to one of them, which is left out."""
        path = self.path("rcv1_subsets", "rcv1_subsets.npz")
        if path is None:
            return make_text_ranking(6_000, random_state=1)
        with np.load(path) as archive:
            X = csr(archive)[~archive["duplicate_of_earlier"]]
        order = np.random.default_rng(0).permutation(X.shape[0])
        return X[order[1:]], (X[order[1:]] @ X[order[:1]].T).toarray().ravel()

    def covtype(self):
        """Forest cover: standardized features and the number of the class."""
        path = self.path("covtype", "covtype.npz")
        if path is None:
            return make_ranking(20_000, 54, n_levels=7, random_state=0)
        with np.load(path) as archive:
            X, y = archive["X"].astype(np.float64), archive["y"].astype(np.float64)
        return (X - X.mean(axis=0)) / X.std(axis=0).clip(1e-12), y

    def ohsumed(self):
        """The five official parts of LETOR 2 OHSUMED, features 0..1 within queries, labels 0, 1 and 2."""
        if self.path("letor2_ohsumed") is None:
            return graded_queries()
        parts = []
        for k in range(1, 6):
            with gzip.open(self.folder / "letor2_ohsumed" / f"S{k}.txt.gz") as file:
                X, y, qid = load_svmlight_file(file, n_features=25, query_id=True)
            parts.append((scale_within_queries(X.toarray(), qid), y, qid))
        return parts

    def reuters(self):
        """Tf-idf rows of the documents of the ModApte split and, for 25 topics, who has them."""
        path = self.path("reuters21578", "reuters21578_counts.npz")
        if path is None:
            X, _ = make_text_ranking(1500, 5000, random_state=0)
            generator = np.random.default_rng(0)
            scores = X @ generator.standard_normal((5000, len(TOPICS)))
            return X, (scores > np.quantile(scores, 0.95, axis=0)).astype(float)
        with np.load(path) as archive:
            counts, topics = csr(archive), list(archive["topics"])
            membership = csr_of(archive["topic_indices"], archive["topic_indptr"], len(topics))
            # Lewis' split of labeled documents has 12,902; those without a word cannot be ranked.
            kept = (archive["topics_attr"] == "YES") & (archive["split"] < 2)
        kept &= np.diff(counts.indptr) > 0
        X = TfidfTransformer(sublinear_tf=True).fit_transform(counts[kept])
        return X.tocsr(), membership[kept][:, [topics.index(name) for name in TOPICS]].toarray()

    def jester(self):
        """Ratings of jokes, one row for each user, NaN if there is none."""
        path = self.path("jester1", "jester1.npz")
        if path is None:
            return generated_ratings()
        with np.load(path) as archive:
            ratings = archive["ratings_x100"].astype(np.float64)
            missing = int(archive["missing"])
        return np.where(ratings == missing, np.nan, ratings / 100)

    def fung(self, name):
        """One of the nine regression sets: features and real target."""
        path = self.path("fung2006", f"{name}.npz")
        if path is None:
            X, y = make_ranking(150, 5, noise=0.5, random_state=len(name))
        else:
            with np.load(path) as archive:
                X, y = archive["X"].astype(np.float64), archive["y"].astype(np.float64)
        return X, y


def csr(archive):
    X = csr_of(archive["indices"], archive["indptr"], int(archive["shape"][1]))
    X.data = archive["data"].astype(np.float64)
    return X


def csr_of(indices, indptr, n_columns):
    ones = np.ones(len(indices))
    return sp.csr_matrix((ones, indices.astype(np.int32), indptr), shape=(len(indptr) - 1, n_columns))


def graded_queries(n_queries=40, per_query=40):
    """Five parts of queries with three grades, the highest of them rare."""
    X, y = make_ranking(n_queries * per_query, 25, noise=1.0, random_state=0)
    labels = np.searchsorted(np.quantile(y, [0.6, 0.85]), y).astype(float)
    qid = np.repeat(np.arange(n_queries), per_query)
    X = scale_within_queries(X, qid)
    return [(X[qid % 5 == k], labels[qid % 5 == k], qid[qid % 5 == k]) for k in range(5)]


def generated_ratings(n_users=900, n_jokes=100, seed=0):
    generator = np.random.default_rng(seed)
    tastes = generator.standard_normal((n_users, 4)) @ generator.standard_normal((4, n_jokes))
    ratings = np.clip(2 * tastes + 3 * generator.standard_normal((n_users, n_jokes)), -10, 10)
    rated = generator.random((n_users, n_jokes)) < generator.uniform(0.25, 0.85, size=(n_users, 1))
    return np.where(rated, ratings, np.nan)
