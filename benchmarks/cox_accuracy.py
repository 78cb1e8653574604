"""Concordance of rows held out: searches that select features, beside Coxnet of scikit-survival.

    python benchmarks/cox_accuracy.py            # fifteen minutes; writes results/cox_accuracy.json
    python benchmarks/cox_accuracy.py --quick    # the first split of each set; prints, and writes nothing
    python benchmarks/cox_accuracy.py --table    # the table of docs/benchmarks.md from the record

The sets are those of `benchmarks/suite.py` and `benchmarks/few_features.py` with censored times, and those
that scikit-survival includes, which must be installed. A split holds out three tenths of the rows; columns
are encoded and scaled by the others. All searches have a ratio of .9, five folds, and 50 alphas. Those of
Coxnet are from its own path on all training rows, and the best has the highest mean concordance of the folds.
Differences are from Coxnet over the splits, with their standard errors.
"""

import argparse
import json
import warnings
from pathlib import Path

import few_features
import numpy as np
import pandas as pd
from records import compact, markdown, with_block
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from suite import survival
from threadpoolctl import threadpool_limits

from rankwise import Preferences, RankLogisticCV, RankPlackettLuceCV
from rankwise.metrics import concordance_index

RESULTS = Path(__file__).parent / "results" / "cox_accuracy.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
RATIO, HELD_OUT, N_FOLDS, N_SPLITS = 0.9, 0.3, 5, 20
SEARCHES = {
    "RankPlackettLuceCV": RankPlackettLuceCV(l1_ratio=RATIO, n_jobs=1),
    "RankLogisticCV": RankLogisticCV(l1_ratio=RATIO, n_jobs=1),
}
BUNDLED = ("breast_cancer", "gbsg2", "whas500", "veterans_lung_cancer", "aids")


def generated():
    """The set of the suite, and correlated genes, as rows, events and times."""
    task = survival()
    yield "suite", task.X, task.y.event > 0, task.y.values
    yield "500 x 2,000, generated", *few_features.survival(500, 2_000)


def bundled():
    """The sets of scikit-survival, with categories as columns of 0 and 1."""
    from sksurv import datasets

    for name in BUNDLED:
        X, y = getattr(datasets, f"load_{name}")()
        event, time = y.dtype.names
        words = X.select_dtypes(exclude="number").columns
        X = pd.get_dummies(X, columns=words, drop_first=True).to_numpy(dtype=float)
        yield name.replace("_", " "), X, y[event].astype(bool), y[time].astype(float)


class Coxnet:
    """Coxnet with the alpha that is the best in folds."""

    def fit(self, X, event, time):
        first = self._path(X, event, time)
        errors = np.zeros(len(first.alphas_))
        for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(X):
            path = self._path(X[train], event[train], time[train], first.alphas_)
            y = Preferences.from_survival(event[test], time[test])
            for k, coef in enumerate(path.coef_.T):
                errors[k] += 1 - concordance_index(y, -X[test] @ coef)
        self.coef_ = -first.coef_[:, np.argmin(errors)]
        return self

    @staticmethod
    def _path(X, event, time, alphas=None):
        from sksurv.linear_model import CoxnetSurvivalAnalysis
        from sksurv.util import Surv

        least = 1e-2 if X.shape[1] > X.shape[0] else 1e-3
        options = {"n_alphas": 50, "alpha_min_ratio": least} if alphas is None else {"alphas": alphas}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of alphas at which it does not converge
            model = CoxnetSurvivalAnalysis(l1_ratio=RATIO, max_iter=100_000, **options)
            return model.fit(X, Surv.from_arrays(event, time))


def split_of(X, event, time, seed):
    """The concordance of each search on three tenths of the rows, and the features it selects."""
    is_test = np.zeros(len(time), dtype=bool)
    is_test[np.random.default_rng(seed).permutation(len(time))[: round(HELD_OUT * len(time))]] = True
    scaler = StandardScaler().fit(X[~is_test])
    train, test = scaler.transform(X[~is_test]), scaler.transform(X[is_test])
    y = Preferences.from_survival(event[~is_test], time[~is_test])
    models = {"Coxnet": Coxnet().fit(train, event[~is_test], time[~is_test])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of alphas at the end of the grid
        models |= {name: search.fit(train, y) for name, search in SEARCHES.items()}
        held_out = Preferences.from_survival(event[is_test], time[is_test])
        index = {name: concordance_index(held_out, test @ model.coef_) for name, model in models.items()}
    return index, {name: int(np.count_nonzero(model.coef_)) for name, model in models.items()}


def summary(found):
    """The means over splits, and the differences from Coxnet with their standard errors."""
    entries = {}
    for name in found[0][0]:
        index = np.array([one[0][name] for one in found])
        apart = index - np.array([one[0]["Coxnet"] for one in found])
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
        entries[name] = {
            "concordance": index.mean(),
            "difference": apart.mean(),
            "error": error,
            "selected": float(np.mean([one[1][name] for one in found])),
        }
    return entries


def write_table():
    """Write the record as a table of the page."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    names = [name for name in next(iter(record.values())) if name not in ("rows", "features")]
    header = ["set", "rows", "features", *(f"{name}: concordance, features" for name in names)]
    rows = []
    for title, found in record.items():
        cells = [f"{found[name]['concordance']:.4f}, {found[name]['selected']:.0f}" for name in names]
        rows.append([title, f"{found['rows']:,}", f"{found['features']:,}", *cells])
    text = markdown(header, rows)
    PAGE.write_text(with_block(PAGE.read_text(encoding="utf-8"), "cox_accuracy", text), encoding="utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true", help="write the table of the page, nothing else")
    options = parser.parse_args(arguments)
    if options.table:
        return write_table()
    record = {}
    with threadpool_limits(1):
        for name, X, event, time in [*generated(), *bundled()]:
            seeds = range(1 if options.quick else N_SPLITS)
            found = summary([split_of(X, event, time, seed) for seed in seeds])
            record[name] = {"rows": X.shape[0], "features": X.shape[1], **found}
            print(name, json.dumps(found), flush=True)
    if not options.quick:
        RESULTS.write_text(compact(record), encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
