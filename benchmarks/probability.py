"""Probabilities of pairs on real data: the logistic loss, hinge, squared hinge and least squares.

    RANKWISE_DATA=... python benchmarks/probability.py [--quick]

Half of the rows (whole queries, or pairs of answers) are for training, with alpha chosen by three folds; a
fifth is for a temperature, which turns scores into probabilities of pairs; the others are for testing.
Results are means over several splits, which are the same for all methods. RankLogistic is listed three times:
with its alpha chosen by the ranking error, as for the others; by the log loss of pairs; and by that with the
temperature fitted to the held-out pairs of the folds. The columns are the fraction of pairs in the wrong
order, NDCG@10 (linear gains), the log loss of pairs and the expected calibration error as the scores are, for
RankLogistic, and both after the temperature; seconds of one processor for the choice of alpha and the fit.
Without RANKWISE_DATA, only the data sets of scikit-learn are used, and the script prints a note.
"""

import argparse
import gzip
import json
import warnings
from time import process_time

import numpy as np
from reproduce.data import Data, MissingDataError
from sklearn.datasets import load_diabetes, load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from rankwise import Preferences, RankLogisticCV, RankRLSCV, RankSVMCV, fit_temperature
from rankwise.evaluation import reliability
from rankwise.metrics import ndcg, ranking_error

METHODS = {
    "hinge": lambda: RankSVMCV(cv=3),
    "squared hinge": lambda: RankSVMCV(cv=3, loss="squared_hinge"),
    "least squares": lambda: RankRLSCV(cv=3),
    "logistic, by error": lambda: RankLogisticCV(cv=3, scoring="error"),
    "logistic, by log loss": lambda: RankLogisticCV(cv=3),
    "logistic, calibrated": lambda: RankLogisticCV(cv=3, calibrated=True),
}
HEADER = ("method", "error", "NDCG@10", "log loss", "ECE", "log loss, T", "ECE, T", "seconds")


def rows_alone(X, y):
    """Rows of one ranking: each may be in any part of a split."""
    return X, Preferences.from_scores(y), np.arange(len(y))


def housing(data, n_rows=4000):
    X, y = data.cadata()
    kept = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return rows_alone(X[kept], y[kept])


def ohsumed(data):
    X, y, qid = (np.concatenate(column) for column in zip(*data.ohsumed(), strict=True))
    return X, Preferences.from_scores(y, qid), qid


def topic(data, n_rows=3000):
    X, topics = data.reuters()
    kept = np.random.default_rng(0).permutation(X.shape[0])[:n_rows]
    return rows_alone(X[kept], topics[kept, 0].astype(float))


def answers(data):
    """Chosen and rejected answers of an assistant as words."""
    path = data.path("preference_hh_harmless_test", "harmless_base_test.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        pairs = [json.loads(line) for line in file]
    texts = [pair[side] for side in ("chosen", "rejected") for pair in pairs]
    X = TfidfVectorizer(min_df=5, sublinear_tf=True).fit_transform(texts)
    number = np.arange(len(pairs))
    return X, Preferences.from_pairs(number, number + len(pairs)), np.tile(number, 2)


def data_sets(quick):
    """Yield the name of each set, its rows, preferences, and what a split does not cut."""
    yield "diabetes (442 rows)", *rows_alone(*load_diabetes(return_X_y=True))
    yield "handwritten digits by their number (1,797)", *rows_alone(*load_digits(return_X_y=True))
    if quick:
        return
    data = Data()
    try:
        yield "abalone (4,177)", *rows_alone(*data.fung("abalone"))
        yield "California housing (4,000)", *housing(data)
        yield "OHSUMED (16,140, 106 queries)", *ohsumed(data)
        yield "Reuters, topic acq (3,000 texts)", *topic(data)
        yield "chosen and rejected answers (2,312 pairs)", *answers(data)
    except MissingDataError as error:
        print(f"\n{error} The other sets are left out.")


def parts(units, seed):
    """Rows to fit, to find the temperature, and to measure: 50, 20 and 30% of the units."""
    distinct, codes = np.unique(units, return_inverse=True)
    place = np.random.default_rng(seed).permutation(len(distinct))[codes] / len(distinct)
    return [np.flatnonzero((place >= low) & (place < high)) for low, high in ((0, 0.5), (0.5, 0.7), (0.7, 1))]


def scaled(X, fit):
    scaler = StandardScaler() if isinstance(X, np.ndarray) else MaxAbsScaler()
    return scaler.fit(X[fit]).transform(X)


def measured(method, X, preferences, fit, held_out, test):
    """Fit one method and return its row of numbers."""
    start = process_time()
    model = METHODS[method]().fit(X[fit], preferences[fit])
    seconds = process_time() - start
    judged, scores = preferences[test].renumbered(), model.predict(X[test])
    temperature = fit_temperature(model.predict(X[held_out]), preferences[held_out].renumbered())
    raw, calibrated = (reliability(judged, scores / T) for T in (1.0, temperature))
    found = [raw.log_loss, raw.calibration_error] if method.startswith("logistic") else [np.nan, np.nan]
    top = np.nan
    if judged.labels is not None:
        top = ndcg(judged.labels, scores, judged.groups(), k=10, gain="linear")
    error = ranking_error(judged, scores)
    return [error, top, *found, calibrated.log_loss, calibrated.calibration_error, seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two splits of scikit-learn's own sets")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    n_splits = 2 if options.quick else options.splits
    warnings.simplefilter("ignore")  # of candidates at the end of the grid, and of queries without pairs
    for name, X, preferences, units in data_sets(options.quick):
        print(f"\n{name}\n\n| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
        splits = [parts(units, seed) for seed in range(n_splits)]
        for method in METHODS:
            rows = [measured(method, scaled(X, split[0]), preferences, *split) for split in splits]
            cells = ["-" if value != value else f"{value:.3f}" for value in np.mean(rows, axis=0)]
            print(f"| {method} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
