"""Streams on the runtime: the first RUNNING event publishes, further ones of a minute cost one fold."""

import sys
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from shared.applications.partition import read_whole
from shared.applications.processor import ApplicationProcessor
from shared.applications.recompute import recomputed
from shared.applications.state import RunRecord
from shared.events.stored_runs import runs_below
from shared.maintenance.replay import replay_application
from shared.openlineage.decoding import Event, decode
from shared.reading.reader import locate_run
from shared.reporting.status import status
from shared.storage.memory import ScratchStorage
from shared.storage_layout import APPLICATIONS, ARCHIVE, EVENTS, StoredEvent
from shared.translation.reference import translate_history
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.events import run_id
from tests.support.runtime import Runtime

STREAM = {"jobType": {"integration": "FLINK", "jobType": "JOB", "processingType": "STREAMING"}}


def stream(event_type: str, minute: float, *inputs: str, run: str = "stream") -> bytes:
    """An event of a stream that copies `x` of these inputs; without data sets if there are none."""
    fields = {"x": [source(name, "x", IDENTITY) for name in inputs]}
    outputs = [dataset("/sink", columnLineage=lineage(fields))] if inputs else []
    return packed(
        body(
            event_type,
            minute=minute,
            run=run,
            application=None,
            app_name="orders-to-lake",
            job_facets=STREAM,
            inputs=inputs,
            outputs=outputs,
        )
    )


def inputs_in(runtime: Runtime) -> list[str]:
    (process,) = runtime.catalog.processes.values()
    return [key[1] for key in process.inputs]


def test_a_stream_is_published_with_its_first_running_event() -> None:
    runtime = Runtime()
    runtime.run(stream("START", 0, "/a"))
    assert not runtime.catalog.processes
    runtime.run(stream("RUNNING", 1, "/a"))
    assert inputs_in(runtime) == ["file:///a"]
    assert status(runtime.storage).reconciles


def test_a_checkpoint_that_does_not_say_of_what_kind_its_job_is_publishes_too() -> None:
    """As Flink's listener sends them."""
    runtime = Runtime()
    engine = {"processing_engine": {"name": "flink", "version": "1.20.0"}}
    checkpoint = packed(
        body("RUNNING", minute=1, run="stream", application=None, app_name="job", job_facets={}, run_facets=engine)
    )
    runtime.run(stream("START", 0, "/a"), checkpoint)
    assert inputs_in(runtime) == ["file:///a"]


def test_later_events_of_a_stream_are_folded_by_the_next_sweep_together() -> None:
    runtime = Runtime()
    runtime.run(stream("START", 0, "/a"), stream("RUNNING", 1, "/a"))
    version = read_whole(runtime.storage, run_id("stream")).state.version
    runtime.run(*(stream("RUNNING", minute) for minute in range(2, 9)), stream("RUNNING", 10, "/b"))
    assert read_whole(runtime.storage, run_id("stream")).state.version == version
    runtime.sweep()
    assert read_whole(runtime.storage, run_id("stream")).state.version == version + 1
    runtime.publish()
    assert inputs_in(runtime) == ["file:///a", "file:///b"]


def test_a_running_event_that_no_trigger_delivered_is_found() -> None:
    runtime = Runtime()
    runtime.receive(stream("START", 0, "/a"), stream("RUNNING", 1, "/a"))
    runtime.sweep(timedelta(minutes=20))
    runtime.publish()
    assert inputs_in(runtime) == ["file:///a"]


@pytest.mark.parametrize("end", ["ABORT", "FAIL", "COMPLETE"])
def test_a_stream_that_is_over_keeps_what_it_did(end: str) -> None:
    runtime = Runtime()
    runtime.run(stream("RUNNING", 1, "/a"))
    runtime.run(stream(end, 2))
    assert inputs_in(runtime) == ["file:///a"]
    record = read_whole(runtime.storage, run_id("stream")).records[run_id("stream")]
    assert (record.ended, record.is_running) == (end, False)


def test_a_stream_that_runs_is_not_closed_and_one_that_has_ended_is() -> None:
    runtime = Runtime()
    runtime.run(stream("RUNNING", 1, "/a"))
    runtime.archive()
    assert list(runtime.storage.blobs(EVENTS))
    runtime.run(stream("ABORT", 2))
    runtime.archive()
    assert not list(runtime.storage.blobs(EVENTS))


def test_a_stream_that_lives_for_months_and_is_restarted_ends_as_the_pure_core_says() -> None:
    runtime = Runtime()
    bodies: list[bytes] = [stream("START", 0, "/a")]
    days: Any = range(1, 90)
    bodies += [stream("RUNNING", 1440 * day, *(("/a",) if day % 30 == 1 else ())) for day in days]
    bodies += [stream("FAIL", 1440 * 90), stream("START", 1440 * 91, "/b", run="restarted")]
    bodies += [stream("RUNNING", 1440 * 91 + 1, "/b", run="restarted")]
    for number, event in enumerate(bodies):
        runtime.run(event)
        if number % 10 == 0:
            runtime.sweep(timedelta(hours=4))
            runtime.publish()
    runtime.sweep()
    runtime.publish()
    (process,) = translate_history(map(decode, bodies)).processes
    assert inputs_in(runtime) == [asset.qualified_name for asset in process.inputs]


LONG_STREAM = [stream("START", 0, "/a"), *(stream("RUNNING", minute, "/a", "/b") for minute in range(1, 30))]
"""More events than are read again for each fold."""


def archived_stream(**options: Any) -> Runtime:
    """A stream that runs, and whose first thirty events are in the archive."""
    runtime = Runtime()
    runtime.run(*LONG_STREAM)
    runtime.sweep()
    runtime.publish()
    runtime.archive(**options)
    return runtime


def record_in(runtime: Runtime) -> RunRecord:
    return read_whole(runtime.storage, run_id("stream")).records[run_id("stream")]


def test_the_older_events_of_a_stream_are_archived_while_it_runs() -> None:
    runtime = archived_stream()
    assert not list(runtime.storage.blobs(EVENTS))
    record = record_in(runtime)
    assert (record.events, len(record.archived), record.is_running) == ((), len(LONG_STREAM), True)
    runtime.run(stream("RUNNING", 100, "/c"))
    runtime.sweep()
    runtime.publish()
    assert inputs_in(runtime) == ["file:///a", "file:///b", "file:///c"]
    counts = status(runtime.storage)
    assert (counts.received, counts.published, counts.reconciles) == (31, 31, True)


def test_the_record_of_a_stream_refers_to_a_bounded_number_of_archived_events() -> None:
    runtime = archived_stream(max_references=5)
    record = record_in(runtime)
    assert len(record.archived) == 5
    assert record.earlier
    assert record.earlier.number == len(LONG_STREAM) - 5
    located = locate_run(runtime.storage, run_id("stream"))
    assert located
    assert len(located.events) == len(LONG_STREAM), "the archive has the others"


def test_an_archived_event_of_a_stream_that_comes_again_changes_nothing_and_counts_once() -> None:
    runtime = archived_stream(max_references=5)
    runtime.run(LONG_STREAM[3])
    runtime.sweep(timedelta(days=2))
    runtime.publish()
    runtime.archive(max_references=5)
    assert inputs_in(runtime) == ["file:///a", "file:///b"]
    assert status(runtime.storage).received == len(LONG_STREAM)
    assert not list(runtime.storage.blobs(EVENTS))


def test_a_stream_that_ends_after_its_events_were_archived_keeps_what_it_did_and_is_closed() -> None:
    runtime = archived_stream(max_references=5)
    runtime.run(stream("FAIL", 200))
    runtime.archive(max_references=5)
    assert inputs_in(runtime) == ["file:///a", "file:///b"]
    assert record_in(runtime).closed
    assert status(runtime.storage).published == len(LONG_STREAM) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting(ApplicationProcessor):
    """Notes with each event that it decodes how many of the decoded ones are still in memory."""

    decoded: list[Event] = field(default_factory=list)
    alive: list[int] = field(default_factory=list)

    def event(self, event: StoredEvent, payload: bytes | None = None) -> Event | None:
        decoded_event = ApplicationProcessor.event(self, event, payload)
        assert decoded_event
        self.decoded.append(decoded_event)
        references = [sys.getrefcount(self.decoded[number]) for number in range(len(self.decoded))]
        self.alive.append(sum(number > 2 for number in references))  # this list has one, and the call
        return decoded_event


@pytest.mark.parametrize(("max_events", "most"), [(10, 10), (1000, len(LONG_STREAM))])
def test_a_stream_is_computed_again_with_some_of_its_events_in_memory(max_events: int, most: int) -> None:
    """As many as are folded at a time; the record has the first and the last of each content besides."""
    runtime = archived_stream(max_references=5)
    processor = Counting(storage=runtime.storage)
    outcome = recomputed(processor, run_id("stream"), max_events=max_events)
    assert (outcome.differs, outcome.kept) == (False, frozenset())
    assert (len(processor.alive), max(processor.alive)) == (len(LONG_STREAM), most)


class ReadParts(ScratchStorage):
    """Counts the reads of parts of the archive."""

    number = 0

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        self.number += 1
        return super().get_part(container, name, offset, length)


def test_events_of_one_hour_are_read_from_the_archive_at_once() -> None:
    runtime = archived_stream(max_references=5)
    storage = ReadParts(runtime.storage)
    for row in runtime.storage.scan(APPLICATIONS):
        storage.insert(APPLICATIONS, row)
    assert not recomputed(ApplicationProcessor(storage=storage), run_id("stream")).differs
    assert storage.number == 1, f"of {len(LONG_STREAM)} events"


@pytest.mark.parametrize("max_events", [1, 3, 9])
def test_a_stream_is_computed_again_in_parts_of_any_size(max_events: int) -> None:
    runtime = archived_stream(max_references=5)
    runtime.run(stream("RUNNING", 100, "/c"), stream("FAIL", 50, "/d"))
    in_parts, at_once = (recomputed(runtime.processor, run_id("stream"), max_events=most) for most in (max_events, 999))
    assert (in_parts.differs, in_parts.state, in_parts.records) == (False, at_once.state, at_once.records)


def test_a_stream_of_which_a_late_part_was_deleted_stays_as_it_is_on_record() -> None:
    runtime = archived_stream(max_references=5)
    runtime.run(stream("RUNNING", 100, "/c"))
    runtime.sweep()
    (last_fact,) = runtime.storage.blobs(EVENTS)
    runtime.storage.delete_blob(EVENTS, last_fact.name)
    processor = ApplicationProcessor(storage=runtime.storage)
    outcomes = [recomputed(processor, run_id("stream"), max_events=number) for number in (4, 1000)]
    assert [(outcome.kept, outcome.differs) for outcome in outcomes] == [(frozenset({run_id("stream")}), False)] * 2
    assert outcomes[0].state == outcomes[1].state


def test_a_stream_of_which_archived_events_were_deleted_stays_as_it_is_on_record() -> None:
    runtime = archived_stream(max_references=5)
    runtime.run(stream("RUNNING", 1440, "/c"))
    runtime.sweep()
    for fact in list(runtime.storage.blobs(ARCHIVE)):
        runtime.storage.delete_blob(ARCHIVE, fact.name)
    outcome = recomputed(runtime.processor, run_id("stream"))
    assert (outcome.kept, outcome.differs) == (frozenset({run_id("stream")}), False)


def test_a_stream_is_computed_again_from_the_archive() -> None:
    runtime = archived_stream(max_references=5)
    runtime.run(stream("RUNNING", 100, "/c"))
    runtime.sweep()
    assert not recomputed(runtime.processor, run_id("stream")).differs
    open_application_before = read_whole(runtime.storage, run_id("stream"))
    for row in list(runtime.storage.partition(APPLICATIONS, run_id("stream"))):
        runtime.storage.delete(APPLICATIONS, row.partition, row.key)
    runs = list(runs_below(runtime.storage, ""))
    replay_application(runtime.processor, run_id("stream"), runs, with_archive=True)
    open_application_after = read_whole(runtime.storage, run_id("stream"))
    assert open_application_after.state.contents == open_application_before.state.contents
    assert open_application_after.records[run_id("stream")].is_running
