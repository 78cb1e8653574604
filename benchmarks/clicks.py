"""What do weighted clicks bring? Propensities, their intervals and models from simulated logs of graded sets.

    python benchmarks/clicks.py              # three draws of each log: some minutes
    python benchmarks/clicks.py --quick      # one draw, fewer clicks; prints, and writes nothing
    python benchmarks/clicks.py --table      # write the tables of docs/benchmarks.md

The ten best rows of a query, in the order of a weak ranker fitted to the grades of three queries, with some
noise in its scores, are shown until 100,000 rows are clicked. Users examine position k with probability
1 / k^eta, and click an examined row with a probability that grows with its grade, from `noise` to 1. Models
are `RankSVM` fitted to raw clicks, to clicks with estimated and with known propensities and to the true
relevance of all rows, the limit of many clicks, and LightGBM's lambdarank without and with its correction of
positions. NDCG@10 is that of held-out queries. OHSUMED is read from the folder of the environment variable
RANKWISE_DATA; without it only the generated set is used. The results are kept in
benchmarks/results/clicks.json.
"""

import argparse
import datetime
import json
import os
import sys
from pathlib import Path

import numpy as np
from records import compact, with_block

from rankwise import BoostedRanker, Preferences, RankSVM
from rankwise.datasets import load_svmlight, make_ranking
from rankwise.metrics import ndcg
from rankwise.preferences import estimate_propensities

RESULTS = Path(__file__).parent / "results" / "clicks.json"
PAGE = RESULTS.parents[2] / "docs" / "benchmarks.md"
SEEDS, CLICKS, QUICK_CLICKS, COVERAGE_LOGS = 3, 100_000, 20_000, 200
ETAS, NOISES, LENGTH, N_ORDERS, JITTER = (0.5, 1.0, 2.0), (0.0, 0.1), 10, 30, 0.2
ALPHA = 1e-4
# The strength with which LightGBM draws its position biases to zero; None corrects nothing.
LAMBDARANKS = {"lambdarank": None, "lambdarank, positions": 0.0, "lambdarank, regularized": 1.0}


def generated(seed):
    """Return queries with five grades, and others that are held out."""
    X, y, qid = make_ranking(12_000, 20, n_queries=600, n_levels=5, noise=0.7, random_state=seed)
    held_out = qid >= 300
    return (X[~held_out], y[~held_out], qid[~held_out]), (X[held_out], y[held_out], qid[held_out])


def ohsumed(seed):
    """Return three parts of OHSUMED, and the other two."""
    folder = Path(os.environ["RANKWISE_DATA"]) / "letor2_ohsumed"
    parts = [load_svmlight(folder / f"S{number}.txt.gz") for number in range(1, 6)]
    parts = [parts[(number + seed) % 5] for number in range(5)]

    def joined(chosen):
        X = np.concatenate([part.X.toarray() for part in chosen])
        return X, np.concatenate([part.y for part in chosen]), np.concatenate([part.qid for part in chosen])

    return joined(parts[:3]), joined(parts[3:])


class Log:
    """Impressions of queries, in the order of weak rankers, with clicks; rows are those of the graded set."""

    def __init__(self, graded, eta, noise, n_clicks, seed):
        X, y, qid = graded
        rng = np.random.default_rng(seed)
        self.model = weak_model(graded, rng)
        scores = self.model.predict(X)
        spread = JITTER * scores.std()
        tops = [top_rows(scores + spread * rng.normal(size=len(y)), qid) for _ in range(N_ORDERS)]
        chance = noise + (1 - noise) * (2.0**y - 1) / (2.0 ** y.max() - 1)
        examined = 1.0 / np.arange(1, LENGTH + 1) ** eta
        rate = np.mean([np.sum(chance[top] * examined, axis=1).mean() for top in tops])
        n = int(n_clicks / rate)
        shown = np.stack(tops)[rng.integers(N_ORDERS, size=n), rng.integers(len(tops[0]), size=n)]
        clicked = rng.random(shown.shape) < chance[shown] * examined
        self.row, self.clicked = shown.ravel(), clicked.ravel()
        self.position = np.tile(np.arange(1, LENGTH + 1), n)
        self.impression, self.qid = np.repeat(np.arange(n), LENGTH), qid[shown].ravel()
        self.examined = examined

    def preferences(self, graded_rows, propensity):
        """Return the pairs of the clicks, as weights of pairs of rows of the graded set, and the structure.

        Rows of the log repeat those of the set, so that few distinct pairs are many pairs of the log.
        """
        clicks = Preferences.from_clicks(
            self.clicked,
            self.position,
            self.qid,
            impression=self.impression,
            document=self.row,
            propensity=propensity,
        )
        better, worse, _, weight = clicks.pairs()
        pair, where = np.unique(self.row[better] * graded_rows + self.row[worse], return_inverse=True)
        weight = np.bincount(where.ravel(), weight)
        return Preferences.from_pairs(
            *np.divmod(pair, graded_rows), weight=weight, n_rows=graded_rows
        ), clicks


def weak_model(graded, rng):
    """Return a model of few queries."""
    X, y, qid = graded
    while True:
        few = np.isin(qid, rng.choice(np.unique(qid), 3, replace=False))
        if len(np.unique(y[few])) > 1:
            return RankSVM(0.1).fit(X[few], y[few], qid=qid[few])


def top_rows(scores, qid):
    """Return the ten best rows of each query that has as many: shape (n_queries, 10)."""
    rows = [np.flatnonzero(qid == query) for query in np.unique(qid)]
    return np.stack([r[np.argsort(-scores[r], kind="stable")[:LENGTH]] for r in rows if len(r) >= LENGTH])


def lightgbm_scores(log, X, X_new, regularization=None):
    """Return the scores of lambdarank on the impressions with clicks; a number corrects for positions."""
    import lightgbm

    kept = np.isin(log.impression, log.impression[log.clicked])
    options = {"position": log.position[kept] - 1} if regularization is not None else {}
    n_lists = int(kept.sum()) // LENGTH
    data = lightgbm.Dataset(X[log.row[kept]], log.clicked[kept], group=np.full(n_lists, LENGTH), **options)
    settings = {"objective": "lambdarank", "num_leaves": 15, "learning_rate": 0.2, "verbose": -1}
    settings |= {"num_threads": 1, "seed": 0, "deterministic": True}
    if regularization is not None:
        settings["lambdarank_position_bias_regularization"] = regularization
    return lightgbm.train(settings, data, num_boost_round=30).predict(X_new)


def relevance_pairs(gain, qid):
    """Return each row above every other row of its query, with the gain of its grade as weight."""
    place = np.arange(1, len(gain) + 1)
    return Preferences.from_clicks(gain > 0, place, qid, propensity=1 / np.maximum(gain, 1))


def run(make, eta, noise, n_clicks, seed):
    """Return the NDCG@10 of all models, and the largest relative error of the propensities."""
    graded, (X_new, y_new, qid_new) = make(seed)
    X, y, qid = graded
    log = Log(graded, eta, noise, n_clicks, seed)

    def quality(scores):
        return round(float(ndcg(y_new, scores, qid_new, k=10)), 6)

    targets = {"raw": None, "estimated": "estimate", "known": log.examined[log.position - 1]}
    found, record = {"production": quality(log.model.predict(X_new))}, {}
    for name, propensity in targets.items():
        pairs, clicks = log.preferences(len(X), propensity)
        found[name] = quality(RankSVM(ALPHA).fit(X, pairs).predict(X_new))
        if name == "estimated":
            record["largest_error"] = errors_of(clicks.propensities, log.examined).max()
            record["effective"] = round(clicks.effective_sample_size)
    found["relevance"] = quality(RankSVM(ALPHA).fit(X, relevance_pairs(2.0**y - 1, qid)).predict(X_new))
    found["grades"] = quality(RankSVM(ALPHA).fit(X, y, qid=qid).predict(X_new))
    for name, regularization in LAMBDARANKS.items():
        found[name] = quality(lightgbm_scores(log, X, X_new, regularization))
    return {"seed": seed, "clicks": int(log.clicked.sum()), "ndcg": found} | record


def tree_run(make, n_clicks, seed):
    """Return the NDCG@10 of boosted trees on raw and on weighted clicks, at eta = 1 with noise."""
    graded, (X_new, y_new, qid_new) = make(seed)
    log, found = Log(graded, 1.0, NOISES[-1], n_clicks, seed), {}
    for name, propensity in (("raw", None), ("estimated", "estimate")):
        pairs, _ = log.preferences(len(graded[0]), propensity)
        scores = BoostedRanker(n_estimators=100).fit(graded[0], pairs).predict(X_new)
        found[name] = round(float(ndcg(y_new, scores, qid_new, k=10)), 6)
    return {"seed": seed, "ndcg": found}


def errors_of(curve, examined):
    """Return the relative errors of the propensities."""
    return np.abs(curve.value / examined - 1).round(6)


def coverage(eta, n_logs, n_impressions=3000, n_queries=60):
    """Return the fraction of 95% intervals that have the true propensity, over positions and logs."""
    place, held = np.arange(1, LENGTH + 1), []
    for seed in range(n_logs):
        rng = np.random.default_rng(seed)
        relevance = rng.beta(1, 2, size=(n_queries, LENGTH))
        query = rng.integers(n_queries, size=n_impressions)
        noise = rng.gumbel(size=(n_impressions, LENGTH))
        document = np.argsort(-(3 * relevance[query] + noise), axis=1)
        chance = relevance[query[:, None], document] / place**eta
        columns = (rng.random(chance.shape) < chance, np.tile(place, (n_impressions, 1)), document)
        clicked, position, document = (column.ravel() for column in columns)
        curve = estimate_propensities(clicked, position, np.repeat(query, LENGTH), document=document)
        held.append((curve.low <= place**-eta) & (place**-eta <= curve.high))
    return round(float(np.mean(np.array(held)[:, 1:])), 4)


def measured(quick):
    """Return the results of all logs."""
    makers = {"generated": generated} | ({"OHSUMED": ohsumed} if "RANKWISE_DATA" in os.environ else {})
    logs, n_clicks, seeds = [], QUICK_CLICKS if quick else CLICKS, range(1 if quick else SEEDS)
    for name, make in makers.items():
        for eta in ETAS:
            for noise in NOISES if name == "generated" else NOISES[-1:]:
                runs = [run(make, eta, noise, n_clicks, seed) for seed in seeds]
                logs.append({"set": name, "eta": eta, "noise": noise, "runs": runs})
                print(quality_table(logs[-1:]), flush=True)
    n_logs = 10 if quick else COVERAGE_LOGS
    return {
        "date": datetime.date.today().isoformat(),
        "python": sys.version.split()[0],
        "logs": logs,
        "trees": {name: [tree_run(make, n_clicks, seed) for seed in seeds] for name, make in makers.items()},
        "coverage": {"n_logs": n_logs, "level": 0.95} | {str(eta): coverage(eta, n_logs) for eta in ETAS},
    }


def mean_of(log, name):
    """Return the mean NDCG@10 of a model."""
    return float(np.mean([one["ndcg"][name] for one in log["runs"]]))


def closed(log, goal):
    """Return the fraction of the gap between raw clicks and a model of grades that the estimate closes."""
    raw, estimated, best = (mean_of(log, name) for name in ("raw", "estimated", goal))
    return f"{100 * (estimated - raw) / (best - raw):.0f}%" if best - raw > 0.003 else "no gap"


def quality_table(logs):
    """Return NDCG@10 by log and model as Markdown."""
    names = ["production", "raw", "estimated", "known", "grades", "relevance"]
    names += list(LAMBDARANKS)
    header = ["set", "eta", "noise", *names, "closed to grades", "closed to relevance"]
    lines = [f"| {' | '.join(header)} |", "|---|" + "--:|" * (len(header) - 1)]
    for log in logs:
        values = [f"{mean_of(log, name):.3f}" for name in names]
        line = [log["set"], f"{log['eta']:g}", f"{log['noise']:g}", *values]
        lines.append(f"| {' | '.join([*line, closed(log, 'grades'), closed(log, 'relevance')])} |")
    return "\n".join(lines)


def tree_table(results):
    """Return the NDCG@10 of boosted trees as Markdown."""
    lines = ["| set | raw | estimated |", "|---|--:|--:|"]
    for name, runs in results["trees"].items():
        means = [np.mean([one["ndcg"][kind] for one in runs]) for kind in ("raw", "estimated")]
        lines.append(f"| {name} | {means[0]:.3f} | {means[1]:.3f} |")
    return "\n".join(lines)


def propensity_table(results):
    """Return the largest relative errors of propensities and the coverage of intervals as Markdown."""
    lines = ["| eta | largest error, mean of logs | largest error of all | coverage |", "|--:|--:|--:|--:|"]
    for eta in ETAS:
        runs = [one for log in results["logs"] if log["eta"] == eta for one in log["runs"]]
        errors = np.array([one["largest_error"] for one in runs])
        covered = results["coverage"][str(eta)]
        lines.append(
            f"| {eta:g} | {100 * errors.mean():.1f}% | {100 * errors.max():.1f}% | {100 * covered:.1f}% |"
        )
    return "\n".join(lines)


def write_tables():
    """Put the tables of the record into the page."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = with_block(PAGE.read_text(encoding="utf-8"), "clicks: quality", quality_table(results["logs"]))
    page = with_block(page, "clicks: trees", tree_table(results))
    page = with_block(page, "clicks: propensities", propensity_table(results))
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        return write_tables()
    results = measured(options.quick)
    if not options.quick:
        RESULTS.write_text(compact(results))
    print(quality_table(results["logs"]))
    print()
    print(tree_table(results))
    print()
    print(propensity_table(results))
    return None


if __name__ == "__main__":
    main()
