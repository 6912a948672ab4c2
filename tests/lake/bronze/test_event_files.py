"""Files of every kind, and every way in which one can be broken."""

import base64
import gzip
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.storage_layout import digest_of
from throughline.lake.bronze.event_files import Broken, Read, Reader

EVENT = (Path(__file__).parents[2] / "golden/spark35-ol1.53/files/events.jsonl").read_bytes().splitlines()[0]
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def _read(path: str, content: bytes, **options: Any) -> list[Read | Broken]:
    return list(Reader(**options).read(path, content, NOW))


def _archived(**changes: Any) -> bytes:
    line = {"digest": hashlib.sha256(EVENT).hexdigest()[:32], "run": "r", "job": "j", "blob": "b", "ignored": None}
    return json.dumps(
        line | {"arrived": "2026-11-21T10:00:00Z", "closed": None, "event": EVENT.decode()} | changes
    ).encode()


FINE: dict[str, tuple[str, bytes]] = {
    "a line of the archive": ("a.jsonl.gz", gzip.compress(_archived())),
    "several members of gzip": ("a.jsonl.gz", gzip.compress(b"\n") + gzip.compress(_archived())),
    "the bytes of a blob without text": (
        "a.jsonl.gz",
        gzip.compress(_archived(event=None, packed=base64.b64encode(gzip.compress(EVENT)).decode())),
    ),
    "an event of its own": ("events/r/x.json.gz", gzip.compress(EVENT)),
    "an event over several lines": ("x.json.gz", gzip.compress(json.dumps(json.loads(EVENT), indent=1).encode())),
    "plain lines": ("lineage.jsonl", EVENT + b"\n\n"),
    "lines in a file called .json": ("lineage.json", EVENT + b"\n"),
}


@pytest.mark.parametrize(("path", "content"), FINE.values(), ids=FINE)
def test_an_event_is_found_in_a_file_of_every_kind(path: str, content: bytes) -> None:
    (event_read,) = _read(path, content)
    assert isinstance(event_read, Read)
    assert event_read.event.run_id == json.loads(EVENT)["run"]["runId"]
    assert not event_read.late


_DAMAGED = _archived(event=None, packed=base64.b64encode(gzip.compress(EVENT)[:-20]).decode())
"""A dead letter whose blob was cut off, as the archive keeps it."""

_DEEP = b'{"a":' + b"[" * 2_000 + b"]" * 2_000 + b"}"

BROKEN: dict[str, tuple[str, bytes, int, str]] = {
    "no JSON": ("a.jsonl", b"<html>", 1, "not JSON"),
    "a cut line of the archive": ("a.jsonl", _archived()[:200], 1, "not a line of the archive"),
    "a wrong schema": ("a.jsonl", b'{"eventTime": 3, "run": {"runId": 5}}', 1, "eventTime"),
    "a broken event in the archive": ("a.jsonl", _archived(event="{"), 1, "not JSON"),
    "a damaged event in the archive": ("a.jsonl.gz", gzip.compress(_DAMAGED), 1, "bytes are damaged"),
    "a line that is nested deeply": ("a.jsonl", _DEEP, 1, "nested too deeply"),
    "a deeply nested event in the archive": ("a.jsonl", _archived(event=_DEEP.decode()), 1, "nested too deeply"),
    "a line of the archive that is nested deeply": (
        "a.jsonl",
        _archived()[:-1] + b',"more":' + _DEEP + b"}",
        1,
        "not a line of the archive",
    ),
    "no UTF-8": ("a.jsonl", b'{"eventTime":"\xff"}', 1, ""),
    "a cut file": ("a.jsonl.gz", gzip.compress(EVENT + b"\n" + EVENT)[:-30], 0, "damaged"),
    "no gzip after all": ("a.jsonl.gz", b"\x1f\x8bnothing of the kind", 0, "damaged"),
}


@pytest.mark.parametrize(
    "raw", [EVENT + b"\n", b" " + EVENT, json.dumps(json.loads(EVENT), indent=1).encode() + b"\r\n"]
)
def test_an_event_of_its_own_has_the_digest_and_the_text_of_the_bytes_as_received(raw: bytes) -> None:
    (event_read,) = _read("events/r/x.json.gz", gzip.compress(raw))
    assert isinstance(event_read, Read)
    assert (event_read.digest, event_read.text.encode(), event_read.size) == (digest_of(raw), raw, len(raw))


def test_a_line_is_the_same_event_when_its_file_grows() -> None:
    (single_read,), (first, _) = _read("x.json", EVENT + b"\n"), _read("x.json", (EVENT + b"\n") * 2)
    assert isinstance(single_read, Read)
    assert isinstance(first, Read)
    assert single_read.digest == first.digest


@pytest.mark.parametrize("path", ["x.json", "x.json.gz", "x.jsonl"])
def test_a_blank_file_has_no_event(path: str) -> None:
    assert _read(path, b"\n") == []


@pytest.mark.parametrize(("path", "content", "line", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_reported_with_line_and_reason(path: str, content: bytes, line: int, message: str) -> None:
    broken_lines = [read_result for read_result in _read(path, content) if isinstance(read_result, Broken)]
    assert [broken_line.line for broken_line in broken_lines] == [line]
    assert message in broken_lines[0].reason


def test_events_before_the_damage_of_a_file_are_read() -> None:
    """Cut in the second of two members: the first one is whole."""
    content = gzip.compress(_archived() + b"\n") + gzip.compress(EVENT)[:-20]
    read_results = _read("a.jsonl.gz", content)
    assert [type(read_result) for read_result in read_results] == [Read, Broken]


def test_events_after_a_damaged_one_are_read() -> None:
    content = gzip.compress(b"\n".join([_archived(), _DAMAGED, _archived()]))
    assert [type(read_result) for read_result in _read("a.jsonl.gz", content)] == [Read, Broken, Read]


def test_lines_after_one_that_is_nested_deeply_are_read() -> None:
    assert [type(read_result) for read_result in _read("a.jsonl", b"\n".join([EVENT, _DEEP, EVENT]))] == [
        Read,
        Broken,
        Read,
    ]


@pytest.mark.parametrize("size", [0, 5_000_000, 9_000_000])
def test_all_members_of_a_gzip_file_are_read(size: int) -> None:
    """Whether they are unpacked at once or, being too much for that, piece by piece."""
    blank = gzip.compress(b" " * size + b"\n")
    content = b"".join([gzip.compress(_archived() + b"\n"), *[blank] * 4, gzip.compress(_archived() + b"\n"), bytes(9)])
    read_results = _read("a.jsonl.gz", content)
    assert [type(read_result) for read_result in read_results] == [Read, Read]


def test_an_event_that_is_too_large_is_reported_and_the_next_is_read() -> None:
    large = EVENT.replace(b"START", b"START" + b" " * 100_000)
    read_results = _read("a.jsonl.gz", gzip.compress(large + b"\n" + EVENT + b"\n"), largest=50_000)
    assert isinstance(read_results[0], Broken)
    assert "larger than" in read_results[0].reason
    assert isinstance(read_results[1], Read)


def test_an_event_that_arrived_after_its_run_was_closed_is_late() -> None:
    (late,) = _read("a.jsonl", _archived(closed="2026-11-21T09:59:59Z"))
    (timely,) = _read("a.jsonl", _archived(closed="2026-11-21T10:00:00Z"))
    assert isinstance(late, Read)
    assert isinstance(timely, Read)
    assert (late.late, timely.late) == (True, False)


def test_an_event_that_the_receiver_ignored_stays_ignored() -> None:
    (event_read,) = _read("a.jsonl", _archived(ignored="names no data set"))
    assert isinstance(event_read, Read)
    assert event_read.ignored == "names no data set"
