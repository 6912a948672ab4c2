"""The rows of a table that new rows change; nothing is written when none change."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.lake.files import OF_SPARK, version_of
from throughline.lake.pipeline import MEANING, MIXED, note_meaning
from throughline.lake.silver.refinement import Meaning
from throughline.lake.tables.declaration import LakeColumn, Table, columns
from throughline.lake.tables.lake import Lake, LakeError
from throughline.lake.tables.schemas import LAKE, PROGRESS

pytestmark = OF_SPARK

MARKED = Table(
    place="silver/marked",
    comment="A table",
    keys=("id",),
    marks=True,
    content=columns("""
        id string What it is
        of string To what it belongs
        outcome string What it says"""),
)
PLAIN = replace(MARKED, place="silver/plain", comment="Another", marks=False)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(session=spark, root=str(tmp_path))


def _put(lake: Lake, table: Table, batch: int, rows: list[tuple[str, str, str]], **options: Any) -> int:
    return lake.put(
        table, lake.session.createDataFrame(rows, "id string, of string, outcome string"), batch=batch, **options
    )


def _rows(lake: Lake, table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in lake.read(table).collect())


def test_only_rows_that_differ_are_changed(lake: Lake) -> None:
    _put(lake, MARKED, 1, [("a", "x", "1"), ("b", "x", "1"), ("c", "y", "1")])
    scope = lake.session.createDataFrame([("x",)], "of string")
    assert _put(lake, MARKED, 2, [("a", "x", "1"), ("d", "x", "1")], scope=scope) == 2
    assert _rows(lake, MARKED) == [
        ("a", "x", "1", True, 1),
        ("b", "x", "1", False, 2),
        ("c", "y", "1", True, 1),
        ("d", "x", "1", True, 2),
    ]
    version = version_of(lake, MARKED)
    assert _put(lake, MARKED, 3, [("a", "x", "1"), ("d", "x", "1")], scope=scope) == 0
    assert version_of(lake, MARKED) == version
    assert _put(lake, MARKED, 4, [("b", "x", "2")]) == 1
    assert ("b", "x", "2", True, 4) in _rows(lake, MARKED)


def test_only_the_compared_columns_decide_but_rows_are_written_whole(lake: Lake) -> None:
    _put(lake, MARKED, 1, [("a", "x", "1"), ("b", "x", "1")])
    rows = [("a", "y", "1"), ("b", "y", "2"), ("c", "y", "1")]
    assert _put(lake, MARKED, 2, rows, compared=("outcome",)) == 2
    assert _put(lake, MARKED, 3, rows, compared=("outcome",)) == 0
    assert _put(lake, MARKED, 4, [("a", "z", "1"), ("d", "z", "1")], compared=("outcome",)) == 1
    assert _put(lake, MARKED, 5, [("e", "z", "1")], compared=("outcome",)) == 1
    assert _rows(lake, MARKED) == [
        ("a", "x", "1", True, 1),
        ("b", "y", "2", True, 2),
        ("c", "y", "1", True, 2),
        ("d", "z", "1", True, 4),
        ("e", "z", "1", True, 5),
    ]


def test_a_row_that_differs_replaces_the_stored_one_only_under_the_condition(lake: Lake) -> None:
    options: dict[str, Any] = {"compared": ("outcome",), "replacing": "outcome > was_outcome"}
    _put(lake, PLAIN, 1, [("a", "x", "2"), ("b", "x", "2")], **options)
    assert _put(lake, PLAIN, 2, [("a", "y", "3"), ("b", "y", "1"), ("c", "y", "1")], **options) == 2
    assert _rows(lake, PLAIN) == [("a", "y", "3", 2), ("b", "x", "2", 1), ("c", "y", "1", 2)]


def test_rows_that_are_all_new_are_appended(lake: Lake, tmp_path: Path) -> None:
    assert _put(lake, PLAIN, 1, [("a", "x", "1")]) == 1
    assert _put(lake, PLAIN, 2, [("b", "x", "1"), ("c", "x", "1")]) == 2
    assert _put(lake, PLAIN, 3, [("b", "x", "2"), ("d", "x", "1")]) == 2
    assert _rows(lake, PLAIN) == [("a", "x", "1", 1), ("b", "x", "2", 3), ("c", "x", "1", 2), ("d", "x", "1", 3)]
    commits = sorted((tmp_path / PLAIN.place / "_delta_log").glob("*.json"))
    actions = [[json.loads(line) for line in path.read_text().splitlines()] for path in commits]
    operations = [
        next(entry["commitInfo"] for entry in action if "commitInfo" in entry)["operation"] for action in actions
    ]
    assert operations[1:] == ["WRITE", "MERGE"]


def test_columns_that_are_never_null_may_be_null_in_the_table(lake: Lake, tmp_path: Path) -> None:
    """Sail would need twice the time to plan a merge for each column that may not: half a minute for `coverage`."""
    _put(lake, PLAIN, 1, [("a", "x", "1")])
    commit = (tmp_path / PLAIN.place / "_delta_log" / f"{0:020d}.json").read_text()
    (metadata,) = (entry["metaData"] for entry in map(json.loads, commit.splitlines()) if "metaData" in entry)
    assert {field["nullable"] for field in json.loads(metadata["schemaString"])["fields"]} == {True}


def test_missing_rows_of_a_table_without_marks_are_deleted(lake: Lake) -> None:
    _put(lake, PLAIN, 1, [("a", "x", "1"), ("b", "x", "1")])
    assert _put(lake, PLAIN, 2, [("a", "x", "2")], is_complete=True) == 2
    assert _rows(lake, PLAIN) == [("a", "x", "2", 2)]


MORE = LakeColumn(name="more", type="bigint", comment="A column that came later")
WIDER = replace(PLAIN, content=(*PLAIN.content, MORE))


def _put_wider(lake: Lake) -> int:
    _put(lake, PLAIN, 1, [("a", "x", "1")])
    assert [row["more"] for row in lake.read(WIDER).collect()] == [None]
    rows = lake.session.createDataFrame([("a", "x", "1", 5)], "id string, of string, outcome string, more bigint")
    return lake.put(WIDER, rows, batch=2)


@pytest.mark.engine("spark")
def test_a_table_gains_columns(lake: Lake) -> None:
    assert _put_wider(lake) == 1
    assert [row["more"] for row in lake.read(WIDER).collect()] == [5]


@pytest.mark.engine("sail")
def test_an_engine_that_cannot_add_columns_names_one_that_can(lake: Lake) -> None:
    with pytest.raises(LakeError, match=r"lacks more, .*--engine spark"):
        _put_wider(lake)


def test_every_file_is_listed_and_read_once(lake: Lake, tmp_path: Path) -> None:
    size, names = 5 * 1024 * 1024, ("a.gz", "b.gz", "in/c d%20.gz")  # together so much that engines read them in parts
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.truncate(path, size)
        os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    listed = sorted(
        lake.engine.listed(str(tmp_path)).select("path", "length", f.col("modified").cast("string")).collect()
    )
    assert [tuple(row) for row in listed] == [(f"file:{tmp_path}/{name}", size, _WRITTEN) for name in names]
    file_contents = lake.engine.contents([path for path, *_ in listed])
    rows = file_contents.select("path", f.length("content"), f.col("modificationTime").cast("string"))
    assert sorted(tuple(row) for row in rows.collect()) == [tuple(row) for row in listed]


_WRITTEN = "2023-11-14 22:13:20.123"


def test_files_and_folders_of_any_name_are_listed_and_read_once(lake: Lake, tmp_path: Path) -> None:
    """No name is a pattern: each file has its name as its content."""
    folder = tmp_path / "in [1-2]{a,b}?"
    names = ("a[1]", "a1", "b,c", "{b,c}", "b", "d?", "d*", "dd", r"e\f", "ef", "g}h", "[!i]", "i")
    (tmp_path / "in 1a-").mkdir()
    for file_path in (*(folder / name for name in names), tmp_path / "in 1a-" / "other"):
        file_path.parent.mkdir(exist_ok=True)
        file_path.write_text(file_path.name)
    listed = sorted(row.path for row in lake.engine.listed(str(folder)).select("path").collect())
    assert listed == sorted(f"file:{folder}/{name}" for name in names)
    read_rows = lake.engine.contents(listed).select("path", f.col("content").cast("string")).collect()
    assert sorted(tuple(row) for row in read_rows) == [(path, path.removeprefix(f"file:{folder}/")) for path in listed]


def test_a_place_may_be_a_file(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("{}")
    assert [tuple(row) for row in lake.engine.listed(str(path)).select("path", "length").collect()] == [
        (f"file:{path}", 2)
    ]


def test_linked_folders_are_listed_once(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a").write_text("{}")
    (tmp_path / "source" / "in").mkdir(parents=True)
    (tmp_path / "source" / "in" / "b").write_text("{}")
    (tmp_path / "source" / "linked").symlink_to(tmp_path / "elsewhere")
    paths = [row.path for row in lake.engine.listed(str(tmp_path / "source")).select("path").collect()]
    assert sorted(paths) == [f"file:{tmp_path}/source/{name}" for name in ("in/b", "linked/a")]


@pytest.mark.engine("sail")
def test_a_link_to_a_folder_above_ends_the_listing_there(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("{}")
    (tmp_path / "in" / "above").symlink_to(tmp_path)
    assert [row.path for row in lake.engine.listed(str(tmp_path)).select("path").collect()] == [f"file:{tmp_path}/in/a"]


def test_a_missing_table_is_empty(lake: Lake) -> None:
    assert _rows(lake, PLAIN) == []
    assert version_of(lake, PLAIN) == -1
    assert lake.progress("lake") == 0


def test_progress_is_kept(lake: Lake) -> None:
    lake.note("lake", 1)
    lake.note("lake", 2)
    assert lake.progress("lake") == 2


def test_a_lake_records_the_settings_that_it_was_made_with(lake: Lake) -> None:
    other_meanings = Meaning(names=("[[rules]]", "/one/names.toml")), Meaning(quiet=timedelta(minutes=5))
    assert replace(other_meanings[0], names=("[[rules]]", "/another.toml")).number == other_meanings[0].number, (
        "by content"
    )
    assert len({0, MIXED, *(meaning.number for meaning in other_meanings)}) == 4
    note_meaning(lake, Meaning(as_of=datetime.now(UTC)), since=0)
    assert (version_of(lake, PROGRESS), lake.progress(MEANING)) == (-1, 0), "the defaults cost nothing"
    note_meaning(lake, other_meanings[0], since=0)
    assert lake.progress(MEANING) == other_meanings[0].number
    note_meaning(lake, other_meanings[0], since=3)
    assert lake.progress(MEANING) == other_meanings[0].number
    note_meaning(lake, other_meanings[1], since=3)
    note_meaning(lake, other_meanings[0], since=4)
    assert lake.progress(MEANING) == MIXED, "what the others made is still in it"


@pytest.mark.engine("sail")  # Spark cannot change this property of a session that is open
def test_a_session_without_delta_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    extensions = spark.conf.get("spark.sql.extensions")
    spark.conf.unset("spark.sql.extensions")
    try:
        with pytest.raises(LakeError, match="no Delta Lake"):
            Lake.at(spark, str(tmp_path))
    finally:
        spark.conf.set("spark.sql.extensions", str(extensions))


def test_every_column_of_every_table_has_its_meaning() -> None:
    for table in LAKE:
        fields = {field.name: field for field in table.struct().fields}
        assert tuple(fields) == table.names
        assert all(column.comment.strip(" -") and "'" not in column.comment for column in table.columns), table.name
        assert set(table.keys) <= set(table.names)


def test_comments_are_stored(lake: Lake) -> None:
    _put(lake, PLAIN, 1, [("a", "x", "1")])
    schema = lake.session.read.format("delta").load(f"{lake.root}/{PLAIN.place}").schema
    assert schema["outcome"].metadata.get("comment") == "What it says"
