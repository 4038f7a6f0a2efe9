"""Tables: paths beside the table, labels as they stand there, mistakes named."""

from pathlib import Path

import pytest

from scopefl.data.decoding import Unreadable
from scopefl.data.opening import open_source
from scopefl.data.table import TableSource
from scopefl.errors import ScopeError


def write(place: Path, text: str, name: str = "table.csv") -> Path:
    (place / name).write_text(text, encoding="utf-8")
    return place / name


def test_labels_are_the_text_of_their_cells(tmp_path: Path) -> None:
    path = write(tmp_path, 'path,label\nb.png,007\na.png,"x, y"\nc.png,\n')
    found = [(item.id, item.label) for item in TableSource(path)]
    assert found == [("a.png", "x, y"), ("b.png", "007"), ("c.png", None)]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "image\tkind\tlabel\na.png\tsteel\tother\n", "table.tsv")
    (item,) = open_source(path, path_column="image", label_column="kind")
    assert (item.path, item.label) == ("a.png", "steel")


def test_a_table_without_labels_gives_none(tmp_path: Path) -> None:
    (item,) = TableSource(write(tmp_path, "path\na.png\n"))
    assert item.label is None


def test_a_missing_column_is_named_with_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, "paths,labels\na.png,x\n")
    with pytest.raises(ScopeError, match=r"it has paths, labels .*did you mean 'paths'"):
        TableSource(path)
    with pytest.raises(ScopeError, match="--label-column"):
        TableSource(path, path_column="paths", label_column="kind")


def test_a_path_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScopeError, match=r"'a.png' is twice in table.csv"):
        TableSource(write(tmp_path, "path\na.png\na.png\n"))


def test_rows_that_name_nothing_readable_are_items(tmp_path: Path) -> None:
    path = write(tmp_path, 'path,label\n,x\ngone.png,x\n"a\0.png",x\n')
    reasons = {}
    for item in TableSource(path):
        with pytest.raises(Unreadable) as caught:
            item.read()
        reasons[item.id] = caught.value.reason
    assert reasons["row 1"] == "the row names no path"
    assert reasons["gone.png"] == "no such file"
    assert reasons["a\\x00.png"].startswith("cannot be read")


def test_paths_are_relative_to_the_table_or_to_a_root(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"one")
    path = write(tmp_path, "path\na.png\n")
    (item,) = TableSource(path, root=tmp_path / "pictures")
    assert item.read() == b"one"
    (item,) = TableSource(write(tmp_path, "path\npictures/a.png\n"))
    assert item.read() == b"one"


@pytest.mark.parametrize("text", ["", "path,label\n1,2,3\n", "path\n\udce9.png\n"])
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "table.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ScopeError, match=r"table\.csv"):
        TableSource(tmp_path / "table.csv")


def test_a_parquet_file_with_whole_numbers_as_labels_is_read(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"path": ["a.png", "b.png", None], "label": [3, None, 5]})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = [(item.id, item.label) for item in TableSource(tmp_path / "t.parquet")]
    assert found == [("a.png", "3"), ("b.png", None), ("row 3", "5")]


def test_a_broken_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1nothing")
    with pytest.raises(ScopeError, match="cannot be read as a table"):
        TableSource(tmp_path / "t.parquet")
