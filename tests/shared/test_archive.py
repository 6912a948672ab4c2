"""The archive: what moves there and when, what a closed run still does, and that nothing is lost or counted twice."""

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.catalog import MemoryCatalog
from shared.pipeline import (
    EVENTS,
    Archiving,
    Fate,
    Publishing,
    ReplayedRun,
    Stop,
    StoredEvent,
    Sweeping,
    Wanted,
    archive,
    dead_letters,
    digest_of,
    discard,
    publish,
    receive,
    replay,
    replay_letters,
    settle_run,
    status,
    stored_packed,
    sweep,
)
from shared.pipeline.archive_format import Line, lines_of, member_of, members_of, with_content
from shared.pipeline.archive_index import archived_of
from shared.pipeline.places import ARCHIVE, IGNORED
from shared.storage import MemoryStorage, Row
from shared.translation import Patience
from tests.shared.events import event, run_id, write
from tests.shared.histories import history
from tests.shared.test_dead_letters import put
from tests.shared.test_settle import Killed, post, settle, standing, state_of

AT_ONCE = Archiving(after=timedelta(0), every=timedelta(0))
HOW = Publishing(patience=Patience(quiet=timedelta(days=100_000)))


def archiving(**said: Any) -> Archiving:
    return Archiving(**{"after": timedelta(0), "every": timedelta(0), **said})


def settled(storage: Any, *bodies: bytes) -> list[StoredEvent]:
    places = post(storage, *bodies)
    for place in places:
        settle(storage, place)
    return places


def names(storage: Any, container: str) -> list[str]:
    return [fact.name for fact in storage.blobs(container)]


def archived_lines(storage: Any) -> list[Line]:
    """All lines of all files, as somebody reads them who knows nothing of members."""
    files = [storage.get(ARCHIVE, name) for name in names(storage, ARCHIVE)]
    texts = [text for file in files for text in gzip.decompress(file).split(b"\n") if text]
    return [line for text in texts for line in lines_of(gzip.compress(text + b"\n"))]


def counts(storage: Any) -> dict[str, Any]:
    """What of the status must not depend on where an event lies."""
    found = status(storage)
    assert found.reconciles
    return {
        "received": found.received,
        "published": found.published,
        "skipped": found.skipped_because,
        "waiting": found.waiting_for,
        "dead": found.dead,
    }


def test_settled_events_move_into_one_file_of_their_hour() -> None:
    storage = MemoryStorage()
    bodies = [*write("a", "app", "10:00", "/a"), *write("b", "app", "10:10", "/b"), *write("c", "app", "11:00", "/c")]
    settled(storage, *bodies)
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
    settled(storage, write("open", "app", "10:00", "/a")[0])
    post(storage, *write("unsettled", "app", "10:00", "/a"))
    settle_run(storage, run_id("open"))
    assert state_of(storage, "open").verdict == "waiting"
    assert archive(storage, AT_ONCE) == Counter()
    settled(storage, *write("done", "app", "10:00", "/a", sink="/done"))
    assert archive(storage, archiving(after=timedelta(hours=1))) == Counter(), "not quiet for long enough"
    later = archiving(after=timedelta(hours=1), now=lambda: datetime.now(UTC) + timedelta(hours=2))
    assert archive(storage, later) == Counter(archived=2)
    assert {line.run for line in archived_lines(storage)} == {run_id("done")}


def test_nothing_is_archived_when_that_is_off() -> None:
    storage = MemoryStorage()
    settled(storage, *write("a", "app", "10:00", "/a"))
    assert archive(storage, archiving(after=None)) == Counter()
    assert len(names(storage, EVENTS)) == 2


def test_after_all_was_done_it_waits_and_looks_with_one_read() -> None:
    storage = MemoryStorage()
    how = archiving(every=timedelta(hours=1))
    settled(storage, *write("a", "app", "10:00", "/a"))
    assert archive(storage, how) == Counter(archived=2)
    settled(storage, *write("b", "app", "10:00", "/a"))
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
    settled(storage, *write("a", "app", "10:00", "/a"))
    publish(storage, catalog, HOW)
    archive(storage, AT_ONCE)
    written = dict(catalog.processes)
    late = write("a", "app", "12:00", "/other", end="FAIL")
    for place in post(storage, *late):
        assert settle(storage, place) is (place.end is not None)
    sweep(storage, Sweeping(end_timeout=timedelta(0), grace=timedelta(0), archiving=archiving(after=None)))
    publish(storage, catalog, HOW)
    assert catalog.processes == written
    assert standing(storage) == ["/a"]
    expected = {"received": 4, "published": 2, "skipped": {"closed": 2}, "waiting": {}, "dead": 0}
    assert counts(storage) == expected
    assert archive(storage, AT_ONCE) == Counter(archived=2), "it is archived in its turn"
    assert counts(storage) == expected
    assert {line.is_late for line in archived_lines(storage)} == {True, False}
    assert sum(line.is_late for line in archived_lines(storage)) == 2


def test_an_archived_event_that_is_sent_again_changes_nothing() -> None:
    storage = MemoryStorage()
    bodies = write("a", "app", "10:00", "/a")
    settled(storage, *bodies)
    archive(storage, AT_ONCE)
    before, lines = counts(storage), archived_lines(storage)
    settled(storage, *bodies)
    assert counts(storage) == before
    assert archive(storage, AT_ONCE) == Counter()
    assert (names(storage, EVENTS), archived_lines(storage), counts(storage)) == ([], lines, before)


def test_a_closed_run_is_settled_from_the_archive_when_a_sibling_tells_something() -> None:
    """The notebook becomes known by another run, after the first one was archived."""
    notebook = {"spark.databricks.notebook.path": "/Users/one"}
    host = "adb-12.3.azuredatabricks.net.adaptive_spark_plan.out"
    storage, twin = MemoryStorage(), MemoryStorage()
    said: dict[str, Any] = {"inputs": ["/a"], "outputs": ["/out"], "application": "app", "job": host}
    first = event("a", "COMPLETE", "10:00:00", **said)
    second = event("b", "COMPLETE", "10:01:00", **{**said, "outputs": ["/two"]}, properties=notebook)
    settled(storage, first)
    archive(storage, AT_ONCE)
    settled(storage, second)
    settled(twin, first, second)
    spoken = [{process for process, _, _ in state_of(each, "a").current} for each in (storage, twin)]
    assert spoken[0] == spoken[1]
    assert spoken[0], "it speaks for the process under its new name"
    assert state_of(storage, "a").closed


def test_a_replay_settles_archived_runs_with_what_they_were_closed_with() -> None:
    storage = MemoryStorage()
    settled(storage, *write("a", "app", "10:00", "/a"), *write("b", "app", "11:00", "/b", sink="/b-out"))
    archive(storage, AT_ONCE)
    settled(storage, write("a", "app", "12:00", "/a", end="FAIL")[1])
    archive(storage, AT_ONCE)
    for table in ("contributions", "dirty"):
        for row in list(storage.scan(table)):
            storage.delete(table, row.partition, row.key)
    done = [each for each in replay(storage, Stop(wanted=Wanted())) if isinstance(each, ReplayedRun)]
    assert [(each.run.run_id, each.fate) for each in done] == [
        (run_id("a"), Fate.SETTLED),
        (run_id("b"), Fate.SETTLED),
        (run_id("a"), Fate.EARLIER),
    ]
    assert sorted(standing(storage)) == ["/a", "/b"]
    assert counts(storage)["skipped"]["closed"] == 1
    only = replay(storage, Stop(wanted=Wanted(run_id=run_id("b"))))
    assert [each.fate for each in only if isinstance(each, ReplayedRun)] == [Fate.SETTLED]


def test_a_run_with_a_dead_letter_stays_until_somebody_has_decided_on_it() -> None:
    storage = MemoryStorage()
    start, end = post(storage, *write("a", "app", "10:00", "/a"))
    put(storage, start, b"no gzip")
    settle(storage, end)
    assert archive(storage, AT_ONCE) == Counter()
    (letter,) = dead_letters(storage)
    discard(storage, letter.digest)
    before = counts(storage)
    assert before["skipped"] == {"discarded": 1, **{k: v for k, v in before["skipped"].items() if k != "discarded"}}
    assert archive(storage, AT_ONCE) == Counter(archived=2)
    assert counts(storage) == before
    assert stored_packed(storage, start.blob) == b"no gzip", "the very bytes, for whoever wants to see them"
    (tried,) = replay_letters(storage, lambda _: True)
    assert tried.outcome == "failed again", "it is looked for in the archive"


def test_the_archive_keeps_texts_as_they_came() -> None:
    storage = MemoryStorage()
    odd = [
        json.dumps(json.loads(write("a", "app", "10:00", "/ä\u2028𝄞")[1]), indent=2, ensure_ascii=False).encode(),
        b"\r\n " + write("b", "app", "10:00", "/b")[1].replace(b'"name"', b'"x":"\\u0000\\ud83d",\t"name"', 1) + b"\n",
    ]
    settled(storage, *odd)
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


def test_a_file_that_is_cut_off_says_so() -> None:
    file = member_of([Line(digest="1", blob="b", arrived=NOW, event="x" * 1000)])
    with pytest.raises(Exception, match="cut off"):
        list(members_of(file[:-3]))


class Failing:
    """Storage that dies before or after its nth call."""

    def __init__(self, real: MemoryStorage, calls: int, *, after: bool) -> None:
        self.real = real
        self.left = calls
        self.after = after

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and not self.after):
                raise Killed
            result = getattr(self.real, name)(*arguments, **named)
            if name in {"blobs", "partition", "scan"}:
                result = list(result)
            if self.left == 0:
                raise Killed
            return iter(result) if isinstance(result, list) else result

        return called


SMALL = archiving(most=3)


def a_world() -> tuple[MemoryStorage, list[bytes]]:
    """Settled and published runs of several hours, one that is open, what was ignored, and a late event."""
    storage = MemoryStorage()
    bodies = [
        *write("a", "app", "10:00", "/a"),
        *write("b", "app", "10:30", "/b", sink="/two"),
        event("a", "RUNNING", "11:00:00", inputs=["/late"], outputs=["/out"], application="app"),
        *write("c", "app", "11:10", "/c", sink="/three"),
        event("i", "RUNNING", "10:00:00", application="app"),
        event("open", "START", "10:00:00", inputs=["/o"], application="app"),
    ]
    for body in bodies:
        receive(storage, body, most_bytes=1_000_000)
    sweep(storage, Sweeping(grace=timedelta(0), archiving=archiving(after=None)))
    publish(storage, MemoryCatalog(), HOW)
    return storage, bodies


def stored_bodies(storage: MemoryStorage) -> Iterable[bytes]:
    """Every event that is stored anywhere, as often as it is."""
    for container in (EVENTS, IGNORED):
        for name in names(storage, container):
            yield gzip.decompress(storage.get(container, name) or b"")
    for line in archived_lines(storage):
        yield line.raw()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_cut_off_at_any_call_every_event_counts_once_and_the_next_one_goes_on(after: bool) -> None:
    storage, bodies = a_world()
    expected = counts(storage)
    calls = 0
    while True:
        calls += 1
        storage, _ = a_world()
        try:
            archive(Failing(storage, calls, after=after), SMALL)
        except Killed:
            assert counts(storage) == expected, f"after {calls} calls"
            assert set(stored_bodies(storage)) == set(bodies)
        else:
            break
        archive(storage, SMALL)
        assert counts(storage) == expected
        assert sorted(stored_bodies(storage)) == sorted(bodies), f"each once, after {calls} calls"
        assert len(names(storage, EVENTS)) == 1, "the open one"
        assert storage.read("control", "archive", "pending") is None
    assert calls > 60


def test_a_stalled_archiver_that_wakes_up_writes_nothing_twice() -> None:
    """It stalls at any call; meanwhile another one does everything, and late events come; then it goes on."""
    for stalled_at in count(1):
        storage, bodies = a_world()
        others: list[bytes] = []
        calls = count(1)

        class Stalling(Failing):
            def __getattr__(self, name: str) -> Any:
                if next(calls) == stalled_at:  # noqa: B023 - called within this round
                    archive(storage, SMALL)  # noqa: B023
                    late = write("a", "app", "10:50", "/late")
                    for body in late:
                        receive(storage, body, most_bytes=1_000_000)  # noqa: B023
                    others.extend(late)  # noqa: B023
                    archive(storage, SMALL)  # noqa: B023
                return super().__getattr__(name)

        archive(Stalling(storage, 10_000, after=False), SMALL)
        if not others:
            break
        archive(storage, SMALL)
        assert sorted(stored_bodies(storage)) == sorted([*bodies, *others]), f"stalled at {stalled_at}"
        assert counts(storage)["received"] == len(bodies) + 2
    assert stalled_at > 60


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_read_the_same_wherever_their_events_lie(seed: int) -> None:
    bodies = history(seed)
    plain, moved = MemoryStorage(), MemoryStorage()
    draw = random.Random(seed)
    for storage in (plain, moved):
        for body in bodies:
            receive(storage, body, most_bytes=1_000_000)
        sweep(storage, Sweeping(end_timeout=timedelta(0), grace=timedelta(0), archiving=archiving(after=None)))
        publish(storage, MemoryCatalog(), HOW)
    for _ in range(3):
        steps = iter(range(draw.randint(0, 3)))
        archive(moved, archiving(most=draw.randint(1, 4)), goes_on=lambda steps=steps: next(steps, None) is not None)  # type: ignore[misc]  # a lambda's default
        assert counts(moved) == counts(plain)
    archive(moved, SMALL)
    assert counts(moved) == counts(plain)
    for storage in (plain, moved):
        for run in sorted({row.partition for row in storage.scan("runs") if row.key == "state"}):
            settle_run(storage, run)
    assert counts(moved)["received"] == counts(plain)["received"]
    assert [r.key for r in moved.scan("contributions")] == [r.key for r in plain.scan("contributions")]


def test_retention_deletes_old_files_and_what_was_said_stays() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    settled(storage, *write("a", "app", "10:00", "/a"))
    publish(storage, catalog, HOW)
    archive(storage, AT_ONCE)
    forever = archiving(now=lambda: datetime.now(UTC) + timedelta(days=29))
    assert archive(storage, forever) == Counter(), "for ever, unless a setting says otherwise"
    old = archiving(keep=timedelta(days=30), now=lambda: datetime.now(UTC) + timedelta(days=31))
    assert archive(storage, old) == Counter(deleted=2)
    assert names(storage, ARCHIVE) == []
    assert list(archived_of(storage, run_id("a"))) == []
    assert counts(storage)["received"] == 0, "what is gone is not counted any more"
    settle_run(storage, run_id("a"))
    settle_run(storage, run_id("a"), nested=True)
    settled(storage, write("a", "app", "12:00", "/a", end="FAIL")[1])
    assert standing(storage) == ["/a"], "it stays as it was"
    assert counts(storage) == {"received": 1, "published": 0, "skipped": {"closed": 1}, "waiting": {}, "dead": 0}
    archive(storage, AT_ONCE)
    (again,) = replay(storage, Stop(wanted=Wanted()))
    assert isinstance(again, ReplayedRun)
    assert again.fate is Fate.GONE
    written = dict(catalog.processes)
    publish(storage, catalog, HOW)
    assert (catalog.processes, bool(written)) == (written, True)


def test_retention_cut_off_at_any_call_is_mended_by_the_next() -> None:
    old = archiving(keep=timedelta(0), after=None, now=lambda: datetime.now(UTC) + timedelta(days=1))
    for calls in count(1):
        storage, _ = a_world()
        archive(storage, SMALL)
        contributions = list(storage.scan("contributions"))
        try:
            archive(Failing(storage, calls, after=False), old)
        except Killed:
            assert status(storage).reconciles
        else:
            break
        archive(storage, old)
        assert names(storage, ARCHIVE) == []
        assert [row for row in storage.scan("runs") if row.key.startswith("archived|")] == []
        assert list(storage.scan("contributions")) == contributions
        assert counts(storage)["received"] == 1
    assert calls > 20


def test_a_file_that_somebody_deleted_leaves_its_run_as_it_is() -> None:
    storage = MemoryStorage()
    settled(storage, *write("a", "app", "10:00", "/a"))
    archive(storage, AT_ONCE)
    for name in names(storage, ARCHIVE):
        storage.delete_blob(ARCHIVE, name)
    settle_run(storage, run_id("a"))
    assert standing(storage) == ["/a"]


def test_a_row_without_a_blob_is_left_out() -> None:
    storage = MemoryStorage()
    (place, _) = settled(storage, *write("a", "app", "10:00", "/a"))
    storage.insert("runs", Row(partition=place.run_id, key=place.row_key.replace("START", "RUNNING")))
    assert archive(storage, AT_ONCE) == Counter(archived=2)
    settle_run(storage, run_id("a"))
    assert standing(storage) == ["/a"]
