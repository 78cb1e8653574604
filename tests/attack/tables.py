"""Tables of any kind through the commands: the numbers of the same job in Python, or a sentence."""

import hashlib
import io
import json
import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd

from attack.draws import choice, labels
from rankwise import CurveRanker, RankLogistic, RankRLS, RankSVM, load_model
from rankwise.cli.main import main
from rankwise.metrics import ranking_error
from test_export import in_sqlite

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".csv.xz", ".parquet")
ROLES = ["--label", "y", "--qid", "q"]
METHODS = {
    "rank-svm": RankSVM,
    "rank-logistic": RankLogistic,
    "rank-rls": RankRLS,
    "curve": lambda alpha: CurveRanker(alpha, n_bins=8),
}
QUERIES = {
    "integers": lambda q: q,
    "words": lambda q: np.array([f"q {k}" for k in q]),
    "padded": lambda q: np.array([f"{k:03}" for k in q]),
    "floats": lambda q: q.astype(float),
    "negative": lambda q: -q,
    "large": lambda q: q + 2**60,
}


def case(rng):
    """Train, and use the model with a table that was changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = drawn(rng)
        train = write(folder / f"train{choice(rng, SUFFIXES)}", table)
        method, alpha = choice(rng, list(METHODS)), 1e-2
        model = folder / "model.json"
        options = [*ROLES, "--method", method, "--alpha", str(alpha)]
        if method == "curve":
            options += ["--n-bins", "8"]
        result = run(["train", train, "-o", model, *options], [train])
        expected = METHODS[method](alpha).fit(days(features(table)), table["y"], qid=table["q"])
        assert result is not None, "a sound table was refused"
        close(load_model(model).objective_, expected.objective_)
        # Curves have a value of their own for empty cells.
        changes = [change for change in CHANGES if method != "curve" or change != "empty_cell"]
        changed, sound = CHANGES[choice(rng, changes)](rng, table)
        suffixes = SUFFIXES if changed.columns.is_unique else SUFFIXES[:-1]
        test = write(folder / f"test{choice(rng, suffixes)}", changed)
        compared = use(rng, folder, model, test, changed, sound, table, expected)
        return compared + over_input(rng, folder, model, test)


def drawn(rng):
    """A table of features of several types, a label and queries whose rows are together."""
    n = int(rng.integers(12, 60))
    q = np.sort(rng.integers(0, n // 4, n))
    q[1] = q[0]
    table = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.integers(0, 9, n), "größe": rng.normal(size=n) > 0}
    )
    if rng.random() < 0.4:
        unit = choice(rng, ["s", "ms", "us", "ns"])
        table["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
        table["day"] = table["day"].astype(f"datetime64[{unit}]")
    table["y"] = np.round(labels(rng, n), 3)
    table["q"] = QUERIES[choice(rng, list(QUERIES))](q)
    return table


def features(table):
    return table[[name for name in table.columns if name in ("a", "b", "größe", "day")]]


def days(frame):
    """Numbers, with dates as days since 1970."""
    frame = frame.copy()
    for name in frame:
        dated = frame[name].dtype.kind == "M"
        frame[name] = (
            (frame[name] - pd.Timestamp(0)) / pd.Timedelta("1D") if dated else frame[name].astype(float)
        )
    return frame


def write(path, table):
    """Dates cannot be text: a text file has them as numbers of days."""
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
        return str(path)
    table = table.copy()
    for place, kind in enumerate(table.dtypes):
        if kind.kind == "M":
            table.isetitem(place, days(table.iloc[:, [place]]).iloc[:, 0])
    table.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return str(path)


def shuffled(rng, table):
    return table[rng.permutation(table.columns)], True


def surplus(rng, table):
    more = table.assign(surplus=7.0, word="x", y2=0)
    return more[rng.permutation(more.columns)], True


def missing(rng, table):
    return table.drop(columns=[choice(rng, list(features(table).columns))]), False


def renamed(rng, table):
    return table.rename(columns={choice(rng, list(features(table).columns)): "other"}), False


def duplicated(rng, table):
    """Two columns of one name; only text files can have them."""
    name, other = rng.permutation(features(table).columns)[:2]
    copy = pd.DataFrame({name: table[name]}) if rng.random() < 0.5 else pd.DataFrame({name: table[other]})
    return pd.concat([table, copy], axis=1), False


def empty_cell(rng, table):
    table = table.astype({"a": object})
    table.loc[int(rng.integers(len(table))), "a"] = None
    return table, False


def no_number(rng, table):
    table = table.astype({"a": str})
    table.loc[int(rng.integers(len(table))), "a"] = choice(rng, ["x", "1,5", "--", "1e999", "\x00"])
    return table, False


def other_unit(rng, table):
    if "day" in table:
        table = table.astype({"day": f"datetime64[{choice(rng, ['s', 'ms', 'us', 'ns'])}]"})
    return table, True


def no_rows(rng, table):
    return table[:0], False


CHANGES = {
    change.__name__: change
    for change in (
        shuffled,
        surplus,
        missing,
        renamed,
        duplicated,
        empty_cell,
        no_number,
        other_unit,
        no_rows,
    )
} | {"same": lambda rng, table: (table, True)}


def use(rng, folder, model, test, changed, sound, table, expected):
    """Every command gives the numbers of Python, or refuses the table."""
    names = [name for name in expected.feature_names_in_]
    scores = expected.predict(days(table[names]))
    inputs = [str(model), test]
    out = folder / "scores.txt"
    predicted = run(["predict", model, test, "-o", out], inputs)
    evaluated = run(["evaluate", model, test, *ROLES], inputs)
    reported = run(["report", model, test, "-o", folder / "report.html", *ROLES], inputs)
    if not sound:
        refused = [predicted, evaluated, reported] if len(changed) else [evaluated, reported]
        assert not any(refused), f"a table without {set(table) - set(changed)} was taken"
        return 3
    assert None not in (predicted, evaluated, reported), "a sound table was refused"
    found = np.loadtxt(out, ndmin=1)
    np.testing.assert_allclose(found, scores, rtol=1e-6, atol=1e-7 * (1 + np.ptp(scores)))
    error = ranking_error(table["y"].to_numpy(), found, table["q"].to_numpy())
    close(evaluated["models"][0]["measures"]["error"]["mean"], error)
    close(reported["measures"]["error"]["mean"], error)
    return 3 + exported(folder, model, table, names, found)


def exported(folder, model, table, names, scores):
    """SQL of the command, in SQLite."""
    out = folder / "model.sql"
    assert run(["export", model, "-o", out, "--format", "sql"], [str(model)]) is not None
    found = in_sqlite(out.read_text(encoding="utf-8"), days(table[names]).to_numpy(), names)
    np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9 * (1 + np.abs(scores).max()))
    return 1


def over_input(rng, folder, model, test):
    """An output over an input is refused."""
    if rng.random() < 0.7:
        return 0
    link = folder / f"link{Path(test).suffix}"
    os.symlink(test, link)
    target = choice(rng, [test, str(link), str(model)])
    command = choice(
        rng, [["predict", model, test], ["report", model, test, *ROLES], ["train", test, *ROLES]]
    )
    if target == str(model) and command[0] == "train":
        return 0
    run([*command, "-o", target], [str(model), test])
    return 1


def run(arguments, inputs):
    """Run a command; give its JSON, or None if it refused with a sentence. Inputs stay as they are."""
    before = [digest(path) for path in inputs]
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = main([*map(str, arguments), "--json"])
    for path, old in zip(inputs, before, strict=True):
        assert digest(path) == old, f"{arguments[0]} has overwritten its input {Path(path).name}"
    if code == 0:
        return json.loads(out.getvalue())
    said = error.getvalue().strip()
    assert said.startswith("rankwise"), said
    assert "Traceback" not in said, said
    return None


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
