"""Reading events from files of every shape."""

import gzip
from pathlib import Path

import pytest

from throughline.cli.records.event_files import UnreadableFileError, events_in

ONE, TWO = b'{"a": 1}', b'{"b": [2]}'
DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
PRETTY = b'{\n  "a":\n  1\n}\n'

SHAPES = {
    "one object": (ONE, [ONE]),
    "one object over several lines": (PRETTY, [PRETTY.replace(b"\n", b"").replace(b"  ", b"")]),
    "json lines": (ONE + b"\n" + TWO + b"\n", [ONE, TWO]),
    "json lines with blank lines and windows ends": (b"\r\n" + ONE + b"\r\n\r\n" + TWO, [ONE, TWO]),
    "an array": (b"[" + ONE + b", " + TWO + b"]", [ONE, TWO]),
    "an array over several lines": (b"[\n" + ONE + b",\n" + TWO + b"\n]\n", [ONE, TWO]),
    "json lines after a byte order mark": (b"\xef\xbb\xbf" + ONE + b"\n" + TWO, [ONE, TWO]),
    "an empty array": (b"[]", []),
    "nothing": (b"", []),
    "json lines with a broken one": (ONE + b"\n{oops\n" + TWO, [ONE, b"{oops", TWO]),
    "json lines that begin broken": (b"{oops\n" + ONE, [b"{oops", ONE]),
    "json lines that begin nested too deeply": (DEEP + b"\n" + ONE, [DEEP, ONE]),
    "an array nested too deeply": (b"[\n" + DEEP + b",\n" + ONE + b"]", [b"[", DEEP + b",", ONE + b"]"]),
}


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_file_format_yields_its_events_in_order(shape: str, tmp_path: Path, *, is_packed: bool) -> None:
    text, expected = SHAPES[shape]
    path = tmp_path / "events"
    path.write_bytes(gzip.compress(text) if is_packed else text)
    raw_events = [event.raw.replace(b"\n", b"").replace(b"  ", b"") for event in events_in(path)]
    assert raw_events == expected


def test_an_event_has_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"\n" + ONE + b"\n\n" + TWO)
    assert [event.place for event in events_in(path)] == [f"{path}:2", f"{path}:4"]


@pytest.mark.parametrize("kind", ["missing", "a folder", "cut gzip", "spoiled gzip"])
def test_the_error_names_an_unreadable_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if kind == "a folder":
        path.mkdir()
    elif kind == "cut gzip":
        path.write_bytes(gzip.compress(ONE * 1000)[:40])
    elif kind == "spoiled gzip":
        packed_data = bytearray(gzip.compress(bytes(range(256)) * 100))
        packed_data[20:40] = b"x" * 20
        path.write_bytes(packed_data)
    with pytest.raises(UnreadableFileError, match=str(path)):
        list(events_in(path))
