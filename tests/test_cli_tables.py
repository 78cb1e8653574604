"""`rankwise train` with several tables, empty tables and damaged ones."""

import numpy as np
import pytest

from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.io.model_file import load_model

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    X, y, qid = make_ranking(300, 4, n_queries=12, n_levels=4, noise=0.8, random_state=0)
    path = tmp_path_factory.mktemp("tables")
    frame = pd.DataFrame(X * [1, 10, 100, 1000], columns=list("abcd")).assign(
        grade=y, query=[f"q{q}" for q in qid]
    )
    frame[:130].to_csv(path / "first.csv", index=False)
    frame[130:].to_csv(path / "second.csv", index=False)
    frame[:0].to_csv(path / "empty.csv", index=False)
    return path


def train(folder, output, *options, data=("first.csv", "second.csv")):
    files = [str(folder / name) for name in data]
    columns = ["--label", "grade", "--qid", "query"]
    return main(["train", *files, "-o", str(folder / output), *columns, *options])


def test_a_table_without_rows_is_refused(folder, capsys):
    assert train(folder, "empty.json", data=["empty.csv"]) == 1
    assert "The data has no rows." in capsys.readouterr().err


def test_tables_of_other_columns_are_refused(folder, capsys):
    frame = pd.read_csv(folder / "second.csv")
    frame.drop(columns="c").to_csv(folder / "less.csv", index=False)
    frame.assign(e=0.0).to_csv(folder / "more.csv", index=False)
    for other, found in (("less.csv", "lacks 'c'"), ("more.csv", "also has 'e'")):
        assert train(folder, "never.json", data=["first.csv", other]) == 1
        assert f"{other} must have the columns of first.csv; it {found}." in capsys.readouterr().err.replace(
            f"{folder}/", ""
        )


def test_tables_are_joined_by_the_names_of_their_columns(folder):
    frame = pd.read_csv(folder / "second.csv")
    frame[frame.columns[::-1]].to_csv(folder / "turned.csv", index=False)
    assert train(folder, "turned.json", data=["first.csv", "turned.csv"]) == 0
    assert train(folder, "plain.json", data=["first.csv", "second.csv"]) == 0
    turned, plain = (load_model(folder / name) for name in ("turned.json", "plain.json"))
    np.testing.assert_allclose(turned.coef_, plain.coef_, rtol=1e-6)


def test_damaged_parquet_is_named(folder, capsys):
    pytest.importorskip("pyarrow")
    pd.read_csv(folder / "first.csv").to_parquet(folder / "damaged.parquet")
    content = (folder / "damaged.parquet").read_bytes()
    for damaged in (content[: len(content) // 2], content[:4] + bytes(2000) + content[2004:]):
        (folder / "damaged.parquet").write_bytes(damaged)
        assert train(folder, "never.json", data=["damaged.parquet"]) == 1
        assert f"{folder / 'damaged.parquet'} is not a readable table: " in capsys.readouterr().err
    assert train(folder, "never.json", data=["missing.parquet"]) == 1
    assert f"{str(folder / 'missing.parquet')!r}: No such file" in capsys.readouterr().err
