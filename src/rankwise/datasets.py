"""Ranking data: generators for any size, and a small real data set.

Each generator gives the same data for the same ``random_state``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch, check_random_state

from rankwise.io.svmlight import dump_svmlight, load_svmlight

__all__ = [
    "dump_svmlight",
    "load_diabetes_ranking",
    "load_svmlight",
    "make_ordinal",
    "make_ranking",
    "make_search",
    "make_text_ranking",
]

_ORDINAL_CUTS = (-1.0, -0.1, 0.25, 1.0)


def make_ranking(
    n_samples: int = 100,
    n_features: int = 20,
    *,
    n_queries: int | None = None,
    n_levels: int | None = None,
    noise: float = 0.1,
    density: float | None = None,
    random_state: Any = None,
) -> tuple[Any, ...]:
    """Generate rows with a linear order plus noise: ``y = X w + noise``.

    The true ``w`` is drawn once and shared by all queries. It is scaled so that ``X w`` has a variance of
    about one, whatever the number of features and the density.

    Parameters
    ----------
    n_samples, n_features : int
        The shape of ``X``.
    n_queries : int, optional
        If given, rows are divided into this many queries of varying size, each with at least one row.
    n_levels : int, optional
        If given, ``y`` is binned into this many grades of equal size, ``0, ..., n_levels - 1``.
    noise : float
        Standard deviation of the noise.
    density : float, optional
        None returns a dense ``X`` of standard normal entries; a number in (0, 1] returns a CSR matrix with
        that fraction of them.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : array or CSR matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Floats, or integers if ``n_levels`` is given.
    qid : array of shape (n_samples,)
        Only if ``n_queries`` is given; sorted.

    Examples
    --------
    >>> X, y = make_ranking(random_state=0)
    >>> X.shape, y.shape
    ((100, 20), (100,))
    >>> X, y, qid = make_ranking(12, 3, n_queries=4, n_levels=3, random_state=0)
    >>> [int((y == level).sum()) for level in range(3)]
    [4, 4, 4]
    >>> sorted(set(qid.tolist()))
    [0, 1, 2, 3]
    """
    if n_queries is not None and not 1 <= n_queries <= n_samples:
        raise ValueError(f"n_queries must lie between 1 and n_samples={n_samples}, got {n_queries}.")
    if n_levels is not None and n_levels < 1:
        raise ValueError(f"n_levels must be at least 1, got {n_levels}.")
    if density is not None and not 0 < density <= 1:
        raise ValueError(f"density must be None or lie in (0, 1], got {density}.")
    generator = _generator(random_state)
    X = _normal_matrix(generator, (n_samples, n_features), density)
    weights = generator.standard_normal(n_features)
    weights /= np.linalg.norm(weights) * np.sqrt(density or 1.0)
    y = X @ weights + noise * generator.standard_normal(n_samples)
    if n_levels is not None:
        y = _equally_filled_levels(y, n_levels)
    if n_queries is None:
        return X, y
    return X, y, _query_ids(generator, n_samples, n_queries)


def make_search(
    n_queries: int = 60, n_documents: int = 30, *, noise: float = 1.0, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Generate search results whose grades can be compared within a query only.

    A match in the title makes a document better than the others of its query. Queries of many words have more
    matches, and people who type them give lower grades. So over all rows, more matches go with lower grades.

    Parameters
    ----------
    n_queries, n_documents : int
        The number of queries, and of documents of each.
    noise : float
        Standard deviation of the noise of the quality.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : array of shape (n_queries * n_documents, 3)
        The number of matches in the title, of matches in the text, and of parts of the address.
    grade : array of int
        0 to 4, the fifths of the quality.
    query : array of int

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> X, grade, query = make_search(random_state=0)
    >>> RankSVM().fit(X, grade).score(X, grade, qid=query) < 0.6
    True
    >>> RankSVM().fit(X, grade, qid=query).score(X, grade, qid=query) > 0.9
    True
    """
    generator = _generator(random_state)
    query = np.repeat(np.arange(n_queries), n_documents)
    words = generator.integers(1, 9, size=n_queries)[query]
    in_title = generator.binomial(words, generator.beta(2, 2, size=len(query)))
    in_text = generator.binomial(3 * words, generator.random(len(query)))
    X = np.column_stack([in_title, in_text, generator.integers(1, 9, size=len(query))]).astype(np.float64)
    quality = X @ [1.0, 0.25, -0.2] - 2.5 * words + generator.normal(scale=noise, size=len(query))
    return X, _equally_filled_levels(quality, 5), query


def make_text_ranking(
    n_samples: int,
    n_features: int = 47_236,
    *,
    mean_length: float = 94.0,
    n_topics: int = 50,
    random_state: Any = None,
) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """Generate documents similar to RCV1, and the similarity of each to one held-out document.

    Words follow a shifted Zipf law. Half of a document is general language, half comes from the vocabulary
    of its topic. Rows are tf-idf vectors of unit length; ``y`` is the dot product of each row with the
    held-out document, the task of Airola, Pahikkala and Salakoski (2011), section 5.1. With the defaults, a
    row has about 76 nonzeros.

    Row ``i`` does not depend on ``n_samples``: a smaller sample is a prefix of a larger one.

    Parameters
    ----------
    n_samples : int
        Number of documents.
    n_features : int
        Number of words in the language.
    mean_length : float
        Mean number of words of a document, repetitions included.
    n_topics : int
        Number of topics.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
        Sorted indices, float64.
    y : array of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_text_ranking(200, random_state=0)
    >>> X.shape, 60 < X.nnz / 200 < 90
    ((200, 47236), True)
    >>> shorter, _ = make_text_ranking(50, random_state=0)
    >>> (shorter != X[:50]).nnz
    0
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
    language = _Language(n_features, mean_length, n_topics, random_state)
    n_blocks = -(-n_samples // language.block_rows)
    blocks = [language.documents(block) for block in range(n_blocks)]
    X = sp.vstack(blocks, format="csr")[:n_samples]
    return X, X @ language.held_out_document()


def make_ordinal(
    n_samples: int = 1000, *, noise: float = 0.125, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Generate points of the unit square with five grades.

    The utility ``10 (x1 - 0.5) (x2 - 0.5)`` plus noise has the thresholds -1, -0.1, 0.25 and 1: the toy
    problem of Herbrich, Graepel and Obermayer (1999), section 4.1.

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        Standard deviation of the noise.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : integer array of shape (n_samples,), grades 0 to 4

    Examples
    --------
    >>> X, y = make_ordinal(1000, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [0, 1, 2, 3, 4])
    """
    generator = _generator(random_state)
    X = generator.random((n_samples, 2))
    utility = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + noise * generator.standard_normal(n_samples)
    return X, np.searchsorted(_ORDINAL_CUTS, utility, side="right")


def load_diabetes_ranking(return_X_y: bool = False) -> Any:
    """Load scikit-learn's diabetes data as one global ranking of 442 patients by disease progression.

    Parameters
    ----------
    return_X_y : bool
        Return only the arrays.

    Returns
    -------
    Bunch with ``data``, ``target``, ``feature_names`` and ``DESCR``, or the tuple ``(data, target)``.

    Examples
    --------
    >>> diabetes = load_diabetes_ranking()
    >>> diabetes.data.shape, diabetes.feature_names[:3]
    ((442, 10), ['age', 'sex', 'bmi'])
    """
    diabetes = load_diabetes(scaled=True)
    if return_X_y:
        return diabetes.data, diabetes.target
    names = ("data", "target", "feature_names", "DESCR")
    return Bunch(**{name: diabetes[name] for name in names})


class _Language:
    """The generative model of documents; each block of documents has its own random stream."""

    block_rows = 4096
    shift = 5.0  # flattens the head of the Zipf law, as the removal of stop words does
    topic_words = 400

    def __init__(self, n_features: int, mean_length: float, n_topics: int, random_state: Any) -> None:
        self.n_features = n_features
        self.mean_length = mean_length
        self.seed = int(check_random_state(random_state).randint(2**31 - 1))
        generator = self._stream(0)
        self.columns = generator.permutation(n_features).astype(np.int32)
        self.vocabularies = self._zipf(generator, (n_topics, self.topic_words), n_features)
        self.topic_share = generator.dirichlet(np.full(n_topics, 0.5))
        self.idf = self._inverse_document_frequency()

    def documents(self, block: int) -> sp.csr_matrix:
        return self._write(self._stream(2 + block), self.block_rows)

    def held_out_document(self) -> NDArray[np.float64]:
        return self._write(self._stream(1), 1).toarray().ravel()

    def _stream(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, number])

    def _zipf(self, generator: np.random.Generator, size: Any, n: int) -> NDArray[np.int32]:
        """Draw ranks below n with density 1 / (rank + shift), by inversion of the distribution function."""
        rank = self.shift * np.expm1(generator.random(size) * np.log1p(n / self.shift))
        return np.minimum(rank, n - 1).astype(np.int32)

    def _zipf_share(self, n: int) -> NDArray[np.float64]:
        return np.diff(np.log1p(np.arange(n + 1) / self.shift)) / np.log1p(n / self.shift)

    def _inverse_document_frequency(self) -> NDArray[np.float64]:
        """Return the expected idf of each rank; observed counts would depend on the number of documents."""
        special = np.outer(self.topic_share, self._zipf_share(self.topic_words))
        share = np.bincount(self.vocabularies.ravel(), special.ravel(), minlength=self.n_features)
        expected = self.mean_length * (share + self._zipf_share(self.n_features)) / 2
        return -np.log(-np.expm1(-expected))

    def _write(self, generator: np.random.Generator, n_rows: int) -> sp.csr_matrix:
        spread = 0.65
        drawn = generator.lognormal(np.log(self.mean_length) - spread**2 / 2, spread, n_rows)
        length = np.maximum(drawn, 8).astype(np.int64)
        topic = generator.choice(len(self.topic_share), size=n_rows, p=self.topic_share)
        ranks = self._zipf(generator, length.sum(), self.n_features)
        special = generator.random(len(ranks)) < 0.5
        places = self._zipf(generator, np.count_nonzero(special), self.topic_words)
        ranks[special] = self.vocabularies[np.repeat(topic, length)[special], places]
        indptr = np.concatenate([[0], np.cumsum(length)])
        words = np.ones(len(ranks))
        return self._weigh(sp.csr_matrix((words, ranks, indptr), shape=(n_rows, self.n_features)))

    def _weigh(self, X: sp.csr_matrix) -> sp.csr_matrix:
        X.sum_duplicates()
        X.data = (1 + np.log(X.data)) * self.idf[X.indices]
        X.indices = self.columns[X.indices]
        X.has_sorted_indices = False
        X.sort_indices()
        return normalize(X, copy=False)


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _normal_matrix(generator: np.random.Generator, shape: tuple[int, int], density: float | None) -> Any:
    if density is None:
        return generator.standard_normal(shape)
    return sp.random(
        *shape, density, format="csr", random_state=generator, data_rvs=generator.standard_normal
    )


def _equally_filled_levels(y: NDArray[np.float64], n_levels: int) -> NDArray[np.int64]:
    position = np.empty(len(y), dtype=np.int64)
    position[np.argsort(y, kind="stable")] = np.arange(len(y))
    return position * n_levels // len(y)


def _query_ids(generator: np.random.Generator, n_samples: int, n_queries: int) -> NDArray[np.int64]:
    """Return sorted query numbers; each query has at least one row, and sizes vary."""
    popularity = generator.dirichlet(np.full(n_queries, 3.0))
    sizes = 1 + generator.multinomial(n_samples - n_queries, popularity)
    return np.repeat(np.arange(n_queries), sizes)
