import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scopefl import Profile, ScopeError, Scores, score
from scopefl.data.scores_file import ScoresFile, read_scores, write_scores
from tests.clouds import cloud

CLASSES = ("ferrite", "pearlite", "carbide <b>", "Gefüge")


def made(n=50, **options):
    images, prototypes, labels = cloud(n, len(CLASSES))
    scores = score(images, prototypes, labels)
    return ScoresFile.of(scores, labels, CLASSES, b"12345678", **options), scores, labels


def test_what_is_written_is_read(tmp_path):
    file, scores, labels = made(settings={"kit": "offline"})
    write_scores(file, tmp_path / "a.parquet")
    again = read_scores(tmp_path / "a.parquet")
    assert again.table.equals(file.table.replace_schema_metadata(None))
    assert (again.classes, again.fingerprint) == (CLASSES, b"12345678")
    assert again.settings == {"kit": "offline"}
    assert np.array_equal(again.scores.rs, scores.rs)
    assert np.array_equal(again.scores.rival, scores.rival)
    assert np.array_equal(again.labels, labels)
    assert again.profile == Profile.of(scores, labels, len(CLASSES))


def test_the_same_scores_make_the_same_bytes(tmp_path):
    for name in "ab":
        write_scores(made()[0], tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_quarantined_rows_stand_in_their_place_and_count_for_nothing(tmp_path):
    file, scores, _ = made(3)
    scored = np.array([True, False, True, True])
    whole = file.among(
        scored,
        ids=list("wxyz"),
        paths=list("WXYZ"),
        labels=[CLASSES[0], None, CLASSES[1], CLASSES[2]],
        reasons=[None, "the file is empty", None, None],
    )
    write_scores(whole, tmp_path / "a.parquet")
    again = read_scores(tmp_path / "a.parquet")
    assert again.table["id"].to_pylist() == list("wxyz")
    assert again.quarantined["reason"].to_pylist() == ["the file is empty"]
    assert np.array_equal(again.scores.rs, scores.rs)
    assert again.ids.tolist() == list("wyz")


def test_a_dictionary_in_another_order_means_the_same(tmp_path):
    file, _, labels = made()
    label = file.table["label"].cast(pa.string()).combine_chunks().dictionary_encode()
    assert label.dictionary.to_pylist() != list(CLASSES)
    table = file.table.set_column(2, "label", label)
    write_scores(ScoresFile(table, CLASSES, b"", {}), tmp_path / "a.parquet")
    assert np.array_equal(read_scores(tmp_path / "a.parquet").labels, labels)


def test_scores_of_nothing_are_a_file_too(tmp_path):
    nothing = Scores(*[np.zeros(0, np.float32)] * 3, np.zeros(0, np.int32))
    file = ScoresFile.of(nothing, np.zeros(0, np.int64), CLASSES, b"")
    write_scores(file, tmp_path / "a.parquet")
    again = read_scores(tmp_path / "a.parquet")
    assert len(again.scores) == 0
    assert again.profile == Profile.empty(len(CLASSES))


def test_what_is_no_scores_file_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_text("PAR1 no")
    with pytest.raises(ScopeError, match="must be a whole table file"):
        read_scores(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(ScopeError, match="a table that scope wrote; it lacks our metadata"):
        read_scores(path)
    file, _, _ = made()
    strange = ScoresFile(file.table.drop_columns(["rs"]), CLASSES, b"", {})
    write_scores(strange, path)
    with pytest.raises(ScopeError, match="must have the column 'rs'"):
        read_scores(path)
    renamed = ScoresFile(file.table, (*CLASSES[:3], "another"), b"", {})
    write_scores(renamed, path)
    with pytest.raises(ScopeError, match="in the file's own class list, got 'Gefüge'"):
        _ = read_scores(path).labels


def test_a_file_of_a_later_version_is_refused_with_the_remedy(tmp_path):
    import scopefl.data.scores_file as module

    file, _, _ = made()
    text = b'{"kind":"scores","version":9,"classes":[],"fingerprint":"","settings":{}}'
    path = tmp_path / "x.parquet"
    pq.write_table(file.table.replace_schema_metadata({module.METADATA: text}), path)
    with pytest.raises(ScopeError, match="format version 9 and this scopefl reads 1; install"):
        read_scores(path)
