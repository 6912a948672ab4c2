"""Small files put together: the same rows in fewer files, and nothing written where there is nothing to do."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lake.files import OF_SPARK, version_of
from throughline.lake.tables.compaction import CompactedTable, compact
from throughline.lake.tables.lake import Lake, LakeError
from throughline.lake.tables.schemas import FILES

pytestmark = OF_SPARK


def _grown(spark: SparkSession, root: Path) -> Lake:
    lake = Lake(session=spark, root=str(root))
    for number in range(4):
        rows = spark.range(number, number + 1).selectExpr(
            "concat('f', id) path", "id length", "timestamp'2026-03-01 12:00:00' modified"
        )
        lake.put(FILES, rows, batch=number + 1)
    return lake


def _rows(lake: Lake) -> list[str]:
    return sorted(repr(row) for row in lake.read(FILES).collect())


@pytest.mark.engine("spark")
def test_many_files_become_one(spark: SparkSession, tmp_path: Path) -> None:
    lake = _grown(spark, tmp_path)
    reports: list[CompactedTable] = []
    rows_before = _rows(lake)
    assert compact(lake, note=reports.append) == tuple(reports) == (CompactedTable(table="files", files=4, now=1),)
    assert _rows(lake) == rows_before
    assert len(lake.read(FILES).inputFiles()) == 1
    version = version_of(lake, FILES)
    assert compact(lake) == (CompactedTable(table="files", files=0, now=0),)
    assert version_of(lake, FILES) == version


@pytest.mark.engine("sail")
def test_an_engine_without_compaction_names_one_that_has_it(spark: SparkSession, tmp_path: Path) -> None:
    lake = _grown(spark, tmp_path)
    rows_before = _rows(lake)
    with pytest.raises(LakeError, match="use Spark"):
        compact(lake)
    assert _rows(lake) == rows_before
