"""Receiving: stored events, their names, and the messages of refused ones."""

import contextlib
import gzip
import json
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from shared.errors import Refused, StorageUnavailable
from shared.ingest.receiver import Redact, note_refusal
from shared.openlineage.decoding import decode, run_id_of
from shared.redaction import redacted
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import Storage
from shared.storage_layout import EVENTS
from tests.support.events import event, run_id, write
from tests.support.receiving import receive, receive_batch

START = event("a", "START", "10:00:00.5", inputs=["/a"], application="app")
MOST = 100_000


def test_an_event_is_a_row_and_a_compressed_blob_named_by_its_bytes_and_time() -> None:
    storage = MemoryStorage()
    receipt = receive(storage, START, most_bytes=MOST)
    (fact,) = storage.blobs(EVENTS)
    assert fact.name == (
        f"2026/11/21/10/{run_id('app')}/{run_id('a')}/20261121T100000500000Z_START_{receipt.digest}.json.gz"
    )
    packed_event = storage.get(EVENTS, fact.name)
    assert packed_event
    assert gzip.decompress(packed_event) == START
    (row,) = storage.partition("applications", run_id("app"))
    assert row.key == f"event|{run_id('a')}|20261121T100000500000Z|START|{receipt.digest}"
    assert row.values["packed"] == packed_event


@pytest.mark.parametrize("redact", [None, redacted], ids=["as sent", "redacted"])
def test_a_run_id_that_is_no_uuid_names_the_blob_by_a_uuid_and_stays_in_the_row(redact: Redact | None) -> None:
    storage = MemoryStorage()
    receipt = receive(storage, START.replace(run_id("a").encode(), b"run 7"), most_bytes=MOST, redact=redact)
    (fact,) = storage.blobs(EVENTS)
    assert receipt.run_id == run_id_of("run 7") == fact.name.split("/")[5]
    (row,) = storage.partition("applications", run_id("app"))
    assert row.values["run_text"] == "run 7"
    stored = gzip.decompress(storage.get(EVENTS, fact.name) or b"")
    assert decode(stored).run_id == receipt.run_id


def test_a_password_in_a_run_id_is_not_in_the_row() -> None:
    storage = MemoryStorage()
    receive(storage, START.replace(run_id("a").encode(), b"password=hunter2"), most_bytes=MOST)
    (row,) = storage.scan("applications")
    assert "hunter2" not in str(row.values)


def test_events_with_any_utc_offset_are_stored_under_their_hour_in_utc() -> None:
    storage = MemoryStorage()
    receive(storage, START.replace(b"10:00:00.5Z", b"01:30:00+02:00"), most_bytes=MOST)
    (fact,) = storage.blobs(EVENTS)
    assert fact.name.startswith("2026/11/20/23/")


def test_the_blob_comes_before_the_row() -> None:
    class NoRows(MemoryStorage):
        def insert(self, *_: object, **__: object) -> str | None:
            raise StorageUnavailable("away")

    storage = NoRows()
    with pytest.raises(StorageUnavailable):
        receive(storage, START, most_bytes=MOST)
    assert len(list(storage.blobs(EVENTS))) == 1
    assert status(storage).received == 1, "a blob without a row is an event, for a sweep finds it"


def test_a_repeated_post_after_an_interruption_writes_the_missing_row() -> None:
    full_storage, cut = MemoryStorage(), MemoryStorage()
    receive(full_storage, START, most_bytes=MOST)
    (fact,) = full_storage.blobs(EVENTS)
    cut.put_new(EVENTS, fact.name, full_storage.get(EVENTS, fact.name) or b"")
    receive(cut, START, most_bytes=MOST)
    assert [row.key for row in cut.scan("applications")] == [row.key for row in full_storage.scan("applications")]


def test_an_ignored_event_is_kept_apart_with_its_reason() -> None:
    storage = MemoryStorage()
    body = json.loads(START)
    body["inputs"], body["eventType"] = [], "RUNNING"
    receipt = receive(storage, json.dumps(body).encode(), most_bytes=MOST)
    assert receipt.ignored == "names no data set and ends no run"
    assert list(storage.blobs(EVENTS)) == []
    assert len(list(storage.blobs("ignored"))) == 1
    current_status = status(storage)
    assert (current_status.received, current_status.skipped, current_status.reconciles) == (1, 1, True)


def test_gzip_is_unpacked_and_stored_as_the_plain_body_would_be() -> None:
    plain, gzip_storage = MemoryStorage(), MemoryStorage()
    receive(plain, START, most_bytes=MOST)
    receive(gzip_storage, gzip.compress(START), encoding="GZIP", most_bytes=MOST)
    assert [fact.name for fact in gzip_storage.blobs(EVENTS)] == [fact.name for fact in plain.blobs(EVENTS)]


def gzip_bomb() -> bytes:
    return gzip.compress(b" " * 50_000_000)


REFUSED: dict[str, tuple[bytes | Callable[[], bytes], str, int, str | None, str]] = {
    "empty": (b"", "", 400, None, "empty"),
    "not json": (b"{", "", 400, None, "JSON"),
    "an array": (b"[]", "", 400, None, "object"),
    "not utf-8": (START.replace(b"/a", b"/\xff"), "", 400, None, "UTF-8"),
    "not utf-8 where nobody looks": (START[:-1] + b', "x": "\xff"}', "", 400, None, "UTF-8"),
    "no run id": (
        b'{"eventTime":"2026-11-21T10:00:00Z","run":{},"job":{"namespace":"n","name":"j"}}',
        "",
        400,
        "run.runId",
        "runId",
    ),
    "run id": (START.replace(run_id("a").encode(), b" "), "", 400, "run.runId", "empty"),
    "time": (START.replace(b"2026-11-21T", b"yesterday "), "", 400, "eventTime", "RFC 3339"),
    "type of a field": (START.replace(b'"START"', b"1"), "", 400, "eventType", "str"),
    "event type": (START.replace(b'"START"', b'"BEGIN"'), "", 400, "eventType", "BEGIN"),
    "deep": (START[:-1] + b', "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "", 400, None, "deep"),
    "large": (b" " * (MOST + 1), "", 413, None, "100,000"),
    "a gzip bomb": (gzip_bomb, "gzip", 413, None, "unpacks"),
    "no gzip": (START, "gzip", 400, None, "gzip"),
    "cut gzip": (gzip.compress(START)[:-20], "gzip", 400, None, "cut off"),
    "unknown encoding": (START, "br", 415, None, "br"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_body_is_refused_with_a_helpful_message_and_not_stored(name: str) -> None:
    content, encoding, code, field, message = REFUSED[name]
    body = content() if callable(content) else content
    storage = MemoryStorage()
    size_limit = 200_000 if name == "deep" else MOST
    with pytest.raises(Refused) as error_info:
        receive(storage, body, encoding=encoding, most_bytes=size_limit)
    refusal = error_info.value
    assert (refusal.status, refusal.field) == (code, field)
    assert message in refusal.detail
    assert list(storage.scan("applications")) == []
    note_refusal(storage, body, refusal)
    current_status = status(storage)
    assert (current_status.received, current_status.rejected) == (0, 1)
    assert refusal.detail in current_status.last_errors[0]


def batch(storage: Storage, *events: bytes) -> dict[str, Any]:
    return receive_batch(storage, b"[" + b",".join(events) + b"]", most_bytes=10**6).document


def test_the_events_of_a_batch_are_stored_as_if_they_came_alone() -> None:
    events = write("a", "app", "10:00", "/a")
    single_storage, together = MemoryStorage(), MemoryStorage()
    for content in events:
        receive(single_storage, content, most_bytes=10**6)
    summary = {"received": 2, "successful": 2, "failed": 0, "retriable": 0, "non_retriable": 0}
    assert batch(together, *events) == {"status": "success", "summary": summary, "failed_events": []}
    names = [[fact.name for fact in storage.blobs("events")] for storage in (single_storage, together)]
    assert names[0] == names[1]
    assert len(names[0]) == 2


def test_a_bad_event_of_a_batch_does_not_affect_the_others() -> None:
    start, end = write("a", "app", "10:00", "/a")
    storage = MemoryStorage()
    answer = batch(storage, start, b'{"eventType": 1}', end)
    assert answer["status"] == "partial_success"
    assert answer["summary"] == {"received": 3, "successful": 2, "failed": 1, "retriable": 0, "non_retriable": 1}
    (failed,) = answer["failed_events"]
    assert (failed["index"], failed["retriable"]) == (1, False)
    assert len(list(storage.blobs("events"))) == 2


STATISTIC = b', "statistic": '
DAMAGED: dict[str, bytes] = {
    "NaN": START[:-1] + STATISTIC + b"NaN}",
    "an infinity": START[:-1] + STATISTIC + b"-Infinity}",
    "half of a surrogate pair": START[:-1] + STATISTIC + rb'"\ud83d, ] } [ { \" \\"}',
    "a byte order mark": b"\xef\xbb\xbf" + START,
    "deep nesting": START[:-1] + STATISTIC + b"[" * 50_000 + b"{}" + b"]" * 50_000 + b"}",
    "a string without quotes": START[:-1] + STATISTIC + b"text}",
    "a second value": START + b" 1",
    "no JSON": b"event",
}


@pytest.mark.parametrize("redact", [None, redacted], ids=["as sent", "redacted"])
@pytest.mark.parametrize("name", DAMAGED)
def test_an_event_of_a_batch_that_is_no_valid_json_is_kept_or_refused_as_if_it_came_alone(
    name: str, redact: Redact | None
) -> None:
    first, last = write("b", "app", "10:00", "/a, [b] {c}")
    single_storage, together = MemoryStorage(), MemoryStorage()
    refused = []
    for index, event_body in enumerate((first, DAMAGED[name], last)):
        try:
            receive(single_storage, event_body, most_bytes=10**6, redact=redact)
        except Refused as refusal:
            refused.append((index, str(refusal)))
    body = b"\n [ " + b" ,\t".join((first, DAMAGED[name], last)) + b"\r\n] "
    answer = receive_batch(together, body, most_bytes=10**6, redact=redact)
    assert (answer.received, [(failure.index, failure.reason) for failure in answer.failed]) == (3, refused)
    contents = [
        {fact.name: storage.get(EVENTS, fact.name) for fact in storage.blobs(EVENTS)}
        for storage in (single_storage, together)
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) == 3 - len(refused)


def test_a_byte_order_mark_before_a_batch_is_skipped() -> None:
    single_storage, together = MemoryStorage(), MemoryStorage()
    receive(single_storage, START, most_bytes=MOST)
    receive_batch(together, b"\xef\xbb\xbf[" + START + b"]", most_bytes=MOST)
    assert [fact.name for fact in together.blobs(EVENTS)] == [fact.name for fact in single_storage.blobs(EVENTS)]


def test_events_of_a_batch_after_a_storage_outage_are_reported_as_retriable() -> None:
    class Leaving(MemoryStorage):
        def put_new(self, container: str, name: str, data: bytes) -> bool:
            if any(self.blobs("events")):
                raise StorageUnavailable("gone")
            return super().put_new(container, name, data)

    events = [*write("a", "app", "10:00", "/a"), *write("b", "app", "10:01", "/b")]
    answer = batch(Leaving(), *events)
    assert answer["summary"] == {"received": 4, "successful": 1, "failed": 3, "retriable": 3, "non_retriable": 0}
    assert [failed_event["index"] for failed_event in answer["failed_events"]] == [1, 2, 3]
    assert batch(MemoryStorage(), b"{}")["status"] == "failure"


NO_BATCH: dict[str, bytes] = {
    "an object": b"{}",
    "a bracket": b"[",
    "null": b"null",
    "brackets that open": b"[" * 10_000,
    "an array that is cut off": b"[" + START + b", {",
    "an event that is cut off": b"[" + START + b", {]",
    "a string that is cut off": b"[" + START + b', "a]',
    "a bracket too many": b"[" + START + b"}, NaN]",
    "a comma too many": b"[" + START + b",]",
    "nothing between commas": b"[" + START + b", ,NaN]",
    "too many events": b"[" + b"{}," * 1000 + b"{}]",
    "too many events, one of which is no JSON": b"[NaN" + b",{}" * 1000 + b"]",
}


@pytest.mark.parametrize("body", NO_BATCH.values(), ids=NO_BATCH)
def test_a_body_that_is_no_batch_is_refused(body: bytes) -> None:
    storage = MemoryStorage()
    with pytest.raises(Refused):
        receive_batch(storage, body, most_bytes=10**6)
    assert list(storage.blobs(EVENTS)) == []


def test_a_large_batch_of_which_an_event_is_no_json_is_taken_apart_in_linear_time() -> None:
    start = process_time()
    for filling in (b"[]", b'""', b"\\n", b"a", b","):
        inside = filling * (10**6 // len(filling))
        for body in (b"[[NaN" + inside + b"]]", b'[NaN, ["' + inside + b'"]]', b'["' + inside + b"]"):
            with contextlib.suppress(Refused):
                receive_batch(MemoryStorage(), body, most_bytes=2 * 10**6)
    assert process_time() - start < 60, "some ten minutes each if every byte began a search to the end"
