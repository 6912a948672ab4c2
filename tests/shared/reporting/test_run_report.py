"""One run's report agrees with the counts of all, with reasons; stored events are found wherever they lie."""

import gzip
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from shared.events.archive import ArchiveMissing
from shared.events.stored_runs import RunFilter
from shared.reading.reader import wanted_events
from shared.records.publish_queue import QueueEntry
from shared.records.states import State
from shared.reporting.run_report import FORGOTTEN, HELD, NOT_PROCESSED, REPLACED, RunReport, run_report
from shared.reporting.status import By, status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, ARCHIVE, EVENTS
from tests.support.damages import consistent_world
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import Watched, post
from tests.support.refusing_catalog import RefusingByName, refusal
from tests.support.runtime import Runtime


def report(storage: MemoryStorage, run: str) -> RunReport:
    found_report = run_report(storage, run_id(run))
    assert found_report is not None
    return found_report


def states(storage: MemoryStorage) -> Counter[str]:
    runs = {record.event.run_id for record in wanted_events(storage, RunFilter())}
    reports = [found_report for run in runs if (found_report := run_report(storage, run))]
    return Counter(event_report.state for found_report in reports for event_report in found_report.events)


def test_the_reports_of_all_runs_add_up_to_the_counts() -> None:
    storage = MemoryStorage()
    consistent_world(storage, MemoryCatalog())
    post(storage, event("open", "START", "15:00:00", inputs=["/a"], outputs=["/p"], application="app9"))
    counts = status(storage)
    assert states(storage) == {
        "published": counts.published,
        "skipped": counts.skipped,
        "waiting": counts.waiting,
        "dead": counts.dead,
    }
    assert min(states(storage).values()) > 0


def test_the_report_of_a_published_run_has_its_process_and_the_blobs_of_its_events() -> None:
    storage = MemoryStorage()
    consistent_world(storage, MemoryCatalog())
    found_report = report(storage, "a")
    (process,) = found_report.processes
    assert (process.state, process.reason) == ("published", "")
    assert process.qualified_name
    assert (found_report.end, found_report.application, found_report.jobs) == (
        "COMPLETE",
        run_id("app1"),
        ("app.adaptive_spark_plan.out",),
    )
    assert {(event_report.event.container, event_report.state) for event_report in found_report.events} == {
        (EVENTS, "published")
    }
    assert all(storage.get(EVENTS, event_report.event.blob) for event_report in found_report.events)


def test_the_report_of_a_run_with_a_dropped_output_gives_the_reason() -> None:
    storage = MemoryStorage()
    consistent_world(storage, MemoryCatalog())
    found_report = report(storage, "c")
    assert ("not in the catalog", REPLACED) in {(process.state, process.reason) for process in found_report.processes}
    assert len(found_report.events) == 2


def test_the_report_shows_a_dead_letter_with_its_error() -> None:
    storage = MemoryStorage()
    consistent_world(storage, MemoryCatalog())
    found_report = report(storage, "damaged")
    dead = [event_report for event_report in found_report.events if event_report.state == "dead"]
    assert [event_report.reason for event_report in dead] == ["damaged bytes"]
    assert "BadGzipFile" in dead[0].error


def test_the_report_of_a_run_without_an_end_says_that_it_waits_for_the_end() -> None:
    storage = MemoryStorage()
    post(storage, event("open", "START", "15:00:00", inputs=["/a"], outputs=["/p"], application="app9"))
    found_report = report(storage, "open")
    assert (
        found_report.state,
        [(event_report.state, event_report.reason) for event_report in found_report.events],
    ) == (
        State.WAITING,
        [("waiting", "the end of the run")],
    )
    assert run_report(storage, run_id("another")) is None


def test_the_report_of_a_failing_run_has_the_number_of_failures_and_the_error() -> None:
    runtime = Runtime()
    runtime.receive(*write("bad", "app", "10:00", "/a"))
    failing = Watched(runtime.storage)

    def step_in(name: str, arguments: tuple[object, ...]) -> None:
        if name == "transact" and arguments[0] == APPLICATIONS:
            raise ValueError("no such thing")

    failing.step_in = step_in
    Runtime(storage=failing).sweep()
    found_report = report(runtime.storage, "bad")
    assert (found_report.state, found_report.failures) == (NOT_PROCESSED, 1)
    assert "no such thing" in found_report.last_error


def test_the_report_gives_the_queue_and_shadow_mode_as_reasons() -> None:
    runtime = Runtime()
    runtime.post(*write("a", "app", "10:00", "/a"))
    assert [process.state for process in report(runtime.storage, "a").processes] == ["pending"]
    runtime.publish(shadow=True)
    assert [process.state for process in report(runtime.storage, "a").processes] == [HELD]
    assert {event.reason for event in report(runtime.storage, "a").events} == {"the end of shadow mode"}


def test_archived_events_are_found_with_their_content_job_and_state() -> None:
    runtime = Runtime()
    bodies = list(write("a", "app", "10:00", "/a"))
    runtime.run(*bodies)
    contents_before = {record.event: record.raw for record in wanted_events(runtime.storage, RunFilter(), content=True)}
    runtime.archive()
    event_records_after = [*wanted_events(runtime.storage, RunFilter(job="app.adaptive*"), content=True)]
    assert {record.container for record in event_records_after} == {ARCHIVE}
    assert {record.event: record.raw for record in event_records_after} == contents_before
    assert {record.raw for record in event_records_after} == set(bodies)
    assert all(runtime.storage.get(ARCHIVE, record.blob) for record in event_records_after)
    found_report = report(runtime.storage, "a")
    assert found_report.closed
    assert {event.state for event in found_report.events} == {"published"}


def test_the_report_of_a_forgotten_run_says_so() -> None:
    runtime = Runtime()
    runtime.run(*write("a", "app", "10:00", "/a"))
    runtime.archive(keep_runs=timedelta(days=1))
    runtime.sweep(timedelta(days=2))
    found_report = report(runtime.storage, "a")
    assert (found_report.state, found_report.processes, len(found_report.events)) == (FORGOTTEN, (), 2)


WRITTEN = event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/b"], application="app")
OTHER_BYTES: dict[str, bytes] = {
    "NaN": WRITTEN[:-1] + b', "statistic": NaN}',
    "half of a surrogate pair": WRITTEN.replace(b"adaptive_spark_plan", rb"adaptive\ud83d"),
    "a byte order mark": b"\xef\xbb\xbf" + WRITTEN,
    "a name with a line break": WRITTEN.replace(b"adaptive_spark_plan", rb"adaptive\r\nplan"),
}


@pytest.mark.parametrize("body", OTHER_BYTES.values(), ids=OTHER_BYTES)
def test_an_event_is_found_by_its_job_before_and_after_it_is_archived(body: bytes) -> None:
    runtime = Runtime()
    assert b"adaptive" in body
    runtime.run(body)
    (event_record_before,) = wanted_events(runtime.storage, RunFilter())
    runtime.archive()
    (event_record_after,) = wanted_events(runtime.storage, RunFilter(job=event_record_before.job))
    assert (event_record_after.container, event_record_after.job, event_record_after.event) == (
        ARCHIVE,
        event_record_before.job,
        event_record_before.event,
    )
    assert event_record_after.job.isprintable()


@pytest.mark.parametrize("damage", [lambda file: file[:40] + b"x" + file[41:], lambda file: file[: len(file) // 2]])
def test_a_damaged_archive_file_is_named(damage: Callable[[bytes], bytes]) -> None:
    """Earlier, the search for its events ended with `zlib.error`."""
    runtime = Runtime()
    storage = runtime.storage
    runtime.run(*write("a", "app", "10:00", "/a"))
    runtime.archive()
    (name,) = {record.blob for record in wanted_events(runtime.storage, RunFilter())}
    file = storage.get(ARCHIVE, name) or b""
    storage.delete_blob(ARCHIVE, name)
    storage.put_new(ARCHIVE, name, damage(file))
    with pytest.raises(ArchiveMissing, match=f"{ARCHIVE}/{name} is damaged .*restore it"):
        list(wanted_events(runtime.storage, RunFilter(), content=True))


def test_events_are_found_by_a_glob_of_the_job() -> None:
    runtime = Runtime()
    runtime.post(*write("a", "app", "10:00", "/a"), event("b", "START", "11:00:00", application="app", job="app.other"))
    assert [record.job for record in wanted_events(runtime.storage, RunFilter(job="app.o*"))] == ["app.other"]
    assert [*wanted_events(runtime.storage, RunFilter(job="nothing*"))] == []
    (record,) = wanted_events(runtime.storage, RunFilter(job="app.o*"))
    assert record.raw is None
    content = next(iter(wanted_events(runtime.storage, RunFilter(job="app.o*"), content=True))).raw
    assert gzip.decompress(runtime.storage.get(EVENTS, record.blob) or b"") == content


def test_each_group_has_the_reasons_of_its_events() -> None:
    storage = MemoryStorage()
    consistent_world(storage, MemoryCatalog())
    post(storage, event("open", "START", "15:00:00", inputs=["/a"], outputs=["/p"], application="app9", job="app.open"))
    groups = {group.job: group for group in status(storage, by=(By.JOB,)).groups}
    assert groups["app.open"].reasons == {"the end of the run": 1}
    assert all(sum(group.reasons.values()) == group.skipped + group.waiting for group in groups.values())


def test_the_queue_shows_that_the_catalog_refused_a_process() -> None:
    """Earlier, the message named another publisher as the cause."""
    catalog = RefusingByName(refusal)
    runtime = Runtime(catalog=catalog)
    runtime.post(*write("a", "app", "10:00", "/a"), *write("b", "app", "10:00", "/b", sink="/bad"))
    assert [process.state for run in "ab" for process in report(runtime.storage, run).processes] == ["pending"] * 2
    catalog.ends = ("/bad",)
    runtime.publish()
    (process,) = report(runtime.storage, "b").processes
    assert process.state == "refused"
    assert "ATLAS-400-00-01A" in process.reason
    counts = status(runtime.storage)
    assert (counts.processes, counts.publish_queue) == (1, 1)
    (error,) = counts.last_errors
    assert error.startswith("catalog refuses throughline:v1://")
    assert "ATLAS-400-00-01A" in error


NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        (QueueEntry(target="p", due=NOON), "pending"),
        (QueueEntry(target="p", due=NOON + timedelta(seconds=1)), "publishing"),
        (QueueEntry(target="p", due=NOON, attempts=1, error="500"), "retrying"),
        (QueueEntry(target="p", due=NOON, attempts=1, error="400", isolated=True), "refused"),
        (QueueEntry(target="p", due=NOON, revisit=True), "revisit"),
    ],
)
def test_a_queued_process_has_a_state(entry: QueueEntry, state: str) -> None:
    assert entry.state(NOON) == state
