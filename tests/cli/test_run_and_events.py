"""`throughline run` and `throughline events`: what became of a run, and its events in a file."""

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.events.archiver import ArchiveOptions, archive
from shared.storage_layout import ARCHIVE
from tests.support.cli import Parts
from tests.support.events import event, run_id
from tests.support.processing import post, settle
from tests.support.publishing import publish

NIGHTLY: dict[str, Any] = {"application": "app", "job": "app.nightly"}
HOURLY: dict[str, Any] = {"application": "app", "job": "app.hourly"}


@pytest.fixture
def parts() -> Parts:
    """A run that was published, one that failed, and one without an end."""
    found = Parts()
    bodies = [
        event("good", "START", "2026-11-21T09:59:00", outputs=["/o"], inputs=["/a"], **NIGHTLY),
        event("good", "COMPLETE", "2026-11-21T10:00:00", outputs=["/o"], inputs=["/a"], **NIGHTLY),
        event("bad", "FAIL", "2026-11-21T11:00:00", outputs=["/p"], inputs=["/a"], **HOURLY),
        event("open", "START", "2026-11-21T12:00:00", outputs=["/q"], inputs=["/a"], **HOURLY),
    ]
    for place in post(found.storage, *bodies):
        settle(found.storage, place)
    publish(found.storage, found.catalog, found.worker.publishing)
    return found


def test_a_published_run_shows_its_events_and_processes(parts: Parts) -> None:
    said = parts.run("run", run_id("good").upper()).output
    for words in ("app.nightly", "COMPLETE", "2 events", "1 process", "published", run_id("good")):
        assert words in said, said
    found = json.loads(parts.run("run", run_id("good"), "--json").stdout)
    assert [each["type"] for each in found["events"]] == ["START", "COMPLETE"]
    assert [each["state"] for each in found["processes"]] == ["published"]
    assert found["next"] == []


def test_a_failed_run_says_why_it_is_skipped(parts: Parts) -> None:
    said = parts.run("run", run_id("bad")).output
    assert "skipped: the run failed" in said
    assert "Next: nothing to do" in said


def test_a_run_without_an_end_waits_for_it(parts: Parts) -> None:
    said = parts.run("run", run_id("open"))
    assert (said.exit_code, "none seen yet" in said.output, "RUN_TIMEOUT" in said.output) == (0, True, True)


def test_a_run_that_does_not_exist_is_an_error_that_suggests_the_nearest(parts: Parts) -> None:
    wrong = run_id("good")[:-1] + ("0" if run_id("good")[-1] != "0" else "1")
    for command in (["run", wrong], ["events", "--run", wrong], ["replay", "--run", wrong]):
        said = parts.run(*command)
        assert (said.exit_code, f"Did you mean {run_id('good')}?" in said.output) == (1, True), said.output
    assert parts.run("run", "mine").exit_code == 2


def test_events_by_job_and_time(parts: Parts) -> None:
    said = parts.run("events", "--job", "app.h*")
    assert (said.exit_code, "2 events of 2 runs" in said.output) == (0, True), said.output
    later = json.loads(parts.run("events", "--job", "app.h*", "--from", "2026-11-21T11:30", "--json").stdout)
    assert [(each["type"], each["job"]) for each in later["events"]] == [("START", "app.hourly")]
    some = parts.run("events", "--most", "1").output
    assert "4 events of 3 runs; 3 not shown (--most)" in some


def test_a_job_that_does_not_exist_is_an_error_that_suggests_the_nearest(parts: Parts) -> None:
    for command in ("events", "replay"):
        said = parts.run(command, "--job", "app.nihgtly")
        assert (said.exit_code, "Did you mean app.nightly" in said.output) == (1, True), said.output


@pytest.mark.parametrize("name", ["saved.jsonl", "saved.jsonl.gz"])
def test_saved_events_can_be_translated(parts: Parts, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    said = parts.run("events", "--job", "app.nightly", "--save", str(path))
    assert (said.exit_code, "2 events saved" in said.output) == (0, True), said.output
    lines = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).splitlines()
    assert [json.loads(line)["eventType"] for line in lines] == ["START", "COMPLETE"]
    found = json.loads(parts.run("translate", str(path), "--json").stdout)
    assert len(found["processes"]) == 1


def test_a_file_that_cannot_be_written_is_one_sentence(parts: Parts, tmp_path: Path) -> None:
    said = parts.run("events", "--save", str(tmp_path / "nowhere" / "x.jsonl"))
    assert (said.exit_code, "can't be written" in said.output) == (2, True)


def test_reasons_stand_below_each_job(parts: Parts) -> None:
    lines = parts.run("status", "--by", "job").output.splitlines()
    place = next(index for index, line in enumerate(lines) if line.startswith("app.hourly"))
    assert sorted(line.strip() for line in lines[place + 1 : place + 3]) == [
        "1 the end of its run",
        "1 the run failed",
    ]


def test_a_missing_file_of_the_archive_is_one_sentence(parts: Parts, tmp_path: Path) -> None:
    archive(parts.storage, ArchiveOptions(after=timedelta(seconds=-1)))
    for fact in list(parts.storage.blobs(ARCHIVE)):
        parts.storage.delete_blob(ARCHIVE, fact.name)
    found = parts.run("events", "--run", run_id("good"), "--save", str(tmp_path / "events.jsonl"))
    assert found.exit_code == 1
    assert "archive" in found.output
    assert "Traceback" not in found.output
