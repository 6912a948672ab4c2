"""What bronze knows of events and lines that were read more than once."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from shared.storage_layout import digest_of
from tests.lake.files import OF_SPARK
from throughline.lake.bronze.decoded_events import contents
from throughline.lake.bronze.ingestion import ingest
from throughline.lake.engine.session import prepare
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import EVENTS, QUARANTINE

pytestmark = [*OF_SPARK, pytest.mark.on_sail]

ARRIVED = "2026-02-01T00:00:00Z"
CLOSED = "2026-01-02T00:00:00Z"
LATE: dict[str, Any] = {"closed": CLOSED, "ignored": None}
IGNORED: dict[str, Any] = {"closed": None, "ignored": "its job is not included"}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(session=prepare(spark), root=str(tmp_path / "lake"))


def _event(job: str) -> bytes:
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "run": {"runId": "0190a8f0-0000-7000-8000-000000000001"},
        "job": {"namespace": "n", "name": job},
        "inputs": [{"namespace": "file", "name": "/data/a"}],
        "outputs": [{"namespace": "file", "name": "/data/b"}],
    }
    return json.dumps(event).encode()


def _archived(folder: Path, job: str, archive_fields: dict[str, Any]) -> None:
    """The event as a line of the archive."""
    folder.mkdir(exist_ok=True)
    line = {"digest": digest_of(_event(job)), "arrived": ARRIVED, "event": _event(job).decode(), **archive_fields}
    (folder / f"{job}.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))


def _received(folder: Path, job: str) -> None:
    """The event as the receiver stores it."""
    folder.mkdir(exist_ok=True)
    (folder / f"{job}.json.gz").write_bytes(gzip.compress(_event(job)))


def test_the_archive_says_whether_an_event_was_late_and_one_that_was_ever_accepted_is_not_ignored(
    lake: Lake, tmp_path: Path
) -> None:
    steps = [tmp_path / "first", tmp_path / "second"]
    for name, archive_fields in {"late": LATE, "ignored": IGNORED}.items():
        _archived(steps[0], f"{name}, together", archive_fields)
        _received(steps[0], f"{name}, together")
        _archived(steps[0], f"{name}, archive first", archive_fields)
        _received(steps[1], f"{name}, archive first")
        _received(steps[0], f"{name}, archive last")
        _archived(steps[1], f"{name}, archive last", archive_fields)
        _archived(steps[0], f"{name}, alone", archive_fields)
    for number, folder in enumerate(steps):
        ingest(lake, [str(folder)], batch=number + 1)
    rows = lake.read(EVENTS)
    assert {row["job"]: row["ignored"] or row["late"] for row in rows.collect()} == {
        "late, together": True,
        "late, archive first": True,
        "late, archive last": True,
        "late, alone": True,
        "ignored, together": False,
        "ignored, archive first": False,
        "ignored, archive last": False,
        "ignored, alone": IGNORED["ignored"],
    }
    counted = contents(rows.where("ignored is null and not late"))
    assert {row["job"]: row["content"] is not None for row in counted.collect()} == {
        f"ignored, {order}": True for order in ("together", "archive first", "archive last")
    }


def test_a_line_that_can_be_read_when_its_file_is_read_again_leaves_the_quarantine(lake: Lake, tmp_path: Path) -> None:
    growing, other = tmp_path / "in" / "growing.jsonl", tmp_path / "in" / "other.jsonl"
    growing.parent.mkdir()
    growing.write_bytes(_event("a") + b"\n<html>\n" + _event("b")[:-20])
    other.write_bytes(b"<html>\n")
    assert ingest(lake, [str(growing.parent)], batch=1) == {"files": 2, "events": 1, "quarantined": 3}
    growing.write_bytes(_event("a") + b"\n<html>\n" + _event("b") + b"\n")
    assert ingest(lake, [str(growing.parent)], batch=2) == {"files": 1, "events": 1, "quarantined": 1}
    assert sorted((row["path"], row["line"], row["batch"]) for row in lake.read(QUARANTINE).collect()) == [
        (f"file:{growing}", 2, 1),
        (f"file:{other}", 1, 1),
    ]
