"""Pairwise losses in LightGBM, XGBoost and CatBoost, compared with the objectives of these libraries.

    python benchmarks/boosters.py [--quick] [--sets "cadata;ohsumed"] [--libraries lightgbm,xgboost] [--cost]

The error is the fraction of test pairs in the wrong order: mean and standard error over splits. All
objectives of a library have the same budget: one thread, learning rate 0.1, trees of 31 leaves (depth 6), at
most 500 trees, and the number of trees where the ranking error of validation rows is lowest. A split is 60%
training, 20% validation and 20% test rows; of sets of more than 5,000 rows each split draws as many. OHSUMED
is whole and has its official five folds. "on ranks" is regression on the rank of each label. LightGBM's
lambdarank supports integer grades and queries of up to 10,000 rows, so other labels become 31 grades of equal
counts and longer queries are cut; "whole list" has gains that grow by one and looks below the top of the
list, at the cost of all pairs, so that its queries are cut to 200 rows. XGBoost's rank:pairwise takes labels
as they are. The verdict compares the better of the two rankwise losses with the best of the library's own
objectives, each as chosen by validation rows, by a paired t-test over splits: it is clear where p < 0.05.

The errors go to benchmarks/results/boosters.json after each split, and as tables to docs/benchmarks.md at the
end. An interrupted run resumes: results in the file are not computed again. Runs of different sets may be
simultaneous. With --quick nothing is read or written.

Then the time of one call of an objective at 500,000 rows, as a fraction of a LightGBM tree of 63 leaves over
28 features with one thread. Real data come from the folder named by RANKWISE_DATA; missing sets and libraries
are reported and left out.
"""

import argparse
import importlib.util
import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from records import compact
from reproduce.data import Data, MissingDataError
from scipy.stats import rankdata, t
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from timing import best_times

from rankwise import Preferences, objectives
from rankwise.metrics import ranking_error
from rankwise.objectives._gradient import PairwiseGradient

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "boosters.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
LEARNING_RATE, LEAVES, DEPTH, PATIENCE, TREES = 0.1, 31, 6, 50, 500
MOST_ROWS, N_SPLITS = 5000, 5
LOSSES = ("squared_hinge", "logistic")
FUNG = ("abalone", "stock", "autompg", "boston", "machine_cpu", "pyrimidines", "triazines", "wisconsin_wpbc")
QUICK_SETS = ("diabetes", "breast cancer")


@dataclass
class Problem:
    """Rows with labels, and with queries or events if there are any; parts are official folds."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None = None
    event: np.ndarray | None = None
    parts: np.ndarray | None = None

    def preferences(self, rows):
        if self.event is not None:
            return Preferences.from_survival(self.event[rows], self.y[rows])
        return Preferences.from_scores(self.y[rows], None if self.qid is None else self.qid[rows])

    def splits(self, count):
        """Yield training, validation and test rows; rows of a query stay together, and in order."""
        for number in range(count):
            if self.parts is not None:
                turned = (self.parts + number) % 5
                yield tuple(np.flatnonzero(np.isin(turned, part)) for part in ((0, 1, 2), (3,), (4,)))
                continue
            order = np.random.default_rng(number).permutation(len(self.y))[:MOST_ROWS]
            yield np.split(order, [int(0.6 * len(order)), int(0.8 * len(order))])


def censored(X, time, seed=0):
    """Censor half of the rows, each at a time drawn from the others."""
    limit = np.random.default_rng(seed).permutation(time)
    return Problem(X, np.minimum(time, limit), event=time <= limit)


def problems(data):
    """Return a function for each set, by kind."""
    return {
        "one ranking": {
            "diabetes": lambda: Problem(*load_diabetes(return_X_y=True)),
            **{name: lambda name=name: Problem(*data.fung(name)) for name in FUNG},
            "cadata": lambda: Problem(*data.cadata()),
        },
        "five grades": {"cadata, five grades": lambda: graded(*data.cadata())},
        "two classes": {
            "breast cancer": lambda: two_classes(*load_breast_cancer(return_X_y=True), 0),
            "digits, 8 or not": lambda: two_classes(*load_digits(return_X_y=True), 8),
        },
        "survival": {
            "diabetes, censored": lambda: censored(*load_diabetes(return_X_y=True)),
            "abalone, censored": lambda: censored(*data.fung("abalone")),
        },
        "search": {"ohsumed": lambda: letor(data)},
    }


def two_classes(X, y, positive):
    return Problem(X, (y == positive).astype(np.float64))


def graded(X, y):
    return Problem(X, np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])).astype(np.float64))


def letor(data):
    parts = data.ohsumed()
    number = np.repeat(np.arange(len(parts)), [len(y) for _, y, _ in parts])
    X, y, qid = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((qid, number))
    return Problem(X[order], y[order], qid[order], parts=number[order])


def _cut(size, largest):
    return np.array_split(np.arange(size), -(-size // largest))


@dataclass
class Split:
    """Training, validation and test rows with their preferences."""

    problem: Problem
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    n_trees: int

    def sizes(self, rows, largest=2**31):
        """The number of rows of each query, whose rows follow each other; longer ones are cut."""
        qid = np.zeros(len(rows)) if self.problem.qid is None else self.problem.qid[rows]
        sizes = np.diff(np.flatnonzero(np.concatenate([[True], qid[1:] != qid[:-1], [True]])))
        return np.concatenate([[len(part) for part in _cut(size, largest)] for size in sizes])

    def ranks(self, rows):
        """Ranks of labels between 0 and 1, within queries."""
        qid = np.zeros(len(rows)) if self.problem.qid is None else self.problem.qid[rows]
        ranks = np.empty(len(rows))
        for value in np.unique(qid):
            here = qid == value
            ranks[here] = rankdata(self.problem.y[rows][here]) / here.sum()
        return ranks

    def grades(self, rows):
        """Whole grades: the labels themselves, or 31 of equal counts."""
        y = self.problem.y
        if np.array_equal(y, np.round(y)) and y.min() >= 0 and y.max() <= 30:
            return y[rows].astype(int)
        cuts = np.quantile(y[self.train], np.linspace(0, 1, 32)[1:-1])
        return np.digitize(y[rows], cuts)

    def objective(self, make, loss="squared_hinge"):
        known = self.problem.preferences
        return make(known(self.train), loss, validation=known(self.valid))

    def errors(self, predict):
        """Validation and test error of a model."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                ranking_error(self.problem.preferences(rows), predict(self.problem.X[rows]))
                for rows in (self.valid, self.test)
            ]


def lightgbm_models(split):
    """Yield a name and the errors for each objective of LightGBM."""
    import lightgbm as lgb

    X, y = split.problem.X, split.problem.y

    def fitted(objective, labels, metric, longest=10_000, **more):
        grouped = objective == "lambdarank"
        train, valid = (
            {"label": labels(rows), "group": split.sizes(rows, longest) if grouped else None}
            for rows in (split.train, split.valid)
        )
        data = lgb.Dataset(X[split.train], **train)
        parameters = {
            "objective": objective, "learning_rate": LEARNING_RATE, "num_leaves": LEAVES, "metric": "None",
            "verbose": -1, "num_threads": 1, "seed": 0,
        }  # fmt: skip
        model = lgb.train(
            parameters | more,
            data,
            split.n_trees,
            valid_sets=[data.create_valid(X[split.valid], **valid)],
            feval=metric,
            callbacks=[lgb.early_stopping(PATIENCE, verbose=False)],
        )
        return split.errors(model.predict)

    for loss in LOSSES:
        objective = split.objective(objectives.lightgbm, loss)
        yield f"rankwise {loss}", fitted(objective, lambda rows: y[rows], objective.metric)
    metric = split.objective(objectives.lightgbm).metric
    yield "regression", fitted("regression", lambda rows: y[rows], metric)
    yield "on ranks", fitted("regression", split.ranks, metric)
    if len(np.unique(y)) == 2:
        yield "binary", fitted("binary", lambda rows: y[rows], metric)
    if split.problem.event is None:
        gains = {"label_gain": list(range(31)), "lambdarank_truncation_level": 10**6}
        yield "lambdarank", fitted("lambdarank", split.grades, metric)
        yield "lambdarank, whole list", fitted("lambdarank", split.grades, metric, 200, **gains)


def xgboost_models(split):
    """Yield a name and the errors for each objective of XGBoost."""
    import xgboost as xgb

    X, y, event = split.problem.X, split.problem.y, split.problem.event

    def fitted(labels, metric, obj=None, grouped=False, bounds=False, **more):
        def matrix(rows):
            made = xgb.DMatrix(X[rows], None if bounds else labels(rows))
            if grouped:
                made.set_group(split.sizes(rows))
            if bounds:
                made.set_float_info("label_lower_bound", y[rows])
                made.set_float_info("label_upper_bound", np.where(event[rows], y[rows], np.inf))
            return made

        parameters = {
            "learning_rate": LEARNING_RATE, "max_depth": DEPTH, "nthread": 1, "seed": 0,
            "disable_default_eval_metric": 1,
        }  # fmt: skip
        model = xgb.train(
            parameters | more,
            matrix(split.train),
            split.n_trees,
            obj=obj,
            evals=[(matrix(split.valid), "valid")],
            custom_metric=metric,
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        best = (0, model.best_iteration + 1)
        sign = -1.0 if more.get("objective") == "survival:cox" else 1.0  # a hazard, not a time
        return split.errors(
            lambda rows: sign * model.predict(xgb.DMatrix(rows), iteration_range=best, output_margin=True)
        )

    for loss in LOSSES:
        objective = split.objective(objectives.xgboost, loss)
        yield f"rankwise {loss}", fitted(lambda rows: y[rows], objective.metric, objective)
    metric = split.objective(objectives.xgboost).metric

    def reversed_metric(scores, matrix):
        return metric(-scores, matrix)

    yield "regression", fitted(lambda rows: y[rows], metric)
    yield "on ranks", fitted(split.ranks, metric)
    if event is not None:
        signed = np.where(event, y, -y)
        yield (
            "survival:cox",
            fitted(lambda rows: signed[rows], reversed_metric, objective="survival:cox"),
        )
        yield "survival:aft", fitted(None, metric, bounds=True, objective="survival:aft")
    else:
        pairwise = {"objective": "rank:pairwise", "lambdarank_pair_method": "mean"}
        yield "rank:pairwise", fitted(lambda rows: y[rows], metric, grouped=True, **pairwise)
    if len(np.unique(y)) == 2:
        yield "binary", fitted(lambda rows: y[rows], metric, objective="binary:logistic")


def catboost_models(split):
    """Yield a name and the errors for each objective of CatBoost."""
    import catboost

    X, y, qid, event = split.problem.X, split.problem.y, split.problem.qid, split.problem.event

    def fitted(loss, labels, metric, grouped=False, sign=1.0, **more):
        train, valid = (
            catboost.Pool(X[rows], labels(rows), group_id=qid[rows] if grouped else None)
            for rows in (split.train, split.valid)
        )
        options = {
            "loss_function": loss, "eval_metric": metric, "iterations": split.n_trees, "depth": DEPTH,
            "learning_rate": LEARNING_RATE, "thread_count": 1, "random_seed": 0, "logging_level": "Silent",
            "allow_writing_files": False, "boosting_type": "Plain", "early_stopping_rounds": PATIENCE,
        }  # fmt: skip
        model = catboost.CatBoost(options | more).fit(train, eval_set=valid)
        return split.errors(lambda rows: sign * model.predict(rows))

    def numbered(rows):
        return np.arange(len(rows)) if rows is split.train else y[rows]

    newton = {"leaf_estimation_method": "Newton", "leaf_estimation_iterations": 1}
    for loss in LOSSES:
        objective = split.objective(objectives.catboost, loss)
        yield f"rankwise {loss}", fitted(objective, numbered, objective.metric, **newton)
    metric = split.objective(objectives.catboost).metric
    yield "regression", fitted("RMSE", lambda rows: y[rows], metric)
    yield "on ranks", fitted("RMSE", split.ranks, metric)
    if len(np.unique(y)) == 2:
        yield "Logloss", fitted("Logloss", lambda rows: y[rows], metric)
    if qid is not None:
        yield "YetiRank", fitted("YetiRank", lambda rows: y[rows], metric, grouped=True)
        yield "PairLogit", fitted("PairLogit", lambda rows: y[rows], metric, grouped=True)
    if event is not None:  # which learns a hazard, not a time
        signed = np.where(event, y, -y)
        yield "Cox", fitted("Cox", lambda rows: signed[rows], ReversedMetric(metric), sign=-1.0)


class ReversedMetric:
    """A metric of CatBoost for scores that are low where labels are high."""

    def __init__(self, metric):
        self.metric = metric
        self.is_max_optimal, self.get_final_error = metric.is_max_optimal, metric.get_final_error

    def evaluate(self, approxes, target, weight):
        return self.metric.evaluate([-np.asarray(approxes[0])], target, weight)


LIBRARIES = {"lightgbm": lightgbm_models, "xgboost": xgboost_models, "catboost": catboost_models}
TITLES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}


def errors_of_split(problem, rows, library, n_trees):
    """Return validation and test error by objective."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: list(found) for name, found in LIBRARIES[library](Split(problem, *rows, n_trees))}


def chosen(errors, names):
    """Test errors of the objective with the lowest validation error in each split."""
    valid, test = (np.array([errors[name][:, k] for name in names]) for k in (0, 1))
    return np.take_along_axis(test, valid.argmin(axis=0)[None], axis=0)[0]


def mean_and_error(values):
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def is_ours(name):
    return name.startswith("rankwise")


def gain(errors):
    """Return the gain of our better loss over the best other one, its standard error, and a verdict."""
    ours = [name for name in errors if is_ours(name)]
    lower = chosen(errors, [name for name in errors if name not in ours]) - chosen(errors, ours)
    mean, spread = mean_and_error(lower)
    clear = abs(mean) > t.ppf(0.975, len(lower) - 1) * spread
    return mean, spread, ("helps" if mean > 0 else "harms") if clear else "no clear difference"


def verdict(errors):
    """Return whether the losses of rankwise, chosen by validation rows, beat those of the library."""
    mean, spread, word = gain(errors)
    return f"{word}: lower by {mean:+.4f} ± {spread:.4f}"


def print_table(title, errors):
    print(f"\n{title}")
    for name, found in errors.items():
        mean, spread = mean_and_error(found[:, 1])
        print(f"  {name:<24}{mean:.4f} ± {spread:.4f}")
    print(f"  {verdict(errors)}", flush=True)


class Results:
    """Errors by set, library and split, in a file if there is one."""

    def __init__(self, path=None):
        self.path = path
        self.splits = {}
        self.read()

    def read(self):
        """Load the results of the file, which runs of other sets may have extended."""
        if self.path is not None and self.path.exists():
            self.splits = json.loads(self.path.read_text(encoding="utf-8"))

    def of(self, name, library):
        return self.splits.setdefault(name, {}).setdefault(library, [])

    def add(self, name, library, errors):
        self.read()
        self.of(name, library).append(errors)
        if self.path is not None:
            self.path.write_text(compact(self.splits), encoding="utf-8")

    def errors(self, name, library):
        """Return validation and test errors by objective, shape (n_splits, 2); none before two splits."""
        splits = self.of(name, library)
        if len(splits) < 2:
            return None
        return {objective: np.array([split[objective] for split in splits]) for objective in splits[0]}


def installed(names):
    present = [name for name in names if importlib.util.find_spec(name) is not None]
    for name in sorted(set(names) - set(present)):
        print(f"{name} is not installed and left out.")
    return present


def race(results, names, libraries, n_splits, n_trees):
    """Run the missing experiments, the smallest sets first."""
    found = []
    for name, problem in sorted(loaded(names).items(), key=lambda entry: len(entry[1].y)):
        for library in libraries:
            done = len(results.of(name, library))
            for rows in list(problem.splits(n_splits))[done:]:
                results.add(name, library, errors_of_split(problem, rows, library, n_trees))
            title = f"{name}, {library} ({len(problem.y):,} rows)"
            errors = results.errors(name, library)
            print_table(title, errors)
            found.append((title, verdict(errors)))
    print("\nIn short")
    for title, text in found:
        print(f"  {title:<44}{text}")


def loaded(names):
    """Return the problems by name; those without their data are named and left out."""
    known = {name: make for kind in problems(Data()).values() for name, make in kind.items()}
    made = {}
    for name in known if names is None else names:
        try:
            made[name] = known[name]()
        except MissingDataError as error:
            print(f"\n{name} is left out. {error}")
    return made


def short(mean, spread):
    return f"{mean:.4f} ± {spread:.4f}".replace("0.", ".")


def table_row(name, errors):
    """Return a set's cells: our losses, regression, the best of the library's other objectives, the gain."""
    cells = [name]
    for objective in (*(f"rankwise {loss}" for loss in LOSSES), "regression", "on ranks"):
        cells.append(short(*mean_and_error(errors[objective][:, 1])))
    others = [key for key in errors if not is_ours(key) and key not in ("regression", "on ranks")]
    best = min(others, key=lambda key: errors[key][:, 0].mean(), default=None)
    cells.append("" if best is None else f"{short(*mean_and_error(errors[best][:, 1]))} {best}")
    mean, spread, word = gain(errors)
    mark = "" if word == "no clear difference" else "**"
    return [*cells, f"{mark}{'+' if mean > 0 else '-'}{short(abs(mean), spread)}{mark}"]


def table(results, library, n_splits):
    """Return the table of a library over the sets that are complete, and what it comes to, as lines."""
    title = ["", "squared hinge", "logistic", "regression", "on ranks", "its own", "gain"]
    lines = [f"**{TITLES[library]}**", "", f"| {' | '.join(title)} |", "|---" * len(title) + "|"]
    words, missing = [], []
    for kind, sets in problems(Data()).items():
        whole = [name for name in sets if len(results.of(name, library)) == n_splits]
        missing += [name for name in sets if name not in whole]
        lines += [f"| *{kind}* {'|' * len(title)}"] * bool(whole)
        for name in whole:
            errors = results.errors(name, library)
            lines.append(f"| {' | '.join(table_row(name, errors))} |")
            words.append(gain(errors)[2])
    helped, harmed = words.count("helps"), words.count("harms")
    lines += ["", f"Clearly better on {helped} of {len(words)} sets, clearly worse on {harmed}."]
    return [*lines, *[f"Not run: {'; '.join(missing)}."] * bool(missing), ""]


def tables(results, n_splits):
    return "\n".join(line for library in LIBRARIES for line in table(results, library, n_splits))


def write_page(results, n_splits):
    """Write the tables between their markers on the page."""
    begin, end = "<!-- boosters: begin -->\n", "<!-- boosters: end -->"
    page, n_tables = re.subn(
        f"(?<={begin}).*?(?={end})",
        lambda _: f"\n{tables(results, n_splits)}\n",
        PAGE.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert n_tables == 1, "the page has no place for the tables, or several"
    PAGE.write_text(page, encoding="utf-8")


def cost(n_rows, repeats):
    """Time a call of each loss, compared with a tree."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 28)).astype(np.float32)
    y = X[:, 0] + generator.normal(size=n_rows)
    scores = 0.5 * y + generator.normal(size=n_rows)
    grades = np.digitize(y, [-1.0, 0.0, 1.0, 2.0]).astype(np.float64)
    qid = generator.integers(0, max(1, n_rows // 100), n_rows)
    structures = {
        "distinct labels": Preferences.from_scores(y),
        "five grades": Preferences.from_scores(grades),
        "queries of 100 rows": Preferences.from_scores(grades, qid),
    }
    tasks = {"tree": tree_task(X, y)}
    for loss in (*LOSSES, "hinge", "least_squares"):
        for name, known in structures.items():
            gradient = PairwiseGradient(known, loss)
            tasks[f"{loss}, {name}"] = lambda gradient=gradient: gradient(scores)
    best = best_times(tasks, repeats)
    print(f"\nA call at {n_rows:,} rows; a tree of 63 leaves over 28 features took {best['tree']:.3f} s")
    for name, seconds in best.items():
        print(f"  {name:<40}{seconds / best['tree']:6.2f} trees")


def tree_task(X, y):
    import lightgbm as lgb

    parameters = {"objective": "regression", "num_leaves": 63, "num_threads": 1, "verbose": -1}
    booster = lgb.Booster(parameters, lgb.Dataset(X, y).construct())
    return booster.update


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", type=lambda text: [name.strip() for name in text.split(";")])
    parser.add_argument("--libraries", type=lambda text: text.split(","), default=list(LIBRARIES))
    parser.add_argument("--cost", action="store_true", help="only the time of calls")
    parser.add_argument("--table", action="store_true", help="write the tables of the page, nothing else")
    options = parser.parse_args()
    if options.table:
        return write_page(Results(RESULTS), N_SPLITS)
    libraries = installed(options.libraries)
    quick = options.quick
    if quick and not options.cost:
        race(Results(), options.sets or QUICK_SETS, libraries, 2, 50)
    elif not options.cost:
        results = Results(RESULTS)
        race(results, options.sets, libraries, N_SPLITS, TREES)
        write_page(results, N_SPLITS)
    if "lightgbm" in libraries:
        cost(20_000 if quick else 500_000, 3 if quick else 7)
    return None


if __name__ == "__main__":
    main()
