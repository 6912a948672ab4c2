"""The archive: which events move there and when, the processing of closed runs, and no event lost or counted twice."""

import gzip
import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.catalog.memory import MemoryCatalog
from shared.events.archive_format import Line, job_in, lines_of, member_of, members_of, with_content
from shared.events.archive_index import archived_of, stored_packed
from shared.events.archiver import archive
from shared.events.dead_letters import dead_letters, discard
from shared.events.stored_runs import RunFilter
from shared.maintenance.replay import ReplayedRun, ReplayOutcome, ReplayPosition, replay, replay_dead_letters
from shared.processing.processor import RunProcessor
from shared.processing.sweeper import SweepOptions, SweepResult, sweep
from shared.processing.triggers import Replayed
from shared.storage.memory import MemoryStorage
from shared.storage_layout import ARCHIVE, EVENTS, IGNORED, digest_of
from tests.support.archiving import AT_ONCE, PUBLISHING, archived_lines, archiving, counts, names, post_and_settle
from tests.support.dead_letters import replace_blob
from tests.support.events import event, run_id, write
from tests.support.processing import post, settle, state_of, supported_inputs
from tests.support.publishing import publish
from tests.support.receiving import receive


def test_settled_events_move_into_one_file_of_their_hour() -> None:
    storage = MemoryStorage()
    bodies = [*write("a", "app", "10:00", "/a"), *write("b", "app", "10:10", "/b"), *write("c", "app", "11:00", "/c")]
    post_and_settle(storage, *bodies)
    before = counts(storage)
    assert archive(storage, AT_ONCE) == Counter(archived=6)
    assert names(storage, EVENTS) == []
    assert [name[:14] for name in names(storage, ARCHIVE)] == ["2026/11/21/10/", "2026/11/21/11/"]
    assert sorted(line.raw() for line in archived_lines(storage)) == sorted(bodies)
    assert all(digest_of(line.raw()) == line.digest for line in archived_lines(storage))
    assert [row.key for row in storage.scan("runs") if row.key.startswith("event|")] == []
    assert counts(storage) == before
    assert archive(storage, AT_ONCE) == Counter(), "nothing is left to do"


def test_a_run_is_archived_only_when_it_is_settled_final_and_quiet() -> None:
    storage = MemoryStorage()
    post_and_settle(storage, write("open", "app", "10:00", "/a")[0])
    post(storage, *write("unsettled", "app", "10:00", "/a"))
    RunProcessor(storage=storage).process(run_id("open"), Replayed())
    assert state_of(storage, "open").verdict == "waiting"
    assert archive(storage, AT_ONCE) == Counter()
    post_and_settle(storage, *write("done", "app", "10:00", "/a", sink="/done"))
    assert archive(storage, archiving(after=timedelta(hours=1))) == Counter(), "not quiet for long enough"
    later = archiving(after=timedelta(hours=1), now=lambda: datetime.now(UTC) + timedelta(hours=2))
    assert archive(storage, later) == Counter(archived=2)
    assert {line.run for line in archived_lines(storage)} == {run_id("done")}


def test_the_sweeper_archives_runs_after_settling_them() -> None:
    storage = MemoryStorage()
    post(storage, *write("a", "app", "10:00", "/a"))
    how = SweepOptions(grace=timedelta(0), archiving=AT_ONCE)
    assert sweep(storage, how) == SweepResult(undelivered=1, archived=2)
    assert sweep(storage, how) == SweepResult()
    lease = storage.lease("sweeper", 60)
    assert lease
    post_and_settle(storage, *write("b", "app", "10:00", "/a"))
    assert sweep(storage, how) == SweepResult(), "only one at a time"


def test_nothing_is_archived_when_archiving_is_off() -> None:
    storage = MemoryStorage()
    post_and_settle(storage, *write("a", "app", "10:00", "/a"))
    assert archive(storage, archiving(after=None)) == Counter()
    assert len(names(storage, EVENTS)) == 2


def test_the_archiver_waits_for_its_interval_after_archiving_everything() -> None:
    storage = MemoryStorage()
    how = archiving(every=timedelta(hours=1))
    post_and_settle(storage, *write("a", "app", "10:00", "/a"))
    assert archive(storage, how) == Counter(archived=2)
    post_and_settle(storage, *write("b", "app", "10:00", "/a"))
    assert archive(storage, how) == Counter()


def test_ignored_events_move_too_and_keep_their_reason() -> None:
    storage = MemoryStorage()
    idle = event("i", "RUNNING", "10:00:00", application="app")
    for body in (idle, json.dumps({**json.loads(idle), "run": None, "eventType": None}).encode()):
        assert receive(storage, body, most_bytes=1_000_000).ignored
    before = counts(storage)
    assert archive(storage, AT_ONCE) == Counter(archived=2)
    assert names(storage, IGNORED) == []
    assert all(name.startswith("ignored/2026/11/21/10/") for name in names(storage, ARCHIVE))
    assert {line.ignored for line in archived_lines(storage)} == set(before["skipped"])
    assert counts(storage) == before
    receive(storage, idle, most_bytes=1_000_000)
    assert counts(storage) == before, "sent again"
    assert archive(storage, AT_ONCE) == Counter()
    assert (names(storage, IGNORED), counts(storage)) == ([], before)


def test_an_event_that_comes_for_a_closed_run_is_kept_and_never_merged() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    post_and_settle(storage, *write("a", "app", "10:00", "/a"))
    publish(storage, catalog, PUBLISHING)
    archive(storage, AT_ONCE)
    written = dict(catalog.processes)
    late = write("a", "app", "12:00", "/other", end="FAIL")
    for place in post(storage, *late):
        assert settle(storage, place) is False, "there is nothing to publish"
    sweep(storage, SweepOptions(end_timeout=timedelta(0), grace=timedelta(0), archiving=archiving(after=None)))
    publish(storage, catalog, PUBLISHING)
    assert catalog.processes == written
    assert supported_inputs(storage) == ["/a"]
    expected = {"received": 4, "published": 2, "skipped": {"closed": 2}, "waiting": {}, "dead": 0}
    assert counts(storage) == expected
    assert archive(storage, AT_ONCE) == Counter(archived=2), "it is archived in its turn"
    assert counts(storage) == expected
    assert {line.is_late for line in archived_lines(storage)} == {True, False}
    assert sum(line.is_late for line in archived_lines(storage)) == 2


def test_an_archived_event_that_is_sent_again_changes_nothing() -> None:
    storage = MemoryStorage()
    bodies = write("a", "app", "10:00", "/a")
    post_and_settle(storage, *bodies)
    archive(storage, AT_ONCE)
    before, lines = counts(storage), archived_lines(storage)
    post_and_settle(storage, *bodies)
    assert counts(storage) == before
    assert archive(storage, AT_ONCE) == Counter()
    assert (names(storage, EVENTS), archived_lines(storage), counts(storage)) == ([], lines, before)


def test_a_closed_run_is_processed_from_the_archive_when_a_sibling_changes_its_context() -> None:
    """The notebook becomes known by another run, after the first one was archived."""
    notebook = {"spark.databricks.notebook.path": "/Users/one"}
    host = "adb-12.3.azuredatabricks.net.adaptive_spark_plan.out"
    storage, twin = MemoryStorage(), MemoryStorage()
    options: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/out"], "application": "app", "job": host}
    first = event("a", "COMPLETE", "10:00:00", **options)
    second = event("b", "COMPLETE", "10:01:00", **{**options, "outputs": ["/two"]}, properties=notebook)
    post_and_settle(storage, first)
    archive(storage, AT_ONCE)
    post_and_settle(storage, second)
    post_and_settle(twin, first, second)
    spoken = [{process for process, _, _ in state_of(each, "a").current} for each in (storage, twin)]
    assert spoken[0] == spoken[1]
    assert spoken[0], "it speaks for the process under its new name"
    assert state_of(storage, "a").closed


def test_a_replay_settles_archived_runs_with_the_events_they_were_closed_with() -> None:
    storage = MemoryStorage()
    post_and_settle(storage, *write("a", "app", "10:00", "/a"), *write("b", "app", "11:00", "/b", sink="/b-out"))
    archive(storage, AT_ONCE)
    post_and_settle(storage, write("a", "app", "12:00", "/a", end="FAIL")[1])
    archive(storage, AT_ONCE)
    for table in ("contributions", "publishqueue"):
        for row in list(storage.scan(table)):
            storage.delete(table, row.partition, row.key)
    done = [each for each in replay(storage, ReplayPosition(wanted=RunFilter())) if isinstance(each, ReplayedRun)]
    assert [(each.run.run_id, each.outcome) for each in done] == [
        (run_id("a"), ReplayOutcome.PROCESSED),
        (run_id("b"), ReplayOutcome.PROCESSED),
        (run_id("a"), ReplayOutcome.PROCESSED_EARLIER),
    ]
    assert sorted(supported_inputs(storage)) == ["/a", "/b"]
    assert counts(storage)["skipped"]["closed"] == 1
    only = replay(storage, ReplayPosition(wanted=RunFilter(run_id=run_id("b"))))
    assert [each.outcome for each in only if isinstance(each, ReplayedRun)] == [ReplayOutcome.PROCESSED]


def test_a_run_with_a_dead_letter_is_not_archived_until_the_letter_is_discarded() -> None:
    storage = MemoryStorage()
    start, end = post(storage, *write("a", "app", "10:00", "/a"))
    replace_blob(storage, start, b"no gzip")
    settle(storage, end)
    assert archive(storage, AT_ONCE) == Counter()
    (letter,) = dead_letters(storage)
    discard(storage, letter.digest)
    before = counts(storage)
    assert before["skipped"] == {"discarded": 1, **{k: v for k, v in before["skipped"].items() if k != "discarded"}}
    assert archive(storage, AT_ONCE) == Counter(archived=2)
    assert counts(storage) == before
    assert stored_packed(storage, start.blob) == b"no gzip", "the original bytes, for diagnosis"
    (tried,) = replay_dead_letters(storage, lambda _: True)
    assert tried.outcome == "failed again", "it is looked for in the archive"


def test_the_archive_keeps_the_texts_of_events_unchanged() -> None:
    storage = MemoryStorage()
    odd = [
        json.dumps(json.loads(write("a", "app", "10:00", "/ä\u2028𝄞")[1]), indent=2, ensure_ascii=False).encode(),
        b"\r\n " + write("b", "app", "10:00", "/b")[1].replace(b'"name"', b'"x":"\\u0000\\ud83d",\t"name"', 1) + b"\n",
    ]
    post_and_settle(storage, *odd)
    assert archive(storage, AT_ONCE) == Counter(archived=2)
    assert sorted(line.raw() for line in archived_lines(storage)) == sorted(odd)
    (found,) = archived_of(storage, run_id("a"))
    assert gzip.decompress(stored_packed(storage, found.blobs[0]) or b"") == odd[0]


NOW = datetime(2026, 11, 21, tzinfo=UTC)
CONTENTS = st.lists(st.lists(st.binary(max_size=200) | st.text().map(str.encode), min_size=1, max_size=4), max_size=4)


@given(CONTENTS)
def test_any_bytes_come_back_from_their_member_alone_and_from_the_whole_file(members: list[list[bytes]]) -> None:
    def line(number: int, raw: bytes) -> Line:
        return with_content(Line(digest=str(number), blob=f"f/{number}", arrived=NOW), gzip.compress(raw))

    file = b"".join(member_of(map(line, count(), raws)) for raws in members)
    found = list(members_of(file))
    assert [[each.digest for each in member.lines] for member in found] == [
        [str(number) for number, _ in enumerate(raws)] for raws in members
    ]
    for member, raws in zip(found, members, strict=True):
        part = file[member.offset : member.offset + member.length]
        assert [each.raw() for each in lines_of(part)] == raws
    assert gzip.decompress(file).count(b"\n") == sum(map(len, members))


def test_members_of_several_slices_are_read_whole() -> None:
    draw = random.Random(1)
    raws = [draw.randbytes(1_500_000).hex().encode(), b"x" * 5_000_000, b"small"]
    file = member_of(
        with_content(Line(digest=str(n), blob="b", arrived=NOW), gzip.compress(raw)) for n, raw in enumerate(raws)
    )
    assert [line.raw() for line in lines_of(file)] == raws
    (member,) = members_of(file)
    assert (member.offset, member.length) == (0, len(file))


def test_a_truncated_file_is_reported() -> None:
    file = member_of([Line(digest="1", blob="b", arrived=NOW, event="x" * 1000)])
    with pytest.raises(Exception, match="cut off"):
        list(members_of(file[:-3]))


@pytest.mark.parametrize("name", [b"1", b'"\xff"', b'"a" "b"', b"NaN"])
def test_bytes_without_a_readable_name_have_no_job(name: bytes) -> None:
    assert job_in(b'{"job": {"name": ' + name + b"}}") == ""
