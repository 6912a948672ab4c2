"""How completely the catalog documents the current lineage, over tables of a lake."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from shared.completeness import CatalogDocumentation, Part
from tests.lake.files import OF_SPARK
from tests.support.building import START
from throughline.lake.engine.session import prepare
from throughline.lake.gold.completeness import linked_datasets, most_gain, trend, write_completeness
from throughline.lake.tables.declaration import Table
from throughline.lake.tables.lake import Lake, LakeError
from throughline.lake.tables.schemas import COMPLETENESS, CONTRIBUTIONS, COVERAGE, CURRENT, TAGS

pytestmark = [*OF_SPARK, pytest.mark.engine("sail")]  # these few rows take Spark a minute

FULL = CatalogDocumentation(described=True, owned=True, tagged=True, columns=2, described_columns=2)


def _asset(name: str) -> tuple[str, str]:
    return "fs_path", f"file:///{name}"


def _store(lake: Lake, table: Table, *rows: dict[str, Any]) -> None:
    """Write these rows; their missing cells are null."""
    values = [tuple(row.get(name) for name in table.names) for row in rows]
    lake.put(table, lake.session.createDataFrame(values, table.struct()), batch=1)


def _made(output: str, last: datetime) -> dict[str, Any]:
    return {"process": output, "digest": "d", "application_run": "a", "last": last, "outputs": [_asset(output)]}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """`/in` is read by two processes, which write `/b` and `/c`; a tag is on `/c`; `/b` has a column without source."""
    lake = Lake(session=prepare(spark), root=str(tmp_path))
    processes = [{"process": name, "inputs": [_asset("in")], "outputs": [_asset(name)]} for name in ("b", "c")]
    _store(lake, CURRENT, *processes)
    _store(lake, CONTRIBUTIONS, _made("b", START), _made("c", START + timedelta(hours=1)))
    _store(lake, COVERAGE, {"level": "asset", "name": "file:///b", "columns": 4, "traced": 3})
    _store(lake, TAGS, {"qualified_name": "file:///c", "column": "id", "tag": "PII"})
    return lake


def _rows(lake: Lake) -> dict[str, Any]:
    return {row["qualified_name"].removeprefix("file:///"): row for row in lake.read(COMPLETENESS).collect()}


def test_each_data_set_and_all_have_a_score_and_the_trend_grows(lake: Lake) -> None:
    datasets = linked_datasets(lake)
    assert [(dataset.qualified_name, dataset.readers, dataset.written) for dataset in datasets] == [
        ("file:///b", 0, START),
        ("file:///c", 0, START + timedelta(hours=1)),
        ("file:///in", 2, None),
    ]

    moment = START + timedelta(hours=24, minutes=30)
    write_completeness(lake, datasets, {_asset("b"): FULL}, measured_at=moment)
    rows = _rows(lake)
    assert {name: (row["score"], row["held"]) for name, row in rows.items()} == {
        "b": (pytest.approx(1), True),
        "c": (pytest.approx(0.1), False),
        "in": (0, False),
    }
    assert {name: (row["fresh"], row["traced"]) for name, row in rows.items()} == {
        "b": (False, 0.75),
        "c": (True, None),
        "in": (None, None),
    }
    assert (rows["in"]["lacks"], rows["b"]["lacks"]) == ([str(part) for part in Part], [])
    (total_row,) = trend(lake)
    assert (total_row["at"], total_row["score"]) == (moment, pytest.approx(1.1 / 3))
    assert (total_row["assets"], total_row["held"], total_row["tagged"], total_row["with_columns"]) == (3, 1, 2, 1)
    assert (total_row["fresh"], total_row["traced"], total_row["columns"], total_row["described_columns"]) == (
        0.5,
        0.75,
        2,
        2,
    )
    assert [row["qualified_name"] for row in most_gain(lake)] == ["file:///in", "file:///c"]

    later_moment = moment + timedelta(days=1)
    write_completeness(lake, datasets[::2], {}, measured_at=later_moment)
    assert _rows(lake).keys() == {"b", "in"}
    assert [(row["at"], row["assets"]) for row in trend(lake)] == [(moment, 3), (later_moment, 2)]
    assert [row["at"] for row in trend(lake, limit=1)] == [later_moment]
    assert [row["qualified_name"] for row in most_gain(lake)] == ["file:///in", "file:///b"]


def test_without_a_lake_the_message_names_the_command_that_makes_one(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="throughline lake run"):
        linked_datasets(Lake(session=prepare(spark), root=str(tmp_path)))
